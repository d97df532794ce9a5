# Shared by the tests of programs on a terminal that tell; loaded behind ../helper, lib and ../memory.
# shellcheck shell=bash

# A program that keeps its sessions in ~/.teller/ID, a prompt a line, and does what a prompt begins with.
setup_more() { teller_preset; }

teller_preset() {
    TOLD=${MAS%/*}/mas-told
    export OUT=$T/argv
    preset teller "python3 -ES '$PROJECT/test/host/teller.py'" 'ready = ready' 'executes = no' 'role_option = --role {file}' \
        'told.begin = --begin {id}' 'told.resume = --resume {id}' 'told.kept = .teller/{id}' \
        'told.state = .teller/state.json' 'waiting = May I' \
        'told.trust = Yes, I trust' 'told.key.trust = t Enter' 'told.key.allow = y Enter' 'told.key.deny = n Enter' 'told.key.stop = x 200ms Enter' 'told.clear = clear' \
        'told.tool.Bash = execute' 'told.tool.Choose = question' 'told.args = --plugin {dir}' \
        'told.file.conf/hooks.json = {"hooks": {hooks}}' 'told.hook = {"run": {json:command}}' \
        'told.event.Start = starts' 'told.event.Prompt = prompt' 'told.event.Ask = asks' \
        'told.event.Works = works' 'told.event.Rests = rests' 'told.event.Retries = retries' \
        'told.event.Tool = tool' 'told.event.Done = done' 'told.event.Fail = failed' 'told.event.End = ends'
}

# team: a session with this program, which is ready.
team() {
    new_session -t solo --agent teller
    find_agent
    eventually is idle
}

of_agent() { "$MAS" status "$ID" --json | jq -r ".sessions[0].agents[0].$1"; }
is() { [ "$(of_agent state)" = "$1" ]; }
history() { "$MAS" history "$ID" solo --json | jq -c '.messages[] | [.role, .from, .text, .state]'; }
says() { history | grep -qF -- "$1"; }
screen_has() { tm capture-pane -pt "$PANE" | grep -qF -- "$1"; }
typed() { tm send-keys -t "$PANE" -l "$1"; tm send-keys -t "$PANE" Enter; }
starts() { sed -n "$1p" "$OUT"; }
