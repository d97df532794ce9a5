#!/usr/bin/env bats
# What each agent is doing, told by its host.
load ../helper
load ../project

setup_more() { quick_idle; }

# The status of agent number $1 of the first session, by jq path $2
agent() { "$MAS" status "$ID" --json | jq -r ".sessions[0].agents[$1] | $2"; }

host_of() { agent "$1" .hostPid; }

@test "status tells each agent's role, state, age, process and restarts" {
    new_session -t pair
    "$MAS" wait "$ID" --for idle
    ok status "$ID"
    [ -z "$stderr" ]
    [[ ${lines[0]} =~ ^AGENT\ +ROLE\ +STATE\ +SINCE\ +CPU\ +MEM\ +PID\ +RESTARTS\ +NOTE$ ]]
    [[ ${lines[1]} =~ ^lead\ +lead\ +idle\ +[0-9]+s\ +0:0[0-9]\ +[0-9.]+[KM]\ +[0-9]+\ +0$ ]]
    [[ ${lines[2]} =~ ^reviewer\ +reviewer\ +idle\ +[0-9]+s\ +0:0[0-9]\ +[0-9.]+[KM]\ +[0-9]+\ +0$ ]]
    [ "${#lines[@]}" -eq 3 ]
    [[ $output != *$'\033'* ]]
    grep -qxz "MAS_AGENT_ID=lead" "/proc/$(agent 0 .pid)/environ"
}

@test "status --json has stable keys" {
    new_session -t solo -n one
    "$MAS" wait one --for idle
    ok status one --json
    [ "$(jq -r '.sessions[0] | .sessionId, .name, .tmuxSession' <<<"$output" | xargs)" = "$ID one mas-${ID:0:8}" ]
    [ "$(jq -r '.sessions[0].agents[0] | keys_unsorted | join(" ")' <<<"$output")" = \
        "id role rank group state since sinceMs lastOutput lastOutputMs restartAt restartAtMs until untilMs retryAt retryAtMs done doneMs seen seenMs turnEnd turnWhy pid hostPid pane exitCode signal restarts port queued logLost linesPassedOver title note memory account resources protocol states talks disk code wall limits" ]
}

@test "an end is told with its code or signal and last words" {
    new_session -t pair
    "$MAS" send "$ID" lead 'echo famous last words; exit 3'
    # shellcheck disable=SC2016
    "$MAS" send "$ID" reviewer 'kill -9 $$'
    "$MAS" wait "$ID" --for exit
    mas status "$ID"
    [[ ${lines[1]} =~ ^lead\ +lead\ +exited\ +[0-9]+s\ +-\ +0\ +code\ 3,\ .*famous\ last\ words ]]
    [[ ${lines[2]} =~ ^reviewer\ +reviewer\ +crashed\ +[0-9]+s\ +-\ +0\ +signal\ 9\ \(Killed\) ]]
    [ "$(agent 0 .exitCode)" = 3 ]
    [ "$(agent 1 .signal)" = 9 ]
}

@test "without a name: all that run; in a team its own" {
    new_session -t solo -n one
    one=$ID
    new_session -t solo -n two
    new_session -t solo -n three --no-start
    ok status
    [[ ${lines[0]} =~ ^SESSION\ +AGENT ]]
    [[ ${lines[1]} =~ ^one\ +solo ]]
    [[ ${lines[2]} =~ ^two\ +solo ]]
    [ "${#lines[@]}" -eq 3 ]
    MAS_SESSION_ID=$one mas status --json
    [ "$(jq -r '[.sessions[].sessionId] | join(" ")' <<<"$output")" = "$one" ]
    mas status two one --json
    [ "$(jq -r '[.sessions[].name] | join(" ")' <<<"$output")" = "two one" ]
    mas status -s two --json
    [ "$(jq -r '[.sessions[].name] | join(" ")' <<<"$output")" = two ]
}

@test "no session is no error" {
    ok status
    [ -z "$output" ]
    [[ $stderr == 'no session is running'* ]]
    mas status --json
    [ "$output" = '{"sessions":[]}' ]
    fails 3 status nothing
}

@test "a stopped session's agents are stopped" {
    new_session -t solo --no-start
    ok status "$ID"
    [[ ${lines[1]} =~ ^solo\ +generalist\ +stopped\ +-\ +-\ +-$ ]]
    [ "$(agent 0 '.state, .problem' | xargs)" = "null no host" ]
}

@test "status right behind new and start waits for hosts that are coming up" {
    new_session -t default
    # one that listens, but has just begun, may still not answer in time
    "$MAS" status "$ID" --json | jq -e 'all(.sessions[0].agents[]; .problem != "no host")'
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID"
    "$MAS" status "$ID" --watch 3>&- >"$T/watched" &
    all_came() { [ "$(awk '{ print $3 }' "$T/watched" | sort -u | wc -l)" -eq 13 ]; }
    eventually all_came
    run ! grep 'no host' "$T/watched"
    "$MAS" stop -q "$ID"
    wait
}

@test "a session that crashed says how it is brought back" {
    new_session -t pair -n crashed
    "$MAS" wait crashed --for idle
    tm kill-server
    hosts_gone "$ID"
    ok status crashed
    [[ ${lines[1]} =~ ^lead\ .*\ no\ host\ .*\ \(mas\ start\ crashed\)$ ]]
    "$MAS" start crashed
    mas status crashed
    [[ $output != *'(mas '* ]]
}

# Listens in the place of a host, and says nothing. tmux lets no process of a pane stay stopped.
be_silent() {
    python3 - "$1" <<'END' &
import os, signal, socket, sys
s = socket.socket(socket.AF_UNIX)
os.unlink(sys.argv[1])
s.bind(sys.argv[1])
s.listen(9)
signal.pause()
END
    silent=$!
}

@test "a host that is gone or silent is told as that, and delays nobody" {
    new_session
    "$MAS" wait "$ID" --for idle
    kill -KILL "$(host_of 0)" "$(host_of 1)"
    # shellcheck disable=SC2329
    gone() { [ "$(agent 0 .problem)" = 'no host' ]; }
    eventually gone
    be_silent "$ROOT/sessions/$ID/run/10.sock" 3>&-
    # shellcheck disable=SC2329
    listens() { [ "$(agent 1 .problem)" = 'no answer' ]; }
    eventually listens
    local began ended
    # shellcheck disable=SC2329
    tells_others() { # a busy machine may be late once; one that waits for that host always is
        began=${EPOCHREALTIME/./}
        mas status "$ID"
        ended=${EPOCHREALTIME/./}
        [ "$(grep -c ' idle ' <<<"$output")" -eq 11 ] && ((ended - began < 1000000))
    }
    eventually tells_others
    [ "$status" -eq 0 ]
    ((ended - began > 200000))
    kill "$silent"
    [[ ${lines[1]} =~ ^00\ +meta\ manager\ +no\ host\ +-\ +-\ +-\ +\(mas\ restart\ mas-${ID:0:8}\ 00\)$ ]]
    [[ ${lines[2]} =~ ^10\ +design\ manager\ +no\ answer\ +-\ +-\ +-$ ]]
}

@test "what an agent sets as its title cannot move the terminal" {
    printf '[preset rude]\ncommand = sh -c "printf \\"\\\\\\\\033]2;a\\\\\\\\033[2Jb\\\\\\\\302\\\\\\\\233c\\\\\\\\007\\"; exec cat"\n' >>"$ROOT/mas.ini"
    new_session -t solo --agent rude
    "$MAS" wait "$ID" --for idle
    ok status "$ID"
    [[ $output != *$'\033'* ]]
    "$MAS" status "$ID" --json >"$T/json"
    jq -e . "$T/json" >/dev/null
    run ! grep -q $'[\033\x9b]' "$T/json"
}

@test "--watch prints a line at each change, and ends with the hosts" {
    new_session -t pair -n one
    "$MAS" wait one --for idle
    "$MAS" status one --watch >"$T/lines" 3>&- &
    "$MAS" status one --watch --json >"$T/json" 3>&- &
    eventually grep -q 'reviewer  idle' "$T/lines"
    "$MAS" send one lead 'exit 3'
    eventually grep -qE '^20[0-9T:Z-]+  one  lead  exited  code 3' "$T/lines"
    eventually grep -q '"state":"exited"' "$T/json"
    "$MAS" stop -q one
    wait
    grep -qE '  one  reviewer  ' <(tail -n 2 "$T/lines")
    [ "$(jq -r 'select(.id == "lead") | .exitCode' "$T/json" | sort -u | tail -n 1)" = null ]
    jq -es 'length > 4' "$T/json" >/dev/null
}

@test "on a terminal --watch draws the table anew" {
    new_session -t pair
    "$MAS" wait "$ID" --for idle
    tm new-window -d -t "=mas-${ID:0:8}:" -n look "exec '$MAS' status $ID --watch"
    # shellcheck disable=SC2329
    shows() { tm capture-pane -p -t "=mas-${ID:0:8}:=look" | grep -qE "$1"; }
    eventually shows '^AGENT +ROLE +STATE'
    eventually shows '^reviewer +reviewer +idle'
    "$MAS" send "$ID" lead 'exit 3'
    eventually shows '^lead +lead +exited +[0-9]+s +- +0 +code 3'
    [ "$(tm capture-pane -p -t "=mas-${ID:0:8}:=look" | grep -c AGENT)" -eq 1 ]
}

# The screen of `mas $3...` in a terminal of $1 columns and $2 rows; "end" stands behind what ended.
in_terminal() {
    local size=$1x$2
    shift 2
    tm kill-session -t =narrow 2>/dev/null || :
    tm new-session -d -s narrow -x "${size%x*}" -y "${size#*x}" "MAS_ROOT='$ROOT' MAS_TMUX_SOCKET='$SOCK' '$MAS' $*; echo end; exec cat"
}
screen() { tm capture-pane -p -t =narrow:; }
screen_shows() { grep -qE -- "$1" <<<"$(screen)"; }

@test "on a narrow screen --watch cuts lines with a mark, and leaves columns out first" {
    new_session -t pair -n narrow-session
    "$MAS" wait "$ID" --for idle
    "$MAS" send "$ID" lead 'echo a long line of last words that has no place on a screen of eighty columns; exit 3'
    "$MAS" wait "$ID" lead --for exit
    in_terminal 80 10 status "$ID" --watch
    eventually screen_shows '^AGENT +ROLE +STATE +SINCE +NOTE$'
    eventually screen_shows '^lead +lead +exited +[0-9]+s +code 3, .*\.\.\.$'
    screen_shows '^reviewer +reviewer +idle'
    in_terminal 34 10 status "$ID" --watch
    eventually screen_shows '^AGENT +STATE +NOTE$'
    eventually screen_shows '^lead +exited +code 3.*\.\.\.$'
    # nothing has wrapped or been drawn over
    [ "$(screen | grep -c .)" -eq 3 ]
}

@test "on a low screen --watch counts what it cannot show, and agents that wait come first" {
    printf '[preset asks]\ncommand = sh\nwaiting = y/n\n' >>"$ROOT/mas.ini"
    new_session --agent asks
    "$MAS" wait "$ID" --for idle
    "$MAS" send "$ID" 33 'printf "sure y/n "; read -r answer'
    "$MAS" wait "$ID" 33 --for waiting
    in_terminal 80 7 status "$ID" --watch
    eventually screen_shows '^\+9 more: 9 idle$'
    [[ $(screen | sed -n 1p) =~ ^AGENT ]]
    [[ $(screen | sed -n 2p) =~ ^33\ +.*\ waiting\  ]]
    [[ $(screen | sed -n 3p) =~ ^00\  ]]
    in_terminal 80 40 status "$ID" --watch
    eventually screen_shows '^32 '
    run ! screen_shows 'more'
}

@test "a character that takes two columns is counted as two" {
    printf '[preset wide]\ncommand = sh -c "printf \\"\\\\\\\\033]2;日本語日本語日本語\\\\\\\\007\\"; exec cat"\n' >>"$ROOT/mas.ini"
    new_session -t solo --agent wide
    "$MAS" wait "$ID" --for idle
    in_terminal 28 10 status "$ID" --watch
    eventually screen_shows '^solo +idle +日本.*\.\.\.$' || { screen >&2; false; }
    [ "$(screen | grep -c .)" -eq 2 ]
}

@test "a damaged session is told; the others are shown" {
    new_session -t solo -n one
    new_session -t solo -n two
    echo rubbish >"$ROOT/sessions/$ID/config.json"
    ok status --json
    [ "$(jq -r '[.sessions[].name] | join(" ")' <<<"$output")" = one ]
    [[ $stderr == "mas: warning: "*"two"*"config.json is damaged"* ]]
    fails 5 status "$ID"
}

@test "status asks no tmux" {
    new_session -t pair
    "$(command -v env)" PATH="$T/nothing" "$MAS" status "$ID" >/dev/null
    "$(command -v env)" PATH="$T/nothing" "$MAS" status >/dev/null
}

# ---- code

@test "branch, commits and files of an agent's work tree are shown" {
    make_project
    new_session -t solo -n one --project "$P"
    eventually prints '0 0 0' figures solo
    mas status one
    [[ $output =~ BRANCH\ +CODE ]]
    [[ $output =~ mas/one/solo\ +=\  ]]
    commit solo c c
    echo more >>"$(tree_of solo)/a"
    echo new >"$(tree_of solo)/d"
    "$MAS" send one solo true
    eventually prints '1 0 2' figures solo
    mas status one
    [[ $output =~ mas/one/solo\ +\+1\ ~2\  ]]
    mas status one --json
    [ "$(jq -c '.sessions[0].agents[0].code | del(.looked, .lookedMs)' <<<"$output")" = \
        '{"branch":"mas/one/solo","ahead":1,"behind":0,"changed":2,"problem":null}' ]
    git -C "$(tree_of solo)" checkout -q --detach
    "$MAS" send one solo true
    detached() { "$MAS" status one | grep -qF '(no branch)'; }
    eventually detached
}

@test "list adds up what the agents of a session have done in their work trees" {
    make_project
    new_session -t solo -n none
    mkdir -p "$ROOT/templates/two/unit/"{x,y} "$ROOT/templates/two/workflows"
    {
        printf '[template]\ndescription = two\npreset =\n[window w]\nagents = x, y\nlayout = tiled\n'
        printf '[agent %s]\nrole = r\nrank = worker\ngroup = g\npreset =\ncode = worktree\nmodel =\n' x y
    } >"$ROOT/templates/two/template.ini"
    for name in x y; do echo "$name" >"$ROOT/templates/two/unit/$name/AGENTS.md"; done
    echo flow >"$ROOT/templates/two/workflows/flow.md"
    new_session -t two -n two --project "$P"
    eventually prints '0 0 0' figures x
    eventually prints '0 0 0' figures y
    commit x c c
    echo more >>"$(tree_of y)/a"
    "$MAS" send two x,y true
    eventually prints '1 0 0' figures x
    eventually prints '0 0 1' figures y
    mas list
    [[ ${lines[0]} =~ ACTIVE\ +CODE\ +AGENTS ]]
    [[ $output =~ \ two\ .*\ \+1\ ~1\ +2/2 ]]
    [[ $output =~ \ none\ .*\ -\ +1/1 ]]
    mas list --json
    [ "$(jq -c '.sessions[] | select(.name == "two").code | del(.looked)' <<<"$output")" = \
        '{"agents":2,"ahead":1,"behind":0,"changed":1}' ]
    [ "$(jq '.sessions[] | select(.name == "none") | has("code")' <<<"$output")" = false ]
    # so it does when the session is stopped; status looks again, and merge changes the figures
    "$MAS" stop -q two
    mas list
    [[ $output =~ \ two\ .*\ \+1\ ~1\ +-\ +stopped ]]
    [ "$("$MAS" list --json | jq -c '.sessions[] | select(.name == "two").code | del(.looked)')" = \
        '{"agents":2,"ahead":1,"behind":0,"changed":1}' ]
    echo more >>"$(tree_of y)/b"
    mas status two
    [[ $output =~ x\ .*mas/two/x\ +\+1\  ]]
    [[ $output =~ y\ .*mas/two/y\ +~2\  ]]
    [ "$(figures x), $(figures y)" = '1 0 0, 0 0 2' ]
    "$MAS" merge -q two x
    mas list
    [[ $output =~ \ two\ .*\ -1\ ~2\ +-\ +stopped ]]
}

@test "the age of what was seen of the code is told if it is old" {
    make_project
    new_session -t solo -n one --project "$P"
    eventually prints '0 0 0' figures solo
    seen() { "$MAS" status one --json | jq '.sessions[0].agents[0].code.lookedMs'; }
    local first now
    first=$(seen)
    now=$(date +%s%3N)
    [ "$first" -gt 0 ]
    [ "$first" -le "$now" ]
    [ "$first" -gt $((now - 60000)) ]
    commit solo c c
    look_again solo
    eventually prints '1 0 0' figures solo
    [ "$(seen)" -gt "$first" ]
}

@test "status of sessions without a project has nothing of code" {
    new_session -t solo -n one
    "$MAS" wait one --for idle
    mas status one
    [[ $output != *BRANCH* && $output != *CODE* ]]
    [ "$("$MAS" status one --json | jq '.sessions[0].agents[0].code')" = null ]
}

@test "a host looks at the code without the lock of code.git, and holds up nobody" {
    make_project
    mkdir "$T/bin"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\ncase "$*" in *update-index*) echo x >>"$GIT_DIR/looks"; while [ -e %s/slow ]; do sleep 0.1; done;; esac\nexec %s "$@"\n' \
        "$T" "$(command -v git)" >"$T/bin/git"
    chmod +x "$T/bin/git"
    PATH=$T/bin:$PATH new_session -t solo -n one --project "$P"
    eventually prints '0 0 0' figures solo
    # a look while another command has the lock
    exec 7>>"$ROOT/sessions/$ID/code.locks/mas.lock"
    flock 7
    commit solo c c
    look_again solo
    eventually prints '1 0 0' figures solo
    exec 7>&-
    # a command while a look takes long
    local looks
    looks=$(wc -l <"$ROOT/sessions/$ID/code.git/looks")
    touch "$T/slow"
    echo new >"$(tree_of solo)/d"
    look_again solo
    looks_again() { [ "$(wc -l <"$ROOT/sessions/$ID/code.git/looks")" -gt "$looks" ]; }
    eventually looks_again
    timeout 60 "$MAS" merge -q one solo
    timeout 60 "$MAS" diff one solo
    [ "$(figures solo)" = '1 0 0' ]
    rm "$T/slow"
    eventually prints '0 0 1' figures solo
}

@test "a repository that cannot be read is told, and nobody else suffers" {
    make_project
    new_session -t solo -n one --project "$P"
    eventually prints '0 0 0' figures solo
    rm "$(tree_of solo)/.git/HEAD"
    look_again solo
    troubled() { "$MAS" status one --json | jq -e '.sessions[0].agents[0].code.problem != null'; }
    eventually troubled
    ok status one
    [[ $output == *'?'*'HEAD cannot be read'* ]]
}
