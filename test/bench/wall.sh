# What a wall costs: the launch of agents behind one, against bubblewrap alone with the same arguments;
# and programs inside, against the same outside.
# shellcheck shell=bash

if ! bwrap --ro-bind / / --unshare-pid --proc /proc --dev /dev true 2>/dev/null; then
    skip 'launch behind a wall' 'bubblewrap is missing, or does not work here'
    return 0
fi

wall_team=13
export ROOT=$FAST/wall MAS_ROOT=$FAST/wall
WALL=$FAST/wall-shared
mkdir "$WALL" && mkfifo "$WALL/ready" && make_root "$ROOT" || return 1

# wall_preset NAME COMMAND KEY=VALUE...
wall_preset() { printf '%s\n' "[preset $1]" "command = $2" "${@:3}" >>"$ROOT/mas.ini"; }

# The agents say that they are there.
wall_says="/bin/sh -c \"echo here >$WALL/ready; exec sleep 1000000\""
wall_preset walled "$wall_says" 'wall.level = require' "wall.write = $WALL"
wall_preset plain "$wall_says"

# What mas gives bubblewrap, as words: one start runs a program in its place that notes that. What mas
# passes as a descriptor is named by its path.
mkdir "$FAST/note" "$FAST/wall-home" "$FAST/wall-tmp" || return 1
cat >"$FAST/note/bwrap" <<END
#!/bin/bash
[ "\$1" = --args ] || exec $(command -v bwrap) "\$@"
mapfile -d '' -t words <&3
for ((i = 0; i < \${#words[@]}; i++)); do
    case \${words[i]} in
        --bind-fd | --ro-bind-fd)
            from=\$(readlink "/proc/\$\$/fd/\${words[i + 1]}")
            case \$from in # what comes and goes with a host: its socket, and the home of its agent
                */run/*) from=$WALL ;;
                */.home) from=$FAST/wall-home ;;
                */.tmp) from=$FAST/wall-tmp ;;
            esac
            echo "\${words[i]%-fd} \$from"
            ((i += 1)) ;;
        --file) ((i += 2)) ;;
        *) echo "\${words[i]}" ;;
    esac
done | tr '\n' ' ' >"$FAST/bwrap-words.new"
mv "$FAST/bwrap-words.new" "$FAST/bwrap-words"
END
chmod +x "$FAST/note/bwrap"
wall_id=$(PATH=$FAST/note:$PATH "$MAS" new -q -t solo --agent walled) || return 1
for ((i = 0; i < 100; i++)); do
    [[ ! -s $FAST/bwrap-words ]] || break
    sleep 0.1
done
"$MAS" stop -q "$wall_id" # it stays: its directories are bound
[[ -s $FAST/bwrap-words ]] || return 1
wall_preset bare "bwrap $(<"$FAST/bwrap-words") -- $wall_says"

# wall-start SESSION AGENTS: until all agents are there.
make_script wall-start <<END
exec 3<>"$WALL/ready"
"$MAS" start -q "\$1" || exit
i=0
while [ "\$i" -lt "\$2" ]; do read -r _ <&3 && i=\$((i + 1)); done
END
make_script wall-stop <<END
for id in \$(cat "$FAST/wall-ids"); do "$MAS" stop -q "\$id"; done
END

# wall_cpu AGENTS BARE WALLED: the same in processor time, of all processes together, which depends less
# on what else the machine does. Prints nothing where no cgroup can tell it.
wall_cpu() {
    local own=/sys/fs/cgroup/cpuacct group usage id i before server
    local -A sum=()
    [[ ! -e /sys/fs/cgroup/cgroup.controllers ]] || own=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
    group=$own/mas-bench-$$
    mkdir "$group" 2>/dev/null || return 0
    usage=$group/cpuacct.usage
    [[ -e $usage ]] || usage=$group/cpu.stat
    server=$(tmux -S "$SOCK" display-message -p '#{pid}')
    # what they start is in it, too
    if echo "$$" >"$group/cgroup.procs" && echo "$server" >"$group/cgroup.procs"; then
        for ((i = 0; i < ROUNDS; i++)); do
            for id in "$2" "$3"; do
                "$FAST/wall-stop"
                before=$(wall_usage "$usage")
                "$FAST/wall-start" "$id" "$1" || break 2
                sum[$id]=$((${sum[$id]-0} + $(wall_usage "$usage") - before))
            done
        done
        at_most '  the same, processor time' "$(calc "${sum[$3]} / ${sum[$2]}")" 1.3 \
            "(mas $(calc "${sum[$3]} / $ROUNDS / 1000") ms, bwrap $(calc "${sum[$2]} / $ROUNDS / 1000") ms)"
    fi
    "$FAST/wall-stop"
    echo "$$" >"$own/cgroup.procs"
    echo "$server" >"$own/cgroup.procs"
    for ((i = 0; i < 50; i++)); do
        rmdir "$group" 2>/dev/null && break
        sleep 0.1
    done
}
# wall_usage FILE: microseconds
wall_usage() {
    case $1 in
        *cpu.stat) awk '$1 == "usage_usec" { print $2 }' "$1" ;;
        *) echo $(($(<"$1") / 1000)) ;;
    esac
}

# wall_launch TEMPLATE AGENTS WHAT
wall_launch() {
    local side
    declare -A ids=()
    for side in plain bare walled; do
        ids[$side]=$("$MAS" new -q --no-start -t "$1" --agent "$side") || return 1
    done
    printf '%s\n' "${ids[@]}" >"$FAST/wall-ids"
    for side in plain bare walled; do
        timeout 60 "$FAST/wall-start" "${ids[$side]}" "$2" && continue
        echo "run.sh: the agents of '$side' did not start" >&2
        return 1
    done
    measure -b "$FAST/wall-stop" plain="$FAST/wall-start ${ids[plain]} $2" \
        bare="$FAST/wall-start ${ids[bare]} $2" walled="$FAST/wall-start ${ids[walled]} $2" || return 1
    at_most "start of $3, all walls / bare bwrap" "$(calc "${T[walled]} / ${T[bare]}")" 1.3 \
        "(mas $(ms walled), bwrap $(ms bare), neither $(ms plain); best of $ROUNDS: $(calc "${BEST[walled]} / ${BEST[bare]}"))"
    wall_cpu "$2" "${ids[bare]}" "${ids[walled]}"
    "$FAST/wall-stop"
}
wall_launch solo 1 'one agent' || return 1
wall_launch default "$wall_team" "$wall_team agents" || return 1

# Programs inside and outside: agents that measure, one after the other, so that a drift meets both.
wall_repo=$WALL/repo
git init -q "$wall_repo" || return 1
for ((i = 0; i < 300; i++)); do
    mkdir -p "$wall_repo/d$((i % 20))" && echo "$i" >"$wall_repo/d$((i % 20))/$i" || return 1
done
for ((i = 0; i < 400; i++)); do
    printf 'int f%d(int x) { for (int i = 0; i < x; i++) x ^= i * %d; return x; }\n' "$i" "$i"
done >"$WALL/source.c"
git -C "$wall_repo" add . && git -C "$wall_repo" -c user.name=b -c user.email=b@b commit -qm one || return 1
cp "$FAST/timer" "$WALL/"
cat >"$WALL/measure" <<END
$WALL/timer -n $ROUNDS status="git -C $wall_repo status" compile="cc -O1 -c -o $WALL/o $WALL/source.c" >$WALL/times
echo here >$WALL/ready
exec sleep 1000000
END
wall_preset inside "sh $WALL/measure" 'wall.level = require' "wall.write = $WALL"
wall_preset outside "sh $WALL/measure"
declare -A wall_best=()
wall_ids=()
for side in inside outside; do
    wall_ids+=("$("$MAS" new -q --no-start -t solo --agent "$side")") || return 1
done
printf '%s\n' "${wall_ids[@]}" >"$FAST/wall-ids"
for i in 0 1 1 0 0 1; do
    side=inside
    ((i)) && side=outside
    "$FAST/wall-start" "${wall_ids[i]}" 1 && "$FAST/wall-stop" || return 1
    while read -r name _ median _; do # the best: others work here, too
        key=$side-$name
        [[ -n ${wall_best[$key]-} && ${wall_best[$key]%.*} -le ${median%.*} ]] || wall_best[$key]=$median
    done <"$WALL/times"
done
for name in status compile; do
    T=([inside]=${wall_best[inside-$name]} [outside]=${wall_best[outside-$name]})
    what='git status'
    [[ $name = status ]] || what='a compile'
    at_most "$what, inside / outside" "$(calc "${T[inside]} / ${T[outside]}")" 1.05 \
        "(inside $(ms inside), outside $(ms outside))"
done
