#!/usr/bin/env bats
# What the screens of agents show.
load ../helper

# Agents that print their id and a text
setup_more() {
    cat >>"$ROOT/mas.ini" <<'END'
[preset says]
command = sh -c 'printf "this is %s\n" "$MAS_AGENT_ID"; exec cat'
idle = 100ms
[preset counts]
command = sh -c 'seq 500; exec cat'
idle = 100ms
END
}

@test "peek prints the screen of an agent" {
    new_session -t pair --agent says
    "$MAS" wait "$ID" --for idle
    ok peek "$ID" lead
    [ "$output" = 'this is lead' ]
    [ -z "$stderr" ]
    MAS_SESSION_ID=$ID mas peek reviewer
    [ "$output" = 'this is reviewer' ]
}

@test "what would act on the terminal that peek prints to is shown, not done" {
    cat >>"$ROOT/mas.ini" <<'END'
[preset turns]
command = sh -c 'printf "a\342\200\256b\302\233c\n\011tab\n"; exec cat'
END
    new_session -t solo --agent turns
    "$MAS" wait "$ID" --for idle
    tm capture-pane -pt "=mas-${ID:0:8}:" | grep -q $'\u202e' || skip 'tmux keeps no such characters'
    ok peek "$ID" solo
    [[ ${lines[0]} == a*b*c ]]
    [[ $output != *$'\u202e'* ]]
    [[ $output != *$'\u009b'* ]]
    [[ ${lines[1]} == *tab ]]
}

@test "several agents have heads between them" {
    new_session -t pair --agent says
    "$MAS" wait "$ID" --for idle
    ok peek "$ID" all
    [ "$output" = '=== lead lead ===
this is lead

=== reviewer reviewer ===
this is reviewer' ]
    [ "$("$MAS" peek "$ID" lead reviewer)" = "$output" ]
    # in the order in which they are named
    [ "$("$MAS" peek "$ID" reviewer,lead | grep '^===' | xargs)" = '=== reviewer reviewer === === lead lead ===' ]
}

@test "any number of agents costs one call of tmux" {
    command -v strace >/dev/null || skip 'strace is not installed'
    new_session --agent says
    "$MAS" wait "$ID" --for idle
    strace -f -e trace=execve -o "$T/trace" "$MAS" peek "$ID" all >"$T/out"
    [ "$(grep -c 'execve("[^"]*/tmux".* = 0$' "$T/trace")" -eq 1 ]
    [ "$(grep -c '^this is' "$T/out")" -eq 13 ]
}

@test "--history adds what has scrolled off" {
    new_session -t solo --agent counts
    "$MAS" wait "$ID" --for idle
    [ "$("$MAS" peek "$ID" solo | tail -n 1)" = 500 ]
    [ "$("$MAS" peek "$ID" solo | wc -l)" -lt 100 ]
    [ "$("$MAS" peek "$ID" solo --history 100000)" = "$(seq 500)" ]
    for n in x -1 1x '' 9999999; do
        fails 2 peek "$ID" solo --history "$n"
    done
}

@test "--json holds the text of each" {
    new_session -t pair --agent says
    "$MAS" wait "$ID" --for idle
    mas peek "$ID" all --json
    [ "$(jq -c '[.sessionId, (.agents[] | [.id, .text])]' <<<"$output")" = \
        "[\"$ID\",[\"lead\",\"this is lead\\n\"],[\"reviewer\",\"this is reviewer\\n\"]]" ]
}

@test "a host that is gone hides no screen" {
    new_session -t pair --agent says
    "$MAS" wait "$ID" --for idle
    kill -KILL "$(field "$ID" '.agents[0].hostPid')"
    # shellcheck disable=SC2329
    dead() { [ "$(field "$ID" '.agents[0].problem')" = "no host" ]; }
    eventually dead
    ok peek "$ID" lead --history 100 # tmux adds a line of its own
    [ "${lines[0]}" = 'this is lead' ]
}

@test "a session that does not run is exit 4" {
    new_session -t solo --no-start
    fails 4 peek "$ID" solo
    [[ $stderr == *"it is not running"*"mas start $ID" ]]
    fails 4 peek "$ID" # its one agent
    fails 3 peek "$ID" nobody
}
