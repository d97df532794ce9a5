load ../helper
load ../host/lib
load lib

# form WORD: the agent waits for its form.
form() {
    "$MAS" ask "$ID" solo --no-wait "$1"
    eventually asks
}

# approves/denies OPTION...: sets $output, $stderr and $status.
approve() { run --separate-stderr timeout 60 "$MAS" approve "$ID" solo "$@"; }

# got JSON: the agent's answer names this result of its form.
got() {
    eventually state_is solo idle
    "$MAS" history "$ID" solo --role agent --json | jq -re '.messages[-1].text' | sed 's/^form=\(.*\) AGENT#.*/\1/' |
        jq -ce --argjson want "$1" '. == $want' >/dev/null
}

@test "mas says that a person fills in forms" {
    run_acp ""
    eventually state_is solo idle
    grep '^<' "$TRACE" | grep -F '"initialize"' | cut -c3- |
        jq -e '.params.clientCapabilities.elicitation == {"form": {}, "url": {}}' >/dev/null
}

@test "a form: shown with its fields, answered on the command line, checked by type" {
    run_acp ""
    form ELICIT
    [ "$(of solo .state)" = waiting ]
    shows 'Who are you?'
    shows 'name (string, required) Your name'
    shows 'color (red|blue)'
    approve
    [ "$status" -eq 2 ]
    [[ $stderr == *"the field 'name' of the form is missing"*"--answer name=VALUE"* ]]
    local wrong
    for wrong in name=x name=xxxxxxxxxxxxxxxxxxxxx "name=Ann --answer color=green" "name=Ann --answer count=9" \
        "name=Ann --answer count=1.5" "name=Ann --answer count=x" "name=Ann --answer sure=maybe" \
        "name=Ann --answer parts=a,b,c" "name=Ann --answer parts=z" "name=Ann --answer other=1"; do
        # shellcheck disable=SC2086 # words
        approve --answer $wrong
        [ "$status" -eq 2 ] || { echo "$wrong"; return 1; }
    done
    approve --answer name=Ann --answer parts=a --answer parts=c
    [ "$status" -eq 2 ]
    [[ $stderr == "mas: cannot answer: 'parts' is given twice"$'\n'*"parts=A,B"* ]]
    asks
    approve --answer name=Ann --answer color=red --answer ratio=0.5 --answer sure=yes --answer parts=a,c
    [ "$status" -eq 0 ]
    got '{"action":"accept","content":{"name":"Ann","color":"red","count":3,"ratio":0.5,"sure":true,"parts":["a","c"]}}'
}

@test "the pane shows a form with its fields, their defaults, what is typed for them, and how to answer" {
    run_acp ""
    form ELICIT
    tm resize-window -t "$PANE" -x 80 -y 40
    eventually shows 'count (integer, default 3)'
    eventually shows_line '  name ='
    shows_line '  count = 3 (default)'
    shows 'Enter fills in, a digit answers'
    type_line '/answer nobody=1'
    eventually shows 'the form has no such field'
    type_line '/answer name=Ann'
    eventually shows_line '  name = Ann'
    type_line '/answer name=Bea'
    eventually shows_line '  name = Bea'
    # what was said in between stands above the question, and nothing between it and the choices
    [ "$(screen | grep -nE 'no such field|^\? Who|^ +1 ' | sed 's/:.*\(field\|Who\|1\) .*/ \1/; s/:.*field$/ field/' |
        tail -n 3 | awk '{print $2}' | xargs)" = "field Who 1" ]
    type_line 1
    got '{"action":"accept","content":{"name":"Bea","count":3}}'
}

@test "Enter leads through the fields of a form, and a value that is typed is shown nowhere if it is a password" {
    run_acp ""
    form ELICIT
    tm resize-window -t "$PANE" -x 80 -y 40
    press Enter
    eventually shows_line '› name ='
    shows_line '? name (string, required) Your name'
    type_line Ann
    eventually shows_line '› color ='
    type_line blue
    eventually shows_line '› count = 3 (default)'
    eventually shows_line '> 3' # which can be edited
    press BSpace
    type_line 2
    local field
    for field in ratio sure parts; do
        eventually shows_line "› $field ="
        press Enter
    done
    eventually shows_line '› pin ='
    press -l 1234
    eventually shows_line '> ****'
    press Enter
    eventually shows 'Enter fills in, a digit answers'
    type_line 1
    got '{"action":"accept","content":{"name":"Ann","color":"blue","count":2,"pin":4}}'
}

@test "a form is declined, and cancelled with its turn" {
    run_acp ""
    form ELICIT
    "$MAS" deny "$ID" solo
    got '{"action":"decline"}'
    form ELICIT
    "$MAS" cancel "$ID" solo
    eventually state_is solo idle
    eventually was_sent '"action":"cancel"'
    [ "$(of solo .permission)" = null ]
}

@test "what is filled into a form is on no disk: not in the memory, the logs, the history or an archive" {
    local secret
    run_acp ""
    form ELICIT
    approve --answer name=Ann --answer pin=- <<<TOPSECRET1
    [ "$status" -eq 0 ]
    got '{"action":"accept","content":{"name":"Ann","count":3,"pin":10}}'
    form ELICIT
    type_line '/answer name=Bob'
    type_line '/answer pin=TOPSECRET2'
    eventually shows 'pin = (hidden)'
    type_line 1
    got '{"action":"accept","content":{"name":"Bob","count":3,"pin":10}}'
    # an editor, and one that listens to everything meanwhile
    "$MAS" ask "$ID" solo --json ELICIT >"$T/told" 2>&1 3>&- &
    eventually asks
    timeout 60 python3 "$PROJECT/test/acp/client.py" "$MAS" acp "$ID" <<'END'
c.initialize(elicitation={"form": {}})
s = c.ask("session/list")["sessions"][0]["sessionId"]
c.load(s)
c.fill(c.form(), "accept", name="Eve", pin="TOPSECRET3")
c.until(lambda: '"name": "Eve"' in c.text(s))
assert "TOPSECRET3" not in json.dumps(c.updates)
END
    wait $!
    # what is refused is not told again
    form ELICIT
    approve --answer name=x --answer pin=- <<<TOPSECRET4
    [ "$status" -eq 2 ]
    [[ $stderr != *TOPSECRET* ]]
    "$MAS" cancel "$ID" solo
    eventually state_is solo idle
    for secret in 1 2 3; do was_sent "TOPSECRET$secret"; done # it is what the agent was given

    [[ $("$MAS" history "$ID" solo --json) != *TOPSECRET* ]]
    [[ $(<"$T/told") != *TOPSECRET* ]]
    "$MAS" archive --live "$ID" -o "$T/whole.tar" >/dev/null
    mkdir "$T/whole"
    tar -C "$T/whole" -xf "$T/whole.tar"
    [ -n "$(find "$T/whole" -name memory.db -size +0)" ]
    "$MAS" stop -q "$ID" >/dev/null
    run ! grep -rqF TOPSECRET "$ROOT" "$HOME" "$T/whole"
    run ! grep -qF TOPSECRET "$T/whole.tar"
}

@test "the first answer to a form wins" {
    run_acp ""
    form ELICIT
    "$MAS" approve "$ID" solo --answer name=One >"$T/1" 2>&1 3>&- &
    local one=$!
    "$MAS" approve "$ID" solo --answer name=Two >"$T/2" 2>&1 3>&- &
    local two=$! codes=""
    wait "$one" && codes+=0 || codes+=$?
    wait "$two" && codes+=0 || codes+=$?
    [ "$codes" = 03 ] || [ "$codes" = 30 ]
    eventually state_is solo idle
    [ "$(grep '^<' "$TRACE" | grep -c '"action":"accept"')" -eq 1 ]
}

@test "a form that is too large or no form is refused, and the turn goes on" {
    run_acp ""
    local how
    for how in huge many none odd; do
        tell "ELICIT:$how"
        [ "$status" -eq 0 ]
        [[ $output == *form=error-32602* ]]
    done
}

@test "a form of 64 fields and an address of 4096 bytes are asked, one more is refused" {
    run_acp ""
    local url
    url=https://example.org/$(printf '%04076d' 0)
    for ask in fields,64 "url,$url"; do
        form "ELICIT:$ask"
        run --separate-stderr "$MAS" deny "$ID" solo
        got '{"action":"decline"}'
    done
    for ask in fields,65 "url,${url}0"; do
        tell "ELICIT:$ask"
        [[ $output == *form=error-32602* ]]
    done
}

@test "an address to open is shown, and accepted or declined" {
    run_acp ""
    form ELICIT:url
    shows 'open https://user@example.org:8443/x?good.example'
    shows '(at example.org:8443)'
    "$MAS" status "$ID" --json | jq -e '.sessions[0].agents[0].permission != null' >/dev/null
    approve --answer a=b
    [ "$status" -eq 2 ]
    approve
    got '{"action":"accept"}'
    form ELICIT:url
    type_line 2
    got '{"action":"decline"}'
}

@test "an address is told to clients with its host, and its end by the agent" {
    run_acp ""
    "$MAS" ask "$ID" solo --json ELICIT:url,visited >"$T/told" 3>&- &
    eventually asks
    approve
    wait $!
    jq -se 'map(select(.event == "permission")) | .[0] | .host == "example.org:8443" and .form == null and
        (.url | startswith("https://user@"))' "$T/told" >/dev/null
    jq -se 'map(select(.event == "elicited")) | map(.elicitation) == ["e1"]' "$T/told" >/dev/null
    eventually shows 'what was to be done in the browser is done'
}

@test "an address that is done before anybody agrees is asked no longer" {
    run_acp ""
    tell ELICIT:url,early
    [ "$status" -eq 0 ]
    got '{"action":"cancel"}'
    run ! asks
}

@test "an address that is none of the web, or that hides its host, is refused" {
    run_acp ""
    local url
    for url in 'javascript:alert(1)' file:///etc/passwd 'https://' https://@/x 'https://good.example\@evil.example/' \
        https://exämple.org/ mailto:a@b; do
        tell "ELICIT:url,$url"
        [ "$status" -eq 0 ]
        [[ $output == *form=error-32602* ]] || { echo "$url: $output"; return 1; }
    done
}

@test "only a person fills in a form, and answers belong to forms" {
    run_acp ""
    form ASK
    approve --answer name=Ann
    [ "$status" -eq 2 ]
    [[ $stderr == *"it asks for no answers"* ]]
    approve
    eventually state_is solo idle
}

@test "the agent asks twice, or ends while a form is open" {
    run_acp ""
    form ELICIT:twice
    approve --answer name=One
    eventually asks
    approve --answer name=Two
    got '{"action":"accept","content":{"name":"Two","count":3}}'
    form ELICIT
    kill -KILL "$(of solo .pid)"
    eventually eval "state_is solo crashed || state_is solo idle"
    run ! asks
}
