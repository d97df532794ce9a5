#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # every test runs in a shell of its own
# [code] check runs what agents wrote, and agents start it by `mas merge`.
load ../helper
load lib

teardown_last() { drop_group; }

# sets_check COMMAND: the person's setting; behind a wall, that of `bad`.
sets_check() { printf '[code]\ncheck = %s\n' "$1" >>"$ROOT/mas.ini"; }

# commits_check: `bad` commits stdin as `check`.
commits_check() {
    cat >"$TREE/check"
    git -C "$TREE" add check
    git -C "$TREE" commit -qm 'Check'
}

tip() { git --git-dir "$DIR/code.git" rev-parse 'HEAD^{commit}'; }
log() { cat "$DIR/logs/check.log"; }

# What `bad` commits tries to leave by the check; it succeeds if all of it works.
break_out() {
    echo CW-PRIVATE >"$HOME/private"
    commits_check <<SH
set -e
cat '$HOME/private' '$ROOT/sessions/$OTHER/config.json' >/dev/null
touch '$T/ran' '$DIR/code.git/planted' '$ROOT/planted'
kill -0 $(host_of "$OTHER" solo)
SH
    sets_check 'sh ./check'
    inside "$MAS merge"
    [ "$rc" -eq 0 ] && [ -e "$T/ran" ] && [ -e "$DIR/code.git/planted" ] && [ -e "$ROOT/planted" ]
}
@test "a check leaves the wall of its agent" {
    both_ways break_out
    [ ! -e "$T/ran" ]
    [ ! -e "$DIR/code.git/planted" ]
    log | grep -q "cannot open\|No such file"
}

@test "a check behind the wall does what it did, for the agent and for a person" {
    compromise require
    commits_check <<'SH'
echo "branch $MAS_CODE_BRANCH"
[ "$MAS_CODE_DIR" = "$PWD" ] || exit 9
echo built >made && mkdir sub && echo more >sub/made
echo scratch >"$TMPDIR/x" 2>/dev/null || echo scratch >/tmp/x
[ -r README ] || [ -r a ] || exit 8
touch ../index && exit 7
touch ../../planted && exit 6
(sleep 1371 &)
grep -q good verdict || { echo 'the last line'; exit 3; }
SH
    sets_check 'sh ./check "two words"'
    old=$(tip)
    inside "$MAS merge"
    [ "$rc" -eq 1 ]
    said '[code] check failed: it ended with exit code 3'
    said 'the last line'
    [ "$(tip)" = "$old" ]
    log | grep -qE '^branch mas/.*/main$'
    run -1 --separate-stderr "$MAS" merge "$ID" bad
    [[ $stderr == *'[code] check failed: it ended with exit code 3'* ]]
    echo good >"$TREE/verdict"
    git -C "$TREE" add verdict
    git -C "$TREE" commit -qm 'Be good'
    "$MAS" merge -q "$ID" bad
    [ "$(tip)" != "$old" ]
    [ "$(tip)" = "$(git -C "$TREE" rev-parse HEAD)" ]
    [ ! -e "$DIR/code.git/check" ]
    run ! pgrep -f 'sleep 137[1]'
}

@test "a check behind the wall ends with its time, with its merge, and with Ctrl-C" {
    compromise require "wall.network = none"
    commits_check <<SH
sed -n 's/^ *\\(.*\\):.*/\\1/p' /proc/net/dev
(setsid sleep 0$MARK &)
exec sleep 0$MARK
SH
    sets_check 'sh ./check'
    old=$(tip)
    for signal in KILL INT; do
        : >"$DIR/logs/check.log"
        set -m
        env --default-signal=INT "$MAS" merge "$ID" bad & # it may be ignored here
        merge=$!
        set +m
        eventually grep -q . "$DIR/logs/check.log"
        case $signal in
            KILL) kill -KILL "$merge" ;;
            INT) kill -INT -- "-$merge" ;;
        esac
        wait "$merge" || true
        eventually prints "" pgrep -f "sleep 0$MARK"
    done
    [ "$(log)" = lo ] # its wall has no network
    printf 'check_timeout = 1s\n' >>"$ROOT/mas.ini"
    run -1 --separate-stderr "$MAS" merge "$ID" bad
    [[ $stderr == *'it takes longer than 1 s'* ]]
    run ! pgrep -f "sleep 0$MARK"
    sed -i 's|^check = .*|check = /nowhere/at/all|' "$ROOT/mas.ini"
    run -1 --separate-stderr "$MAS" merge "$ID" bad
    [[ $stderr == *'[code] check failed: it ended with exit code 127'* ]]
    [ "$(tip)" = "$old" ]
}

@test "without its wall, a check runs only if the wall need not be" {
    mkdir "$T/bin"
    printf '#!/bin/sh\nexit 1\n' >"$T/bin/bwrap"
    chmod +x "$T/bin/bwrap"
    compromise require
    commits_check <<SH
touch made
! touch '$DIR/code.git/planted'
SH
    sets_check 'sh ./check'
    old=$(tip)
    PATH=$T/bin:$PATH run -1 --separate-stderr "$MAS" merge "$ID" bad
    [[ $stderr == *"cannot put up the wall of agent 'bad': bubblewrap does not work here"* ]]
    [[ $stderr == *$'\n'*'bwrap'* ]]
    [ "$(tip)" = "$old" ]
    [ ! -e "$DIR/code.git/check" ]
    [ ! -s "$DIR/logs/check.log" ]
    # Landlock alone, where the kernel has it
    "$MAS" stop -q "$ID"
    sed -i 's/^wall.level = require/wall.level = try/' "$ROOT/templates/agents.ini" "$ROOT/mas.ini"
    if "${MAS%/*}/mas-wall" --probe | grep -qE '^landlock=[1-9]'; then
        PATH=$T/bin:$PATH "$MAS" merge -q "$ID" bad
        [ ! -e "$DIR/code.git/planted" ]
    else
        PATH=$T/bin:$PATH run --separate-stderr "$MAS" merge -q "$ID" bad
        [[ $stderr == *"warning: [code] check runs without the wall of agent 'bad': bubblewrap does not work here"* ]]
    fi
}

@test "a check that the agent starts is in the group of the agent" {
    local pid
    need_group
    compromise require
    commits_check <<SH
exec sleep 0$MARK
SH
    sets_check 'sh ./check'
    inside "$MAS merge </dev/null >/dev/null 2>&1 &"
    eventually pgrep -fx "sleep 0$MARK"
    pid=$(pgrep -fx "sleep 0$MARK")
    grep -qE "/mas-$ID/bad/[0-9]+$" "/proc/$pid/cgroup" || { cat "/proc/$pid/cgroup"; false; }
    kill "$pid"
}

@test "without a group, a check that the agent starts has the limits that its programs have" {
    case ${TEST_SAN-} in *address*) skip 'AddressSanitizer reserves more memory than a limit lets it' ;; esac
    printf '[limits]\ncgroup = no\nmemory = 3G\n' >>"$ROOT/mas.ini"
    compromise try
    commits_check <<'SH'
ulimit -d
SH
    sets_check 'sh ./check'
    inside "$MAS merge"
    [ "$rc" -eq 0 ]
    [ "$(log)" = 3145728 ]
}

# escapes_check: a check that leaves its group, its session, its parent and its environment.
escapes_check() {
    commits_check <<SH
env -i setsid sh -c '(exec sleep 0$MARK) & (setsid sleep 0$MARK &)' &
env -i setsid sleep 0$MARK &
echo begun
[ ! -e ends ] || exit 3
exec sleep 0$MARK
SH
    sets_check 'sh ./check'
}
begun() { log | grep -q begun && [ "$(pgrep -fxc "sleep 0$MARK")" -ge 3 ]; }

@test "with Landlock alone and without a wall nothing of a check outlives its time, its merge or its end" {
    local level merge
    [ "$("${MAS%/*}/mas-wall" --probe | sed -n 's/^landlock=//p')" -gt 0 ] || skip 'the kernel has no Landlock'
    mkdir "$T/bin"
    printf '#!/bin/sh\nexit 1\n' >"$T/bin/bwrap"
    chmod +x "$T/bin/bwrap"
    compromise try
    "$MAS" stop -q "$ID" # `good` sleeps as well
    "$MAS" stop -q "$OTHER"
    PATH=$T/bin:$PATH
    escapes_check
    for level in try off; do
        sed -i "s/^wall.level = .*/wall.level = $level/" "$ROOT/templates/agents.ini" "$ROOT/mas.ini"
        # the merge is killed
        : >"$DIR/logs/check.log"
        "$MAS" merge "$ID" bad 3>&- &
        merge=$!
        eventually begun
        kill -KILL "$merge"
        wait "$merge" || true
        eventually prints "" pgrep -fx "sleep 0$MARK"
        # it takes too long
        printf '[code]\ncheck_timeout = 1s\n' >>"$ROOT/mas.ini"
        run -1 --separate-stderr "$MAS" merge "$ID" bad
        [[ $stderr == *'it takes longer than 1 s'* ]]
        run ! pgrep -fx "sleep 0$MARK"
        sed -i '/^check_timeout/d' "$ROOT/mas.ini"
        # it ends
        touch "$TREE/ends"
        git -C "$TREE" add ends
        git -C "$TREE" commit -qm 'End'
        run -1 --separate-stderr "$MAS" merge "$ID" bad
        [[ $stderr == *'it ended with exit code 3'* ]]
        run ! pgrep -fx "sleep 0$MARK"
        git -C "$TREE" reset -q --hard HEAD~1
    done
}

@test "a check that a person starts has a group of its own with the limits of the agent" {
    local pid merge
    need_group
    compromise require
    escapes_check
    "$MAS" merge "$ID" bad 3>&- &
    merge=$!
    eventually begun
    for pid in $(pgrep -fx "sleep 0$MARK"); do
        grep -qE "/mas-$ID/(bad[+]check|good)/[0-9]+$" "/proc/$pid/cgroup" || { cat "/proc/$pid/cgroup"; false; }
    done
    [ -d "$GROUP/mas-$ID/bad+check" ]
    "$MAS" stop -q "$OTHER"
    "$MAS" stop -q "$ID" # the check is none of its agents
    kill -KILL "$merge"
    wait "$merge" || true
    eventually prints "" pgrep -fx "sleep 0$MARK"
    # a limit that no group holds here, and must be
    sed -i 's/^cgroup = .*/cgroup = no\nprocesses = 50/' "$ROOT/mas.ini"
    run -1 --separate-stderr "$MAS" merge "$ID" bad
    echo "$stderr"
    [[ $stderr == *"cannot put up the wall of agent 'bad': limits.processes: limits.cgroup is 'no'"* ]]
}

@test "a check holds the limits of its agent by resource limits where there is no group" {
    case ${TEST_SAN-} in *address*) skip 'AddressSanitizer reserves more memory than a limit lets it' ;; esac
    printf '[limits]\ncgroup = no\nmemory = 3G\n' >>"$ROOT/mas.ini"
    compromise try
    commits_check <<'SH'
ulimit -d
SH
    sets_check 'sh ./check'
    "$MAS" set -q "$ID" bad.limits.memory=2G
    "$MAS" merge -q "$ID" bad
    [ "$(log)" = 2097152 ]
}
