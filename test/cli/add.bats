#!/usr/bin/env bats
# `mas add` and `mas remove` change the team of a session in one step, whether it runs or not.
load ../helper
load ../host/lib
# shellcheck source=test/cli/code.bash
. "$BATS_TEST_DIRNAME/code.bash"

agents() { "$MAS" status "$ID" --json | jq -r '[.sessions[0].agents[].id] | join(" ")'; }
panes() { tm list-panes -s -t "=mas-${ID:0:8}" -F '#{pane_start_command}' | sed 's/.* //' | sort | xargs; }
hosted() { [ "$("$MAS" status "$ID" --json | jq '[.sessions[0].agents[] | select(.state == null)] | length')" = 0 ]; }

is_after() { [ "$(date +%s)" -gt "$1" ]; }

named() { find "$1" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | xargs; }

# What is on disk fits the team $1, a list of agents, and nothing is left of another one.
is_team() {
    local parts=$ROOT/sessions/$ID
    [ "$(agents)" = "$1" ] || { echo "the team is $(agents), not $1"; return 1; }
    [ "$(named "$parts/unit")" = "$(xargs -n1 <<<"$1" | sort | xargs)" ] || { ls "$parts/unit"; return 1; }
    [ ! -d "$parts/code" ] || [ "$(named "$parts/code")" = "$(named "$parts/unit")" ] || { ls "$parts/code"; return 1; }
    [ ! -e "$parts/.growing" ] && [ -z "$(find "$ROOT/sessions" -maxdepth 1 -name '.trash-*')" ]
}

@test "an agent joins a team that runs, with a pane, a branch and rules, and leaves it again" {
    make_project
    quick_idle
    new_session -n fix -t solo --agent shell --project "$P"
    DIR=$ROOT/sessions/$ID C=$DIR/code
    ok add fix --agent shell --as rev --role 'reviewer of all'
    [ "$output" = 'rev added, on branch mas/fix/rev' ]
    eventually hosted
    is_team 'solo rev'
    [ "$(panes)" = 'rev solo' ]
    [ "$(tm list-windows -t "=mas-${ID:0:8}" | wc -l)" = 1 ]
    cmp "$DIR/unit/solo/AGENTS.md" "$DIR/unit/rev/AGENTS.md"
    [ "$(git -C "$C/rev" symbolic-ref HEAD)" = refs/heads/mas/fix/rev ]
    [ -z "$(git -C "$C/rev" status --porcelain)" ]
    [ "$(field fix '.agents[1] | .role + ", " + .rank + " of " + .group')" = 'reviewer of all, worker of solo' ]
    # its fellow, which began before it, knows it
    ok send fix --from rev solo 'true'
    ok send fix --from solo rev 'true'
    echo more >"$C/rev/more" && git -C "$C/rev" add more && git -C "$C/rev" commit -qm more
    ok merge fix rev
    ok sync fix solo
    [ "$(cat "$C/solo/more")" = more ]
    ok wait fix rev --for idle
    ok remove fix rev
    [ "$output" = 'rev removed' ]
    is_team solo
    [ "$(panes)" = solo ]
    compgen -G "$DIR/run/rev*" && false
    G=$DIR/code.git team_git for-each-ref >"$T/refs"
    run ! grep /rev "$T/refs"
    ok doctor
    ok stop fix
    ok start fix
    is_team solo
}

@test "in a stopped session it is there at the next start, and begins with what was merged" {
    make_project
    make_trio
    make_team -t trio
    change x a 1 one
    "$MAS" merge -q "$ID" x
    ok add "$ID" --agent shell
    [ "$output" = "shell added, on branch mas/$L/shell; it starts with the session" ]
    [ "$(head -n 1 "$C/shell/a")" = one ]
    ok add "$ID" --agent shell --json
    [ "$(jq -r '.agent + " " + .branch + " " + (.runs | tostring)' <<<"$output")" = "shell-2 mas/$L/shell-2 false" ]
    whole
    ok start "$ID"
    eventually hosted
    [ "$(panes)" = 'shell shell-2 w x y z' ]
    ok stop "$ID"
    ok remove -q "$ID" shell,shell-2
    [ -z "$output" ]
    [ "$(agents)" = 'w x y z' ]
    whole
    ok doctor
}

@test "what cannot be is refused, and changes nothing" {
    new_session -n one -t solo --agent shell --no-start
    new_session -n all -t default --agent shell --no-start
    printf '[preset lost]\ncommand = /no/such/program\n' >>"$ROOT/mas.ini"
    mkdir "$ROOT/sessions/$ID/unit/mine"
    before=$(snapshot)
    fails 2 add one
    [[ $stderr == "mas: cannot run 'add': it needs --agent PRESET"* ]]
    fails 3 add one --agent shel
    [ "$stderr" = "mas: cannot use preset 'shel': there is no such preset
did you mean: shell" ]
    fails 3 add all --agent shell --unit desing
    [[ $stderr == *$'\n'"did you mean: design  (the team has: meta, design, development, business)" ]]
    fails 2 add all --agent shell
    [[ $stderr == "mas: cannot add an agent: the team has several units"* ]]
    for name in solo all workers; do
        fails 4 add one --agent shell --as "$name"
        [[ $stderr == "mas: cannot add agent '$name': "* ]]
    done
    fails 4 add all --agent shell --unit design --as development
    fails 2 add one --agent shell --model $'a\nb'
    [ "$stderr" = "mas: cannot add agent 'shell': a model has no control characters" ]
    for name in '' a/b .. "$(printf 'a%.0s' {1..33})" 'a b' 'é' -x -; do
        fails 2 add one --agent shell --as="$name"
        [[ $stderr == "mas: cannot add agent '$name': a name is 1 to 32 "* ]]
    done
    for role in '' $'a\nb' "$(printf 'a%.0s' {1..65})"; do
        fails 2 add one --agent shell --role "$role"
        [[ $stderr == *"a role must be 1 to 64 bytes"* ]]
    done
    fails 4 add all --agent shell --unit design --as mine
    [[ $stderr == "mas: cannot add agent 'mine': 'unit/mine' exists"* ]]
    fails 1 add one --agent lost
    [[ $stderr == *"needs the program '/no/such/program', which is missing"* ]]
    fails 4 remove one solo
    [[ $stderr == "mas: cannot remove agent 'solo': it is the last one of its team"* ]]
    fails 3 remove one sol
    fails 3 add nothing --agent shell
    [ "$(snapshot)" = "$before" ]
    printf '[limits]\nfree = 1000T\n' >>"$ROOT/mas.ini" # more than there is
    before=$(snapshot)
    for words in 'add one --agent shell' 'fork one solo'; do
        # shellcheck disable=SC2086 # words of a command
        fails 1 $words
        [[ $stderr == *"of which limits.free ("*") reserves 1.0P"* ]]
    done
    [ "$(snapshot)" = "$before" ]
    sed -i '/^\[limits\]/,$d' "$ROOT/mas.ini"
    new_session -n old --mode legacy --agent shell --no-start
    fails 4 add old --agent shell
    [[ $stderr == *$'\n''give it directories of its own with: mas migrate old' ]]
}

@test "a pane that a person makes meanwhile gets neither the new one's name nor its place" {
    new_session -t solo --agent shell
    tmux=$(command -v tmux)
    mkdir "$T/bin"
    cat >"$T/bin/tmux" <<END
#!/bin/sh
case \$4 in
    source-file) mkdir '$T/once' 2>/dev/null && $tmux -S '$MAS_TMUX_SOCKET' split-window -d -b -t '=mas-${ID:0:8}:' 'exec sleep 1000' </dev/null ;;
esac
exec $tmux "\$@"
END
    chmod +x "$T/bin/tmux"
    PATH=$T/bin:$PATH ok add -q "$ID" --agent shell --as rev
    eventually hosted
    tm list-panes -t "=mas-${ID:0:8}" -F '#{s/.* //:pane_start_command} #{s/ .*//:@mas_agent}' | sort >"$T/got"
    printf '%s\n' '1000" ' 'rev rev' 'solo solo' | sort | diff - "$T/got"
}

@test "a window without room is left alone, and a team has at most 256 agents" {
    printf '[tmux]\nsize = 40x8\n' >>"$ROOT/mas.ini"
    new_session -t solo --agent shell --no-start
    for i in {1..15}; do ok add -q "$ID" --agent shell --as "a$i"; done
    ok start "$ID"
    eventually hosted
    [ "$(panes | wc -w)" = 16 ]
    [ "$(tm list-windows -t "=mas-${ID:0:8}" | wc -l)" -gt 1 ]
    ok stop "$ID"
    # 256 in one file, as one more would be too many
    jq -c '.team += [range(17; 257) | {id: "b\(.)", role: "r", rank: "worker", group: "solo"}]
        | .windows += [{name: "b", layout: "tiled", agents: [range(17; 257) | "b\(.)"]}]' \
        "$ROOT/sessions/$ID/config.json" >"$T/config" && cp "$T/config" "$ROOT/sessions/$ID/config.json"
    fails 1 add "$ID" --agent shell --as c
    [[ $stderr == *"a team has at most 256 agents"* ]]
}

@test "of agents that are added at once each is there" {
    new_session -t solo --agent shell
    for i in 1 2 3 4; do
        "$MAS" add -q "$ID" --agent shell --as "a$i" >"$T/out$i" 2>&1 3>&- &
        pids[i]=$!
    done
    for i in 1 2 3 4; do wait "${pids[i]}" || { cat "$T/out$i"; false; }; done
    eventually hosted
    [ "$(agents | xargs -n1 | sort | xargs)" = 'a1 a2 a3 a4 solo' ]
    [ "$(panes)" = 'a1 a2 a3 a4 solo' ]
    # of one name, one is refused
    "$MAS" add -q "$ID" --agent shell --as same >/dev/null 2>"$T/err1" 3>&- &
    first=$!
    rc=0
    "$MAS" add -q "$ID" --agent shell --as same >/dev/null 2>"$T/err2" || rc=$?
    wait "$first" || rc=$((rc + $?))
    [ "$rc" = 4 ]
    ok doctor
}

@test "an agent whose host cannot start is not there" {
    new_session -t solo --agent shell
    eventually hosted
    mkdir "$T/bin"
    # tmux that makes no more panes
    cat >"$T/bin/tmux" <<SH
#!/bin/sh
case " \$* " in *" source-file "*)
    text=\$(cat)
    case \$text in *split-window*) echo 'no space for new pane' >&2; exit 1 ;; esac
    printf '%s\n' "\$text" | exec $(command -v tmux) "\$@" ;;
esac
exec $(command -v tmux) "\$@"
SH
    chmod +x "$T/bin/tmux"
    PATH=$T/bin:$PATH fails 6 add "$ID" --agent shell --as rev
    [[ $stderr == *"no space for new pane"* ]]
    is_team solo
    ok add -q "$ID" --agent shell --as rev
    eventually hosted
    is_team 'solo rev'
}

# Kills a command at some of its calls: kills_at CALLS STEP WORD... runs a check after each.
kills_at() {
    local n calls=$1 step=$2
    shift 2
    command -v strace >/dev/null || skip 'strace is missing'
    [ -z "${TEST_SAN-}" ] || skip 'strace is not for sanitizers'
    for ((n = 1; n < 500; n += step)); do
        strace -f -o /dev/null -e "trace=$calls" -e "inject=$calls:signal=KILL:when=$n" \
            "$MAS" "$@" >"$T/out" 2>&1 3>&- && return
        after_kill "$n" || { echo "after kill $n"; return 1; }
    done
}
CALLS=execve,openat,mkdirat,rename,renameat,renameat2,unlink,unlinkat,fsync,fdatasync,syncfs,flock

@test "add that is killed at any call leaves the old team or the new, and the next one works" {
    make_project
    new_session -n fix -t solo --agent shell --project "$P" --no-start
    DIR=$ROOT/sessions/$ID
    # shellcheck disable=SC2317 # called by kills_at
    after_kill() {
        case $(agents) in
        solo) ;;
        'solo rev')
            [ -d "$DIR/code/rev/.git" ] && [ -f "$DIR/unit/rev/AGENTS.md" ] || return
            git -C "$DIR/code/rev" status --porcelain | { ! grep -q .; } || return
            "$MAS" remove -q fix rev || return ;;
        *) agents; return 1 ;;
        esac
        "$MAS" doctor --fix >"$T/doctor" || { cat "$T/doctor"; return 1; }
        is_team solo
    }
    kills_at "$CALLS" 17 add -q fix --agent shell --as rev
    is_team 'solo rev'
    ok start fix
    eventually hosted
    ok doctor
}

@test "remove that is killed at any call leaves the old team or the new" {
    make_project
    new_session -n fix -t solo --agent shell --project "$P" --no-start
    DIR=$ROOT/sessions/$ID
    ok add -q fix --agent shell --as rev
    # shellcheck disable=SC2317 # called by kills_at
    after_kill() {
        case $(agents) in
        'solo rev')
            [ -d "$DIR/code/rev/.git" ] && [ -f "$DIR/unit/rev/AGENTS.md" ] ;;
        solo)
            # what is next does the rest
            "$MAS" add -q fix --agent shell --as rev || return
            is_team 'solo rev' ;;
        *) return 1 ;;
        esac
    }
    kills_at "$CALLS" 13 remove -q fix rev
    is_team solo
    ok doctor
}

@test "killed while the team runs, the agent is there without a host, and start brings it" {
    new_session -n fix -t solo --agent shell
    eventually hosted
    # shellcheck disable=SC2317 # called by kills_at
    after_kill() {
        "$MAS" start -q fix || return
        eventually hosted || return
        [ "$(panes)" = "$(agents | xargs -n1 | sort | xargs)" ] || { panes; return 1; }
        [ "$(agents)" = solo ] || "$MAS" remove -q -f fix rev
    }
    # the environment waits for a host then whose pane was not made
    run strace -f -o /dev/null -P /proc/sys/kernel/pty/nr -e trace=openat -e inject=openat:signal=KILL \
        "$MAS" add -q fix --agent shell --as rev
    [ "$(agents)" = 'solo rev' ]
    [ "$(panes)" = solo ]
    [ -e "$ROOT/sessions/$ID/run/env" ]
    after_kill
    kills_at "$CALLS" 29 add -q fix --agent shell --as rev
    eventually hosted
    [ "$(panes)" = 'rev solo' ]
    # shellcheck disable=SC2317 # called by kills_at
    after_kill() {
        "$MAS" start -q fix || return
        eventually hosted || return
        [ "$(panes)" = "$(agents | xargs -n1 | sort | xargs)" ] || { panes; return 1; }
        [ "$(agents)" = 'solo rev' ] || "$MAS" add -q fix --agent shell --as rev
    }
    kills_at "$CALLS" 29 remove -q -f fix rev
    [ "$(panes)" = solo ]
    ok doctor --fix
}

@test "on a full disk nobody is added, and nothing is left" {
    need_mounts
    make_project
    head -c 300000 /dev/urandom >"$P/big"
    git -C "$P" add big && git -C "$P" commit -qm big
    new_session -n fix -t solo --agent shell --project "$P" --no-start
    # shellcheck disable=SC2016 # expanded by the other shell
    run --separate-stderr with_mounts sh -ec 'cp -a "$1/sessions" "$1/all"
        mount -t tmpfs -o size=16m none "$1/sessions"; cp -a "$1/all/." "$1/sessions"
        for left in 1 3 20 60; do
            dd if=/dev/zero of="$1/sessions/filler" bs=4k 2>/dev/null || true
            truncate -s "-$((left * 4096))" "$1/sessions/filler"
            rc=0; "$2" add fix --agent shell --as rev 2>"$3" >&2 || rc=$?
            rm "$1/sessions/filler"
            [ "$rc" -eq 1 ] || { echo "$left: $rc"; cat "$3"; exit 1; }
            grep -qE "No space left on device|unable to write" "$3" || { cat "$3"; exit 1; }
            [ ! -e "$1/sessions/$4/unit/rev" ]
            [ ! -e "$1/sessions/$4/code/rev" ]
        done
        "$2" doctor --fix
        "$2" add fix --agent shell --as rev' sh "$ROOT" "$MAS" "$T/err" "$ID"
    echo "$output$stderr"
    [ "$status" -eq 0 ]
    [[ $output == *'rev added, on branch mas/fix/rev; it starts with the session' ]]
}

@test "remove refuses what would be lost, and -f keeps it" {
    make_project
    make_trio
    make_team -n three -t trio
    echo new >"$C/x/new"
    fails 4 remove "$ID" x
    [[ $stderr == "mas: cannot remove agent 'x': its work would be lost: x: 1 file not committed: new"* ]]
    git -C "$C/x" add new && git -C "$C/x" commit -qm new
    fails 4 remove "$ID" x
    [[ $stderr == *"x: 1 commit of mas/three/x is not landed"* ]]
    ok merge -q "$ID" x
    echo b >>"$C/x/b" && git -C "$C/x" stash -q
    fails 4 remove "$ID" x
    [[ $stderr == *'x: a stash'* ]]
    git -C "$C/x" stash drop -q
    git -C "$C/x" worktree add -q "$C/x/other" -b other
    echo o >"$C/x/other/o"
    fails 4 remove "$ID" x
    [[ $stderr == *"work tree "*"1 file not committed: o"* ]]
    # what others have is no reason
    echo other >"$C/y/other"
    git -C "$C/x" worktree remove --force other
    ok remove "$ID" x
    [ "$(agents)" = 'w y z' ]
    change z c 1 z
    oid=$(git -C "$C/z" rev-parse HEAD)
    ok remove -f "$ID" z
    [[ $output == "z removed"$'\n'"its work is kept; bring it back with: mas restore --new-id --name NAME $ROOT/lost/"* ]]
    git -C "$P" for-each-ref --contains "$oid" | grep -q refs/mas/lost/
    kept=$(ls "$ROOT"/lost/*.tar.zst)
    ok restore -q --new-id --name copy "$kept"
    [ "$(git -C "$ROOT/sessions/$output/code/z" rev-parse HEAD)" = "$oid" ]
    whole
    ok doctor
}

@test "an agent that cannot be removed after all is started again" {
    make_project
    # in the templates: mas.ini has no preset, so that remove has to read those
    sed -i '/^\[preset shell\]/a idle = 100ms' "$ROOT/templates/agents.ini"
    make_trio
    make_team -n three -t trio
    ok start "$ID"
    eventually hosted
    (cd "$C/x" && exec sleep 60) 3>&- &
    other=$!
    ok wait "$ID" x --for idle
    for _ in 1 2; do
        fails 4 remove "$ID" x
        [[ $stderr == *"process $other ("* ]]
        eventually hosted
        [ "$(panes)" = 'w x y z' ]
        ok wait "$ID" x --for idle
    done
    # also where its work cannot be kept
    echo new >"$C/x/new"
    echo in the way >"$ROOT/lost"
    fails 1 remove -f "$ID" x
    eventually hosted
    [ "$(panes)" = 'w x y z' ]
    [ -e "$C/x/new" ]
    rm "$ROOT/lost"
    kill "$other"
    ok remove -q -f "$ID" x
    [ "$(panes)" = 'w y z' ]
}

@test "lazy agents join and leave, too" {
    printf '[workspace]\nlazy = yes\n' >>"$ROOT/mas.ini"
    new_session -t pair --agent shell --no-start
    unit=$(jq -r '.team[0].group' "$ROOT/sessions/$ID/config.json")
    ok add -q "$ID" --agent shell --as rev --unit "$unit"
    [ -f "$ROOT/sessions/$ID/unit/rev/AGENTS.md" ]
    ok start "$ID"
    eventually hosted
    ok remove -q -f "$ID" rev
    [ ! -e "$ROOT/sessions/$ID/unit/rev" ]
    ok doctor
}

@test "a new agent gets the ignored files and the submodules that its fellows have" {
    make_project
    git init -q "$T/lib" && echo lib >"$T/lib/l" && git -C "$T/lib" add . && git -C "$T/lib" commit -qm lib
    git -C "$P" -c protocol.file.allow=always submodule --quiet add "$T/lib" lib
    echo .env >"$P/.gitignore" && echo .env >"$P/.worktreeinclude" && echo secret >"$P/.env"
    git -C "$P" add . && git -C "$P" commit -qm more
    make_team -n fix -t solo --agent shell
    ok add fix --agent shell --as rev
    [ "$(cat "$C/rev/.env" "$C/rev/lib/l")" = $'secret\nlib' ]
    [ -z "$stderr" ]
    ok remove fix rev
    ok fork -q fix solo
    [ "$(cat "$C/solo-2/.env" "$C/solo-2/lib/l")" = $'secret\nlib' ]
    # without the project, which has them, it gets neither, and that is told
    mv "$P" "$P.away"
    ok add fix --agent shell --as rev
    [[ $stderr == *"cannot find project '$P': it was moved or removed"* ]]
    [ ! -e "$C/rev/.env" ] && [ ! -e "$C/rev/lib/l" ] && [ -e "$C/rev/a" ]
}

@test "a fork has the files of the other one, and git need not read them" {
    make_project
    mkdir "$P/d" "$P/x" && seq 300 >"$P/d/long" && echo .ignored >"$P/.gitignore" && ln -s a "$P/link"
    echo 1 >"$P/x/y" && echo 1 >"$P/z"
    git -C "$P" add . && git -C "$P" commit -qm more
    make_team -n fix -t solo
    find "$C/solo" -name .git -prune -o -type f -exec touch -d '2020-01-01 10:00:00.5' {} +
    eventually is_after "$(date +%s)" # what was changed in this second is not trusted
    ok fork -q fix solo --as same
    [ -z "$(git -C "$C/same" status --porcelain)" ]
    strace -f -qq -e trace=openat,open -o "$T/trace" git -C "$C/same" diff --quiet
    grep -q '"\.git/index"\|/index"' "$T/trace"
    run ! grep '"d/long"' "$T/trace"
    [ "$(stat -c %y "$C/same/d/long")" = "$(stat -c %y "$C/solo/d/long")" ]
    # with what is not committed, but what is ignored
    echo changed >"$C/solo/a" && rm "$C/solo/b" && echo new >"$C/solo/d/new" && touch "$C/solo/.ignored"
    chmod +x "$C/solo/d/long"
    rm -r "$C/solo/x" "$C/solo/z" && ln -s d "$C/solo/x" && mkdir "$C/solo/z" && echo 1 >"$C/solo/z/y"
    ok fork -q fix solo --as second
    diff -r --no-dereference --exclude=.git --exclude=.ignored "$C/solo" "$C/second"
    [ ! -e "$C/second/.ignored" ]
    [ -x "$C/second/d/long" ]
    diff <(git -C "$C/solo" status --porcelain -uall) <(git -C "$C/second" status --porcelain -uall)
    [ "$(git -C "$C/second" log --format=%H -1)" = "$(git -C "$C/solo" log --format=%H -1)" ]
    ok doctor
}

@test "a fork gets neither FIFOs nor sockets, and they are named" {
    new_session -t solo --agent shell --no-start
    unit=$ROOT/sessions/$ID/unit
    mkdir "$unit/solo/deep"
    mkfifo "$unit/solo/pipe"
    (cd "$unit/solo/deep" && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")')
    echo x >"$unit/solo/deep/x"
    ok fork "$ID" solo
    [[ $stderr == *"mas: warning: 'unit/solo/pipe' is a FIFO and is left out"* ]]
    [[ $stderr == *"mas: warning: 'unit/solo/deep/socket' is a socket and is left out"* ]]
    [ "$(named "$unit/solo-2/deep")" = x ]
    [ ! -e "$unit/solo-2/pipe" ]
    cmp "$unit/solo/AGENTS.md" "$unit/solo-2/AGENTS.md"
}
