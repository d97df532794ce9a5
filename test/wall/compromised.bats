#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # every test runs in a shell of its own
# What one compromised agent did to its user and to the user's other team before there were walls. Each
# attack works without a wall and fails behind one.
load ../helper
load lib

TOKEN=token-that-nobody-else-has

# The other team's agent: it notes what it hears.
other_team() {
    cat >"$T/hears" <<SH
while IFS= read -r line; do printf '%s\n' "\$line" >>"$T/heard"; done
SH
    preset listening "sh $T/hears"
    DEPLOY_TOKEN=$TOKEN "$MAS" new -q -t solo --agent listening
}

# Makes $TALK, a session with an ACP agent that was told a secret.
converse() {
    preset talker "python3 -ES '$PROJECT/test/acp/agent.py' --store '$T/store' --log '$T/trace'" 'protocol = acp'
    TALK=$("$MAS" new -q -t solo --agent talker)
    "$MAS" ask "$TALK" solo "the password is $TOKEN" >/dev/null
}

reads_config() {
    inside "cat '$ROOT/sessions/$OTHER/config.json'"
    cmp -s "$TREE/said" "$ROOT/sessions/$OTHER/config.json"
}
@test "it reads the other team's config.json" { both_ways reads_config; }

reads_memory() {
    converse
    inside "cat '$ROOT/sessions/$TALK'/memory.db*"
    local rc=0
    said "$TOKEN" || rc=1
    "$MAS" rm -qf "$TALK"
    return "$rc"
}
@test "it reads the other team's conversations" { both_ways reads_memory; }

reads_environment() {
    inside "cat /proc/$(host_of "$OTHER" solo)/environ /proc/[0-9]*/environ '$ROOT/sessions/$OTHER'/run/env"
    said "$TOKEN"
}
@test "it reads the environment of the other team's hosts and agents" { both_ways reads_environment; }

runs_at_start() {
    inside "sed -i 's|\"command\":\"\"|\"command\":\"touch $T/ran\"|' '$DIR/config.json'"
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID" || true
    if [ "$rc" -ne 0 ]; then
        hosts_there bad good
        [ -e "$T/ran" ]
        return
    fi
    eventually test -e "$T/ran"
}
@test "it puts a command into config.json, which the next start runs" { both_ways runs_at_start; }

runs_at_search() {
    converse
    inside "printf '[memory]\nembed_command = touch $T/ran\n' >>'$ROOT/mas.ini'"
    "$MAS" search password >/dev/null 2>&1 || true
    "$MAS" rm -qf "$TALK"
    [ -e "$T/ran" ]
}
@test "it puts a command into mas.ini, which the user's next search runs" { both_ways runs_at_search; }

# As a person: from a process that no agent has started, here one of the tmux server.
sends_words() {
    inside "tmux -S '$SOCK' run-shell \"'$MAS' --root '$ROOT' send '$OTHER' solo words of a person\""
    [ "$rc" -eq 0 ] || inside "env -u MAS_AGENT_ID -u MAS_SESSION_ID '$MAS' --root '$ROOT' send '$OTHER' solo words of a person"
    [ "$rc" -eq 0 ] || return
    eventually grep -qx 'words of a person' "$T/heard"
}
@test "it sends to the other team as a person" { both_ways sends_words; }

types_words() {
    local pane
    pane=$(tm list-panes -t "=mas-${OTHER:0:8}:" -F '#{pane_id}')
    inside "tmux -S '$SOCK' send-keys -t '$pane' -l 'words typed' && tmux -S '$SOCK' send-keys -t '$pane' Enter"
    [ "$rc" -eq 0 ] || return
    eventually grep -qx 'words typed' "$T/heard"
}
@test "it types into the other team's pane" { both_ways types_words; }

runs_at_attach() {
    inside "tmux -S '$SOCK' set-hook -g client-attached 'run-shell \"touch $T/ran\"'"
    tmux -u -S "$T/outer" -f /dev/null new-session -d -x 120 -y 40 \
        "exec env -u TMUX -u TMUX_PANE TERM=screen '$MAS' attach '$OTHER'" \; set-option -s exit-empty off
    # shellcheck disable=SC2317 # called by eventually
    has_client() { [ -n "$(tm list-clients 2>/dev/null)" ]; }
    eventually has_client
    tm run-shell true # the hook, if there is one, has begun
    tm detach-client -a 2>/dev/null || true
    tmux -S "$T/outer" kill-server
    [ "$rc" -eq 0 ] || { [ -e "$T/ran" ]; return; }
    eventually test -e "$T/ran"
}
@test "it sets a hook in tmux, which runs when the user attaches" { both_ways runs_at_attach; }
