#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2030,SC2031,SC2317 # for scripts; every test runs in a shell of its own
# What a start remembers of this machine: it tries bubblewrap once, and what is out of date ends in a
# refusal, never in an agent without its wall.
load ../helper
load lib

setup_last() {
    need_wall
    CACHE=$ROOT/sessions/.wall-probe
    mkdir "$T/bin" "$T/shared"
    # bubblewrap, which notes each trial, and which can be broken without a change of its file
    cat >"$T/bin/bwrap" <<END
#!/bin/sh
case "\$*" in *--probe*) echo trial >>"$T/trials" ;; esac
[ ! -e "$T/broken" ] || { echo 'bwrap: No permissions to make namespaces' >&2; exit 1; }
exec $(command -v bwrap) "\$@"
END
    chmod +x "$T/bin/bwrap"
    export PATH=$T/bin:$PATH
    : >"$T/trials"
    preset walled "sh -c 'echo ran >>$T/shared/ran; exec sleep $MARK'" "wall.level = ${LEVEL-require}" "wall.write = $T/shared"
}

trials() { wc -l <"$T/trials"; }
ran() { [ "$(grep -sc . "$T/shared/ran")" -eq "$1" ]; }

@test "bubblewrap is tried once, and again when its file changes" {
    ID=$("$MAS" new -q -t solo --agent walled)
    eventually ran 1
    [ "$(trials)" -eq 1 ]
    [ "$(stat -c %a "$CACHE")" = 600 ]
    [ "$(wc -l <"$CACHE")" -eq 2 ]
    "$MAS" stop -q "$ID"
    "$MAS" start -q "$ID"
    eventually ran 2
    "$MAS" restart -q "$ID" solo
    eventually ran 3
    [ "$(trials)" -eq 1 ]
    "$MAS" stop -q "$ID"
    echo '# more' >>"$T/bin/bwrap"
    "$MAS" start -q "$ID"
    eventually ran 4
    [ "$(trials)" -eq 2 ]
    "$MAS" doctor
}

@test "other rights are another answer" {
    "$MAS" new -q -t solo --agent walled
    eventually ran 1
    "$MAS" stop -q "$("$MAS" list -q)"
    run --separate-stderr "${MAS%/*}/test/tools/deny" namespaces -- "$MAS" new -q -t solo --agent walled
    [ "$status" -eq 1 ]
    [[ $stderr == *'bubblewrap does not work here'* ]]
    ran 1
}

# What is there is ignored, and replaced.
@test "a cache that is damaged, forged or of another boot is not believed" {
    ID=$("$MAS" new -q -t solo --agent walled)
    eventually ran 1
    "$MAS" stop -q "$ID"
    cp "$CACHE" "$T/good"
    count=1
    for change in 's/^1 [^ ]*/1 11111111-1111-4111-8111-111111111111/' "2s|/.*|/bin/true|" '2d' '1d' \
        's/^1 /2 /' '2s/ /x/' 's/$/\t\/etc\/..\/x/' '$a more'; do
        sed "$change" "$T/good" >"$CACHE"
        "$MAS" start -q "$ID"
        count=$((count + 1))
        eventually ran "$count"
        [ "$(trials)" -eq "$count" ] || { echo "$change was believed" >&2; false; }
        "$MAS" stop -q "$ID"
    done
    cmp "$CACHE" "$T/good"
    rm "$CACHE"
    ln -s "$T/good" "$CACHE"
    "$MAS" start -q "$ID"
    eventually ran $((count + 1))
    [ "$(trials)" -eq $((count + 1)) ]
    [ -f "$CACHE" ] && [ ! -L "$CACHE" ]
}

# stale: a start with a cache that no longer holds
stale() {
    ID=$("$MAS" new -q -t solo --agent walled)
    eventually ran 1
    "$MAS" stop -q "$ID"
    : >"$T/broken"
    "$MAS" start -q "$ID"
    gone() { [ ! -e "$CACHE" ]; }
    eventually gone
    eventually grep -q 'the wall did not come up' "$ROOT/sessions/$ID/logs/session.log"
    ran 1
    "$MAS" stop -q "$ID"
}

@test "an answer that is out of date starts nothing, and is forgotten" {
    stale
    fails 1 start -q "$ID"
    [[ $stderr == *'bubblewrap does not work here'*'No permissions'* ]]
    ran 1
    rm "$T/broken"
    "$MAS" start -q "$ID"
    eventually ran 2
}

@test "a host whose wall did not come up looks again when it starts the agent again" {
    ID=$("$MAS" new -q -t solo --agent walled)
    eventually ran 1
    : >"$T/broken"
    kill "$(agent_pid "$ID")"
    ended() { [[ $(field "$ID" '.agents[0].state') == @(exited|crashed) ]]; }
    eventually ended
    trials=$(trials)
    run --separate-stderr "$MAS" restart -q "$ID" solo
    ran 1
    rm "$T/broken"
    "$MAS" restart -q "$ID" solo
    eventually ran 2
    [ "$(trials)" -gt "$trials" ]
}

@test "each agent of a team that root runs has what is secret in /etc hidden, also at its next start" {
    [ "$(id -u)" -eq 0 ] || skip 'only root could read it'
    SECRET=/etc/mas-test-$$
    (umask 077 && echo one >"$SECRET.a")
    teardown_last() { rm -f "$SECRET".*; }
    preset reads "sh -c 'cat $SECRET.a $SECRET.b >>$T/shared/read; echo ran >>$T/shared/ran; exec sleep $MARK'" \
        'wall.level = require' "wall.write = $T/shared"
    ID=$("$MAS" new -q -t pair --agent reads)
    eventually ran 2
    (umask 077 && echo two >"$SECRET.b")
    "$MAS" restart -q "$ID" all
    eventually ran 4
    rm "$SECRET.a"
    "$MAS" restart -q "$ID" all
    eventually ran 6
    [ ! -s "$T/shared/read" ]
}
