#!/usr/bin/env bats
load ../helper
load ../project

setup_more() { quick_idle; }

@test "show tells all there is about a session" {
    new_session -t pair -n one
    "$MAS" wait one --for idle
    ok show one
    [ -z "$stderr" ]
    # shellcheck disable=SC2329
    says() { grep -qE "^$1  +$2\$" <<<"$output"; }
    says session "$ID"
    says name one
    says status active
    says 'tmux session' "mas-${ID:0:8}"
    says 'tmux socket' "$SOCK"
    says template pair
    says mode isolated
    says created "$(meta "$ID" CREATED_AT)"
    says workspace "$ROOT/sessions/$ID"
    says 'disk use' '[0-9.]+[KM]'
    says 'walls' '.+'
    says 'ended by' '.+'
    says lead 'lead +pair +idle +[0-9]+s +[0-9]+ +0 +%[0-9]+'
    says reviewer 'reviewer +pair +idle +[0-9]+s +[0-9]+ +0 +%[0-9]+'
}

@test "show --json is the object of list --json with more" {
    new_session -t pair -n one
    "$MAS" wait one --for idle
    listed=$("$MAS" list --json | jq -cS .sessions[0])
    ok show one --json
    [ "$(jq -cS --argjson l "$listed" 'with_entries(select(.key | in($l)))' <<<"$output")" = "$listed" ]
    [ "$(jq -r '[.tmuxSocket, .unitDir, .workflowsDir] | join(" ")' <<<"$output")" = \
        "$SOCK $ROOT/sessions/$ID/unit $ROOT/sessions/$ID/workflows" ]
    [ "$(jq -r '[.agents[].id] | join(" ")' <<<"$output")" = "lead reviewer" ]
    [ "$(jq -r '.agents[1] | [.role, .rank, .group, .state] | join(" ")' <<<"$output")" = "reviewer worker pair idle" ]
    [ "$(jq -r '.disk.files > 5 and .disk.apparentBytes > 1000' <<<"$output")" = true ]
}

@test "show tells the pid of each agent, and its host and pane as tmux does" {
    new_session
    # shellcheck disable=SC2329
    all_run() { [ "$(field "$ID" '[.agents[] | select(.pid != null)] | length')" -eq 13 ]; }
    eventually all_run
    mas show "$ID" --json
    [ "$(jq '.agents | length' <<<"$output")" -eq 13 ]
    [ "$(jq -r '.agents[] | "\(.pane) \(.hostPid)"' <<<"$output" | sort)" = \
        "$(tm list-panes -s -t "=mas-${ID:0:8}:" -F '#{pane_id} #{pane_pid}' | sort)" ]
    for pid in $(jq '.agents[].pid' <<<"$output"); do
        grep -qxz "MAS_SESSION_ID=$ID" "/proc/$pid/environ"
    done
}

@test "show tells how an agent ended" {
    printf '[preset seven]\ncommand = sh -c "exit 7"\n' >>"$ROOT/mas.ini"
    new_session -t solo --agent seven
    "$MAS" wait "$ID" --for exit
    [ "$(field "$ID" '.agents[0].state')" = exited ]
    [ "$(field "$ID" '.agents[0].exitStatus')" = 7 ]
    [ "$(field "$ID" '.agents[0].exitCode')" = 7 ]
    [ "$(field "$ID" '.agents[0].pid')" = null ]
    [ "$(field "$ID" '.agentsRunning, .agentsEnded' | xargs)" = "0 1" ]
    mas show "$ID"
    [[ $output =~ solo\ +generalist\ +solo\ +exited\ 7\ +[0-9]+s\ +-\ +0\ +%[0-9]+ ]]
}

@test "show falls back on tmux where a host is gone" {
    new_session -t pair
    "$MAS" wait "$ID" --for idle
    kill -KILL "$(field "$ID" '.agents[0].hostPid')"
    # shellcheck disable=SC2329
    dead() { tm run-shell -b true && [ "$(field "$ID" '.agents[0].exitStatus')" = 137 ]; }
    eventually dead
    [ "$(field "$ID" '.agents[0] | .state, .problem' | xargs)" = "exited no host" ]
    [ "$(field "$ID" '.agents[1].state')" = idle ]
    [ "$(field "$ID" '.agentsRunning, .agentsEnded' | xargs)" = "1 1" ]
    mas show "$ID"
    [[ $output =~ lead\ +lead\ +pair\ +exited\ 137\ \(no\ host\)\ +-\ +-\ +-\ +%[0-9]+ ]]
}

@test "show of a stopped session still lists its agents" {
    new_session -t pair --no-start
    ok show "$ID" --json
    [ "$(jq -r '.status, (.agents[] | .state)' <<<"$output" | xargs)" = "stopped stopped stopped" ]
}

@test "show of a damaged session says what is wrong" {
    new_session -t solo -n one
    sed -i 's/^STATUS=.*/STATUS=wild/' "$ROOT/sessions/$ID/.session"
    mas show "$ID"
    [[ $output =~ status\ +error:\ its\ .session\ is\ damaged:\ STATUS\ is\ not ]]
    mas show "$ID" --json
    [ "$(jq -r .status <<<"$output")" = error ]
    [ "$(jq -r .reason <<<"$output")" = "its .session is damaged: STATUS is not active, stopped or error" ]
}

@test "show of a session whose workspace was deleted by hand says so" {
    new_session -t solo -n one --no-start
    rm -rf "${ROOT:?}/sessions/$ID"
    mas show one
    [[ $output =~ status\ +error:\ its\ workspace\ is\ missing ]]
}

@test "info is show" {
    new_session -t solo --no-start
    [ "$("$MAS" info "$ID")" = "$("$MAS" show "$ID")" ]
}

@test "a session is named by id, tmux name, name, prefix or @last" {
    new_session -t solo -n one --id 550e8400-e29b-41d4-a716-446655440000 --no-start
    for text in "$ID" "${ID^^}" mas-550e8400 one 550e 550e8400 550E8400-e 550e8400-e29b-41d4-a716-44665544000 @last; do
        [ "$(field "$text" .sessionId)" = "$ID" ]
    done
}

@test "less than 4 digits, a wrong prefix and a name of another case are no session" {
    new_session -t solo -n one --id 550e8400-e29b-41d4-a716-446655440000 --no-start
    for text in 550 550f One on mas-550e840 550e8400-e29b-41d4-a716-446655440001 '' '*' 550e8400-e29b-41d4-a716-4466554400000; do
        fails 3 show "$text"
        local hint='list the sessions with: mas list'
        case $text in One) hint='did you mean: one  (all sessions: mas list)' ;; esac
        [ "$stderr" = "mas: cannot find session '$text': there is no such session in '$ROOT'"$'\n'"$hint" ]
        [ -z "$output" ]
    done
}

@test "an ambiguous prefix is a conflict that lists the candidates" {
    "$MAS" new -q -t solo --no-start -n one --id 550e8400-e29b-41d4-a716-446655440000
    "$MAS" new -q -t solo --no-start --id 550e84ff-e29b-41d4-a716-446655440000
    "$MAS" new -q -t solo --no-start --id 550effff-e29b-41d4-a716-446655440000
    fails 4 show 550e84
    [ "$stderr" = "mas: cannot find session '550e84': 2 sessions match
candidates: 550e8400-e29b-41d4-a716-446655440000 one, 550e84ff-e29b-41d4-a716-446655440000" ]
    [ "$(field 550e840 .name)" = one ]
}

@test "a name that another session has in tmux selects neither" {
    "$MAS" new -q -t solo --no-start --id beeff00d-e29b-41d4-a716-446655440000
    new_session -t solo --no-start -n other
    sed -i 's/^NAME=.*/NAME=mas-beeff00d/' "$ROOT/sessions/$ID/.session"
    fails 4 show mas-beeff00d
    [[ $stderr == "mas: cannot find session 'mas-beeff00d': 2 sessions match"$'\n'* ]]
}

@test "@last is the newest" {
    for i in 1 2 3 4 5 6; do
        new_session -t solo --no-start -n "s$i"
        sed -i "s/^CREATED_AT=.*/CREATED_AT=2024-01-01T00:00:0$((7 - i))Z/" "$ROOT/sessions/$ID/.session"
    done
    rm "$ROOT/sessions/.sessions.index"
    [ "$(field @last .name)" = s1 ]
    new_session -t solo --no-start
    [ "$(field @last .sessionId)" = "$ID" ]
}

@test "@last is the newest also of several made in the same second" {
    for _ in {1..8}; do
        new_session -t solo --no-start
        [ "$(field @last .sessionId)" = "$ID" ]
    done
}

@test "@last without a session is an error" {
    fails 3 show @last
    [[ $stderr == "mas: cannot find session '@last': there is no such session"* ]]
}

@test "show without a SESSION is an error outside a team, and its own team inside" {
    fails 2 show
    [[ $stderr == "mas: cannot run 'show': it needs a SESSION outside of a team's pane"$'\n'"usage: mas show"* ]]
    new_session -t solo
    other=$("$MAS" new -q -t solo --no-start)
    [ "$(MAS_SESSION_ID=$ID "$MAS" show --json | jq -r .sessionId)" = "$ID" ]
    [ "$(MAS_SESSION_ID=$ID "$MAS" show "$other" --json | jq -r .sessionId)" = "$other" ]
    [ "$(MAS_SESSION_ID=$ID "$MAS" show -s "$other" --json | jq -r .sessionId)" = "$other" ]
}

@test "-s names the session" {
    new_session -t solo -n one --no-start
    [ "$("$MAS" show -s one --json | jq -r .sessionId)" = "$ID" ]
    [ "$("$MAS" show --session=one --json | jq -r .sessionId)" = "$ID" ]
    fails 2 show -s one two
    [[ $stderr == *"unexpected operand 'two'"* ]]
}

@test "-- ends the options" {
    new_session -t solo -n one --no-start
    ok show -- one
    fails 3 show -- --json
    [[ $stderr == "mas: cannot find session '--json': there is no such session"* ]]
}

@test "show writes nothing" {
    new_session -t solo
    "$MAS" wait "$ID" --for idle
    before=$(snapshot)
    "$MAS" show "$ID" >/dev/null
    "$MAS" show "$ID" --json >/dev/null
    [ "$(snapshot)" = "$before" ]
}

# ---- code

@test "show and status name the project or what is not landed, and look at the code of a stopped team" {
    make_project
    new_session -t solo -n one --no-start --project "$P"
    mas show one
    [[ $output == *"project        $P"$'\n'* ]]
    [[ $output == *'to land        0 commits of mas/one/main on main'* ]]
    commit solo c c
    echo more >>"$(tree_of solo)/a"
    [ "$(field one '.agents[0].code | "\(.branch) \(.ahead) \(.behind) \(.changed)"')" = 'mas/one/solo 1 0 1' ]
    "$MAS" merge -q one solo
    mas show one
    [[ $output == *'to land        1 commit of mas/one/main on main'* ]]
    [[ $output =~ mas/one/solo\ +~1 ]]
    ok status one
    [[ $output == *$'\n''one has 1 commit to land; see: mas diff one main' ]]
    "$MAS" land -q one
    [ "$(field one .project.unlanded)" = 0 ]
    [ "$("$MAS" status one --json | jq .sessions[0].unlanded)" = 0 ]
    ok status one
    [[ $output != *'to land'* ]]
    commit solo d d
    "$MAS" merge -q one solo
    [ "$("$MAS" show one --json | jq -c .project)" = '{"path":"'"$P"'","gone":false,"replaced":false,"branch":"mas/one/main","onto":"main","unlanded":1,"setup":null,"tried":null}' ]
}

@test "show says that the project is gone" {
    make_project
    new_session -t solo -n one --no-start --project "$P"
    rm -rf "$P"
    ok show one
    [[ $output == *"project        $P (it is gone)"* ]]
    [ "$(field one .project.gone)" = true ]
}

@test "show and doctor say that another repository has taken the place of the project" {
    make_project
    new_session -t solo -n one --no-start --project "$P"
    [ "$(field one .project.replaced)" = false ]
    # a history that was rewritten has still the same beginning
    git -C "$P" commit -q --allow-empty -m 'More'
    new_session -t solo -n two --no-start --project "$P"
    git -C "$P" reset -q --hard HEAD~1
    git -C "$P" reflog expire --expire=now --all
    git -C "$P" gc -q --prune=now
    [ "$(field two .project.replaced)" = false ]
    mv "$P" "$T/moved"
    mkdir "$P"
    for kind in none other; do
        mas show one
        [[ $output == *"project        $P (another repository is there, or none)"* ]]
        [ "$(field one .project.replaced)" = true ]
        [ "$(field one .project.gone)" = false ]
        mas doctor
        [[ $output == *"its project '$P' is another repository now, or none; only mas land"* ]]
        rm -rf "$P"
        git init -q "$P"
        echo other >"$P/a"
        git -C "$P" add a
        git -C "$P" commit -qm Other
    done
    rm -rf "$P"
    ln -s "$T/moved" "$P"
    [ "$(field one .project.replaced)" = false ]
}

@test "show of a session without a project has nothing of code" {
    new_session -t solo -n one --no-start
    mas show one
    [[ $output != *project* && $output != *CODE* ]]
    [ "$(field one '.project, .agents[0].code' | xargs)" = 'null null' ]
}

@test "show tells of a repository that is no longer one" {
    make_project
    new_session -t solo -n one --no-start --project "$P"
    rm -rf "$(tree_of solo)/.git"
    ok show one
    [[ $output == *' ?'* ]]
    [[ $(field one '.agents[0].code.problem') == *'its .git is missing'* ]]
}
