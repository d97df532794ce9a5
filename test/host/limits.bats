#!/usr/bin/env bats
# Limits that a cgroup holds, in a virtual machine: on many machines a test cannot have such a group.

load ../helper
load lib
load vm

@test "an agent that uses too much memory ends alone and says so, and a group holds processes and CPUs" {
    need_vm
    script limits <<'END'
group=/sys/fs/cgroup/mas
mkdir $group
for controller in memory cpu pids; do echo +$controller >/sys/fs/cgroup/cgroup.subtree_control; done
mas init root >/dev/null
cd root || exit
cat >>mas.ini <<X
[limits]
memory = 48M
cpus = 0.5
processes = 30
cgroup = $group
[preset trial]
command = sh /tmp/agent
X
cat >/tmp/agent <<X
sleep 1000 &
while read -r line; do eval "\$line"; done
X
id=$(mas new -q -t pair --agent trial)
mas wait $id --for idle
mas show $id | grep walls
for file in memory.max memory.swap.max memory.oom.group cpu.max pids.max; do
    echo "$file is $(cat $group/mas-$id/reviewer/$file 2>/dev/null)"
done
mas set -q $id reviewer.limits.processes=31
mas set -q $id limits.cpus=0.25
echo "set: $(cat $group/mas-$id/reviewer/pids.max) $(cat $group/mas-$id/lead/pids.max) $(cat $group/mas-$id/lead/cpu.max)"
mas set -q $id reviewer.limits.processes=default
mas send $id lead 'tail /dev/zero' >/dev/null
mas wait $id lead --for exit
mas status $id | sed 's/^/status: /'
cat sessions/$id/logs/session.log
echo "left of it: $(cat $group/mas-$id/lead/*/cgroup.procs 2>/dev/null | wc -l)"
# a shell ends when it may not fork: the one in parentheses, not the agent
mas send $id reviewer '(i=0; while [ $i -lt 100 ]; do sleep 1001 & i=$((i + 1)); done)' >/dev/null
sleepers() { ps | grep -c '[s]leep 100[01]'; }
i=0
until grep -q '^max [1-9]' $group/mas-$id/reviewer/pids.events && [ "$(sleepers)" -ge 25 ] || [ $i -eq 300 ]; do
    sleep 0.1
    i=$((i + 1))
done
echo "reviewer has $(cat $group/mas-$id/reviewer/pids.current) tasks, and $(sleepers) sleep"
mas wait $id reviewer --for idle
mas status $id | sed 's/^/after it: /'
mas stop $id
echo "after the stop: $(sleepers) processes, $(ls -d $group/mas-* 2>/dev/null | wc -l) groups"
END
    in_vm "$T/limits" 300 >"$T/said"
    cat "$T/said"
    said() { grep -q -- "$1" "$T/said"; }
    said 'walls .*off, resources: cgroup'
    said '^memory.max is 50331648$'
    said '^memory.swap.max is \(0\|\)$'
    said '^memory.oom.group is 1$'
    said '^cpu.max is 50000 100000$'
    said '^pids.max is 30$'
    said '^set: 31 30 25000 100000$'
    said '^status: lead .*crashed .*signal 9 (Killed), it used more than its 48M of memory (limits.memory)$'
    said '^status: reviewer .*idle'
    said 'agent=lead ended: it used more than its 48M of memory (limits.memory)$'
    said '^left of it: 0$'
    said '^reviewer has \(29\|30\) tasks, and 2[5-9] sleep'
    said '^after it: reviewer .*idle'
    said '^after the stop: 0 processes, 0 groups$'
    said '^the machine ends'
}
