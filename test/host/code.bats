#!/usr/bin/env bats
# How a host looks at the work tree of its agent.
load ../helper
load lib
load ../project

# Makes a session whose host runs a git that writes the time of each look to code.git/looks, where it may
# write, and waits while $T/slow is there.
team_with_slow_git() {
    make_project
    mkdir "$T/bin"
    cat >"$T/bin/git" <<END
#!/bin/sh
case "\$*" in *update-index*)
    date +%s%3N >>"\$GIT_DIR/looks"
    while [ -e '$T/slow' ]; do sleep 0.1; done ;;
esac
exec $(command -v git) "\$@"
END
    chmod +x "$T/bin/git"
    PATH=$T/bin:$PATH new_session -t solo --project "$P"
    find_agent
    eventually prints '0 0 0' figures solo
}

looks() { wc -l <"$DIR/code.git/looks"; }
looks_are() { [ "$(looks)" -ge "$1" ]; }

@test "a host looks at most every 5 seconds, however often it is told to" {
    team_with_slow_git
    sed -i '$!d' "$DIR/code.git/looks" # `mas new` ran git, too
    until looks_are 3; do look_again solo; done
    local times i
    mapfile -t times <"$DIR/code.git/looks"
    for ((i = 1; i < ${#times[@]}; i++)); do
        [ $((times[i] - times[i - 1])) -ge 4500 ] || { printf '%s\n' "${times[@]}" >&2; false; }
    done
}

@test "a lock of git that a killed look left does not stop the next one" {
    team_with_slow_git
    touch "$DIR/code.git/indexes/solo.look.lock"
    echo new >"$DIR/code/solo/new"
    look_again solo
    eventually prints '0 0 1' figures solo
}

@test "a host answers while it looks, and ends without waiting for the look" {
    team_with_slow_git
    local n
    n=$(looks)
    touch "$T/slow"
    look_again solo
    eventually looks_are $((n + 1))
    [ "$(figures solo)" = '0 0 0' ]
    state_is solo idle
    timeout 60 "$MAS" stop -q "$ID"
    hosts_gone
    rm "$T/slow"
}

# shellcheck disable=SC2317 # called by eventually
problem() { "$MAS" status "$ID" --json | jq -r '.sessions[0].agents[0].code.problem'; }

@test "a look that is killed is told as a failure" {
    team_with_slow_git
    local n
    n=$(looks)
    touch "$T/slow"
    look_again solo
    eventually looks_are $((n + 1))
    pkill -KILL -f "^mas look $ID solo$"
    eventually prints "'mas look' has failed (exit code 137)" problem
    rm "$T/slow"
}

@test "without a project, and for an agent without a work tree, a host never looks" {
    team_with_slow_git
    sed -i 's/^code = worktree/code = view/' "$ROOT/templates/solo/template.ini"
    PATH=$T/bin:$PATH new_session -t solo --project "$P"
    find_agent
    hosts_there
    look_again solo
    "$MAS" send "$ID" solo true
    "$MAS" wait "$ID" --for idle
    is solo .code null
    [ ! -e "$DIR/code.git/indexes/solo.look" ]
}
