#!/usr/bin/env bats
# mas stop where nothing else works: everything is full, and tmux is not there.

load ../helper

teardown_more() {
    [ -z "${FULL-}" ] || umount -l "$FULL" 2>/dev/null || :
    [ -z "${BRAKED-}" ] || pkill -KILL -u "$BRAKED" || :
}

@test "on a full disk, without a process to start and without tmux, stop ends the agents and says what it could not do" {
    [ "$(id -u)" -eq 0 ] || skip 'a user whose processes can be counted takes root to be'
    BRAKED=$((20000 + $$ % 40000)) # a user whom no other test is
    local user=(setpriv --reuid "$BRAKED" --regid "$BRAKED" --clear-groups)
    chmod 755 "$T"
    cp "$MAS" "$T/mas"
    FULL=$T/full
    mkdir "$FULL" "$T/bin"
    mount -t tmpfs -o "size=12m,mode=700,uid=$BRAKED,gid=$BRAKED" none "$FULL" 2>/dev/null || skip 'mount is not allowed here'
    cp -r "$ROOT" "$FULL/root"
    rm -rf "$FULL"/root/sessions
    cat >>"$FULL/root/mas.ini" <<END
[stop]
hangup = 0
terminate = 1
[limits]
processes = 40
[preset bomb]
command = sh $T/bomb
END
    # at most as many as limits.processes allows; they end by themselves after two minutes
    cat >"$T/bomb" <<'END'
trap '' HUP TERM INT
i=0
while [ $i -lt 60 ]; do
    sleep 120 &
    i=$((i + 1))
done
sleep 120
END
    chown -R "$BRAKED" "$FULL/root" "$T/bin"
    export MAS_ROOT=$FULL/root HOME=$FULL MAS_TMUX_SOCKET=$FULL/tmux
    ID=$("${user[@]}" "$T/mas" new -q -t pair -n shop --agent bomb)
    bombs() { [ "$(pgrep -u "$BRAKED" -x sleep -c)" -ge 30 ]; }
    eventually bombs
    dd if=/dev/zero of="$FULL/filler" bs=64k 2>/dev/null || :
    dd if=/dev/zero of="$FULL/filler2" bs=1 2>/dev/null || :
    ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 run --separate-stderr timeout 60 \
        "${user[@]}" prlimit --nproc=1 env PATH="$T/bin" "$T/mas" stop shop
    echo "$status $output $stderr"
    [ "$status" -eq 0 ]
    # by which signal depends on who comes first: the host, when it is ended, or stop itself
    [[ $output == "shop stopped, "*@(terminated|killed)* ]]
    [[ $stderr == *"its tmux session may be left: cannot run 'tmux'"* ]]
    run pgrep -u "$BRAKED" -x sleep
    [ "$status" -eq 1 ]
    rm -f "$FULL"/filler*
    "${user[@]}" "$T/mas" stop -q shop
    [ "$("${user[@]}" "$T/mas" list --all --json | jq -r '.sessions[0].status')" = stopped ]
}
