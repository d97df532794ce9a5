#!/usr/bin/env bats
# Whatever can be wrong on disk and in tmux: made by hand, found, mended, and nothing lost.
load ../helper

# `mas doctor` finds $2 about $1 and changes nothing.
finds() {
    local before
    before=$(snapshot)
    mas doctor --json
    [ "$status" -eq 1 ]
    jq -e --arg subject "$1" --arg what "$2" \
        'any(.findings[]; .subject == $subject and .state == "open" and (.what | contains($what)))' \
        <<<"$output"
    [[ $stderr == 'mas: cannot call everything in order: '*' found'*'mas doctor --fix' ]]
    [ "$(snapshot)" = "$before" ]
}

# `mas doctor --fix` mends $2 about $1, and then everything is in order.
mends() {
    mas doctor --fix --json
    [ "$status" -eq 0 ]
    jq -e --arg subject "$1" --arg what "$2" \
        'any(.findings[]; .subject == $subject and .state == "mended" and (.what | contains($what)))' \
        <<<"$output"
    [ -z "$stderr" ]
    is_in_order
}

is_in_order() {
    mas doctor
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$output" = 'everything is in order' ]
    [ -z "$stderr" ]
}

# `mas doctor` has only something to say about $1, that is no fault: $2.
notes() {
    mas doctor --json
    [ "$status" -eq 0 ]
    jq -e --arg subject "$1" --arg what "$2" \
        'any(.findings[]; .subject == $subject and .state == "note" and (.what | contains($what)))' \
        <<<"$output"
}

ws() { echo "$ROOT/sessions/$1"; }
tmux_name() { echo "mas-${1:0:8}"; }
is_tmux_session() { tm has-session -t "=$1:" 2>/dev/null; }
# A field of session $1 in `mas list --all`
listed() { "$MAS" list --all --json | jq -r --arg id "$1" ".sessions[] | select(.sessionId == \$id) | $2"; }
mode() { stat -c %a "$1"; }

# Waits until the agents of $1 have taken their environment, so that snapshots agree.
settled() { "$MAS" wait "$1" --for idle; }

a_stopped_session() { new_session -t solo --no-start -n "${1:-idle}"; }
a_running_session() { new_session -t solo -n "${1:-busy}" && settled "$ID"; }

teardown_more() {
    grep -lsz "^MAS_SESSION_DIR=$T/" /proc/[0-9]*/environ | cut -d/ -f3 |
        xargs -r kill -KILL 2>/dev/null || true
}

# ---- in order

@test "a root without sessions is in order" {
    is_in_order
}

@test "no root at all is in order, and none is made" {
    unset MAS_ROOT
    cd "$HOME"
    is_in_order
    [ ! -e "$XDG_DATA_HOME/mas" ]
}

@test "running and stopped sessions are in order, and looking changes nothing" {
    a_running_session
    a_stopped_session
    local before index
    before=$(snapshot)
    index=$(cat "$ROOT/sessions/.sessions.index")
    is_in_order
    mas doctor --fix
    [ "$status" -eq 0 ]
    [ "$output" = 'everything is in order' ]
    [ "$(snapshot)" = "$before" ]
    [ "$(cat "$ROOT/sessions/.sessions.index")" = "$index" ]
}

@test "doctor --json of what is in order has no findings" {
    a_stopped_session
    mas doctor --json
    [ "$status" -eq 0 ]
    [ "$(jq -c . <<<"$output")" = '{"findings":[]}' ]
}

@test "doctor takes no operand" {
    mas doctor everything
    [ "$status" -eq 2 ]
    [[ $stderr == *"'everything' is one operand too many"* ]]
}

# ---- left behind in sessions/

@test "staging that a killed command left goes" {
    a_running_session
    local stale=.new-0c0c0c0c-1111-4222-8333-444444444444
    mkdir -p "$ROOT/sessions/$stale/unit/solo"
    echo half >"$ROOT/sessions/$stale/unit/solo/file"
    : >"$ROOT/sessions/$stale/.session.lock"
    [ "$("$MAS" list -q)" = "$ID" ]
    [ "$("$MAS" list --all -q)" = "$ID" ]
    finds "$stale" 'left behind by a command that was killed'
    mends "$stale" 'left behind by a command that was killed'
    [ ! -e "$ROOT/sessions/$stale" ]
    [ "$(field "$ID" .status)" = active ]
}

@test "the rest of a removal goes" {
    local stale=.trash-0c0c0c0c-1111-4222-8333-444444444444
    mkdir -p "$ROOT/sessions/$stale/unit"
    finds "$stale" 'left behind'
    mends "$stale" 'left behind'
    [ ! -e "$ROOT/sessions/$stale" ]
}

@test "staging that a command works on is not stale" {
    local busy=$ROOT/sessions/.new-0c0c0c0c-1111-4222-8333-444444444444
    mkdir "$busy"
    exec 8>"$busy/.session.lock"
    flock 8
    is_in_order
    mas doctor --fix
    [ "$status" -eq 0 ]
    [ -d "$busy" ]
    exec 8>&-
    finds "${busy##*/}" 'left behind'
}

@test "stale staging that holds links or is one costs nothing outside" {
    mkdir "$T/precious"
    echo treasure >"$T/precious/file"
    mkdir "$ROOT/sessions/.new-0c0c0c0c-1111-4222-8333-444444444444"
    ln -s "$T/precious" "$ROOT/sessions/.new-0c0c0c0c-1111-4222-8333-444444444444/link"
    ln -s "$T/precious" "$ROOT/sessions/.trash-0c0c0c0c-1111-4222-8333-444444444444"
    mas doctor --fix
    [ "$status" -eq 0 ]
    [ "$(cat "$T/precious/file")" = treasure ]
    is_in_order
    [ -z "$(find "$ROOT/sessions" -name '*0c0c0c0c*')" ]
}

@test "new sweeps up what is stale" {
    local stale=$ROOT/sessions/.new-0c0c0c0c-1111-4222-8333-444444444444
    mkdir "$stale"
    "$MAS" new -q -t solo --no-start
    "$MAS" new -q -t solo --no-start
    is_in_order
}

@test "what mas did not make is told of and left alone" {
    a_stopped_session
    mkdir -p "$ROOT/sessions/notes" "$ROOT/sessions/0C0C0C0C-1111-4222-8333-444444444444"
    echo mine >"$ROOT/sessions/notes/file"
    echo mine >"$ROOT/sessions/backup.tar"
    chmod 640 "$ROOT/sessions/backup.tar"
    local before
    before=$(snapshot)
    notes notes 'not made by mas, left alone'
    notes backup.tar 'not made by mas'
    notes 0C0C0C0C-1111-4222-8333-444444444444 'not made by mas'
    mas doctor --fix
    [ "$status" -eq 0 ]
    [ "$(snapshot)" = "$before" ]
    [ "$("$MAS" list --all -q)" = "$ID" ]
}

@test "a foreign name cannot write to the terminal" {
    : >"$ROOT/sessions/"$'\e[31mred\e]2;title\a'
    : >"$ROOT/sessions/"$'two\nlines'
    mas doctor
    [ "$status" -eq 0 ]
    [[ $output != *[$'\e\a']* ]]
    [ "${#lines[@]}" -eq 2 ]
    mas doctor --json
    jq -e '.findings | length == 2' <<<"$output"
}

@test "the rest of an interrupted write of the index goes" {
    a_stopped_session
    echo '{"half' >"$ROOT/sessions/.sessions.index.new"
    finds sessions '.sessions.index.new is left'
    mends sessions '.sessions.index.new is left'
    [ ! -e "$ROOT/sessions/.sessions.index.new" ]
    [ "$("$MAS" list -q)" = "$ID" ]
}

@test "the rest of an interrupted write in a workspace goes" {
    a_stopped_session
    echo half >"$(ws "$ID")/.session.new"
    echo half >"$(ws "$ID")/config.json.new"
    finds "$ID" '.session.new is left'
    finds "$ID" 'config.json.new is left'
    mends "$ID" '.session.new is left'
    [ ! -e "$(ws "$ID")/.session.new" ]
    [ ! -e "$(ws "$ID")/config.json.new" ]
    [ "$(field "$ID" .name)" = idle ]
}

# ---- modes

@test "wrong modes in a workspace are found and set" {
    a_stopped_session
    local dir part said
    dir=$(ws "$ID")
    while read -r part want; do
        chmod 777 "$dir/$part"
        said=$part
        if [ "$part" = . ]; then said='its directory'; fi
        finds "$ID" "$said has mode 777 instead of $want"
        mends "$ID" "$said has mode 777 instead of $want"
        [ "$(mode "$dir/$part")" = "$((10#$want))" ]
    done <<<'. 700
.session 600
.session.lock 600
config.json 600
unit 755
run 700
logs 700'
}

@test "wrong modes of sessions/ and of what lies there are found and set" {
    a_stopped_session
    chmod 777 "$ROOT/sessions"
    chmod 644 "$ROOT/sessions/.sessions.index"
    chmod 666 "$ROOT/sessions/.sessions.lock"
    finds sessions 'sessions has mode 777 instead of 755'
    finds sessions '.sessions.index has mode 644 instead of 600'
    finds sessions '.sessions.lock has mode 666 instead of 600'
    mends sessions 'sessions has mode 777'
    [ "$(mode "$ROOT/sessions")" = 755 ]
    [ "$(mode "$ROOT/sessions/.sessions.index")" = 600 ]
    [ "$(mode "$ROOT/sessions/.sessions.lock")" = 600 ]
}

@test "modes too narrow are set too" {
    a_stopped_session
    chmod 000 "$(ws "$ID")/logs" "$(ws "$ID")/.session"
    # who is not root cannot compare what is in them
    mas doctor --json
    [ "$status" -eq 1 ]
    jq -e 'any(.findings[]; .state == "open" and (.what == "logs has mode 000 instead of 700"))' <<<"$output"
    [ "$(mode "$(ws "$ID")/logs") $(mode "$(ws "$ID")/.session")" = '0 0' ]
    mends "$ID" 'logs has mode 000 instead of 700'
    [ "$(mode "$(ws "$ID")/.session")" = 600 ]
}

@test "what a link in a workspace points to keeps its mode" {
    a_stopped_session
    echo 'not yours' >"$T/file"
    chmod 644 "$T/file"
    rm "$(ws "$ID")/config.json"
    ln -s "$T/file" "$(ws "$ID")/config.json"
    mas doctor --fix
    [ "$(mode "$T/file")" = 644 ]
    [ "$(cat "$T/file")" = 'not yours' ]
}

@test "a directory that is missing in a workspace is made" {
    a_stopped_session
    local part
    for part in run logs workflows; do
        rm -r "${ROOT:?}/sessions/$ID/$part"
        finds "$ID" "its $part is missing"
        mends "$ID" "its $part is missing"
        [ -d "$(ws "$ID")/$part" ]
    done
    mas start "$ID"
    [ "$status" -eq 0 ]
}

# ---- metadata

# Breaks the metadata of session $ID with the text on stdin, and has it mended.
breaks_and_mends() {
    cat >"$(ws "$ID")/.session"
    cp "$(ws "$ID")/.session" "$T/broken"
    [ "$(listed "$ID" .status)" = error ]
    finds "$ID" 'its .session is damaged'
    mends "$ID" 'its .session is damaged'
    # kept aside, byte for byte
    cmp "$T/broken" "$(ws "$ID")"/.session.broken-*
    rm "$(ws "$ID")"/.session.broken-*
    [ "$(meta "$ID" SESSION_ID)" = "$ID" ]
    [ "$(mode "$(ws "$ID")/.session")" = 600 ]
}

@test "broken metadata that is mended again and again is kept each time" {
    a_stopped_session
    for n in 1 2 3; do
        echo "broken $n" >"$(ws "$ID")/.session"
        mends "$ID" 'its .session is damaged'
    done
    [ "$(cat "$(ws "$ID")"/.session.broken-* | sort)" = $'broken 1\nbroken 2\nbroken 3' ]
}

@test "broken metadata is made anew, the broken file kept aside" {
    a_stopped_session
    local created
    created=$(meta "$ID" CREATED_AT)
    breaks_and_mends <<<'this is not metadata'
    [ "$(meta "$ID" NAME)" = idle ]
    [ "$(meta "$ID" TEMPLATE)" = solo ]
    [ "$(meta "$ID" STATUS)" = stopped ]
    [ "$(meta "$ID" CREATED_AT)" = "$created" ]
    [ "$(meta "$ID" TMUX_SOCKET)" = "$SOCK" ]
    mas start "$ID"
    [ "$status" -eq 0 ]
}

@test "what is whole of damaged metadata is kept, privacy and first messages too" {
    a_stopped_session
    local meta private
    meta=$(ws "$ID")/.session
    "$MAS" set -q "$ID" private=no
    echo "X_TICKET=seven" >>"$meta"
    cp "$meta" "$T/good"
    for private in yes no; do
        "$MAS" set -q "$ID" "private=$private"
        sed -i "s/^STATUS=.*/STATUS=asleep/" "$meta"
        mends "$ID" 'its .session is damaged'
        [[ $output != *'not known'* ]]
        # a first start still hands out its first messages
        [ "$(meta "$ID" PRIVATE) $(meta "$ID" PROMPTED) $(meta "$ID" X_TICKET)" = "$private  seven" ]
        [ "$(meta "$ID" CREATED_NSEC)" = "$(. "$T/good" && echo "${CREATED_NSEC-}")" ]
    done
    # and where the line itself is gone, what is taken for it is said
    sed -i '/^PRIVATE/d; s/^STATUS=.*/STATUS=asleep/' "$meta"
    finds "$ID" "whether it was private is not known, so it is; if not: mas set $ID private=no"
    mends "$ID" 'whether it was private is not known'
    [ "$(meta "$ID" PRIVATE)" = yes ]
    sed -i 's/^PRIVATE=yes/&\nPROMPTED=yes/; s/^STATUS=.*/STATUS=asleep/' "$meta"
    mends "$ID" 'its .session is damaged'
    [ "$(meta "$ID" PROMPTED)" = yes ]
}

@test "metadata is mended in whatever way it is broken" {
    a_stopped_session
    cp "$(ws "$ID")/.session" "$T/good"
    breaks_and_mends </dev/null
    breaks_and_mends < <(head -c 100 "$T/good")
    breaks_and_mends < <(sed '/^STATUS/d' "$T/good")
    breaks_and_mends < <(sed 's/^STATUS=.*/STATUS=asleep/' "$T/good")
    breaks_and_mends < <(sed 's/^SESSION_ID=./SESSION_ID=f/; s/^SESSION_ID=f.*/SESSION_ID=ffffffff-1111-4222-8333-444444444444/' "$T/good")
    breaks_and_mends < <(sed 's/^CREATED_AT=.*/CREATED_AT=yesterday/' "$T/good")
    breaks_and_mends < <(sed "s|^NAME=.*|NAME=\$(touch $T/ran)|" "$T/good")
    breaks_and_mends < <(sed "s|^TMUX_SOCKET=.*|TMUX_SOCKET=relative|" "$T/good")
    breaks_and_mends < <(printf 'SESSION_ID=\xff\xfe\n')
    [ ! -e "$T/ran" ]
    [ "$(field "$ID" .name)" = idle ]
}

@test "metadata that is gone is made anew" {
    a_stopped_session
    rm "$(ws "$ID")/.session"
    [ "$(listed "$ID" .status)" = error ]
    finds "$ID" .session
    mends "$ID" .session
    [ "$(meta "$ID" NAME)" = idle ]
}

@test "metadata that is a link is not followed, the target stays" {
    a_stopped_session
    cp "$(ws "$ID")/.session" "$T/target"
    chmod 644 "$T/target"
    local sum
    sum=$(sha256sum <"$T/target")
    ln -sf "$T/target" "$(ws "$ID")/.session"
    finds "$ID" .session
    mends "$ID" .session
    [ "$(sha256sum <"$T/target")" = "$sum" ]
    [ "$(mode "$T/target")" = 644 ]
    [ ! -L "$(ws "$ID")/.session" ]
}

@test "a team that runs goes on while its metadata is mended" {
    a_running_session
    local pid
    pid=$(agent_pid "$ID")
    breaks_and_mends <<<'this is not metadata'
    [ "$(meta "$ID" STATUS)" = active ]
    [ "$(meta "$ID" TMUX_SESSION)" = "$(tmux_name "$ID")" ]
    [ "$(field "$ID" .status)" = active ]
    [ "$(agent_pid "$ID")" = "$pid" ]
}

@test "a team on a server of its own goes on while its metadata is mended" {
    export MAS_TMUX_SERVER=per-session
    a_running_session
    local pid socket
    pid=$(agent_pid "$ID")
    socket=$(meta "$ID" TMUX_SOCKET)
    echo 'this is not metadata' >"$(ws "$ID")/.session"
    finds "$ID" 'its .session is damaged'
    mends "$ID" 'its .session is damaged'
    [ "$(meta "$ID" TMUX_SOCKET)" = "$socket" ]
    [ "$(field "$ID" .status)" = active ]
    [ "$("$MAS" list --active -q)" = "$ID" ]
    [ "$(agent_pid "$ID")" = "$pid" ]
}

@test "show says error and why of a session whose metadata is broken, also of a stopped one" {
    a_stopped_session
    echo nonsense >"$(ws "$ID")/.session"
    [ "$(field "$ID" .status)" = error ]
    [[ $(field "$ID" .reason) == *'.session is damaged'* ]]
}

@test "one broken session is no hindrance to the others" {
    a_running_session one
    local one=$ID
    a_stopped_session two
    echo nonsense >"$(ws "$ID")/.session"
    mas list --json
    [ "$status" -eq 0 ]
    [ "$(jq -r --arg id "$one" '.sessions[] | select(.sessionId == $id).status' <<<"$output")" = active ]
    mas stop one
    [ "$status" -eq 0 ]
    mas start one
    [ "$status" -eq 0 ]
}

@test "a workspace that was copied by hand becomes a session of its own" {
    a_running_session
    local copy=0c0c0c0c-1111-4222-8333-444444444444 pid
    pid=$(agent_pid "$ID")
    cp -a "$(ws "$ID")" "$(ws "$copy")"
    finds "$copy" 'SESSION_ID is that of another session'
    mends "$copy" 'SESSION_ID is that of another session'
    [ "$(meta "$copy" SESSION_ID)" = "$copy" ]
    [ "$(meta "$copy" TMUX_SESSION)" = mas-0c0c0c0c ]
    [ "$(field "$copy" .status)" = stopped ]
    [ "$(field "$ID" .status)" = active ]
    [ "$(agent_pid "$ID")" = "$pid" ]
}

# ---- config.json

@test "a broken config.json is made from the template, the broken one kept aside" {
    a_stopped_session
    echo '{"template":"solo","agents":' >"$(ws "$ID")/config.json"
    cp "$(ws "$ID")/config.json" "$T/broken"
    finds "$ID" 'its config.json is damaged'
    mends "$ID" 'it can be made from the template'
    cmp "$T/broken" "$(ws "$ID")"/config.json.broken-*
    [ "$(mode "$(ws "$ID")/config.json")" = 600 ]
    mas start "$ID"
    [ "$status" -eq 0 ]
    [ "$(field "$ID" .agentsRunning)" = 1 ]
}

@test "a config.json that is gone is made from the template" {
    a_stopped_session
    rm "$(ws "$ID")/config.json"
    finds "$ID" 'it can be made from the template'
    mends "$ID" 'it can be made from the template'
    jq -e . "$(ws "$ID")/config.json"
    [ -z "$(find "$(ws "$ID")" -name '*.broken-*')" ]
}

@test "a broken config.json whose template is gone needs a hand and is left as it is" {
    cp -R "$ROOT/templates/solo" "$ROOT/templates/made"
    new_session -t made --no-start
    rm -r "$ROOT/templates/made"
    echo '{' >"$(ws "$ID")/config.json"
    local before
    before=$(snapshot)
    mas doctor --fix --json
    [ "$status" -eq 1 ]
    jq -e --arg id "$ID" 'any(.findings[]; .subject == $id and .state == "by hand")' <<<"$output"
    [ "$(snapshot)" = "$before" ]
}

# ---- run/

@test "what is left in run/ of a stopped session goes" {
    a_stopped_session
    printf 'MASENV1\n.\nSECRET=1' >"$(ws "$ID")/run/env"
    : >"$(ws "$ID")/run/00.sock"
    finds "$ID" 'run/env is left over'
    finds "$ID" 'run/00.sock is left over'
    mends "$ID" 'run/env is left over'
    [ -z "$(ls -A "$(ws "$ID")/run")" ]
}

@test "a file in run/ that a process has locked is not left over" {
    a_stopped_session
    exec 8>"$(ws "$ID")/run/00.lock"
    flock 8
    mas doctor --fix
    [ "$status" -eq 0 ]
    [ -e "$(ws "$ID")/run/00.lock" ]
    exec 8>&-
}

@test "what a host that lives has in run/ stays, what a killed one has left goes" {
    a_running_session
    touch -d '5 minutes ago' "$(ws "$ID")/run/solo."*
    is_in_order
    "$MAS" doctor --fix
    [ "$(ls "$(ws "$ID")/run")" = $'solo.lock\nsolo.sock' ]
    orphan_agents "$ID"
    finds "$ID" 'and 1 more are left over'
    mas doctor --fix
    [ "$status" -eq 0 ]
    [[ $output == *mended*'and 1 more are left over'* ]]
    mas doctor
    [[ $output == "note "*" agent solo has no host; bring it back with: mas restart $ID solo" ]]
    [ -z "$(ls -A "$(ws "$ID")/run")" ]
}

@test "what the killed hosts of a session have left is one finding" {
    new_session -n big
    settled "$ID"
    tm kill-server
    hosts_gone "$ID"
    : >"$(ws "$ID")/run/10.sock"
    : >"$(ws "$ID")/run/11.sock"
    : >"$(ws "$ID")/run/12.lock"
    mas doctor --json
    [ "$(jq '[.findings[] | select(.what | contains("run/"))] | length' <<<"$output")" -eq 1 ]
    finds "$ID" 'and 2 more are left over'
    "$MAS" doctor --fix
    [ -z "$(ls -A "$(ws "$ID")/run")" ]
}

@test "an agent of a running team whose host was killed is told, and how it is brought back" {
    new_session -t pair
    settled "$ID"
    pkill -KILL -f "mas host $ID lead"
    mas doctor --fix
    notes "$ID" "agent lead has no host; bring it back with: mas restart $ID lead"
    : >"$(ws "$ID")/run/env" # of a start that never ended, by a clock that was wrong
    touch -d '+1 year' "$(ws "$ID")/run/env"
    mas doctor --fix
    [[ $output == *'run/env is left over'*'agent lead has no host'* ||
        $output == *'agent lead has no host'*'run/env is left over'* ]]
    "$MAS" restart "$ID" lead
    is_in_order
}

@test "a team that is just starting keeps its environment file, an old one goes" {
    a_running_session
    : >"$(ws "$ID")/run/env"
    mas doctor --fix
    [ "$status" -eq 0 ]
    [ -e "$(ws "$ID")/run/env" ]
    touch -d '5 minutes ago' "$(ws "$ID")/run/env"
    finds "$ID" 'run/env is left over'
    mends "$ID" 'run/env is left over'
    [ ! -e "$(ws "$ID")/run/env" ]
}

@test "the socket of a server of its own that died goes" {
    export MAS_TMUX_SERVER=per-session
    a_running_session
    local socket
    socket=$(meta "$ID" TMUX_SOCKET)
    kill -9 "$(tmux -S "$socket" display-message -p '#{pid}')"
    hosts_gone "$ID"
    eventually eval "! tmux -S '$socket' list-sessions"
    [ -S "$socket" ]
    finds "$ID" 'the socket of its tmux server is left over'
    mas doctor --fix
    [ "$status" -eq 0 ]
    [ ! -e "$socket" ]
    mas start "$ID"
    [ "$status" -eq 0 ]
}

# ---- tmux

@test "a tmux session without its workspace is ended, what it showed is kept" {
    a_running_session
    local pane pid
    pane=$(field "$ID" '.agents[0].pane')
    pid=$(agent_pid "$ID")
    tm send-keys -t "$pane" -l 'echo the-last-wo''rds' \; send-keys -t "$pane" Enter
    eventually eval "tm capture-pane -p -t '$pane' | grep -qx the-last-words"
    rm -r "$(ws "$ID")"
    [ "$("$MAS" list --json | jq -r '.sessions[0].status')" = error ]
    finds "$ID" 'runs without a workspace'
    is_tmux_session "$(tmux_name "$ID")"
    mends "$ID" 'runs without a workspace'
    run ! is_tmux_session "$(tmux_name "$ID")"
    eventually test ! -e "/proc/$pid"
    grep -qx the-last-words "$ROOT/lost/$ID"-*.txt
    [ "$(mode "$ROOT/lost")" = 700 ]
    [ "$(stat -c %a "$ROOT/lost/$ID"-*.txt)" = 600 ]
    [ -z "$("$MAS" list --all -q)" ]
}

@test "the history above the screen of an orphan is kept too, of every pane" {
    new_session -t pair
    settled "$ID"
    local pane
    for pane in $(field "$ID" '.agents[].pane'); do
        tm send-keys -t "$pane" -l "seq -f 'line-%g' 300" \; send-keys -t "$pane" Enter
        eventually eval "tm capture-pane -p -t '$pane' | grep -qx line-300"
    done
    rm -r "$(ws "$ID")"
    mends "$ID" 'runs without a workspace'
    [ "$(grep -cx line-1 "$ROOT/lost/$ID"-*.txt)" -eq 2 ]
    [ "$(grep -cx line-300 "$ROOT/lost/$ID"-*.txt)" -eq 2 ]
}

@test "an orphan on a server of its own is found and ended" {
    export MAS_TMUX_SERVER=per-session
    a_running_session
    local pid socket
    pid=$(agent_pid "$ID")
    socket=$(meta "$ID" TMUX_SOCKET)
    rm -r "$(ws "$ID")"
    finds "$ID" 'runs without a workspace'
    mends "$ID" 'runs without a workspace'
    eventually test ! -e "/proc/$pid"
    run ! tmux -S "$socket" list-sessions
    [ "$(find "$ROOT/lost" -name "$ID-*.txt" | wc -l)" -eq 1 ]
}

@test "a row without a workspace goes" {
    a_stopped_session
    rm -r "$(ws "$ID")"
    [ "$("$MAS" list --json | jq -r '.sessions[0].status')" = error ]
    finds "$ID" 'in the index, but without a workspace'
    mends "$ID" 'in the index, but without a workspace'
    [ -z "$("$MAS" list -q)" ]
}

@test "a tmux session killed by hand is a crash: told, no fault, brought back by start" {
    a_running_session
    tm kill-session -t "=$(tmux_name "$ID"):"
    [ "$(field "$ID" .status)" = stopped ]
    [ "$(field "$ID" .crashed)" = true ]
    hosts_gone "$ID"
    local before
    before=$(snapshot)
    notes "$ID" "crashed; bring it back with: mas start $ID"
    mas doctor --fix
    [ "$status" -eq 0 ]
    [ "$(snapshot)" = "$before" ]
    [ "$(field "$ID" .crashed)" = true ]
    mas start --crashed
    [ "$output" = "busy started" ]
    is_in_order
}

@test "a session that its user renamed in tmux keeps that name" {
    a_running_session
    local pid
    pid=$(agent_pid "$ID")
    tm rename-session -t "=$(tmux_name "$ID"):" 'my work'
    [ "$(field "$ID" .status)" = active ]
    [ "$(field "$ID" .tmuxSession)" = 'my work' ]
    finds "$ID" "its tmux session is now called 'my work'"
    mends "$ID" "its tmux session is now called 'my work'"
    [ "$(meta "$ID" TMUX_SESSION)" = 'my work' ]
    is_tmux_session 'my work'
    [ "$(agent_pid "$ID")" = "$pid" ]
    mas stop 'my work'
    [ "$status" -eq 0 ]
}

@test "a name in tmux that is a format or a command runs nothing" {
    a_running_session
    tm rename-session -t "=$(tmux_name "$ID"):" "##(touch $T/ran);\$(touch $T/ran)'"
    mas doctor --fix
    [ "$status" -eq 0 ]
    is_in_order
    mas stop "$ID"
    [ "$status" -eq 0 ]
    mas start "$ID"
    [ "$status" -eq 0 ]
    (. "$(ws "$ID")/.session")
    [ ! -e "$T/ran" ]
}

@test "a team that runs although it was to be stopped is active again" {
    a_running_session
    local pid
    pid=$(agent_pid "$ID")
    sed -i 's/^STATUS=.*/STATUS=stopped/' "$(ws "$ID")/.session"
    echo 'STOPPED_AT=2025-01-01T00:00:00Z' >>"$(ws "$ID")/.session"
    [ "$("$MAS" list --all --json | jq -r '.sessions[0].status')" = active ]
    finds "$ID" 'it runs although it was to be stopped'
    mends "$ID" 'it runs although it was to be stopped'
    [ "$(meta "$ID" STATUS)" = active ]
    [ -z "$(meta "$ID" STOPPED_AT)" ]
    [ "$(agent_pid "$ID")" = "$pid" ]
}

@test "sessions of the user on the same server are left alone, whatever they are called" {
    a_running_session
    tm new-session -d -s own 'exec sleep 1000'
    tm new-session -d -s mas-0c0c0c0c 'exec sleep 1000'
    tm new-session -d -s mas-1c1c1c1c 'exec sleep 1000'
    tm set-option -t =mas-1c1c1c1c: @mas_id 'not an id'
    local before
    before=$(tm list-panes -a -F '#{session_name} #{pane_pid}')
    mas doctor --fix
    [ "$status" -eq 0 ]
    [ "$output" = 'everything is in order' ]
    [ "$(tm list-panes -a -F '#{session_name} #{pane_pid}')" = "$before" ]
}

@test "without tmux nothing that runs is taken for stopped" {
    a_running_session
    mkdir "$T/bin"
    local disk
    disk=$(snapshot)
    run --separate-stderr env PATH="$T/bin" "$MAS" doctor --fix
    [ "$(snapshot)" = "$disk" ]
    [[ $output == "by hand "*"$ID "*"not looked at: cannot run 'tmux': there is no such program in PATH" ]]
    is_in_order
    [ "$(field "$ID" .status)" = active ]
}

@test "a tmux that cannot be asked is told once, not at each of its sessions" {
    a_running_session
    new_session -t solo
    mkdir "$T/bin"
    run --separate-stderr env PATH="$T/bin" "$MAS" doctor --fix
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ $output == "by hand "*" tmux "*"2 sessions were not looked at: cannot run 'tmux': "*'; install tmux'* ]]
}

# A team whose agent ignores the hang-up
an_agent_that_stays() {
    cp -R "$ROOT/templates/solo" "$ROOT/templates/made"
    printf '%s\n' 'trap "" HUP TERM' ': >ready' 'while :; do sleep 1000; done' \
        >"$ROOT/templates/made/unit/solo/agent.sh"
    sed -i '/^\[agent solo\]/a command = sh agent.sh' "$ROOT/templates/made/template.ini"
    new_session -t made
    eventually test -e "$(ws "$ID")/unit/solo/ready"
    PID=$(agent_pid "$ID")
}

# One whose hosts and tmux server were killed
an_agent_without_tmux() {
    printf '[stop]\nhangup = 0\nterminate = 0\n' >>"$ROOT/mas.ini"
    an_agent_that_stays
    orphan_agents "$ID"
    tm kill-server
}

@test "hosts that are ending their agents are no fault, and left to it" {
    printf '[stop]\nhangup = 60s\n' >>"$ROOT/mas.ini"
    an_agent_that_stays
    tm kill-server
    notes "$ID" "its agents are being ended; end them now with: mas stop $ID"
    mas doctor --fix
    [ "$status" -eq 0 ]
    [ -e "/proc/$PID" ]
    kill -KILL -- "-$PID"
    hosts_gone "$ID"
    notes "$ID" 'crashed'
    [[ $output != *'being ended'* ]]
}

@test "agents that outlived their tmux server are found and ended" {
    an_agent_without_tmux
    [ "$(field "$ID" .crashed)" = true ]
    finds "$ID" 'it does not run, but processes of its agents do'
    [ -e "/proc/$PID" ]
    mas doctor --fix --json
    [ "$status" -eq 0 ]
    jq -e --arg id "$ID" 'any(.findings[]; .subject == $id and .state == "mended" and (.what | contains("processes of its agents")))' <<<"$output"
    eventually test ! -e "/proc/$PID"
    [ "$(field "$ID" .crashed)" = true ]
    mas doctor
    [ "$status" -eq 0 ]
}

@test "processes of other sessions are not ended with them" {
    a_running_session
    local other=$ID pid
    pid=$(agent_pid "$ID")
    tm kill-session -t "=$(tmux_name "$other"):"
    an_agent_without_tmux
    new_session -t solo
    pid=$(agent_pid "$ID")
    mas doctor --fix
    [ "$status" -eq 0 ]
    [ "$(agent_pid "$ID")" = "$pid" ]
    [ -e "/proc/$pid" ]
}

# ---- a root in another place

@test "a root that was moved while a team runs is put right" {
    a_running_session
    local pid
    pid=$(agent_pid "$ID")
    mv "$ROOT" "$T/moved"
    ROOT=$T/moved
    export MAS_ROOT=$ROOT
    [ "$(field "$ID" .status)" = active ]
    finds "$ID" 'its paths are those of another place'
    finds "$ID" 'its tmux session names the old root'
    mends "$ID" 'its tmux session names the old root'
    [ "$(meta "$ID" SESSION_DIR)" = "$ROOT/sessions/$ID" ]
    [ "$(meta "$ID" UNIT_DIR)" = "$ROOT/sessions/$ID/unit" ]
    [ "$(meta "$ID" WORKFLOWS_DIR)" = "$ROOT/sessions/$ID/workflows" ]
    [ "$(tm show-options -v -t "=$(tmux_name "$ID"):" @mas_root)" = "$ROOT" ]
    [ "$(tm show-environment -t "=$(tmux_name "$ID"):" MAS_SESSION_DIR)" = "MAS_SESSION_DIR=$ROOT/sessions/$ID" ]
    [ "$(agent_pid "$ID")" = "$pid" ]
    mas stop "$ID"
    [ "$status" -eq 0 ]
    eventually test ! -e "/proc/$pid"
}

@test "a moved root with an odd name is put right, and nothing in the name is run" {
    a_running_session
    local odd="$T/it's \"#(touch $T/ran)\" \$(touch ran) ü;"
    mkdir -p "$(dirname "$odd")"
    mv "$ROOT" "$odd"
    ROOT=$odd
    export MAS_ROOT=$odd
    [ "$(field "$ID" .status)" = active ]
    mends "$ID" 'its tmux session names the old root'
    [ "$(tm show-options -v -t "=$(tmux_name "$ID"):" @mas_root)" = "$odd" ]
    mas stop "$ID"
    [ "$status" -eq 0 ]
    [ "$(find "$T" -name ran | wc -l)" -eq 0 ]
}

@test "a root that was moved while all was stopped is put right" {
    a_stopped_session
    mv "$ROOT" "$T/moved"
    ROOT=$T/moved
    export MAS_ROOT=$ROOT
    finds "$ID" 'its paths are those of another place'
    mends "$ID" 'its paths are those of another place'
    [ "$(meta "$ID" SESSION_DIR)" = "$ROOT/sessions/$ID" ]
}

@test "a copy of a root takes nothing of the first one's teams" {
    a_running_session
    local pid
    pid=$(agent_pid "$ID")
    cp -a "$ROOT" "$T/copy"
    "$MAS" --root "$T/copy" doctor --fix || true
    [ "$(tm show-options -v -t "=$(tmux_name "$ID"):" @mas_root)" = "$ROOT" ]
    [ "$(agent_pid "$ID")" = "$pid" ]
    [ "$("$MAS" --root "$T/copy" list --all --json | jq -r '.sessions[0].status')" = stopped ]
    is_in_order
}

# ---- the index

@test "an index that is gone is made anew" {
    a_running_session
    a_stopped_session
    rm "$ROOT/sessions/.sessions.index"
    mas doctor
    [ "$status" -eq 0 ]
    [ "$("$MAS" list -q | wc -l)" -eq 2 ]
    [ "$(mode "$ROOT/sessions/.sessions.index")" = 600 ]
    is_in_order
}

@test "a broken index is made anew, and that is told" {
    a_running_session
    echo '{"version":"1.0", "sessions":[{' >"$ROOT/sessions/.sessions.index"
    mas doctor
    [ "$status" -eq 0 ]
    [[ $output == mended*.sessions.index*'made anew from the workspaces'* ]]
    jq -e '.sessions | length == 1' "$ROOT/sessions/.sessions.index"
    is_in_order
}

@test "a workspace that has no row is put in" {
    a_stopped_session one
    cp -a "$(ws "$ID")" "$T/backup"
    "$MAS" rm -q one
    a_stopped_session two
    mv "$T/backup" "$(ws "$(. "$T/backup/.session" && echo "$SESSION_ID")")"
    local back
    back=$("$MAS" list --all --json | jq -r '.sessions[] | select(.name == "one").sessionId')
    finds "$back" 'not in the index'
    mends "$back" 'not in the index'
    [ "$("$MAS" list -q | wc -l)" -eq 2 ]
    grep -q "$back" "$ROOT/sessions/.sessions.index"
}

@test "a row that is out of date is written anew" {
    a_stopped_session
    sed -i 's/^NAME=.*/NAME=other/' "$(ws "$ID")/.session"
    finds "$ID" 'its row in the index is out of date'
    mends "$ID" 'its row in the index is out of date'
    [ "$("$MAS" list --json | jq -r '.sessions[0].name')" = other ]
}

@test "two sessions of one name need a hand" {
    a_stopped_session one
    local one=$ID
    a_stopped_session two
    sed -i 's/^NAME=.*/NAME=one/' "$(ws "$ID")/.session"
    mas doctor --fix --json
    [ "$status" -eq 1 ]
    jq -e 'any(.findings[]; .state == "by hand" and (.what | contains("has the same name '\''one'\''")))' <<<"$output"
    mas show one
    [ "$status" -eq 4 ]
    [[ $stderr == *"$one"* ]]
    [[ $stderr == *"$ID"* ]]
}

# ---- at work

@test "a session that is being worked on is told of and not looked at" {
    a_stopped_session
    chmod 777 "$(ws "$ID")"
    exec 8<"$(ws "$ID")/.session.lock"
    flock 8
    notes "$ID" busy
    mas doctor --fix
    [ "$status" -eq 0 ]
    [ "$(mode "$(ws "$ID")")" = 777 ]
    exec 8<&-
    mends "$ID" 'has mode 777'
}

@test "many things at once are all found and mended by one run" {
    a_running_session one
    local one=$ID
    a_stopped_session two
    local two=$ID
    a_stopped_session three
    mkdir "$ROOT/sessions/.new-0c0c0c0c-1111-4222-8333-444444444444"
    echo nonsense >"$(ws "$one")/.session"
    rm -r "$(ws "$two")"
    echo '{' >"$(ws "$ID")/config.json"
    chmod 755 "$(ws "$ID")"
    mas doctor --json
    [ "$status" -eq 1 ]
    [ "$(jq '[.findings[] | select(.state == "open")] | length' <<<"$output")" -ge 5 ]
    mas doctor --fix
    [ "$status" -eq 0 ]
    [[ $output != *open* ]]
    is_in_order
    [ "$("$MAS" list -q | wc -l)" -eq 2 ]
    [ "$(field "$one" .status)" = active ]
}

@test "without tmux that is told once, also for sessions on servers of their own" {
    printf '[tmux]\nserver = per-session\n' >"$ROOT/mas.ini"
    new_session -t solo
    new_session -t solo
    mkdir "$T/bin"
    run env PATH="$T/bin" "$MAS" doctor
    [ "$status" -ne 0 ]
    [ "$(grep -c "cannot run 'tmux'" <<<"$output")" -eq 1 ]
    [[ $output == *"2 sessions were not looked at: cannot run 'tmux': there is no such program in PATH"* ]]
    mas stop --all
}
