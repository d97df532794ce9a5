#!/usr/bin/env bats
# The keys and values of .session, and what commands do with a damaged one.
load ../helper
load metadata

@test "missing keys are damage" {
    two
    for key in SESSION_ID TMUX_SESSION STATUS CREATED_AT; do
        grep -v "^$key=" "$T/metadata" >"$(FILE)"
        is_damaged "its .session is damaged: $key is missing"
    done
}

@test "keys that may be missing are no damage" {
    two
    grep -vE '^(NAME|MODE|TEMPLATE|PRIVATE|SESSION_DIR|UNIT_DIR|WORKFLOWS_DIR|LAST_ACTIVITY|CREATED_NSEC|MACHINE|BOOT|EPOCH)=' "$T/metadata" >"$(FILE)"
    [ "$(wc -l <"$(FILE)")" -eq 5 ]
    [ "$("$MAS" list --active -q | sort | xargs)" = "$(printf '%s\n' "$GOOD" "$ID" | sort | xargs)" ]
    ok env "$ID"
    [[ $output == *"UNIT_DIR='$ROOT/sessions/$ID/unit'"* ]]
}

@test "another session's id is damage" {
    two
    cp "$ROOT/sessions/$GOOD/.session" "$(FILE)"
    is_damaged 'its .session is damaged: SESSION_ID belongs to another session'
    sed -i "s/^SESSION_ID=.*/SESSION_ID=/" "$(FILE)"
    is_damaged 'its .session is damaged: SESSION_ID belongs to another session'
    sed "s/^SESSION_ID=.*/SESSION_ID=${ID^^}/" "$T/metadata" >"$(FILE)"
    is_damaged 'its .session is damaged: SESSION_ID belongs to another session'
}

@test "values that are none of the key's are damage" {
    two
    while IFS='|' read -r key value why; do
        sed "s|^$key=.*|$key=$value|" "$T/metadata" >"$(FILE)"
        [ "$("$MAS" list --json | jq -r '.sessions[] | select(.status == "error") | .sessionId + ": " + .reason')" = \
            "$ID: its .session is damaged: $why" ]
    done <<'EOF'
STATUS|wild|STATUS is not active, stopped or error
STATUS||STATUS is not active, stopped or error
STATUS|Active|STATUS is not active, stopped or error
MODE|wild|MODE is not isolated or legacy
PRIVATE|maybe|PRIVATE is not yes or no
CREATED_AT|yesterday|CREATED_AT is not a time
CREATED_AT||CREATED_AT is not a time
CREATED_AT|2025-13-40T99:99:99Z|CREATED_AT is not a time
CREATED_AT|2025-12-18T08:00:00|CREATED_AT is not a time
CREATED_AT|2025-12-18T08:00:00+01:00|CREATED_AT is not a time
EPOCH|-1|EPOCH is not a number from 0 to 999999999999
LAST_ACTIVITY|x|LAST_ACTIVITY is not a time
TMUX_SESSION||TMUX_SESSION is empty or too long
TMUX_SOCKET||TMUX_SOCKET is not an absolute path
TMUX_SOCKET|relative/path|TMUX_SOCKET is not an absolute path
NAME|two.words|NAME is not a session name
NAME|9lives|NAME is not a session name
EOF
    is_damaged 'its .session is damaged: NAME is not a session name'
}

@test "stop of a damaged session ends its team and tells the damage" {
    two
    echo 'touch ran' >>"$(FILE)"
    fails 5 stop "$ID"
    [[ $stderr == "mas: cannot stop session '$ID': its .session is damaged: line "* ]]
    run tm has-session -t "=mas-${ID:0:8}"
    [ "$status" -ne 0 ]
    tm has-session -t "=mas-${GOOD:0:8}"
    [ ! -e "$T/ran" ]
}

@test "rm -f removes a damaged session, and no other" {
    two
    # shellcheck disable=SC2016
    echo 'NAME=$(touch ran)' >>"$(FILE)"
    fails 5 rm "$ID"
    [[ $stderr == *$'\n'"remove it anyway with: mas rm -f $ID" ]]
    [ -d "$ROOT/sessions/$ID" ]
    ok rm -f "$ID"
    [ ! -e "$ROOT/sessions/$ID" ]
    [ "$("$MAS" list -q)" = "$GOOD" ]
    run tm has-session -t "=mas-${ID:0:8}"
    [ "$status" -ne 0 ]
    [ ! -e "$T/ran" ]
}

@test "a damaged session among several does not keep the others from being stopped" {
    two
    echo 'x' >>"$(FILE)"
    fails 5 stop broken good
    [ "$(field good .status)" = stopped ]
}

@test "damage of a stopped session is told by list --all, and by list once the index is gone" {
    two
    "$MAS" stop -q broken
    echo 'x' >>"$(FILE)"
    [ "$("$MAS" list --all --error -q)" = "$ID" ]
    rm "$ROOT/sessions/.sessions.index"
    ok list --json
    [ "$(jq -r --arg id "$ID" '.sessions[] | select(.sessionId == $id) | .status' <<<"$output")" = error ]
    [[ $(jq -r --arg id "$ID" '.sessions[] | select(.sessionId == $id) | .reason' <<<"$output") == *'is not KEY=value'* ]]
    sed -i '$d' "$(FILE)"
    [ "$("$MAS" list --error -q)" = "" ]
    [ "$(field broken .status)" = stopped ]
}

@test "STATUS=error is told with ERROR for its reason" {
    two
    sed -i 's/^STATUS=.*/STATUS=error/' "$(FILE)"
    printf "ERROR='the disk \"was\" full; \$(touch ran)'\n" >>"$(FILE)"
    # shellcheck disable=SC2016
    [ "$("$MAS" list --all --json | jq -r --arg id "$ID" '.sessions[] | select(.sessionId == $id) | .status + ": " + .reason')" = \
        'error: the disk "was" full; $(touch ran)' ]
    [ ! -e "$T/ran" ]
}

@test "hostile values of keys that take any text are run by nothing" {
    two
    "$MAS" stop -q broken
    # shellcheck disable=SC2016
    for value in '#(touch ran)' '$(touch ran)' '`touch ran`' 'x;' '; kill-server' '=good' "mas-${GOOD:0:8}" '%0' '-x' 'a:b.c' '*'; do
        cp "$T/metadata" "$(FILE)"
        sed -i "s/^STATUS=.*/STATUS=stopped/; s|^TMUX_SESSION=.*|TMUX_SESSION='$value'|; s|^TEMPLATE=.*|TEMPLATE='$value'|" "$(FILE)"
        "$MAS" list --all >/dev/null
        "$MAS" show "$ID" >/dev/null
        # shellcheck disable=SC2016
        [ "$(dash -c 'eval "$1"; printf %s "$SESSION_NAME"' - "$("$MAS" env "$ID")")" = "$value" ]
        ok start "$ID"
        [ "$(field "$ID" .status)" = active ]
        [ "$(field good .status)" = active ]
        ok stop "$ID"
        [ "$(field good .status)" = active ]
        [ -z "$(find "$T" -name 'ran*')" ]
    done
}

@test "a socket path that looks like a command is a path" {
    two
    "$MAS" stop -q broken
    # shellcheck disable=SC2016
    sed -i "s|^TMUX_SOCKET=.*|TMUX_SOCKET='$T/#(touch ran);\$(touch ran) x;'|" "$(FILE)"
    ok start "$ID"
    # shellcheck disable=SC2016
    [ -S "$T/#(touch ran);\$(touch ran) x;" ]
    [ "$("$MAS" list --active -q | wc -l)" -eq 2 ]
    ok stop "$ID"
    [ "$("$MAS" list --active -q)" = "$GOOD" ]
    [ -z "$(find "$T" -name ran)" ]
}

@test "the metadata of every session is read alike by dash, bash and busybox sh" {
    # shellcheck disable=SC2016
    for dir in plain 'two  words' "it's" "''" '"q"' 'a\b' '#(x)' '$(touch ran)' '`touch ran`' 'end;' 'é中' '*' '~' '!x' 'a=b' "'; touch ran; '"; do
        export MAS_ROOT="$T/$dir" MAS_TMUX_SOCKET="$T/$dir/s"
        "$MAS" init -q
        cd "$MAS_ROOT"
        ID=$("$MAS" new -q -t solo -n one --no-start)
        file=$MAS_ROOT/sessions/$ID/.session
        for shell in dash bash 'busybox sh'; do
            # shellcheck disable=SC2016,SC2086
            got=$($shell -euc '. "$1"; printf "%s|" "$SESSION_ID" "$TMUX_SESSION" "$STATUS" "$TMUX_SOCKET" "$NAME" "$MODE" "$TEMPLATE" \
                "$PRIVATE" "$SESSION_DIR" "$UNIT_DIR" "$WORKFLOWS_DIR"' - "$file")
            want="$ID|mas-${ID:0:8}|stopped|$MAS_ROOT/s|one|isolated|solo|no|$MAS_ROOT/sessions/$ID|$MAS_ROOT/sessions/$ID/unit|$MAS_ROOT/sessions/$ID/workflows|"
            if [ "$got" != "$want" ]; then
                printf '%s in %q: %s\n' "$shell" "$dir" "$got"
                return 1
            fi
        done
        run grep -vE "^[A-Z_]+=([A-Za-z0-9_./:@%+,-]*|'([^']|'\\\\'')*')\$" "$file"
        [ -z "$output" ]
    done
    [ -z "$(find "$T" -name ran)" ]
}

@test "keys that are neither mas's nor the user's own go when the file is rewritten, and doctor tells" {
    two
    printf "X_MINE=abc\nPATH=%s/bin\nPROMPT_COMMAND='touch %s/ran'\nLD_PRELOAD=x.so\nIFS=/\nX=1\n" "$T" "$T" >>"$(FILE)"
    [ "$(field broken .status)" = active ]
    fails 1 doctor
    [[ $output == *"$ID  its .session contains unknown keys: PATH, PROMPT_COMMAND, LD_PRELOAD, IFS, X"* ]]
    grep -q ^PATH= "$(FILE)"
    cp "$(FILE)" "$T/planted"
    ok doctor --fix
    run grep -E '^(PATH|PROMPT_COMMAND|LD_PRELOAD|IFS|X)=' "$(FILE)"
    [ -z "$output" ]
    [ "$(meta "$ID" X_MINE)" = abc ]
    mas doctor
    [ "$output" = 'everything is in order' ]
    # without doctor too, whatever writes
    cp "$T/planted" "$(FILE)"
    for verb in stop start; do
        ok $verb "$ID"
        run grep -E '^(PATH|PROMPT_COMMAND|LD_PRELOAD|IFS|X)=' "$(FILE)"
        [ -z "$output" ]
    done
    [ "$(meta "$ID" X_MINE)" = abc ]
    [ ! -e "$T/ran" ]
}

@test "keys that begin with X_ are kept over stop and start, as they were" {
    two
    printf "X_PLAIN=abc\nX_QUOTED='it'\\\\''s \$(touch ran) \"q\"'\nX_EMPTY=\n" >>"$(FILE)"
    tail -n 3 "$(FILE)" >"$T/unknown"
    for verb in stop start stop; do
        ok $verb "$ID"
        diff <(grep '^X_' "$(FILE)") "$T/unknown"
    done
    # shellcheck disable=SC2016
    [ "$(meta "$ID" X_QUOTED)" = 'it'\''s $(touch ran) "q"' ]
    [ ! -e "$T/ran" ]
    [ "$(stat -c %a "$(FILE)")" = 600 ]
}

@test "path keys are not believed, and are put right when the session is started" {
    two
    "$MAS" stop -q broken
    sed -i "s|^SESSION_DIR=.*|SESSION_DIR=/etc|; s|^UNIT_DIR=.*|UNIT_DIR=/etc|; s|^WORKFLOWS_DIR=.*|WORKFLOWS_DIR='/tmp/x y'|" "$(FILE)"
    [ "$(field broken .unitDir)" = "$ROOT/sessions/$ID/unit" ]
    ok start broken
    pid=$(agent_pid broken)
    eventually prints "$ROOT/sessions/$ID/unit/solo" readlink "/proc/$pid/cwd"
    [ "$(meta "$ID" SESSION_DIR) $(meta "$ID" UNIT_DIR) $(meta "$ID" WORKFLOWS_DIR)" = \
        "$ROOT/sessions/$ID $ROOT/sessions/$ID/unit $ROOT/sessions/$ID/workflows" ]
}

@test "reading never writes the metadata" {
    two
    sed -i "s|^UNIT_DIR=.*|UNIT_DIR=/elsewhere|" "$(FILE)"
    tm kill-session -t "=mas-${ID:0:8}"
    cp "$(FILE)" "$T/before"
    for command in list 'list --all' "show broken" "env broken" doctor; do
        # shellcheck disable=SC2086
        run "$MAS" $command
    done
    cmp "$(FILE)" "$T/before"
}

@test "a damaged config.json is told by start, and start leaves all as it was" {
    two
    "$MAS" stop -q broken
    for text in '' '{' '{}' '[]' 'null' '{"team":7}' '{"team":[{"id":"../../x"}]}' '{"team":[],"windows":[]}' "$(printf '%0300000d' 0)"; do
        printf '%s' "$text" >"$ROOT/sessions/$ID/config.json"
        before=$(snapshot)
        fails 5 start broken
        [[ ${stderr_lines[0]} == "mas: "*"config.json"* ]]
        [ "$(snapshot)" = "$before" ]
        run tm has-session -t "=mas-${ID:0:8}"
        [ "$status" -ne 0 ]
    done
    rm "$ROOT/sessions/$ID/config.json"
    fails 5 start broken
    ok show broken
    [ "$(field good .status)" = active ]
}
