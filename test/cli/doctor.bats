#!/usr/bin/env bats
# mas doctor: what is in order, the index, and many things at once.
load ../helper
load doctor

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
    ok doctor --fix
    [ "$output" = 'everything is in order' ]
    [ "$(snapshot)" = "$before" ]
    [ "$(cat "$ROOT/sessions/.sessions.index")" = "$index" ]
}

@test "doctor --json of what is in order has no findings" {
    a_stopped_session
    ok doctor --json
    [ "$(jq -c . <<<"$output")" = '{"findings":[]}' ]
}

@test "doctor takes no operand" {
    fails 2 doctor everything
    [[ $stderr == *"unexpected operand 'everything'"* ]]
}

# ---- the index

@test "an index that is gone is made anew" {
    a_running_session
    a_stopped_session
    rm "$ROOT/sessions/.sessions.index"
    ok doctor
    [ "$("$MAS" list -q | wc -l)" -eq 2 ]
    [ "$(mode "$ROOT/sessions/.sessions.index")" = 600 ]
    is_in_order
}

@test "a broken index is made anew, and that is told" {
    a_running_session
    echo '{"version":"1.0", "sessions":[{' >"$ROOT/sessions/.sessions.index"
    ok doctor
    [[ $output == mended*.sessions.index*'it was rebuilt from the workspaces'* ]]
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

# A copy of a root without the times of its files: what the index says is right, but not known to be.
@test "rows that are right, and not known to be, are noted and written anew" {
    command -v strace >/dev/null || skip 'strace is not installed'
    local first
    opened() { strace -f -o "$T/trace" -e trace=openat "$MAS" list -q >/dev/null && grep -c "$first" "$T/trace"; }
    a_stopped_session one
    first=$ID
    a_stopped_session two
    touch -d '2020-01-01 00:00:00' "$(ws "$first")/.session"
    ok doctor
    [[ $output == note*.sessions.index*'1 of its 2 rows'*'mas doctor --fix' ]]
    [ "$(opened)" -gt 0 ]
    ok doctor --fix
    [[ $output == mended*.sessions.index*'1 of its 2 rows'* ]]
    is_in_order
    [ "$(opened)" -eq 0 ] # a list no longer reads the metadata
}

@test "two sessions of one name need a hand" {
    a_stopped_session one
    local one=$ID
    a_stopped_session two
    sed -i 's/^NAME=.*/NAME=one/' "$(ws "$ID")/.session"
    fails 1 doctor --fix --json
    jq -e 'any(.findings[]; .state == "by hand" and (.what | contains("has the same name '\''one'\''")))' <<<"$output"
    fails 4 show one
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
    ok doctor --fix
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
    fails 1 doctor --json
    [ "$(jq '[.findings[] | select(.state == "open")] | length' <<<"$output")" -ge 5 ]
    ok doctor --fix
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
    [[ $output == *"2 sessions were not checked: cannot run 'tmux': there is no such program in PATH"* ]]
    mas stop --all
}

@test "doctor says what this machine lacks for the walls and limits of agents" {
    printf '[limits]\ncgroup = no\n[preset made]\ncommand = cat\nwall.home = .made\nlimits.memory = 1G\n' >>"$ROOT/mas.ini"
    new_session -t solo --agent made --no-start
    local bin=$T/bin
    mkdir "$bin"
    ln -s /usr/bin/* "$bin/"
    rm -f "$bin/bwrap"
    PATH=$bin notes walls "this machine cannot hold them: there is no program 'bwrap'; install bubblewrap: apt install bubblewrap"
    PATH=$bin notes limits "which hold less than a cgroup: limits.memory: limits.cgroup is 'no'; run mas in a unit of systemd with Delegate=yes"
    printf '[wall]\nlevel = require\n' >>"$ROOT/mas.ini"
    PATH=$bin fails 1 doctor
    [[ $output == *"by hand"*"walls"*"there is no program 'bwrap'; install bubblewrap"* ]]
}

# ---- what is worth knowing

@test "a root and templates that everybody may write to are found and closed, a sticky one by hand" {
    chmod 757 "$ROOT"
    finds "$ROOT" 'everybody on this machine may write to it'
    mends "$ROOT" 'everybody on this machine may write to it'
    [ "$(mode "$ROOT")" = 755 ]
    chmod 2777 "$ROOT/templates"
    finds templates 'everybody on this machine may write to it'
    mends templates 'everybody on this machine may write to it'
    [ "$(mode "$ROOT/templates")" = 2775 ]
    chmod 1777 "$ROOT"
    fails 1 doctor --fix
    [[ $output == "by hand  $ROOT  everybody on this machine may write to it; keep a root where only you may write" ]]
    [ "$(mode "$ROOT")" = 1777 ]
    chmod 755 "$ROOT"
}

@test "old sessions are one line, which says how to see or remove them" {
    local at
    at=$(date -u -d '40 days ago' +%Y-%m-%dT%H:%M:%SZ)
    for name in one two three; do
        a_stopped_session "$name"
        [ "$name" = three ] || sed -i "s/^\(LAST_ACTIVITY\|STOPPED_AT\)=.*/\1=$at/" "$(ws "$ID")/.session"
    done
    ok doctor --fix
    ok doctor
    [ "$output" = 'note  sessions  2 of its 3 sessions were last used more than 30 days ago; see which with: mas clean --older-than 30d --dry-run' ]
    mas clean --older-than 30d --dry-run
    [[ $output == *'2 sessions would be removed'* ]]
    printf '[retention]\nkeep = 2\n' >>"$ROOT/mas.ini"
    ok doctor
    [ "$output" = 'note  sessions  1 of its 3 sessions are to go, as [retention] says; remove them with: mas clean' ]
    ok clean
    is_in_order
}

@test "what is noted of several sessions alike is one line of the table, and each in the JSON" {
    printf '%s\n' '[preset made]' 'command = cat' >>"$ROOT/mas.ini"
    local first=
    for name in one two three; do
        new_session -t solo --agent made --no-start -n "$name"
        first=${first:-$ID}
    done
    ok doctor --json
    [ "$(jq '[.findings[] | select(.what | contains("no walls"))] | length' <<<"$output")" = 3 ]
    ok doctor
    [ "$(grep -c 'no walls' <<<"$output")" = 1 ]
    [[ $output == *"note  $first and 2 more  its agents have no walls, because nothing asks for them; stop it, then: mas start --wall $first"* ]]
    # of two of a kind that are wrong each has its line
    chmod 755 "$(ws "$first")" "$(ws "$ID")"
    fails 1 doctor
    [ "$(grep -c 'has mode 755 instead of 700' <<<"$output")" = 2 ]
}

@test "doctor says which teams need more memory than is free, of those that do not run" {
    local first
    printf '%s\n' '[preset shell]' 'memory = 9T' '[session]' 'template = pair' >"$ROOT/mas.ini"
    notes templates/pair 'its agents probably need 18T of memory, and only '
    a_stopped_session
    first=$ID
    notes "$first" 'its agents probably need 9.0T of memory, and only '
    "$MAS" new -q -t solo --no-start -n spare >/dev/null
    ok doctor
    [[ $output == *"$first and 1 more  its agents probably need 9.0T of memory, "* ]]
    "$MAS" start -q "$first"
    settled "$first"
    ok doctor --json
    jq -e --arg id "$first" 'all(.findings[]; .subject != $id)' <<<"$output"
    "$MAS" rm -q spare
    printf '%s\n' '[preset shell]' 'memory = 9T' 'start = demand' >"$ROOT/mas.ini"
    is_in_order
}
