#!/usr/bin/env bats
# mas move HOST:SESSION . : a session comes from another machine, which cannot reach this one.
# shellcheck disable=SC2016 # scripts for the other machine
load ../helper
load ../memory
load ../project
load ../ssh

setup_more() { make_machines n1; }

teardown_more() {
    there n1 "$MAS" stop -q --all 2>/dev/null || :
    close_connections
}

ws() { echo "$ROOT/sessions/$ID"; }
far() { echo "$T/n1/root/sessions/$ID"; }

# What .session says: at FILE KEY
at() { sed -n "s/^$2=//p" "$1/.session"; }

# A session at n1 with files of several kinds.
make_team() {
    ID=$(there n1 "$MAS" new -q -t solo "$@")
    local d
    d=$(far)/unit/solo
    mkdir "$d/deep"
    head -c 3000000 /dev/urandom >"$d/deep/data"
    ln -s deep/data "$d/link"
    ln "$d/deep/data" "$d/twin"
    (cd "$(far)" && find unit -type f -print0 | sort -z | xargs -0 sha256sum) >"$T/sums"
}

is_here() {
    [ ! -e "$(far)" ]
    (cd "$(ws)" && sha256sum -c --quiet "$T/sums")
    [ "$(ws)/unit/solo/twin" -ef "$(ws)/unit/solo/deep/data" ]
    [ -z "$(at "$(ws)" MOVED_TO)" ]
    [ "$(at "$(ws)" STATUS)" = stopped ]
}

# Exactly one copy can be started; none only where n1 has given it up and this machine was not told: then the
# next move alone finishes.
one_can_be_started() {
    local count=0
    if [ -e "$(ws)" ] && [ "$(at "$(ws)" MOVED_TO)" = "'(arriving from n1)'" ] && [ -n "$(at "$(far)" MOVED_TO)" ]; then
        fails 4 start "$ID"
        [[ $stderr == *"finish it with: mas move n1:$ID ." ]]
        run --separate-stderr there n1 "$MAS" start "$ID"
        [ "$status" -eq 12 ]
        between=$((between + 1))
        return 0
    fi
    if "$MAS" start -q "$ID" 2>"$T/here"; then count=$((count + 1)); fi
    if there n1 "$MAS" start -q "$ID" 2>"$T/there"; then count=$((count + 1)); fi
    [ "$count" -eq 1 ] || {
        echo "$count can be started"
        cat "$T/here" "$T/there"
        return 1
    }
    "$MAS" stop -q "$ID" 2>/dev/null || :
    there n1 "$MAS" stop -q "$ID" 2>/dev/null || :
}

# Runs mas at n1 by a program that does TEXT before it is mas: before STEP
n1_does() {
    printf '#!/bin/bash\n%s\nexec "%s" "$@"\n' "$1" "$MAS" >"$T/n1/tool"
    chmod +x "$T/n1/tool"
    sed -i "/^\[host n1\]/,/^mas = /s|^mas = .*|mas = $T/n1/tool|" "$ROOT/mas.ini"
}
n1_is_well() { sed -i "/^\[host n1\]/,/^mas = /s|^mas = .*|mas = $MAS|" "$ROOT/mas.ini"; }

@test "a session comes home with everything, stopped, and is gone there" {
    make_team -n shop
    mas move n1:shop .
    echo "$stderr"
    [ "$status" -eq 0 ]
    [[ $output == 'shop moved here from n1, '*'; start it with: mas start shop' ]]
    [ -z "$stderr" ]
    is_here
    [ "$(at "$(ws)" EPOCH)" -eq 2 ]
    [ -z "$(there n1 "$MAS" list -q --all)" ]
    "$MAS" doctor
    there n1 "$MAS" doctor
    ok start shop
    agent_pid "$ID"
}

# The command at n1 has seen that this end is gone.
left_alone() { eventually eval "! pgrep -f 'leave -- $ID' >/dev/null"; }

# What befell the last move is over: one machine has it, and the next move finishes.
again() {
    n1_is_well
    left_alone
    one_can_be_started
    if [ -e "$(far)" ]; then
        mas move "n1:$ID" .
        echo "again: $status $stderr"
        [ "$status" -eq 0 ]
    fi
    is_here
    "$MAS" rm -qf "$ID"
}

@test "by its id, by --host, and with --json" {
    make_team --no-start
    mas --host n1 move --json "$ID" .
    [ "$status" -eq 0 ]
    [ "$(jq -r '"\(.sessionId) \(.host) \(.started)"' <<<"$output")" = "$ID . false" ]
    [[ $(jq -r .digest <<<"$output") =~ ^[0-9a-f]{64}$ ]]
    [ "$(jq .archiveBytes <<<"$output")" -gt 3000000 ]
    is_here
    fails 2 move "$ID" .
    [[ $stderr == *"it is here"$'\n'"one of another machine comes by: mas move HOST:SESSION ." ]]
    fails 3 move "n1:$ID" .
    [[ $stderr == *"cannot find"* ]]
    [ -z "$("$MAS" --host n1 list -q --all)" ]
}

@test "what went to a machine by a move comes back from it, and can go again" {
    new_session -t solo -n shop
    user 'the apple is red' | said "$ID" >/dev/null
    "$MAS" move -q shop n1
    [ ! -e "$(ws)" ]
    ok move -q n1:shop .
    [ ! -e "$(far)" ]
    [ "$(at "$(ws)" EPOCH)" -eq 3 ]
    [ "$("$MAS" search --json apple | jq '.messages | length')" -eq 1 ]
    ok move -q shop n1
    ok move -q n1:shop .
    [ "$(at "$(ws)" EPOCH)" -eq 5 ]
}

# cut_at BYTES: of $size
cut_at() {
    make_team --no-start
    n1_does 'case $* in *" leave "*) "'"$MAS"'" "$@" | { stdbuf -o0 head -c '"$1"'; kill -9 $PPID; }; exit ;; esac'
    mas move "n1:$ID" .
    echo "$1 of $size bytes: $status $stderr"
    [ "$status" -eq 12 ]
    again
}

@test "a link that is cut at any byte: one copy can be started, and a second move finishes" {
    local bytes size between=0
    make_team --no-start
    n1_does 'case $* in *" leave "*) "'"$MAS"'" "$@" | tee "'"$T/sent"'"; exit "${PIPESTATUS[0]}" ;; esac'
    ok move -q "n1:$ID" .
    size=$(stat -c %s "$T/sent")
    "$MAS" rm -qf "$ID"
    for bytes in 0 100 400 100000 $((size / 2)) $((size - 1000)) $((size - 600)) $((size - 500)) \
        $((size - 400)) $((size - 330)) $((size - 200)) $((size - 100)); do
        cut_at "$bytes"
    done
    # n1 has given it up and nobody was told: not each cut in what asks for the release comes to that
    for _ in {1..20}; do
        [ "$between" -ge 1 ] || cut_at $((size - 400))
    done
    [ "$between" -ge 1 ]
}

@test "a link that is cut in the middle of the stream: the session runs again there" {
    make_team
    n1_does 'case $* in *" leave "*) "'"$MAS"'" "$@" | { stdbuf -o0 head -c 1000000; kill -9 $PPID; }; exit ;; esac'
    fails 12 move "n1:$ID" .
    n1_is_well
    left_alone
    [ "$(there n1 "$MAS" show --json "$ID" | jq -r .status)" = active ]
    [ -z "$(at "$(far)" MOVED_TO)" ]
    [ ! -e "$(ws)" ]
    ok move -q "n1:$ID" .
    is_here
}

CHANGES=renameat,renameat2,unlinkat,clone,clone3,vfork
KILL="strace -qq -o /dev/null -e trace=$CHANGES -e inject=$CHANGES:signal=KILL:when="

@test "killed at every change it makes, at either end: one copy can be started, and a second move finishes" {
    [ -z "$TEST_SAN" ] || skip 'sanitizers and strace'
    command -v strace >/dev/null || skip 'strace is missing'
    local at n killed=0 between=0
    for at in here below there; do
        for ((n = 1; n < 100; n++)); do
            make_team --no-start
            # shellcheck disable=SC2086 # words
            case $at in
            here) set -- $KILL$n ;;
            below) set -- ${KILL/strace/strace -f}$n ;;
            there)
                set --
                n1_does 'case $* in *" leave "*) exec '"${KILL/strace/strace -f}$n $MAS"' "$@" ;; esac'
                ;;
            esac
            if "$@" "$MAS" move -q "n1:$ID" . 2>"$T/why"; then
                is_here
                "$MAS" rm -qf "$ID"
                break
            fi
            echo "killed at change $n of $at: $(cat "$T/why")"
            killed=$((killed + 1))
            again
        done
        [ "$n" -lt 100 ]
    done
    [ "$killed" -ge 20 ]
}

@test "what is in the way here is told before the stop, or the session runs again there" {
    make_team -n shop
    new_session -t solo -n shop --no-start
    ID=$(there n1 "$MAS" list -q)
    fails 4 move n1:shop .
    [[ $stderr == "mas: cannot move session 'shop' to host '"*"another session is called 'shop'; it runs again where it was"* ]]
    [ "$(there n1 "$MAS" show --json shop | jq -r .status)" = active ]
    "$MAS" rm -qf shop
    "$MAS" new -q -t solo --no-start --id "$ID" >/dev/null
    fails 4 move n1:shop .
    [[ $stderr == *"already there, in epoch 1"* ]]
    [ "$(there n1 "$MAS" show --json shop | jq -r .status)" = active ]
    "$MAS" rm -qf "$ID"
    printf '[limits]\nfree = 100T\n' >>"$ROOT/mas.ini"
    mas move n1:shop .
    echo "$stderr"
    [ "$status" -ne 0 ]
    [[ $stderr == *'; it runs again where it was'* ]]
    [ ! -e "$(ws)" ]
}

@test "links that lead out need a yes, as in any archive" {
    make_team --no-start
    ln -s /nowhere "$(far)/unit/solo/out"
    fails 1 move "n1:$ID" .
    [[ $stderr == *"entry 'unit/solo/out'"*"'/nowhere'"*$'\n'*'accept such links with --links' ]]
    [ ! -e "$(ws)" ]
    ok move -q --links "n1:$ID" .
    [ "$(readlink "$(ws)/unit/solo/out")" = /nowhere ]
    fails 2 move --links "$ID" n1
}

@test "the name of a session that is in the way is to be changed here" {
    make_team -n fix --no-start
    new_session -n fix -t solo --no-start
    fails 4 move n1:fix .
    [[ $stderr == *"another session is called 'fix'"*$'\nrename that one: mas set fix name=NAME' ]]
    ok set fix name=other
    ok move -q n1:fix .
}

@test "mas of another version there is told, with a way out" {
    make_team --no-start
    n1_does 'case $* in *" leave "*) set -- "${@/leave/leaves}" ;; esac'
    fails 1 move "n1:$ID" .
    [[ $stderr == "mas: cannot move session 'n1:$ID' here: mas there is of another version"$'\n'"bring this one there with: mas remote add n1 "* ]]
    n1_is_well
    [ -e "$(far)" ]
}

# Answers as mas leave would, with these frames: says FRAME...
says() {
    printf '%s\n' "$@" >"$T/frames"
    n1_does 'case $* in *" leave "*)
        seal=$(grep -o "seal=[^ ]*" <<<"$*" | cut -d= -f2)
        printf "\036%s\n" "$seal"
        while IFS= read -ru 4 line; do
            printf "%s\n" "$line"
            case $line in *receive*hold*) ;; *receive* | *end*) read -r answer; echo "$answer" >>"'"$T/answers"'" ;; esac
        done 4<"'"$T/frames"'"
        printf "\036%s\n" "$seal"
        exit 0 ;;
    esac'
}

@test "a hostile machine gets nothing done but to what it gave or got" {
    local line other step epoch
    new_session -t solo -n mine --no-start
    other=$(there n1 "$MAS" new -q -t solo --no-start)
    for line in '{"do":"receive","words":["look","../.."]}' '{"do":"receive","words":["look"]}' '{"do":"look"}' \
        '{"do":"receive","words":["rm","'"$ID"'"]}' '{"do":"receive","words":["drop","'"$ID"'"]}' '{"do":"piece"}' \
        '{"do":"receive","words":["look","'"$ID"'","1"]}' '{"do":"receive"}' '[]' 'x' '{"do":"done"}' \
        '{"do":"done","sessionId":"'"$ID"'","label":"x","digest":"","archiveBytes":0}' \
        '{"do":"done","sessionId":"","label":"x","digest":"","archiveBytes":0}'; do
        says "$line"
        mas move "n1:$other" .
        echo "$line: $status $stderr"
        [ "$status" -eq 1 ]
        [[ $stderr == *'mas there is of another version'* ]]
    done
    # another session than the one that it named first, also one that is on its way from there
    sed -i '/^MOVED_TO/d' "$(ws)/.session"
    echo "MOVED_TO='(arriving from n1)'" >>"$(ws)/.session"
    says '{"do":"receive","words":["look","'"$other"'"]}' '{"do":"receive","words":["release","'"$ID"'","1"]}'
    fails 1 move "n1:$other" .
    [[ $stderr == *'mas there is of another version'* ]]
    [ "$(at "$(ws)" MOVED_TO)" = "'(arriving from n1)'" ]
    sed -i '/^MOVED_TO/d' "$(ws)/.session"
    # a session that is here, one that comes from elsewhere, and one that is on its way to another host
    for line in drop release; do
        says '{"do":"receive","words":["'"$line"'","'"$ID"'","7"]}'
        mas move "n1:$other" .
        [ -e "$(ws)/unit/solo" ]
        [ -z "$(at "$(ws)" MOVED_TO)" ]
    done
    for line in '(arriving)' '(arriving from n2)' n2 n2? desk:0123456789abcdef; do
        sed -i '/^MOVED_TO/d' "$(ws)/.session"
        echo "MOVED_TO='$line'" >>"$(ws)/.session"
        for step in drop:7 release:1; do
            epoch=${step#*:} step=${step%:*}
            says '{"do":"receive","words":["'"$step"'","'"$ID"'","'"$epoch"'"]}'
            mas move "n1:$other" .
            echo "$line $step: $status $stderr"
            [ "$status" -ne 0 ]
            [ "$(at "$(ws)" MOVED_TO)" = "'$line'" ]
        done
    done
    grep -c '"code":4' "$T/answers"
    [ "$(grep -c '"code":4' "$T/answers")" -ge 10 ]
}

@test "an archive of another session, or of none, does not arrive" {
    local other
    make_team --no-start -n shop
    other=$ID
    ID=550e8400-e29b-41d4-a716-446655440000
    there n1 "$MAS" archive -q -o - "$other" >"$T/archive"
    MAS_ROOT=$ROOT fails 5 receive --pulled n1 hold "$ID" <"$T/archive"
    [[ $stderr == *"it is of session '$other'"* ]]
    mas receive --pulled n1 hold "$other" </dev/null
    [ "$status" -ne 0 ]
    [ -z "$("$MAS" list -q --all)" ]
    ok receive --pulled n1 hold "$other" <"$T/archive"
    [ "$(at "$ROOT/sessions/$other" MOVED_TO)" = "'(arriving from n1)'" ]
    printf '[host n2]\nvia = ssh:n2\n' >>"$ROOT/mas.ini"
    fails 4 receive --pulled n2 release "$other" 2
    ok move -q n1:shop .
}

@test "a session that one machine pulls is not pulled by another, and moves nowhere else" {
    make_team --no-start -n shop
    sed -i '/^MOVED_TO/d' "$(far)/.session"
    echo "MOVED_TO='desk:0123456789abcdef'" >>"$(far)/.session"
    fails 12 move n1:shop .
    [[ $stderr == "mas: cannot tell where session 'shop' is: it moves to desk"$'\n'"finish that there, by 'move HOST:shop .'; if desk is gone for good: mas --host n1 start --takeover --fenced shop" ]]
    printf '[host n2]\nvia = ssh:n2\n' >>"$T/n1/root/mas.ini"
    fails 12 move n1:shop n2
    [ ! -e "$(ws)" ]
    ok start --takeover --fenced n1:shop
    ok move -q n1:shop .
    [ "$(at "$(ws)" EPOCH)" -gt 2 ]
}

@test "a host that the other machine does not know is told with the way over here" {
    make_team --no-start -n shop
    fails 3 move n1:shop n2
    [[ $stderr == *"mas.ini on n1 has no [host n2]"$'\n'"add it there, or take the session home, and move it on from there: mas --host n1 move shop ." ]]
}

@test "its archive is not restored here beside it, and its copy elsewhere is old" {
    make_team --no-start -n shop
    there n1 "$MAS" archive -q -o "$T/old.tar.zst" shop
    ok move -q n1:shop .
    fails 4 restore "$T/old.tar.zst"
    [[ $stderr == *"session '$ID' exists"* ]]
    ok archive -q -o "$T/new.tar.zst" shop
    there n1 "$MAS" restore -q --new-id --name other "$T/new.tar.zst" >/dev/null
    [ "$(there n1 "$MAS" list -q --all | wc -l)" -eq 1 ]
}

@test "agents can neither fetch a session nor let one go" {
    make_team --no-start
    local words
    for words in "move n1:$ID ." "leave $ID desk:0123456789abcdef"; do
        # shellcheck disable=SC2086
        MAS_SOCKET=$T/none mas $words </dev/null
        echo "$words: $status $stderr"
        [ "$status" -ne 0 ]
    done
    [ -d "$(far)" ]
    [ ! -e "$(ws)" ]
}

# ---- with a project that went along

take_along() {
    make_project
    cd "$P" || return
    ok --host n1 new -q --no-start -t solo -n fix --project .
    ID=$output
}
work_there() {
    local tree
    tree=$(far)/code/solo
    echo "$2" >"$tree/$1"
    git -C "$tree" add -- "$1"
    git -C "$tree" commit -qm "Write $1"
    there n1 "$MAS" merge "$ID" solo >/dev/null
}

@test "work on a project of this machine comes home with its session, and lands as any" {
    take_along
    work_there c one
    ok diff n1:fix main
    echo unsaved >"$(far)/code/solo/unsaved"
    ok move n1:fix .
    [ -z "$stderr" ]
    [ "$(jq -r .project.path "$(ws)/config.json")" = "$P" ]
    [ "$(cat "$(ws)/code/solo/unsaved")" = unsaved ]
    fails 4 rm fix
    ok land fix
    [[ $output == '1 commit landed on main of '* ]]
    [ "$(cat c)" = one ]
    [ -z "$(git status --porcelain)" ]
    ok land fix
    [[ $output == 'nothing to land'* ]]
    [ ! -e "$HOME/.local/state/mas/home/n1/$ID" ]
    rm "$(ws)/code/solo/unsaved"
    ok rm fix
}

@test "a project that is not where it was is told, and said where it is" {
    take_along
    work_there c one
    mv "$P" "$P.moved"
    cd /
    ok move n1:fix .
    [[ $stderr == *"warning: session 'fix': its project "*" is not here; say where it is, to land there: mas set fix project=DIR" ]]
    ok set fix "project=$P.moved"
    ok land fix
    [ "$(cat "$P.moved/c")" = one ]
}

@test "a session whose landing was killed lands first" {
    take_along
    work_there c one
    mkdir -p "$HOME/.local/state/mas/home/n1/$ID/code.git"
    echo x >"$HOME/.local/state/mas/home/n1/$ID/code.git/landing"
    fails 4 move n1:fix .
    [[ $stderr == *"a landing of it was killed"* ]]
    [ -e "$(far)" ]
}
