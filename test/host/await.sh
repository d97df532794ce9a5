# What a virtual machine runs first, see vm.bash.
# shellcheck shell=sh

# await COMMAND...: waits until it succeeds, at most $await_tries times 0.1 s and the time that it takes itself.
await_tries=300
await() {
    tries=0
    until "$@"; do
        [ $tries -lt $await_tries ] || { echo "never: $*"; return 1; }
        tries=$((tries + 1))
        sleep 0.1
    done
}
