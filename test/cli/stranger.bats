#!/usr/bin/env bats
# Another user's tmux server stands where mas looks for one: who listens there reads and writes files
# as the client that comes, so none must come.
load ../helper

STRANGER=12345

as_stranger() { setpriv --reuid "$STRANGER" --regid "$STRANGER" --clear-groups "$@"; }

setup_more() {
    [ "$(id -u)" -eq 0 ] || skip 'to be another user, too, takes root'
    chmod 711 "$T"
    TRAP=$T/trap # a directory of the other user
    mkdir "$TRAP"
    chown "$STRANGER" "$TRAP"
    unset MAS_TMUX_SOCKET
    mkdir -m 700 "$T/mine"
}

teardown_more() { [ -z "${SERVER-}" ] || kill "$SERVER" 2>/dev/null || true; }

# A server of the other user on socket $1. Whatever a client asks of it, that client writes a file;
# each command also leaves a trace that only the server can write.
set_trap() {
    local hook commands=('set-buffer caught')
    for hook in list-sessions list-panes new-session source-file show-options capture-pane \
        display-message kill-session; do
        commands+=("set-hook -g after-$hook 'save-buffer $T/written ; run-shell \"touch $TRAP/asked\"'")
    done
    printf '%s\n' "${commands[@]}" >"$TRAP/conf"
    SERVER=$(as_stranger env -i PATH="$PATH" HOME=/ TERM=screen SHELL=/bin/sh \
        tmux -u -S "$1" -f "$TRAP/conf" new-session -d -P -F '#{pid}' -s bait 'exec sleep 1000')
    rm -f "$T/written" "$TRAP/asked"
}

# The trap works: a client of the victim would write the file.
is_armed() {
    tmux -u -S "$1" list-sessions >/dev/null 2>&1 || true
    eventually test -e "$TRAP/asked"
    [ "$(cat "$T/written")" = caught ]
    rm -f "$T/written" "$TRAP/asked"
}

# Every verb that speaks to tmux, with a session that the metadata calls active.
try_all() {
    local verb
    for verb in "list" "list --all" "doctor" "doctor --fix" "status -s bait" "show $ID" "show bait" \
        "peek $ID solo" "start $ID" "restart $ID solo" "stop $ID" "stop --all" "new -t solo" \
        "clean" "migrate $ID" "template check solo" "rm -f $ID"; do
        # shellcheck disable=SC2086 # words
        mas $verb </dev/null
        [ "$status" -lt 8 ] || { echo "$verb ended with $status"; return 1; }
        [ ! -e "$T/written" ] || { echo "$verb wrote a file for the other user"; return 1; }
        [ ! -e "$TRAP/asked" ] || { echo "$verb asked the other user's server"; return 1; }
    done
    fails 6 new -t solo
    [[ $stderr == "mas: cannot use tmux socket '$1': "*$'\n'* ]]
    run ! grep -vx "$ID" <("$MAS" list --all -q)
    ok list
}

# A session whose metadata says that it runs on the socket $1
a_session_on() {
    new_session -t solo --no-start -n bait
    sed -i -e "s|^TMUX_SOCKET=.*|TMUX_SOCKET=$1|" -e 's/^STATUS=.*/STATUS=active/' \
        "$ROOT/sessions/$ID/.session"
    rm "$ROOT/sessions/.sessions.index"
}

@test "a directory for sockets that another user has made first is not used" {
    export TMUX_TMPDIR=$T/mine
    mkdir "$T/mine/tmux-0"
    chown "$STRANGER" "$T/mine/tmux-0"
    chmod 711 "$T/mine"
    set_trap "$T/mine/tmux-0/default"
    is_armed "$T/mine/tmux-0/default"
    a_session_on "$T/mine/tmux-0/default"
    try_all "$T/mine/tmux-0/default"
    [[ $("$MAS" new -t solo 2>&1) == *": '$T/mine/tmux-0' belongs to user $STRANGER"* ]]
}

@test "a socket of another user that was named is not used" {
    export MAS_TMUX_SOCKET=$TRAP/socket
    set_trap "$TRAP/socket"
    is_armed "$TRAP/socket"
    a_session_on "$TRAP/socket"
    try_all "$TRAP/socket"
}

@test "a socket of another user in a directory of one's own is not used, nor one that changed hands" {
    export MAS_TMUX_SOCKET=$T/mine/socket
    chmod 777 "$T/mine"
    set_trap "$T/mine/socket"
    chmod 700 "$T/mine"
    is_armed "$T/mine/socket"
    a_session_on "$T/mine/socket"
    try_all "$T/mine/socket"
    [[ $("$MAS" new -t solo 2>&1) == *": it belongs to user $STRANGER"* ]]
    # the file's owner says nothing of who listens
    chown 0 "$T/mine/socket"
    fails 6 new -t solo
    [[ $stderr == *": its server belongs to another user"* ]]
    [ ! -e "$T/written" ]
    [ ! -e "$TRAP/asked" ]
}

@test "attach does not become a client of another user's server" {
    export MAS_TMUX_SOCKET=$T/mine/socket
    new_session -t solo
    mv "$T/mine/socket" "$T/mine/kept"
    chmod 777 "$T/mine"
    set_trap "$T/mine/socket"
    chmod 700 "$T/mine"
    run timeout 20 script -qec "'$MAS' attach $ID" /dev/null </dev/null
    [ "$status" -ne 0 ]
    [[ $output == *'it belongs to user'* ]]
    [ ! -e "$T/written" ]
    [ ! -e "$TRAP/asked" ]
    rm "$T/mine/socket"
    mv "$T/mine/kept" "$T/mine/socket"
    ok stop "$ID"
}

# What leads to the socket $1 could be changed by others, which is said with these words
is_refused() {
    MAS_TMUX_SOCKET=$1 fails 6 new -t solo
    [[ $stderr == "mas: cannot use tmux socket '$1': $2"* ]]
    [ -z "$("$MAS" list --all -q)" ]
}

@test "a way to the socket that others can change is refused, and what to do about it is said" {
    mkdir "$TRAP/mine" "$T/mine/in"
    is_refused "$TRAP/mine/socket" "'$TRAP' belongs to user $STRANGER"
    chmod 770 "$T/mine"
    is_refused "$T/mine/socket" "others may write to '$T/mine'"
    [[ ${stderr#*$'\n'} == *"chmod go-w $T/mine" ]]
    is_refused "$T/mine/in/socket" "others may write to '$T/mine'"
    chmod 1777 "$T/mine"
    is_refused "$T/mine/socket" "others may write to '$T/mine'"
    [[ ${stderr#*$'\n'} == *MAS_TMUX_SOCKET* ]]
    # a link counts for what it leads to, and for whose it is
    ln -s "$TRAP/mine" "$T/to-trap"
    is_refused "$T/to-trap/socket" "'$TRAP' belongs to user $STRANGER"
    ln -s in "$T/mine/link"
    chown -h "$STRANGER" "$T/mine/link"
    is_refused "$T/mine/link/socket" "'$T/mine/link' belongs to user $STRANGER"
    # below a sticky directory such as /tmp what is one's own stays in its place
    chown -h 0 "$T/mine/link"
    chmod 700 "$T/mine/in"
    MAS_TMUX_SOCKET=$T/mine/link/socket new_session -t solo
    [ "$(field "$ID" .status)" = active ]
    ok stop "$ID"
    chmod 700 "$T/mine"
}

@test "tmux's own directory must be closed to others, as tmux demands itself" {
    export TMUX_TMPDIR=$T/mine
    mkdir -m 755 "$T/mine/tmux-0"
    fails 6 new -t solo
    [[ $stderr == *"'$T/mine/tmux-0' must belong to you and be closed to others"* ]]
    chmod 700 "$T/mine/tmux-0"
    new_session -t solo
    [ "$(field "$ID" .status)" = active ]
}

@test "a host's socket that another user listens at is sent nothing" {
    export MAS_TMUX_SOCKET=$T/mine/socket
    new_session -t solo
    "$MAS" stop -q "$ID"
    local run=$ROOT/sessions/$ID/run
    chmod 711 "$ROOT" "$ROOT/sessions" "$ROOT/sessions/$ID"
    chmod 777 "$run"
    python3 - "$run/solo.sock" "$TRAP/heard" "$STRANGER" <<'END' 3>&- &
import os, socket, sys
os.setgroups([])
os.setresgid(*[int(sys.argv[3])] * 3)
os.setresuid(*[int(sys.argv[3])] * 3)
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
s.listen()
while True:
    c, _ = s.accept()
    text = c.recv(4096)
    with open(sys.argv[2], "ab") as f:
        f.write(text + b"connected\n")
    c.close()
END
    SERVER=$!
    eventually test -S "$run/solo.sock"
    mas send "$ID" solo secret
    [ "$status" -ne 0 ]
    mas status "$ID"
    mas stop "$ID"
    eventually grep -q connected "$TRAP/heard"
    [ "$(sort -u "$TRAP/heard")" = connected ]
}
