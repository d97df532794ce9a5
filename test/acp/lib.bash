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
    preset "$name" "python3 '$PROJECT/test/acp/agent.py' --store '$STORE' --log '$TRACE' $*" \
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
