#!/usr/bin/env bats
# A team comes up right whatever the user's tmux.conf says.
load ../helper
load tmux

outer() { tmux -u -S "$T/outer" -f /dev/null "$@"; }

# Columns and rows of panes in each window of a unit: "<lefts>x<tops>"
grids_of() {
    local window
    for window in design development business; do
        tm list-panes -t "=$1:=$window" -F '#{pane_left} #{pane_top}' |
            awk '{ left[$1]; top[$2] } END { print length(left) "x" length(top) }'
    done
}

titles_of() { tm list-panes -s -t "=$1:" -F '#{pane_title}' | sort; }

# The ids and roles of the default template, as the panes must be titled
titles_wanted() {
    awk '/^\[agent /{ id = $2; sub(/]/, "", id) } /^role/{ sub(/^role *= */, ""); print id " " $0 }' \
        "$ROOT/templates/default/template.ini" | sort
}

has_titles() { [ "$(titles_of "$1")" = "$(titles_wanted)" ]; }

# Session $1 is a whole default team of the right shape.
is_right() {
    local name
    name=$(tmux_name "$1")
    [ "$(windows_of "$name")" = "$(default_team)" ]
    [ "$(grids_of "$name" | sort -u)" = 2x2 ]
    [ "$(tm list-windows -t "=$name:" -F '#{window_width}' | sort -u)" = 200 ]
    [ "$(tm list-windows -t "=$name:" -F '#{window_height}' | sort -u)" -ge 47 ]
    eventually has_titles "$name"
    [ "$(field "$1" .agentsRunning)" = 13 ]
    [ "$(field "$1" .status)" = active ]
    [ "$(tm display-message -p -t "=$name:" '#{window_name}')" = meta ]
}

# The default team comes up right with the tmux.conf on stdin.
comes_up_right() {
    conf
    new_session
    is_right "$ID"
    ok stop -q "$ID"
}

@test "without a tmux.conf the default team comes up right" {
    new_session
    is_right "$ID"
}

@test "other numbers of windows and panes are no matter" {
    comes_up_right <<'EOC'
set -g base-index 1
set -g pane-base-index 5
set -g renumber-windows on
EOC
}

@test "the user's default command and shell run in none of the panes" {
    comes_up_right <<EOC
set -g default-command 'touch $T/ran; exec sleep 1000'
set -g default-shell /bin/false
EOC
    [ ! -e "$T/ran" ]
}

@test "a team outlives remain-on-exit off and destroy-unattached on" {
    comes_up_right <<'EOC'
set -g remain-on-exit off
set -g destroy-unattached on
EOC
}

@test "with destroy-unattached on a team outlives its last client" {
    conf <<<'set -g destroy-unattached on'
    new_session -t solo
    outer new-session -d "exec env -u TMUX -u TMUX_PANE '$MAS' attach $ID"
    eventually eval "[ \"\$(tm list-clients | wc -l)\" -eq 1 ]"
    tm detach-client -s "=$(tmux_name "$ID"):"
    eventually eval "[ \"\$(tm list-clients | wc -l)\" -eq 0 ]"
    [ "$(field "$ID" .status)" = active ]
    # the user's own setting is as it was
    [ "$(tm show-options -gv destroy-unattached)" = on ]
}

@test "window names stay those of the units" {
    comes_up_right <<'EOC'
set -g automatic-rename on
set -g automatic-rename-format 'renamed'
set -g allow-rename on
set -g status-interval 1
EOC
}

@test "an agent cannot rename its window by an escape sequence" {
    conf <<<'set -g allow-rename on'
    new_session -t solo
    local pane
    pane=$(field "$ID" '.agents[0].pane')
    tm send-keys -t "$pane" -l "printf '\\033kmine\\033\\\\'; : >done" \; send-keys -t "$pane" Enter
    eventually test -e "$ROOT/sessions/$ID/unit/solo/done"
    [ "$(tm display-message -p -t "$pane" '#{window_name}')" = solo ]
}

@test "options of size, status and history are no matter" {
    comes_up_right <<'EOC'
set -g default-size 80x24
set -g window-size smallest
set -g status off
set -g history-limit 10
set -g default-terminal xterm-256color
set -g main-pane-width 10
set -g pane-border-status bottom
set -g aggressive-resize on
EOC
}

@test "errors in the tmux.conf are no matter" {
    comes_up_right <<'EOC'
set -g no-such-option on
set -g base-index 1
EOC
    comes_up_right <<<'no-such-command'
}

@test "sessions that the tmux.conf makes are no matter" {
    comes_up_right <<<"new-session -d -s own 'exec sleep 1000'"
    tm has-session -t =own:
}

@test "hooks that rename windows are no matter" {
    comes_up_right <<'EOC'
set-hook -g after-new-session 'rename-window hooked'
set-hook -g after-new-window 'rename-window hooked'
set-hook -g after-split-window 'rename-window hooked'
set-hook -g after-select-layout 'rename-window hooked'
EOC
}

@test "hooks that select panes and windows are no matter" {
    comes_up_right <<'EOC'
set-hook -g after-new-window 'select-window -t 0'
set-hook -g after-split-window 'select-pane -t :.0'
set-hook -g after-select-layout 'last-pane'
set-hook -g after-new-session 'new-window -d -n extra true'
EOC
}

@test "hooks that change the layout are no matter" {
    comes_up_right <<'EOC'
set-hook -g after-split-window 'select-layout even-horizontal'
set-hook -g after-select-layout 'select-layout main-vertical'
set-hook -g after-new-window 'split-window'
EOC
}

@test "hooks that kill panes while a team is built are no matter" {
    comes_up_right <<'EOC'
set-hook -g after-new-window 'kill-pane'
set-hook -g after-split-window 'kill-pane'
set-hook -g after-select-layout 'kill-pane'
set-hook -g after-rename-window 'kill-pane'
set-hook -g after-set-option 'kill-pane'
EOC
}

@test "hooks on the selection of a pane or window are no matter" {
    comes_up_right <<'EOC'
set-hook -g after-select-pane 'kill-pane'
set-hook -g after-select-window 'kill-window'
EOC
}

@test "a hook that renames a window whose pane is selected is no matter" {
    comes_up_right <<<"set-hook -g after-select-pane 'rename-window hooked'"
}

@test "hooks on the last steps of a build are no matter" {
    comes_up_right <<'EOC'
set-hook -g after-set-hook 'kill-pane'
set-hook -g after-list-panes 'kill-pane'
EOC
}

# These run once the team stands, for the user's own reasons: what they do to names and layouts is
# the user's wish. Every agent is known all the same.
@test "hooks on events leave every agent known" {
    conf <<'EOC'
set-hook -g session-created 'rename-window hooked'
set-hook -g window-linked 'select-layout even-horizontal'
set-hook -g window-pane-changed 'select-layout even-vertical'
set-hook -g window-layout-changed 'rename-window hooked'
EOC
    new_session
    [ "$(field "$ID" .agentsRunning)" = 13 ]
    all_known() {
        [ "$(field "$ID" '[.agents[] | select(.hostPid > 0) | .pane] | unique | length')" = 13 ]
    }
    eventually all_known
    ok stop "$ID"
}

@test "the user's hooks are there again once the team stands" {
    conf <<EOC
set-hook -g after-new-window 'run-shell "touch $T/hooked"'
EOC
    new_session -t solo
    [ ! -e "$T/hooked" ]
    tm new-window -d -t "=$(tmux_name "$ID"):" 'exec sleep 1000'
    eventually test -e "$T/hooked"
}

@test "a hook that leaves no pane makes new fail, and nothing is left" {
    conf <<EOC
new-session -d -s own 'exec sleep 1000'
set-hook -g after-new-session 'kill-session'
EOC
    new_is_refused
}

@test "the title of a pane is the agent and its role" {
    new_session -t pair
    eventually eval "[ \"\$(titles_of '$(tmux_name "$ID")')\" = \$'lead lead\nreviewer reviewer' ]"
}

@test "exit-unattached is refused with the reason" {
    conf <<<'set -g exit-unattached on'
    new_is_refused
    [[ $stderr == *'exit-unattached on'*'tmux.conf'* ]]
}

@test "exit-unattached on a server that runs is refused with the reason, the server stays" {
    conf <<<''
    outer new-session -d "exec env -u TMUX tmux -S '$SOCK' new-session -s own 'exec sleep 1000'"
    eventually tm has-session -t =own:
    eventually eval "[ -n \"\$(tm list-clients)\" ]"
    tm set-option -g exit-unattached on
    new_is_refused -t solo
    [[ $stderr == *'exit-unattached on'* ]]
    tm has-session -t =own:
}

@test "size is that of the setting" {
    export MAS_TMUX_SIZE=120x40
    new_session
    [ "$(tm list-windows -t "=$(tmux_name "$ID"):" -F '#{window_width}x#{window_height}' | sort -u)" = 120x39 ] ||
        [ "$(tm list-windows -t "=$(tmux_name "$ID"):" -F '#{window_width}x#{window_height}' | sort -u)" = 120x40 ]
    [ "$(windows_of "$(tmux_name "$ID")")" = "$(default_team)" ]
}
