#!/usr/bin/env bats
# [notify]: what a person is told of, by which ways, and how it is answered.
# shellcheck disable=SC1003,SC2016,SC2030,SC2031 # single quotes are meant; each test is a subshell
load ../helper
load ../host/lib
load lib

outer() { tmux -u -S "$T/outer" -f /dev/null "$@"; }

teardown_last() {
    outer kill-server 2>/dev/null || true
    [ ! -s "$T/dbus.pid" ] || kill "$(cat "$T/dbus.pid")" 2>/dev/null || true
}

# notify KEY=VALUE...: settings of [notify].
notify() { printf '%s\n' '[notify]' "$@" >>"$ROOT/mas.ini"; }

# A command that keeps what it is told, a file a notice: $T/told/N with its JSON, N.env.
keeper() {
    mkdir "$T/told"
    cat >"$T/keeper" <<'S'
#!/bin/bash
n=$(ls "$1" | grep -c '^[0-9]*$')
env | grep ^MAS_ >"$1/$n.env"
cat >"$1/.new" && mv "$1/.new" "$1/$n"
S
    chmod +x "$T/keeper"
    notify "command = '$T/keeper' '$T/told'" "$@"
}

# told: prints the kinds that were told, in order.
told() {
    local n=0
    while [ -e "$T/told/$n" ]; do
        jq -r .notice "$T/told/$n"
        n=$((n + 1))
    done | xargs
}
told_is() { [ "$(told)" = "$1" ]; }
logged() { grep -qF -- "$1" "$DIR/logs/session.log"; }

ask_in_background() {
    timeout 60 "$MAS" ask "$ID" solo "$1" >"$T/out" 2>"$T/err" 3>&- &
    asker=$!
    eventually state_is solo waiting
}

# Runs a command line in a terminal that is a pane of another tmux server.
in_terminal() {
    outer new-session -d -x 120 -y 40 "exec env -u TMUX -u TMUX_PANE TERM=screen sh -c '$1'" \; \
        set-option -s exit-empty off
}
has_client() { [ -n "$(tm list-clients 2>/dev/null)" ]; }

@test "a host whose program was replaced by an upgrade still tells" {
    mkdir "$T/program"
    cp "${MAS%/*}"/mas* "$T/program"
    MAS=$T/program/mas
    keeper
    run_acp ''
    hosts_there
    cp "$MAS" "$MAS.new"
    mv "$MAS.new" "$MAS"
    ask_in_background ASK:execute
    eventually told_is waiting
    "$MAS" approve "$ID" solo
    wait "$asker"
}

@test "an agent that waits is told of, with its request, and the answer goes by the request's id alone" {
    keeper
    export MAS_AGENT_ROLE=another # as in the environment of a tmux server that an agent has started
    run_acp ''
    ask_in_background ASK:execute
    eventually told_is waiting
    [ "$(jq -r '.agent + " " + .role + " " + .sessionId + " " + .text' "$T/told/0")" = "solo generalist $ID May I execute?" ]
    request=$(jq -r .request "$T/told/0")
    [[ $request =~ ^r-[0-9a-f]{8}$ ]]
    [ "$(jq -r .answer "$T/told/0")" = "mas approve $request" ]
    [ "$("$MAS" status "$ID" --json | jq -r '.sessions[0].agents[0].request')" = "$request" ]
    grep -qx "MAS_NOTICE=waiting" "$T/told/0.env"
    grep -qx "MAS_NOTICE_REQUEST=$request" "$T/told/0.env"
    grep -qx "MAS_NOTICE_SESSION=$ID" "$T/told/0.env"
    run ! grep -q "^MAS_SESSION_ID=\|^MAS_AGENT_" "$T/told/0.env"
    mas approve "${request%?}0"
    if [ "${request: -1}" != 0 ]; then
        [ "$status" -eq 3 ]
        [[ $stderr == *"no such request is open"* ]]
    fi
    ok approve "$request"
    wait "$asker" || true
    grep -q permit=yes-1 "$T/out"
    fails 3 approve "$request"
    told_is waiting
}

@test "deny answers a request by its id, too, and an option may follow" {
    keeper
    run_acp ''
    ask_in_background ASK:edit
    eventually told_is waiting
    ok deny "$(jq -r .request "$T/told/0")" always
    wait "$asker" || true
    grep -q permit=no-2 "$T/out"
}

@test "the end of a long turn is told, that of a short one is not" {
    keeper 'done_after = 1h'
    run_acp ''
    eventually state_is solo idle
    "$MAS" send "$ID" solo SAY:short
    eventually was_sent SAY:short
    eventually state_is solo idle
    "$MAS" ask "$ID" solo KILL: || true
    eventually told_is crashed
    "$MAS" stop -q "$ID"
    sed -i 's/^done_after = .*/done_after = 500ms/' "$ROOT/mas.ini"
    "$MAS" start -q "$ID"
    eventually state_is solo idle
    tell 'SLOW:700' # whoever asks has the answer
    "$MAS" send "$ID" solo 'SLOW:800'
    eventually told_is "crashed done"
    "$MAS" send "$ID" solo ASK:execute
    eventually told_is "crashed done waiting" # before its answer, which may come when the turn is a long one
    "$MAS" approve "$ID" solo
    eventually state_is solo idle
}

@test "with done_after = 0 the end of each turn is told" {
    keeper 'done_after = 0'
    run_acp ''
    eventually state_is solo idle
    "$MAS" send "$ID" solo SAY:short
    eventually told_is 'done'
}

@test "a turn that fails is told at once, with its reason, by every face; who waits for its answer has it" {
    keeper 'done_after = 1h'
    run_acp ''
    tell ERR:500
    [ "$status" -eq 1 ]
    [ "$(of solo .turnEnd)" = failed ]
    fails 3 next --dry-run
    "$MAS" ask --no-wait "$ID" solo ERR:501
    eventually told_is failed
    [[ $(jq -r .text "$T/told/0") == "the agent answered with an error: "*"(501)" ]]
    eventually state_is solo idle
    [ "$(of solo .turnEnd)" = failed ]
    [[ $(of solo .turnWhy) == *"(501)" ]]
    "$MAS" status "$ID" | grep -qF 'the turn failed: the agent answered with an error'
    "$MAS" top --once "$ID" | grep -q '^failed: 1$'
    "$MAS" top --once "$ID" | grep -q 'solo .*failed .*the turn failed: '
    [[ $("$MAS" next --dry-run) == *" solo failed" ]]
    [ "$("$MAS" history "$ID" solo | grep -c 'note (the turn failed)')" -eq 2 ]
    shows 'the turn failed: the agent answered with an error'
    tm capture-pane -pe -t "$PANE" | grep -qE $'\e\[([0-9;]*;)?38;5;131m.*the turn failed'
    "$MAS" ask --no-wait "$ID" solo well
    eventually is solo .turnEnd 'done'
    fails 3 next --dry-run
    "$MAS" ask --no-wait "$ID" solo KILL
    eventually told_is "failed crashed"
    [[ $(jq -r .text "$T/told/1") == "was killed by signal 9 (Killed)"* ]]
}

@test "a crash is told once, with how it ended; an end that a person wants is not" {
    keeper
    run_acp ''
    "$MAS" ask "$ID" solo KILL: || true
    eventually state_is solo crashed
    eventually told_is crashed
    "$MAS" restart "$ID" solo
    eventually state_is solo idle
    "$MAS" stop -q "$ID"
    told_is crashed
}

@test "on names the kinds; others are not told" {
    keeper 'on = crashed'
    run_acp ''
    ask_in_background ASK:execute
    "$MAS" deny "$ID" solo
    wait "$asker" || true
    "$MAS" ask "$ID" solo KILL: || true
    eventually told_is crashed
}

@test "four hundred changes are each told once, in order" {
    keeper 'on = waiting'
    run_acp ''
    timeout 120 env MAS_CLIENT_LIMIT=100 python3 -ES "$PROJECT/test/acp/client.py" "$MAS" acp "$ID" <<'P' 3>&-
s = c.new()
n = c.begin_prompt(s, " ".join(["ASK:execute"] * 200))
for i in range(200):
    p = c.permission()
    c.permit(p, c.option(p, "allow_once"))
c.end(n)
P
    all_told() { [ "$(find "$T/told" -name '[0-9]*' ! -name '*.env' | wc -l)" -eq 200 ]; }
    within 60 all_told
    [ "$(jq -r .request "$T"/told/*[0-9] | sort -u | wc -l)" -eq 200 ]
    (cd "$T/told" && jq -r .timeMs {1..199}) | sort -nc
    eventually state_is solo idle
    all_told
}

@test "a command that hangs is ended with what it started, and delays neither the host nor other ways" {
    printf '#!/bin/sh\n(trap "" TERM HUP; exec sleep %s) &\nsleep %s\n' "$MARK" "$MARK" >"$T/hang"
    chmod +x "$T/hang"
    notify "command = '$T/hang'"
    run_acp ''
    ask_in_background ASK:execute
    # the host answers while the command hangs
    hangs() { [ "$(count_marked)" -ge 2 ]; }
    eventually hangs
    state_is solo waiting
    "$MAS" approve "$ID" solo
    wait "$asker" || true
    grep -q permit=yes-1 "$T/out"
    within 30 logged 'cannot notify by [notify] command'
    gone() { [ "$(count_marked)" -eq 0 ]; }
    within 10 gone
}

@test "a command that fails, is missing or floods its output is logged once for each reason" {
    printf '#!/bin/sh\nexit 3\n' >"$T/fails"
    chmod +x "$T/fails"
    notify "command = '$T/fails'" 'on = waiting'
    run_acp ''
    ask_in_background ASK:execute
    eventually logged "cannot notify by [notify] command: '$T/fails' exited with code 3"
    "$MAS" approve "$ID" solo
    wait "$asker" || true
    printf '#!/bin/sh\nexec yes\n' >"$T/fails"
    ask_in_background ASK:execute
    within 20 logged "cannot notify by [notify] command: cannot run '$T/fails'"
    "$MAS" approve "$ID" solo
    wait "$asker" || true
    rm "$T/fails"
    ask_in_background ASK:execute
    eventually logged "cannot notify by [notify] command: there is no program '$T/fails'"
    "$MAS" approve "$ID" solo
    wait "$asker" || true
}

@test "what an agent asks is inert in every way: escape sequences, quotes and dollar signs" {
    keeper 'terminal = yes'
    run_acp ''
    in_terminal "exec \"$MAS\" attach $ID"
    eventually has_client
    tm new-window -t "=mas-${ID:0:8}:" -n other "sleep $MARK"
    timeout 60 "$MAS" ask "$ID" solo 'ASK:$(touch${IFS}x)`touch${IFS}y`;"q"' >"$T/out" 2>"$T/err" 3>&- &
    eventually told_is waiting
    [[ $(jq -r .text "$T/told/0") == 'May I $(touch${IFS}x)`touch${IFS}y`;"q"?' ]]
    "$MAS" deny "$ID" solo
    wait $! || true
    [ -z "$(find "$ROOT" -name '[xy]' -newer "$T/keeper" -type f)" ]
}

@test "a pane that a person looks at is silent; another window of the same team is not" {
    keeper
    run_acp ''
    in_terminal "exec \"$MAS\" attach $ID"
    eventually has_client
    ask_in_background ASK:execute
    "$MAS" approve "$ID" solo
    wait "$asker" || true
    eventually state_is solo idle
    tm new-window -t "=mas-${ID:0:8}:" -n other "sleep $MARK"
    ask_in_background ASK:edit
    eventually told_is waiting
    [ "$(jq -r .text "$T/told/0")" = "May I edit?" ]
    "$MAS" approve "$ID" solo
    wait "$asker" || true
}

@test "quiet hours are silent" {
    keeper "quiet = $(date -d '-1 hour' +%H:%M)-$(date -d '+2 hours' +%H:%M)"
    run_acp ''
    ask_in_background ASK:execute
    "$MAS" approve "$ID" solo
    wait "$asker" || true
    sed -i 's/^quiet = .*/quiet =/' "$ROOT/mas.ini"
    ask_in_background ASK:edit
    eventually told_is waiting
    [ "$(jq -r .text "$T/told/0")" = "May I edit?" ]
    "$MAS" approve "$ID" solo
    wait "$asker" || true
}

@test "the terminal of a client gets a bell and both sequences, though tmux lets none through" {
    notify 'terminal = yes'
    run_acp ''
    python3 -ES - "$MAS" "$ID" "$T" 3>&- <<'P' &
import os, pty, select, sys, time
mas, id, t = sys.argv[1:]
pid, fd = pty.fork()
if pid == 0:
    os.environ.pop("TMUX", None)
    os.environ["TERM"] = "screen"
    os.execv(mas, [mas, "attach", id])
end = time.monotonic() + 50
with open(t + "/terminal", "wb", 0) as out:
    while time.monotonic() < end and not os.path.exists(t + "/enough"):
        if select.select([fd], [], [], 0.1)[0]:
            try:
                out.write(os.read(fd, 65536))
            except OSError:
                break
P
    terminal=$!
    eventually has_client
    tm new-window -t "=mas-${ID:0:8}:" -n other "sleep $MARK"
    timeout 60 "$MAS" ask "$ID" solo ASK:execute >"$T/out" 2>"$T/err" 3>&- &
    asker=$!
    got() { grep -qaF "$(printf '%b' "$1")" "$T/terminal"; }
    eventually got "\\033]9;mas: mas-${ID:0:8}: solo (generalist) waits for you: May I execute? - mas approve r-"
    eventually got "\\033]777;notify;mas: mas-${ID:0:8}: solo (generalist) waits for you;May I execute?"
    "$MAS" approve "$ID" solo
    wait "$asker" || true
    touch "$T/enough"
    tm detach-client -s "=mas-${ID:0:8}" || true
    wait "$terminal" || true
}

@test "the desktop shows a notification, its markup escaped, by a real server" {
    for program in dunst dunstctl notify-send Xvfb dbus-daemon; do
        command -v "$program" >/dev/null || skip "$program is not installed"
    done
    mkdir "$T/xdg"
    chmod 700 "$T/xdg"
    export XDG_RUNTIME_DIR=$T/xdg
    dbus-daemon --session --fork --print-address=1 --print-pid=3 --address="unix:path=$T/bus" \
        >"$T/address" 3>"$T/dbus.pid"
    export DBUS_SESSION_BUS_ADDRESS=unix:path=$T/bus
    Xvfb -displayfd 5 -screen 0 640x480x8 -nolisten tcp 5>"$T/display" >/dev/null 2>&1 3>&- &
    server=$!
    eventually test -s "$T/display"
    DISPLAY=:$(cat "$T/display")
    export DISPLAY
    dunst >"$T/dunst" 2>&1 3>&- &
    daemon=$!
    shown() { dunstctl history >"$T/history" 2>/dev/null && dunstctl count displayed | grep -qx 1; }
    counts() { dunstctl count >/dev/null 2>&1; }
    eventually counts
    notify 'desktop = yes'
    run_acp ''
    ask_in_background 'ASK:<b>x</b>&'
    within 20 shown
    dunstctl close-all
    kept() { dunstctl history | jq -e '.data[0][0].body.data' >"$T/body"; }
    eventually kept
    [ "$(dunstctl history | jq -r '.data[0][0].summary.data')" = "mas: mas-${ID:0:8}: solo (generalist) waits for you" ]
    grep -qF 'mas approve r-' "$T/body"
    "$MAS" deny "$ID" solo
    wait "$asker" || true
    kill "$daemon" "$server"
    wait "$daemon" "$server" || true
}

@test "a webhook gets the notice as JSON, and its URL is in no argument list" {
    python3 -ES - "$T" 3>&- <<'P' &
import http.server, sys
t = sys.argv[1]
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        with open(t + "/post.new", "wb") as f:
            f.write(("%s %s\n" % (self.path, self.headers["content-type"])).encode() + body)
        import os
        os.rename(t + "/post.new", t + "/post")
        self.send_response(204)
        self.end_headers()
    def log_message(self, *args):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open(t + "/port", "w") as f:
    f.write(str(server.server_port))
server.handle_request()
P
    server=$!
    eventually test -s "$T/port"
    notify "webhook = http://127.0.0.1:$(cat "$T/port")/hook?key=%22secret"
    run_acp ''
    ask_in_background 'ASK:a"quoted"$(x)'
    eventually test -e "$T/post"
    [ "$(head -n 1 "$T/post")" = "/hook?key=%22secret application/json" ]
    [ "$(tail -n +2 "$T/post" | jq -r '.notice + " " + .text')" = 'waiting May I a"quoted"$(x)?' ]
    "$MAS" deny "$ID" solo
    wait "$asker" || true
    wait "$server"
}

@test "a webhook that refuses is logged, without its URL" {
    notify "webhook = http://127.0.0.1:1/secret"
    run_acp ''
    ask_in_background ASK:execute
    eventually logged "cannot notify by [notify] webhook: 'curl' exited with code 7"
    run ! grep -q secret "$DIR/logs/session.log"
    "$MAS" deny "$ID" solo
    wait "$asker" || true
}

@test "a root that nobody accepted gets no command and no webhook" {
    keeper "webhook = http://127.0.0.1:1/"
    unset MAS_ROOT
    rm "$XDG_STATE_HOME/mas/roots"
    cd "$ROOT"
    mas config --json
    [ "$(jq -c '[.settings[] | select(.key == "notify.command" or .key == "notify.webhook").origin] | unique' <<<"$output")" = '["built in"]' ]
}

@test "the branch that does not merge is told of as a conflict" {
    command -v git >/dev/null || skip "git is not installed"
    keeper 'on = conflict'
    git init -q -b main "$T/shop"
    git -C "$T/shop" config user.name u
    git -C "$T/shop" config user.email u@example.org
    echo one >"$T/shop/file"
    git -C "$T/shop" add file
    git -C "$T/shop" commit -qm one
    acp_preset scripted
    new_session -t pair --agent scripted --project "$T/shop"
    DIR=$ROOT/sessions/$ID
    code=$DIR/code/lead
    echo two >"$code/file"
    git -C "$code" -c user.name=u -c user.email=u@example.org commit -qam two
    echo other >"$T/shop/file"
    git -C "$T/shop" commit -qam other
    "$MAS" sync "$ID" --project || true
    fails 4 merge "$ID" lead
    eventually told_is conflict
    [ "$(jq -r '.agent + " " + .text' "$T/told/0")" = "lead file" ]
}
