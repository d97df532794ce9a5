#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # every test runs in a shell of its own
# An agent asks its host for files and programs in a directory of its own, and puts a link in the place of the
# directory, and the directory back, as fast as it can. The host sees all of the user's files.
load ../helper
load ../host/lib
load lib

# race WORD PLACE ENOUGH: the agent's answer is in $output. PLACE leads out of the workspace now and then, or the test
# would show nothing.
race() {
    local pid
    need_exchange
    mkdir "$HOME/outside"
    echo CW-OUTSIDE >"$HOME/outside/secret"
    "$MAS" ask "$ID" solo "$1:$HOME/outside" >"$T/answer" 2>&1 3>&- &
    pid=$!
    eventually naively "$2/secret"
    touch "$3"
    wait "$pid" || { cat "$T/answer"; return 1; }
    output=$(<"$T/answer")
    [ "$(ls "$HOME/outside")" = secret ] || { ls -l "$HOME/outside"; return 1; }
    [[ $output =~ race=([0-9]+)\ mine=([0-9]+) ]] || { echo "$output"; return 1; }
    [ "${BASH_REMATCH[2]}" -gt 0 ]
    [[ $output != *CW-OUTSIDE* ]] || { echo "$output"; return 1; }
    [ "$(<"$HOME/outside/secret")" = CW-OUTSIDE ]
}

# Succeeds if who opens the file without care has got the other one. Many looks, each by one process.
# shellcheck disable=SC2317 # called by eventually
naively() {
    python3 -ESc 'import sys
for i in range(20000):
    try:
        if "CW-OUTSIDE" in open(sys.argv[1]).read(): sys.exit(0)
    except OSError: pass
sys.exit(1)' "$1"
}

@test "files and programs that an agent asks for come from nowhere else while it swaps their directory for a link" {
    run_acp ""
    race RACE "$DIR/unit/solo/d" "$DIR/unit/solo/enough"
    [[ $output == *'other=[]'* ]] || { echo "$output"; false; }
}

@test "the same behind a wall" {
    command -v bwrap >/dev/null || skip 'bubblewrap is not installed'
    bwrap --ro-bind / / --unshare-pid --proc /proc --dev /dev true 2>/dev/null || skip 'bubblewrap does not work here'
    mkdir "$T/store"
    touch "$T/trace" "$T/agent" "$T/options"
    run_acp "" 'wall.level = require' "wall.read = $PROJECT/test/acp, $T/agent, $T/options" \
        "wall.write = $T/store, $T/trace"
    race RACE "$DIR/unit/solo/d" "$DIR/unit/solo/enough"
}

@test "nor do they while it swaps its own directory for a link" {
    run_acp ""
    race RACEUNIT "$DIR/unit/solo" "$DIR/unit/enough"
    [[ $output == *'other=[]'* ]] || { echo "$output"; false; }
}

@test "the same behind a wall, where it may write to the directories of all agents" {
    command -v bwrap >/dev/null || skip 'bubblewrap is not installed'
    bwrap --ro-bind / / --unshare-pid --proc /proc --dev /dev true 2>/dev/null || skip 'bubblewrap does not work here'
    mkdir "$T/store"
    touch "$T/trace" "$T/agent" "$T/options"
    sed -i 's/^\[agent solo\]/&\nunits = team/' "$ROOT/templates/solo/template.ini"
    run_acp "" 'wall.level = require' "wall.read = $PROJECT/test/acp, $T/agent, $T/options" \
        "wall.write = $T/store, $T/trace"
    race RACEUNIT "$DIR/unit/solo" "$DIR/unit/enough"
}
