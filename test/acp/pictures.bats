#!/usr/bin/env bats
# Pictures in prompts: kept in the session, sent as blocks to agents that take them, and named in
# what is said later.
load ../helper
load ../host/lib
load lib

# picture NAME KIND [BYTES]: makes a file that begins as such a picture does.
picture() {
    case $2 in
    png) printf '\211PNG\r\n\032\n\0\0\0\rIHDR' ;;
    jpg) printf '\377\330\377\340' ;;
    gif) printf 'GIF89a' ;;
    webp) printf 'RIFF\1\0\0\0WEBPVP8 ' ;;
    esac >"$T/$1"
    [ $# -lt 3 ] || truncate -s "$3" "$T/$1"
}

# block NAME TYPE: what the agent says of a picture that it was sent.
block() { printf '%s:%s:%.8s' "$2" "$(stat -c %s "$T/$1")" "$(sha256sum "$T/$1")"; }

# kept: prints the names of the files in the session.
kept() { ls -A "$DIR/pictures" 2>/dev/null || true; }

@test "an agent gets pictures as blocks, and the history names them by name and size" {
    run_acp --images
    picture red.png png 2000
    picture 'no ending' jpg
    picture b.gif gif
    picture wrong.png webp
    tell --image "$T/red.png" --image "$T/no ending" --image "$T/b.gif" --image "$T/wrong.png" 'CW-LOOK at these'
    [ "$status" -eq 0 ]
    [[ $output == *"last=\"CW-LOOK at these\" images=[$(block red.png image/png) $(block 'no ending' image/jpeg) $(
        block b.gif image/gif) $(block wrong.png image/webp)]" ]]
    [ "$(kept | wc -l)" -eq 4 ]
    [ "$(stat -c %a "$DIR/pictures")" = 700 ]
    [ "$(stat -c %a "$DIR/pictures/"* | sort -u)" = 600 ]
    ok history "$ID" solo
    [[ $output == *"    [picture red.png, 2.0K]"*"    [picture no ending, 4B]"*"    CW-LOOK at these"* ]]
    ok history "$ID" solo --export md
    [[ $output == *"> [picture red.png, 2.0K]"* ]]
    ok history "$ID" solo --role user --json
    [ "$(jq -c '[.messages[0].data.pictures[] | [.name, .bytes]]' <<<"$output")" = \
        '[["red.png",2000],["no ending",4],["b.gif",6],["wrong.png",16]]' ]
    ok context "$ID" solo
    [[ $output == *"[picture red.png, 2.0K]"* ]]
}

@test "send takes pictures, too, also without a text, and the same picture is kept once" {
    run_acp --images
    picture red.png png
    cp "$T/red.png" "$T/again.png"
    ok send "$ID" solo --wait --image "$T/red.png" CW-ONE
    ok send "$ID" solo --wait --image "$T/again.png" ''
    [ "$(prompts '"type":"image"')" -eq 2 ]
    [ "$(kept | wc -l)" -eq 1 ]
    ok history "$ID" solo --role user
    [[ $output == *"[picture again.png, 16B]"* ]]
    "$MAS" ask "$ID" solo --image - 'from a pipe' <"$T/red.png" | grep -F "images=[$(block red.png image/png)]"
}

@test "what is no picture, too large or too much is refused, and nothing is kept of it" {
    run_acp --images
    picture red.png png
    picture large.png png $((5 * 1024 * 1024 + 1))
    picture most.png png $((5 * 1024 * 1024))
    echo 'a text' >"$T/text.png"
    mkfifo "$T/pipe.png"
    fails 2 ask "$ID" solo --image "$T/text.png" x
    [[ $stderr == "mas: cannot send '$T/text.png': it is no picture in PNG, JPEG, GIF or WebP"* ]]
    fails 1 ask "$ID" solo --image "$T/large.png" x
    fails 1 ask "$ID" solo --image "$T/none.png" x
    fails 2 ask "$ID" solo --image "$T/pipe.png" x
    fails 2 ask "$ID" solo --image - - </dev/null
    fails 2 ask "$ID" solo --aside --image "$T/red.png" x
    fails 2 send "$ID" solo --no-enter --image "$T/red.png" x
    local many=() more=()
    for i in {1..9}; do many+=(--image "$T/red.png"); done
    fails 2 ask "$ID" solo "${many[@]}" x
    [ -z "$(kept)" ]
    for i in {1..5}; do more+=(--image "$T/most.png"); done
    fails 2 ask "$ID" solo "${more[@]}" x
    [[ $stderr == *"its pictures have more than 20 MiB"* ]]
    ok ask "$ID" solo "${many[@]:2}" x
    ok ask "$ID" solo "${more[@]:2}" x
    [ "$(prompts '"type":"image"')" -eq 2 ]
}

@test "an agent that takes no pictures is asked nothing, and the hint says how else" {
    run_acp ""
    picture red.png png
    tell CW-FIRST
    fails 4 ask "$ID" solo --image "$T/red.png" CW-LOOK
    [[ $stderr == "mas: cannot ask agent 'solo': it takes no pictures"*"name its path in the text"* ]]
    [ "$(prompts CW-LOOK)" -eq 0 ]
}

@test "a prompt that comes before the agent can tell ends with the reason if it takes none" {
    run_acp "--init-until $T/go"
    picture red.png png
    "$MAS" ask "$ID" solo --no-wait --image "$T/red.png" CW-LOOK
    touch "$T/go"
    ended() { "$MAS" history "$ID" solo --role user --json | jq -e '.messages[0].stopReason == "failed"'; }
    eventually ended
    [[ $(notes) == *"it takes no pictures"* ]]
    tell CW-LATER
    [ "$status" -eq 0 ]
    [ "$(prompts CW-LOOK)" -eq 1 ] # as what was said before
}

@test "a prompt that waits keeps its picture when its host is killed" {
    run_acp --images
    picture red.png png
    "$MAS" ask "$ID" solo --no-wait HANG
    eventually state_is solo working
    "$MAS" ask "$ID" solo --no-wait --image "$T/red.png" CW-LOOK
    rm "$T/red.png"
    local agent
    agent=$(of solo .pid)
    kill -KILL "$(of solo .hostPid)"
    eventually is_gone "$agent"
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID"
    hosts_there
    eventually was_image CW-LOOK
    [ "$(prompts '"type":"image"')" -eq 1 ]
}

was_image() { [ "$(prompts "$1")" -ge 1 ] && [ "$(prompts '"type":"image"')" -ge 1 ]; }

@test "a limit sends the prompt again with its picture, and --again asks with it" {
    printf '[limits]\nretry = 1s\n' >>"$ROOT/mas.ini"
    run_acp "--images --limited $T/limit"
    picture red.png png
    : >"$T/limit"
    "$MAS" ask "$ID" solo --no-wait --image "$T/red.png" CW-LOOK
    eventually state_is solo limited
    rm "$T/limit" "$T/red.png"
    twice() { [ "$(prompts '"type":"image"')" -eq 2 ]; }
    eventually twice
    eventually state_is solo idle
    picture red.png png
    tell --image "$T/red.png" ERR:-32603
    [ "$status" -ne 0 ]
    rm "$T/red.png"
    tell --again
    [ "$(prompts '"type":"image"')" -eq 4 ]
}

@test "a picture that was removed from the session ends its prompt with that" {
    run_acp --images
    picture red.png png
    "$MAS" ask "$ID" solo --no-wait SLOW:1000
    "$MAS" ask "$ID" solo --no-wait --image "$T/red.png" CW-LOOK
    rm -r "$DIR/pictures"
    missing() { [[ $(notes) == *"its picture 'red.png' is missing"* ]]; }
    eventually missing
}

@test "an agent that does not know what was said is told of the pictures" {
    run_acp "--images --no-load --no-resume"
    picture red.png png
    tell --image "$T/red.png" CW-LOOK
    again
    tell CW-LATER
    [ "$status" -eq 0 ]
    [ "$(prompts '[picture red.png, 16B]')" -eq 1 ]
}

@test "an archive has the pictures" {
    run_acp --images
    picture red.png png
    tell --image "$T/red.png" CW-LOOK
    ok stop "$ID"
    ok archive "$ID" --output "$T/a.mas"
    ok rm "$ID"
    ok restore "$T/a.mas"
    [ "$(sha256sum <"$T/red.png" | cut -d' ' -f1).png" = "$(kept)" ]
    [ "$(stat -c %a "$DIR/pictures" "$DIR/pictures/"* | xargs)" = '700 600' ]
    ok doctor
}
