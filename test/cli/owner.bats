#!/usr/bin/env bats
# Sessions of another machine, on a disk that both share. What may be seen is seen; nothing is changed.
bats_require_minimum_version 1.5.0
load ../helper
load ../machine
load ../memory

# Runs mas on machine n2 with separate streams.
on_n2() { run --separate-stderr on n2 "$MAS" "$@"; }

@test "a new session belongs to this machine, in its first epoch" {
    new_session --no-start
    [ "$(meta "$ID" MACHINE)" = "$(cat /etc/machine-id) $(uname -n)" ]
    [ "$(meta "$ID" BOOT)" = "$(cat /proc/sys/kernel/random/boot_id) $(stat -Lc %i /proc/self/ns/pid)" ]
    [ "$(meta "$ID" EPOCH)" = 1 ]
    [ "$(field "$ID" .machine)" = "$(uname -n)" ]
    [ "$(field "$ID" .elsewhere)" = null ]
}

@test "another machine changes nothing of a running session, and says where it runs" {
    need_machines
    new_session -t pair -n shop
    eventually test ! -e "$ROOT/sessions/$ID/run/env"
    before=$(snapshot) panes=$(tm list-panes -a -F '#{pane_pid}')
    while read -r code words; do
        # shellcheck disable=SC2086 # words
        on_n2 $words
        echo "$words: $status: $stderr"
        [ "$status" -eq "$code" ]
        [[ $stderr == *"'shop': it runs on $(uname -n)"* ]]
        [[ $stderr == *"mas start --takeover shop"* ]]
        [ -z "$output" ]
        [[ $stderr != *'cannot '@(rm|send|ask|peek|clear|restart)' session'* ]]
    done <<'EOF'
4 start shop
4 stop shop
4 rm shop
4 rm -f shop
4 archive shop
4 archive --rm shop
4 restart shop 10
4 send shop 10 hello
4 ask shop 10 hello
4 cancel shop 10
4 clear shop 10
4 sleep shop 10
4 set shop private=yes
4 merge shop
4 sync shop
4 land shop
4 attach shop
4 peek shop
EOF
    [ "$(snapshot)" = "$before" ]
    [ "$(tm list-panes -a -F '#{pane_pid}')" = "$panes" ]
}

@test "clean and doctor --fix leave sessions of another machine alone" {
    need_machines
    new_session -n runs
    new_session -n old --no-start
    new_session -n broken --no-start
    id=$ID
    sed -i 's/^STATUS=.*/STATUS=wild/' "$ROOT/sessions/$id/.session"
    "$MAS" list --all >/dev/null || :
    before=$(snapshot)
    on_n2 clean --keep 0 --status stopped,crashed
    [ "$status" -eq 0 ]
    [ "$(snapshot)" = "$before" ]
    on_n2 doctor --fix
    [[ $output == *"belongs to $(uname -n)"* ]]
    [ "$(meta "$id" STATUS)" = wild ]
    [ -d "$ROOT/sessions/$id" ]
    [ "$(field runs .status)" = active ]
}

@test "another machine shows the session as what it is: not crashed" {
    need_machines
    new_session -t solo -n shop
    new_session -t solo -n rests --no-start
    on_n2 list --all
    [ "$status" -eq 0 ]
    [[ $output =~ shop\ .*active\ on\ $(uname -n) ]]
    [[ $output =~ rests\ .*stopped\ on\ $(uname -n) ]]
    [[ $output != *crashed* ]]
    mas list # what the index has of them is not what the other machine shows
    [[ $output != *' on '* ]]
    on_n2 list
    [[ $output =~ rests\ .*stopped\ on\ $(uname -n) ]]
    on_n2 list --stopped --json
    [ "$(jq -r '.sessions[] | "\(.name) \(.machine) \(.elsewhere)"' <<<"$output")" = "rests $(uname -n) true" ]
    on_n2 list --json
    [ "$(jq -r '.sessions[] | select(.name == "shop") | "\(.status) \(.crashed) \(.machine) \(.elsewhere)"' <<<"$output")" = \
        "active false $(uname -n) true" ]
    on_n2 status shop
    [[ $output =~ solo\ +generalist\ +on\ $(uname -n) ]]
    [[ $output != *"mas start"* ]]
    on_n2 status shop --json
    [ "$(jq -r '.sessions[0] | "\(.machine) \(.elsewhere)"' <<<"$output")" = "$(uname -n) true" ]
    on_n2 show shop
    [[ $output =~ status\ +active\ on\ $(uname -n) ]]
    on_n2 start --crashed
    [ "$status" -eq 0 ]
    [ "$(field shop .status)" = active ]
}

@test "--takeover alone refuses without a store, and says what to do" {
    need_machines
    new_session -t solo -n shop --no-start
    before=$(snapshot)
    on_n2 start --takeover shop
    [ "$status" -eq 4 ]
    [[ $stderr == *"cannot take over session 'shop': it has no store whose lease would show that it has ended on $(uname -n)"* ]]
    [[ $stderr == *"mas start --takeover --fenced shop"* ]]
    [ "$(snapshot)" = "$before" ]
    fails 2 start --fenced shop
    fails 2 start --takeover --crashed
}

@test "--takeover --fenced takes the session; then the first machine refuses" {
    need_machines
    new_session -t solo -n shop --no-start
    MAS_TMUX_SOCKET=$T/n2 on_n2 start --takeover --fenced shop
    [ "$status" -eq 0 ]
    [ "$(meta "$ID" EPOCH) $(meta "$ID" TMUX_SOCKET)" = "2 $T/n2" ]
    [[ $(meta "$ID" MACHINE) == *" n2" ]]
    grep -q "takeover from=$(uname -n) epoch=2" "$ROOT/sessions/$ID/logs/session.log"
    fails 4 stop shop
    [[ $stderr == *"it runs on n2"* ]]
    MAS_TMUX_SOCKET=$T/n2 on_n2 stop shop
    [ "$status" -eq 0 ]
    fails 4 rm -f shop
    [[ $stderr == *"it belongs to n2"* ]]
    ok start --takeover --fenced shop
    [ "$(meta "$ID" EPOCH)" = 3 ]
    [ "$(field shop .status)" = active ]
}

@test "a takeover of a session that this machine has is a start" {
    new_session -t solo -n shop --no-start
    ok start --takeover shop
    [ "$(meta "$ID" EPOCH)" = 1 ]
}

@test "only a person may say --fenced" {
    new_session -t solo -n shop --no-start
    MAS_AGENT_ID=solo MAS_SESSION_ID=$ID fails 1 start --takeover --fenced shop
    [[ $stderr == *'only a person'* ]]
}

@test "a machine whose name was changed keeps its sessions until it boots" {
    need_machines
    new_session -t solo -n shop
    : >"$T/foreign" # only its name has changed
    rename() { run --separate-stderr in_machine /etc/machine-id renamed "$MAS" "$@"; }
    rename stop shop
    [ "$status" -eq 0 ]
    rename start shop
    [ "$status" -eq 0 ]
    [ "$(meta "$ID" EPOCH)" = 1 ]
    [[ $(meta "$ID" MACHINE) == *" renamed" ]]
    ok stop shop
    # it booted under another name, or it is a clone: nobody can know
    sed -i "s/^BOOT=.*/BOOT='00000000-1111-2222-3333-444444444444 1'/" "$ROOT/sessions/$ID/.session"
    fails 4 start shop
    [[ $stderr == *'it belongs to renamed'* ]]
    [[ $stderr == *'if this machine was called renamed before'*'mas start --takeover --fenced shop'* ]]
    ok start --takeover --fenced shop
    ok stop shop
}

@test "a session without an owner is adopted by its first start, if no host lives" {
    need_machines
    new_session -t solo -n shop
    sed -i '/^MACHINE=/d; /^BOOT=/d; /^EPOCH=/d' "$ROOT/sessions/$ID/.session"
    # it runs here, so another machine that sees the locks does not get it
    MAS_TMUX_SOCKET=$T/n2 on_n2 start shop
    [ "$status" -eq 4 ]
    [[ $stderr == *"the host of its agent 'solo' is still running"* ]]
    [ -z "$(meta "$ID" MACHINE)" ]
    ok start shop
    [ "$(meta "$ID" MACHINE)" = "$(cat /etc/machine-id) $(uname -n)" ]
    [ "$(meta "$ID" EPOCH)" = 1 ]
}

@test "a session that has moved cannot be started, and says where it is" {
    new_session -t solo -n shop --no-start
    sed -i "s/^MACHINE=/MOVED_TO=n3\n&/" "$ROOT/sessions/$ID/.session"
    for options in "" "--takeover"; do
        # shellcheck disable=SC2086 # options
        mas start shop $options
        [ "$status" -eq 3 ] || [ "$status" -eq 4 ] # 3: the command follows it, and mas.ini has no such host
        [[ $stderr == *n3* ]]
    done
    mas list
    [[ $output == *'stopped (moved to n3)'* ]]
    rm "$ROOT/sessions/.sessions.index" # made anew, it does not hide that
    "$MAS" list >/dev/null 2>&1
    mas list
    [[ $output == *'stopped (moved to n3)'* ]]
    [ "$(field shop .movedTo)" = n3 ]
    ok rm shop
}

@test "a restored copy begins another epoch on this machine" {
    need_machines
    new_session -t solo -n shop --no-start
    "$MAS" archive --rm -o "$T/shop.tar.zst" shop
    on_n2 restore "$T/shop.tar.zst"
    [ "$status" -eq 0 ]
    [ "$(meta "$ID" EPOCH)" = 2 ]
    [[ $(meta "$ID" MACHINE) == *" n2" ]]
}

@test "no command opens the conversations of a session that another machine has" {
    need_machines
    new_session -t solo -n shop --agent shell
    : >"$ROOT/sessions/$ID/memory.db"
    for verb in 'history shop solo' 'context shop solo'; do
        # shellcheck disable=SC2086 # words
        on_n2 $verb
        [ "$status" -eq 4 ]
        [[ $stderr == *"cannot read its conversations: it belongs to $(uname -n)"* ]]
    done
    on_n2 usage shop
    [ "$status" -ne 0 ]
    on_n2 search true
    [[ $stderr == *'is not searched'* ]]
    on_n2 status shop
    [ "$status" -eq 0 ]
    on_n2 stop shop
    [ "$status" -eq 4 ]
}

@test "a copy under a new id of what another machine archived is this machine's, conversations and all" {
    need_machines
    new_session -t solo --no-start
    user 'the apple is red' | said "$ID" >/dev/null
    "$MAS" archive -q "$ID" -o "$T/a.tar.zst"
    on_n2 restore -q --new-id "$T/a.tar.zst"
    echo "$stderr"
    [ "$status" -eq 0 ]
    local new=$output
    [ "$new" != "$ID" ]
    [[ $(meta "$new" MACHINE) == *' n2' ]]
    on_n2 search --json apple
    jq -e --arg id "$new" 'any(.messages[]; .sessionId == $id and .text == "the apple is red")' <<<"$output"
}

@test "what another machine archived and kept is restored as a copy, or by a word that it is gone" {
    need_machines
    new_session -t solo -n shop --no-start
    "$MAS" init -q "$T/other"
    "$MAS" archive -q shop -o "$T/a.tar.zst"
    on_n2 restore --root "$T/other" "$T/a.tar.zst"
    [ "$status" -eq 4 ]
    [[ $stderr == *"a.tar.zst': $(uname -n) may still have session 'shop'"*--new-id*--takeover* ]]
    [ -z "$(ls "$T/other/sessions")" ]
    on_n2 restore -q --takeover --root "$T/other" "$T/a.tar.zst"
    [ "$output" = "$ID" ]
    on_n2 rm -q --root "$T/other" shop
    # the first has not kept it
    "$MAS" archive -q --rm shop -o "$T/b.tar.zst"
    on_n2 restore -q --root "$T/other" "$T/b.tar.zst"
    [ "$output" = "$ID" ]
    # and this machine's own comes back as ever
    ok restore -q "$T/a.tar.zst"
    # what was saved while it ran, and what comes from the standard input
    "$MAS" start -q shop
    "$MAS" archive -q --live shop -o "$T/c.tar.zst"
    "$MAS" stop -q shop
    on_n2 rm -q --root "$T/other" shop
    for file in a c; do
        on_n2 restore --root "$T/other" - <"$T/$file.tar.zst"
        [ "$status" -eq 4 ]
        [[ $stderr == *"$(uname -n) may still have session 'shop'"* ]]
    done
    [ -z "$(ls "$T/other/sessions")" ]
    # a copy is another session, and has another name
    on_n2 restore -q --new-id -n copy --root "$T/other" "$T/c.tar.zst"
    [ "$status" -eq 0 ]
    [ "$output" != "$ID" ]
}
