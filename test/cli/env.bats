#!/usr/bin/env bats
# shellcheck disable=SC1003,SC2015,SC2016,SC2153 # scripts for other shells; tests and reports
load ../helper

@test "env prints KEY='value' lines for the session's own variables" {
    new_session -t solo -n one
    ok env one
    [ -z "$stderr" ]
    [ "$output" = "MAS_ROOT='$ROOT'
MAS_TMUX_SOCKET='$SOCK'
MAS_SESSION_MODE='isolated'
MAS_SESSION_ID='$ID'
MAS_SESSION_DIR='$ROOT/sessions/$ID'
SESSION_NAME='mas-${ID:0:8}'
UNIT_DIR='$ROOT/sessions/$ID/unit'
WORKFLOWS_DIR='$ROOT/sessions/$ID/workflows'" ]
}

@test "what env prints can be read by eval of every shell" {
    new_session -t solo --no-start
    text=$("$MAS" env "$ID")
    for shell in dash bash 'busybox sh' 'zsh -f'; do
        # shellcheck disable=SC2016,SC2086
        run $shell -c 'eval "$1"; printf "%s %s" "$MAS_SESSION_ID" "$UNIT_DIR"' - "$text"
        [ "$status" -eq 0 ]
        [ "$output" = "$ID $ROOT/sessions/$ID/unit" ]
    done
}

@test "what env prints is safe to eval whatever is in the root's path" {
    local root shell text
    # what a shell would run, expand, split, or take for an end; bytes that are not UTF-8
    for root in "it's a \"root\"" "'" "'''" "''x''" '\' "\\'" ' ' '  a  b ' '-n' '!!' '~' \
        '$(touch ran)' '`touch ran`' '${IFS}$HOME$$' '; touch ran #' '&& touch ran' '| touch ran' \
        '>ran' '*' '[a-z]?{1,2}' '%s%n' '#(touch ran)' '\n\t\0' $'\x80' $'\xff\xfe' $'\xc3\x28' $'\xe2\x82' \
        $'\x81\x27' $'\x81\x5c' 'ü日本'; do
        mkdir -p "$T/r"
        "$MAS" init -q "$T/r/$root"
        new_session --root "$T/r/$root" -t solo --no-start
        text=$("$MAS" --root "$T/r/$root" env "$ID")
        for shell in dash bash 'bash --posix' 'busybox sh' 'zsh -f' 'zsh -f -o rcquotes'; do
            # shellcheck disable=SC2086
            run --separate-stderr env -C "$T/r" $shell -euc 'IFS="/'\''"; eval "$1"
                printf "%s:%s:%s" "$MAS_ROOT" "$MAS_SESSION_ID" "$UNIT_DIR"' - "$text"
            [ "$status" -eq 0 ] && [ -z "$stderr" ] &&
                [ "$output" = "$T/r/$root:$ID:$T/r/$root/sessions/$ID/unit" ] ||
                { printf '%s: %q: %s %s\n' "$shell" "$root" "$output" "$stderr" >&2; false; }
        done
        [ -z "$(find "$T" -name ran)" ]
        rm -rf "$T/r"
    done
}

@test "what env prints is safe to eval whatever tmux calls the session" {
    local name text shell
    new_session -t solo --no-start
    cp "$ROOT/sessions/$ID/.session" "$T/metadata"
    for name in '$(touch ran)' '`touch ran`' "'; touch ran; '" '; touch ran' '#(touch ran)' '*' ' ' $'\xff'; do
        {
            grep -v '^TMUX_SESSION=' "$T/metadata"
            printf "TMUX_SESSION='%s'\n" "${name//"'"/"'\\''"}"
        } >"$ROOT/sessions/$ID/.session"
        text=$("$MAS" env "$ID")
        for shell in dash bash 'busybox sh' 'zsh -f'; do
            # shellcheck disable=SC2086
            run --separate-stderr env -C "$T" $shell -euc 'eval "$1"; printf "%s" "$SESSION_NAME"' - "$text"
            [ "$status" -eq 0 ]
            [ "$output" = "$name" ]
        done
    done
    [ -z "$(find "$T" -name ran)" ]
    # what cannot stand on one line is damage, and nothing is printed
    printf 'X=\x27a\nb\x27\n' | cat "$T/metadata" - >"$ROOT/sessions/$ID/.session"
    fails 5 env "$ID"
    [ -z "$output" ]
}

@test "a root or a socket whose path could break a line gives no session to env" {
    local path
    for path in $'a\nb' $'a\tb' $'\e[2J' $'a\x7f'; do
        mkdir -p "$T/$path"
        fails 1 init "$T/$path"
        [[ $stderr == *'contains control characters'* ]]
        touch "$T/$path/mas.ini"
        fails 1 --root "$T/$path" env @last
        [ -z "$output" ]
        MAS_TMUX_SOCKET=$T/$path fails 1 new -t solo --no-start
        TMUX_TMPDIR=$T/$path run --separate-stderr env -u MAS_TMUX_SOCKET "$MAS" new -t solo --no-start
        [ "$status" -eq 1 ]
    done
    [ -z "$("$MAS" list --all -q)" ]
}

@test "env --json is one object with the same keys and values" {
    new_session -t solo --no-start
    ok env "$ID" --json
    [ "$(jq -r 'to_entries[] | "\(.key)='\''\(.value)'\''"' <<<"$output")" = "$("$MAS" env "$ID")" ]
}

@test "env takes the session from MAS_SESSION_ID in a team, -s before it" {
    new_session -t solo --no-start
    one=$ID
    new_session -t solo --no-start
    MAS_SESSION_ID=$one ok env
    [[ $output == *"MAS_SESSION_ID='$one'"* ]]
    MAS_SESSION_ID=$one mas env -s "$ID"
    [[ $output == *"MAS_SESSION_ID='$ID'"* ]]
    fails 2 env
    [[ $stderr == "mas: cannot run 'env': it needs a SESSION"* ]]
}

@test "env of no session, of a missing and of a damaged one prints nothing to eval" {
    fails 3 env nope
    [ -z "$output" ]
    [[ $stderr == "mas: cannot find session 'nope': there is no such session"* ]]
    new_session -t solo --no-start
    chmod 600 "$ROOT/sessions/$ID/.session"
    # shellcheck disable=SC2016
    echo 'NAME=$(touch ran)' >>"$ROOT/sessions/$ID/.session"
    fails 5 env "$ID"
    [ -z "$output" ]
    [[ $stderr == "mas: cannot read session '$ID': its .session is damaged: line "* ]]
    rm -rf "${ROOT:?}/sessions/$ID"
    fails 5 env "$ID"
    [ -z "$output" ]
    [[ $stderr == "mas: cannot read session '$ID': its workspace is missing"* ]]
}

@test "env tells the paths of where the root is now, not of where it was" {
    new_session -t solo --no-start
    mv "$ROOT" "$T/moved"
    ok --root "$T/moved" env "$ID"
    [[ $output == *"UNIT_DIR='$T/moved/sessions/$ID/unit'"* ]]
    [[ $output != *"$ROOT/"* ]]
}

@test "env does not believe the path keys of the metadata" {
    new_session -t solo --no-start
    sed -i 's|^UNIT_DIR=.*|UNIT_DIR=/etc|' "$ROOT/sessions/$ID/.session"
    ok env "$ID"
    [[ $output == *"UNIT_DIR='$ROOT/sessions/$ID/unit'"* ]]
}

@test "a full disk behind stdout is an error" {
    new_session -t solo --no-start
    # shellcheck disable=SC2016
    run --separate-stderr bash -c '"$1" env "$2" >/dev/full' - "$MAS" "$ID"
    [ "$status" -eq 1 ]
    [ "$stderr" = "mas: cannot write to standard output: No space left on device" ]
}
