#!/usr/bin/env bats
load ../helper

@test "env prints KEY='value' lines for the session's own variables" {
    new_session -t solo -n one
    mas env one
    [ "$status" -eq 0 ]
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

@test "env --json is one object with the same keys and values" {
    new_session -t solo --no-start
    mas env "$ID" --json
    [ "$status" -eq 0 ]
    [ "$(jq -r 'to_entries[] | "\(.key)='\''\(.value)'\''"' <<<"$output")" = "$("$MAS" env "$ID")" ]
}

@test "env takes the session from MAS_SESSION_ID in a team, -s before it" {
    new_session -t solo --no-start
    one=$ID
    new_session -t solo --no-start
    MAS_SESSION_ID=$one mas env
    [ "$status" -eq 0 ]
    [[ $output == *"MAS_SESSION_ID='$one'"* ]]
    MAS_SESSION_ID=$one mas env -s "$ID"
    [[ $output == *"MAS_SESSION_ID='$ID'"* ]]
    mas env
    [ "$status" -eq 2 ]
    [[ $stderr == "mas: cannot run 'env': it needs a SESSION"* ]]
}

@test "env of no session, of a missing and of a damaged one prints nothing to eval" {
    mas env nope
    [ "$status" -eq 3 ]
    [ -z "$output" ]
    [[ $stderr == "mas: cannot find session 'nope': there is none"* ]]
    new_session -t solo --no-start
    chmod 600 "$ROOT/sessions/$ID/.session"
    # shellcheck disable=SC2016
    echo 'NAME=$(touch ran)' >>"$ROOT/sessions/$ID/.session"
    mas env "$ID"
    [ "$status" -eq 5 ]
    [ -z "$output" ]
    [[ $stderr == "mas: cannot read session '$ID': its .session is damaged: line "* ]]
    rm -rf "${ROOT:?}/sessions/$ID"
    mas env "$ID"
    [ "$status" -eq 5 ]
    [ -z "$output" ]
    [[ $stderr == "mas: cannot read session '$ID': its workspace is missing"* ]]
}

@test "env tells the paths of where the root is now, not of where it was" {
    new_session -t solo --no-start
    mv "$ROOT" "$T/moved"
    mas --root "$T/moved" env "$ID"
    [ "$status" -eq 0 ]
    [[ $output == *"UNIT_DIR='$T/moved/sessions/$ID/unit'"* ]]
    [[ $output != *"$ROOT/"* ]]
}

@test "env does not believe the path keys of the metadata" {
    new_session -t solo --no-start
    sed -i 's|^UNIT_DIR=.*|UNIT_DIR=/etc|' "$ROOT/sessions/$ID/.session"
    mas env "$ID"
    [ "$status" -eq 0 ]
    [[ $output == *"UNIT_DIR='$ROOT/sessions/$ID/unit'"* ]]
}

@test "a full disk behind stdout is an error" {
    new_session -t solo --no-start
    # shellcheck disable=SC2016
    run --separate-stderr bash -c '"$1" env "$2" >/dev/full' - "$MAS" "$ID"
    [ "$status" -eq 1 ]
    [ "$stderr" = "mas: cannot write to standard output: No space left on device" ]
}
