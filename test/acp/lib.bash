# Shared by the tests of ACP agents; loaded after ../helper and ../host/lib.
# shellcheck shell=bash disable=SC2034 # the variables are for the tests
#
#   $ID     the session   $DIR  its workspace   $PANE  the pane of its agent `solo`
#   $STORE  the session store of the scripted agent   $TRACE  the messages to and from it

# acp_preset NAME OPTION...: adds a preset that runs the scripted agent (agent.py) with these options.
acp_preset() {
    local name=$1
    shift
    STORE=$T/store TRACE=$T/trace
    preset "$name" "python3 -ES '$PROJECT/test/acp/agent.py' --store '$STORE' --log '$TRACE' $*" \
        'protocol = acp'
}

# acp_agent OPTION...: creates a session with one scripted agent.
acp_agent() {
    acp_preset scripted "$@"
    new_session -t solo --agent scripted
    find_agent
}

# acp_team TEMPLATE OPTION...: creates a session with a team of scripted agents.
acp_team() {
    local template=$1
    shift
    acp_preset scripted "$@"
    new_session -t "$template" --agent scripted
    DIR=$ROOT/sessions/$ID
}

# was_sent TEXT: succeeds if the agent's trace contains the text.
was_sent() { grep -qF -- "$1" "$TRACE"; }

# asks [AGENT]: succeeds if the agent (solo) has an open permission.
asks() { [[ $(of "${1-solo}" .permission) != @(|null) ]]; }

# The same with an agent whose options can change:
#
#   run_acp OPTIONS KEY=VALUE...   creates a session with one agent with these options; the keys are
#                                  for its preset
#   options OPTIONS                sets the options for the agent's next start

options() { printf '%s\n' "$*" >"$T/options"; }

options_preset() {
    local name=$1
    shift
    STORE=$T/store TRACE=$T/trace
    # shellcheck disable=SC2016 # for the script
    printf '#!/bin/sh\nset -f\nexec python3 -ES %s --store %s/store --log %s/trace $(cat %s/options) "$@"\n' \
        "$PROJECT/test/acp/agent.py" "$T" "$T" "$T" >"$T/agent"
    chmod +x "$T/agent"
    preset "$name" "$T/agent" "protocol = acp" "$@"
}

run_acp() {
    options "$1"
    shift
    options_preset made "$@"
    new_session -t solo --agent made
    find_agent
}

# tell TEXT...: asks the agent; sets $output to the answer and $status to the exit code.
tell() { run --separate-stderr timeout 300 "$MAS" ask "$ID" solo "$@"; }

# knows WORDS: succeeds if the agent's last answer lists these code words (in sorted order) as seen.
knows() {
    local seen
    seen=$(sed -n 's/.*seen=\[\([^]]*\)\].*/\1/p' <<<"$output" | tail -n 1)
    [ "$(tr ' ' '\n' <<<"$seen" | sort | xargs)" = "$*" ] || { echo "seen: $seen; all: $output $stderr" >&2; return 1; }
}

# came_back OUTCOME: succeeds if this is how the agent regained its conversation.
came_back() { [ "$(of solo .continuity)" = "$1" ]; }

# came AGENT OUTCOME: the same for an agent of a team.
came() { [ "$(of "$1" .continuity)" = "$2" ]; }

# Prints the notes of mas in the agent's history.
notes() { "$MAS" history "$ID" solo --role note --json | jq -r '.messages[].text'; }

# change_memory SQL: changes memory.db without mas.
change_memory() {
    python3 -ES -c 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute(sys.argv[2]); db.commit()' \
        "$DIR/memory.db" "$1"
}

again() { "$MAS" stop -q "$ID" >/dev/null && "$MAS" start -q "$ID" >/dev/null && hosts_there; }

# prompts WORDS: prints how many prompts to the agent contain the words.
prompts() { grep '^<' "$T/trace" | grep -F session/prompt | grep -cF -- "$1" || true; }

# Prints how many prompts to the agent begin with the earlier conversation.
injections() { prompts '"<earlier_conversation>'; }

# sent METHOD: prints how often mas called the method.
sent() { grep '^<' "$T/trace" | grep -cF "\"$1\"" || true; }

# Prints the types and values that the agent was told for its boolean option.
switched() { grep '^<' "$T/trace" | cut -c3- | jq -c 'select(.params.configId? == "web") | .params | [.type, .value]' | xargs; }
was_switched() { [ "$(switched)" = "$*" ]; }

# stored ROLE: prints the number of messages with this role in memory.db, read without mas.
stored() { # 0 user, 1 agent, 2 thought, 3 tool, 4 plan, 5 permission, ...
    python3 -ES - "$DIR/memory.db" "$1" <<'P'
import sqlite3, sys
db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
print(db.execute("select count(*) from message where role = ?", (sys.argv[2],)).fetchone()[0])
P
}
