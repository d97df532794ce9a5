# What the tests of ACP agents share; loaded behind ../helper and ../host/lib.
# shellcheck shell=bash disable=SC2034 # the variables are for the tests
#
#   $ID     the session   $DIR  its workspace   $PANE  the pane of its agent `solo`
#   $STORE  where the scripted agent keeps its sessions   $TRACE  what it was sent and what it said

# acp_preset NAME OPTION...: a preset that runs the scripted agent (agent.py) with these options.
acp_preset() {
    local name=$1
    shift
    STORE=$T/store TRACE=$T/trace
    preset "$name" "python3 -ES '$PROJECT/test/acp/agent.py' --store '$STORE' --log '$TRACE' $*" \
        'protocol = acp'
}

# acp_agent OPTION...: a session whose one agent is that.
acp_agent() {
    acp_preset scripted "$@"
    new_session -t solo --agent scripted
    find_agent
}

# acp_team TEMPLATE OPTION...: a team of them.
acp_team() {
    local template=$1
    shift
    acp_preset scripted "$@"
    new_session -t "$template" --agent scripted
    DIR=$ROOT/sessions/$ID
}

# The trace of the agent holds this text.
was_sent() { grep -qF -- "$1" "$TRACE"; }

# A permission of agent ${1-solo} is open.
asks() { is "${1-solo}" '.permission != null' true; }

# The same with an agent whose options can be changed:
#
#   run_acp OPTIONS KEY=VALUE...   a session whose one agent has these options, by a preset with these
#                                  keys
#   options OPTIONS                others, from its next start on

options() { printf '%s\n' "$*" >"$T/options"; }

options_preset() {
    local name=$1
    shift
    STORE=$T/store TRACE=$T/trace
    # shellcheck disable=SC2016 # for the script
    printf '#!/bin/sh\nset -f\nexec python3 -ES %s --store %s/store --log %s/trace $(cat %s/options)\n' \
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

ask() { python3 -ES "$PROJECT/test/host/ask.py" "$DIR/run" "$@"; }

# tell TEXT...: asks the agent; $output is the answer, $status the exit code.
tell() { run --separate-stderr timeout 300 "$MAS" ask "$ID" solo "$@"; }

# knows WORDS: the code words that the last answer had seen, sorted.
knows() {
    local seen
    seen=$(sed -n 's/.*seen=\[\([^]]*\)\].*/\1/p' <<<"$output" | tail -n 1)
    [ "$(tr ' ' '\n' <<<"$seen" | sort | xargs)" = "$*" ] || { echo "seen: $seen; all: $output $stderr" >&2; return 1; }
}

# came_back OUTCOME: how the agent came to know.
came_back() { [ "$(of solo .continuity)" = "$1" ]; }

# The same of an agent of a team.
came() { [ "$(of "$1" .continuity)" = "$2" ]; }

# What mas has noted in the history of the agent.
notes() { "$MAS" history "$ID" solo --role note --json | jq -r '.messages[].text'; }

# change_memory SQL: by another program than mas.
change_memory() {
    python3 -ES -c 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute(sys.argv[2]); db.commit()' \
        "$DIR/memory.db" "$1"
}

again() { "$MAS" stop -q "$ID" >/dev/null && "$MAS" start -q "$ID" >/dev/null && hosts_there; }

# prompts WORDS: how many prompts that the agent was sent hold them.
prompts() { grep '^<' "$T/trace" | grep -F session/prompt | grep -cF -- "$1" || true; }

# How many prompts that the agent was sent begin with what was said before.
injections() { prompts '"<earlier_conversation>'; }

# sent METHOD: how often it was called.
sent() { grep '^<' "$T/trace" | grep -cF "\"$1\"" || true; }

# stored ROLE: messages in memory.db, by another reader than mas.
stored() { # 0 user, 1 agent, 2 thought, 3 tool, 4 plan, 5 permission, ...
    python3 -ES - "$DIR/memory.db" "$1" <<'P'
import sqlite3, sys
db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
print(db.execute("select count(*) from message where role = ?", (sys.argv[2],)).fetchone()[0])
P
}
