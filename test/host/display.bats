#!/usr/bin/env bats
# The status line of a session and the borders of its panes, as a terminal shows them.
load ../helper
load lib
load clients

# A team whose agents wait when they are told a question, and are idle otherwise.
asking_team() {
    preset asks "sh -c 'while read line; do case \$line in q*) printf \"%s? [y/N] \" \"\$line\" ;; esac; done'" 'idle = 100ms' 'waiting = \[y/N\] $'
    new_session -n shop --agent asks "$@"
    DIR=$ROOT/sessions/$ID
}

# line_is REGEX: succeeds if the last line of the terminal matches. border_is REGEX: if some line does.
status_line() { outer capture-pane -p -t one | grep . | tail -n 1; }
line_is() { [[ $(status_line) =~ $1 ]]; }
border_is() { outer capture-pane -p -t one | grep -qE -- "$1"; }
is_seen() { [ "$(of "$1" .seenMs)" -gt 0 ] 2>/dev/null; }
state_shown() { tm display-message -p -t "$(pane_of "$1")" '#{@mas_state}'; }

@test "the borders of panes name agent, role and state" {
    asking_team -t pair
    attach_client one shop
    eventually border_is ' lead lead: idle ─.* reviewer reviewer: idle ─'
    took reviewer question
    eventually border_is ' lead lead: idle ─.* reviewer reviewer: waiting ─'
    took reviewer y
    eventually border_is ' reviewer reviewer: idle ─'
}

@test "the status line names the agent of the active pane, and then those who wait" {
    asking_team -t pair
    attach_client one shop reviewer
    eventually line_is '^\[shop\].* reviewer reviewer [0-9][0-9]:[0-9][0-9]$'
    took lead question
    eventually line_is '^\[shop\].* waits: lead  [0-9][0-9]:[0-9][0-9]$'
    took reviewer question
    eventually line_is '^\[shop\].* waits: lead reviewer  [0-9][0-9]:[0-9][0-9]$'
    took lead y
    eventually line_is '^\[shop\].* waits: reviewer  [0-9][0-9]:[0-9][0-9]$'
    took reviewer y
    eventually line_is ' reviewer reviewer [0-9][0-9]:[0-9][0-9]$'
}

@test "a session says who waits in all its windows, on 80 columns" {
    asking_team
    COLUMNS_WANTED=80 attach_client one shop
    hosts_there "${DEFAULT_TEAM[@]}"
    took 32 question
    eventually line_is '^\[shop\] 0:meta.* waits: 32  [0-9][0-9]:[0-9][0-9]$'
}

@test "the state of an agent that ended, and of one that asks for nothing, is told" {
    run_agent 'sh -c "read line; exit 3"' 'idle = 100ms' 'start = demand'
    eventually prints asleep state_shown solo
    took solo hello
    eventually prints failed state_shown solo # its exit code is not 0
}

@test "a new host of a pane tells the state anew" {
    asking_team -t solo
    hosts_there
    took solo question
    eventually prints waiting state_shown solo
    pkill -KILL -f "mas host $ID solo"
    "$MAS" restart -q "$ID" solo
    eventually prints idle state_shown solo
    [ -z "$(tm display-message -p -t "$(pane_of solo)" '#{@mas_waits}')" ]
}

@test "what a role says means nothing to tmux" {
    cp -r "$ROOT/templates/solo" "$ROOT/templates/odd"
    sed -i "s|^role *=.*|role = #(touch $T/ran) #[fg=red] #{pid} ; 'x'|" "$ROOT/templates/odd/template.ini"
    grep -q 'touch' "$ROOT/templates/odd/template.ini"
    new_session -n shop -t odd
    DIR=$ROOT/sessions/$ID
    attach_client one shop
    eventually line_is ' solo _\(touch'
    border_is "solo _\(touch $T/ran\) _\[fg=red\] _\{pid\} ; 'x': idle"
    [ ! -e "$T/ran" ]
}

@test "with [tmux] status = no hosts tell tmux nothing" {
    count_tmux
    printf '[tmux]\nstatus = no\n' >>"$ROOT/mas.ini"
    asking_team -t solo
    attach_client one shop
    took solo question
    eventually state_is solo waiting
    eventually is_seen solo
    [ "$(tmux_calls @mas_state)" = 0 ]
    [ -z "$(state_shown solo)" ]
    border_is ' solo generalist ─'
}

@test "a status line that is the user's own stays, and can have the names" {
    tm -f /dev/null new-session -d -s mine cat
    tm set-option -g status-right 'mine #{@mas_agent} #{@mas_state}.'
    asking_team -t solo
    attach_client one shop
    eventually line_is 'mine solo generalist idle\.$'
    [ -z "$(tm show-options -t "=mas-${ID:0:8}:" -v status-right)" ]
    # nothing is set on the server, or in sessions of the user
    run ! grep -q '@mas_' < <(tm show-options -s; tm show-options -gw; tm show-options -t =mine:)
}

@test "a thousand changes cost at most ten calls of tmux a second, and the last one is shown" {
    local start calls
    count_tmux
    # flips between waiting and idle as fast as it can be told, without a pause
    run_team pair "sh -c 'while read line; do for i in \$(seq 500); do printf \"x? [y/N] \"; sleep 0.012; printf \"\\033[2J\\033]133;A\\007\"; sleep 0.012; done; printf \"x? [y/N] \"; done'" \
        'idle = 10ms' 'waiting = \[y/N\] $'
    hosts_there lead reviewer
    start=$(date +%s%N)
    took lead go
    took reviewer go
    eventually prints waiting state_shown lead
    within 60 is_quiet lead
    calls=$(tmux_calls @mas_state)
    [ "$calls" -gt 5 ]
    [ "$calls" -le $((($(date +%s%N) - start) / 100000000 + 2)) ]
    eventually prints waiting state_shown lead
    eventually prints waiting state_shown reviewer
}

# is_quiet AGENT: succeeds if it has printed nothing for two seconds.
is_quiet() { [ "$(of "$1" .lastOutputMs)" -lt $(($(date +%s%3N) - 2000)) ]; }
# host_is_old AGENT: succeeds if its host has run for five seconds.
host_is_old() { [ "$(ps -o etimes= -p "$(of "$1" .hostPid)")" -ge 5 ]; }

@test "an idle team costs no calls of tmux" {
    count_tmux
    new_session -n team
    DIR=$ROOT/sessions/$ID
    hosts_there "${DEFAULT_TEAM[@]}"
    for agent in "${DEFAULT_TEAM[@]}"; do eventually state_is "$agent" idle; done
    eventually host_is_old 33
    [ "$(tmux_calls @mas_state)" -le 1 ] # that of mas new
}
