#!/usr/bin/env bats
# mas doctor: modes, directories and config.json of a workspace.
load ../helper
load doctor

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
    fails 1 doctor --json
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
        finds "$ID" "its directory '$part' is missing"
        mends "$ID" "its directory '$part' is missing"
        [ -d "$(ws "$ID")/$part" ]
    done
    ok start "$ID"
}

# ---- config.json

@test "a broken config.json is made from the template, the broken one kept aside" {
    a_stopped_session
    echo '{"template":"solo","agents":' >"$(ws "$ID")/config.json"
    cp "$(ws "$ID")/config.json" "$T/broken"
    finds "$ID" 'its config.json is damaged'
    mends "$ID" 'it can be created from the template'
    cmp "$T/broken" "$(ws "$ID")"/config.json.broken-*
    [ "$(mode "$(ws "$ID")/config.json")" = 600 ]
    ok start "$ID"
    [ "$(field "$ID" .agentsRunning)" = 1 ]
}

@test "a config.json that is gone is made from the template" {
    a_stopped_session
    rm "$(ws "$ID")/config.json"
    finds "$ID" 'it can be created from the template'
    mends "$ID" 'it can be created from the template'
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
    fails 1 doctor --fix --json
    jq -e --arg id "$ID" 'any(.findings[]; .subject == $id and .state == "by hand")' <<<"$output"
    [ "$(snapshot)" = "$before" ]
}
