# mas top in front of 100 sessions of 13 agents, whose hosts top.py plays.
# shellcheck shell=bash

ROOT=$FAST/top
make_root "$ROOT" || return 1
for ((i = 0; i < 100; i++)); do
    "$MAS" --root "$ROOT" new -q --no-start >/dev/null || return 1
done
# they shall count as running, though only their sockets are there
sed -i 's/^STATUS=stopped/STATUS=active/' "$ROOT"/sessions/*/.session
rm "$ROOT/sessions/.sessions.index"
"$MAS" --root "$ROOT" list -q >/dev/null || return 1

# show OPTION...: the figures of top.py go to T.
show() {
    local name value
    T=()
    while read -r name value; do
        T["$name"]=$value
    done < <(python3 -ES top.py "$MAS" "$ROOT" "$@")
    ((${#T[@]} == 5))
}

if show; then
    at_most 'mas top, 1300 agents: first screen (ms)' "${T[first]}" 60 ''
    at_most 'all states (ms)' "${T[live]}" 500 ''
    at_most 'a change (ms)' "${T[change]}" 100 ''
    at_most 'idle: % of a core' "${T[cpu]}" 1 ''
    at_most 'private memory (MB)' "${T[memory]}" 24 ''
else
    fail 'mas top in front of 1300 agents'
fi
if show --busy 50; then
    at_most '50 agents that speak 20 times a second: % of a core' "${T[cpu]}" 10 ''
    at_most 'a change meanwhile (ms)' "${T[change]}" 100 ''
else
    fail 'mas top in front of 50 busy agents'
fi
