#!/usr/bin/env bats
# Pictures in the pane of an ACP agent: paths that are pasted, dropped or typed.
load ../helper
load ../host/lib
load lib
load chat

setup_more() {
    mkdir -p "$HOME/shots"
    printf '\211PNG\r\n\032\n\0\0\0\rIHDR1' >"$HOME/shots/red.png"
    printf '\211PNG\r\n\032\n\0\0\0\rIHDR22' >"$HOME/shots/a blue one.png"
    mkdir "$T/other"
    printf '\211PNG\r\n\032\n\0\0\0\rIHDR333' >"$T/other/red.png"
}

# Pastes, and the line is then this.
becomes() {
    paste "$1"
    eventually typed "$2"
    press C-c
    eventually typed ''
}

@test "a pasted path of a picture becomes a mark, goes as a picture, and is named in the pane, now and later" {
    chat --images
    eventually shows_state idle
    paste "$HOME/shots/red.png"
    eventually typed '[picture red.png]'
    tm send-keys -t "$PANE" -l 'what is it?'
    press Enter
    eventually shows 'image/png:17:'
    shows_line '› [picture red.png, 17B]'
    shows_line '  what is it?'
    [ "$("$MAS" history "$ID" solo --role user --json | jq -r '.messages[0] | .text, .data.pictures[0].name')" = $'what is it?\nred.png' ]
    [ "$(find "$DIR/pictures" -type f | wc -l)" -eq 1 ]
    press Up # it is recalled with its picture
    eventually typed '[picture red.png] what is it?'
    press Enter
    twice() { [ "$(prompts '"type":"image"')" -eq 2 ]; }
    eventually twice
    eventually shows_state idle
    local was
    was=$(pgrep -f "mas-chat $DIR solo")
    kill "$was"
    # shellcheck disable=SC2317 # called by eventually
    anew() { pgrep -f "mas-chat $DIR solo" | grep -qvx "$was" && [ "$(scrolled | grep -cF '› [picture red.png, 17B]')" -eq 2 ]; }
    eventually anew # which it has from the history
}

@test "paths are taken as terminals paste and quote them, several at once, and one that is typed at Enter" {
    chat --images
    eventually shows_state idle
    becomes \~/shots/red.png '[picture red.png]'
    becomes "'$HOME/shots/a blue one.png' " '[picture a blue one.png]'
    becomes "$HOME/shots/a\\ blue\\ one.png" '[picture a blue one.png]'
    becomes "$HOME/shots/a blue one.png" '[picture a blue one.png]'
    becomes "file://$HOME/shots/a%20blue%20one.png"$'\n' '[picture a blue one.png]'
    becomes "file://localhost$HOME/shots/red.png" '[picture red.png]'
    paste "$HOME/shots/red.png $T/other/red.png"
    eventually typed '[picture red.png] [picture red.png (2)]'
    press Enter
    eventually shows 'image/png:17:'
    eventually shows 'image/png:19:'
    shows '[picture red.png, 19B]'
    eventually shows_state idle
    type_line "$T/other/red.png"
    eventually typed '[picture red.png (2)]'
    [ "$(prompts '"type":"image"')" -eq 1 ]
}

@test "a mark is deleted as a whole, and then nothing is sent or kept of its picture" {
    chat --images
    eventually shows_state idle
    tm send-keys -t "$PANE" -l 'see '
    paste "$HOME/shots/red.png"
    eventually typed 'see [picture red.png]'
    press BSpace BSpace
    eventually typed 'see'
    tm send-keys -t "$PANE" -l 'CW-ONE'
    press Enter
    eventually shows 'last="see CW-ONE"'
    [ "$(prompts '"type":"image"')" -eq 0 ]
    [ ! -e "$DIR/pictures" ]
}

@test "what is more or less than paths of pictures stays the text that it is" {
    chat --images
    eventually shows_state idle
    echo 'no picture' >"$T/text.png"
    mkfifo "$T/pipe.png"
    printf '\211PNG\r\n\032\n\0\0\0\rIHDR' >"$T/large.png"
    truncate -s $((5 * 1024 * 1024 + 1)) "$T/large.png"
    ln -s "$HOME/shots/red.png" "$T/link.png"
    local text
    for text in "see $HOME/shots/red.png" "$HOME/shots/red.png?" 'shots/red.png' "$T/text.png" "$T/pipe.png" "$T/large.png" \
        "$T/none.png" "$HOME/shots/red.png $T/text.png" "file://elsewhere$HOME/shots/red.png" "file://$HOME/shots/red%.png" "'$HOME/shots/red.png"; do
        becomes "$text" "$text"
    done
    becomes "$T/link.png" '[picture link.png]'
}

@test "a picture that is gone when its line is sent is said to be, and the line stays" {
    chat --images
    eventually shows_state idle
    paste "$T/other/red.png"
    eventually typed '[picture red.png]'
    rm "$T/other/red.png"
    press Enter
    eventually shows "cannot send '$T/other/red.png': No such file"
    typed '[picture red.png]'
    [ "$(prompts '"type"')" -eq 0 ]
}

@test "for an agent that takes no pictures a path stays text" {
    chat
    type_line hello
    eventually shows 'last="hello"'
    eventually shows_state idle
    becomes "$HOME/shots/red.png" "$HOME/shots/red.png"
}

@test "a prompt that waits comes back with its pictures, also in a pane that comes later" {
    chat --images
    eventually shows_state idle
    type_line HANG
    eventually shows_state working
    paste "$HOME/shots/red.png"
    eventually typed '[picture red.png]'
    press Enter
    eventually shows 'queued: [picture red.png]'
    local was
    was=$(pgrep -f "mas-chat $DIR solo")
    kill "$was"
    # shellcheck disable=SC2317 # called by eventually
    anew() { pgrep -f "mas-chat $DIR solo" | grep -qvx "$was" && shows '1 queued'; }
    eventually anew
    rm "$HOME/shots/red.png"
    press Up
    eventually typed '[picture red.png]'
    press Enter
    eventually shows '1 queued'
    press C-c
    eventually shows 'image/png:17:'
    eventually shows_line '› [picture red.png, 17B]'
}
