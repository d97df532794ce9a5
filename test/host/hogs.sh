# What hogs.bats runs in a virtual machine: one agent of thirteen takes all it can get of something, while the
# other twelve are asked. Prints facts, a line each.
# shellcheck shell=sh
# shellcheck disable=SC2016,SC2046,SC2009 # the agents expand them; words are meant; busybox has no pgrep -c

group=/sys/fs/cgroup/mas
mkdir $group
for controller in memory cpu pids; do echo +$controller >/sys/fs/cgroup/cgroup.subtree_control; done
mas init root >/dev/null
cd root || exit
cat >>mas.ini <<X
[limits]
memory = 32M
cpus = 0.2
processes = 40
agent = 8M
cgroup = $group
[stop]
hangup = 2s
terminate = 2s
[preset trial]
command = agent.sh
protocol = acp
restart = never
X

await_tries=600
ms() { awk '{ print int($1 * 1000) }' /proc/uptime; }
state_is() { mas status "$id" | grep -q "^$1 .* $2 "; }
refusals() { sed -n 's/^max //p' "$group/mas-$id/11/pids.events"; }
refused() { [ "$(refusals)" -gt "$known" ]; }

# ask_others HOG: asks each agent but this one; prints the slowest answer's time in ms.
ask_others() {
    slowest=0
    for agent in $agents; do
        [ "$agent" != "$1" ] || continue
        start=$(ms)
        answer=$(mas ask --timeout 60s "$id" "$agent" "agent $agent")
        [ "$answer" = "it is agent $agent" ] || echo "no answer of $agent: $answer" >&2
        took=$(($(ms) - start))
        [ $took -le $slowest ] || slowest=$took
    done
    echo $slowest
}

id=$(mas new -q -t default --agent trial)
agents=$(mas status "$id" --json | tr '{' '\n' | sed -n 's/^"id":"\([0-9]*\)".*/\1/p')
echo "agents: $(echo "$agents" | wc -l)"
mas wait "$id" --for idle --timeout 120s
before=$(ask_others 00)
echo "asked before: $before ms"

# hog AGENT WHAT COMMAND...: lets the agent take it, waits until COMMAND succeeds, and asks the others.
hog() {
    agent_of_hog=$1 what=$2
    shift 2
    mas send "$id" "$agent_of_hog" "$what" >/dev/null
    await "$@"
    slowest=$(ask_others "$agent_of_hog")
    echo "asked beside $what: $slowest ms"
    [ "$slowest" -le $((4 * before + 2000)) ] && echo "the twelve answer beside $what"
    echo "it is: $(mas status "$id" | grep "^$agent_of_hog ")"
    rm -f "sessions/$id/unit/$agent_of_hog/big"
    mas restart -q "$id" "$agent_of_hog"
    mas wait "$id" "$agent_of_hog" --for idle --timeout 60s # also for the end of a pause, so that no answer has it
}
known=0
hog 11 'hog processes' refused
hog 12 'hog memory' state_is 12 crashed
hog 13 'hog disk big' state_is 13 paused
hog 21 'hog descriptors' eval '[ $(cut -f 1 /proc/sys/fs/file-nr) -gt 5000 ]'
echo "files: $(cat /proc/sys/fs/file-nr)"
known=$(refusals)
mas send "$id" 11 'hog processes' >/dev/null
await refused
start=$(ms)
mas stop "$id" | tail -n 3
took=$(($(ms) - start))
echo "stop took $took ms"
[ $took -le $((4000 + 2000 + 4 * before)) ] && echo "stopped within its times"
echo "left: $(ps | grep -c '[h]og ') hogs, $(find $group -name 'mas-*' | wc -l) groups"
