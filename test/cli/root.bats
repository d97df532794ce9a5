#!/usr/bin/env bats
load ../helper

# The root that mas uses, as `mas config` tells it.
root_used() { "$MAS" "$@" config --json | jq -r .root; }

# A root at $1 without further words.
make_root() { "$MAS" init -q "$1"; }

no_root_env() { unset MAS_ROOT; }

@test "--root goes before MAS_ROOT, in front of the verb and behind it" {
    make_root "$T/other"
    [ "$(root_used)" = "$ROOT" ]
    [ "$(root_used --root "$T/other")" = "$T/other" ]
    [ "$(root_used --root="$T/other")" = "$T/other" ]
    [ "$("$MAS" config --json --root "$T/other" | jq -r .root)" = "$T/other" ]
    [ "$("$MAS" config --json --root="$T/other" | jq -r .root)" = "$T/other" ]
}

@test "MAS_ROOT goes before a mas.ini in the current directory" {
    make_root "$T/other"
    cd "$T/other"
    [ "$(root_used)" = "$ROOT" ]
}

@test "without MAS_ROOT the nearest mas.ini at or above the current directory is the root" {
    no_root_env
    make_root "$T/outer"
    make_root "$T/outer/in/ner"
    mkdir -p "$T/outer/in/ner/x/y" "$T/outer/elsewhere"
    cd "$T/outer"
    [ "$(root_used)" = "$T/outer" ]
    cd "$T/outer/elsewhere"
    [ "$(root_used)" = "$T/outer" ]
    cd "$T/outer/in/ner/x/y"
    [ "$(root_used)" = "$T/outer/in/ner" ]
    cd "$T/outer/in"
    [ "$(root_used)" = "$T/outer" ]
}

@test "an empty MAS_ROOT is as good as none" {
    make_root "$T/here"
    cd "$T/here"
    [ "$(MAS_ROOT='' root_used)" = "$T/here" ]
}

@test "a nearest mas.ini goes before the default data directory" {
    no_root_env
    make_root "$XDG_DATA_HOME/mas"
    make_root "$T/here"
    cd "$T/here"
    [ "$(root_used)" = "$T/here" ]
    cd "$T"
    [ "$(root_used)" = "$XDG_DATA_HOME/mas" ]
}

@test "the first new sets up the default data directory" {
    no_root_env
    cd "$T"
    new_session -t solo --no-start
    [ -f "$XDG_DATA_HOME/mas/mas.ini" ]
    [ -d "$XDG_DATA_HOME/mas/templates/default" ]
    [ -f "$XDG_DATA_HOME/mas/sessions/$ID/.session" ]
    [ "$(root_used)" = "$XDG_DATA_HOME/mas" ]
}

@test "without XDG_DATA_HOME the default is .local/share/mas in HOME" {
    no_root_env
    unset XDG_DATA_HOME
    cd "$T"
    new_session -t solo --no-start
    [ -f "$HOME/.local/share/mas/sessions/$ID/.session" ]
    export XDG_DATA_HOME=relative/path
    [ "$(root_used)" = "$HOME/.local/share/mas" ]
    [ ! -e relative ]
}

@test "no other command than new sets up a root" {
    no_root_env
    cd "$T"
    for verb in list show stop start rm env config doctor; do
        run "$MAS" "$verb"
        [ ! -e "$XDG_DATA_HOME/mas" ]
    done
    ok list
    [ -z "$output" ]
    [ "$stderr" = "no sessions in '$XDG_DATA_HOME/mas'; create a session with: mas new" ]
    fails 3 show mas-12345678
    [ "$stderr" = "mas: cannot find session 'mas-12345678': there is no such session in '$XDG_DATA_HOME/mas'"$'\n'"create a session with: mas new" ]
}

@test "new does not set up a root that was named" {
    MAS_ROOT=$T/nowhere fails 1 new -t solo
    [ "$stderr" = "mas: cannot use root '$T/nowhere': there is no such directory
create it with: mas init $T/nowhere" ]
    [ ! -e "$T/nowhere" ]
    mkdir "$T/empty"
    fails 1 --root "$T/empty" new -t solo
    [[ $stderr == "mas: cannot use root '$T/empty': it has no mas.ini"* ]]
    [ -z "$(ls -A "$T/empty")" ]
}

@test "an empty --root is refused" {
    fails 2 --root '' list
    [[ $stderr == "mas: cannot use root '': it is empty"* ]]
}

@test "a relative root and a root reached through a link are told by their real path" {
    cd "$T"
    [ "$(root_used --root root)" = "$ROOT" ]
    ln -s root link
    [ "$(root_used --root link)" = "$ROOT" ]
    MAS_ROOT=$T/link new_session -t solo --no-start
    [ "$(meta "$ID" SESSION_DIR)" = "$ROOT/sessions/$ID" ]
}

@test "another user's root is refused" {
    [ "$(id -u)" -eq 0 ] || skip "only root can give a directory away"
    chown nobody "$ROOT"
    for verb in list new config doctor; do
        fails 1 "$verb"
        [[ $stderr == "mas: cannot use root '$ROOT': it belongs to user $(id -u nobody), and mas runs as user 0"* ]]
        [ -z "$output" ]
    done
    [ -z "$(ls -A "$ROOT/sessions")" ]
}

@test "another user's sessions directory is refused" {
    [ "$(id -u)" -eq 0 ] || skip "only root can give a directory away"
    chown nobody "$ROOT/sessions"
    for verb in list new; do
        fails 1 "$verb"
        [[ $stderr == "mas: cannot use root '$ROOT': sessions belongs to user "* ]]
    done
    [ -z "$(ls -A "$ROOT/sessions")" ]
}

@test "another user's mas.ini is refused: its presets are not run" {
    [ "$(id -u)" -eq 0 ] || skip "only root can give a file away"
    printf '[session]\npreset = evil\n[preset evil]\ncommand = touch %s/ran\n' "$T" >"$ROOT/mas.ini"
    chown nobody "$ROOT/mas.ini"
    for verb in list new config; do
        fails 1 "$verb"
        [[ $stderr == "mas: cannot use '$ROOT/mas.ini': it belongs to user "* ]]
    done
    [ ! -e "$T/ran" ]
    [ -z "$(find "$ROOT/sessions" -mindepth 1 -type d)" ]
}

@test "another user's mas.ini that is found above the current directory is refused" {
    [ "$(id -u)" -eq 0 ] || skip "only root can give a directory away"
    no_root_env
    make_root "$T/trap"
    mkdir "$T/trap/work"
    chown -R nobody "$T/trap"
    chown 0 "$T/trap/work"
    cd "$T/trap/work"
    fails 1 new -t solo
    [[ $stderr == "mas: cannot use root '$T/trap': it belongs to user "* ]]
    [ -z "$(ls -A "$T/trap/sessions")" ]
}

@test "another user's agents.ini is refused by new" {
    [ "$(id -u)" -eq 0 ] || skip "only root can give a file away"
    chown nobody "$ROOT/templates/agents.ini"
    fails 1 new -t solo
    [[ $stderr == "mas: cannot use '$ROOT/templates/agents.ini': it belongs to user "* ]]
    [ -z "$(ls -A "$ROOT/sessions")" ]
}

@test "a mas.ini or agents.ini that everybody may write to is refused" {
    chmod 666 "$ROOT/mas.ini"
    fails 1 list
    [ "${stderr%%$'\n'*}" = "mas: cannot use '$ROOT/mas.ini': everybody may write to it" ]
    chmod 644 "$ROOT/mas.ini"
    chmod 646 "$ROOT/templates/agents.ini"
    fails 1 new -t solo
    [ "$stderr" = "mas: cannot use '$ROOT/templates/agents.ini': everybody may write to it
it names programs that mas runs; take that permission away with: chmod o-w" ]
    [ -z "$(ls -A "$ROOT/sessions")" ]
}

@test "a template.ini of another user, or that everybody may write to, is refused" {
    local file=$ROOT/templates/solo/template.ini
    chmod 646 "$file"
    fails 1 new -t solo
    [ "$stderr" = "mas: cannot use template 'solo': everybody may write to template.ini
it names programs that mas runs, so nobody else may write to it" ]
    chmod 644 "$file"
    chmod 777 "${file%/*}"
    fails 1 new -t solo
    [[ $stderr == "mas: cannot use template 'solo': everybody may write to it"* ]]
    chmod 755 "${file%/*}"
    if [ "$(id -u)" -eq 0 ]; then
        chown nobody "$file"
        fails 1 new -t solo
        [[ $stderr == "mas: cannot use template 'solo': template.ini belongs to user $(id -u nobody)"* ]]
        chown 0 "$file"
    fi
    [ -z "$(ls -A "$ROOT/sessions")" ]
    new_session -t solo --no-start
}

@test "a mas.ini that is no file is refused and hangs nothing" {
    for kind in mkdir mkfifo; do
        rm -rf "$ROOT/mas.ini"
        "$kind" "$ROOT/mas.ini"
        fails 1 list
        [[ $stderr == "mas: cannot read '$ROOT/mas.ini': it is a "* ]]
    done
}

@test "sessions that is a link is refused, and nothing is written behind it" {
    rmdir "$ROOT/sessions"
    mkdir "$T/target"
    ln -s "$T/target" "$ROOT/sessions"
    for verb in list new doctor; do
        fails 1 "$verb"
        [ "$stderr" = "mas: cannot use root '$ROOT': sessions is not a directory" ]
    done
    [ -z "$(ls -A "$T/target")" ]
}

@test "sessions that is a file is refused" {
    rmdir "$ROOT/sessions"
    echo x >"$ROOT/sessions"
    fails 1 new -t solo
    [ "$stderr" = "mas: cannot use root '$ROOT': sessions is not a directory" ]
    [ "$(cat "$ROOT/sessions")" = x ]
}

@test "sessions that is missing is made again" {
    rmdir "$ROOT/sessions"
    ok list
    (umask 077 && "$MAS" new -q -t solo --no-start)
    [ "$(stat -c %a "$ROOT/sessions")" = 755 ]
}

@test "a session that is a link is no session" {
    new_session -t solo --no-start
    mv "$ROOT/sessions/$ID" "$T/moved"
    ln -s "$T/moved" "$ROOT/sessions/$ID"
    for verb in start stop rm; do
        run --separate-stderr "$MAS" "$verb" "$ID"
        [ "$status" -ne 0 ]
        [[ $stderr == "mas: cannot "* ]]
        [ -f "$T/moved/.session" ]
    done
    ok list --all --json
    [ "$(jq -r '.sessions[] | select(.status != "error") | .sessionId' <<<"$output")" = "" ]
}

@test "a root with control characters in its path is refused" {
    bad=$T/$'a\nb'
    mkdir "$bad"
    cp -a "$ROOT/." "$bad"
    for verb in list new config; do
        MAS_ROOT=$bad fails 1 "$verb"
        [ "$stderr" = "mas: cannot use root '$T/a\\x0ab': its path contains control characters" ]
    done
    [ -z "$(ls -A "$bad/sessions")" ]
    bad=$T/$'esc\033]0;x\a'
    mv "$T/"$'a\nb' "$bad"
    MAS_ROOT=$bad fails 1 list
    [[ $stderr != *$'\033'* && $stderr != *$'\a'* ]]
    cd "$bad"
    MAS_ROOT='' mas new -t solo
    [ "$status" -eq 1 ]
    [ -z "$(ls -A "$bad/sessions")" ]
}

# A whole life in a root of this name: every command that is given the path, and the agent itself,
# sees it as it is, and nothing in it is run.
live_in() {
    local dir=$T/$1 before
    export MAS_ROOT=$dir
    cd "$T" || return
    make_root "$dir"
    cd "$dir/templates" || return
    new_session -t solo -n here
    [ "$("$MAS" list --json | jq -r '.sessions[0].status')" = active ]
    [ "$("$MAS" list --json | jq -r '.sessions[0].workingDir')" = "$dir/sessions/$ID" ]
    [ "$(field here .unitDir)" = "$dir/sessions/$ID/unit" ]
    [ "$(tm show-options -v -t "=mas-${ID:0:8}:" @mas_root)" = "$dir" ]
    pid=$(agent_pid here)
    eventually prints "$dir/sessions/$ID/unit/solo" readlink "/proc/$pid/cwd"
    for shell in dash bash 'busybox sh'; do
        # shellcheck disable=SC2016,SC2086
        [ "$($shell -c 'eval "$1" && printf %s "$UNIT_DIR"' - "$("$MAS" env here)")" = "$dir/sessions/$ID/unit" ]
        # shellcheck disable=SC2016,SC2086
        [ "$($shell -c '. "$1" && printf %s "$UNIT_DIR"' - "$dir/sessions/$ID/.session")" = "$dir/sessions/$ID/unit" ]
    done
    "$MAS" stop here
    "$MAS" start here
    [ "$(field here .status)" = active ]
    "$MAS" list >/dev/null
    "$MAS" doctor
    "$MAS" rm -f here
    [ -z "$("$MAS" list -q)" ]
    [ "$(find "$dir/sessions" -mindepth 1 -maxdepth 1 -type d)" = "" ]
    run find "$T" "$PROJECT" -name 'ran*' -newer "$dir/mas.ini"
    [ -z "$output" ]
}

@test "a root whose path holds spaces" { live_in 'two  spaces here '; }

@test "a root whose path holds quotes" { live_in "it's \"quoted\" \\ back"; }

@test "a root whose path holds a tmux format" { live_in '#(touch ran1)#{session_name}##'; }

# shellcheck disable=SC2016
@test "a root whose path holds shell substitutions" { live_in '$(touch ran2)`touch ran3`$HOME'; }

@test "a root whose path ends in a semicolon" { live_in 'end;'; }

@test "a root whose path holds semicolons and other commands of tmux" { live_in 'a ; kill-server ; b \;'; }

@test "a root whose path is Unicode" { live_in 'Größe 中文 é😀'; }

@test "a root whose path begins with a dash and holds percent signs and colons" { live_in '-x %s%n %d:y=z'; }

# Makes a root that this user does not know: its settings name programs that leave $T/ran.
plant_root() {
    make_root "$1"
    rm "$XDG_STATE_HOME/mas/roots"
    printf '#!/bin/sh\ntouch "%s/ran"\nexec sleep 1000\n' "$T" >"$1/evil"
    chmod +x "$1/evil"
    printf '[session]\npreset = evil\n[preset evil]\ncommand = %s\n[memory]\nembed_command = %s\n' \
        "$1/evil" "$1/evil" >"$1/mas.ini"
    mkdir -p "$1/work"
    cd "$1/work" || return
}

@test "a root that is found and that nobody accepted runs nothing" {
    no_root_env
    plant_root "$T/trap"
    id=$("$MAS" --root "$T/trap" new -q -t solo --no-start)
    for words in 'new -t solo' "start $id" 'start --crashed' "restart $id all" 'migrate' 'serve'; do
        # shellcheck disable=SC2086
        fails 1 $words </dev/null
        [ "$stderr" = "mas: cannot run '${words%% *}' in root '$T/trap': mas found it from the current directory, and you have neither created nor accepted it
mas would run programs that it names; accept it with: mas init $T/trap" ]
    done
    [ "$(ls "$T/trap/sessions")" = "$id" ]
    [ ! -e "$T/ran" ]
    run ! tm list-sessions
}

@test "a root that nobody accepted can be read, but its embed_command is not run" {
    no_root_env
    plant_root "$T/trap"
    id=$("$MAS" --root "$T/trap" new -q -t solo --no-start)
    for words in list "show $id" doctor "env $id" du "stop $id"; do
        # shellcheck disable=SC2086
        ok $words
    done
    ok search word
    [ "${stderr%%$'\n'*}" = "mas: warning: mas does not run the program that $T/trap/mas.ini:6 names, because you have neither created nor accepted that root; accept it with: mas init $T/trap" ]
    [ "$("$MAS" config --json | jq -c '[.rootAccepted, (.settings[] | select(.key == "memory.embed_command").origin)]')" = '[false,"built in"]' ]
    "$MAS" config | grep -qE "$T/trap +- +current directory, not accepted"
    [ ! -e "$T/ran" ]
}

@test "--root, MAS_ROOT and the default root are not asked for" {
    no_root_env
    plant_root "$T/trap"
    new_session --root "$T/trap" -t solo --no-start
    MAS_ROOT=$T/trap new_session -t solo --no-start
    cd "$T"
    new_session -t solo --no-start
    mkdir -p "$XDG_DATA_HOME/mas/below"
    cd "$XDG_DATA_HOME/mas/below"
    new_session -t solo --no-start
    [ "$("$MAS" list -q | wc -l)" -eq 2 ]
}

@test "init accepts a root, by its path and for this user alone" {
    no_root_env
    plant_root "$T/trap"
    ok init
    [ "$output" = "$T/trap: is already a root, accepted: mas may run the programs that it names" ]
    [ "$(stat -c %a "$XDG_STATE_HOME/mas/roots")" = 600 ]
    [ "$(cat "$XDG_STATE_HOME/mas/roots")" = "$(id -u) $T/trap" ]
    mas init
    [ "$output" = "$T/trap: is already a root, nothing to do" ]
    [ "$("$MAS" config --json | jq -r '.rootAccepted')" = true ]
    new_session -t solo
    eventually test -e "$T/ran"
    "$MAS" stop -q "$ID"
    # another path is another root, and another user's word is none
    mv "$T/trap" "$T/moved"
    cd "$T/moved/work"
    [ "$("$MAS" config --json | jq -r '.rootAccepted')" = false ]
    echo "$(($(id -u) + 1)) $T/moved" >"$XDG_STATE_HOME/mas/roots"
    [ "$("$MAS" config --json | jq -r '.rootAccepted')" = false ]
    "$MAS" init -q
    [ "$("$MAS" config --json | jq -r '.rootAccepted')" = true ]
    # what is gone is forgotten
    [ "$(cat "$XDG_STATE_HOME/mas/roots")" = "$(id -u) $T/moved" ]
}

@test "on a terminal it is asked once whether a root is accepted" {
    no_root_env
    plant_root "$T/trap"
    # shellcheck disable=SC2317
    shows() { tm capture-pane -p -t =ask: | grep -qF -- "$1"; }
    new_in() { tm "$@" -c "$PWD" "sh -c '\"\$0\" new -t solo --no-start; echo code \$?; sleep 100' '$MAS'"; }
    new_in new-session -d -s ask -x 150 -y 20
    eventually shows 'Accept it? [y/N]'
    tm send-keys -t =ask: n Enter
    eventually shows 'neither created nor accepted it'
    eventually shows 'code 1'
    [ -z "$(ls "$T/trap/sessions")" ]
    new_in respawn-pane -k -t =ask:
    eventually shows 'Accept it? [y/N]'
    tm send-keys -t =ask: y Enter
    eventually shows 'code 0'
    new_session -t solo --no-start </dev/null
}

@test "a list of roots that others may write to accepts nothing" {
    no_root_env
    make_root "$T/mine"
    cd "$T/mine"
    chmod 777 "$XDG_STATE_HOME/mas"
    fails 1 new -t solo --no-start </dev/null
    fails 1 init
    [ "$stderr" = "mas: cannot remember root '$T/mine': cannot use '$XDG_STATE_HOME/mas': others may write to it" ]
    chmod 700 "$XDG_STATE_HOME/mas"
    rm "$XDG_STATE_HOME/mas/roots"
    ln -s "$T/elsewhere" "$XDG_STATE_HOME/mas/roots"
    echo "$(id -u) $T/mine" >"$T/elsewhere"
    fails 1 new -t solo --no-start </dev/null
}

@test "a root is made also where it cannot be remembered" {
    touch "$T/file"
    XDG_STATE_HOME=$T/file ok init "$T/new"
    [ "$output" = "$T/new: root created" ]
    [[ $stderr == "mas: warning: cannot remember root '$T/new': "* ]]
    "$MAS" --root "$T/new" new -q -t solo --no-start
}

@test "the list of roots has a limit, and the oldest goes" {
    for i in {1..257}; do
        mkdir "$T/r$i" && touch "$T/r$i/mas.ini" && echo "$(id -u) $T/r$i"
    done >"$XDG_STATE_HOME/mas/roots"
    make_root "$T/last"
    [ "$(wc -l <"$XDG_STATE_HOME/mas/roots")" -eq 256 ]
    [ "$(head -n 1 "$XDG_STATE_HOME/mas/roots")" = "$(id -u) $T/r3" ]
    [ "$(tail -n 1 "$XDG_STATE_HOME/mas/roots")" = "$(id -u) $T/last" ]
}

@test "out of the root mas says where it looked and which root has the session" {
    new_session -t solo -n shop --no-start
    no_root_env
    cd "$T"
    ok list
    [ "$stderr" = "no sessions in '$XDG_DATA_HOME/mas'; other roots have some: mas --root $ROOT list" ]
    for text in shop "$ID" "${ID:0:8}" "mas-${ID:0:8}"; do
        fails 3 show "$text"
        [ "$stderr" = "mas: cannot find session '$text': there is no such session in '$XDG_DATA_HOME/mas'
it is in another root: mas --root $ROOT show $text" ]
    done
    fails 3 attach
    [ "$stderr" = "mas: cannot attach: no session is running in '$XDG_DATA_HOME/mas'
other roots have some: mas --root $ROOT list" ]
    [ ! -e "$XDG_DATA_HOME/mas" ]
    make_root "$T/second"
    cd "$T/second"
    fails 3 send shop all hello
    [ "$stderr" = "mas: cannot find session 'shop': there is no such session in '$T/second'
it is in another root: mas --root $ROOT send shop" ]
    mas show nothing
    [ "$stderr" = "mas: cannot find session 'nothing': there is no such session in '$T/second'
list the sessions with: mas list" ]
}

@test "two roots on one tmux server do not see each other's sessions" {
    new_session -t solo -n one
    one=$ID
    make_root "$T/other"
    two=$("$MAS" --root "$T/other" new -q -t solo -n two)
    [ "$("$MAS" list -q)" = "$one" ]
    [ "$("$MAS" --root "$T/other" list -q)" = "$two" ]
    fails 3 show two
    ok stop --all
    [ "$("$MAS" --root "$T/other" list --active -q)" = "$two" ]
}

# Everything that writes refuses the root because of $1, and changes nothing; what only reads tells it.
is_strange() {
    local before verb
    before=$(snapshot)
    for verb in 'new -q -t solo' init "rm -f $ID" "stop $ID" 'clean --older-than 1s' 'doctor --fix' doctor; do
        # shellcheck disable=SC2086 # words
        mas $verb
        [ "$status" -ne 0 ] || { echo "$verb: done" >&2; false; }
        case $verb in
        stop*) ;; # no such session
        doctor*) [[ $output == *"its sessions/ is not the one it had: $1"* ]] ;;
        *) [[ $stderr == *"its sessions/ is not the one it had: $1"*"rm '$ROOT/.sessions.mark'"* ]] ;;
        esac
    done
    mas list
    [[ $stderr == *"its sessions/ is not the one it had: $1"* ]]
    [ "$(snapshot)" = "$before" ]
}

@test "a root whose sessions/ is not the one it had is refused by all that writes, and its team goes on" {
    new_session -t solo
    local pid
    pid=$(agent_pid "$ID")
    mv "$ROOT/sessions" "$T/away"
    mkdir "$ROOT/sessions" # what is left when a mount goes away
    is_strange 'it has not the mark of this root'
    rmdir "$ROOT/sessions"
    fails 1 list
    [[ $stderr == *'is not the one it had: it is missing'* ]]
    [ ! -e "$ROOT/sessions" ]
    mv "$T/away" "$ROOT/sessions"
    [ "$("$MAS" doctor)" = 'everything is in order' ]
    [ "$(agent_pid "$ID")" = "$pid" ]
    # a copy and a clone of the root are roots of their own, and a person may begin anew
    cp -R "$ROOT" "$T/copy"
    "$MAS" --root "$T/copy" new -q -t solo --no-start
    rm -r "$T/copy/sessions"
    mkdir "$T/copy/sessions"
    run ! "$MAS" --root "$T/copy" new -q -t solo --no-start
    rm "$T/copy/.sessions.mark"
    "$MAS" --root "$T/copy" new -q -t solo --no-start
}

@test "sessions/ on a disk of its own: an earlier copy of it under the mount is not taken for it" {
    [ "$EUID" -eq 0 ] || skip 'mounting needs root'
    "$MAS" stop -q "$(new_session -t solo; echo "$ID")"
    # shellcheck disable=SC2016 # for the inner shell
    ROOT=$ROOT unshare -m bash -euc '
        cp -a "$ROOT/sessions" "$1/copy"
        mount -t tmpfs none "$ROOT/sessions"
        cp -a "$1/copy/." "$ROOT/sessions"
        "$MAS" new -q -t solo --no-start
        umount "$ROOT/sessions"
        ! "$MAS" new -q -t solo --no-start 2>"$1/err"
        grep -q "is not the one it had: its disk is not mounted" "$1/err"
    ' bash "$T"
}
