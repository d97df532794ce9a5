#!/usr/bin/env bats
# What stands in the way inside a root, and servers that do not answer.
load ../helper

@test "a link in place of run leads no environment out" {
    new_session -t solo --no-start
    mkdir "$T/outside"
    rmdir "$ROOT/sessions/$ID/run"
    ln -s "$T/outside" "$ROOT/sessions/$ID/run"
    SECRET=hush fails 1 start "$ID"
    [[ $stderr == "mas: cannot open 'run': "* ]]
    [ -z "$(ls -A "$T/outside")" ]
    fails 1 doctor
    [[ $output == *"run is a symbolic link"* ]]
}

@test "a link in place of logs leads no log out" {
    new_session -t solo --no-start
    mkdir "$T/outside"
    mv "$ROOT/sessions/$ID/logs" "$T/logs"
    ln -s "$T/outside" "$ROOT/sessions/$ID/logs"
    fails 1 start "$ID"
    [[ $stderr == "mas: cannot start session '$ID': cannot open its logs: "* ]]
    [ -z "$(ls -A "$T/outside")" ]
    fails 1 doctor
    [[ $output == *"logs is a symbolic link"* ]]
}

@test "a session that is a link is named by doctor, and rm -f takes the link alone" {
    new_session -t solo --no-start
    mv "$ROOT/sessions/$ID" "$T/moved"
    ln -s "$T/moved" "$ROOT/sessions/$ID"
    fails 1 doctor
    [[ $output == *"$ID  its workspace cannot be opened"* ]]
    fails 1 rm "$ID"
    ok rm -f "$ID"
    [ -f "$T/moved/.session" ]
    [ "$("$MAS" list -q)" = '' ]
    [ "$("$MAS" doctor)" = 'everything is in order' ]
}

@test "a lock that is no file is named by doctor, and taken away by its --fix" {
    new_session -t solo --no-start
    rm "$ROOT/sessions/$ID/.session.lock"
    mkfifo "$ROOT/sessions/$ID/.session.lock"
    fails 1 doctor
    [[ $output == *".session.lock is a FIFO"* ]]
    ok doctor --fix
    [ "$("$MAS" doctor)" = 'everything is in order' ]
    ok start "$ID"
}

@test "the first new of a default root, many at once" {
    unset MAS_ROOT
    cd /
    for _ in 1 2 3 4 5 6 7 8; do
        "$MAS" new -q -t solo --no-start >>"$T/ids" 3>&- &
    done
    wait
    [ "$(sort -u "$T/ids" | wc -l)" -eq 8 ]
    [ "$("$MAS" list -q | sort)" = "$(sort "$T/ids")" ]
    [ "$("$MAS" doctor)" = 'everything is in order' ]
    [ -z "$(find "$XDG_DATA_HOME/mas/templates" -name '.new-*')" ]
}

@test "a tmux server that hangs is told of, and holds nobody up for long" {
    new_session -t solo
    local server
    server=$(tm display-message -p '#{pid}')
    kill -STOP "$server"
    # fill its queue of connections, so that even connecting would wait
    run timeout 20 python3 - "$SOCK" "$MAS" <<'END'
import socket, subprocess, sys
held = []
for _ in range(300):
    s = socket.socket(socket.AF_UNIX)
    s.setblocking(False)
    try:
        s.connect(sys.argv[1])
    except BlockingIOError:
        break
    held.append(s)
sys.exit(subprocess.run([sys.argv[2], "list"]).returncode)
END
    kill -CONT "$server"
    [ "$status" -eq 0 ]
    [[ $output == *"error: cannot query tmux on '$SOCK'"* ]]
    # shellcheck disable=SC2329
    is_active() { [ "$(field "$ID" .status)" = active ]; }
    eventually is_active
}
