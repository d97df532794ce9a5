#!/usr/bin/env bats
# shellcheck disable=SC1003,SC2015,SC2016,SC2153 # scripts for other shells; tests and reports
# lib/session.sh, the shell library: in each shell, with options and an IFS that find careless words.
load ../helper

SHELLS=(bash dash 'busybox sh' 'zsh -f')

setup_more() {
    LIB=$PROJECT/lib/session.sh
    export MAS LIB MAS_TEMPLATE=solo
    cd "$T" || return
}

# in_shell SHELL SCRIPT ARGUMENT...: the script in that shell; $output, $stderr, $status.
in_shell() {
    local shell=$1 script=$2 pipefail=
    shift 2
    case $shell in bash* | zsh*) pipefail='set -o pipefail;' ;; esac
    # shellcheck disable=SC2086 # a shell may have options
    run --separate-stderr $shell -c "set -eu; $pipefail"' IFS="/-0123456789abms "; CDPATH=/; umask 0
        . "$LIB"
        '"$script" - "$@"
}

# in_all SCRIPT ARGUMENT...: the same in every shell; it must succeed and print $expected.
in_all() {
    local shell
    for shell in "${SHELLS[@]}"; do
        in_shell "$shell" "$@"
        [ "$status" -eq 0 ] && [ -z "$stderr" ] && [ "$output" = "$expected" ] || {
            printf '%s: %s\n%s\n%s\n' "$shell" "$status" "$output" "$stderr" >&2
            return 1
        }
    done
}

# all_fail CODE WORDS SCRIPT ARGUMENT...: in every shell it ends so, prints nothing, and says WORDS.
all_fail() {
    local code=$1 words=$2 shell
    shift 2
    for shell in "${SHELLS[@]}"; do
        in_shell "$shell" "$@"
        [ "$status" -eq "$code" ] && [ -z "$output" ] && [[ $stderr == "mas: $words"* ]] || {
            printf '%s: %s\n%s\n%s\n' "$shell" "$status" "$output" "$stderr" >&2
            return 1
        }
    done
}

@test "the library is clean by shellcheck, for sh" {
    run shellcheck -s sh "$LIB"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "generate_uuid prints a new version 4 UUID each time" {
    expected=$(seq 4)
    in_all 'for i in 1 2 3 4; do generate_uuid >>"$1"; echo "$i"; done' "$T/ids"
    [ "$(sort -u "$T/ids" | grep -cxE '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}')" -eq 16 ]
}

@test "a session's whole life goes by the functions" {
    expected='mode isolated
stopped
active
found
error gone
active
stopped
stopped
kept'
    in_all '
        said() { printf "%s\n" "$*"; }
        status() { "$MAS" show "$id" --json | jq -r "(.status + \" \" + (.reason // \"\")) | rtrimstr(\" \")"; }
        id=$(generate_uuid)
        dir=$(create_session_workspace "$id")
        [ "$dir" = "$MAS_ROOT/sessions/$id" ]
        [ -d "$dir/unit/solo" ]
        load_session "$id"
        printf "mode %s\n" "$MAS_SESSION_MODE"
        status
        update_session_status "$id" active
        status
        if [ "$(find_active_session)" = "$id" ]; then echo found; fi
        stop_session "$id"
        update_session_status "$id" error gone
        status
        update_session_status "$id" active
        status
        stop_session "$id"
        stop_session "$id"
        status
        update_session_status "$id" error
        update_session_status "$id" stopped
        status
        if grep -q ERROR "$dir/.session"; then cat "$dir/.session"; fi
        if [ "$(find_session_by_id "$id")" = "$dir" ]; then echo kept; fi'
}

@test "create_session_workspace takes a config and starts nothing, whatever the mode is" {
    echo '{"agents":{"units":[{"unitId":1,"manager":{"id":"solo","prompt":"true"}}]}}' >"$T/it's a config.json"
    expected=
    MAS_SESSION_MODE=legacy in_all '
        id=$(generate_uuid)
        create_session_workspace "$id" "$1" >"$1.dir"
        grep -q "\"prompt\": *\"true\"" "$(find_session_by_id "$id")/config.json"
        other=$(generate_uuid)
        create_session_workspace "$other" "" >"$1.dir"
        [ "$(cat "$1.dir")" = "$MAS_ROOT/sessions/$other" ]' "$T/it's a config.json"
    [ "$("$MAS" list --stopped -q | wc -l)" -eq 8 ]
    [ "$("$MAS" list --active -q | wc -l)" -eq 0 ]
    [ "$("$MAS" list --json | jq -r '[.sessions[].mode] | unique[]')" = isolated ]
}

@test "load_session sets and exports exactly what mas env prints" {
    new_session --no-start
    expected=$("$MAS" env "$ID" | sort)
    in_all 'load_session "$1"
        sh -c '\''for name in $0; do eval "printf \"%s\\n\" \"$name='\'\\\'\''\${$name}'\'\\\'\''\""; done'\'' "$2" | sort' \
        "$ID" "$("$MAS" env "$ID" | cut -d= -f1 | tr '\n' ' ')"
}

@test "load_session sets what .session says, and exports none of that" {
    new_session --no-start -n shop
    expected="$ID $(meta "$ID" TMUX_SESSION) stopped $(meta "$ID" CREATED_AT) unset"
    in_all 'unset SESSION_ID TMUX_SESSION STATUS CREATED_AT; load_session shop
        printf "%s %s %s %s %s\n" "$SESSION_ID" "$TMUX_SESSION" "$STATUS" "$CREATED_AT" \
            "$(sh -c "echo \${STATUS-unset}")"'
}

@test "load_session that fails leaves the variables as they were" {
    new_session --no-start
    echo x >>"$ROOT/sessions/$ID/.session"
    expected="mine 5 3 unset"
    in_all 'SESSION_NAME=mine; first=0 second=0
        load_session "$1" 2>/dev/null || first=$?
        load_session other 2>/dev/null || second=$?
        printf "%s %s %s %s\n" "$SESSION_NAME" "$first" "$second" "${MAS_SESSION_ID-unset}"' "$ID"
}

@test "a root whose path holds blanks, quotes, patterns, commands and odd bytes changes nothing" {
    local root
    for root in "$T/it's a \"root\"" "$T/"'$(touch ran) `touch ran`; touch ran #\n\' "$T/*[a-z]?{1,2}~!!" \
        "$T/"$'\xff\xc3\x28\xe2\x82'; do
        "$MAS" init -q "$root"
        export MAS_ROOT=$root
        new_session --no-start
        expected="$root/sessions/$ID $root/sessions/$ID/unit"
        in_all 'dir=$(find_session_by_id "$1")
            initialize_session_units "$dir"
            cd "$dir/unit"
            load_session "$1"
            printf "%s %s\n" "$dir" "$UNIT_DIR"' "$ID"
    done
    [ -z "$(find "$T" -name 'ran*')" ]
}

@test "find_session_by_id takes whatever names a session" {
    new_session --no-start -n shop
    expected="$ROOT/sessions/$ID
$ROOT/sessions/$ID
$ROOT/sessions/$ID
$ROOT/sessions/$ID"
    in_all 'find_session_by_id "$1"; find_session_by_id shop; find_session_by_id @last
        find_session_by_id "$2"' "$ID" "${ID:0:8}"
}

@test "find_active_session prints the newest that runs" {
    all_fail 3 'cannot find an active session: no session is running' find_active_session
    new_session
    expected=$ID
    local id=$ID
    new_session
    "$MAS" stop -q "$ID"
    in_all find_active_session
    "$MAS" start -q "$ID"
    expected=$ID
    in_all find_active_session
    "$MAS" rm -qf "$ID" "$id"
}

@test "initialize_session_units makes what is missing and touches nothing else" {
    touch "$ROOT/templates/pair/unit/reviewer/more.md"
    new_session -t pair --no-start
    local dir=$ROOT/sessions/$ID shell
    cp -R "$dir/unit" "$dir/workflows" "$T"
    for shell in "${SHELLS[@]}"; do
        rm -rf "$dir/unit/lead" "$dir/workflows"
        echo mine >"$dir/unit/reviewer/AGENTS.md"
        rm -f "$dir/unit/reviewer/more.md"
        in_shell "$shell" 'initialize_session_units "$1"' "$dir"
        [ "$status" -eq 0 ]
        [ -z "$output$stderr" ]
        diff -r "$T/workflows" "$dir/workflows"
        diff -r "$T/unit/lead" "$dir/unit/lead"
        [ "$(cat "$dir/unit/reviewer/AGENTS.md")" = mine ]
        [ ! -e "$dir/unit/reviewer/more.md" ]
        [ "$(stat -c %a "$dir/unit" "$dir/workflows" "$dir/unit/lead" | sort -u)" = 755 ]
    done
    rm -rf "$dir/unit"
    "$MAS" library fill "$dir/"
    diff -r "$T/unit" "$dir/unit"
    [ -z "$(find "$ROOT/sessions" -maxdepth 1 -name '.new-*')" ]
    [ "$(grep -c ' fill unit=' "$dir/logs/session.log")" -eq 5 ]
}

@test "initialize_session_units makes what a lazy session has put off, as the template was then" {
    local dir
    printf '[workspace]\nlazy = yes\n' >>"$ROOT/mas.ini"
    echo old >"$ROOT/templates/pair/unit/lead/more.md"
    new_session -t pair --no-start
    dir=$ROOT/sessions/$ID
    [ ! -e "$dir/unit/lead" ]
    echo new >"$ROOT/templates/pair/unit/lead/more.md"
    rm -r "$dir/workflows"
    "$MAS" library fill "$dir"
    [ "$(cat "$dir/unit/lead/more.md")" = old ]
    [ -d "$dir/unit/reviewer" ]
    diff -r "$ROOT/templates/pair/workflows" "$dir/workflows"
    # from then on it is a session like any other
    rm -r "$dir/unit/lead"
    "$MAS" library fill "$dir"
    [ "$(cat "$dir/unit/lead/more.md")" = new ]
    [ -z "$(ls -A "$ROOT/sessions/.snapshots" 2>/dev/null)" ]
    ok doctor
}

@test "initialize_session_units fills a lazy session from its own snapshot when the template is gone or damaged" {
    local dir damage
    printf '[workspace]\nlazy = yes\n' >>"$ROOT/mas.ini"
    cp -R "$ROOT/templates/pair" "$T/pair"
    for damage in 'rm -r .' 'echo "[" >template.ini' 'rm -r unit/lead' 'chmod 000 template.ini'; do
        new_session -t pair --no-start
        dir=$ROOT/sessions/$ID
        [ ! -e "$dir/unit/lead" ]
        (cd "$ROOT/templates/pair" && eval "${damage/rm -r ./rm -r ../pair}")
        run -0 "$MAS" library fill "$dir"
        diff -r "$T/pair/unit" "$dir/unit"
        if [ "$damage" = 'rm -r .' ]; then run -0 "$MAS" library fill "$dir"; fi
        [ -z "$(ls -A "$ROOT/sessions/.snapshots" 2>/dev/null)" ]
        rm -rf "$ROOT/templates/pair"
        cp -R "$T/pair" "$ROOT/templates/pair"
    done
    # only what nothing but the template has cannot be made
    new_session -t pair --no-start
    dir=$ROOT/sessions/$ID
    rm -r "$ROOT/templates/pair" "$dir/workflows"
    all_fail 3 "cannot fill session '$ID': cannot use template 'pair': there is no such template" \
        'initialize_session_units "$1"' "$dir"
    diff -r "$T/pair/unit" "$dir/unit"
}

@test "initialize_session_units of the legacy session makes what the root lacks" {
    local dir
    new_session -t pair --mode legacy --no-start
    cp -R "$ROOT/unit" "$T/unit"
    rm -r "$ROOT/unit/lead" "$ROOT/workflows"
    echo mine >"$ROOT/unit/reviewer/AGENTS.md"
    expected=
    in_all 'initialize_session_units "$(find_session_by_id "$1")"; load_session "$1"
        [ "$UNIT_DIR:$MAS_SESSION_MODE" = "$MAS_ROOT/unit:legacy" ]' "$ID"
    diff -r "$T/unit/lead" "$ROOT/unit/lead"
    diff -r "$ROOT/templates/pair/workflows" "$ROOT/workflows"
    [ "$(cat "$ROOT/unit/reviewer/AGENTS.md")" = mine ]
    [ ! -e "$ROOT/sessions/$ID/unit" ]
}

@test "initialize_session_units follows no link, and says which agent it cannot help" {
    new_session -t pair --no-start
    local dir=$ROOT/sessions/$ID agent
    agent=$(jq -r '.team[0].id' "$dir/config.json")
    mkdir "$T/outside"
    mv "$dir/unit" "$T/unit"
    ln -s "$T/outside" "$dir/unit"
    all_fail 1 "cannot fill session '$ID': cannot open its unit" 'initialize_session_units "$1"' "$dir"
    [ -z "$(ls -A "$T/outside")" ]
    rm "$dir/unit"
    mv "$T/unit" "$dir/unit"
    rm -r "$dir/unit/$agent"
    ln -s nowhere "$dir/unit/$agent"
    all_fail 1 "cannot fill session '$ID': cannot open the directory of agent $agent" \
        'initialize_session_units "$1"' "$dir"
    rm "$dir/unit/$agent"
    sed -i "s/^TEMPLATE=.*/TEMPLATE=solo/" "$dir/.session"
    all_fail 1 "cannot fill session '$ID': template 'solo' has no directory for agent $agent" \
        'initialize_session_units "$1"' "$dir"
    sed -i "s/^TEMPLATE=.*/TEMPLATE=gone/" "$dir/.session"
    all_fail 3 "cannot fill session '$ID': cannot use template 'gone': there is no such template" \
        'initialize_session_units "$1"' "$dir"
}

@test "initialize_session_units takes no directory but a workspace of this root" {
    local dir
    new_session --no-start
    mkdir -p "$ROOT/sessions/other" "$T/away/sessions/$ID"
    for dir in "$T/none" / "$ROOT" "$ROOT/sessions/other" "$T/away/sessions/$ID" "$ROOT/sessions/$ID/unit" ''; do
        all_fail 3 "cannot find the session of '$dir': " 'initialize_session_units "$1"' "$dir"
    done
}

@test "error is for a session that does not run, and its reason is one line" {
    new_session
    all_fail 4 "cannot mark session '$ID': it is running" 'update_session_status "$1" error' "$ID"
    [ "$(meta "$ID" STATUS)" = active ]
    "$MAS" stop -q "$ID"
    local why
    for why in $'two\nlines' $'\e[2J' $'\xff' "$(printf '%01001d' 0)"; do
        all_fail 2 "cannot mark session '$ID': the reason must be one line" \
            'update_session_status "$1" error "$2"' "$ID" "$why"
    done
    [ "$(meta "$ID" STATUS)" = stopped ]
    why='it'\''s "$(touch ran)" `touch ran` ü'
    expected=
    in_all 'update_session_status "$1" error "$2"' "$ID" "$why"
    [ "$(field "$ID" .reason)" = "$why" ]
    [ "$(meta "$ID" ERROR)" = "$why" ]
    [ "$("$MAS" list --error -q)" = "$ID" ]
    [ ! -e "$T/ran" ]
}

@test "the exit codes are those of mas" {
    new_session --no-start
    local gone=c0ffee00-0000-4000-8000-000000000000 call
    for call in load_session find_session_by_id stop_session; do
        all_fail 3 "cannot find session '$gone'" "$call"' "$1"' "$gone"
    done
    all_fail 3 "cannot find session '$gone'" 'update_session_status "$1" active' "$gone"
    all_fail 4 "cannot create session '$ID': it exists" 'create_session_workspace "$1"' "$ID"
    all_fail 2 "cannot use id 'x'" 'create_session_workspace x'
    all_fail 1 "cannot " 'create_session_workspace "$(generate_uuid)" none.json'
    all_fail 6 'cannot start' 'PATH=$1 update_session_status @last active' "$T"
    echo x >>"$ROOT/sessions/$ID/.session"
    for call in load_session find_session_by_id; do
        all_fail 5 "cannot read session '$ID'" "$call"' "$1"' "$ID"
    done
    all_fail 5 "cannot stop session '$ID'" 'stop_session "$1"' "$ID"
    all_fail 5 "cannot fill session '$ID'" 'initialize_session_units "$1"' "$ROOT/sessions/$ID"
}

@test "a function that is called wrongly says how it is called, with 2" {
    all_fail 2 'usage: create_session_workspace ID [CONFIG]' create_session_workspace
    all_fail 2 'usage: create_session_workspace ID [CONFIG]' 'create_session_workspace 1 2 3'
    all_fail 2 'usage: initialize_session_units DIR' initialize_session_units
    all_fail 2 'usage: load_session ID' load_session
    all_fail 2 'usage: load_session ID' 'load_session 1 2'
    all_fail 2 'usage: find_session_by_id ID' find_session_by_id
    all_fail 2 'usage: update_session_status ID active|stopped|error [WHY]' 'update_session_status x'
    all_fail 2 'usage: update_session_status ID active|stopped|error [WHY]' 'update_session_status x ready'
    all_fail 2 'usage: update_session_status ID active|stopped|error [WHY]' 'update_session_status x active why'
    all_fail 2 'usage: stop_session ID' stop_session
    # also where an option of mas stands in the place of an operand
    all_fail 3 "cannot find session '--all'" 'stop_session --all'
    all_fail 3 "cannot find session '--json'" 'load_session --json'
    all_fail 3 "cannot find session '-f'" 'update_session_status -f active'
}

@test "in a team's shell the functions still want their session" {
    new_session --no-start
    export MAS_SESSION_ID=$ID
    all_fail 2 'usage: load_session ID' load_session
    all_fail 3 "cannot find session ''" 'load_session ""'
    all_fail 3 "cannot find session ''" 'stop_session ""'
    all_fail 3 "cannot find session ''" 'update_session_status "" active'
}

@test "the library changes no variable, option, directory or operand but those it names" {
    local shell
    new_session --no-start
    for shell in "${SHELLS[@]}"; do
        in_shell "$shell" '
            IFS="/-0123456789abms "
            state() { set | sed -n "s/^\([A-Za-z][A-Za-z0-9_]*\)=.*/\1/p; s/^\(_m[A-Za-z0-9_]*\)=.*/\1/p"
                printf "%s\n" "$-" "$PWD" "$IFS" "$CDPATH" "$#" "$*"; umask; }
            state >before
            . "$LIB"
            generate_uuid >out
            find_active_session >out 2>&1 || :
            find_session_by_id "$1" >out
            initialize_session_units "$MAS_ROOT/sessions/$1"
            load_session none 2>out || :
            update_session_status "$1" stopped
            stop_session "$1"
            state >after
            diff before after | grep "^[<>]" | grep -vE "^. (PIPESTATUS|BASH_[A-Z]*|LINENO|RANDOM|SECONDS|EPOCH[A-Z]*|FUNCNAME|pipestatus|status|TTYIDLE|ERRNO)$" || :
            load_session "$1"
            state >after
            diff before after | grep "^[<>]" | grep -vE "^. (PIPESTATUS|BASH_[A-Z]*|LINENO|RANDOM|SECONDS|EPOCH[A-Z]*|FUNCNAME|pipestatus|status|TTYIDLE|ERRNO)$" || :' "$ID"
        echo "$shell: $output $stderr" >&2
        [ "$status" -eq 0 ]
        # MAS_ROOT and MAS_TMUX_SOCKET were there before
        [ "$output" = '> CREATED_AT
> MAS_SESSION_DIR
> MAS_SESSION_ID
> MAS_SESSION_MODE
> SESSION_ID
> SESSION_NAME
> STATUS
> TMUX_SESSION
> UNIT_DIR
> WORKFLOWS_DIR' ]
    done
}

@test "the program is MAS, else mas on PATH, else the one beside the library" {
    local shell tree="$T/a 'tree'"
    mkdir -p "$tree/lib" "$tree/build" "$T/bin" "$T/usr/share/mas/lib" "$T/usr/bin"
    PATH=/usr/bin:/bin
    cp "$LIB" "$tree/lib"
    cp "$LIB" "$T/usr/share/mas/lib"
    for name in "$tree/build" "$T/bin" "$T/usr/bin"; do
        printf '#!/bin/sh\necho "%s $*"\n' "${name##*/}" >"$name/mas"
        chmod +x "$name/mas"
    done
    for shell in "${SHELLS[@]}"; do
        # shellcheck disable=SC2086
        try() { run --separate-stderr env PATH="$1" MAS="$2" $shell -euc 'IFS=0123456789/; mas() { echo no; }; . "$1"; cd /; generate_uuid' - "$3"; }
        try "$T/bin:$PATH" "$tree/build/mas" "$T/usr/share/mas/lib/session.sh"
        [ "$output" = 'build library uuid' ]
        try "$T/bin:$PATH" '' "$tree/lib/session.sh"
        [ "$output" = 'bin library uuid' ]
        try "$PATH" '' "$tree/lib/session.sh"
        [ "$output" = 'build library uuid' ]
        try "$PATH" '' "./a 'tree'/lib/session.sh"
        [ "$output" = 'build library uuid' ]
        try "$PATH" '' "$T/usr/share/mas/lib/session.sh"
        [ "$output" = 'bin library uuid' ]
        try "$PATH" "$T/none" "$tree/lib/session.sh"
        [ "$status" -ne 0 ]
        [[ $stderr == "mas: cannot find the program '$T/none': "* ]]
        rm -f "$T/lone.sh"
        cp "$LIB" "$T/lone.sh"
        try "$PATH" '' "$T/lone.sh"
        [ "$status" -eq 1 ]
        [ "$stderr" = "mas: cannot find the program 'mas': it does not run
put it on PATH, or set MAS to its path" ]
    done
}

@test "a function that fails ends a script with set -e, and not one that asks" {
    all_fail 3 "cannot find session 'none'" 'load_session none; echo not reached'
    all_fail 3 "cannot find session 'none'" 'dir=$(find_session_by_id none); echo "not reached $dir"'
    expected='3 no'
    in_all 'rc=0; load_session none 2>/dev/null || rc=$?
        if find_session_by_id none 2>/dev/null; then echo yes; else echo "$rc no"; fi'
}

@test "mas-shell(7) and the library's head have every function and every variable" {
    local name page=$PROJECT/man/mas-shell.7
    sed -n 's/^\([a-z][a-z_]*\)() [{(]$/\1/p' "$LIB" | sort >"$T/functions"
    [ "$(wc -l <"$T/functions")" -eq 8 ]
    diff "$T/functions" <(sed -n 's/^\.It Ic \([a-z_]*\).*/\1/p' "$page" | sort)
    diff "$T/functions" <(sed -n 's/^#   \([a-z]*_[a-z_]*\).*/\1/p' "$LIB" | sort)
    new_session --no-start
    for name in $("$MAS" env "$ID" | cut -d= -f1); do
        grep -qx "\.Ev $name" "$page"
        grep -q "^#.* $name\b" "$LIB"
    done
    grep -q "$("$MAS" library mark "$ID" "$(printf '%01001d' 0)" 2>&1 | grep -oE '[0-9]+ bytes')" "$page"
}

@test "the examples in mas-shell(7) run in every shell" {
    local shell
    mkdir -p "$T/bin" "$T/in"
    ln -s "$MAS" "$T/bin/mas"
    touch "$T/in/brief.md"
    awk '/^\.Ed/ { on = 0 } on; /^\.Bd -literal/ { on = 1 }' "$PROJECT/man/mas-shell.7" |
        sed "s|^\\\\&\. .*|. '$LIB'|; s|unit/00|unit/solo|" >"$T/example"
    [ "$(wc -l <"$T/example")" -ge 12 ]
    for shell in "${SHELLS[@]}"; do
        # shellcheck disable=SC2086
        PATH=$T/bin:$PATH run --separate-stderr env -C "$T/in" $shell "$T/example"
        # zsh does not split what $( ) prints: one session is one word all the same
        [ "$status" -eq 0 ] && [ -z "$stderr" ] && [[ $output =~ ^[0-9.]+K$'\t'\.$ ]] ||
            { echo "$shell: $status $output $stderr" >&2; false; }
        [ "$(field @last '.status + ": " + .reason')" = 'error: no plan' ]
        [ -f "$ROOT/sessions/$("$MAS" list -q)/workflows/brief.md" ]
        "$MAS" rm -q @last
    done
}
