# What the process in each pane costs: on the way of output and of keys, at rest, and when many are
# asked or told something at the same time.
# shellcheck shell=bash

TEXT_MB=64
YES_MB=16 # lines of one letter: a terminal takes long for them
TEAMS=20

# median NUMBER...
median() { printf '%s\n' "$@" | sort -n | awk '{ n[NR] = $1 } END { print (n[int((NR + 1) / 2)] + n[int(NR / 2) + 1]) / 2 }'; }

# await FILE...: waits until all are there, up to two minutes.
await() {
    local file end=$((SECONDS + 120))
    for file; do
        until [[ -s $file ]]; do
            ((SECONDS < end)) || return 1
            sleep 0.1
        done
    done
}

add_preset() { printf '[preset %s]\ncommand = %s\n' "$1" "$2" >>"$ROOT/mas.ini"; }

# pour_raw and pour_mas KIND: what it takes a pane to show all of that, in microseconds.
pour_raw() {
    rm -f "$FAST/poured"
    tmux -S "$SOCK" new-session -d -s out -x 200 -y 50 \
        "exec $FAST/pour $FAST/poured sh $FAST/print-$1" && await "$FAST/poured" || return 1
    tmux -S "$SOCK" kill-session -t =out:
    cat "$FAST/poured"
}
pour_mas() {
    local id poured
    id=$("$MAS" new -q -t solo --agent "$1") || return 1
    poured=$ROOT/sessions/$id/unit/solo/poured
    await "$poured" && cat "$poured" && "$MAS" rm -q -f "$id" >/dev/null
}

# rate KIND WHAT MB: the rate with a host, by that without one.
rate() {
    local round raw=() mas=() took
    for ((round = 0; round < (ROUNDS < 5 ? ROUNDS : 5); round++)); do
        if ((round % 2)); then
            took=$(pour_mas "$1") && mas+=("$took") && took=$(pour_raw "$1") && raw+=("$took")
        else
            took=$(pour_raw "$1") && raw+=("$took") && took=$(pour_mas "$1") && mas+=("$took")
        fi || {
            fail "the output of $2 got stuck"
            return
        }
    done
    T=([raw]=$(median "${raw[@]}") [mas]=$(median "${mas[@]}"))
    at_least "rate of $2, host / none" "$(calc "${T[raw]} / ${T[mas]}")" 0.85 \
        "($3 MB: mas $(ms mas), raw $(ms raw))"
}

export ROOT=$FAST/host MAS_ROOT=$FAST/host
make_root "$ROOT" || return 1
make_script print-yes <<<"yes | head -c $((YES_MB << 20))"
make_script print-cat <<<"exec cat $FAST/text"
# lines as programs print them, with colours
for ((i = 0; i < 2000; i++)); do
    printf '\033[32m%6d\033[m %s\r\n' "$i" "src/some/file.c: the words of a line, some longer than others"
    printf '%*s\r\n' $((i * 7 % 160)) "$i"
done >"$FAST/page"
while cat "$FAST/page"; do :; done 2>/dev/null | head -c $((TEXT_MB << 20)) >"$FAST/text"
add_preset yes "$FAST/pour poured sh $FAST/print-yes"
add_preset cat "$FAST/pour poured sh $FAST/print-cat"
add_preset some "$FAST/pour poured head -c $((4 << 20)) $FAST/text"
add_preset echo "$FAST/key -e"
add_preset rest 'sleep 1000000'
add_preset reader 'sh -c "exec cat >/dev/null"'

# ---- on the way

rate yes yes "$YES_MB" || return 1
rate cat 'a text' "$TEXT_MB" || return 1

ID=$("$MAS" new -q --agent some) || return 1
poured=0
for file in "$ROOT/sessions/$ID/unit"/*/; do await "${file}poured" && ((poured += 1)); done
at_least 'panes that take 4 MB each at the same time' "$poured" 13 ''
"$MAS" rm -q -f "$ID" >/dev/null

ID=$("$MAS" new -q -t solo --agent echo --no-start) || return 1
raw=() mas=()
keys=$((ROUNDS < 15 ? 200 : 2000))
for ((i = 0; i < 5; i++)); do
    raw+=("$("$FAST/key" -n "$keys" "$FAST/key" -e)") || return 1
    mas+=("$("$FAST/key" -n "$keys" "$MAS" host "$ID" solo)") || return 1
done
T=([raw]=$(median "${raw[@]}") [mas]=$(median "${mas[@]}"))
at_most 'a key comes back later by, ms' "$(calc "(${T[mas]} - ${T[raw]}) / 1000")" 0.2 \
    "(mas $(ms mas), raw $(ms raw))"

# ---- many

ID=$("$MAS" new -q --agent reader) || return 1
measure one="$MAS send -s $ID 11 hello" all="$MAS send -s $ID all hello" || return 1
at_most 'mas send to 13 agents - to one, ms' "$(calc "(${T[all]} - ${T[one]}) / 1000")" 5 \
    "($(ms all), $(ms one))"
"$MAS" rm -q -f "$ID" >/dev/null

for ((i = 0; i < TEAMS; i++)); do
    "$MAS" new -q --agent rest >/dev/null || return 1
done
measure status="$MAS status" list="$MAS list" || return 1
at_most "mas status of $TEAMS x 13 agents, ms" "$(calc "${T[status]} / 1000")" 10 ''
note "mas list of $TEAMS teams" "$(ms list)"

# Hosts and supervisors have the same words, and names of their own.
mapfile -t HOSTS < <(pgrep -f "^$MAS host ")
# used_by PID...: clock ticks
used_by() {
    local pid
    for pid; do cat "/proc/$pid/stat"; done | awk '{ n += $14 + $15 } END { print n }'
}
sleep 3 # by now each has found its agent idle
before=$(used_by "${HOSTS[@]}")
sleep 5
at_most "CPU of $((TEAMS * 13)) idle hosts, %" "$(calc "($(used_by "${HOSTS[@]}") - $before) * 100 / $(getconf CLK_TCK) / 5")" 0.5 \
    "(${#HOSTS[@]} processes)"

# memory_of NAME: private memory of the processes of that name, the largest
memory_of() {
    local pid name
    for pid in "${HOSTS[@]}"; do
        read -r name <"/proc/$pid/comm" || continue
        [[ $name == "$1" ]] || continue
        awk '/^Private_(Clean|Dirty):/ { n += $2 } END { print n / 1024 }' "/proc/$pid/smaps_rollup"
    done | sort -n | tail -n 1
}
at_most 'private memory of a host, MB' "$(memory_of mas)" 1 "(its supervisor $(calc "$(memory_of mas-supervisor)"))"
"$MAS" stop --all >/dev/null
export MAS_ROOT=$FAST/none
