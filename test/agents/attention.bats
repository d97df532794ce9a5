# Real agents that nobody looks at: asleep, and back with their memory. Judged by what the model was
# sent and by what the kernel says of processes.
load ../helper
load lib

setup_more() { :; }

# on AGENT: a session with the agent, which has been told a word.
on() {
    use_agent "$1"
    team
    told "the word is CW-OTTER"
    within 30 agent_is idle
}

# Claude Code makes a title with a process of its own, which may outlive the turn for a moment.
is_its_own_alone() {
    mas sleep "$ID" solo
    [ "$status" -ne 4 ] || [[ $stderr != *'which it has started in a turn'* ]]
}

sleeps() {
    within 30 is_its_own_alone
    [ "$status" -eq 0 ] || { echo "sleep: $status, $stderr"; return 1; }
}

# The programs of the session that are neither hosts nor panes of mas
programs() {
    local pid
    for pid in $(team_processes); do
        case $(ps -o comm= -p "$pid") in mas | mas-chat) ;; *) echo "$pid" ;; esac
    done
}
no_program() { [ -z "$(programs)" ]; }

# The private memory of a process in KiB, and what processes take together, each page once
private_memory() { awk '/^Private/ { n += $2 } END { print n }' "/proc/$1/smaps_rollup"; }
memory_of() {
    local pid
    for pid; do cat "/proc/$pid/smaps_rollup" 2>/dev/null; done | awk '/^Pss:/ { n += $2 } END { print n + 0 }'
}

# of_named AGENT FIELD
of_named() { "$MAS" status "$ID" --json | jq -r --arg id "$1" '.sessions[0].agents[] | select(.id == $id) | '".$2"; }

# Its processes are gone, the host stays and is small, and the next prompt brings it back.
sleeps_and_remembers() {
    on "$1"
    local host
    host=$(of_agent hostPid)
    sleeps
    agent_is asleep
    within 10 no_program
    [ "$(of_agent hostPid)" = "$host" ]
    [ -n "${TEST_SAN-}" ] || [ "$(private_memory "$host")" -lt 3072 ]
    told "which word?"
    saw_word "$N" CW-OTTER
    [ "$(times_said 1 "$N")" -eq 1 ]
    [[ $(continuity) =~ ^(resumed|loaded|injected)$ ]]
    [ "$("$MAS" history "$ID" solo | grep -cE 'the agent (sleeps|wakes)')" -eq 2 ]
}

# What it kept itself is deleted while it sleeps: mas tells it, once, and says so in the history.
sleeps_and_loses_its_store() {
    on "$1"
    sleeps
    within 10 no_program
    wipe_store
    "model_of_$PRESET" "http://127.0.0.1:$PORT"
    told "which word?"
    saw_word "$N" CW-OTTER
    has_injection "$N"
    [ "$(continuity)" = injected ]
    "$MAS" history "$ID" solo | grep -q 'conversation injected'
}

@test "claude: asleep it is gone, and the next prompt finds its memory" { sleeps_and_remembers claude; }
@test "codex: asleep it is gone, and the next prompt finds its memory" { sleeps_and_remembers codex; }
@test "gemini: asleep it is gone, and the next prompt finds its memory" { sleeps_and_remembers gemini; }
@test "copilot: asleep it is gone, and the next prompt finds its memory" { sleeps_and_remembers copilot; }
@test "opencode: asleep it is gone, and the next prompt finds its memory" { sleeps_and_remembers opencode; }
@test "claude: its own store deleted while it sleeps" { sleeps_and_loses_its_store claude; }
@test "codex: its own store deleted while it sleeps" { sleeps_and_loses_its_store codex; }
@test "gemini: its own store deleted while it sleeps" { sleeps_and_loses_its_store gemini; }
@test "copilot: its own store deleted while it sleeps" { sleeps_and_loses_its_store copilot; }
@test "opencode: its own store deleted while it sleeps" { sleeps_and_loses_its_store opencode; }

# ---- what they use; the model server counts 10 tokens of input and 10 of output a request

# usage: "TOKENS COST CURRENCY" of the agent; - for what it does not tell
usage() { of_agent 'usage | [.tokens, .cost, .currency] | map(. // "-") | join(" ")'; }
context_is_known() { [ "$(of_agent usage.contextUsed)" != null ] && [ "$(of_agent usage.contextSize)" -gt 1000 ]; }

# used WANT: this is what it has used; a cost in WANT may be LEAST-MOST.
used() {
    jq -en --arg used "$(usage)" --arg want "$1" '($used / " ") as $u | ($want / " ") as $w |
        $u[0] == $w[0] and $u[2] == $w[2] and ($u[1] == $w[1] or ($w[1] | test("[0-9]-") and
        ($w[1] / "-" | map(tonumber)) as $c | ($u[1] | tonumber) as $n | $n >= $c[0] and $n <= $c[1]))' >/dev/null ||
        { echo "used: $(usage), not $1"; return 1; }
}

# uses AGENT ONE TWO THREE: what it has used after a first turn, a second, and one after a restart
uses() {
    use_agent "$1"
    team
    local want
    for want in "${@:2:2}"; do
        told "a turn"
        used "$want"
    done
    again
    told "a turn"
    used "$4"
    "$MAS" usage "$ID" --json >"$T/usage.json" # the same from memory.db
    [ "$(jq '.total.tokens.all' "$T/usage.json")" = "${4%% *}" ] || { cat "$T/usage.json"; return 1; }
}

@test "claude: tells tokens, cost and context, and nothing is counted twice" {
    # at most with a title at each turn, whose cost it tells as soon as it knows it, and whose tokens it does not
    uses claude '20 0.0003-0.00048 USD' '40 0.0006-0.00096 USD' '60 0.0009-0.00144 USD'
    context_is_known
}

@test "codex: tells tokens and context" {
    uses codex '20 - -' '40 - -' '60 - -'
    context_is_known
}

@test "gemini: tells tokens, and its context is blank" {
    uses gemini '20 - -' '40 - -' '60 - -'
    [ "$(of_agent usage.contextUsed)" = null ]
}

@test "copilot: sums its tokens over a session, and they are counted once" {
    uses copilot '20 - -' '40 - -' '60 - -'
    context_is_known
}

@test "opencode: tells tokens, a cost of nothing and context" {
    uses opencode '20 0 USD' '40 0 USD' '60 0 USD'
    context_is_known
}

# ---- a whole team

# ask_of AGENT TEXT: asks an agent of the team; $FIRST gets the milliseconds until it began to answer.
ask_of() {
    N=$((N + 1))
    local begun=$EPOCHREALTIME first
    "$MAS" ask --timeout 420s "$ID" "$1" "$2 {{$N}}" </dev/null 2>"$T/said.err" | {
        IFS= read -rN 1 _
        first=$EPOCHREALTIME
        echo $(((${first/./} - ${begun/./}) / 1000)) >"$T/first"
        cat >"$T/said"
    } || { cat "$T/said.err"; return 1; }
    FIRST=$(<"$T/first")
}

# Prints the states of the team, one word if all have the same.
states() { "$MAS" status "$ID" --json | jq -r '[.sessions[0].agents[].state] | unique | join(" ")'; }
all_are() { [ "$(states)" = "$1" ]; }

# a_team PROGRAM...: 13 agents, of these programs in turn, which start with their first prompt.
a_team() {
    local programs=("$@") program
    for program in "${programs[@]}"; do use_agent "$program"; done
    for program in "${programs[@]}"; do printf '[preset %s]\nstart = demand\n' "$program"; done >>"$ROOT/mas.ini"
    awk -v list="${programs[*]}" 'BEGIN { n = split(list, program) }
        /^\[agent / { inside = 1 } inside && /^preset =/ { print "preset = " program[i++ % n + 1]; next } { print }' \
        "$ROOT/templates/default/template.ini" >"$T/template.ini"
    mv "$T/template.ini" "$ROOT/templates/default/template.ini"
    new_session -t default
    TEAM=({0,1,2,3}{0..3})
    TEAM=("${TEAM[0]}" "${TEAM[@]:4}")
}

@test "13 real agents: asleep they take a fraction of the memory, and each comes back with its word" {
    local id before after sum=0 most=0
    a_team claude codex gemini copilot opencode
    for id in "${TEAM[@]}"; do ask_of "$id" "your word is CW-A$id"; done
    within 60 all_are idle
    # shellcheck disable=SC2046 # numbers
    before=$(memory_of $(team_processes))
    mas sleep "$ID"
    [ "$status" -eq 0 ] || { echo "$output $stderr"; return 1; }
    [ "$(wc -l <<<"$output")" -eq 13 ]
    all_are asleep
    within 20 no_program
    # shellcheck disable=SC2046 # numbers
    after=$(memory_of $(team_processes))
    for id in "${TEAM[@]}"; do
        [ -n "${TEST_SAN-}" ] || [ "$(private_memory "$(of_named "$id" hostPid)")" -lt 3072 ]
    done
    for id in "${TEAM[@]}"; do
        ask_of "$id" "which word?"
        [ "$(saw "$N" | xargs)" = "CW-A$id" ]
        [[ $(of_named "$id" continuity) =~ ^(resumed|loaded|injected)$ ]]
        sum=$((sum + FIRST)) most=$((FIRST > most ? FIRST : most))
        echo "# $id: first token after $FIRST ms, $(of_named "$id" continuity)" >&3
    done
    echo "# memory of the team: $((before / 1024)) MiB before, $((after / 1024)) MiB asleep; first token: $((sum / 13)) ms on average, $most ms at most" >&3
    [ "$((after * 5))" -lt "$before" ]
}

# ---- limits of a provider

# How often the model was asked for an answer to prompt $1 and gave one; how often it refused format $1
answers() { jq -n --argjson n "$1" '[inputs | select(.mark == $n and .tools != [] and .limited == null)] | length' "$LOG"; }
refusals() { jq -n --arg format "$1" '[inputs | select(.format == $format and .limited and .tools != [])] | length' "$LOG"; }
is_limited() { [ "$(of_named "$1" state)" = limited ]; }

@test "13 of claude and codex: one wait for each login, one tries first, and no prompt is lost or doubled" {
    local id asks=() numbers=()
    printf '[limits]\nretry = 3s\n' >>"$ROOT/mas.ini"
    a_team claude codex
    for id in "${TEAM[@]}"; do ask_of "$id" "begin"; done
    ask_aside() { # AGENT [ORDER]
        N=$((N + 1)) numbers+=("$N")
        "$MAS" ask --timeout 420s "$ID" "$1" "a word {{$N ${2-}}}" >"$T/ask-$1" 2>&1 </dev/null 3>&- &
        asks+=($!)
    }
    for id in "${TEAM[@]:0:2}"; do ask_aside "$id" 'limit 9000'; done
    for id in "${TEAM[@]:0:2}"; do within 25 is_limited "$id"; done
    for id in "${TEAM[@]:2}"; do ask_aside "$id"; done
    for id in "${TEAM[@]:2}"; do within 25 is_limited "$id"; done
    for id in "${asks[@]}"; do wait "$id" || { cat "$T"/ask-*; return 1; }; done
    for id in "${numbers[@]}"; do
        [ "$(answers "$id")" -eq 1 ] || { echo "prompt $id was answered $(answers "$id") times"; return 1; }
        grep -q "answer to $id:" "$T"/ask-*
    done
    all_are idle
    echo "# refused: $(refusals anthropic) of claude, $(refusals responses) of codex" >&3
    # refused were the first prompt and one trial; Claude Code itself asks twice each time
    [ "$(refusals anthropic)" -le 4 ]
    [ "$(refusals responses)" -le 2 ]
}
