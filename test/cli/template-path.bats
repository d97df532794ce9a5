#!/usr/bin/env bats
# mas new -t PATH: a template that is not in the root.
load ../helper

setup_more() {
    cp -r "$ROOT/templates/pair" "$T/my team"
    cd "$T" || return
}

@test "a directory outside of the root is a template, however it is called" {
    ln -s "$T/my team" "$T/link"
    for path in './my team' "$T/my team" "$T/link/" 'my team/.'; do
        new_session -t "$path" --no-start
        [ "$(meta "$ID" TEMPLATE)" = "$T/my team" ]
        [ "$(jq -r .template "$ROOT/sessions/$ID/config.json")" = "$T/my team" ]
        [ "$(field "$ID" .template)" = "$T/my team" ]
        [ -s "$ROOT/sessions/$ID/unit/lead/AGENTS.md" ]
    done
    cd 'my team'
    new_session -t . --no-start
    [ "$(field "$ID" .template)" = "$T/my team" ]
    [ "$("$MAS" list --json | jq -r '[.sessions[].template] | unique[]')" = "$T/my team" ]
    run "$MAS" doctor
    [ "$status" -eq 0 ]
}

@test "a team from a directory runs, stops and starts, also when the directory is gone" {
    new_session -t './my team'
    [ "$(field "$ID" .agentsRunning)" = 2 ]
    rm -r "$T/my team"
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID"
    [ "$(field "$ID" .agentsRunning)" = 2 ]
}

@test "a template of the root that is called by its path is that template" {
    cd "$ROOT/templates"
    new_session -t ./pair --no-start
    [ "$(meta "$ID" TEMPLATE)" = pair ]
    cd pair
    new_session -t . --no-start
    [ "$(meta "$ID" TEMPLATE)" = pair ]
}

@test "metadata and config.json are mended from a directory's template" {
    new_session -t './my team' --no-start
    rm "$ROOT/sessions/$ID/.session"
    "$MAS" doctor --fix
    [ "$(meta "$ID" TEMPLATE)" = "$T/my team" ]
    rm "$ROOT/sessions/$ID/config.json"
    "$MAS" doctor --fix
    [ "$(jq -r .template "$ROOT/sessions/$ID/config.json")" = "$T/my team" ]
}

@test "a relative path in metadata is never followed" {
    new_session -t './my team' --no-start
    sed -i "s|^TEMPLATE=.*|TEMPLATE='./my team'|" "$ROOT/sessions/$ID/.session"
    rm "$ROOT/sessions/$ID/config.json"
    "$MAS" doctor --fix || true
    [ ! -e "$ROOT/sessions/$ID/config.json" ]
}

@test "the setting may be an absolute path, and no other" {
    printf '[session]\ntemplate = %s\n' "$T/my team" >"$ROOT/mas.ini"
    new_session --no-start
    [ "$(meta "$ID" TEMPLATE)" = "$T/my team" ]
    MAS_TEMPLATE=$ROOT/templates/solo new_session --no-start
    [ "$(meta "$ID" TEMPLATE)" = solo ]
    printf '[session]\ntemplate = ./my team\n' >"$ROOT/mas.ini"
    fails 1 new
    [ "$stderr" = "mas: $ROOT/mas.ini:2: [session] template: './my team' is not 1 to 32 characters of A-Z a-z 0-9 _ -, or the absolute path of a directory" ]
}

@test "what is no directory, or holds no template, is refused and leaves nothing" {
    touch file
    mkdir empty
    before=$(snapshot)
    for one in './nope:3' './file:3' './empty:3' '/:3' "./my team/template.ini:3" ':2'; do
        mas new -t "${one%:*}"
        [ "$status" -eq "${one##*:}" ] || { echo "$one: $status $stderr"; false; }
        [[ $stderr == mas:\ cannot\ * ]]
        [ "$(snapshot)" = "$before" ]
    done
}

@test "a path with control characters, or one that is too long, is refused" {
    cp -r 'my team' $'a\nb'
    cp -r 'my team' $'a\xffb'
    for path in $'./a\nb' $'./a\xffb'; do
        fails 2 new -t "$path" --no-start
        [[ $stderr == "mas: cannot use template '$T/a\\x"*"b': its path is longer than 1024 bytes, is not UTF-8, or contains control characters" ]]
    done
    long=$T/$(printf '%0250d/' 1 2 3 4)
    mkdir -p "$long"
    cp -r 'my team/.' "$long"
    fails 2 new -t "$long" --no-start
    [ -z "$(find "$ROOT/sessions" -mindepth 1 -type d)" ]
}

@test "hostile names of directories run nothing" {
    # shellcheck disable=SC2016
    for name in '$(touch ran)' '`touch ran`' '#(touch ran)' "it's; touch ran" '#{pane_id}'; do
        cp -r 'my team' "$T/$name"
        new_session -t "./$name"
        [ "$(meta "$ID" TEMPLATE)" = "$T/$name" ]
        [ "$(field "$ID" .template)" = "$T/$name" ]
        "$MAS" rm -qf "$ID"
    done
    run find "$T" -name ran
    [ -z "$output" ]
}

@test "a directory or template.ini of another user is refused; root's are not" {
    [ "$(id -u)" -eq 0 ] || skip 'only root can give files away'
    for what in . template.ini; do
        chown nobody "my team/$what"
        fails 1 new -t './my team' --no-start
        [[ $stderr == "mas: cannot use template '$T/my team': "*" belongs to user $(id -u nobody)"$'\n'"it names programs to run; inspect it, then copy it with: mas template copy" ]]
        fails 1 template check './my team'
        chown root "my team/$what"
    done
    # as another user, what is root's
    chown -R nobody "$ROOT" "$HOME"
    chmod 755 "$T"
    run setpriv --reuid nobody --regid nogroup --clear-groups "$MAS" new -q -t "$T/my team" --no-start
    [ "$status" -eq 0 ]
}

@test "a directory or template.ini that everybody may write to is refused" {
    for what in . template.ini; do
        chmod o+w "my team/$what"
        fails 1 new -t './my team' --no-start
        [[ $stderr == "mas: cannot use template '$T/my team': everybody may write to "* ]]
        chmod o-w "my team/$what"
    done
    ok new -q -t './my team' --no-start
}
