#!/usr/bin/env bats
# `mas fork` makes an agent that goes on from where another one is; that one notices nothing.
load ../helper
load ../host/lib
load lib
# shellcheck source=test/cli/code.bash
. "$BATS_TEST_DIRNAME/../cli/code.bash"

# All that is kept of the agent solo, but for what an agent changes by itself.
trace_of() {
    "$MAS" history "$ID" solo --json | jq -c '[.messages[] | del(.agent)]'
    git -C "$C/solo" for-each-ref
    git -C "$C/solo" status --porcelain
    (cd "$C/solo" && find . -path ./.git/objects -prune -o -type f -print0 | sort -z | xargs -0 sha256sum)
}

fork_team() {
    make_project
    acp_preset scripted
    new_session -n fix -t solo --agent scripted --project "$P"
    find_agent
    C=$DIR/code G=$DIR/code.git L=fix
}

@test "a fork has the commit, the files and the conversation, and both go on" {
    fork_team
    ok ask fix solo CW-ONE
    ok ask fix solo CW-TWO
    change solo a 1 committed
    sed -i '2s/.*/changed/' "$C/solo/a"
    echo staged >"$C/solo/staged" && git -C "$C/solo" add staged
    mkdir "$C/solo/dir" && echo new >"$C/solo/dir/new"
    rm "$C/solo/c"
    echo note >"$DIR/unit/solo/note"
    before=$(trace_of)
    ok fork fix
    [ "$output" = 'solo-2 added, on branch mas/fix/solo-2; its first prompt tells it what was said' ]
    [ "$(trace_of)" = "$before" ]
    [ "$(git -C "$C/solo-2" rev-parse HEAD)" = "$(git -C "$C/solo" rev-parse HEAD)" ]
    [ "$(git -C "$C/solo-2" symbolic-ref --short HEAD)" = mas/fix/solo-2 ]
    diff -r -x .git "$C/solo" "$C/solo-2"
    [ "$(git -C "$C/solo-2" status --porcelain | sort | xargs)" = 'D c M a ?? dir/ ?? staged' ]
    [ "$(cat "$DIR/unit/solo-2/note")" = note ]
    ok ask fix solo-2 CW-THREE
    knows CW-ONE CW-THREE CW-TWO
    came solo-2 injected
    ok ask fix solo CW-FOUR
    knows CW-FOUR CW-ONE CW-TWO
    # once
    ok ask fix solo-2 CW-FIVE
    knows CW-FIVE CW-ONE CW-THREE CW-TWO
    # both can be merged
    git -C "$C/solo-2" commit -qam second
    ok merge fix solo-2
    whole
    ok doctor
}

@test "in mid-turn the turn counts as stopped in the fork, and the queue stays" {
    acp_agent
    ok ask "$ID" solo CW-ONE
    "$MAS" send "$ID" solo 'SAY:"CW-SAID" HANG CW-TWO'
    eventually is solo .state working
    "$MAS" send "$ID" solo CW-WAITS
    said() { "$MAS" history "$ID" solo --json | jq -e '.messages[] | select(.role == "agent" and (.text | test("CW-SAID")))' >/dev/null; }
    eventually said
    ok fork "$ID" solo --as second --json
    [ "$(jq -r '.agent + " " + .continuity + " " + (.runs | tostring)' <<<"$output")" = 'second injected true' ]
    is solo .state working
    is solo .queued 1
    is second .queued 0
    ok ask "$ID" second CW-THREE
    knows CW-ONE CW-SAID CW-THREE CW-TWO
    [ "$("$MAS" history "$ID" second --json | jq '[.messages[] | select(.text | test("CW-WAITS"))] | length')" = 0 ]
    ok cancel "$ID" solo
    eventually is solo .queued 0
}

@test "of an agent that is asleep, and of one in a stopped session" {
    acp_agent
    ok ask "$ID" solo CW-ONE
    ok sleep "$ID"
    is solo .state asleep
    ok fork -q "$ID" solo
    [ "$output" = solo-2 ]
    is solo .state asleep
    ok ask "$ID" solo-2 CW-TWO
    knows CW-ONE CW-TWO
    ok stop "$ID"
    ok fork -q "$ID" solo-2 --as third
    ok start "$ID"
    ok ask "$ID" third CW-THREE
    knows CW-ONE CW-THREE CW-TWO
    # after a clear nothing from before is told
    ok clear "$ID" third
    ok fork -q "$ID" third --as fourth
    ok ask "$ID" fourth CW-FOUR
    knows CW-FOUR
    ok doctor
}

# The program keeps its sessions in files, and takes copies of them.
copying() {
    export SCRIPTED=$T/store
    # shellcheck disable=SC2016 # the name of a variable
    preset keeper true 'told.kept = $SCRIPTED/{id}.json' 'told.copies = yes' 'told.line.whole = done id?'
    run_acp "$*" 'told.like = keeper'
}

@test "where a copy of a session is one, the fork goes on with that, and is told nothing" {
    copying --lose
    ok ask "$ID" solo CW-ONE
    "$MAS" send "$ID" solo 'HANG CW-TWO'
    eventually is solo .state working
    "$MAS" send "$ID" solo CW-WAITS
    before=$(sha256sum "$STORE"/*)
    ok fork "$ID" solo
    [ "$output" = 'solo-2 added; it goes on with a copy of the conversation' ]
    eventually is solo-2 .state idle
    sha256sum --quiet -c <<<"$before"
    is solo .queued 1
    is solo-2 .queued 0
    came solo-2 resumed
    ok ask "$ID" solo-2 CW-THREE
    grep -q 'role=.*HANG CW-TWO' "$TRACE" # as after any end in mid-turn
    run ! grep -q 'role=.*CW-ONE' "$TRACE"
    [ "$("$MAS" history "$ID" solo-2 --json | jq -r '[.messages[] | select(.role == "user") | .text] | join(" ")')" = \
        'CW-ONE HANG CW-TWO CW-THREE' ]
    sha256sum --quiet -c <<<"$before"
    ok cancel "$ID" solo
    # what it goes on with is its own
    ok stop "$ID"
    ok fork "$ID" solo-2 --as third --json
    [ "$(jq -r '.continuity + " " + (.runs | tostring)' <<<"$output")" = 'copied false' ]
    ok start "$ID"
    ok ask "$ID" third CW-FOUR
    came third resumed
    knows CW-FOUR CW-ONE CW-THREE CW-TWO # of which it was told that it was cut off
    [ "$(find "$STORE" -type f | wc -l)" = 3 ]
    ok doctor
}

@test "a fork whose program does not take the copy, or that cannot have one, is told what was said" {
    copying
    ok ask "$ID" solo CW-ONE
    options --no-resume --no-load
    ok fork -q "$ID" solo
    ok ask "$ID" solo-2 CW-TWO
    came solo-2 injected
    knows CW-ONE CW-TWO
    options
    rm "$STORE"/*
    run --separate-stderr "$MAS" fork "$ID" solo --as third
    [ "$status" -eq 0 ]
    [ "$output" = 'third added; its first prompt tells it what was said' ]
    [[ $stderr == *'its program has not kept session '* ]]
    # of one whose session was told, but whose turn has failed
    run "$MAS" ask "$ID" third ERR
    [ "$status" -ne 0 ]
    [ "$(find "$STORE" -type f | wc -l)" = 1 ]
    ok fork "$ID" third --as fourth
    [ "$output" = 'fourth added; its first prompt tells it what was said' ]
    ok ask "$ID" third CW-THREE
    came third injected
    knows CW-ONE CW-THREE
    ok ask "$ID" fourth CW-FOUR
    knows CW-FOUR CW-ONE
}

@test "behind walls" {
    acp_preset scripted
    sed -i 's/^\[preset scripted\]$/&\nwall.level = try/' "$ROOT/mas.ini"
    printf '[wall]\nread = %s, %s\nwrite = %s\n' "$PROJECT" "${MAS%/*}" "$T" >>"$ROOT/mas.ini"
    new_session -t solo --agent scripted
    ok ask "$ID" solo CW-ONE
    ok fork -q "$ID" solo
    ok ask "$ID" solo-2 CW-TWO
    knows CW-ONE CW-TWO
}

@test "what cannot be forked is said, and of a shell there is nothing to tell" {
    make_project
    new_session -n fix -t solo --agent shell --project "$P" --no-start
    before=$(snapshot)
    fails 3 fork fix nobody
    fails 4 fork fix solo --as solo
    fails 2 fork fix solo --as a/b
    [ "$(snapshot)" = "$before" ]
    ok fork fix solo
    [ "$output" = 'solo-2 added, on branch mas/fix/solo-2; nothing was said that it could be told' ]
    [ "$(field fix '.agents[1] | .rank + " " + .role')" = 'manager generalist' ]
}

@test "killed at any call, the team is the old one or the new" {
    command -v strace >/dev/null || skip 'strace is missing'
    [ -z "${TEST_SAN-}" ] || skip 'strace is not for sanitizers'
    fork_team
    ok ask fix solo CW-ONE
    echo more >"$C/solo/more"
    ok stop fix
    calls=execve,openat,mkdirat,renameat,renameat2,unlinkat,fsync,fdatasync,syncfs,pwrite64
    for ((n = 1; n < 700; n += 31)); do
        strace -f -o /dev/null -e "trace=$calls" -e "inject=$calls:signal=KILL:when=$n" \
            "$MAS" fork -q fix solo --as rev >"$T/out" 2>&1 3>&- && break
        case $("$MAS" status fix --json | jq -r '[.sessions[0].agents[].id] | join(" ")') in
        solo) ;;
        'solo rev')
            [ "$(cat "$C/rev/more")" = more ]
            "$MAS" remove -q -f fix rev ;;
        *) false ;;
        esac
        "$MAS" doctor --fix >"$T/doctor" || { cat "$T/doctor"; false; }
        [ ! -e "$C/rev" ]
        [ ! -e "$DIR/unit/rev" ]
        [ ! -e "$DIR/.growing" ]
    done
    ok start fix
    ok ask fix rev CW-TWO
    knows CW-ONE CW-TWO
    ok doctor
}
