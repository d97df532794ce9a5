#!/usr/bin/env bats
# Machines become hosts, and are looked at: without mas, with another one, that refuse, that are full, that are cut off.
# shellcheck disable=SC2016 # for the shells there

load ../helper
load lib

setup_file() {
    bed_up
    if [ -n "$BED" ]; then as front mas init -q; fi
}

setup_last() {
    VERSION=$(as front mas version | cut -d' ' -f2)
    INI=.local/share/mas/mas.ini
    as front sed -i '/^\[host/,$d' "$INI"
    bare n1
}
teardown_more() { if [ -n "$BED" ]; then window_close; fi; }

# bare MACHINE: it has no mas, nor anything of ann's of it.
bare() {
    on "$1" sh -c '[ ! -e /usr/local/bin/mas ] || mv /usr/local/bin/mas /usr/local/bin/.mas'
    as "$1" rm -rf .local
}
# fully: mas is on n1, and a host on front. nowhere: it is no host.
fully() {
    [ "$(as n1 .local/bin/mas version | cut -d' ' -f2)" = "$VERSION" ]
    [ "$(as n1 ls .local/lib/mas)" = "$VERSION" ]
    [ "$(as front sed -n '/^\[host/,$p' "$INI")" = $'[host n1]\nvia = ssh:n1\nmas = /home/ann/.local/bin/mas' ]
    front --host n1 list
}
nowhere() { run ! as front grep -q '^\[host' "$INI"; }
# left: what the home on n1 has of mas.
left() { as n1 find .local/lib/mas .local/bin 2>/dev/null || :; }

@test "a machine without mas becomes a host, on which teams run" {
    local id
    front_mas remote add --yes n1 n1
    echo "$output $stderr"
    [ "$status" -eq 0 ]
    fully
    id=$(front --host n1 new -q -t solo --agent shell --name shop)
    [ "$(as n1 .local/bin/mas list -q)" = "$id" ]
    front_mas remote check n1
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *reached*ok*'over ssh'* ]]
    [[ $output == *"mas "*ok*"$VERSION"* ]]
    front --host n1 rm -f -q shop
    # what runs there can be installed from there: it is whole
    as n1 sh -c '.local/bin/mas --root /home/ann/.local/share/mas remote add --dry-run n2 n2'
}

@test "a person sees the key of a machine and accepts it, and says yes to the installation" {
    disconnect
    on front sed -i '/^n1,/d' /etc/ssh/ssh_known_hosts
    front_mas remote add --yes n1 n1
    [ "$status" -eq 12 ]
    [[ $stderr == *'Host key verification failed: it is not known here'*'accept it once: ssh n1 true' ]]
    nowhere
    in_window 'mas remote add n1 n1'
    eventually window_shows 'ED25519 key fingerprint is SHA256:'
    keys no Enter
    eventually window_shows 'ended 12'
    window_close
    [ -z "$(left)" ]
    in_window 'mas remote add n1 n1'
    eventually window_shows 'continue connecting'
    keys yes Enter
    eventually window_shows 'May mas .* be installed there, in /home/ann/.local'
    window_shows 'scp mas_.*deb n1: && ssh -t n1 sudo apt-get install'
    keys Enter
    eventually window_shows 'ended 4'
    window_close
    [ -z "$(left)" ]
    nowhere
    in_window 'mas remote add n1 n1'
    eventually window_shows 'be installed there'
    keys y Enter
    eventually window_shows 'ended 0'
    fully
}

@test "a machine with another version, one that refuses, and one without power" {
    on n2 cp /usr/local/bin/mas /usr/local/bin/mas.right
    other_version n2
    front_mas remote add --mas /usr/local/bin/mas n2 n2
    echo "$stderr"
    [ "$status" -eq 4 ]
    [[ $stderr == *"'/usr/local/bin/mas' there is mas ${VERSION%?}z, and here is $VERSION"* ]]
    front_mas remote add n2 n2
    [ "$status" -eq 4 ]
    [[ $output == *"mas ${VERSION%?}z is there, '/usr/local/bin/mas'; here is $VERSION"* ]]
    # beside it
    front_mas remote add --yes n2 n2
    [ "$status" -eq 0 ]
    front_mas remote check n2
    [ "$status" -eq 0 ]
    as front sed -i 's|^mas = .*|mas = /usr/local/bin/mas|' "$INI"
    front_mas remote check n2
    [ "$status" -eq 1 ]
    [[ $output == *wrong*"${VERSION%?}z, here is $VERSION"* ]]
    as front sed -i '/^\[host/,$d' "$INI"
    wrong_key n3
    disconnect
    front_mas remote add --yes n3 n3
    right_key n3
    [ "$status" -eq 12 ]
    [[ $stderr == *"cannot reach host 'n3': "*'Permission denied'* ]]
    power_off n3
    front_mas remote add --yes n3 n3
    power_on n3
    [ "$status" -eq 12 ]
    nowhere
}

@test "a machine without room gets nothing, whether it says so first or not" {
    disk_full n1
    front_mas remote add --yes n1 n1
    disk_free n1
    [ "$status" -eq 4 ]
    [[ $stderr == *'it needs '*" and '/home/ann' has "*' free'* ]]
    [ -z "$(left)" ]
    # a disk that claims to have room
    on n1 sh -c 'printf "#!/bin/sh\necho x; echo x 9 9 99999999 x /\n" >/usr/local/bin/df; chmod +x /usr/local/bin/df'
    disk_full n1
    front_mas remote add --yes n1 n1
    disk_free n1
    on n1 rm /usr/local/bin/df
    echo "$stderr"
    [ "$status" -eq 4 ]
    [[ $stderr == *'No space left'*'nothing of it was left there' ]]
    [ -z "$(left)" ]
    nowhere
}

@test "a library that is missing there is named, and nothing is left" {
    on n1 sh -c 'cd /usr/lib/*-linux-gnu && mkdir away && mv libmicrohttpd.so.* libsqlite3.so.* away && ldconfig'
    front_mas remote add --yes n1 n1
    on n1 sh -c 'cd /usr/lib/*-linux-gnu && mv away/* . && ldconfig'
    echo "$stderr"
    [ "$status" -eq 4 ]
    [[ $stderr == *'shared libraries are missing there: libmicrohttpd.so.'*' libsqlite3.so.0'* ]]
    [ -z "$(left)" ]
    nowhere
}

# stops_at PROGRAM: on n1 this program waits, once it is called by the installation. goes_on: no more.
stops_at() {
    on n1 sh -c 'printf "%s\n" "#!/bin/sh" "case \$* in *.local*|-) echo \$0 >/run/lock/at; read -r x </run/lock/go ;; esac" \
        "exec /usr/bin/$1 \"\$@\"" >/usr/local/bin/$1; chmod +x /usr/local/bin/$1; mkfifo -m 666 /run/lock/go; rm -f /run/lock/at' sh "$1"
}
goes_on() { on n1 sh -c 'rm -f "/usr/local/bin/$1" /run/lock/at; [ ! -p /run/lock/go ] || { timeout 1 sh -c ": >/run/lock/go"; rm -f /run/lock/go; }' sh "$1"; }

@test "killed here, or cut there, at each step: nothing is half, and the next time does it" {
    local step adder
    for step in tar sync mv ln; do
        stops_at "$step"
        front remote add --yes n1 n1 >"$T/out" 2>&1 &
        adder=$!
        eventually on n1 test -e /run/lock/at
        on front pkill -KILL -u ann -f 'mas remote add'
        wait "$adder" || :
        nowhere
        goes_on "$step"
        eventually eval '! as n1 pgrep -u ann -f "[.]local/lib/mas" >/dev/null'
        front remote add --yes n1 n1 >"$T/out" 2>&1
        fully
        as front sed -i '/^\[host/,$d' "$INI"
        bare n1
        # and without power
        stops_at "$step"
        front remote add --yes n1 n1 >"$T/out" 2>&1 &
        adder=$!
        eventually on n1 test -e /run/lock/at
        power_off n1
        # ssh notices after a while
        on front pkill -KILL -u ann -x ssh || :
        wait "$adder" && false
        nowhere
        power_on n1
        goes_on "$step"
        front remote add --yes n1 n1 >"$T/out" 2>&1
        fully
        as front sed -i '/^\[host/,$d' "$INI"
        bare n1
    done
}
