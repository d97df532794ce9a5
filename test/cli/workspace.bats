#!/usr/bin/env bats
load ../helper

# Modes of all that SPEC names in a workspace and around it, as "mode name".
modes() {
    (cd "$ROOT/sessions" && stat -c '%a %n' . .sessions.index .sessions.lock &&
        cd "$1" && stat -c '%a %n' . .session .session.lock config.json run unit unit/solo)
}
right_modes='755 .
600 .sessions.index
600 .sessions.lock
700 .
600 .session
600 .session.lock
600 config.json
700 run
755 unit
755 unit/solo'

# All that a copy must keep: kinds, modes, sizes, link targets, contents. Names end in NUL.
facts() {
    (cd "$1" && LC_ALL=C find . -mindepth 1 -printf '%P %y %m %l %T@\0' | LC_ALL=C sort -z | tr '\0' '\n' &&
        LC_ALL=C find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum)
}

unit() { printf %s "$ROOT/templates/solo/unit/solo"; }

# `mas new` refuses to copy $1 of the template because of $2, and leaves nothing.
refuses() {
    local before
    new_session -t pair --no-start
    before=$(snapshot)
    mas new -t solo
    if [ "$status" -ne 1 ] || [ "${stderr_lines[0]}" != "mas: cannot copy 'templates/solo/$1': $2" ]; then
        echo "said ($status): $stderr"
        return 1
    fi
    [ -z "$output" ] && [ "$(snapshot)" = "$before" ] || return
    run tm list-sessions
    [ "$status" -ne 0 ]
}

@test "a workspace has the modes of the contract whatever the umask" {
    for mask in 000 022 027 077 777; do
        umask $mask
        new_session -t solo --no-start
        umask 022
        if ! diff <(modes "$ID") <(echo "$right_modes"); then
            echo "umask $mask"
            return 1
        fi
        [ -z "$(find "$ROOT/sessions/$ID" ! -type l -perm /022)" ]
        diff <(facts "$ROOT/templates/solo/unit") <(facts "$ROOT/sessions/$ID/unit")
    done
}

@test "the modes stay right over start, stop and rm whatever the umask" {
    for mask in 000 077; do
        umask $mask
        new_session -t solo
        "$MAS" stop -q "$ID"
        "$MAS" start -q "$ID"
        "$MAS" stop -q "$ID"
        umask 022
        diff <(modes "$ID") <(echo "$right_modes")
        [ -z "$(find "$ROOT/sessions/$ID" ! -type l -perm /022)" ]
        [ -z "$(find "$ROOT/sessions/$ID" -maxdepth 1 -type f -perm /077)" ]
        [ -z "$(find "$ROOT/sessions/$ID/run" "$ROOT/sessions/$ID/logs" -perm /077)" ]
    done
}

@test "modes, times and executable bits survive, whatever the umask" {
    d=$(unit)
    echo x >"$d/script"
    chmod 755 "$d/script"
    echo x >"$d/secret"
    chmod 600 "$d/secret"
    echo x >"$d/read-only"
    chmod 444 "$d/read-only"
    echo x >"$d/nothing"
    chmod 000 "$d/nothing"
    mkdir -m 700 "$d/private"
    mkdir "$d/locked"
    echo x >"$d/locked/file"
    chmod 555 "$d/locked"
    touch -d 2001-02-03T04:05:06Z "$d/script" "$d/private"
    for mask in 000 077; do
        umask $mask
        new_session -t solo --no-start
        umask 022
        diff <(facts "$ROOT/templates/solo/unit") <(facts "$ROOT/sessions/$ID/unit")
    done
    "$MAS" rm -q "$ID"
    [ ! -e "$ROOT/sessions/$ID" ]
}

@test "empty directories and empty files survive" {
    mkdir -p "$(unit)/empty/deeper/still"
    : >"$(unit)/empty/nothing"
    new_session -t solo --no-start
    [ -d "$ROOT/sessions/$ID/unit/solo/empty/deeper/still" ]
    [ "$(stat -c %s "$ROOT/sessions/$ID/unit/solo/empty/nothing")" = 0 ]
    diff <(facts "$ROOT/templates/solo/unit") <(facts "$ROOT/sessions/$ID/unit")
}

@test "symbolic links are kept as links and not followed" {
    d=$(unit)
    mkdir "$T/outside"
    echo secret >"$T/outside/file"
    ln -s "$T/outside" "$d/to-directory"
    ln -s "$T/outside/file" "$d/to-file"
    ln -s nowhere "$d/dangling"
    ln -s loop "$d/loop"
    ln -s ../../../.. "$d/up"
    ln -s $'odd\n target \xff;$(x)' "$d/odd"
    ln -s "$(printf '%04000d' 0)" "$d/long"
    ln -s /dev/zero "$d/device"
    new_session -t solo --no-start
    diff <(facts "$ROOT/templates/solo/unit") <(facts "$ROOT/sessions/$ID/unit")
    [ "$(readlink "$ROOT/sessions/$ID/unit/solo/to-directory")" = "$T/outside" ]
    [ -L "$ROOT/sessions/$ID/unit/solo/device" ]
    "$MAS" rm -q "$ID"
    [ "$(cat "$T/outside/file")" = secret ]
}

@test "odd file names survive, also with newlines and bytes that are not UTF-8" {
    d=$(unit)
    # shellcheck disable=SC1003,SC2016
    for name in ' ' 'a b ' $'new\nline' $'tab\t' $'esc\033[31m' $'\xff\xfe' $'caf\xe9' 'é中😀' '-rf' '--' '*' '$(touch ran)' \
        '`touch ran`' '#(touch ran)' ';' "quote'\"" '\' '...' '.hidden' "$(printf '%0255d' 0)"; do
        echo "$name" >"$d/$name"
        mkdir "$d/${name:0:250}.d"
        echo x >"$d/${name:0:250}.d/$name"
    done
    new_session -t solo
    diff <(facts "$ROOT/templates/solo/unit") <(facts "$ROOT/sessions/$ID/unit")
    "$MAS" show "$ID" >/dev/null
    "$MAS" rm -q -f "$ID"
    [ ! -e "$ROOT/sessions/$ID" ]
    run find "$T" -name ran
    [ -z "$output" ]
}

@test "sparse files stay sparse and hold the same" {
    f=$(unit)/sparse
    truncate -s 256M "$f"
    printf middle | dd of="$f" bs=1 seek=100000000 conv=notrunc status=none
    printf start | dd of="$f" bs=1 conv=notrunc status=none
    truncate -s 64M "$(unit)/hole"
    head -c 100000 /dev/urandom >"$(unit)/end-hole"
    truncate -s 32M "$(unit)/end-hole"
    new_session -t solo --no-start
    for name in sparse hole end-hole; do
        [ "$(stat -c %s "$ROOT/sessions/$ID/unit/solo/$name")" = "$(stat -c %s "$(unit)/$name")" ]
        [ "$(stat -c %b "$ROOT/sessions/$ID/unit/solo/$name")" -le 2048 ]
        cmp "$(unit)/$name" "$ROOT/sessions/$ID/unit/solo/$name"
    done
}

@test "many and large files survive" {
    for i in $(seq 400); do
        printf '%0*d' $((i * 11)) "$i" >"$(unit)/f$i"
    done
    head -c 9000001 /dev/urandom >"$(unit)/large"
    new_session -t solo --no-start
    diff <(facts "$ROOT/templates/solo/unit") <(facts "$ROOT/sessions/$ID/unit")
}

@test "a copy shares no later write with the template" {
    echo one >"$(unit)/file"
    ln "$(unit)/file" "$(unit)/second-name"
    new_session -t solo --no-start
    echo two >"$ROOT/sessions/$ID/unit/solo/file"
    [ "$(cat "$(unit)/file")" = one ]
    [ "$(cat "$ROOT/sessions/$ID/unit/solo/second-name")" != "" ]
    [ "$(cat "$(unit)/second-name")" = one ]
}

@test "deep directories survive, and what is too deep is refused" {
    d=$(unit)
    (
        cd "$d" || exit
        for _ in $(seq 100); do
            mkdir d && cd d || exit
        done
        echo deep >file
    )
    new_session -t solo --no-start
    diff <(facts "$ROOT/templates/solo/unit") <(facts "$ROOT/sessions/$ID/unit")
    "$MAS" rm -q "$ID"
    (
        cd "$d" || exit
        for _ in $(seq 100); do cd d || exit; done
        for _ in $(seq 50); do
            mkdir d && cd d || exit
        done
    )
    before=$(ls -A "$ROOT/sessions")
    fails 1 new -t solo
    [[ $stderr == "mas: cannot copy 'templates/solo/unit/"*"': it is nested too deeply" ]]
    [ "$(ls -A "$ROOT/sessions")" = "$before" ]
}

@test "a FIFO in the template is refused" {
    mkfifo "$(unit)/pipe"
    refuses unit/solo/pipe 'it is a FIFO'
}

@test "a socket in the template is refused" {
    python3 -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1])' "$(unit)/sock"
    refuses unit/solo/sock 'it is a socket'
    rm "$(unit)/sock"
}

@test "a device in the template is refused" {
    mknod "$(unit)/null" c 1 3 2>/dev/null || skip "this machine lets us make no device"
    refuses unit/solo/null 'it is a device'
}

@test "setuid and setgid files in the template are refused" {
    echo x >"$(unit)/program"
    chmod 4755 "$(unit)/program"
    refuses unit/solo/program 'it is setuid or setgid'
    chmod 2755 "$(unit)/program"
    refuses unit/solo/program 'it is setuid or setgid'
}

@test "what is refused is told when it lies in workflows, too" {
    mkfifo "$ROOT/templates/solo/workflows/$(printf 'a\nb')"
    refuses "workflows/a\\x0ab" 'it is a FIFO'
}

@test "a template that cannot be read is refused" {
    [ "$(id -u)" -eq 0 ] || {
        chmod 000 "$(unit)/AGENTS.md"
        refuses unit/solo/AGENTS.md 'Permission denied'
        return
    }
    # root may read all: an immediate loop of links in place of a directory stands for it
    rm -r "$ROOT/templates/solo/unit"
    ln -s unit "$ROOT/templates/solo/unit"
    fails 1 new -t solo
    [[ $stderr == "mas: cannot use template 'solo': "* ]]
    [ -z "$(ls -A "$ROOT/sessions")" ]
}

@test "config.json is JSON with what the session was made from" {
    for name in solo pair default; do
        new_session -t $name --no-start
        config=$ROOT/sessions/$ID/config.json
        python3 -m json.tool "$config" >/dev/null
        [ "$(jq -r 'keys_unsorted | join(" ")' "$config")" = "version template description preset wall windows team rules" ]
        [ "$(jq -r '.version + " " + .template' "$config")" = "1.0 $name" ]
        [ "$(jq '[.team[].id] - [.windows[].agents[]] | length' "$config")" -eq 0 ]
        [ "$(jq '.team | length' "$config")" -eq "$(find "$ROOT/templates/$name/unit" -mindepth 1 -maxdepth 1 | wc -l)" ]
        [ "$(tail -c 1 "$config" | od -An -tx1)" = " 0a" ]
    done
}

@test "the metadata has the keys of the contract, in order, one a line" {
    new_session -t solo -n one
    [ "$(cut -d = -f 1 "$ROOT/sessions/$ID/.session" | xargs)" = "SESSION_ID TMUX_SESSION STATUS CREATED_AT CREATED_NSEC TMUX_SOCKET MACHINE BOOT EPOCH NAME MODE TEMPLATE PRIVATE SESSION_DIR UNIT_DIR WORKFLOWS_DIR LAST_ACTIVITY" ]
    "$MAS" stop -q one
    [ "$(cut -d = -f 1 "$ROOT/sessions/$ID/.session" | tail -n 1)" = STOPPED_AT ]
    [[ $(meta "$ID" CREATED_AT) =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$ ]]
    run grep -vE "^[A-Z_]+=([A-Za-z0-9_./:@%+,-]*|'[^']*')\$" "$ROOT/sessions/$ID/.session"
    [ -z "$output" ]
}

@test "the workspace holds the parts of the contract and no more" {
    new_session -t solo
    [ "$(find "$ROOT/sessions/$ID" -mindepth 1 -maxdepth 1 -printf '%f\n' | LC_ALL=C sort | xargs)" = \
        ".session .session.lock config.json logs run unit workflows" ]
    [ -s "$ROOT/sessions/$ID/logs/session.log" ]
    [ "$(find "$ROOT/sessions" -mindepth 1 -maxdepth 1 -printf '%f\n' | LC_ALL=C sort | xargs)" = \
        ".sessions.id .sessions.index .sessions.lock $ID" ]
}

@test "run is empty when nothing runs, and run/env is gone once it was read" {
    new_session
    # shellcheck disable=SC2329
    is_read() { [ ! -e "$ROOT/sessions/$ID/run/env" ]; }
    eventually is_read
    "$MAS" stop -q "$ID"
    [ -z "$(ls -A "$ROOT/sessions/$ID/run")" ]
}

@test "rm leaves nothing of a workspace, whatever its modes" {
    new_session -t solo
    mkdir -p "$ROOT/sessions/$ID/unit/solo/locked/deeper"
    chmod 000 "$ROOT/sessions/$ID/unit/solo/locked/deeper"
    chmod 500 "$ROOT/sessions/$ID/unit/solo/locked"
    mkfifo "$ROOT/sessions/$ID/unit/solo/pipe"
    mkdir "$T/outside"
    echo keep >"$T/outside/file"
    ln -s "$T/outside" "$ROOT/sessions/$ID/unit/solo/link"
    ok rm -f "$ID"
    [ "$(find "$ROOT/sessions" -mindepth 1 -maxdepth 1 -printf '%f\n' | LC_ALL=C sort | xargs)" = ".sessions.id .sessions.index .sessions.lock" ]
    [ "$(cat "$T/outside/file")" = keep ]
}
