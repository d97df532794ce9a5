#!/bin/sh
# For cron: brings back the teams that a crash or a reboot took down, and tells which sessions need a
# person. Prints nothing when all is well, so cron sends no mail.
#
#     keep-running.sh [ROOT]
#
#     */10 * * * *  /home/ann/mas/scripts/examples/keep-running.sh /home/ann/teams
#
# cron's environment is poor. The agents get this PATH, and what else the crontab sets; ROOT is the
# directory with mas.ini, where it is not the one that `mas config` shows. The exit code is that of
# mas, or 1 where sessions are broken.
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
