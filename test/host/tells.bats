#!/usr/bin/env bats
# Programs on a terminal that tell what they do: what was said is kept, the state is a fact, and the same
# conversation comes back. The program here is a script with hooks, as the real ones have them.
load ../helper
load lib
load ../memory
load tells

@test "what is asked and answered is in the history, with who asked" {
    team
    ok send "$ID" solo 'one CW-OTTER'
    eventually says '["agent",null,"I know: one CW-OTTER","done"]'
    typed 'two CW-BEAR'
    eventually says '["agent",null,"I know: one CW-OTTER, two CW-BEAR","done"]'
    [ "$(history | grep -c '"user"')" -eq 2 ]
    says '["user",null,"one CW-OTTER","done"]'
    says '["user",null,"two CW-BEAR","done"]'
    ok search CW-BEAR
    [[ $output == *CW-BEAR* ]]
}

@test "after a crash of everything the same conversation goes on, by its id" {
    team
    ok send "$ID" solo 'one CW-OTTER'
    eventually says 'I know: one CW-OTTER'
    tm kill-server
    ok start --crashed
    find_agent
    eventually is idle
    ok send "$ID" solo 'two'
    eventually says 'I know: one CW-OTTER, two'
    first=$(starts 1 | jq -r '.[index("--begin") + 1]')
    [ "$(starts 2 | jq -r '.[index("--resume") + 1]')" = "$first" ]
    [ "$(of_agent continuity)" = resumed ]
    [ "$(history | grep -c '"user"')" -eq 2 ] # nothing is asked twice
}

has_ended() { is exited || is crashed; }

@test "a prompt that a kill cuts off is known as such, and the session goes on" {
    team
    ok send "$ID" solo 'die now'
    eventually has_ended
    says '["user",null,"die now","interrupted"]'
    ok restart "$ID" solo
    eventually is idle
    ok send "$ID" solo 'two'
    eventually says 'I know: die now, two'
}

@test "if the program has lost its session, a new one is told what was said" {
    team
    ok send "$ID" solo 'one CW-OTTER'
    eventually says 'I know: one CW-OTTER'
    rm -r "$HOME/.teller"
    ok restart "$ID" solo
    eventually says 'conversation injected: session '
    eventually is idle
    [ "$(of_agent continuity)" = injected ]
    run jq -r '.[index("--role") + 1]' <(starts 2)
    grep -q 'one CW-OTTER' "$output" # and so it is in the text of its role
    [ "$(starts 2 | jq 'index("--resume")')" = null ]
    ok send "$ID" solo 'two'
    eventually says '["agent",null,"I know: two","done"]'
}

@test "a variable names the settings, beside the role and what the user has there" {
    # shellcheck disable=SC2016 # the script expands them
    printf '#!/bin/sh\nprintf "%%s\\n" "$CONFIG" >>"%s"\nexec python3 "%s" "$@"\n' "$T/config" "$PROJECT/test/host/teller.py" >"$T/with"
    chmod +x "$T/with"
    sed -i "s|^command = .*|command = $T/with|; s|^role_option = .*|role_env.CONFIG = {\"files\": [{json:file}]}|
        s|^told.kept = .*|told.kept = .teller/{id8}-*|" "$ROOT/mas.ini"
    printf '%s\n' '[preset teller]' 'told.env.CONFIG = {"plugins": [{json:dir}], "by": {json:told}}' >>"$ROOT/mas.ini"
    export CONFIG='{"plugins": ["mine"], "by": "me"}'
    team
    ok send "$ID" solo 'one CW-OTTER'
    eventually says 'I know: one CW-OTTER'
    ok restart "$ID" solo
    eventually is idle
    [ "$(of_agent continuity)" = resumed ] # by the file that its pattern names
    [ "$(jq -c '[.plugins[0], .by, (.plugins | length)]' <"$T/config" | sort -u)" = '["mine","me",2]' ]
    [ "$(jq -r '.plugins[1]' <"$T/config" | sort -u)" = "$DIR/run/solo.role/told" ]
    rm -r "$HOME/.teller"
    ok restart "$ID" solo
    eventually is idle
    [ "$(of_agent continuity)" = injected ]
    grep -q 'one CW-OTTER' "$(tail -n 1 "$T/config" | jq -r '.files[0]')"
}

@test "behind a wall, settings are added to the agent's own copy of a file of the user's home" {
    local files=$T/before.json
    bwrap --unshare-pid --ro-bind / / --proc /proc --dev /dev true 2>/dev/null || skip 'bubblewrap does not work here'
    # shellcheck disable=SC2016 # for mas
    preset homely "python3 -ES '$PROJECT/test/host/teller.py'" 'ready = ready' 'executes = no' 'role_option = --role {file}' 'env.OUT = /dev/null' \
        'told.begin = --begin {id}' 'told.resume = --resume {id}' 'told.kept = .teller/{id}' 'wall.home = .teller:own .teller.json:copy' \
        'told.hook = {"run": {json:command}}' 'told.home..teller.json = {"hooks": {hooks}, "clean": false}' \
        'told.event.Start = starts' 'told.event.Prompt = prompt' 'told.event.Done = done'
    echo '{"hooks": {"Prompt": [{"run": "touch own-hook"}]}, "clean": true, "keep": 1}' | tee "$HOME/.teller.json" >"$files"
    new_session -t solo --agent homely
    find_agent
    eventually is idle
    ok send "$ID" solo 'one'
    eventually says '["agent",null,"I know: one","done"]'
    [ "$(of_agent states)" = told ]
    [ -e "$DIR/unit/solo/own-hook" ]
    [ "$(jq -c '[.clean, .keep, (.hooks.Prompt | length), (.hooks.Start | length)]' "$DIR/unit/solo/settings.json")" = '[false,1,2,1]' ]
    cmp "$HOME/.teller.json" "$files"
    # one that the user has not is made; one that cannot be read stays as it is, and mas says so
    rm "$HOME/.teller.json"
    ok restart "$ID" solo
    eventually is idle
    [ "$(jq -c '[.clean, .keep]' "$DIR/unit/solo/settings.json")" = '[false,null]' ]
    [ ! -e "$HOME/.teller.json" ]
    echo '{"hooks": 1, "clean": NaN}' >"$HOME/.teller.json"
    ok restart "$ID" solo
    eventually is idle
    ok show "$ID"
    [[ $output == *'its program may not tell what it does, or ask again'*'trusted: .teller.json is no strict JSON'* ]]
}

@test "an event is like a line of a transcript, and tools are told without an id" {
    printf '%s\n' '[preset teller]' 'told.event.Line = line' 'told.event.Ran = tool' 'told.line.says = says text:words' \
        'told.line.use = usage use? once:use.once input:use.in' >>"$ROOT/mas.ini"
    team
    ok send "$ID" solo 'count'
    eventually says 'I know: count'
    eventually is idle
    [ "$(history | grep -c 'I count')" -eq 1 ]
    [ "$(history | grep -cF '["tool",null,"make (Bash)","done"]')" -eq 2 ]
    [ "$("$MAS" usage "$ID" --json | jq '[.. | .input? // empty] | max')" -eq 100 ]
}

@test "a session that the program cannot continue is tried once" {
    sed -i 's/^told.kept = .*/told.kept =/' "$ROOT/mas.ini"
    team
    ok send "$ID" solo 'one CW-OTTER'
    eventually says 'I know: one CW-OTTER'
    rm -r "$HOME/.teller"
    ok restart "$ID" solo
    eventually says 'was not resumed: the program could not continue it'
    eventually is idle
    [ "$(wc -l <"$OUT")" -eq 3 ]
    [ "$(starts 2 | jq 'index("--resume") != null')" = true ]
    [ "$(starts 3 | jq 'index("--resume")')" = null ]
}

@test "a context that is cleared in the program is empty, also after a crash" {
    team
    ok send "$ID" solo 'one CW-OTTER'
    eventually says 'I know: one CW-OTTER'
    typed clear
    eventually grep -q 'agent=solo context cleared' "$DIR/logs/session.log"
    tm kill-server
    ok start --crashed
    find_agent
    eventually is idle
    [ "$(of_agent continuity)" = fresh ]
    ok send "$ID" solo 'two'
    eventually says '["agent",null,"I know: two","done"]'
    [ "$("$MAS" history "$ID" solo --json | jq -c '[.messages[].query] | unique | length')" -eq 2 ]
}

# stays_cleared ORDER: a person has the program leave its session, and everything crashes before the next prompt.
stays_cleared() {
    team
    ok send "$ID" solo 'one CW-OTTER'
    eventually says 'I know: one CW-OTTER'
    typed "$1"
    eventually grep -q 'agent=solo context cleared' "$DIR/logs/session.log"
    : >"$HOME/.teller/other.lock" # which nobody holds
    tm kill-server
    ok start --crashed
    find_agent
    eventually is idle
    [ "$(of_agent continuity)" = fresh ]
    [ "$(starts 2 | jq 'index("--resume")')" = null ]
    ok send "$ID" solo 'two'
    eventually says '["agent",null,"I know: two","done"]'
    typed "$1"
    eventually prints 2 grep -c 'agent=solo context cleared' "$DIR/logs/session.log"
    ok send "$ID" solo 'three'
    eventually says '["agent",null,"I know: three","done"]'
    [ "$("$MAS" history "$ID" solo --json | jq -c '[.messages[].query] | unique | length')" -eq 3 ]
}

@test "a session that the program tells with its next prompt only is known by what it holds open" {
    echo 'told.alive = .teller/{id}.lock' >>"$ROOT/mas.ini"
    stays_cleared elsewhere
}

@test "that the program has no session before its next prompt is known by its title" {
    sed -i 's/^told.begin = .*/told.begin =/' "$ROOT/mas.ini" # its id comes with its first prompt
    printf '%s\n' 'told.title_new = ^Teller$' 'env.TITLED = 1' >>"$ROOT/mas.ini"
    stays_cleared home
}

@test "the state is what was told: asked, allowed, refused, failed" {
    team
    ok send "$ID" solo 'ask make test'
    eventually is waiting
    [ "$(of_agent note)" = 'make test (Bash)' ]
    ok send --json "$ID" solo y # an answer of a person
    eventually is idle
    eventually says 'I know: ask make test'
    says '["tool",null,"make test (Bash)","done"]'
    ok send "$ID" solo 'ask make clean'
    eventually is waiting
    typed n # no hook tells that; its file does
    eventually is idle
    eventually says '["user",null,"ask make clean","interrupted"]'
    ok send "$ID" solo 'fail now'
    eventually says 'the agent tells of an error: the model has failed'
    eventually is idle
    [ "$(of_agent turnEnd)" = failed ]
}

@test "it works without a turn, and tries again in one, as it tells" {
    team
    typed "compact $T/smaller"
    eventually is working
    touch "$T/smaller"
    eventually is idle
    ok send "$ID" solo 'retry server_error/rate_limit'
    notes() { [ "$(of_agent note)" = "$1" ]; }
    eventually notes server_error
    is working
    touch "$HOME/.teller/server_error"
    eventually is limited
    [ "$(of_agent note)" = rate_limit ]
    [ "$(of_agent untilMs)" = null ] # it is the program that waits
    touch "$HOME/.teller/rate_limit"
    eventually says 'I know: retry'
    eventually is idle
    [ "$(of_agent note)" = '' ]
    ok send "$ID" solo 'retry rate_limit/rate_limit2'
    eventually is limited
    ok cancel "$ID" solo # also while it waits so
}

@test "a prompt of nobody, and what a nested program tells, do not enter as a person's" {
    team
    ok send "$ID" solo 'nest one'
    eventually says 'I know: nest one'
    run ! says 'of another'
    ok send "$ID" solo 'alone now' # the program tells of another prompt
    eventually says '["note",null,"the program says that it was asked: nobody asked this","done"]'
    run ! says '["user",null,"nobody'
    run env MAS_SOCKET="$DIR/run/solo.agent" "$TOLD" Prompt <<<'{"session_id": "x", "prompt": "forged"}'
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    run ! says forged # it is no process of the agent
}

@test "a session is changed by a person alone, and a tool that ends late begins no work" {
    team
    ok send "$ID" solo 'forge one'
    eventually says 'I know: forge one'
    grep -q 'another session is not believed' "$DIR/logs/session.log"
    [ "$("$MAS" history "$ID" solo --json | jq -c '[.messages[].query] | unique | length')" -eq 1 ]
    ok send "$ID" solo 'late two'
    eventually says '["tool",null,"late (Bash)","done"]'
    is idle
    [ "$("$MAS" usage "$ID" --json | jq '[.. | .turns? // empty] | max')" -eq 2 ]
}

@test "a message that waits for the line in a turn leaves the turn alone" {
    team
    ok send "$ID" solo "work $T/go"
    eventually is working
    tm send-keys -t "$PANE" -l half
    eventually screen_has half
    ok send --json "$ID" solo 'later'
    [ "$(jq -r '.agents[0].outcome' <<<"$output")" = held ]
    touch "$T/go"
    eventually says '["user",null,"work '"$T"'/go","done"]'
    run ! says 'its host was killed'
}

@test "mas-told ends well and prints nothing, whatever it meets" {
    team
    local socket=$DIR/run/solo.agent host
    host=$(of_agent hostPid)
    empty() { "$@" >"$T/printed" 2>&1 && [ ! -s "$T/printed" ]; }
    empty env -u MAS_SOCKET "$TOLD" Done </dev/null
    empty env MAS_SOCKET="$T/none" "$TOLD" Done </dev/null
    empty env MAS_SOCKET="$T" "$TOLD" Done </dev/null
    empty env MAS_SOCKET="$socket" "$TOLD" </dev/null
    empty env MAS_SOCKET="$socket" "$TOLD" '"},{' </dev/null
    empty env MAS_SOCKET="$socket" "$TOLD" Done <<<'not json'
    head -c 3000000 /dev/zero | empty env MAS_SOCKET="$socket" "$TOLD" Done
    kill -STOP "$host" # it hangs
    empty env MAS_SOCKET="$socket" "$TOLD" Done <<<'{}'
    kill -CONT "$host"
    is idle
    # nor does a program see that its hook was killed, or is gone
    local run
    run=$(jq -r '.hooks.Done[0].run' "$DIR/run/solo.role/told/conf/hooks.json")
    printf '#!/bin/sh\nkill -9 $$\n' >"$T/told"
    chmod +x "$T/told"
    sh -c "${run/"$TOLD"/"$T/told"}" 2>/dev/null
    sh -c "${run/"$TOLD"/"$T/none"}" 2>/dev/null
}

@test "Codex is told which hooks to trust: those of mas alone, by the sum that it takes" {
    mkdir "$T/bin"
    cat >"$T/bin/codex" <<'END'
#!/usr/bin/env python3
import json, os, sys
with open("words.new", "w") as file:
    json.dump(sys.argv[1:], file)
os.rename("words.new", "words")
END
    chmod +x "$T/bin/codex"
    export PATH=$T/bin:$PATH
    new_session -t solo --agent codex-tty
    eventually prints 1 eval "find '$ROOT/sessions/$ID' -name words | wc -l"
    run python3 - "$(find "$ROOT/sessions/$ID" -name words)" "$TOLD" <<'END'
import hashlib, json, re, sys
words = json.load(open(sys.argv[1]))
hooks, trusted = [value for option, value in zip(words, words[1:]) if option == "-c" and value.startswith("hooks")]
hooks = dict(re.findall(r'(\w+)=\[\{hooks=\[\{type="command",command="([^"]*)",timeout=3\}\]\}\]', hooks))
trusted = dict(re.findall(r'"([^"]*)"=\{trusted_hash="([^"]*)"\}', trusted))
assert set(hooks) >= {"SessionStart", "UserPromptSubmit", "PermissionRequest", "Interrupt", "Stop"}
assert len(trusted) == len(hooks)
for event, command in hooks.items():
    assert command == sys.argv[2] + " " + event + " || :"
    name = re.sub("(?<!^)(?=[A-Z])", "_", event).lower()
    hook = {"event_name": name, "hooks": [{"type": "command", "command": command, "timeout": 3, "async": False}]}
    sum = hashlib.sha256(json.dumps(hook, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    assert trusted[f"/<session-flags>/config.toml:{name}:0:0"] == "sha256:" + sum
END
    [ "$status" -eq 0 ] || { echo "$output"; false; }
}
