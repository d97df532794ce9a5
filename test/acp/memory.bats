load ../helper
load ../host/lib
load lib
load ../project
load ../memory

@test "summary = agent: the agent's own summary stands in for what the budget leaves out" {
    run_acp "--no-resume --no-load"
    printf '[memory]\nsummary = agent\nmessages = 2\n' >>"$ROOT/mas.ini"
    tell CW-ONE
    tell CW-TWO
    tell CW-THREE
    again
    tell CW-FOUR
    knows CW-FOUR CW-ONE CW-THREE CW-TWO
    [ "$(prompts '"<summary_of_earlier_conversation>')" = 1 ]
    [ "$(sent session/new)" = 3 ]
    came_back injected
    [ "$(stored 0)" = 4 ]
}

@test "summary = agent: a copy of the session that does not come back makes it, where the agent can copy it" {
    local how
    run_acp "--fork" 'resume_timeout = 2s'
    printf '[memory]\nsummary = agent\nmessages = 2\n' >>"$ROOT/mas.ini"
    tell CW-ONE
    tell CW-TWO
    tell CW-THREE
    for how in "" "--fork-error" "--fork-hang"; do
        options "--fork --no-resume --no-load --delete $how"
        again
        tell CW-FOUR
        knows CW-FOUR CW-ONE CW-THREE CW-TWO
    done
    [ "$(sent session/fork)" = 3 ]
    [ "$(sent session/delete)" = 1 ]
}

@test "without a summary the newest whole turns are told, within the budget" {
    run_acp "--no-resume --no-load"
    printf '[memory]\nmessages = 2\n' >>"$ROOT/mas.ini"
    tell CW-ONE
    tell CW-TWO
    tell "hello CW-THREE QUIET"
    again
    tell CW-FOUR
    [[ $output != *CW-ONE* ]]
    [[ $output == *CW-THREE* ]]
}

@test "recall = on: what was said elsewhere on the subject goes into the first prompt of a fresh query, once" {
    run_acp ""
    printf '[memory]\nrecall = on\nshare = yes\n' >>"$ROOT/mas.ini"
    tell "the zeppelin hangar password is CW-PASS"
    first=$ID
    new_session -t solo --agent made
    find_agent
    tell "what was the zeppelin hangar password"
    knows CW-PASS
    tell "and CW-MORE"
    [ "$(grep '^<' "$T/trace" | grep -F session/prompt | grep -c CW-PASS)" = 2 ]
    [ -n "$first" ]
}

@test "a prompt is given what other sessions of its project know, never those of another, and the history tells" {
    make_project
    local other=$T/other id of
    git clone -q "$P" "$other"
    run_acp ""
    for of in "$P" "$other" "$P --private" ""; do
        # shellcheck disable=SC2086 # more than one word
        new_session -t solo --agent made --no-start ${of:+--project} $of
        user "the zeppelin hangar password is CW-$((++n))X" | said "$ID" >/dev/null
        [ -n "$id" ] || id=$ID
    done
    new_session -t solo --agent made --project "$P"
    find_agent
    tell "what was the zeppelin hangar password"
    knows CW-1X
    [ "$(notes | grep -c 'recalled from other conversations:')" = 1 ]
    [[ $(notes) == *"recalled from other conversations: $id:1"* ]]
    # not again in this query, and not with recall = off
    for _ in {1..11}; do tell "the zeppelin hangar password please"; done
    [ "$(notes | grep -c 'recalled from other conversations:')" = 1 ]
    printf '[memory]\nrecall = off\n' >>"$ROOT/mas.ini"
    "$MAS" stop -q "$ID"
    new_session -t solo --agent made --project "$P"
    find_agent
    tell "what was the zeppelin hangar password"
    [ "$(notes | grep -c 'recalled from other conversations:')" = 0 ]
}

@test "of ten prompts of a query one at most is given what others know" {
    make_project
    run_acp ""
    for text in "the zeppelin hangar password is CW-1X" "the submarine harbour password is CW-2X"; do
        new_session -t solo --agent made --project "$P" --no-start
        user "$text" | said "$ID" >/dev/null
    done
    new_session -t solo --agent made --project "$P"
    find_agent
    tell "which zeppelin hangar"
    knows CW-1X
    for _ in {2..10}; do tell "which submarine harbour"; done
    [[ $output != *CW-2X* ]]
    tell "which submarine harbour"
    [[ $output == *CW-2X* ]]
}

@test "recall never brings back what a clear put away from that conversation" {
    run_acp ""
    printf '[memory]\nrecall = on\nshare = yes\n' >>"$ROOT/mas.ini"
    tell "the zeppelin hangar password is CW-PASS"
    "$MAS" clear "$ID" solo
    tell "what was the zeppelin hangar password CW-NEW"
    knows CW-NEW
}

@test "a memory that is missing or empty is told at start, in status, doctor, the pane and by history" {
    run_acp ""
    tell CW-ONE
    local what
    for what in missing empty; do
        "$MAS" stop -q "$ID"
        rm "$DIR/memory.db"
        [ "$what" = missing ] || : >"$DIR/memory.db"
        chmod 600 "$DIR/memory.db" 2>/dev/null || true
        mas doctor
        [[ $output == *"memory.db is $what, and what was said before with it"* ]]
        fails 5 history "$ID" solo
        [[ $stderr == *"memory.db is $what, and what was said before with it"* ]]
        ok start "$ID"
        [[ $stderr == *"memory.db is $what, and what was said before with it"* ]]
        hosts_there
        find_agent
        eventually is solo .memory "memory.db has nothing of its earlier conversation"
        "$MAS" status "$ID" | grep -qF 'memory: memory.db has nothing'
        eventually shows 'memory.db has nothing of its earlier conversation'
        eventually state_is solo idle
        [[ $(notes) == *'memory.db has nothing of its earlier conversation'* ]]
    done
    again
    [ "$(of solo .memory)" = null ]
}

@test "logs that are not there have a reason, and the way back stands apart from queued prompts" {
    run_acp ""
    "$MAS" ask "$ID" solo --no-wait HANG
    "$MAS" ask "$ID" solo --no-wait later
    kill -KILL "$(of solo .hostPid)"
    has_way_back() { "$MAS" status "$ID" | grep -q "[0-9] queued (mas "; }
    eventually has_way_back
    "$MAS" stop -q "$ID"
    rm -r "$DIR/logs"
    fails 1 logs "$ID"
    [[ $stderr == *"cannot read the logs of session '"*"': No such file or directory" ]]
}

@test "a memory.db of the first schema is read as it is, and the next host of an agent goes on with it" {
    acp_preset scripted
    new_session -t solo --agent scripted --no-start
    DIR=$ROOT/sessions/$ID
    old_memory "$DIR" "$ID"
    version() { python3 -ES -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute("PRAGMA user_version").fetchone())' "$DIR/memory.db"; }
    pays() { "$MAS" usage "$ID" --by account --json | jq -c '[.usage[] | [.account, .turns, .costs[0].cost]]'; }
    before=$(snapshot "$DIR")
    [ "$(pays)" = '[[null,2,0.25]]' ]
    [[ $("$MAS" history "$ID" solo) == *CW-ONE*CW-TWO* ]]
    ok doctor
    [ "$(snapshot "$DIR")" = "$before" ]
    [ "$(version)" = 1 ]
    ok start "$ID"
    find_agent
    tell "CW-THREE COST:0.5"
    knows CW-ONE CW-THREE CW-TWO
    [ "$(version)" = 2 ]
    [ "$(pays)" = '[[null,3,0.75]]' ]
    ok doctor
}
