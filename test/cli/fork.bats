#!/usr/bin/env bats
# The fork of an agent whose program keeps its sessions in files goes on with a copy of the other one's session.
load ../helper
load ../host/lib
load ../memory
load six

# A fork says what it goes on with, on one line.
COPIED='goes on with a copy of the conversation'

sums() { find "$HOME/.six" "$ROOT/sessions/$ID/home" -type f -name "$1.jsonl" -exec sha256sum {} + 2>/dev/null || true; }
of_fork() { "$MAS" status "$ID" --json | jq -r '.sessions[0].agents[] | select(.id == "'"$1"'") | .'"$2"; }
fork_is() { [ "$(of_fork "$1" state)" = "$2" ]; }
told_user() { "$MAS" history "$ID" "$1" --json | jq -r '[.messages[] | select(.role == "user") | .text] | join(" ")'; }

# talks PRESET-LINE...: a team of which the agent was told CW-OTTER; OWN is the id of its session.
talks() {
    [ $# -eq 0 ] || { echo '[preset six]' && printf '%s\n' "$@"; } >>"$ROOT/mas.ini"
    : >"$OUT"
    team
    ok ask "$ID" solo CW-OTTER
    eventually state_is idle
    OWN=$(starts 1 | jq -r '.[index("--begin") + 1]')
}

@test "it knows what was said, once, and the other one notices nothing" {
    talks
    before=$(sums "$OWN")
    ok fork "$ID" solo
    [ "$output" = "solo-2 added; it $COPIED" ]
    eventually fork_is solo-2 idle
    [ "$(of_fork solo-2 continuity)" = resumed ]
    new=$(starts 2 | jq -r '.[index("--resume") + 1]')
    [ "$new" != "$OWN" ]
    run ! grep -q "$OWN" "$HOME/.six/new/$new.jsonl"
    ok ask "$ID" solo-2 and
    [ "$output" = 'I know: CW-OTTER, and' ]
    [ "$(told_user solo-2)" = 'CW-OTTER and' ]
    [ "$(told_user solo)" = CW-OTTER ]
    [ "$(sums "$OWN")" = "$before" ]
    ok ask "$ID" solo too
    [ "$output" = 'I know: CW-OTTER, too' ]
    # after a crash it goes on with its own
    tm kill-server
    ok start --crashed
    eventually fork_is solo-2 idle
    ok ask "$ID" solo-2 again
    [ "$output" = 'I know: CW-OTTER, and, again' ]
    [ "$(told_user solo-2)" = 'CW-OTTER and again' ]
    # so does one of an agent that is asleep, and one of a stopped session
    eventually state_is idle
    ok sleep "$ID" solo
    ok fork "$ID" solo --as third --json
    [ "$(jq -r .continuity <<<"$output")" = copied ]
    state_is asleep
    ok stop "$ID"
    ok fork "$ID" third --as fourth
    ok start "$ID"
    ok ask "$ID" fourth more
    [ "$output" = 'I know: CW-OTTER, too, more' ]
    ok doctor
}

@test "of an agent in the middle of a turn it has what was said before, and nothing that waits" {
    talks
    ok send "$ID" solo "work $T/go"
    eventually grep -q '"work ' "$HOME/.six/new/$OWN.jsonl"
    ok send "$ID" solo waits
    ok fork "$ID" solo
    [ "$output" = "solo-2 added; it $COPIED" ]
    ok ask "$ID" solo-2 and
    [ "$output" = 'I know: CW-OTTER, and' ]
    [ "$(told_user solo-2)" = "CW-OTTER work $T/go and" ]
    touch "$T/go"
    eventually says "I know: CW-OTTER, work $T/go, waits"
    ok ask "$ID" solo-2 more
    [ "$output" = 'I know: CW-OTTER, and, more' ]
}

# injects WHY: forks the agent as $NEW, which has to be told; mas says why.
injects() {
    run --separate-stderr "$MAS" fork "$ID" solo --as "$NEW"
    [ "$status" -eq 0 ]
    [ "$output" = "$NEW added; its first prompt tells it what was said" ]
    [[ $stderr == *"$1"* ]] || { echo "$stderr"; return 1; }
    eventually fork_is "$NEW" idle
    [ "$(of_fork "$NEW" continuity)" = injected ]
    grep -q CW-OTTER "$(tail -n 1 "$OUT" | jq -r '.[index("--told") + 1]')"
}

@test "without a copy it is told what was said, and it is said why" {
    talks
    mv "$HOME/.six/new/$OWN.jsonl" "$T/kept"
    NEW=a injects "its program has not kept session $OWN"
    ln -s "$T/kept" "$HOME/.six/new/$OWN.jsonl"
    NEW=b injects "its program has not kept session $OWN"
    rm "$HOME/.six/new/$OWN.jsonl"
    head -n 1 "$T/kept" >"$HOME/.six/new/$OWN.jsonl"
    NEW=c injects 'it has no whole turn'
    mv "$T/kept" "$HOME/.six/new/$OWN.jsonl"
    # the program does not go on with its copy
    touch "$HOME/.six/refuses"
    ok fork "$ID" solo --as d
    [ "$output" = "d added; it $COPIED" ]
    has_come() { [ "$(of_fork d continuity)" = injected ]; }
    eventually has_come
    rm "$HOME/.six/refuses"
    echo 'told.copies = no' >>"$ROOT/mas.ini"
    sed -i '/^told.copies = yes/d' "$ROOT/mas.ini"
    NEW=e injects ''
    [ -z "$stderr" ]
}

@test "behind a wall it is copied from home to home, and no link nor id leads out" {
    command -v bwrap >/dev/null || skip 'there is no bubblewrap'
    began "$A"
    echo '{"type":"over"}' >>"$HOME/.six/x/$A.jsonl"
    talks 'wall.level = require' 'wall.home = .six:own' "wall.write = $OUT" "wall.read = $T"
    home=$ROOT/sessions/$ID/home
    ok fork "$ID" solo
    [ "$output" = "solo-2 added; it $COPIED" ]
    ok ask "$ID" solo-2 and
    [ "$output" = 'I know: CW-OTTER, and' ]
    [ "$(find "$HOME/.six" -type f)" = "$HOME/.six/x/$A.jsonl" ]
    [ "$(find "$home/solo" -name '*.jsonl')" = "$home/solo/.six/new/$OWN.jsonl" ]
    [ "$(find "$home/solo-2" -name '*.jsonl' | wc -l)" = 1 ]
    # a session of the user's, which the agent says is its own
    python3 -ES -c 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE agent_session SET agent_session = ? WHERE agent_session = ?", sys.argv[2:]); db.commit()' \
        "$ROOT/sessions/$ID/memory.db" "$A" "$OWN"
    NEW=a injects "its program has not kept session $A"
    mv "$home/solo/.six" "$home/solo/.old"
    ln -s "$HOME/.six" "$home/solo/.six"
    NEW=b injects "its program has not kept session $A"
    rm "$home/solo/.six"
    mkdir "$home/solo/.six"
    ln -s "$HOME/.six/x" "$home/solo/.six/x"
    NEW=c injects "its program has not kept session $A"
    run ! grep -rl "word is CW-OTTER" "$home"
}

@test "killed at any call, the team is the old one or the new, whose agent knows all" {
    command -v strace >/dev/null || skip 'strace is missing'
    [ -z "${TEST_SAN-}" ] || skip 'strace is not for sanitizers'
    talks
    ok stop "$ID"
    before=$(sums "$OWN")
    calls=mkdirat,renameat,renameat2,unlinkat,fsync,fdatasync,syncfs,pwrite64,write,ftruncate
    for ((n = 1; n < 500; n += 13)); do
        strace -f -o /dev/null -e "trace=$calls" -e "inject=$calls:signal=KILL:when=$n" \
            "$MAS" fork -q "$ID" solo --as rev >"$T/out" 2>&1 3>&- && break
        case $("$MAS" status "$ID" --json | jq -r '[.sessions[0].agents[].id] | join(" ")') in
        solo) ;;
        'solo rev') "$MAS" remove -q -f "$ID" rev ;;
        *) false ;;
        esac
        "$MAS" doctor --fix >"$T/doctor" || { cat "$T/doctor"; false; }
        [ ! -e "$ROOT/sessions/$ID/unit/rev" ]
        [ ! -e "$ROOT/sessions/$ID/home/rev" ]
        [ "$(sums "$OWN")" = "$before" ]
    done
    ok start "$ID"
    ok ask "$ID" rev and
    [ "$output" = 'I know: CW-OTTER, and' ]
}
