#!/usr/bin/env bats
# Accounts: a second login when the first one is limited. The scripted agent is refused while there is
# a file limit.LOGIN, with the login that it was given.
load ../helper
load ../host/lib
load ../acp/lib
load ../machine

SECRET=sk-value-of # begins each login, which nothing may show

# accounts NAME...: adds sections to mas.ini, which then nobody else can read.
accounts() {
    local name
    for name; do printf '[account %s]\nenv.LOGIN = %s-%s\n' "$name" "$SECRET" "$name"; done >>"$ROOT/mas.ini"
    chmod 600 "$ROOT/mas.ini"
}
# limited NAME [HOW]; unlimited NAME
limited() { printf '%s' "${2-}" >"$T/limit.$SECRET-$1"; }
unlimited() { rm "$T/limit.$SECRET-$1"; }
# made OPTION...: a session of one agent with the accounts work and home
made() {
    acp_preset scripted --limited "'$T/limit.\$LOGIN'"
    accounts work home
    new_session -t solo --agent scripted "$@"
    find_agent
}
has_account() { [ "$(of "${2-solo}" .account)" = "$1" ]; }
logs_in_as() { tr '\0' '\n' <"/proc/$(of "${2-solo}" .pid)/environ" | grep -qx "LOGIN=$SECRET-$1"; }
once() { "$MAS" history "$ID" "$1" --role user --json | jq -e '.messages | length == 1' >/dev/null &&
    "$MAS" history "$ID" "$1" --role agent --json | jq -e '.messages | length == 1' >/dev/null; }

@test "an agent that its provider limits goes on with the next account, and knows its conversation" {
    printf '[limits]\nretry = 10m\n' >>"$ROOT/mas.ini"
    made --account work,home
    tell "CW-ONE TOKENS:1/2/3"
    has_account work
    logs_in_as work
    limited work 3600
    tell "CW-TWO TOKENS:4/5/9"
    [ "$status" -eq 0 ]
    knows CW-ONE CW-TWO
    has_account home
    logs_in_as home
    came_back resumed
    [ "$(prompts CW-TWO)" = 2 ]
    [[ $(notes) == *"the agent begins again with account 'home'"* ]]
    # it stays there until the session is started again
    unlimited work
    find "$ROOT/sessions/.limits" -type f -delete
    tell CW-THREE
    has_account home
    # a turn that went on with the other account is that one's
    mas usage "$ID" --by account --json
    jq -e '[.usage[] | [.account, .turns, .tokens.all]] == [["work", 1, 3], ["home", 2, 9]]' <<<"$output"
    [[ $("$MAS" usage "$ID" --by account) == ACCOUNT*work*home*total* ]]
    ok stop "$ID"
    ok start "$ID"
    find_agent
    eventually has_account work
}

@test "while all accounts are limited, the prompt waits for the one that takes prompts first" {
    made --account 'work home'
    limited work 7200
    limited home 3
    "$MAS" ask --no-wait "$ID" solo CW-ONE >/dev/null
    eventually state_is solo limited
    eventually has_account home
    # the wait is that of home: work takes none for two hours
    soon() { [ "$(of solo .untilMs)" -lt $(($(date +%s%3N) + 60000)) ]; }
    eventually soon
    unlimited home
    within 20 state_is solo idle
    once solo
    has_account home
    [ "$(prompts CW-ONE)" -ge 3 ]
}

@test "the account whose wait ends first is gone back to, with what the agent knows" {
    made --account 'work home'
    limited work 4
    limited home 7200
    tell CW-ONE &
    asker=$!
    eventually has_account home
    eventually state_is solo limited
    unlimited work
    wait "$asker"
    within 20 state_is solo idle
    has_account work
    once solo
    tell CW-TWO
    knows CW-ONE CW-TWO
}

@test "13 agents: one tries the next account first, and no prompt is lost or doubled" {
    printf '[limits]\nretry = 10m\n' >>"$ROOT/mas.ini"
    acp_preset scripted --limited "'$T/limit.\$LOGIN'"
    printf 'accounts = work home\n' >>"$ROOT/mas.ini"
    accounts work home
    new_session -t default --agent scripted
    DIR=$ROOT/sessions/$ID
    hosts_there "${DEFAULT_TEAM[@]}"
    "$MAS" wait --timeout 100s -s "$ID" --for idle all
    limited work 3600
    limited home 3600
    for agent in "${DEFAULT_TEAM[@]}"; do
        "$MAS" ask --no-wait "$ID" "$agent" "CW-$agent" >/dev/null &
    done
    wait
    for agent in "${DEFAULT_TEAM[@]}"; do eventually state_is "$agent" limited; done
    # one of them has tried the other account, and the others stayed where they were
    [ "$(of_all home)" = 1 ]
    [ "$(of_all work)" = 12 ]
    [ "$(sent session/prompt)" -le 14 ]
    refused=$(sent session/prompt)
    unlimited home
    # a person says to the one that has it to try now: it works, and the others follow
    for agent in "${DEFAULT_TEAM[@]}"; do has_account home "$agent" && "$MAS" restart "$ID" "$agent" >/dev/null; done
    "$MAS" wait --timeout 100s -s "$ID" --for idle all
    [ "$(of_all home)" = 13 ]
    for agent in "${DEFAULT_TEAM[@]}"; do once "$agent"; done
    [ "$(sent session/prompt)" = $((refused + 13)) ]
}
of_all() { "$MAS" status "$ID" --json | jq --arg name "$1" '[.sessions[0].agents[] | select(.account == $name)] | length'; }

@test "a host that is killed at any step of the change has the prompt, and sends it once" {
    # the second login's program starts when the pipe is opened
    mkfifo "$T/gate"
    # shellcheck disable=SC2016 # for the script
    printf '#!/bin/sh\ncase $LOGIN in *-home) read -r _ <"%s";; esac\nexec python3 -ES %s "$@"\n' "$T/gate" \
        "$PROJECT/test/acp/agent.py" >"$T/slow"
    chmod +x "$T/slow"
    STORE=$T/store TRACE=$T/trace
    preset slow "$T/slow --store '$STORE' --log '$TRACE' --limited '$T/limit.\$LOGIN'" 'protocol = acp' 'accounts = work home'
    accounts work home
    limited work 3600
    tells_change() { notes | grep -q "begins again with account 'home'"; }
    for step in tells_change "is_gone \$first" "has_another"; do
        new_session -t solo --agent slow
        find_agent
        eventually state_is solo idle
        first=$(of solo .pid)
        has_another() { [[ $(of solo .pid) != @(|null|0|"$first") ]]; }
        "$MAS" ask --no-wait "$ID" solo CW-ONE >/dev/null
        eventually eval "$step"
        kill -KILL "$(of solo .hostPid)"
        again
        eventually has_account home
        echo >"$T/gate"
        within 30 state_is solo idle
        once solo
        logs_in_as home
        "$MAS" stop -q "$ID"
        rm -rf "$ROOT/sessions/.limits" "$T/trace"
    done
}

@test "what an account sets is nowhere but in mas.ini and in the agent's program" {
    made --account work
    tell "CW-ONE RUN:env"
    [[ $output != *"$SECRET"* ]]
    for words in config 'config --json' "show $ID" "show $ID --json" "status $ID" "status $ID --json" 'usage --quota' doctor \
        "history $ID solo" 'presets --json' "env $ID" "logs $ID"; do
        # shellcheck disable=SC2086 # several words
        run "$MAS" $words
        [[ $output != *"$SECRET"* ]]
    done
    [[ $("$MAS" config) == *account.work* ]]
    [[ $("$MAS" show "$ID") == *accounts*work* ]]
    [[ $("$MAS" status "$ID") == *ACCOUNT*work* ]]
    # the scripted agent's own traces are its own
    run ! grep -rqF "$SECRET" "$ROOT" --exclude=mas.ini
    run ! grep -rqF "$SECRET" "$T/home" "$T/trace" "$T/store"
    run ! grep -laF "$SECRET" /proc/[0-9]*/cmdline
    agent=$(of solo .pid)
    for environ in /proc/[0-9]*/environ; do
        pid=${environ//[^0-9]/}
        grep -qaF "$SECRET" "$environ" 2>/dev/null || continue
        [ "$pid" = "$agent" ] || [ "$(ps -o ppid= -p "$pid" | xargs)" = "$agent" ]
    done
    "$MAS" stop -q "$ID"
    "$MAS" archive "$ID" -o "$T/a.tar.zst" >/dev/null
    run ! grep -qF "$SECRET" <(zstd -dc "$T/a.tar.zst")
}

@test "accounts are refused in a file that others can read, and what is wrong is said without the value" {
    accounts work
    for mode in 644 640 604; do
        chmod "$mode" "$ROOT/mas.ini"
        fails 1 list
        [[ $stderr == *"[account work]: others can read this file, which has logins; take that away with: chmod 600 $ROOT/mas.ini"* ]]
        [[ $stderr != *"$SECRET"* ]]
    done
    chmod 600 "$ROOT/mas.ini"
    ok list
    mkdir -p "$HOME/.config/mas"
    printf '[account home]\nenv.LOGIN = x\n' >"$HOME/.config/mas/mas.ini"
    chmod 644 "$HOME/.config/mas/mas.ini"
    fails 1 list
    chmod 600 "$HOME/.config/mas/mas.ini"
    ok list
    printf '[account work]\nhome..claude/.credentials.json = ~/.claude-work\n' >>"$ROOT/mas.ini"
    fails 1 list
    [[ $stderr == *"duplicate account"* ]]
    sed -i '$d;s/^\[account work\]$/[account other]/' "$ROOT/mas.ini"
    printf 'home..claude = ~/.claude-work\nenv.KEY %s==\n' "$SECRET" >>"$ROOT/mas.ini"
    fails 1 list
    [[ $stderr != *"$SECRET"* ]]
    # others have no accounts: templates and their presets are not a person's alone
    : >"$ROOT/mas.ini"
    printf '[account work]\nenv.LOGIN = x\n' >>"$ROOT/templates/agents.ini"
    fails 1 presets
    [[ $stderr == *"unknown section"* ]]
}

@test "an account that mas.ini has not got is named, also when it has gone since" {
    made --account work,home
    fails 3 new -t solo --agent scripted --account work,wrok
    [[ $stderr == *"there is no account 'wrok'"*"the accounts are: work, home"* ]]
    fails 2 new -t solo --agent scripted --account work,work
    [[ $stderr == *"cannot use --account 'work,work': it is not a list of at most 8 accounts"* ]]
    for names in '' ' ' ',' 'work,' ',,home'; do
        fails 2 new -t solo --agent scripted --account "$names"
        [[ $stderr == "mas: cannot use --account '$names': it is not a list of at most 8 accounts"* ]]
    done
    sed -i '/^\[account home\]/,$d' "$ROOT/mas.ini"
    # who has it works on with it, and the next start names it
    limited work 3600
    tell CW-ONE
    [ "$status" -eq 0 ]
    has_account home
    ok stop "$ID"
    fails 3 start "$ID"
    [[ $stderr == *"cannot start agent 'solo': there is no account 'home'"* ]]
    accounts home
    ok start "$ID"
}

@test "an agent chooses no account: neither by the option nor by the file of a team" {
    made --account work
    export MAS_AGENT_ID=solo
    fails 1 new -t solo --no-start --account home
    [[ $stderr == *"cannot use --account: an agent may not decide this"* ]]
    unset MAS_AGENT_ID
    new=$ROOT/sessions/$("$MAS" new -q -t solo --no-start -c "$DIR/config.json")/config.json
    jq -e '.team[] | .accounts == "work"' "$DIR/config.json"
    jq -e '.team[] | has("accounts") | not' "$new"
}

@test "an archive of another machine does not choose who pays here" {
    need_machines
    made --account work,home
    ok stop "$ID"
    "$MAS" archive "$ID" -o "$T/a.tar.zst" --rm
    # the archive of this machine keeps them
    "$MAS" restore -q "$T/a.tar.zst"
    jq -e '.team[] | .accounts == "work,home"' "$DIR/config.json"
    on n2 "$MAS" --root "$T/away" init -q
    run --separate-stderr on n2 "$MAS" --root "$T/away" restore -q --takeover "$T/a.tar.zst"
    [ "$status" -eq 0 ]
    [ "$stderr" = 'mas: warning: another machine wrote the archive: the accounts of solo are left out' ]
    jq -e '.team[] | has("accounts") | not' "$T/away/sessions/$ID/config.json"
}

@test "an agent of a template has its own accounts, a variable that an account needs is its own, and an empty one goes" {
    acp_preset scripted --limited "'$T/limit.\$LOGIN'"
    printf 'needs_env = LOGIN\nenv.LOGIN = of-the-preset\naccounts = work\n' >>"$ROOT/mas.ini"
    accounts work home
    sed -i '/^\[agent solo\]/a accounts = home' "$ROOT/templates/solo/template.ini"
    new_session -t solo --agent scripted
    find_agent
    eventually logs_in_as home
    printf '[account none]\nenv.LOGIN =\n' >>"$ROOT/mas.ini"
    new_session -t solo --agent scripted --account work
    find_agent
    eventually logs_in_as work
    fails 1 new -t solo --agent scripted --account work,none
    [[ $stderr == *"needs the variable LOGIN"*"set it in mas.ini: [account none] env.LOGIN = ..."* ]]
    sed -i '/^needs_env/d' "$ROOT/mas.ini"
    new_session -t solo --agent scripted --account none
    find_agent
    eventually state_is solo idle
    run ! grep -qa '^LOGIN=' <(tr '\0' '\n' <"/proc/$(of solo .pid)/environ")
}

@test "completion offers the accounts" {
    accounts work home
    offers() { "$MAS" complete -- new --account "$1"; }
    [[ $(offers '') == *home* ]]
    [[ $(offers work,) == *work,home* ]]
}
