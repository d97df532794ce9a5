# Real agents behind their walls: they work, remember and reach what they need, and nothing else.
# What they tried is read from what the model was sent.
load ../helper
load lib
load ../project

setup_more() {
    make_project
    command -v bwrap >/dev/null || skip 'bubblewrap is not installed'
}

# What the tools of prompt $1 answered
tools_said() {
    jq -r --argjson n "$1" 'select(.mark == $n) | .said[] | select(.role == "tool").text' "$LOG" | sort -u
}

# run_inside COMMAND: the agent runs it with its tool; the answer of the tool is in $SAID.
run_inside() {
    tell -o "$(run_order "$1")" 'run it'
    [ "$status" -eq 0 ] || { echo "ask: exit $status, '$output', $stderr"; return 1; }
    SAID=$(tools_said "$N")
}

said() { [[ $SAID == *"$1"* ]] || { echo "the tool did not say '$1': $SAID"; return 1; }; }
said_not() { [[ $SAID != *"$1"* ]] || { echo "the tool said '$1': $SAID"; return 1; }; }

# behind AGENT: a session on the project; its agent has a wall.
behind() {
    on "$1" AGENTS.md
    is_told
    local files
    files=$(field "$ID" '.agents[0].wall.files')
    [ "$files" = bubblewrap ] || skip "no wall here: $("$MAS" show "$ID" | grep -i 'wall')"
}

works() {
    behind "$1"
    if [ -n "${MAS_TEST_NESTED-}" ]; then
        [ "$(field "$ID" '.agents[0].wall.ownSandbox')" = null ]
    elif [ "$1" != opencode ]; then # it has no sandbox
        [ "$(field "$ID" '.agents[0].wall.ownSandbox')" = off ]
        "$MAS" show "$ID" | grep -q 'own sandbox: off'
    fi
    works_and_lands
}

# A program with a leak, for AddressSanitizer and LeakSanitizer, which traces its threads
runs_what_it_builds() {
    behind "$1"
    command -v cc >/dev/null || skip 'there is no compiler'
    echo 'int main(void) { __builtin_malloc(7); return 0; }' >"$TREE/leak.c"
    cc -fsanitize=address -o "$T/leak" "$TREE/leak.c" 2>/dev/null || skip 'there is no AddressSanitizer'
    run_inside 'cc -fsanitize=address -g -O0 -o /tmp/leak leak.c && /tmp/leak; echo exit $?'
    said 'detected memory leaks'
    said '7 byte(s)'
}

remembers() {
    behind "$1"
    told 'the word is CW-OTTER'
    local first=$N
    let_it_load
    again
    told 'what was it'
    saw_word "$N" CW-OTTER
    [ "$(times_said "$first" "$N")" -eq 1 ]
    [[ $(continuity) =~ ^(resumed|loaded)$ ]] || { echo "continuity: $(continuity)"; return 1; }
    no_injection "$N"
    [ ! -e "$HOME/.claude/projects" ] && [ ! -e "$HOME/.codex/sessions" ] && [ ! -e "$HOME/.gemini/tmp" ]
}

# What is not its own, by path: the files are not there, and no word of them comes out.
sees_nothing_else() {
    local other file files
    echo 'CW-PRIVATE' >"$HOME/notes"
    mkdir -p "$HOME/.ssh" && echo 'CW-KEY' >"$HOME/.ssh/id_ed25519"
    behind "$1"
    other=$("$MAS" new -q -t solo --no-start)
    echo 'CW-OTHER' >"$ROOT/sessions/$other/unit/solo/file"
    files="$HOME/notes $HOME/.ssh/id_ed25519 $ROOT/sessions/$other/unit/solo/file
        $ROOT/sessions/$other/config.json $DIR/config.json $DIR/.session $ROOT/mas.ini
        $(find "$ROOT" -name memory.db) $ROOT/sessions/.sessions.index $DIR/run/solo.sock $DIR/logs/agent-solo.log"
    for file in $files; do
        [ -e "$file" ] || { echo "the test is wrong: there is no $file"; return 1; }
    done
    files=$(xargs <<<"$files")
    run_inside "ls -d $files; cat $files; ls -A $ROOT/sessions; echo end of it"
    said 'end of it'
    [ "$(grep -c 'No such file or directory' <<<"$SAID")" -ge 20 ] || { echo "$SAID"; return 1; }
    saw_no_word "$N" CW-PRIVATE
    saw_no_word "$N" CW-KEY
    saw_no_word "$N" CW-OTHER
}

# The tool of mas whose name ends in $1, as this agent's model knows it; Codex tells it the group alone
tool_named() {
    request "$N" | jq -r --arg name "$1" 'first(.tools[] | select(test("mas.*" + $name + "$"))),
        (.tools[] | select(. == "mcp__mas") | $name + "@" + .)'
}

reaches_mas() {
    local tool
    behind "$1"
    if [ "$1" != copilot ]; then # it takes no servers of tools that are programs, with a wall or without
        tool=$(tool_named list_agents)
        [ -n "$tool" ] || { request "$N" | jq -c .tools; return 1; }
        tell -o "call $tool {}" 'who is there'
        [ "$status" -eq 0 ]
        SAID=$(tools_said "$N")
        said '"solo"'
    fi
    run_inside 'mas status; mas stop; echo "exit $?"'
    said solo
    said 'exit 1'
    [ "$(of_agent state)" = idle ]
}

# It has the model server, through the proxy, and nothing else of the network. The server is at an address
# that run.sh has made: programs look for no proxy on their way to 127.0.0.1.
has_a_list() {
    command -v tinyproxy >/dev/null || skip 'there is no tinyproxy'
    ip -o address show dev lo 2>/dev/null | grep -q ' 9\.9\.9\.1/' || skip 'it needs the network of run.sh'
    MODEL_ADDRESS=9.9.9.1
    behind "$1"
    [[ $(field "$ID" '.agents[0].wall.network') == *proxy* ]] || { "$MAS" show "$ID" | grep -i wall; return 1; }
    works_and_lands
    cat >"$TREE/look" <<SH
(exec 3<>/dev/tcp/9.9.9.1/$PORT) && echo straight
echo "devices: \$(grep -c : /proc/net/dev)"
SH
    run_inside 'bash look'
    said 'devices: 1' # its loopback
    said_not straight
    grep -q "allowed 9.9.9.1:$PORT" "$DIR/logs/network-solo.log"
    told 'the word is CW-OTTER'
    let_it_load
    again
    told 'what was it'
    saw_word "$N" CW-OTTER
}

# What its login makes: a file of the home. Nothing in the environment or the settings has a key.
login_claude() {
    jq -n '{claudeAiOauth: {accessToken: "login-of-the-user", refreshToken: "none", expiresAt: 4102444800000,
        scopes: ["user:inference", "user:profile"], subscriptionType: "max"}}' >"$CLAUDE_CONFIG_DIR/.credentials.json"
}
login_codex() { echo '{"OPENAI_API_KEY": "login-of-the-user", "tokens": null}' >"$CODEX_HOME/auth.json"; }
login_gemini() { echo 'GEMINI_API_KEY=login-of-the-user' >"$HOME/.gemini/.env"; }
login_opencode() {
    mkdir -p "$HOME/.local/share/opencode"
    echo '{"test": {"type": "api", "key": "login-of-the-user"}}' >"$HOME/.local/share/opencode/auth.json"
}

has_no_key() {
    unset ANTHROPIC_API_KEY OPENAI_API_KEY CODEX_API_KEY GEMINI_API_KEY
    case $1 in
        codex) sed -i 's/^env_key = .*/requires_openai_auth = true/; 1i cli_auth_credentials_store = "file"' "$CODEX_HOME/config.toml" ;;
        opencode) jq 'del(.provider.test.options.apiKey)' "$XDG_CONFIG_HOME/opencode/opencode.json" >"$T/opencode.json" &&
            mv "$T/opencode.json" "$XDG_CONFIG_HOME/opencode/opencode.json" ;;
    esac
}

# It has no login and says how to get one; the login of a person in another terminal is its own with the next prompt.
logs_in() {
    use_agent "$1"
    has_no_key "$1"
    new_session -t solo -n one --agent "$1"
    DIR=$ROOT/sessions/$ID
    tell 'who are you'
    if [ "$1" != opencode ]; then # it asks its model without a key
        [ "$status" -eq 1 ]
        [[ $stderr == *'needs a login'*'or with /login in its pane'* ]] || { echo "$stderr"; return 1; }
        agent_is waiting
    fi
    "login_$1"
    [ "$1" != opencode ] || again
    told 'who are you now'
    [ "$(field "$ID" '.agents[0].wall.files')" = bubblewrap ]
    [ "$(request "$N" | jq -r .login)" = login-of-the-user ]
}

@test "claude behind its wall: has the login that its user makes meanwhile" { logs_in claude; }

@test "codex behind its wall: has the login that its user makes meanwhile" { logs_in codex; }

@test "gemini behind its wall: has the login that its user makes meanwhile" { logs_in gemini; }

# Copilot has no login that can be had without GitHub.

@test "opencode behind its wall: has the login that its user makes" { logs_in opencode; }

@test "claude behind its wall: works" { works claude; }

@test "codex behind its wall: works" { works codex; }

@test "gemini behind its wall: works" { works gemini; }

@test "copilot behind its wall: works" { works copilot; }

@test "opencode behind its wall: works" { works opencode; }

@test "claude behind its wall: builds and runs a program under AddressSanitizer" { runs_what_it_builds claude; }

@test "codex behind its wall: builds and runs a program under AddressSanitizer" { runs_what_it_builds codex; }

@test "gemini behind its wall: builds and runs a program under AddressSanitizer" { runs_what_it_builds gemini; }

@test "copilot behind its wall: builds and runs a program under AddressSanitizer" { runs_what_it_builds copilot; }

@test "opencode behind its wall: builds and runs a program under AddressSanitizer" { runs_what_it_builds opencode; }

@test "claude behind its wall: remembers after stop and start, by itself" { remembers claude; }

@test "codex behind its wall: remembers after stop and start, by itself" { remembers codex; }

@test "gemini behind its wall: remembers after stop and start, by itself" { remembers gemini; }

@test "copilot behind its wall: remembers after stop and start, by itself" { remembers copilot; }

@test "opencode behind its wall: remembers after stop and start, by itself" { remembers opencode; }

@test "claude behind its wall: sees no other unit, session or file of its user" { sees_nothing_else claude; }

@test "codex behind its wall: sees no other unit, session or file of its user" { sees_nothing_else codex; }

@test "gemini behind its wall: sees no other unit, session or file of its user" { sees_nothing_else gemini; }

@test "copilot behind its wall: sees no other unit, session or file of its user" { sees_nothing_else copilot; }

@test "opencode behind its wall: sees no other unit, session or file of its user" { sees_nothing_else opencode; }

@test "claude behind its wall: reaches its tools of mas, and may not stop the team" { reaches_mas claude; }

@test "codex behind its wall: reaches its tools of mas, and may not stop the team" { reaches_mas codex; }

@test "gemini behind its wall: reaches its tools of mas, and may not stop the team" { reaches_mas gemini; }

@test "copilot behind its wall: reaches its tools of mas, and may not stop the team" { reaches_mas copilot; }

@test "opencode behind its wall: reaches its tools of mas, and may not stop the team" { reaches_mas opencode; }

@test "claude behind its wall: works with its model through the proxy alone" { has_a_list claude; }

@test "codex behind its wall: works with its model through the proxy alone" { has_a_list codex; }

@test "gemini behind its wall: works with its model through the proxy alone" { has_a_list gemini; }

@test "copilot behind its wall: works with its model through the proxy alone" { has_a_list copilot; }

@test "opencode behind its wall: works with its model through the proxy alone" { has_a_list opencode; }

# nested AGENT: a session whose wall may be nested.
nested() {
    MAS_TEST_NESTED=yes use_agent "$1"
    printf '[preset %s]\npermission = allow\n' "$1" >>"$ROOT/mas.ini"
    [ "$1" != claude ] || echo 'mode = default' >>"$ROOT/mas.ini"
    instruct AGENTS.md
    new_session -t solo -n one --agent "$1" --project "$P"
    DIR=$ROOT/sessions/$ID
    TREE=$(tree_of solo)
    told 'begin'
    [ "$(field "$ID" '.agents[0].wall.files')" = bubblewrap ]
    [ "$(field "$ID" '.agents[0].wall.ownSandbox')" = null ]
}

@test "claude behind a wall that may be nested keeps its own sandbox, and can make namespaces" {
    nested claude
    run_inside 'bwrap --unshare-user --unshare-net --ro-bind / / expr 6 "*" 7'
    said 42
}

# Its sandbox hides /tmp and /dev/shm, where most tests are.
@test "codex behind a wall that may be nested runs programs in its own sandbox" {
    case $T in /dev/shm/* | /tmp/*) skip "its sandbox hides ${T%/*}; say TEST_PLACE=DIR" ;; esac
    SANDBOX=workspace-write nested codex
    # shellcheck disable=SC2016 # for the agent
    run_inside 'touch made && echo made it; touch $HOME/outside || echo refused'
    said 'made it'
    said refused
    [ -e "$TREE/made" ]
}

# alone AGENT: where there is no bubblewrap, so that Landlock alone holds the files, it works and remembers.
alone() {
    local abi
    abi=$("${MAS%/*}/mas-wall" --probe | sed -n 's/^landlock=//p')
    [ "$abi" -ge 3 ] || skip "this kernel has Landlock ABI $abi"
    mkdir "$BATS_TEST_TMPDIR/programs"
    tr ':' '\n' <<<"$PATH" | while read -r dir; do
        find "$dir/" -maxdepth 1 ! -name bwrap -exec ln -s -t "$BATS_TEST_TMPDIR/programs" {} + 2>/dev/null || :
    done
    export PATH=$BATS_TEST_TMPDIR/programs
    on "$1" AGENTS.md
    is_told
    [ "$(field "$ID" '.agents[0].wall.files')" = Landlock ] || { "$MAS" show "$ID"; return 1; }
    works_and_lands
    told 'the word is CW-OTTER'
    let_it_load
    again
    told 'what was it'
    saw_word "$N" CW-OTTER
    echo 'CW-PRIVATE' >"$HOME/notes"
    run_inside "cat $HOME/notes $ROOT/mas.ini; echo end of it"
    said 'end of it'
    [ "$(grep -c 'Permission denied' <<<"$SAID")" -ge 2 ] || { echo "$SAID"; return 1; }
    saw_no_word "$N" CW-PRIVATE
}

@test "claude behind Landlock alone: works, remembers and reads nothing else" { alone claude; }

@test "codex behind Landlock alone: works, remembers and reads nothing else" { alone codex; }

# Gemini CLI runs each program on a terminal of its own (forkpty), and cannot open one behind Landlock alone.

@test "copilot behind Landlock alone: works, remembers and reads nothing else" { alone copilot; }

@test "opencode behind Landlock alone: works, remembers and reads nothing else" { alone opencode; }
