#!/usr/bin/env bats
# mas doctor: .session is made anew, and nothing in it that is whole is lost.
load ../helper
load doctor

# A field of session $1 in `mas list --all`
listed() { "$MAS" list --all --json | jq -r --arg id "$1" ".sessions[] | select(.sessionId == \$id) | $2"; }

# Breaks the metadata of session $ID with the text on stdin, and has it mended.
breaks_and_mends() {
    cat >"$(ws "$ID")/.session"
    cp "$(ws "$ID")/.session" "$T/broken"
    [ "$(listed "$ID" .status)" = error ]
    finds "$ID" 'its .session is damaged'
    mends "$ID" 'its .session is damaged'
    # kept aside, byte for byte
    cmp "$T/broken" "$(ws "$ID")"/.session.broken-*
    rm "$(ws "$ID")"/.session.broken-*
    [ "$(meta "$ID" SESSION_ID)" = "$ID" ]
    [ "$(mode "$(ws "$ID")/.session")" = 600 ]
}

@test "broken metadata that is mended again and again is kept each time" {
    a_stopped_session
    for n in 1 2 3; do
        echo "broken $n" >"$(ws "$ID")/.session"
        mends "$ID" 'its .session is damaged'
    done
    [ "$(cat "$(ws "$ID")"/.session.broken-* | sort)" = $'broken 1\nbroken 2\nbroken 3' ]
}

@test "broken metadata is made anew, the broken file kept aside" {
    a_stopped_session
    local created
    created=$(meta "$ID" CREATED_AT)
    breaks_and_mends <<<'this is not metadata'
    [ "$(meta "$ID" NAME)" = idle ]
    [ "$(meta "$ID" TEMPLATE)" = solo ]
    [ "$(meta "$ID" STATUS)" = stopped ]
    [ "$(meta "$ID" CREATED_AT)" = "$created" ]
    [ "$(meta "$ID" TMUX_SOCKET)" = "$SOCK" ]
    ok start "$ID"
}

@test "what is whole of damaged metadata is kept, privacy and first messages too" {
    a_stopped_session
    local meta private
    meta=$(ws "$ID")/.session
    "$MAS" set -q "$ID" private=no
    echo "X_TICKET=seven" >>"$meta"
    cp "$meta" "$T/good"
    for private in yes no; do
        "$MAS" set -q "$ID" "private=$private"
        sed -i "s/^STATUS=.*/STATUS=asleep/" "$meta"
        mends "$ID" 'its .session is damaged'
        [[ $output != *'unknown'* ]]
        # a first start still hands out its first messages
        [ "$(meta "$ID" PRIVATE) $(meta "$ID" PROMPTED) $(meta "$ID" X_TICKET)" = "$private  seven" ]
        [ "$(meta "$ID" CREATED_NSEC)" = "$(. "$T/good" && echo "${CREATED_NSEC-}")" ]
    done
    # and where the line itself is gone, what is taken for it is said
    sed -i '/^PRIVATE/d; s/^STATUS=.*/STATUS=asleep/' "$meta"
    finds "$ID" "whether it was private is unknown, so it is private now; to change that: mas set $ID private=no"
    mends "$ID" 'whether it was private is unknown'
    [ "$(meta "$ID" PRIVATE)" = yes ]
    sed -i 's/^PRIVATE=yes/&\nPROMPTED=yes/; s/^STATUS=.*/STATUS=asleep/' "$meta"
    mends "$ID" 'its .session is damaged'
    [ "$(meta "$ID" PROMPTED)" = yes ]
}

@test "metadata is mended in whatever way it is broken" {
    a_stopped_session
    cp "$(ws "$ID")/.session" "$T/good"
    breaks_and_mends </dev/null
    breaks_and_mends < <(head -c 100 "$T/good")
    breaks_and_mends < <(sed '/^STATUS/d' "$T/good")
    breaks_and_mends < <(sed 's/^STATUS=.*/STATUS=asleep/' "$T/good")
    breaks_and_mends < <(sed 's/^SESSION_ID=./SESSION_ID=f/; s/^SESSION_ID=f.*/SESSION_ID=ffffffff-1111-4222-8333-444444444444/' "$T/good")
    breaks_and_mends < <(sed 's/^CREATED_AT=.*/CREATED_AT=yesterday/' "$T/good")
    breaks_and_mends < <(sed "s|^NAME=.*|NAME=\$(touch $T/ran)|" "$T/good")
    breaks_and_mends < <(sed "s|^TMUX_SOCKET=.*|TMUX_SOCKET=relative|" "$T/good")
    breaks_and_mends < <(printf 'SESSION_ID=\xff\xfe\n')
    [ ! -e "$T/ran" ]
    [ "$(field "$ID" .name)" = idle ]
}

@test "metadata that is gone is made anew" {
    a_stopped_session
    rm "$(ws "$ID")/.session"
    [ "$(listed "$ID" .status)" = error ]
    finds "$ID" .session
    mends "$ID" .session
    [ "$(meta "$ID" NAME)" = idle ]
}

@test "metadata that is a link is not followed, the target stays" {
    a_stopped_session
    cp "$(ws "$ID")/.session" "$T/target"
    chmod 644 "$T/target"
    local sum
    sum=$(sha256sum <"$T/target")
    ln -sf "$T/target" "$(ws "$ID")/.session"
    finds "$ID" .session
    mends "$ID" .session
    [ "$(sha256sum <"$T/target")" = "$sum" ]
    [ "$(mode "$T/target")" = 644 ]
    [ ! -L "$(ws "$ID")/.session" ]
}

@test "a team that runs goes on while its metadata is mended" {
    a_running_session
    local pid
    pid=$(agent_pid "$ID")
    breaks_and_mends <<<'this is not metadata'
    [ "$(meta "$ID" STATUS)" = active ]
    [ "$(meta "$ID" TMUX_SESSION)" = "$(tmux_name "$ID")" ]
    [ "$(field "$ID" .status)" = active ]
    [ "$(agent_pid "$ID")" = "$pid" ]
}

@test "a team on a server of its own goes on while its metadata is mended" {
    export MAS_TMUX_SERVER=per-session
    a_running_session
    local pid socket
    pid=$(agent_pid "$ID")
    socket=$(meta "$ID" TMUX_SOCKET)
    echo 'this is not metadata' >"$(ws "$ID")/.session"
    finds "$ID" 'its .session is damaged'
    mends "$ID" 'its .session is damaged'
    [ "$(meta "$ID" TMUX_SOCKET)" = "$socket" ]
    [ "$(field "$ID" .status)" = active ]
    [ "$("$MAS" list --active -q)" = "$ID" ]
    [ "$(agent_pid "$ID")" = "$pid" ]
}

@test "show says error and why of a session whose metadata is broken, also of a stopped one" {
    a_stopped_session
    echo nonsense >"$(ws "$ID")/.session"
    [ "$(field "$ID" .status)" = error ]
    [[ $(field "$ID" .reason) == *'.session is damaged'* ]]
}

@test "one broken session is no hindrance to the others" {
    a_running_session one
    local one=$ID
    a_stopped_session two
    echo nonsense >"$(ws "$ID")/.session"
    ok list --json
    [ "$(jq -r --arg id "$one" '.sessions[] | select(.sessionId == $id).status' <<<"$output")" = active ]
    ok stop one
    ok start one
}

@test "a workspace that was copied by hand becomes a session of its own" {
    a_running_session
    local copy=0c0c0c0c-1111-4222-8333-444444444444 pid
    pid=$(agent_pid "$ID")
    cp -a "$(ws "$ID")" "$(ws "$copy")"
    finds "$copy" 'SESSION_ID belongs to another session'
    mends "$copy" 'SESSION_ID belongs to another session'
    [ "$(meta "$copy" SESSION_ID)" = "$copy" ]
    [ "$(meta "$copy" TMUX_SESSION)" = mas-0c0c0c0c ]
    [ "$(field "$copy" .status)" = stopped ]
    [ "$(field "$ID" .status)" = active ]
    [ "$(agent_pid "$ID")" = "$pid" ]
}
