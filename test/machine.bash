# Runs mas as another machine of the same disk. Sourced by tests that need two.
# shellcheck shell=bash
#
#   need_machines            skips the test where no such thing can be made
#   on NAME COMMAND...       runs a command on machine NAME, which has a machine-id of its own
#
# A machine here is a mount and a UTS namespace. It shares locks and processes with this one; the sockets
# of tmux servers lead nowhere, as those of another machine do.

machine_id() { printf '%032x\n' "0x$(cksum <<<"$1" | cut -d ' ' -f 1)"; }

in_machine() { # machine-id, host name, command; $FOREIGN, or $T/foreign, lists the sockets of this machine
    # shellcheck disable=SC2016 # for the inner shell
    FOREIGN=${FOREIGN:-$T/foreign} unshare --user --map-root-user --mount --uts sh -c '
        mount --bind "$1" /etc/machine-id && hostname "$2" && shift 2 || exit
        while IFS= read -r socket; do
            mount --bind /dev/null "$socket"
        done <"$FOREIGN"
        exec "$@"' sh "$@"
}

on() {
    # Many may run at once: none may see a file that another one is writing.
    local new
    new=$(mktemp "$T/machine.XXXXXX")
    machine_id "$1" >"$new"
    mv "$new" "$T/machine-$1"
    find "$T" -type s ! -path "$T/$1*" ! -path "*/sessions/*" >"$new"
    FOREIGN=$new in_machine "$T/machine-$1" "$@"
}

need_machines() {
    [ "$(on n9 hostname 2>/dev/null)" = n9 ] ||
        skip 'there are no mount and UTS namespaces here (a chroot, or no user namespaces), or no /etc/machine-id'
}
