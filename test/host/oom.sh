# What oom.bats runs in a virtual machine with systemd: memory runs out there, and the kernel chooses. Prints facts, a
# line each.
# shellcheck shell=sh

export XDG_RUNTIME_DIR=/run/user/0
await_tries=900
systemctl start user@0.service
systemctl --version | head -n 1
mas init root >/dev/null
cd root || exit
cat >>mas.ini <<X
[preset trial]
command = agent.sh
protocol = acp
restart = never
X
team=$(mas new -q -t pair --agent trial)
other=$(mas new -q -t solo --agent trial)
tmux new-session -d -s own cat
server=$(tmux display-message -p '#{pid}')
scope=$(sed -n 's/^0::.*\///p' "/proc/$server/cgroup")
echo "the policy is $(systemctl --user show -P OOMPolicy "$scope")"

state_is() { mas status "$team" | grep -q "^$1 .* $2 "; }
ended() { ! kill -0 "$1" 2>/dev/null; }
answer() { mas ask --timeout 120s "$1" "$2" hello; }

# An agent takes all memory of the machine, first by a program that it has started, then by itself.
mas wait "$team" --for idle --timeout 120s
mas ask --timeout 120s "$team" reviewer 'hog memory'
mas send "$team" reviewer 'exec hog memory' >/dev/null
await state_is reviewer crashed
echo "$(sed -n 's/^oom_kill //p' "/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$server/cgroup")/memory.events") killed in the scope"
echo "reviewer: $(mas status "$team" | grep '^reviewer ')"
ended "$server" || echo "the server goes on, its scope is $(systemctl --user is-active "$scope")"
echo "lead: $(answer "$team" lead)"
echo "other: $(answer "$other" solo)"
mas restart -q "$team" reviewer
echo "reviewer: $(answer "$team" reviewer)"

# Without the policy:
systemd-run --user --scope --quiet --collect tmux -L plain -f /dev/null new-session -d cat
plain=$(tmux -L plain display-message -p '#{pid}')
tmux -L plain new-session -d 'echo 1000 >/proc/self/oom_score_adj; exec hog memory'
await ended "$plain" && echo 'a server in a plain scope ends'

# The kernel ends one process after the other, as if memory ran out each time; the test says in which
# order it has to be. Without its user manager systemd ends the server's scope.
killed() {
    victim=$(dmesg | sed -n 's/.*Killed process \([0-9]* (.*)\) total-vm.*/\1/p' | tr -d '()')
    [ -n "$victim" ]
}
order=
until ended "$server"; do
    dmesg -c >/dev/null
    echo f >/proc/sysrq-trigger
    await killed || break
    await ended "${victim%% *}" || break
    order="$order ${victim#* }"
    case $order in *' systemd' | *' tmux: server') break ;; esac
done
echo "order:$order"
