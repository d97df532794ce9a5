# What the tests of real agents share; loaded behind ../helper.
# shellcheck shell=bash
#
#   $AGENT   claude, codex, gemini, copilot, opencode; claude-code and zed-codex, the adapters that were
#            before those of the first two   $PRESET  the preset that it is run by
#   $AGENTS  where install.sh put the programs (MAS_TEST_AGENTS, else ~/.cache/mas-agents)
#   $MODEL_ADDRESS  where the model server listens, if not at 127.0.0.1; then it is all of the network
#            that on() gives the agent
#   $SANDBOX the sandbox of Codex, if not none
#   $MAS_TEST_NESTED  if not empty, walls may be nested
#   $LOG     what the model was sent, one request a line: model.mjs says how
#   $ID      the session; its one agent is `solo`
#
# The presets are used as they are shipped: the programs are found on PATH, and what points them at
# the model server is in their environment and in files below their HOME.
#
# Every prompt has a number of its own, its mark, in braces: tell "text" marks and asks, and leaves
# the number in $N; `saw $N` prints the code words that the model was shown with that prompt.

AGENT=${MAS_TEST_AGENT:-claude}
AGENTS=${MAS_TEST_AGENTS:-$HOME/.cache/mas-agents}

declare -gA PROGRAMS=(
    [claude]=claude-agent-acp [codex]=codex-acp [gemini]=gemini [copilot]=copilot [opencode]=opencode
)
# Of those that are no preset: the preset, and where install.sh has put the program
declare -gA PRESETS=([claude-code]=claude [zed-codex]=codex)
declare -gA PLACES=(
    [claude-code]=claude-code-acp/node_modules/.bin/claude-code-acp
    [zed-codex]=zed-codex-acp/node_modules/.bin/codex-acp
)
PRESET=${PRESETS[$AGENT]-$AGENT}

setup_more() {
    case $BATS_TEST_DESCRIPTION in offers:*) export MAS_TEST_TRACE=${MAS_TEST_TRACE:-$T/protocol} ;; esac
    use_agent "$AGENT"
}

# use_agent NAME: makes this the agent of the test, and starts the model server if none runs.
use_agent() {
    AGENT=$1 PRESET=${PRESETS[$1]-$1}
    local program=${PROGRAMS[$PRESET]}
    local found=$AGENTS/${PLACES[$AGENT]-$program/node_modules/.bin/$program}

    command -v node >/dev/null || skip "there is no node"
    [ -x "$found" ] || skip "$program is not installed: test/agents/install.sh $AGENT"
    [ -x "${MAS_TEST_CHAT:-${MAS%/*}/mas-chat}" ] || skip "mas-chat is not built"
    mkdir -p "$T/bin"
    local node=${found%/.bin/*}/.bin/node # where it needs a newer one than the machine's
    if [ -x "$node" ]; then
        printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$node" "$(readlink -f "$found")" >"$T/bin/$program.js"
        chmod +x "$T/bin/$program.js"
        found=$T/bin/$program.js
        # a wall does not find what a script starts
        grep -qxF "wall.read = $AGENTS/$program" "$ROOT/mas.ini" ||
            printf '[preset %s]\nwall.read = %s\n' "$PRESET" "$AGENTS/$program" >>"$ROOT/mas.ini"
    fi
    if [ -n "${MAS_TEST_TRACE-}" ]; then
        trace_program "$program" "$found"
    else
        ln -s "$found" "$T/bin/$program"
    fi
    [ -n "${MODEL-}" ] || start_model
    "model_of_$PRESET" "http://${MODEL_ADDRESS-127.0.0.1}:$PORT"
    if [ -n "${MAS_TEST_NESTED-}" ]; then
        printf '[preset %s]\nwall.nested = yes\n' "$PRESET" >>"$ROOT/mas.ini"
        # its own sandbox keeps .git read-only, and ptrace(2) from LeakSanitizer; Landlock leaves it off
        [ "$PRESET" != codex ] || [ "${SANDBOX-}" = workspace-write ] || export INITIAL_AGENT_MODE=agent-full-access
    fi
}

# use_terminal NAME: likewise for the program in a terminal (preset NAME-tty). Its user trusts the
# sessions' directories; of a repository Claude Code and Codex want to hear that, too, see trust_tree.
use_terminal() {
    use_agent "$1"
    PRESET=$1-tty
    local modules=$AGENTS/${PROGRAMS[$1]}/node_modules program
    case $1 in
        claude) program=$modules/@anthropic-ai/claude-agent-sdk-linux-x64/claude ;;
        *) program=$modules/.bin/$1 ;;
    esac
    [ -x "$program" ] || skip "$1 is not installed: test/agents/install.sh $1"
    ln -sf "$program" "$T/bin/$1"
    case $1 in
        claude) jq -n --arg dir "$ROOT/sessions" '{hasCompletedOnboarding: true, theme: "dark",
            customApiKeyResponses: {approved: ["none"]}, projects: {($dir): {hasTrustDialogAccepted: true}}}' \
            >"$CLAUDE_CONFIG_DIR/.claude.json" ;;
        copilot) mkdir -p "$HOME/.copilot" && jq -n --arg dir "$ROOT/sessions" '{trusted_folders: [$dir],
            trustedFolders: [$dir]}' >"$HOME/.copilot/config.json" ;;
    esac
}

trust_tree() {
    case $AGENT in
        claude) jq --arg dir "$1" '.projects[$dir] = {hasTrustDialogAccepted: true}' "$CLAUDE_CONFIG_DIR/.claude.json" \
            >"$T/trust.json" && mv "$T/trust.json" "$CLAUDE_CONFIG_DIR/.claude.json" ;;
        codex) printf '[projects."%s"]\ntrust_level = "trusted"\n' "$1" >>"$CODEX_HOME/config.toml" ;;
        copilot) jq --arg dir "$1" '.trusted_folders += [$dir] | .trustedFolders += [$dir]' "$HOME/.copilot/config.json" \
            >"$T/trust.json" && mv "$T/trust.json" "$HOME/.copilot/config.json" ;;
    esac
}

start_model() {
    export PATH=$T/bin:$PATH
    N=0
    LOG=$T/model.log
    : >"$LOG"
    MODEL_ADDRESS=${MODEL_ADDRESS-127.0.0.1} node "$BATS_TEST_DIRNAME/model.mjs" "$LOG" "$T/port" >"$T/model.out" 2>&1 3>&- &
    MODEL=$!
    eventually test -s "$T/port"
    PORT=$(<"$T/port")
    leave_models
}

# The program behind one that keeps what goes in and what comes out, for a look at the protocol.
trace_program() {
    mkdir -p "$MAS_TEST_TRACE"
    cat >"$T/bin/$1" <<END
#!/bin/bash
trace=$MAS_TEST_TRACE/$AGENT-$BATS_TEST_NUMBER-\$\$
exec < <(exec tee "\$trace.in") > >(exec tee "\$trace.out")
exec '$2' "\$@"
END
    chmod +x "$T/bin/$1"
}

# Takes out of the environment what names other models. What makes an agent speak to the model server
# and to nobody else is in its model_of_NAME.
leave_models() {
    # shellcheck disable=SC2046 # names
    unset $(compgen -e | grep -E '^(ANTHROPIC|CLAUDE|CODEX|OPENAI|GEMINI|GOOGLE|COPILOT|OPENCODE)')
    unset IS_SANDBOX GH_TOKEN GITHUB_TOKEN
    export NO_PROXY=127.0.0.1,localhost DO_NOT_TRACK=1 NO_COLOR=1 TMPDIR=$T/tmp
    export XDG_CACHE_HOME=$HOME/.cache XDG_STATE_HOME=$HOME/.local/state
    mkdir -p "$TMPDIR"
    unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY
}

model_of_claude() {
    export ANTHROPIC_BASE_URL=$1 ANTHROPIC_API_KEY=none CLAUDE_CONFIG_DIR=$HOME/.claude
    export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1 DISABLE_TELEMETRY=1
    export DISABLE_ERROR_REPORTING=1 CLAUDE_CODE_MAX_RETRIES=1 ENABLE_TOOL_SEARCH=false # its tools, at once
    mkdir -p "$CLAUDE_CONFIG_DIR"
}

model_of_codex() {
    export CODEX_HOME=$HOME/.codex OPENAI_API_KEY=none CODEX_API_KEY=none
    mkdir -p "$CODEX_HOME"
    cat >"$CODEX_HOME/config.toml" <<END
model = "test-model"
model_provider = "test"
approval_policy = "never"
sandbox_mode = "${SANDBOX-danger-full-access}"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.test]
name = "test"
base_url = "$1/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
END
}

model_of_gemini() {
    export GEMINI_API_KEY=none GOOGLE_GEMINI_BASE_URL=$1 GEMINI_TELEMETRY_ENABLED=false
    export GEMINI_CLI_TRUST_WORKSPACE=true
    mkdir -p "$HOME/.gemini"
    jq -n '{security: {auth: {selectedType: "gemini-api-key"}, folderTrust: {enabled: false}},
        privacy: {usageStatisticsEnabled: false}, model: {name: "gemini-2.5-flash"},
        general: {disableAutoUpdate: true, enableAutoUpdate: false}}' >"$HOME/.gemini/settings.json"
}

model_of_copilot() {
    export COPILOT_AUTO_UPDATE=false COPILOT_OFFLINE=true COPILOT_MODEL=test-model
    export COPILOT_PROVIDER_BASE_URL=$1/v1 COPILOT_PROVIDER_TYPE=openai COPILOT_PROVIDER_API_KEY=none
}

model_of_opencode() {
    export OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1
    export OPENCODE_DISABLE_LSP_DOWNLOAD=1
    mkdir -p "$XDG_CONFIG_HOME/opencode"
    jq -n --arg url "$1/v1" '{autoupdate: false, share: "disabled", model: "test/test-model",
        small_model: "test/test-model", provider: {test: {npm: "@ai-sdk/openai-compatible",
        name: "Test", options: {baseURL: $url, apiKey: "none"},
        models: {"test-model": {name: "Test", limit: {context: 200000, output: 8000}}}}}}' \
        >"$XDG_CONFIG_HOME/opencode/opencode.json"
}

teardown_more() {
    if [ -n "${ID-}" ]; then keep_for_report; fi
    if [ -n "${MODEL-}" ]; then kill "$MODEL" 2>/dev/null || true; fi
    "$MAS" stop --all -q 2>/dev/null || true
    local pid
    # shellcheck disable=SC2013 # numbers
    for pid in $(grep -lsz "^HOME=$HOME$" /proc/[0-9]*/environ | cut -d/ -f3); do
        [ "$pid" = "$$" ] || [ "$pid" = "$BASHPID" ] || kill -KILL "$pid" 2>/dev/null || true
    done
}

# What helps where a test failed
keep_for_report() {
    [ -z "${BATS_TEST_COMPLETED-}" ] || return 0
    echo "--- what the model was sent (mark, words, answer)"
    jq -c '[.mark, .words, .system, (.tools | length), .answer, .error]' "$LOG" | cut -c1-300
    echo "--- status and screen"
    "$MAS" status "$ID" --json | jq -c '.sessions[0].agents[0] | {state, note, turnEnd, turnWhy, queued}'
    tmux -u -S "$SOCK" list-panes -aF '#{pane_id}' | while read -r pane; do tmux -u -S "$SOCK" capture-pane -pt "$pane" | grep -v '^ *$' | tail -n 25; done
    echo "--- session log"
    tail -n 20 "$ROOT"/sessions/*/logs/session.log
    echo "--- agent log"
    tail -n 20 "$ROOT"/sessions/*/logs/agent-solo.log | cut -c1-600
    if [ -n "${MAS_TEST_KEEP-}" ]; then
        rm -rf "$MAS_TEST_KEEP/$AGENT-$BATS_TEST_NUMBER"
        mkdir -p "$MAS_TEST_KEEP" && cp -a "$T" "$MAS_TEST_KEEP/$AGENT-$BATS_TEST_NUMBER"
    fi
} 2>/dev/null

# Waits until a command succeeds, at most $1 seconds.
within() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || { echo "never came true: $*" >&2; return 1; }
        read -rt 0.05 <> <(:) || :
    done
}

# team OPTION...: a session whose agent is the preset's
team() { new_session -t solo --agent "$PRESET" "$@"; }

# tell [-o ORDER] TEXT [OPTION...]: asks the agent; the answer is in $output, the exit code in $status.
tell() {
    local order=''
    if [ "$1" = -o ]; then
        order=" $2"
        shift 2
    fi
    N=$((N + 1))
    local text="$1 {{$N$order}}"
    shift
    mas ask --timeout "${ASK_TIME:-420s}" "$@" "$ID" solo "$text"
}

# told TEXT: the same, and it must end well and be what the model answered to that prompt.
told() {
    tell "$@"
    if [ "$status" -ne 0 ] || [[ $output != *"answer to $N:"* ]]; then
        echo "ask: exit $status, '$output', $stderr"
        return 1
    fi
}

# All code words that the model was shown, wherever, with prompt $1
saw() { jq -r --argjson n "$1" 'select(.mark == $n) | (.words + .system)[]' "$LOG" | sort -u; }

# saw_word N WORD, saw_no_word N WORD; there must be a request of that prompt.
saw_word() {
    saw "$1" | grep -qx "$2" || { echo "prompt $1 came without $2: $(saw "$1" | xargs)"; return 1; }
}
saw_no_word() {
    jq -e -n --argjson n "$1" 'any(inputs; .mark == $n)' "$LOG" >/dev/null ||
        { echo "the model never had prompt $1"; return 1; }
    if saw "$1" | grep -qx "$2"; then
        echo "prompt $1 came with $2"
        return 1
    fi
}

# The request of prompt $1 that is the agent's turn: the one with tools, else the longest.
request() {
    jq -c -n --argjson n "$1" '[inputs | select(.mark == $n)]
        | (map(select(.tools != [])) | first) // max_by(.said | length)' "$LOG"
}

# How often the words of prompt $1 are in the conversation that was sent with prompt $2
times_said() { request "$2" | jq "[.said[].text | scan(\"\\\\{\\\\{$1[ }]\")] | length"; }

# How many histories that mas told are in the conversation of prompt $1
injections() { request "$1" | jq '[.said[].text | scan("<earlier_conversation>")] | length'; }
has_injection() { [ "$(injections "$1")" -eq 1 ] || { echo "no history in prompt $1"; return 1; }; }
no_injection() { [ "$(injections "$1")" -eq 0 ] || { echo "a history in prompt $1"; return 1; }; }

# A field of the agent's status
of_agent() { "$MAS" status "$ID" --json | jq -r ".sessions[0].agents[0].$1"; }
agent_is() { [ "$(of_agent state)" = "$1" ]; }

# The agent has taken up prompt $1: the model has it.
model_has() { jq -e -n --argjson n "$1" 'any(inputs; .mark == $n)' "$LOG" >/dev/null; }

# A call of the tool of $AGENT that runs a command, as an order of the model
run_order() {
    local name

    case $PRESET in
        claude) [ "$AGENT" = claude-code ] && name=mcp__acp__Bash || name=Bash ;; # of the adapter itself
        gemini) name=run_shell_command ;;
        copilot | opencode) name=bash ;;
        codex)
            echo "call exec_command $(jq -nc --arg cmd "$1" '{cmd: $cmd}')"
            return
            ;;
    esac
    # the earlier adapter's tool says that it may be left out, and refuses that
    echo "call $name $(jq -nc --arg command "$1" '{command: $command, description: "as asked"}
        + if $ARGS.named.name == "mcp__acp__Bash" then {timeout: 60000} else {} end' --arg name "$name")"
}

# edit_orders FILE OLD NEW: calls of the tools of $AGENT that put a word in the place of another, one a
# line; some have to read the file first.
edit_orders() {
    local names

    case $PRESET in
        claude) names='Read Edit file_path old_string new_string' ;;
        gemini) names='- replace file_path old_string new_string instruction' ;;
        copilot) names='- edit path old_str new_str' ;;
        opencode) names='read edit filePath oldString newString' ;;
        codex) # the model has no other tool for it, unless Codex knows its name
            run_order "sed -i 's/$2/$3/' $1"
            return
            ;;
    esac
    # shellcheck disable=SC2086 # words
    set -- "$@" $names
    [ "$4" = - ] || echo "call $4 $(jq -nc --arg file "$1" --arg key "$6" '{($key): $file}')"
    echo "call $5 $(jq -nc --arg file "$1" --arg old "$2" --arg new "$3" --arg a "$6" --arg b "$7" --arg c "$8" \
        --arg more "${9-}" '{($a): $file, ($b): $old, ($c): $new} + if $more == "" then {} else {($more): "as asked"} end')"
}

# A call of the tool of $AGENT that makes a file with this text, as an order of the model.
create_order() {
    local tool path=file_path text=content

    case $PRESET in
        claude) [ "$AGENT" = claude-code ] && tool=mcp__acp__Write || tool=Write ;; # of the adapter itself
        gemini) tool=write_file ;;
        copilot) tool=create path=path text=file_text ;;
        opencode) tool=write path=filePath ;;
        codex) # the model has no other tool for it, unless Codex knows its name
            run_order "printf '%s\n' '$2' >'$1'"
            return
            ;;
    esac
    echo "call $tool $(jq -nc --arg path "$path" --arg text "$text" --arg file "$1" --arg words "$2" \
        '{($path): $file, ($text): $words}')"
}

# What a start of the agent came to
continuity() { of_agent continuity; }

# Everything that the agent itself keeps, gone
wipe_store() {
    rm -rf "$HOME/.claude" "$HOME/.codex/"{sessions,*.sqlite*,state*,history*,log*} \
        "$HOME/.gemini/"{tmp,history} "$HOME/.copilot" "$HOME/.local/share/opencode" \
        "$HOME/.local/state" "$HOME/.cache" "$ROOT"/sessions/*/home
}

# Stops and starts the session.
again() {
    mas stop "$ID" && [ "$status" -eq 0 ] && mas start "$ID" && [ "$status" -eq 0 ]
}

is_another_minute() { [ "$(date +%M)" != "$1" ]; }

# Waits until the agent can load the session that it has: Gemini erases one that it loads in the minute
# of its beginning.
let_it_load() { [ "$PRESET" != gemini ] || within 70 is_another_minute "$(date +%M)"; }

# ask_slowly TEXT [MS]: a turn that goes on in the background ($ASK), and has reached the model.
ask_slowly() {
    N=$((N + 1))
    "$MAS" ask --timeout 420s "$ID" solo "$1 {{$N slow ${2-30000}}}" >"$T/slow" 2>&1 3>&- &
    ASK=$!
    within 200 model_has "$N"
}

# ask_cut TEXT: a turn that is on in the model when the host is killed.
ask_cut() {
    ask_slowly "$1"
    kill -KILL "$(of_agent hostPid)"
    wait "$ASK" && return 1
    within 20 nothing_runs
}

is_one_queued() { [ "$(of_agent queued)" -ge 1 ]; }
agent_has_ended() { [[ $(of_agent state) =~ ^(exited|crashed)$ ]]; }

# Processes of the session's agents
team_processes() { grep -lsz "^MAS_SESSION_ID=$ID$" /proc/[0-9]*/environ | cut -d/ -f3; }
nothing_runs() { [ -z "$(team_processes)" ]; }

# ---- a session with a project: load ../project, and make_project in setup_more

# A word of its own that the unit and the project have for the agent
instruct() {
    echo 'CW-ROLE is what you do' >"$ROOT/templates/solo/unit/solo/AGENTS.md"
    echo 'CW-PROJECT is how it is done here' >"$P/$1"
    git -C "$P" add -- "$1"
    git -C "$P" commit -qm 'Instruct'
}

# on AGENT FILE: a session on the project, whose instructions are in FILE.
on() {
    use_agent "$1"
    instruct "$2"
    printf '[preset %s]\npermission = allow\n' "$PRESET" >>"$ROOT/mas.ini"
    [ "$PRESET" != claude ] || echo 'mode = default' >>"$ROOT/mas.ini" # in its own a model decides, which is not here
    [ -z "${MODEL_ADDRESS-}" ] || echo "wall.network = $MODEL_ADDRESS:$PORT" >>"$ROOT/mas.ini"
    new_session -t solo -n one --agent "$PRESET" --project "$P"
    DIR=$ROOT/sessions/$ID
    TREE=$(tree_of solo)
}

# It is told its role and the project's instructions with its first prompt, and each once.
is_told() {
    told 'begin'
    saw_word "$N" CW-ROLE
    saw_word "$N" CW-PROJECT
    local word
    for word in CW-ROLE CW-PROJECT; do
        [ "$(request "$N" | jq "[.said[].text | scan(\"$word\")] | length")" -le 1 ]
    done
}

# It edits a file with its own tools and commits, and the commit lands.
works_and_lands() {
    local order
    while IFS= read -r order; do tell -o "$order" 'change it'; done < <(edit_orders "$TREE/a" a changed)
    [ "$(<"$TREE/a")" = changed ]
    tell -o "$(run_order 'git add a && git commit -q -m changed-by-the-agent')" 'commit it'
    [ "$(git -C "$TREE" log -1 --format='%s %D')" = "changed-by-the-agent HEAD -> mas/one/solo" ]
    [ -z "$(git -C "$TREE" status --porcelain)" ] # nothing else has come into its work tree
    "$MAS" merge "$ID" solo
    "$MAS" land "$ID"
    [ "$(git -C "$P" show main:a)" = changed ]
    [ "$(git -C "$P" log -1 --format=%s)" = changed-by-the-agent ]
    [ "$(<"$P/a")" = changed ]
}
