#!/usr/bin/env bats
# The sessions that an agent itself keeps: a person lists them, and has some of them deleted.
load ../helper
load ../host/lib
load lib

# kept OPTION...: what `mas kept` prints as JSON
kept() { "$MAS" kept "$ID" solo --json "$@"; }
ids() { "$MAS" kept "$ID" solo -q; }
stored_ids() { find "$T/store" -name '*.json' -printf '%f\n' | sed 's/\.json$//' | sort; }

# conversations: three of them, so that the agent keeps three sessions
conversations() {
    tell CW-ONE
    tell CW-TWO --new
    tell CW-THREE --new
}

@test "mas kept lists what the agent keeps for its directory, and which one is in use" {
    run_acp "--list-odd"
    conversations
    [ "$(ids | sort)" = "$(stored_ids)" ]
    [ "$(ids | wc -l)" = 3 ]
    kept | jq -e --arg id "$ID" '.sessionId == $id and .agent == "solo" and .more == 0 and (.sessions | length) == 3
        and ([.sessions[] | select(.inUse)] | length) == 1 and all(.sessions[]; .deleted == false and .error == null)'
    run "$MAS" kept "$ID" solo
    [ "$status" -eq 0 ]
    [[ ${lines[0]} =~ ^ID\ +UPDATED\ +STATE\ +TITLE$ ]]
    [ "$(grep -c 'in use' <<<"$output")" = 1 ]
    [[ $output == *'2026-01-02T03:04:05Z'* && $output != *$'\e'* ]]
    [ "$(sent session/list)" = 16 ] # four times; three sessions and four odd ones are four pages
}

@test "mas kept says how many sessions have no room in its answer" {
    run_acp "--list-many"
    tell CW-ONE
    more=$(kept | jq -e '.more | select(. > 0)')
    [ "$(kept | jq '.sessions | length')" = $((901 - more)) ]
    ok kept "$ID" solo -q
    [ "${#lines[@]}" = $((901 - more)) ]
    [[ $stderr == *"$more more sessions are not shown"* ]]
}

@test "what was not deleted is told first, and fails the command, however long the list is" {
    run_acp "--list-many --delete --delete-not many-898,many-899"
    tell CW-ONE
    fails 1 kept "$ID" solo --delete-all --json
    jq -e '.failed == 2 and .more > 0 and ([.sessions[:2][] | .id] | sort) == ["many-898", "many-899"]
        and all(.sessions[:2][]; .deleted == false and (.error | test("pinned"))) and all(.sessions[2:][]; .error == null)' <<<"$output"
    [[ $stderr == *"cannot delete session 'many-898' and 1 more: "*pinned* ]]
    options "--list-many --delete --delete-not many-899"
    again
    fails 1 kept "$ID" solo --delete-all -q
    [[ $stderr == *"cannot delete session 'many-899': "*pinned* ]]
    options "--list-many --delete"
    again
    kept --delete-all | jq -e '.failed == 0 and .more > 0'
}

@test "mas kept deletes a session, or all but the one in use" {
    run_acp "--delete"
    conversations
    in_use=$(kept | jq -r '.sessions[] | select(.inUse).id')
    other=$(ids | grep -vxF "$in_use" | head -n 1)
    run "$MAS" kept "$ID" solo --delete "$other"
    [ "$status" -eq 0 ]
    [[ $output == *"$other"*deleted* ]]
    run ! grep -qxF "$other" <<<"$(stored_ids)"
    [ "$(stored_ids | wc -l)" = 2 ]
    kept --delete-all | jq -e '[.sessions[] | select(.deleted)] | length == 1'
    [ "$(stored_ids)" = "$in_use" ]
    "$MAS" clear "$ID" solo
    run ! grep -qxF "$in_use" <<<"$(stored_ids)"
    "$MAS" history "$ID" solo --json | jq -e '[.messages[].text] | any(contains("CW-ONE"))' >/dev/null # mas has it all
}

@test "after its session was deleted, a conversation goes on from mas's own memory" {
    run_acp "--delete"
    tell CW-ONE
    first=$(of solo .conversation)
    tell CW-TWO --new
    kept --delete-all >/dev/null
    tell CW-THREE --conversation "$first"
    knows CW-ONE CW-THREE
    came_back injected
}

@test "mas kept deletes nothing that is not listed, or in use, or not to be deleted" {
    run_acp "--delete --list-odd"
    tell CW-ONE
    fails 3 kept "$ID" solo --delete elsewhere
    [[ $stderr == "mas: "*"agent 'solo' keeps no session 'elsewhere'"*"list them with: mas kept "*" solo" ]]
    fails 4 kept "$ID" solo --delete "$(ids)"
    [[ $stderr == *"it is in use"*"mas clear"* ]]
    [ "$(sent session/delete)" = 0 ]
    run "$MAS" kept "$ID" solo --delete x --delete-all
    [ "$status" -eq 2 ]
}

@test "an agent that does not list or delete its sessions: mas kept says so" {
    run_acp "--no-list --delete"
    tell CW-ONE
    fails 1 kept "$ID" solo
    [[ $stderr == *"cannot ask agent 'solo' for its sessions: it does not tell them"* ]]
    [ "$(sent session/list)" = 0 ]
    options ""
    again
    fails 1 kept "$ID" solo --delete-all
    [[ $stderr == *"it does not delete sessions"* ]]
    [ "$(sent session/delete)" = 0 ]
    ids
}

@test "errors of the agent are told, and the command waits for an agent that starts" {
    run_acp "--delete --delete-error"
    conversations
    fails 1 kept "$ID" solo --delete-all
    [[ $output == *"not deleted"* ]]
    [[ $stderr == *"cannot delete session"*"scripted error"* ]]
    options "--list-error"
    again
    fails 1 kept "$ID" solo
    [[ $stderr == *"scripted error"* ]]
    options ""
    "$MAS" sleep "$ID" solo
    [ "$(ids | wc -l)" = 3 ]
    options "--list-hang"
    "$MAS" restart "$ID" solo
    eventually state_is solo idle
    before=$(sent session/list)
    ("$MAS" kept "$ID" solo >"$T/kept" 2>&1 3>&- || :) &
    eventually was_asked
    fails 4 kept "$ID" solo
    [[ $stderr == *"another command asks it"* ]]
    "$MAS" restart "$ID" solo
    wait $!
    grep -qF 'the agent ended' "$T/kept"
}

was_asked() { [ "$(sent session/list)" -gt "$before" ]; }

@test "an agent may not list or delete sessions, and a program on a terminal keeps none" {
    run_acp "--delete"
    conversations
    tell "OWN:\"$MAS kept $ID solo --delete-all; echo rc=\$?\""
    [[ $output == *rc=1* ]]
    [ "$(sent session/delete)" = 0 ]
    new_session -t solo --agent shell
    fails 4 kept "$ID" solo
    [[ $stderr == *"it is not an ACP agent"* ]]
}
