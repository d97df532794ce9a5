# What it adds to `mas send` that an agent's host runs it for the agent.
# shellcheck shell=bash

export MAS_ROOT=$FAST/broker
make_root "$MAS_ROOT" || return 1
printf '[preset reading]\ncommand = sh -c "exec cat >/dev/null"\n' >>"$MAS_ROOT/mas.ini"
id=$("$MAS" new -q -t pair --agent reading) || return 1
run=$MAS_ROOT/sessions/$id/run
for ((try = 0; try < 200; try++)); do
    [[ -S $run/lead.agent && -S $run/reviewer.agent ]] && break
    sleep 0.05
done
make_script send-brokered <<<"export MAS_SOCKET=$run/lead.agent; exec '$MAS' send reviewer hello"
make_script send-direct <<<"export MAS_SESSION_ID=$id MAS_AGENT_ID=lead; exec '$MAS' send reviewer hello"
measure -n $((ROUNDS * 20)) brokered="$FAST/send-brokered" direct="$FAST/send-direct" || return 1 
"$MAS" stop -q "$id"
export MAS_ROOT=$FAST/none
at_most 'a send through the host of an agent adds, ms' "$(calc "(${T[brokered]} - ${T[direct]}) / 1000")" \
    1 "(through it $(ms brokered), directly $(ms direct))"
