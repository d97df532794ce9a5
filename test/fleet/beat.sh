#!/bin/bash
# An agent on a terminal that only a SIGKILL ends. It says twenty times a second that it lives and where, in a file
# that it reaches on another way than /srv/shared, so that its lines are in the order in which they were written on
# all machines.
trap '' HUP INT TERM
mkdir -p /run/disk/beats
exec >>"/run/disk/beats/$MAS_SESSION_ID" {pause}<> <(:)
machine=$(hostname)
while :; do
    echo "$machine $$"
    read -rt 0.05 -u "$pause"
done
