#!/usr/bin/env bats
# mas move: a session goes to another machine, whole and once, whatever is killed on the way.
# shellcheck disable=SC2016 # scripts for the other machine
load ../helper
load ../memory
load ../project
load ../ssh

setup_more() { make_machines n1; }

teardown_more() {
    there n1 "$MAS" stop -q --all 2>/dev/null || :
    if [ -d "$T/n2" ]; then there n2 "$MAS" stop -q --all 2>/dev/null || :; fi
    close_connections
}

ws() { echo "$ROOT/sessions/$ID"; }
far() { echo "$T/n1/root/sessions/$ID"; }

# What .session says: at FILE KEY
at() { sed -n "s/^$2=//p" "$1/.session"; }

# A session with work: files of several kinds, and what was said.
make_team() {
    new_session -t solo "$@"
    local d
    d=$(ws)/unit/solo
    mkdir "$d/deep"
    head -c 300000 /dev/urandom >"$d/deep/data"
    ln -s deep/data "$d/link"
    ln -s /nowhere "$d/out"
    ln "$d/deep/data" "$d/twin"
    user 'the apple is red' | said "$ID" >/dev/null
    (cd "$(ws)" && find unit -type f -print0 | sort -z | xargs -0 sha256sum) >"$T/sums"
}

# The session is at n1, with everything.
is_there() {
    [ ! -e "$(ws)" ]
    (cd "$(far)" && sha256sum -c --quiet "$T/sums")
    [ "$(readlink "$(far)/unit/solo/out")" = /nowhere ]
    [ "$(far)/unit/solo/twin" -ef "$(far)/unit/solo/deep/data" ]
    [ -z "$(at "$(far)" MOVED_TO)" ]
    [ "$(there n1 "$MAS" search --json apple | jq --arg id "$ID" '[.messages[] | select(.sessionId == $id)] | length')" -eq 1 ]
}

# Exactly one copy can be started; the session stays as it is found then.
one_can_be_started() {
    local count=0
    if "$MAS" start -q "$ID" 2>"$T/here"; then count=$((count + 1)); fi
    if there n1 "$MAS" start -q "$ID" 2>"$T/there"; then count=$((count + 1)); fi
    [ "$count" -eq 1 ] || {
        echo "$count can be started"
        cat "$T/here" "$T/there"
        return 1
    }
}

@test "a session moves with everything, runs there, and is gone here" {
    make_team -n shop
    mas move shop n1
    echo "$stderr"
    [ "$status" -eq 0 ]
    [[ $output == 'shop moved to n1, '*', started' ]]
    is_there
    [ "$(there n1 "$MAS" list --json | jq -r '.sessions[] | "\(.name) \(.status)"')" = 'shop active' ]
    [ "$(at "$(far)" EPOCH)" -eq 2 ]
    [ -z "$("$MAS" list -q --all)" ]
    "$MAS" doctor
    there n1 "$MAS" doctor
}

@test "a stopped session stays stopped, and --no-start leaves one so" {
    make_team --no-start
    ok move -q "$ID" n1
    is_there
    [ "$(at "$(far)" STATUS)" = stopped ]
    make_team
    ok move --no-start "$ID" n1
    is_there
    [ "$(there n1 "$MAS" show --json "$ID" | jq -r .status)" = stopped ]
}

@test "--json tells what was sent" {
    make_team --no-start
    mas move --json "$ID" n1
    [ "$(jq -r '"\(.sessionId) \(.host) \(.started)"' <<<"$output")" = "$ID n1 false" ]
    [[ $(jq -r .digest <<<"$output") =~ ^[0-9a-f]{64}$ ]]
    [ "$(jq .archiveBytes <<<"$output")" -gt 300000 ]
}

@test "it moves back again, and on to a third machine" {
    make_team --no-start
    "$MAS" move -q "$ID" n1
    make_machine n2
    cp "$ROOT/mas.ini" "$T/n1/root/mas.ini"
    mas move "n1:$ID" n2
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ ! -e "$(far)" ]
    (cd "$T/n2/root/sessions/$ID" && sha256sum -c --quiet "$T/sums")
    [ "$(at "$T/n2/root/sessions/$ID" EPOCH)" -eq 3 ]
    cp "$ROOT/mas.ini" "$T/n2/root/mas.ini"
    ok --host n2 move "$ID" n1
    is_there
    [ "$(at "$(far)" EPOCH)" -eq 4 ]
}

@test "the work of a session with a project goes along, and a project that is missing there is told" {
    make_project
    new_session -t solo --project "$P" --no-start
    commit solo new 1
    echo unsaved >"$(tree_of solo)/unsaved"
    rm -rf "$T/moved"
    mv "$P" "$T/moved"
    ok move "$ID" n1
    [[ $stderr == *"host 'n1' has no project '$P'"* ]]
    [ "$(cat "$(far)/code/solo/unsaved")" = unsaved ]
    [ "$(git -C "$(far)/code/solo" log -1 --format=%s)" = 'solo: new' ]
    git -C "$(far)/code/solo" fsck --full
}

@test "a private session stays private" {
    make_team --no-start --private
    "$MAS" move -q "$ID" n1
    [ "$(at "$(far)" PRIVATE)" = yes ]
}

@test "what cannot be moved is refused before anything is stopped" {
    make_team
    local line
    while read -r line; do
        # shellcheck disable=SC2086
        mas move $line
        echo "$line: $status $stderr"
        [ "$status" -ne 0 ]
        [ "$(field "$ID" .status)" = active ]
    done <<END
$ID nowhere
$ID
nothing n1
END
    printf '[host part]\nvia = slurm:debug\n' >>"$ROOT/mas.ini"
    fails 2 move "$ID" part
    [[ $stderr == *'partition of Slurm'* ]]
    there n1 "$MAS" new -q -t solo --no-start --id "$ID" >/dev/null
    fails 4 move "$ID" n1
    [[ $stderr == *'already there'* ]]
    [ "$(field "$ID" .status)" = active ]
}

@test "a legacy session is refused, with what to do" {
    "$MAS" --root "$ROOT" new -q --mode legacy --no-start -t solo >"$T/id"
    fails 4 move "$(<"$T/id")" n1
    [[ $stderr == *'mas migrate'* ]]
}

@test "a name that is taken there is told in the words of there, and the session is here" {
    make_team --no-start -n shop
    there n1 "$MAS" new -q -t solo --no-start -n shop >/dev/null
    fails 4 move shop n1
    [[ $stderr == *"another session is called 'shop'"* ]]
    [ ! -e "$(far)" ]
    "$MAS" start -q "$ID"
}

@test "a host that is not reached has exit code 12, and the session runs on" {
    make_team
    sed -i 's|ProxyCommand .*|ProxyCommand false|' "$T/ssh/config"
    fails 12 move "$ID" n1
    [ "$(field "$ID" .status)" = active ]
}

# Runs mas at n1 by a program that does TEXT before it is mas: before STEP
n1_does() {
    printf '#!/bin/bash\n%s\nexec "%s" "$@"\n' "$1" "$MAS" >"$T/n1/tool"
    chmod +x "$T/n1/tool"
    sed -i "/^\[host n1\]/,/^mas = /s|^mas = .*|mas = $T/n1/tool|" "$ROOT/mas.ini"
}
n1_is_well() { sed -i "/^\[host n1\]/,/^mas = /s|^mas = .*|mas = $MAS|" "$ROOT/mas.ini"; }

@test "a machine that cannot take a session is told before the stop, or it runs on afterwards" {
    make_team -n shop
    local pid
    pid=$(agent_pid "$ID")
    there n1 "$MAS" new -q -t solo --no-start >/dev/null
    mv "$T/n1/root/sessions" "$T/n1/away" && mkdir "$T/n1/root/sessions"
    fails 1 move shop n1
    [[ $stderr == *'its sessions/ is not the one it had'* ]]
    [ "$(agent_pid "$ID")" = "$pid" ]
    rmdir "$T/n1/root/sessions" && mv "$T/n1/away" "$T/n1/root/sessions"
    there n1 "$MAS" new -q -t solo --no-start -n shop >/dev/null
    fails 4 move shop n1
    [[ $stderr == *"another session is called 'shop'"*'; it runs here again'* ]]
    agent_pid "$ID"
    [ "$(field shop .status)" = active ]
}

@test "a session whose tmux session may be left is not sent" {
    make_team -n shop
    make_keeping_tmux
    run --separate-stderr env PATH="$T/kept:$PATH" "$MAS" move shop n1
    echo "$status $stderr"
    [ "$status" -eq 6 ]
    [ "$stderr" = "mas: cannot move session 'shop': cannot end the tmux session: tmux: no
its agents have ended; start them again here with: mas start $ID" ]
    [ ! -e "$(far)" ]
    [ -z "$(at "$(ws)" MOVED_TO)" ]
    "$MAS" start -q "$ID"
    agent_pid "$ID"
    "$MAS" move -q shop n1
    is_there
}

@test "a link that is cut in the middle of the stream leaves the session here" {
    make_team
    n1_does 'case $* in *"receive hold"*) head -c 100000 >/dev/null; kill -9 $PPID ;; esac'
    mas move "$ID" n1
    echo "$stderr"
    [ "$status" -eq 12 ]
    n1_is_well
    [ ! -e "$(far)" ]
    [ -z "$(at "$(ws)" MOVED_TO)" ]
    [[ $stderr == *'; it runs here again'* ]]
    [ "$(field "$ID" .status)" = active ]
    ok move "$ID" n1
    is_there
    [ "$(there n1 "$MAS" show --json "$ID" | jq -r .status)" = active ]
}

@test "what arrives otherwise than it was sent is not released" {
    make_team --no-start
    # shellcheck disable=SC2016
    n1_does 'case $* in *"receive hold"*) "'"$MAS"'" "$@" | sed "s/\"digest\":\"../\"digest\":\"zz/"; exit ;; esac'
    fails 5 move "$ID" n1
    [[ $stderr == *'what has arrived there is not what was sent'* ]]
    [ "$(at "$(far)" MOVED_TO)" = "'(arriving)'" ]
    run ! there n1 "$MAS" start "$ID"
    n1_is_well
    one_can_be_started
    ok move "$ID" n1
    is_there
}

# The steps at the other machine, and what fails there: before it works, or after it has worked
@test "the command there killed before or after each step: one copy can be started, and a second move finishes" {
    local step when tried=0
    for step in look hold release drop; do
        for when in before after; do
            make_team --no-start
            if [ "$step" = drop ]; then # an arriving copy of an earlier move
                n1_does 'case $* in *"receive hold"*) "'"$MAS"'" "$@"; kill -9 $$ ;; esac'
                run ! "$MAS" move -q "$ID" n1
                [ -d "$(far)" ]
            fi
            if [ "$when" = before ]; then
                n1_does 'case $* in *"receive '$step'"*) kill -9 $$ ;; esac'
            else
                n1_does 'case $* in *"receive '$step'"*) "'"$MAS"'" "$@"; kill -9 $$ ;; esac'
            fi
            mas move "$ID" n1
            echo "$step $when: $status $stderr"
            [ "$status" -ne 0 ]
            n1_is_well
            one_can_be_started
            "$MAS" stop -q "$ID" 2>/dev/null || :
            there n1 "$MAS" stop -q "$ID" 2>/dev/null || :
            mas move "$ID" n1
            echo "$step $when: $status $stderr"
            [ "$status" -eq 0 ]
            is_there
            tried=$((tried + 1))
        done
    done
    [ "$tried" -eq 8 ]
}

CHANGES=renameat,renameat2,unlinkat,clone,clone3,vfork
# strace kills mas here when it makes a change or starts a command: killed_at CALL-NUMBER
killed_at() {
    strace -qq -o /dev/null -e "trace=$CHANGES" -e "inject=$CHANGES:signal=KILL:when=$1" \
        "$MAS" move -q "$ID" n1 2>/dev/null
}

@test "mas killed here at every change it makes: one copy can be started, and a second move finishes" {
    [ -z "$TEST_SAN" ] || skip 'sanitizers and strace'
    command -v strace >/dev/null || skip 'strace is missing'
    local n=1 done=0 killed=0
    while [ "$done" -eq 0 ] && [ "$n" -lt 100 ]; do
        make_team --no-start
        if killed_at "$n"; then
            done=1
            is_there
            break
        fi
        killed=$((killed + 1))
        echo "killed at change $n"
        one_can_be_started
        "$MAS" stop -q "$ID" 2>/dev/null || :
        there n1 "$MAS" stop -q "$ID" 2>/dev/null || :
        if [ -d "$(ws)" ]; then
            mas move "$ID" n1
            echo "$status $stderr"
            [ "$status" -eq 0 ]
        fi
        is_there
        there n1 "$MAS" rm -qf "$ID"
        n=$((n + 1))
    done
    [ "$done" -eq 1 ]
    [ "$killed" -ge 6 ]
}

# Leaves the session marked as moved and not released: nobody has said whether it is there.
half() {
    n1_does 'case $* in *"receive release"*) kill -9 $$ ;; esac'
    run ! "$MAS" move -q "$ID" n1
    [ "$(at "$(ws)" MOVED_TO)" = n1 ]
    n1_is_well
}

@test "a session whose move was cut is nowhere started while the other machine is silent" {
    make_team --no-start
    half
    close_connections
    cp "$T/ssh/config" "$T/ssh/good"
    sed -i 's|ProxyCommand .*|ProxyCommand false|' "$T/ssh/config"
    fails 12 start "$ID"
    run ! there n1 "$MAS" start "$ID"
    cp "$T/ssh/good" "$T/ssh/config"
    mas start "$ID"
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ ! -e "$(far)" ]
    [ -z "$(at "$(ws)" MOVED_TO)" ]
}

@test "an arriving copy that was removed there is not sent again without a person's word" {
    make_team --no-start
    half
    there n1 "$MAS" rm -qf "$ID"
    fails 4 move "$ID" n1
    [[ $stderr == *'--takeover --fenced'* ]]
    fails 4 start "$ID"
    mas start --takeover --fenced "$ID"
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ "$(at "$(ws)" EPOCH)" -eq 3 ]
}

# there_is EPOCH: the copy there is one that can be started, of this epoch.
there_is() { there n1 sed -i "s/^EPOCH=.*/EPOCH=$1/; s/^MOVED_TO=.*/MOVED_TO=/" "$(far)/.session"; }

given_up() { sed -i "s/^MOVED_TO=.*/MOVED_TO='n1?'/" "$(ws)/.session"; }

@test "a copy there of the epoch of here, as from a backup, is not what has arrived; one of the next is" {
    make_team --no-start
    half
    there_is 1
    fails 4 move "$ID" n1
    [[ $stderr == *'is not there now'*'--takeover --fenced'* ]]
    fails 4 start "$ID"
    [[ $stderr == *'is not there now'* ]]
    [ -e "$(ws)/unit/solo/deep/data" ]
    # nor does it end a move that was given up, and it is not dropped
    given_up
    fails 4 start "$ID"
    [ "$(at "$(ws)" MOVED_TO)" = "'n1?'" ]
    [ -d "$(far)" ]
    there_is 2
    fails 4 start "$ID"
    [[ $stderr == *'it has moved to n1'* ]]
    ok move "$ID" n1
    is_there
}

@test "a session that moves to one host does not move to another meanwhile" {
    make_team --no-start
    half
    make_machine n2
    fails 4 move "$ID" n2
    [[ $stderr == *"it moves to 'n1'"* ]]
}

@test "what a session left here of an earlier stay does not keep it from coming back" {
    make_team --no-start
    half
    cp -a "$(ws)" "$T/left"
    "$MAS" move -q "$ID" n1
    is_there
    cp -a "$T/left" "$(ws)" # as if its removal had failed
    "$MAS" doctor --fix >/dev/null || :
    fails 4 start "$ID"
    [[ $stderr == *'it has moved to n1'* ]]
    ok move "$ID" n1
    is_there
}

@test "an agent may neither move a session nor receive one" {
    make_team --no-start
    local words
    for words in "move $ID n1" "receive drop $ID 5" "receive hold"; do
        # shellcheck disable=SC2086
        MAS_SOCKET=$T/none mas $words </dev/null
        echo "$words: $status $stderr"
        [ "$status" -ne 0 ]
    done
    [ -d "$(ws)" ]
    [ ! -e "$(far)" ]
}

@test "a session with a lease in a store moves to a machine with the same store, and runs there" {
    mkdir "$T/store"
    printf '[fleet]\nstore = %s\n' "$T/store" | tee -a "$T/n1/root/mas.ini" >>"$ROOT/mas.ini"
    make_team
    [ -s "$T/store/$ID/lease" ]
    mas move "$ID" n1
    echo "$stderr"
    [ "$status" -eq 0 ]
    [[ $output == *', started' ]]
    is_there
}

@test "the last example in mas-fleet(7) does what it says" {
    make_machine n2
    cp "$ROOT/mas.ini" "$T/n1/root/mas.ini"
    ln -s "$MAS" "$T/bin/mas"
    awk '/^\.Bd/ { inside = 1; text = ""; next } /^\.Ed/ { inside = 0 } inside { text = text $0 "\n" } END { printf "%s", text }' \
        "$PROJECT/man/mas-fleet.7" >"$T/script"
    [ "$(grep -c '^mas ' "$T/script")" -eq 8 ]
    run bash -euo pipefail "$T/script"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(there n2 "$MAS" list --json --all | jq -r '[.sessions[] | "\(.name) \(.status)"] | sort | join(",")')" = 'milk stopped,tea stopped' ]
    compgen -G "$T/n2/root/archive/milk-*.tar.zst"
    [ -z "$("$MAS" list -q --all)$(there n1 "$MAS" list -q --all)" ]
}
