#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2011 # text for editors, templates and listings
# mas template edit
load ../helper

setup_more() {
    D=$ROOT/templates/pair I=$ROOT/templates/pair/template.ini C=$ROOT/templates/pair/.template-edit.ini
    BEFORE=$(cat "$I")
    unset VISUAL EDITOR
}

edit() { mas template edit "$@" </dev/null; }

# An editor: a script whose lines are these; $1 is the file.
editor() {
    printf '#!/bin/sh\n%s\n' "$(printf '%s\n' "$@")" >"$T/my editor"
    chmod +x "$T/my editor"
    export EDITOR="'$T/my editor'"
}

@test "a good new one takes the place of the old one" {
    chmod 640 "$I"
    editor 'sed -i "s/^description.*/description = mine/" "$1"'
    edit pair
    [ "$status" -eq 0 ]
    [ "$output" = 'pair: changed' ]
    [ -z "$stderr" ]
    grep -qx 'description = mine' "$I"
    [ "$(stat -c %a "$I")" = 640 ]
    [ "$(ls -A "$D" | xargs)" = 'template.ini unit workflows' ]
    edit -q pair
    [ "$status" -eq 0 ]
    [ "$output" = '' ]
}

@test "one that has only lost its end has changed" {
    echo '; the end' >>"$I"
    editor 'sed -i "\$d" "$1"'
    edit pair
    [ "$output" = 'pair: changed' ]
    [ "$(cat "$I")" = "$BEFORE" ]
}

@test "one that was left as it is changes nothing" {
    editor 'touch "$1"'
    before=$(snapshot)
    edit pair
    [ "$status" -eq 0 ]
    [ "$output" = 'pair: unchanged' ]
    [ "$(snapshot)" = "$before" ]
}

@test "a bad one is told with its lines, kept, and gone on with" {
    editor 'sed -i "s/^rank = worker/rank = w/; s/^description.*/description = mine/" "$1"'
    edit pair
    [ "$status" -eq 1 ]
    [ "$output" = "$C:$(grep -n '^rank = w$' "$C" | cut -d: -f1): [agent reviewer] rank: a rank must be meta, manager or worker" ]
    [ "$stderr" = "mas: cannot change template 'pair': it would have 1 error
your changes are in '$C'; continue with: mas template edit pair" ]
    [ "$(cat "$I")" = "$BEFORE" ]
    new_session -t pair --no-start # and the old one works
    [ ! -e "$ROOT/sessions/$ID/.template-edit.ini" ]
    editor 'sed -i "s/^rank = w$/rank = worker/" "$1"'
    edit pair
    [ "$status" -eq 0 ]
    [ "$stderr" = 'continuing the unfinished edit' ]
    grep -qx 'description = mine' "$I"
    [ ! -e "$C" ]
}

@test "warnings are printed, and stop nothing" {
    editor 'echo "meta = all" >>"$1"'
    edit pair
    [ "$status" -eq 0 ]
    [[ $output == "$C:"*': warning: [rules] meta: no agent of this team matches: all'$'\n''pair: changed' ]]
    grep -qx 'meta = all' "$I"
}

@test "an editor that fails changes nothing, and what was written is kept" {
    editor 'exit 3'
    before=$(snapshot)
    edit pair
    [ "$status" -eq 1 ]
    [ "$stderr" = "mas: cannot edit template 'pair': the editor exited with code 3" ]
    [ "$(snapshot)" = "$before" ]
    editor 'echo "; more" >>"$1"; kill -KILL $$'
    edit pair
    [ "$status" -eq 1 ]
    [ "$stderr" = "mas: cannot edit template 'pair': the editor exited with code 137
your changes are in '$C'; continue with: mas template edit pair" ]
    [ "$(cat "$I")" = "$BEFORE" ]
    [ "$(tail -n 1 "$C")" = '; more' ]
}

@test "an editor that replaces the file by another, as many do, is fine" {
    editor 'sed "s/^description.*/description = other/" "$1" >"$1.tmp" && mv "$1.tmp" "$1"'
    edit pair
    [ "$status" -eq 0 ]
    grep -qx 'description = other' "$I"
}

@test "an editor that removes the file, or makes a link of it, changes nothing" {
    for what in 'rm "$1"' 'ln -sf /etc/passwd "$1"' 'rm "$1"; mkdir "$1"'; do
        editor "$what"
        edit pair
        [ "$status" -eq 1 ]
        [ "$(cat "$I")" = "$BEFORE" ]
        rm -rf "$C"
    done
}

@test "VISUAL goes before EDITOR, and their words are split without a shell" {
    editor 'echo "editor" >>'"$T"'/called'
    printf '#!/bin/sh\nprintf "<%%s>" "$@" >>"%s/called"\n' "$T" >"$T/visual"
    chmod +x "$T/visual"
    # shellcheck disable=SC2016
    VISUAL="$T/visual 'a b' \$(touch\ ran) ; x" edit pair
    [ "$status" -eq 0 ]
    [ "$(cat "$T/called")" = '<a b><$(touch ran)><;><x><'"$C"'>' ]
    VISUAL='' edit pair
    [ "$(tail -n 1 "$T/called")" = '<a b><$(touch ran)><;><x><'"$C"'>editor' ]
    run find "$T" -name ran
    [ -z "$output" ]
}

@test "without an editor and a terminal it is a usage error" {
    edit pair
    [ "$status" -eq 2 ]
    [ "$stderr" = 'mas: cannot edit a template: stdin or stderr is not a terminal'$'\n''name a program in VISUAL or EDITOR' ]
    EDITOR=no-such-editor edit pair
    [ "$status" -eq 1 ]
    [ "${stderr_lines[0]}" = "mas: cannot use the editor 'no-such-editor': there is no such program in PATH" ]
    EDITOR="'unclosed" edit pair
    [ "$status" -eq 2 ]
    EDITOR=true edit nope
    [ "$status" -eq 3 ]
    [ ! -e "$C" ]
}

@test "two cannot edit one template at once" {
    mkfifo "$T/go"
    editor "echo up >$T/up; read line <$T/go"
    "$MAS" template edit pair </dev/null 3>&- &
    local pid=$!
    eventually [ -s "$T/up" ]
    EDITOR=true edit pair
    [ "$status" -eq 4 ]
    [ "$stderr" = "mas: cannot edit template 'pair': another command is editing it" ]
    echo >"$T/go"
    wait $pid
}

@test "a template.ini that was changed meanwhile is not overwritten" {
    editor "echo '; theirs' >>'$I'" 'echo "; mine" >>"$1"'
    edit pair
    [ "$status" -eq 4 ]
    [ "${stderr_lines[0]}" = "mas: cannot change template 'pair': its template.ini has changed in the meantime" ]
    [ "$(tail -n 1 "$I")" = '; theirs' ]
    [ "$(tail -n 1 "$C")" = '; mine' ]
}

@test "a directory that is called by its path is edited" {
    cp -r "$D" "$T/out"
    editor 'echo "; mine" >>"$1"'
    cd "$T"
    edit ./out
    [ "$status" -eq 0 ]
    [ "$(tail -n 1 "$T/out/template.ini")" = '; mine' ]
}

@test "on a terminal it asks what is to become of a bad one" {
    editor 'if grep -q broken "$1"; then sed -i /broken/d "$1"; echo "; fine" >>"$1"; else echo broken >>"$1"; fi'
    # Edits in a terminal that the command $1 of tmux makes
    edit_in() {
        tm "$@" -e EDITOR="$EDITOR" -e MAS_ROOT="$ROOT" "sh -c '\"\$0\" template edit pair; echo code \$?; sleep 100' '$MAS'"
    }
    edit_in new-session -d -s edit -x 150 -y 20
    # shellcheck disable=SC2317
    shows() { tm capture-pane -p -t =edit: | grep -qF -- "$1"; }
    eventually shows '(e)dit again, (k)eep it for later, or (d)rop it?'
    tm send-keys -t =edit: x Enter
    eventually shows "missing '='"
    tm send-keys -t =edit: e Enter
    eventually shows 'pair: changed'
    eventually shows 'code 0'
    [ "$(tail -n 1 "$I")" = '; fine' ]
    edit_in respawn-pane -k -t =edit:
    eventually shows '(e)dit again'
    tm send-keys -t =edit: d Enter
    eventually shows 'code 1'
    [ ! -e "$C" ]
    [ "$(tail -n 1 "$I")" = '; fine' ]
}
