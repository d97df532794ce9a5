# What timer.bats runs in a virtual machine with systemd: the user's timer of `mas every`. Prints facts, a line each.
# shellcheck shell=sh

export XDG_RUNTIME_DIR=/run/user/0
await_tries=1800
systemctl start user@0.service
mas init root >/dev/null
cd root || exit
mas new -q -n fix -t solo
mas every -q --start minutely fix solo 'echo came >>/tmp/came'
mas stop -q fix
mas every | tail -n 1
echo "the timer is $(systemctl --user is-active 'mas-tick-*.timer')"
await [ -s /tmp/came ]
mas every | sed -n 2p
# the tick that has started the team has ended
ticks() { [ "$(systemctl --user is-active "$(basename /root/.config/systemd/user/mas-tick-*.service)")" != inactive ]; }
while ticks; do sleep 0.1; done
mas list | tail -n 1
mas every --off 1
echo "left: $(ls /root/.config/systemd/user) $(systemctl --user list-timers --no-legend 'mas-*')"
