# What a question to an idle ACP agent costs beside the agent's own time.
# shellcheck shell=bash

export MAS_ROOT=$FAST/ask
make_root "$MAS_ROOT" || return 1
AGENT="python3 $(realpath ../acp/agent.py)"
printf '[preset scripted]\nprotocol = acp\ncommand = %s\n' "$AGENT" >>"$MAS_ROOT/mas.ini"
id=$("$MAS" new -q -t solo --agent scripted) || return 1

# The same prompt, alternately: to an agent that runs, over its own pipes, and by `mas ask`.
T=()
while read -r name median; do
    # shellcheck disable=SC2004 # lib.sh declares it associative
    T[$name]=$median
done < <(python3 ask.py $((ROUNDS * 10)) "$AGENT" "$MAS" ask "$id" solo)
"$MAS" stop -q "$id"
export MAS_ROOT=$FAST/none
[[ -n ${T[mas]-} && -n ${T[agent]-} ]] || return 1
at_most 'mas ask adds to the time of the agent, ms' \
    "$(calc "(${T[mas]} - ${T[agent]}) / 1000")" 5 "(mas ask $(ms mas), the agent $(ms agent))"
