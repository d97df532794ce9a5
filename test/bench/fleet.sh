# Other machines, in the bed of test/fleet: what mas adds to ssh, to sbatch, and to asking each of them.
# shellcheck shell=bash

TEAMS=100
FLEET=$(realpath ../fleet)
why=$(bash "$FLEET/bed.sh" can)
if [[ -n $why ]]; then
    skip 'other machines' "$why"
    return 0
fi
make -s -C ../.. -o all install BUILD="${MAS%/*}" DESTDIR="$FAST/dest" >/dev/null && mkdir -p "$FAST/dest/opt/bed" &&
    cp "$FAST/timer" "$FAST/dest/opt/bed/" || return 1
exec {bed_says}< <(exec bash "$FLEET/bed.sh" up "$$" "$FAST/dest" </dev/null)
bed_janitor=$!
read -r word BED <&"$bed_says"
if [[ $word != ready ]]; then
    echo "$word $BED" >&2
    return 1
fi

as() { nsenter -t "$BED" -m -n -u -i -p bash "$FLEET/keeper.sh" as "$@"; }

# measure_at MACHINE OPTION... NAME=COMMAND...: as measure() does, on a machine of the bed; other medians stay.
measure_at() {
    local times name median rest
    times=$(as "$1" /opt/bed/timer -n "$ROUNDS" "${@:2}") || return 1
    while read -r name median rest; do
        # shellcheck disable=SC2004 # lib.sh declares it associative
        T[$name]=$median
    done <<<"$times"
    : "$rest"
}

fleet_set_up() {
    local machine
    for machine in front n1 n2 n3; do
        # shellcheck disable=SC2016 # for the shell there
        as "$machine" sh -c 'mkdir -p .config/mas && cat >.config/mas/mas.ini' <<'END'
[preset scripted]
protocol = acp
command = /usr/bin/python3 -ES /opt/test/acp/agent.py --store /home/ann/store --log /dev/null
[preset touches]
command = /bin/sh /srv/shared/touches
END
    done
    as front sh -c 'cat >>.config/mas/mas.ini' <<'END'
[host n1]
via = ssh:n1
[host n2]
via = ssh:n2
[host n3]
via = ssh:n3
[host gpu]
via = slurm:teams
mas = /usr/local/bin/mas
store = /srv/shared/store
END
    # the same for a job and for a team, on a way that caches nothing; both wait for it alike
    as front sh -c 'mkdir /srv/shared/store && cat >/srv/shared/touches' <<'END'
: >/run/disk/is-up
exec sleep 1000
END
    as front sh -c 'cat >submits && chmod +x submits' <<'END'
#!/bin/bash
rm -f /run/disk/is-up
case $1 in
    team) mas new -q --host gpu -t solo --agent touches ;;
    job) sbatch -Q -o /dev/null --wrap ': >/run/disk/is-up' ;;
esac >/dev/null
exec {pause}<> <(:)
until [ -e /run/disk/is-up ]; do read -rt 0.005 -u "$pause" || :; done
END
    # the same list without mas at the front: all connections that it keeps, at once
    as front sh -c 'cat >lists && chmod +x lists' <<'END'
#!/bin/bash
for path in /tmp/mas-4242/*.0; do
    [ -S "$path" ] || continue # files that count who uses it have such names, too
    ssh -o BatchMode=yes -o ControlMaster=no -o ControlPath="$path" -T kept mas list --json >/dev/null &
done
wait
END
    as front sh -c 'cat >clears && chmod +x clears' <<'END'
#!/bin/bash
scancel -u ann
exec {pause}<> <(:)
while [ -n "$(squeue -h)" ]; do read -rt 0.1 -u "$pause" || :; done
END
}

# One connection that mas keeps, and the same ssh through it.
fleet_ask() {
    local path
    { as front mas --host n1 new -q -t solo --agent scripted --name far &&
        as front mas new -q -t solo --agent scripted --name near; } >/dev/null || return
    { as front mas wait near --for idle && as front mas --host n1 wait far --for idle; } >/dev/null || return
    { as front mas ask near solo SAY:warm && as front mas --host n1 ask far solo SAY:warm; } >/dev/null || return
    path=$(as front find /tmp/mas-4242 -type s) && [[ $path == /tmp/mas-4242/*.0 ]] || return
    SSH_TRUE="ssh -o BatchMode=yes -o ControlMaster=no -o ControlPath=$path -T n1 true"
    local ROUNDS=$((ROUNDS * 5))
    measure_at front far="mas --host n1 ask far solo SAY:x" near="mas ask near solo SAY:x" true="$SSH_TRUE" || return
    at_most 'mas --host ask / ssh true and the local ask' "$(calc "${T[far]} / (${T[true]} + ${T[near]})")" 1.1 \
        "($(ms far), $(ms true) + $(ms near))"
    as front mas rm -f -q near && as front mas --host n1 rm -f -q far
}

fleet_submit() {
    measure_at front -a /home/ann/clears team='/home/ann/submits team' job='/home/ann/submits job' || return
    at_most 'submit a team until it is up / sbatch of a touch' "$(calc "${T[team]} / ${T[job]}")" 1.3 \
        "($(ms team), $(ms job))"
}

fleet_list() {
    local machine i pids=()
    for machine in n1 n2 n3; do
        for ((i = 0; i < (TEAMS + 2) / 3; i++)); do as "$machine" mas new -q -t solo --agent shell || exit; done &
        pids+=($!)
    done >/dev/null
    wait "${pids[@]}" || return
    # shellcheck disable=SC2016 # for sed
    as front sed -i '/^\[host gpu\]/,$d' .config/mas/mas.ini
    [[ $(as front mas list --all-hosts --json | jq '[.sessions[] | select(.status == "active")] | length') -ge $TEAMS ]] ||
        return
    measure_at front all='mas list --all-hosts' true="$SSH_TRUE" bare=/home/ann/lists || return
    T[own]=0
    for machine in n1 n2 n3; do
        measure_at "$machine" one='mas list' || return
        ((T[one] <= T[own])) || T[own]=${T[one]}
    done
    at_most "list of $TEAMS teams on 3 machines / one's own and 2 ssh" \
        "$(calc "${T[all]} / (${T[own]} + 2 * ${T[true]})")" 1 "($(ms all), $(ms own) + 2 x $(ms true))"
    # Here the machines share the processors of one. So what mas adds is in the ratio to the same lists asked for
    # by ssh alone; and with one of them asked, each has a processor of its own as in a cluster.
    at_most "  the same / ssh alone to all of them at once" "$(calc "${T[all]} / ${T[bare]}")" 1 "($(ms bare))"
    # shellcheck disable=SC2016 # for sed
    as front sed -i '/^\[host n2\]/,$d' .config/mas/mas.ini
    measure_at front all='mas list --all-hosts' true="$SSH_TRUE" || return
    measure_at n1 own='mas list' || return
    at_most "  the same, one of the machines" "$(calc "${T[all]} / (${T[own]} + 2 * ${T[true]})")" 1 \
        "($(ms all), $(ms own) + 2 x $(ms true))"
}

T=()
fleet_set_up && fleet_ask && fleet_submit && fleet_list
rc=$?
kill "$bed_janitor"
wait "$bed_janitor" 2>/dev/null
exec {bed_says}<&-
return "$rc"
