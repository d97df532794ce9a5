#!/usr/bin/env bats
# Names of sessions in tmux that are taken.
load ../helper
load tmux

@test "a tmux name that somebody else has: new takes more digits" {
    tm -f /dev/null new-session -d -s mas-12345678 'exec sleep 1000'
    "$MAS" new -q -t solo --id 12345678-aaaa-4aaa-8aaa-aaaaaaaaaaaa
    ID=12345678-aaaa-4aaa-8aaa-aaaaaaaaaaaa
    [ "$(tmux_name "$ID")" = mas-12345678-aaaa ]
    [ "$(meta "$ID" TMUX_SESSION)" = mas-12345678-aaaa ]
    [ "$(jq -r '.sessions[0].tmuxSession' "$ROOT/sessions/.sessions.index")" = mas-12345678-aaaa ]
    [ "$(tm list-panes -s -t =mas-12345678: -F '#{pane_start_command}')" = '"exec sleep 1000"' ]
    ok rm -f "$ID"
    tm has-session -t =mas-12345678:
}

@test "two names taken: still more digits" {
    tm -f /dev/null new-session -d -s mas-12345678 'exec sleep 1000'
    tm new-session -d -s mas-12345678-aaaa 'exec sleep 1000'
    "$MAS" new -q -t solo --id 12345678-aaaa-4aaa-8aaa-aaaaaaaaaaaa
    [ "$(tmux_name 12345678-aaaa-4aaa-8aaa-aaaaaaaaaaaa)" = mas-12345678-aaaa-4aaa ]
}

@test "every name taken is a conflict, and nothing is left" {
    local id=12345678-aaaa-4aaa-8aaa-aaaaaaaaaaaa digits disk
    tm -f /dev/null new-session -d -s own 'exec sleep 1000'
    for digits in 8 13 18 23 36; do
        tm new-session -d -s "mas-${id:0:digits}" 'exec sleep 1000'
    done
    make_index
    disk=$(snapshot)
    fails 4 new -t solo --id "$id"
    [ "$(snapshot)" = "$disk" ]
    [ "$(tm list-sessions | wc -l)" -eq 6 ]
}

@test "two ids with the same 8 digits get names of their own" {
    "$MAS" new -q -t solo --id 12345678-aaaa-4aaa-8aaa-aaaaaaaaaaaa
    "$MAS" new -q -t solo --id 12345678-bbbb-4bbb-8bbb-bbbbbbbbbbbb
    [ "$(tmux_name 12345678-aaaa-4aaa-8aaa-aaaaaaaaaaaa)" = mas-12345678 ]
    [ "$(tmux_name 12345678-bbbb-4bbb-8bbb-bbbbbbbbbbbb)" = mas-12345678-bbbb ]
    ok stop 12345678-aaaa-4aaa-8aaa-aaaaaaaaaaaa
    [ "$("$MAS" list --active -q)" = 12345678-bbbb-4bbb-8bbb-bbbbbbbbbbbb ]
    ok start mas-12345678
    [ "$("$MAS" list --active -q | wc -l)" -eq 2 ]
}

@test "a session of the user whose name begins like ours is not taken for it" {
    new_session -t solo
    tm new-session -d -s "mas-${ID:0:8}x" 'exec sleep 1000'
    tm kill-session -t "=mas-${ID:0:8}:"
    [ "$(field "$ID" .status)" = stopped ]
    ok stop "$ID"
    tm has-session -t "=mas-${ID:0:8}x:"
}
