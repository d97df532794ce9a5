#!/usr/bin/env bats
load ../helper

FILE() { printf %s "$ROOT/sessions/$ID/.session"; }

# $ID: a running session `broken`, whose metadata a test breaks; $GOOD: another one.
two() {
    cd "$T" || return
    new_session -t solo -n good
    GOOD=$ID
    new_session -t solo -n broken
    cp "$(FILE)" "$T/metadata"
    for id in "$ID" "$GOOD"; do
        "$MAS" wait "$id" --for idle
    done
}

# Whatever .session of $ID has become: `list` tells it as an error with this reason (a pattern), the
# commands that need it exit with 5, nothing of it is run, printed raw or changed, and the other
# session works.
is_damaged() {
    local why=$1 option verb kept
    kept=$(stat -c '%F %s %Y' "$(FILE)")
    for option in '' --all; do
        # shellcheck disable=SC2086
        run --separate-stderr timeout 10 "$MAS" list --json $option
        [ "$status" -eq 0 ] || return
        # shellcheck disable=SC2053
        if [ "$(jq -r --arg id "$ID" '.sessions[] | select(.sessionId == $id) | .status' <<<"$output")" != error ] ||
            [[ $(jq -r --arg id "$ID" '.sessions[] | select(.sessionId == $id) | .reason' <<<"$output") != $why ]]; then
            echo "list $option says: $output"
            return 1
        fi
        [ "$(jq -r --arg id "$GOOD" '.sessions[] | select(.sessionId == $id) | .status' <<<"$output")" = active ] || return
        [ "$(jq .total <<<"$output")" -eq 2 ] || return
    done
    run --separate-stderr timeout 10 "$MAS" list
    [ "$status" -eq 0 ] || return
    [[ $output == *"mas-${ID:0:8} "*" error: "* && $output == *"mas-${GOOD:0:8} "*" active"* ]] || return
    if LC_ALL=C grep -q $'[\001-\010\013-\037\177]' <<<"$output"; then
        printf 'a control character came through: %q\n' "$output"
        return 1
    fi
    for verb in start env rm; do
        run --separate-stderr timeout 10 "$MAS" $verb "$ID"
        # shellcheck disable=SC2053
        if [ "$status" -ne 5 ] || [ -n "$output" ] || [[ ${stderr_lines[0]} != "mas: cannot "*" session '$ID': "$why ]]; then
            echo "$verb says ($status): $output $stderr"
            return 1
        fi
        if LC_ALL=C grep -q $'[\001-\010\013-\037\177]' <<<"$stderr"; then
            printf 'a control character came through: %q\n' "$stderr"
            return 1
        fi
    done
    [ "$(stat -c '%F %s %Y' "$(FILE)")" = "$kept" ] || return
    [ -z "$(find "$T" -name 'ran*')" ] || return
    "$MAS" show good >/dev/null
}

# What a line appended to the metadata leads to. The short form of is_damaged, for many lines.
line_is() {
    local why rc=0
    why="its .session is damaged: line $(($(wc -l <"$T/metadata") + 1))$1"
    { cat "$T/metadata" && printf '%s\n' "$2"; } >"$(FILE)"
    "$MAS" list --json >"$T/out"
    jq -e --arg id "$ID" --arg why "$why" \
        '[.sessions[] | select(.status == "error") | [.sessionId, .reason]] == [[$id, $why]] and .total == 2' "$T/out" >/dev/null || {
        printf 'with the line %q list says: %s\n' "$2" "$(cat "$T/out")"
        return 1
    }
    "$MAS" env "$ID" >"$T/out" 2>"$T/err" || rc=$?
    if [ "$rc" -ne 5 ] || [ -s "$T/out" ] || [ "$(head -n 1 "$T/err")" != "mas: cannot read session '$ID': $why" ]; then
        printf 'with the line %q env says (%s): %s\n' "$2" "$rc" "$(cat "$T/err")"
        return 1
    fi
}

@test "shell code in the metadata is damage and is not run" {
    two
    # shellcheck disable=SC2016
    for line in 'touch ran' '$(touch ran)' '`touch ran`' ':; touch ran' '# comment' ' ' 'export NAME=x' 'NAME = x' 'name=x' '1=x' '=x' \
        'if true; then touch ran; fi' '. ./ran' 'A-B=x' ' NAME=x' "'NAME'=x"; do
        line_is ' is not KEY=value' "$line"
    done
    is_damaged 'its .session is damaged: line * is not KEY=value'
}

@test "values that a shell would run or expand are damage" {
    two
    # shellcheck disable=SC2016
    for value in '$(touch ran)' '`touch ran`' 'x;touch ran' 'x touch ran' 'x&touch ran' '|touch ran' '>ran' '<ran' '$HOME' '${x}' '"x"' \
        '"$(touch ran)"' 'a\b' '~' '*' '(x)' '#x' 'x#y' '!' 'é' 'x=y' '{a,b}' '[a]' '?'; do
        line_is ': a value that needs quotes has none' "X_KEY=$value"
    done
    is_damaged 'its .session is damaged: line *: a value that needs quotes has none'
}

@test "quotes that are not closed and text behind quotes are damage" {
    two
    line_is ': a quote is not closed' "X_KEY='open"
    line_is ': a quote is not closed' "X_KEY='"
    line_is ': a quote is not closed' "X_KEY='a'\\''b"
    # shellcheck disable=SC2016
    for value in "'a'b" "'a'\$(touch ran)" "'a''b'" "'a' ; touch ran" "'a'\\b" "'a'\\'" "'a' "; do
        line_is ': text follows a quoted value' "X_KEY=$value"
    done
    is_damaged 'its .session is damaged: line *: text follows a quoted value'
}

@test "control characters are damage, quoted or not" {
    two
    for bytes in $'\t' $'\r' $'\033[31m' $'\177' $'\007' $'\001'; do
        line_is ' holds a control character' "X_KEY='a${bytes}b'"
        line_is ' holds a control character' "X_KEY=a${bytes}b"
    done
    cp "$T/metadata" "$(FILE)"
    printf "X_KEY='a\0b'\n" >>"$(FILE)"
    is_damaged 'its .session is damaged: line * holds a control character'
    sed 's/$/\r/' "$T/metadata" >"$(FILE)"
    is_damaged 'its .session is damaged: line 1 holds a control character'
}

@test "a file that does not end in a newline is damage" {
    two
    head -c -1 "$T/metadata" >"$(FILE)"
    is_damaged 'its .session is damaged: line * has no end'
}

@test "a file that was cut off anywhere is damage" {
    two
    size=$(stat -c %s "$T/metadata")
    for at in 1 $((size / 8)) $((size / 4)) $((size / 2 + 1)); do
        head -c $at "$T/metadata" >"$(FILE)"
        is_damaged 'its .session is damaged: *'
    done
}

@test "an empty file is damage" {
    two
    : >"$(FILE)"
    is_damaged 'its .session is damaged: SESSION_ID is missing'
}

@test "a key that stands there twice is damage" {
    two
    line_is ': STATUS stands there twice' 'STATUS=stopped'
    cp "$T/metadata" "$(FILE)"
    printf 'X_KEY=1\n' >>"$(FILE)"
    cat "$(FILE)" >"$T/metadata"
    line_is ': X_KEY stands there twice' 'X_KEY=1'
}

@test "missing keys are damage" {
    two
    for key in SESSION_ID TMUX_SESSION STATUS CREATED_AT TMUX_SOCKET; do
        grep -v "^$key=" "$T/metadata" >"$(FILE)"
        is_damaged "its .session is damaged: $key is missing"
    done
}

@test "keys that may be missing are no damage" {
    two
    grep -vE '^(NAME|MODE|TEMPLATE|PRIVATE|SESSION_DIR|UNIT_DIR|WORKFLOWS_DIR|LAST_ACTIVITY|CREATED_NSEC)=' "$T/metadata" >"$(FILE)"
    [ "$(wc -l <"$(FILE)")" -eq 5 ]
    [ "$("$MAS" list --active -q | sort | xargs)" = "$(printf '%s\n' "$GOOD" "$ID" | sort | xargs)" ]
    mas env "$ID"
    [ "$status" -eq 0 ]
    [[ $output == *"UNIT_DIR='$ROOT/sessions/$ID/unit'"* ]]
}

@test "another session's id is damage" {
    two
    cp "$ROOT/sessions/$GOOD/.session" "$(FILE)"
    is_damaged 'its .session is damaged: SESSION_ID is that of another session'
    sed -i "s/^SESSION_ID=.*/SESSION_ID=/" "$(FILE)"
    is_damaged 'its .session is damaged: SESSION_ID is *'
    sed "s/^SESSION_ID=.*/SESSION_ID=${ID^^}/" "$T/metadata" >"$(FILE)"
    is_damaged 'its .session is damaged: SESSION_ID is that of another session'
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
CREATED_AT|yesterday|CREATED_AT is no time
CREATED_AT||CREATED_AT is no time
CREATED_AT|2025-13-40T99:99:99Z|CREATED_AT is no time
CREATED_AT|2025-12-18T08:00:00|CREATED_AT is no time
CREATED_AT|2025-12-18T08:00:00+01:00|CREATED_AT is no time
LAST_ACTIVITY|x|LAST_ACTIVITY is no time
TMUX_SESSION||TMUX_SESSION is empty or too long
TMUX_SOCKET||TMUX_SOCKET is no absolute path
TMUX_SOCKET|relative/path|TMUX_SOCKET is no absolute path
NAME|two.words|NAME is no session name
NAME|9lives|NAME is no session name
EOF
    is_damaged 'its .session is damaged: NAME is no session name'
}

@test "a file of 1 MB is damage, and so are too many keys" {
    two
    { cat "$T/metadata" && head -c 1000000 /dev/zero | tr '\0' 'x'; } >"$(FILE)"
    is_damaged 'cannot read *.session*: it is larger than * bytes'
    { cat "$T/metadata" && seq -f 'X_KEY%.0f=1' 300; } >"$(FILE)"
    is_damaged 'its .session is damaged: more than * keys'
    { cat "$T/metadata" && printf 'X_KEY%0100d=1\n' 0; } >"$(FILE)"
    is_damaged 'its .session is damaged: line * is not KEY=value'
}

@test "binary rubbish is damage" {
    two
    head -c 2000 /dev/urandom >"$(FILE)"
    is_damaged 'its .session is damaged: *'
    head -c 2000 /dev/zero >"$(FILE)"
    is_damaged 'its .session is damaged: *'
}

@test "a link in place of the file is damage and is not followed" {
    two
    mv "$(FILE)" "$T/elsewhere"
    ln -s "$T/elsewhere" "$(FILE)"
    is_damaged 'cannot read *.session*: *'
    cmp "$T/elsewhere" "$T/metadata"
}

@test "a FIFO in place of the file is damage and hangs nothing" {
    two
    rm "$(FILE)"
    mkfifo "$(FILE)"
    is_damaged 'cannot read *.session*: it is not a regular file'
}

@test "a directory in place of the file is damage" {
    two
    rm "$(FILE)"
    mkdir "$(FILE)"
    is_damaged 'cannot read *.session*: it is not a regular file'
}

@test "a missing file is damage" {
    two
    rm "$(FILE)"
    for option in '' --all; do
        # shellcheck disable=SC2086
        [ "$("$MAS" list --error -q $option)" = "$ID" ]
    done
    for verb in start env rm; do
        mas $verb "$ID"
        [ "$status" -eq 5 ]
        [[ $stderr == "mas: cannot "*" session '$ID': cannot read '.session': No such file or directory"* ]]
    done
    [ "$("$MAS" list --active -q)" = "$GOOD" ]
}

@test "stop of a damaged session ends its team and tells the damage" {
    two
    echo 'touch ran' >>"$(FILE)"
    mas stop "$ID"
    [ "$status" -eq 5 ]
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
    mas rm "$ID"
    [ "$status" -eq 5 ]
    [[ $stderr == *$'\n'"remove it all the same with: mas rm -f $ID" ]]
    [ -d "$ROOT/sessions/$ID" ]
    mas rm -f "$ID"
    [ "$status" -eq 0 ]
    [ ! -e "$ROOT/sessions/$ID" ]
    [ "$("$MAS" list -q)" = "$GOOD" ]
    run tm has-session -t "=mas-${ID:0:8}"
    [ "$status" -ne 0 ]
    [ ! -e "$T/ran" ]
}

@test "a damaged session among several does not keep the others from being stopped" {
    two
    echo 'x' >>"$(FILE)"
    mas stop broken good
    [ "$status" -eq 5 ]
    [ "$(field good .status)" = stopped ]
}

@test "damage of a stopped session is told by list --all, and by list once the index is gone" {
    two
    "$MAS" stop -q broken
    echo 'x' >>"$(FILE)"
    [ "$("$MAS" list --all --error -q)" = "$ID" ]
    rm "$ROOT/sessions/.sessions.index"
    mas list --json
    [ "$status" -eq 0 ]
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
        mas start "$ID"
        [ "$status" -eq 0 ]
        [ "$(field "$ID" .status)" = active ]
        [ "$(field good .status)" = active ]
        mas stop "$ID"
        [ "$status" -eq 0 ]
        [ "$(field good .status)" = active ]
        [ -z "$(find "$T" -name 'ran*')" ]
    done
}

@test "a socket path that looks like a command is a path" {
    two
    "$MAS" stop -q broken
    # shellcheck disable=SC2016
    sed -i "s|^TMUX_SOCKET=.*|TMUX_SOCKET='$T/#(touch ran);\$(touch ran) x;'|" "$(FILE)"
    mas start "$ID"
    [ "$status" -eq 0 ]
    # shellcheck disable=SC2016
    [ -S "$T/#(touch ran);\$(touch ran) x;" ]
    [ "$("$MAS" list --active -q | wc -l)" -eq 2 ]
    mas stop "$ID"
    [ "$status" -eq 0 ]
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
    mas doctor
    [ "$status" -eq 1 ]
    [[ $output == *"$ID  its .session holds keys that mas does not write: PATH, PROMPT_COMMAND, LD_PRELOAD, IFS, X"* ]]
    grep -q ^PATH= "$(FILE)"
    cp "$(FILE)" "$T/planted"
    mas doctor --fix
    [ "$status" -eq 0 ]
    run grep -E '^(PATH|PROMPT_COMMAND|LD_PRELOAD|IFS|X)=' "$(FILE)"
    [ -z "$output" ]
    [ "$(meta "$ID" X_MINE)" = abc ]
    mas doctor
    [ "$output" = 'everything is in order' ]
    # without doctor too, whatever writes
    cp "$T/planted" "$(FILE)"
    for verb in stop start; do
        mas $verb "$ID"
        [ "$status" -eq 0 ]
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
        mas $verb "$ID"
        [ "$status" -eq 0 ]
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
    mas start broken
    [ "$status" -eq 0 ]
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
        mas start broken
        [ "$status" -eq 5 ]
        [[ ${stderr_lines[0]} == "mas: "*"config.json"* ]]
        [ "$(snapshot)" = "$before" ]
        run tm has-session -t "=mas-${ID:0:8}"
        [ "$status" -ne 0 ]
    done
    rm "$ROOT/sessions/$ID/config.json"
    mas start broken
    [ "$status" -eq 5 ]
    mas show broken
    [ "$status" -eq 0 ]
    [ "$(field good .status)" = active ]
}
