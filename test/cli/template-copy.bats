#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2011 # text for editors, templates and listings
# mas template copy
load ../helper

setup_more() { TEMPLATES=$ROOT/templates; }

# The names, modes, links and contents of a tree.
tree_of() { (cd "$1" && find . -mindepth 1 -printf '%P %m %l %T@\n' | sort && find . -type f -exec sha256sum {} + | sort); }

@test "copy makes a template that is the same under another name" {
    ok template copy default mine
    [ "$output" = "$TEMPLATES/mine" ]
    [ -z "$stderr" ]
    [ "$(tree_of "$TEMPLATES/mine")" = "$(tree_of "$TEMPLATES/default")" ]
    [ "$(stat -c %a "$TEMPLATES/mine")" = 755 ]
    new_session -t mine --no-start
    [ "$(field "$ID" '.agents | length')" = 13 ]
    [ "$(ls -A "$TEMPLATES" | xargs)" = '.shipped agents.ini default mine pair solo' ]
}

@test "copy takes a directory, and -q says nothing" {
    cp -r "$TEMPLATES/pair" "$T/out"
    cd "$T/out"
    ok template copy -q . mine
    [ -z "$output" ]
    [ "$(tree_of "$TEMPLATES/mine")" = "$(tree_of .)" ]
}

@test "copy never goes over anything" {
    mkdir "$TEMPLATES/dir"
    touch "$TEMPLATES/file"
    ln -s /nowhere "$TEMPLATES/link"
    before=$(snapshot)
    for name in pair dir file link; do
        fails 4 template copy solo $name
        [ "$stderr" = "mas: cannot copy to template '$name': it exists" ]
    done
    [ "$(snapshot)" = "$before" ]
}

@test "names that are no words, and templates that are not there, are refused" {
    before=$(snapshot)
    for name in '' 'a b' ../x a/b .new-x "$(printf '%033d' 0)" . "$T/abs"; do
        fails 2 template copy solo "$name"
        [[ $stderr == "mas: cannot copy to template '"*"': a name must be 1 to 32 characters of A-Z a-z 0-9 _ -" ]]
    done
    fails 3 template copy nope mine
    fails 3 template copy ./nope mine
    mkdir "$T/none"
    fails 1 template copy "$T/none" mine
    fails 2 template copy solo
    fails 2 template copy a b c
    [ "$(snapshot)" = "$before" ]
}

@test "what cannot be copied is told, and nothing is left" {
    mkfifo "$TEMPLATES/pair/unit/lead/fifo"
    before=$(snapshot)
    fails 1 template copy pair mine
    [ "$stderr" = "mas: cannot copy 'templates/pair/unit/lead/fifo': it is a FIFO" ]
    [ "$(snapshot)" = "$before" ]
}

@test "the root cannot be copied into itself" {
    cp "$TEMPLATES/solo/template.ini" "$ROOT/template.ini"
    before=$(snapshot)
    fails 1 template copy "$ROOT" mine
    [[ $stderr == *'the copy would be inside the original'* ]]
    [ "$(snapshot)" = "$before" ]
}

@test "a broken template is copied too, so that it can be mended" {
    echo broken >"$TEMPLATES/solo/template.ini"
    ok template copy solo mine
    [ "$(cat "$TEMPLATES/mine/template.ini")" = broken ]
}

@test "of ten that copy to one name at once, one does" {
    for i in {1..10}; do
        "$MAS" template copy -q pair mine 2>"$T/err$i" && echo "$i" >>"$T/done" &
    done
    wait
    [ "$(wc -l <"$T/done")" -eq 1 ]
    [ "$(tree_of "$TEMPLATES/mine")" = "$(tree_of "$TEMPLATES/pair")" ]
    [ "$(cat "$T"/err* | sort -u)" = "mas: cannot copy to template 'mine': it exists" ]
    [ "$(ls -A "$TEMPLATES" | xargs)" = '.shipped agents.ini default mine pair solo' ]
}

@test "what a killed copy left goes with the next" {
    mkdir -p "$TEMPLATES/.new-mine/unit" "$TEMPLATES/.new-other"
    mas template list -q
    [ "$output" = $'default\npair\nsolo' ]
    ok template copy -q pair mine
    [ "$(ls -A "$TEMPLATES" | xargs)" = '.shipped agents.ini default mine pair solo' ]
}

@test "an interrupted copy leaves nothing" {
    mkdir "$TEMPLATES/big" && cp "$TEMPLATES/solo/template.ini" "$TEMPLATES/big/"
    mkdir -p "$TEMPLATES/big/unit/solo"
    (cd "$TEMPLATES/big/unit/solo" && seq 20000 | xargs touch)
    # one that is done before the signal comes shows nothing: again
    interrupted() {
        rm -rf "$TEMPLATES/mine"
        "$MAS" template copy -q big mine 3>&- &
        pid=$!
        until [ -d "$TEMPLATES/.new-mine/unit" ] || ! kill -0 $pid; do :; done
        kill -TERM $pid || true
        rc=0
        wait $pid || rc=$?
        [ -e "$TEMPLATES/mine" ] || return $((rc == 0))
        [ "$(find "$TEMPLATES/mine/unit/solo" -type f | wc -l)" -eq 20000 ] || half=yes
        return 1
    }
    half=''
    eventually interrupted
    [ -z "$half" ]
    [ "$rc" -eq 143 ] || [ "$rc" -eq 1 ]
    [ ! -e "$TEMPLATES/.new-mine" ]
    [ ! -e "$TEMPLATES/mine" ]
}
