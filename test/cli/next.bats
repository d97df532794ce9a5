#!/usr/bin/env bats
# Going to the agent that has waited longest for a person.
load ../helper
load ../host/lib
load ../host/clients

setup_more() { quick_idle; }

# A session of two agents that wait when they are told so. asker NAME makes session $NAME.
asker() {
    preset "asks-$1" "sh -c 'while read line; do printf \"%s? [y/N] \" \"\$line\"; done'" 'idle = 100ms' 'waiting = \[y/N\] $'
    new_session -t pair -n "$1" --agent "asks-$1"
    DIR=$ROOT/sessions/$ID
    eventually state_is lead idle
    eventually state_is reviewer idle
}

# waits SESSION AGENT: lets the agent wait for an answer.
waits() {
    "$MAS" send "$1" "$2" question >/dev/null
    eventually is_waiting "$1" "$2"
}
is_waiting() { [ "$("$MAS" status "$1" --json | jq -r --arg a "$2" '.sessions[0].agents[] | select(.id == $a).state')" = waiting ]; }
registered() { grep -c "^[0-9a-f-]* [a-z]* [0-9]*\$" "$ROOT/sessions/.waiting" 2>/dev/null || :; }
pane() { "$MAS" status "$1" --json | jq -r --arg a "$2" '.sessions[0].agents[] | select(.id == $a).pane'; }

# at PANE [SOCKET]: succeeds if the one client of that server looks at the pane.
at() { [ "$(tmux -u -S "${2-$SOCK}" list-clients -F '#{pane_id}' 2>/dev/null)" = "$1" ]; }
nobody_waits() { ! "$MAS" next -n >/dev/null 2>&1; }
has_seen() { [ "$(of "$1" .seenMs)" -gt 0 ] 2>/dev/null; }
panes_shown() { tm list-clients -F '#{pane_id}' | sort -u | wc -l; }
one_shows() { outer capture-pane -p -t one | grep -qF -- "$1"; }
key() { outer send-keys -t one "$@"; }

# A binding as `mas keys` has it, without a prefix.
bind_next() {
    tm bind-key -n F5 run-shell -b "'$MAS' --root '$ROOT' next --client '#{client_name}'"
    tm bind-key -n F6 run-shell -b "'$MAS' --root '$ROOT' next --back --client '#{client_name}'"
}

@test "next names the agent that has waited longest" {
    asker one
    asker two
    waits two lead
    waits one reviewer
    [ "$("$MAS" next -n)" = "two lead waiting" ]
    [ "$("$MAS" next --json | jq -r '.agent')" = lead ]
    [ "$("$MAS" next --json | jq -r '.session')" = "$(field two .sessionId)" ]
    "$MAS" send two lead y >/dev/null
    eventually prints "one reviewer waiting" "$MAS" next -n
}

@test "with nobody waiting next says so and exits with 3" {
    asker one
    fails 3 next
    [ "$stderr" = "mas: cannot go to the next agent: nobody waits for you" ]
    fails 3 next -n
    [ "$(head -n 1 "$ROOT/sessions/.waiting")" = 'MASWAITING1 all' ]
}

@test "hosts enter those who wait into the register, and remove them" {
    asker one
    waits one lead
    eventually prints 1 registered
    "$MAS" send one lead y >/dev/null
    eventually prints 0 registered
    waits one lead
    eventually prints 1 registered
    "$MAS" stop -q one
    eventually prints 0 registered
}

@test "a register that is gone, damaged or incomplete is made again from the hosts" {
    local text
    asker one
    waits one lead
    eventually prints 1 registered
    for text in '' 'MASWAITING1 some' 'MASWAITING1 all
no such line' 'something else'; do
        printf '%s\n' "$text" >"$ROOT/sessions/.waiting"
        [ "$("$MAS" next -n)" = "one lead waiting" ]
        [ "$(head -n 1 "$ROOT/sessions/.waiting")" = 'MASWAITING1 all' ]
        [ "$(registered)" = 1 ]
    done
    rm "$ROOT/sessions/.waiting"
    [ "$("$MAS" next -n)" = "one lead waiting" ]
    rm "$ROOT/sessions/.waiting"
    mkfifo "$ROOT/sessions/.waiting"
    [ "$("$MAS" next -n)" = "one lead waiting" ]
}

@test "next believes no entry that its host denies, and removes it" {
    asker one
    fails 3 next -n
    printf 'MASWAITING1 all\n%s lead 1\n%s lead 2\n%s gone 3\n' "$ID" 550e8400-e29b-41d4-a716-446655440000 "$ID" \
        >"$ROOT/sessions/.waiting"
    fails 3 next -n
    [ "$(registered)" = 0 ]
}

@test "the entry of a host that was killed is removed" {
    asker one
    waits one lead
    mas next -n
    [ "$output" = 'one lead waiting' ]
    pkill -KILL -f "mas host $ID"
    eventually nobody_waits
    [ "$(registered)" = 0 ]
}

@test "the entry of a host that answers too late stays" {
    asker one
    waits one lead
    [ "$("$MAS" next -n)" = 'one lead waiting' ] # from now on the register has all
    mv "$DIR/run/lead.sock" "$T/kept.sock"
    python3 -ES "$PROJECT/test/host/ask.py" "$DIR/run" lead --silent >"$T/asked" 2>&1 3>&- &
    silent=$!
    eventually test -S "$DIR/run/lead.sock"
    fails 3 next -n
    [ "$(registered)" = 1 ]
    kill "$silent"
    mv -f "$T/kept.sock" "$DIR/run/lead.sock"
    mas next -n
    [ "$output" = 'one lead waiting' ]
}

@test "next takes the client of a pane to the agent that waits in another session" {
    asker one
    asker two
    waits two reviewer
    attach_client one one
    bind_next
    key F5
    eventually at "$(pane two reviewer)"
    # who is looked at has been seen
    DIR=$ROOT/sessions/$(field two .sessionId)
    eventually has_seen reviewer
    key F6
    eventually at "$(pane one lead)"
}

@test "at the pane of an agent that waits, next goes to the one after it, and then to the first" {
    asker one
    asker two
    waits one reviewer
    waits two lead
    waits two reviewer
    attach_client one one
    bind_next
    key F5
    eventually at "$(pane one reviewer)"
    key F5
    eventually at "$(pane two lead)"
    key F5
    eventually at "$(pane two reviewer)"
    key F5
    eventually at "$(pane one reviewer)"
    key F6
    eventually at "$(pane two reviewer)"
    key F6
    eventually at "$(pane two lead)"
}

@test "next moves no client but the one that asked" {
    asker one
    asker two
    waits two reviewer
    attach_client one one
    attach_client other one
    bind_next
    key F5
    eventually prints 2 panes_shown
    [ "$(tm list-clients -F '#{pane_id}' | grep -cxF -- "$(pane two reviewer)")" = 1 ]
    [ "$(tm list-clients -F '#{pane_id}' | grep -cxF -- "$(pane one lead)")" = 1 ]
}

@test "next typed at a shell inside tmux moves the client of that pane" {
    asker two
    waits two lead
    new_session -t solo -n shell
    attach_client one shell
    key -l "'$MAS' next" \; send-keys -t one Enter
    eventually at "$(pane two lead)"
}

@test "outside tmux next attaches this terminal" {
    asker two
    waits two reviewer
    outer new-session -d -s one -x 120 -y 40 "exec env -u TMUX -u TMUX_PANE TERM=screen '$MAS' --root '$ROOT' next"
    eventually at "$(pane two reviewer)"
}

@test "to a session on another tmux server next hands over this client, and back" {
    local there
    new_session -t solo -n shell
    export MAS_TMUX_SERVER=per-session
    asker two
    waits two reviewer
    unset MAS_TMUX_SERVER
    there=$(meta "$ID" TMUX_SOCKET)
    [ "$there" != "$SOCK" ]
    attach_client one shell
    attach_client other shell
    bind_next
    key F5
    eventually at "$(pane two reviewer)" "$there"
    [ "$(client_count)" = 1 ]
    tmux -u -S "$there" bind-key -n F6 run-shell -b "'$MAS' --root '$ROOT' next --back --client '#{client_name}'"
    key F6
    eventually prints 2 client_count
    [ -z "$(tmux -u -S "$there" list-clients)" ]
}

@test "a root and a program with a strange path are handed over as they are" {
    local there strange="$T/it's \"a\" \$(touch ran) #(touch ran) ;"
    mkdir "$strange"
    mv "$ROOT" "$strange/root"
    export MAS_ROOT="$strange/root" ROOT="$strange/root"
    new_session -t solo -n shell
    export MAS_TMUX_SERVER=per-session
    asker two
    waits two reviewer
    unset MAS_TMUX_SERVER
    there=$(meta "$ID" TMUX_SOCKET)
    attach_client one shell
    TMUX="$SOCK,1,0" "$MAS" next
    eventually at "$(pane two reviewer)" "$there"
    [ -z "$(find "$T" -name ran)" ]
}

@test "a key that finds nobody shows that in the status line, and opens nothing" {
    new_session -t solo -n shell
    attach_client one shell
    bind_next
    key F5
    eventually one_shows 'nobody waits for you'
    [ "$(tm display-message -p -t "$(pane shell solo)" '#{pane_in_mode}')" = 0 ]
}

@test "back without a place says so" {
    new_session -t solo -n shell
    attach_client one shell
    TMUX="$SOCK,1,0" fails 3 next --back
    [ "$stderr" = "mas: cannot go back: this terminal came from nowhere" ]
    fails 3 next --back
    TMUX="$SOCK,1,0" fails 3 next --client 'nobody; kill-server'
    fails 2 next --client x
}

@test "places that are gone are passed over on the way back" {
    local name
    new_session -t solo -n shell
    name=$(field "$ID" .tmuxSession)
    asker two
    waits two reviewer
    attach_client one shell
    bind_next
    tm new-window -t "=$name:" -n extra 'exec cat'
    key F5
    eventually at "$(pane two reviewer)"
    tm kill-window -t "=$name:=extra"
    key F6
    eventually one_shows 'came from nowhere'
    at "$(pane two reviewer)"
}

@test "lines of the way back that mas would not write are ignored" {
    new_session -t solo -n shell
    attach_client one shell
    printf '%s\n' 'x' "$(tm list-clients -F '#{client_name}') \$0 @0 %0;kill-server $SOCK" \
        "$(tm list-clients -F '#{client_name}') \$0 @0 %0 relative" >"$ROOT/sessions/.came-from"
    TMUX="$SOCK,1,0" fails 3 next --back
    tm list-sessions >/dev/null
}
