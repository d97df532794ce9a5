# Shared by the tests of the fleet: a bed of four machines for each file, and what can befall them; loaded after
# ../helper. README.md says what the machines are.
# shellcheck shell=bash
#
#   on MACHINE COMMAND...       runs it there as root; `as` as the user ann, in her home. Streams and exit code pass.
#   power_off, power_on         every process of the machine dies at once, /run and /tmp are lost, the disk stays
#   link_down, link_up          its cable
#   shared_hang, shared_go      /srv/shared of this machine alone hangs, as a dead server's; goes on
#   shared_readonly, shared_writable
#   disk_full, disk_free        the disk with the machine's root and homes
#   record_args                 the arguments of each program that begins from now on: /run/disk/args
#   clock_off MACHINE SECONDS   its wall clock, also under programs that run; 0 sets it right
#   wrong_key, right_key        it takes no key of ann any more
#   strange_host_key            it has another host key than the others know
#   other_version               it has another version of mas
#   slurm_set KEY=VALUE...      a line of slurm.conf
#
# Each takes the MACHINE (front, n1, n2, n3) first, and returns when it is so.

# shellcheck disable=SC2034 # for the tests
FLEET=$BATS_TEST_DIRNAME

# installed: prints where mas is installed for the machines: once for all files of a run.
installed() {
    local dir=${RUN_DIR:-$BATS_RUN_TMPDIR}/fleet mas=${MAS:-$BATS_TEST_DIRNAME/../../build/mas}
    local build=${mas%/*}
    mkdir -p "$dir"
    (
        flock 9
        if [ ! -e "$dir.done" ]; then
            # -o all: what there is, as it was built
            make -s -C "$BATS_TEST_DIRNAME/../.." -o all install BUILD="$build" DESTDIR="$dir" >&2 &&
                mkdir -p "$dir/opt/bed" && cp "$build"/test/fleet/*.so "$dir/opt/bed/" && : >"$dir.done"
        fi
    ) 9>"$dir.lock" && echo "$dir"
}

# bed_up: in setup_file. Sets BED, the process that holds the bed, or BED_SKIP, why there is none.
bed_up() {
    local why dir word start=${EPOCHREALTIME/[.,]/}
    export BED='' BED_SKIP='' BED_MS='' BED_JANITOR=''
    why=$(bash "$BATS_TEST_DIRNAME/bed.sh" can)
    if [ -n "$why" ]; then
        BED_SKIP=$why
        return
    fi
    dir=$(installed) || return
    start=${EPOCHREALTIME/[.,]/}
    # its home is not the job's, so that what ends the job leaves it to clean up by itself
    exec 7< <(HOME=/ exec bash "$BATS_TEST_DIRNAME/bed.sh" up "$$" "$dir" 3>&- </dev/null)
    BED_JANITOR=$!
    read -r word BED <&7
    exec 7<&-
    if [ "$word" != ready ]; then
        echo "$word $BED" >&2
        return 1
    fi
    BED_MS=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
}

bed_down() {
    [ -n "$BED_JANITOR" ] || return 0
    kill -TERM "$BED_JANITOR"
    wait "$BED_JANITOR" || :
}

setup_file() { bed_up; }
teardown_file() { bed_down; }

# Skips the test where there is no bed.
need_bed() {
    if [ -n "$BED_SKIP" ]; then skip "$BED_SKIP"; fi
    command -v nsenter >/dev/null
}

setup_more() {
    need_bed
    if declare -F setup_last >/dev/null; then setup_last; fi
}

# keeper WORD...: does something to the bed; see keeper.sh.
keeper() { nsenter -t "$BED" -m -n -u -i -p bash "$BATS_TEST_DIRNAME/keeper.sh" "$@"; }

on() { keeper on "$@"; }
as() { keeper as "$@"; }
power_off() { keeper power-off "$1"; }
power_on() { keeper power-on "$1"; }
link_down() { keeper link "$1" down; }
link_up() { keeper link "$1" up; }
shared_hang() { keeper shared-signal "$1" STOP; }
shared_go() { keeper shared-signal "$1" CONT; }
shared_readonly() { keeper shared-remount "$1" ro; }
shared_writable() { keeper shared-remount "$1" rw; }
disk_full() { keeper disk "$1" full; }
disk_free() { keeper disk "$1" free; }
slurm_set() { keeper slurm-set "$@"; }

wrong_key() { on "$1" mv /home/ann/.ssh/authorized_keys /home/ann/.ssh/no_keys; }
right_key() { on "$1" mv /home/ann/.ssh/no_keys /home/ann/.ssh/authorized_keys; }

strange_host_key() {
    on "$1" sh -c 'rm /etc/ssh/host_key && ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/host_key &&
        pkill -HUP -o -x sshd'
    # it reads its key when it starts anew; until then there is no banner
    # shellcheck disable=SC2016 # for the shell there
    eventually on "$1" sh -c 'ssh-keyscan -t ed25519 localhost 2>/dev/null | grep -qF "$(cut -d" " -f2 /etc/ssh/host_key.pub)"'
}

clock_off() {
    on "$1" /usr/bin/python3 -c 'import struct, sys
open("/run/clock", "r+b").write(struct.pack("q", int(sys.argv[1])))' "$2"
    on "$1" sh -c 'echo /opt/bed/clock.so >/etc/ld.so.preload'
}

record_args() {
    as "$1" sh -c ': >>/run/disk/args && chmod 666 /run/disk/args'
    on "$1" sh -c 'echo /opt/bed/args.so >>/etc/ld.so.preload'
}

# The same program, which says another version: the linker may have it only as the end of a longer text.
other_version() {
    local version
    version=$(as "$1" mas version)
    version=${version#mas }
    # shellcheck disable=SC2016 # for the shell there
    on "$1" sh -c 'find /usr/local -name "mas*" -type f -perm -1 -exec sed -i "s/$1\\x00/$2\\x00/g" {} +' \
        sh "${version//./\\.}" "${version%?}z"
}

# queue: prints the jobs of the bed, one per line: id, state, node or reason.
queue() { as front squeue -h -o '%i %T %R'; }

# ---- mas on the machines

# A preset `scripted` on each machine, agent.py, which keeps its sessions on the machine's disk; and on front, the other
# machines as hosts of mas: n1 to n3 over ssh.
fleet_config() {
    local machine hosts=''
    for machine in n1 n2 n3; do hosts+="[host $machine]"$'\n'"via = ssh:$machine"$'\n'; done
    for machine in front n1 n2 n3; do
        # shellcheck disable=SC2016 # for the shell there
        as "$machine" sh -c 'mkdir -p .config/mas && printf "%s\n" "$@" >.config/mas/mas.ini' sh \
            '[preset scripted]' 'protocol = acp' \
            'command = /usr/bin/python3 -ES /opt/test/acp/agent.py --store /home/ann/store --log /home/ann/trace' \
            '[preset shell]' 'idle = 100ms' "$([ "$machine" != front ] || printf '%s' "$hosts")"
    done
}

# fleet_slurm [LINE...]: on front, the partition as the host `gpu` of mas, with these lines too.
fleet_slurm() {
    # shellcheck disable=SC2016 # for the shell there
    as front sh -c 'printf "%s\n" "$@" >>.config/mas/mas.ini' sh '[host gpu]' 'via = slurm:teams' \
        'mas = /usr/local/bin/mas' 'store = /srv/shared/store' "$@"
}

# front VERB...: runs mas on front as ann.
front() { as front mas "$@"; }

# Runs it with separate streams: $output, $stderr, $status.
front_mas() { run --separate-stderr as front mas "$@"; }

# acts_as MACHINE SCRIPT: from front, mas on this machine is this script of bash, whose output is sealed as mas's.
acts_as() {
    # shellcheck disable=SC2016 # for the shell there
    as "$1" sh -c 'printf "#!/bin/bash\n%s\n" "$1" >tool.does && cp /opt/test/sealed.sh tool && chmod +x tool tool.does' sh "$2"
    as front sed -i "/^\[host $1\]/,/^via/s|^via = .*|&\nmas = /home/ann/tool|" .config/mas/mas.ini
}
acts_normally() { as front sed -i '/^mas = /d' .config/mas/mas.ini; }

# Ends the connections that mas on front keeps.
disconnect() {
    as front pkill -u ann -x ssh || :
    eventually eval '! as front pgrep -u ann -x ssh >/dev/null'
}

# in_window COMMAND: runs it in a window of tmux on front, as in a terminal. window_shows REGEX: what it shows; keys
# KEY...: types there. The window stays when the command has ended, and says `ended CODE`. window_close returns when its
# server has gone: one that ends still takes who comes, and then says `server exited unexpectedly`.
in_window() {
    # shellcheck disable=SC2016 # for the shell there
    as front tmux -L window new-session -d -x 100 -y 30 "$1"'; echo "ended $?"; exec sleep 1000'
}
window_shows() { as front tmux -L window capture-pane -p -J | grep -qE -- "$1"; }
keys() { as front tmux -L window send-keys "$@"; }
window_close() {
    local server
    server=$(as front tmux -L window display-message -p '#{pid}' 2>/dev/null) || return 0
    as front tmux -L window kill-server 2>/dev/null || :
    eventually on front test ! -e "/proc/$server"
}

# state MACHINE SESSION AGENT: prints the state of an agent. verbs MACHINE: prints the processes of mas there that are
# no hosts, nor what belongs to them.
state() { as "$1" mas status "$2" --json | jq -r --arg agent "$3" '.sessions[].agents[] | select(.id == $agent).state'; }
verbs() { on "$1" pgrep -u ann -a -x mas | grep -vE '^[0-9]+ [^ ]*mas host ' || :; }

# Skips what takes minutes, unless TEST_FLEET=full.
need_full() { [ "${TEST_FLEET-}" = full ] || skip 'takes minutes; make test-fleet TEST_FLEET=full runs it'; }
