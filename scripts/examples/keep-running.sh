#!/bin/sh
# For cron: starts the teams again that a crash or a reboot ended, and reports sessions that need a
# person. Prints nothing if all is well, so that cron sends no mail.
#
#     keep-running.sh [ROOT]
#
#     */10 * * * *  /home/ann/mas/scripts/examples/keep-running.sh /home/ann/teams
#
# cron sets few variables. The agents get this PATH and the variables that the crontab sets. ROOT is
# the directory with mas.ini, if it is not the one that `mas config` shows. The exit code is that of
# mas, or 1 if sessions are broken.
set -eu

PATH=${PATH:-/usr/bin:/bin}:/usr/local/bin:$HOME/.local/bin
export PATH
if [ $# -gt 0 ]; then export MAS_ROOT="$1"; fi

rc=0
mas start --crashed -q || rc=$?
broken=$(mas list --error -q)
if [ -n "$broken" ]; then
    mas list --error
    mas doctor || :
    if [ "$rc" -eq 0 ]; then rc=1; fi
fi
exit "$rc"
