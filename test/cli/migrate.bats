#!/usr/bin/env bats
# Migrating: the legacy session becomes an isolated one, with every file.
load ../helper

setup_more() { quick_idle; }

# A legacy session with files of its own in the root's directories; not started, but with `start`.
legacy() {
    if [ "${1-}" = start ]; then
        new_session --mode legacy -t pair
    else
        new_session --mode legacy -t pair --no-start
    fi
    fill
}

# What agents may have made.
fill() {
    mkdir -p "$ROOT/unit/lead/deep/er" "$ROOT/unit/extra" "$ROOT/workflows"
    echo notes >"$ROOT/unit/lead/notes"
    echo '#!/bin/sh' >"$ROOT/unit/lead/deep/er/tool"
    chmod 751 "$ROOT/unit/lead/deep/er/tool"
    ln -sf ../notes "$ROOT/unit/lead/deep/link"
    : >"$ROOT/unit/extra/"$'odd \n name'
    echo mine >"$ROOT/workflows/mine.md"
}

# The tree below unit/ and workflows/ in $1, with contents; `-i` before it: with what a rename keeps.
tree() {
    local format='%P %m %l\n'
    [ "$1" != -i ] || { format='%P %i %m %T@ %l\n'; shift; }
    (cd "$1" && find unit workflows -mindepth 1 -printf "$format" | sort &&
        find unit workflows -type f -print0 | sort -z | xargs -0 sha256sum)
}

# Session $1 is whole, isolated and named so, and the root has nothing of it.
is_isolated() {
    [ "$(meta "$1" MODE)" = isolated ]
    [ "$(meta "$1" TMUX_SESSION)" = "mas-${1:0:8}" ]
    [ "$(meta "$1" UNIT_DIR)" = "$ROOT/sessions/$1/unit" ]
    [ -z "$(meta "$1" MIGRATING)" ]
    [ ! -e "$ROOT/unit" ]
    [ ! -e "$ROOT/workflows" ]
    [ -z "$(find "$ROOT" -mindepth 1 -maxdepth 1 -name '.*' ! -name .sessions.mark)" ]
    [ "$("$MAS" list --all --json | jq -r --arg id "$1" '.sessions[] | select(.sessionId == $id) | .mode')" = isolated ]
    grep -q "\"sessionId\":\"$1\".*\"mode\":\"isolated\"" "$ROOT/sessions/.sessions.index"
    "$MAS" doctor
}


@test "a stopped legacy session becomes an isolated one with the same id and every file" {
    legacy
    echo '{"kept":1}' >"$ROOT/sessions/$ID/logs/api.log"
    local before config
    before=$(tree -i "$ROOT")
    config=$(cat "$ROOT/sessions/$ID/config.json")
    ok migrate
    [ -z "$stderr" ]
    [ "$output" = "moved $ROOT/unit to $ROOT/sessions/$ID/unit
moved $ROOT/workflows to $ROOT/sessions/$ID/workflows
isolated $ID, mas-${ID:0:8}" ]
    [ "$(tree -i "$ROOT/sessions/$ID")" = "$before" ]
    [ "$(cat "$ROOT/sessions/$ID/config.json")" = "$config" ]
    [ "$(cat "$ROOT/sessions/$ID/logs/api.log")" = '{"kept":1}' ]
    grep -q ' migrate ' "$ROOT/sessions/$ID/logs/session.log"
    is_isolated "$ID"
    [ "$(field "$ID" .status)" = stopped ]
    "$MAS" start "$ID"
    [ "$(readlink "/proc/$(agent_pid "$ID" lead)/cwd")" = "$ROOT/sessions/$ID/unit/lead" ]
}

@test "one that runs is stopped, and started again where it is now" {
    legacy start
    "$MAS" wait "$ID" --for idle
    local old
    old=$(agent_pid "$ID" lead)
    ok migrate
    [ "${lines[0]}" = "stopped $ID, mas-tmux" ]
    [ "${lines[4]}" = "started $ID" ]
    [ "$(field "$ID" .status)" = active ]
    run ! kill -0 "$old"
    run ! tm has-session -t =mas-tmux
    tm has-session -t "=mas-${ID:0:8}"
    local pid
    pid=$(agent_pid "$ID" lead)
    [ "$(readlink "/proc/$pid/cwd")" = "$ROOT/sessions/$ID/unit/lead" ]
    tr '\0' '\n' <"/proc/$pid/environ" | grep -qx 'MAS_SESSION_MODE=isolated'
    is_isolated "$ID"
}

@test "a crashed one stays crashed" {
    legacy start
    "$MAS" wait "$ID" --for idle # a host that is still coming up would leave its lock
    tm kill-server
    ok migrate
    [ "$(field "$ID" .crashed)" = true ]
    is_isolated "$ID"
    "$MAS" start --crashed
    [ "$(field "$ID" .status)" = active ]
}

# Holds the lock of a host until a mas has it open and waits for it, then goes as a host does.
# shellcheck disable=SC2016 # for the inner shell
host_that_goes() {
    # shellcheck disable=SC2016 # for the other bash
    flock "$1" bash -c 'touch "$1.held"
        until find /proc/[0-9]*/fd -lname "$1" 2>/dev/null | sed "s|/fd/.*|/comm|" | xargs cat 2>/dev/null |
            grep -qx mas; do sleep 0.01; done
        rm "$1" "$1.held"' - "$1"
}

@test "a host that goes while it is waited for leaves nothing" {
    legacy start
    "$MAS" wait "$ID" --for idle
    local lock=$ROOT/sessions/$ID/run/lead.lock
    tm kill-server
    eventually [ ! -e "$lock" ]
    host_that_goes "$lock" &
    eventually [ -e "$lock.held" ]
    ok migrate
    [ ! -e "$lock" ]
    is_isolated "$ID"
}

@test "both modes go on afterwards" {
    legacy
    new_session -t solo
    local other=$ID
    "$MAS" migrate
    [ "$(field "$other" .status)" = active ]
    new_session --mode legacy -t solo
    [ "$("$MAS" list --json | jq -r '[.sessions[].mode] | join(" ")')" = "isolated isolated legacy" ]
    "$MAS" doctor
}

@test "a unit without a session becomes a new one, with what the template has more" {
    fill
    chmod 700 "$ROOT/unit/lead"
    export MAS_TEMPLATE=pair
    ok migrate -n old
    ID=$("$MAS" list -q)
    [ "$output" = "created a session for $ROOT/unit, template pair
created $ROOT/unit/reviewer from template pair
moved $ROOT/unit to $ROOT/sessions/$ID/unit
moved $ROOT/workflows to $ROOT/sessions/$ID/workflows
isolated $ID, mas-${ID:0:8}" ]
    local unit=$ROOT/sessions/$ID/unit
    [ "$(cat "$unit/lead/notes")" = notes ]
    [ "$(stat -c %a "$unit/lead")" = 700 ]
    [ -e "$unit/extra/"$'odd \n name' ]
    [ ! -e "$unit/lead/AGENTS.md" ]
    diff -r "$ROOT/templates/pair/unit/reviewer" "$unit/reviewer"
    [ "$(ls "$ROOT/sessions/$ID/workflows")" = mine.md ]
    [ "$(field old .status)" = stopped ]
    is_isolated "$ID"
    "$MAS" start old
    [ "$(field old '.agents | length')" = 2 ]
}

@test "a unit alone gets the template's workflows" {
    mkdir -p "$ROOT/unit/lead"
    MAS_TEMPLATE=pair ok migrate
    ID=$("$MAS" list -q)
    diff -r "$ROOT/templates/pair/workflows" "$ROOT/sessions/$ID/workflows"
    is_isolated "$ID"
}

@test "with nothing to migrate it says so" {
    ok migrate
    [ "$output" = "nothing to migrate" ]
    new_session -t solo --no-start
    mas migrate
    [ "$output" = "nothing to migrate" ]
    ok migrate "$ID"
    [ "$output" = "nothing to migrate" ]
    mas migrate --dry-run
    [ "$output" = "nothing to migrate" ]
    ok migrate -q
    [ -z "$output" ]
    mas migrate --json
    [ "$output" = '{"sessionId":"","dryRun":false,"steps":[]}' ]
    fails 3 migrate nothing
}

@test "--dry-run prints what a run then does, and changes nothing" {
    legacy start
    "$MAS" wait "$ID" --for idle
    local before would
    before=$(snapshot)
    ok migrate --dry-run
    would=$output
    [ "$(snapshot)" = "$before" ]
    [ "$(field "$ID" .status)" = active ]
    mas migrate --dry-run --json
    [ "$(jq -r '[.steps[].do] | join(" ")' <<<"$output")" = "stop move move isolate start" ]
    [ "$(jq -r '.dryRun, .sessionId' <<<"$output" | xargs)" = "true $ID" ]
    [ "$(snapshot)" = "$before" ]
    mas migrate
    [ "$(sed 's/^would stop/stopped/;s/^would move/moved/;s/^would isolate/isolated/;s/^would start/started/' <<<"$would")" = "$output" ]
}

@test "--dry-run for a unit without a session changes nothing either" {
    fill
    new_session -t solo --no-start # the index is there
    local before
    before=$(snapshot)
    MAS_TEMPLATE=pair ok migrate --dry-run
    [ "$output" = "would create a session for $ROOT/unit, template pair
would create $ROOT/unit/reviewer from template pair
would move $ROOT/unit to $ROOT/sessions/<id>/unit
would move $ROOT/workflows to $ROOT/sessions/<id>/workflows
would isolate <id>" ]
    [ "$(snapshot)" = "$before" ]
}

@test "-n gives it a name, --json and -q its id" {
    legacy
    ok migrate -n new-name --json
    [ "$(jq -r .sessionId <<<"$output")" = "$ID" ]
    [ "$(field new-name .sessionId)" = "$ID" ]
    new_session --mode legacy -t solo --no-start
    mas migrate -q mas-tmux
    [ "$output" = "$ID" ]
}

@test "a bad name, or one that another has, is refused and nothing changes" {
    new_session -t solo --no-start -n taken
    legacy
    local before
    before=$(snapshot)
    fails 4 migrate -n taken
    [[ $stderr == "mas: cannot name a session 'taken': another session has that name"* ]]
    fails 2 migrate -n 'a b'
    [ "$(snapshot)" = "$before" ]
}

@test "what the old program runs in tmux is refused, with what to do" {
    fill
    tm new-session -d -s mas-tmux
    new_session -t solo --no-start
    local before
    before=$(snapshot)
    MAS_TEMPLATE=pair fails 4 migrate
    [ "$stderr" = "mas: cannot migrate: the tmux session 'mas-tmux' is running and does not belong to mas
end it first: tmux -S $SOCK kill-session -t '=mas-tmux'" ]
    MAS_TEMPLATE=pair fails 4 migrate --dry-run
    [ "$(snapshot)" = "$before" ]
    tm rename-session -t =mas-tmux other # not ended: a server that loses its last session takes no next one
    legacy
    tm rename-session -t =other mas-tmux
    before=$(snapshot)
    fails 4 migrate
    [ "$(snapshot)" = "$before" ]
}

@test "what is in the way is named, and nothing is moved" {
    legacy
    mkdir "$ROOT/sessions/$ID/workflows"
    echo other >"$ROOT/sessions/$ID/workflows/file"
    local before
    before=$(snapshot)
    fails 4 migrate
    [ "$stderr" = "mas: cannot move '$ROOT/workflows': the session's workspace has a 'workflows' already
move that aside first: $ROOT/sessions/$ID/workflows" ]
    [ "$(snapshot)" = "$before" ]
    rm -r "$ROOT/sessions/$ID/workflows"
    mv "$ROOT/unit" "$T/elsewhere"
    ln -s "$T/elsewhere" "$ROOT/unit"
    before=$(snapshot)
    fails 1 migrate
    [ "$stderr" = "mas: cannot use '$ROOT/unit': it is a symbolic link" ]
    [ "$(snapshot)" = "$before" ]
    [ -e "$T/elsewhere/lead/notes" ]
}

@test "a team that could not be started again is not stopped" {
    printf '[preset mine]\ncommand = sh\n' >>"$ROOT/mas.ini"
    new_session --mode legacy -t pair --agent mine
    sed -i '/^\[preset mine\]/,$d' "$ROOT/mas.ini"
    mas migrate
    [ "$status" -ne 0 ]
    [[ $stderr == "mas: cannot migrate session '$ID': "* ]]
    [ "$(field "$ID" .status)" = active ]
    [ "$(meta "$ID" MODE)" = legacy ]
    [ -z "$(meta "$ID" MIGRATING)" ]
    [ -d "$ROOT/unit/lead" ]
}

@test "if the move fails once the team is stopped, it is started again where it was" {
    command -v strace >/dev/null || skip 'strace is missing'
    legacy start
    "$MAS" wait "$ID" --for idle
    run --separate-stderr strace -qq -o "$T/trace" -e trace=renameat2 -e inject=renameat2:error=EIO:when=1 "$MAS" migrate
    [ "$status" -eq 1 ]
    [ "$stderr" = "mas: cannot move '$ROOT/unit': Input/output error" ]
    grep -q '^renameat2(.* "unit", .*INJECTED' "$T/trace"
    [ -d "$ROOT/unit/lead" ]
    [ "$(meta "$ID" MODE)" = legacy ]
    [ -z "$(meta "$ID" MIGRATING)" ]
    [ "$(field "$ID" .status)" = active ]
    [ "$(field "$ID" .agentsRunning)" = 2 ]
}

@test "a team whose tmux session may be left is not moved" {
    legacy start
    "$MAS" wait "$ID" --for idle
    make_keeping_tmux
    run --separate-stderr env PATH="$T/kept:$PATH" "$MAS" migrate
    echo "$status $output $stderr"
    [ "$status" -ne 0 ]
    [ -d "$ROOT/unit/lead" ]
    [ "$(meta "$ID" MODE)" = legacy ]
    [ -z "$(meta "$ID" MIGRATING)" ]
    "$MAS" stop -q "$ID"
    "$MAS" migrate -q
    is_isolated "$ID"
}

@test "a name that another session gets while the team is stopped is refused, and all is as it was" {
    legacy start
    "$MAS" wait "$ID" --for idle
    mkdir "$T/wrapped"
    cat >"$T/wrapped/tmux" <<SH
#!/bin/sh
text=
case " \$* " in *" source-file "*) text=\$(cat) ;; esac
case "\$* \$text" in
*kill-session*) [ -e '$T/taken' ] || PATH='$PATH' '$MAS' --root '$ROOT' new -q --no-start -t solo -n shop >'$T/taken' ;;
esac
[ -n "\$text" ] || exec "$(command -v tmux)" "\$@"
printf %s "\$text" | "$(command -v tmux)" "\$@"
SH
    chmod +x "$T/wrapped/tmux"
    run --separate-stderr env PATH="$T/wrapped:$PATH" "$MAS" migrate -n shop
    echo "$status $output $stderr"
    [ "$status" -eq 4 ]
    [[ $stderr == "mas: cannot name a session 'shop': another session has that name"* ]]
    [ "$(field shop .sessionId)" = "$(cat "$T/taken")" ]
    [ -d "$ROOT/unit/lead" ]
    [ "$(meta "$ID" MODE)" = legacy ]
    [ -z "$(meta "$ID" MIGRATING)" ]
    [ "$(field "$ID" .status)" = active ]
    "$MAS" stop -q "$ID"
    "$MAS" migrate -q -n store
    is_isolated "$ID"
}

@test "a second one at the same time is a conflict that names the holder" {
    legacy
    printf 'pid 4711 (migrate)\n' >"$ROOT/sessions/$ID/.session.lock"
    exec 8<"$ROOT/sessions/$ID/.session.lock"
    flock 8
    fails 4 migrate
    [[ $stderr == *"session '$ID'"*'pid 4711 (migrate)'* ]]
    exec 8<&-
    ok migrate
}

@test "of eight at once one does it, and no file is lost" {
    fill
    export MAS_TEMPLATE=pair
    local i pids=() done=0 before
    before=$(cd "$ROOT" && find unit workflows -type f | sort)
    for i in {1..8}; do
        "$MAS" migrate --json >"$T/out.$i" 2>"$T/err.$i" &
        pids+=("$!")
    done
    for i in {1..8}; do
        local rc=0
        wait "${pids[i - 1]}" || rc=$?
        [ "$rc" -eq 0 ] || [ "$rc" -eq 4 ]
        if [ "$rc" -eq 0 ] && [ "$(jq '.steps | length' "$T/out.$i")" -gt 0 ]; then
            done=$((done + 1))
        fi
    done
    [ "$done" -eq 1 ]
    ID=$("$MAS" list -q)
    [ "${#ID}" -eq 36 ]
    [ "$(cd "$ROOT/sessions/$ID" && find unit workflows -type f ! -path 'unit/reviewer/*' | sort)" = "$before" ]
    is_isolated "$ID"
}

# As a run leaves it that is killed when unit/ has been moved, and workflows/ has not.
half_moved() {
    legacy
    sed -i 's/^MODE=legacy$/&\nMIGRATING=active/' "$ROOT/sessions/$ID/.session"
    mv "$ROOT/unit" "$ROOT/sessions/$ID/unit"
}

@test "what was interrupted half way is shown, left alone, and gone on with" {
    half_moved
    mas list
    [[ ${lines[1]} == *" legacy "*"stopped (migrating)" ]]
    [ "$("$MAS" list --json | jq -r '.sessions[0].migrating')" = true ]
    mas list --all
    [[ ${lines[1]} == *" legacy "*"stopped (migrating)" ]]
    [ "$(field "$ID" .migrating)" = true ]
    ok doctor
    [[ $output == *"its migration was interrupted; continue with: mas migrate $ID"* ]]
    local before
    before=$(snapshot)
    "$MAS" doctor --fix
    [ "$(snapshot)" = "$before" ]
    local verb
    for verb in start rm 'rm -f' archive 'archive --rm'; do
        # shellcheck disable=SC2086
        fails 4 $verb "$ID"
        [ "$stderr" = "mas: cannot $(sed 's/ .*//; s/^rm/remove/' <<<"$verb") session '$ID': its migration was interrupted
continue it with: mas migrate $ID" ]
    done
    [ ! -e "$ROOT/archive" ]
    fails 4 new --mode legacy -t pair
    ok clean --older-than 0s
    [ "$(snapshot)" = "$before" ]
    ok migrate
    [ "$output" = "moved $ROOT/workflows to $ROOT/sessions/$ID/workflows
isolated $ID, mas-${ID:0:8}
started $ID" ]
    [ "$(field "$ID" .status)" = active ]
    [ "$(cat "$ROOT/sessions/$ID/unit/lead/notes")" = notes ]
    is_isolated "$ID"
}

@test "a new unit in the root while one is half moved is a conflict that loses neither" {
    half_moved
    mkdir -p "$ROOT/unit/lead"
    echo new >"$ROOT/unit/lead/notes"
    local before
    before=$(snapshot)
    fails 4 migrate
    [ "$stderr" = "mas: cannot move '$ROOT/unit': the session's workspace has a 'unit' already
move that aside first: $ROOT/sessions/$ID/unit" ]
    [ "$(snapshot)" = "$before" ]
}

@test "it works from a pane of the very team that it stops" {
    legacy start
    local pane
    pane=$(field "$ID" '.agents[0].pane')
    tm send-keys -t "$pane" -l "'$MAS' migrate $ID" \; send-keys -t "$pane" Enter
    # shellcheck disable=SC2329
    is_done() { [ "$(meta "$ID" MODE)$(meta "$ID" MIGRATING)" = isolated ] && [ "$(field "$ID" .status)" = active ]; }
    eventually is_done
    is_isolated "$ID"
}

@test "to another file system it is copied, and the original goes last" {
    need_mounts
    cat >"$T/across" <<'END'
set -eu
mount -t tmpfs -o mode=755 none "$ROOT/sessions"
id=$("$MAS" new -q --mode legacy -t pair --no-start)
fill
before=$(tree "$ROOT")
mkfifo "$ROOT/unit/extra/fifo"
! "$MAS" migrate 2>"$T/err" || exit 1
grep -qx "mas: cannot copy '.migrate-$id/unit/extra/fifo': it is a FIFO" "$T/err" || { cat "$T/err"; exit 1; }
rm "$ROOT/unit/extra/fifo"
[ "$(tree "$ROOT")" = "$before" ]
[ -z "$(meta "$id" MIGRATING)" ]
# killed while it copied, and killed before the original went
sed -i 's/^MODE=legacy$/&\nMIGRATING=stopped/' "$ROOT/sessions/$id/.session"
mkdir -p "$ROOT/.migrate-$id" "$ROOT/sessions/$id/.migrate/half"
mv "$ROOT/unit" "$ROOT/.migrate-$id/unit"
mkdir "$ROOT/.migrate-$id/workflows"
mv "$ROOT/workflows" "$ROOT/sessions/$id/workflows"
"$MAS" doctor
! "$MAS" rm -f "$id" || exit 1
"$MAS" migrate
[ "$(tree "$ROOT/sessions/$id")" = "$before" ]
[ ! -e "$ROOT/sessions/$id/.migrate" ]
is_isolated "$id"
END
    export -f fill tree meta is_isolated
    export ROOT MAS T
    # shellcheck disable=SC2016 # for the other shell
    run with_mounts bash -o pipefail -c '. "$0"' "$T/across"
    echo "$output"
    [ "$status" -eq 0 ]
}
