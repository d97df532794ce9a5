#!/usr/bin/env bats
# [workspace] lazy = yes: directories of agents are made from the template as it was when the session
# was made, and what that takes is shared, kept as long as it is needed, and then gone.
# shellcheck disable=SC2016
load ../helper

setup_more() {
    printf '[workspace]\nlazy = yes\n' >>"$ROOT/mas.ini"
    UNIT=$ROOT/templates/solo/unit/solo
    SNAPSHOTS=$ROOT/sessions/.snapshots
}

# Kinds, modes, link targets, times, contents.
facts() {
    (cd "$1" && LC_ALL=C find . -mindepth 1 -printf '%P %y %m %l %T@\0' | LC_ALL=C sort -z | tr '\0' '\n' &&
        LC_ALL=C find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum)
}

# A change that comes now cannot be mistaken for one before it.
settled() { read -rt 0.15 <> <(:) || :; }

unit() { printf %s "$ROOT/sessions/$ID/unit"; }
units_are_made() { [ -e "$(unit)/${1-solo}" ]; }
count_snapshots() { find "$SNAPSHOTS" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l; }

# Starts the session, waits for the directory of its agent, and stops it.
make_units() {
    "$MAS" start -q "$ID"
    eventually units_are_made "$@"
    "$MAS" stop -q "$ID"
}

@test "new makes what no agent owns, and the directories of agents come with their start" {
    mkdir -p "$ROOT/templates/solo/unit/shared/deep"
    echo all >"$ROOT/templates/solo/unit/README"
    new_session -t solo --no-start
    [ ! -e "$(unit)/solo" ]
    [ "$(cat "$(unit)/README")" = all ]
    [ -d "$(unit)/shared/deep" ]
    [ -e "$ROOT/sessions/$ID/workflows" ]
    [ "$(stat -c %a "$ROOT/sessions/$ID/.snapshot" "$SNAPSHOTS" "$SNAPSHOTS"/*)" = $'400\n700\n700' ]
    make_units
    diff <(facts "$ROOT/templates/solo/unit") <(facts "$(unit)")
    [ "$(stat -c %a "$(unit)/solo")" = 755 ]
    [ "$(ls -A "$ROOT/sessions/$ID")" = $'.session\n.session.lock\nconfig.json\nlogs\nrun\nunit\nworkflows' ]
    [ ! -e "$SNAPSHOTS" ]
}

@test "modes, times, links and odd names come through, whatever the umask" {
    mkdir -p "$UNIT/empty" "$UNIT/locked"
    echo x >"$UNIT/script"
    chmod 750 "$UNIT/script"
    echo x >"$UNIT/locked/file"
    chmod 444 "$UNIT/locked/file"
    chmod 555 "$UNIT/locked"
    ln -s ../nowhere "$UNIT/link"
    echo x >"$UNIT/"$'new\nline \xff'
    touch -d 2001-02-03T04:05:06Z "$UNIT/script" "$UNIT/empty" "$UNIT"
    for mask in 000 077; do
        umask $mask
        new_session -t solo --no-start
        make_units
        umask 022
        diff <(facts "$ROOT/templates/solo/unit") <(facts "$(unit)")
        "$MAS" rm -q "$ID"
    done
}

@test "whatever happens to the template later, agents get what it was" {
    local was
    was=$(facts "$ROOT/templates/solo/unit")
    new_session -t solo --no-start
    local changed=$ID
    echo more >>"$UNIT/AGENTS.md"
    echo new >"$UNIT/new"
    new_session -t solo --no-start
    local now=$ID was_then
    was_then=$(facts "$ROOT/templates/solo/unit")
    rm -r "$ROOT/templates/solo"
    cp -R "$ROOT/templates/pair" "$ROOT/templates/solo"
    ID=$changed
    make_units
    [ "$(facts "$(unit)")" = "$was" ]
    rm -r "$ROOT"/templates/*/
    ID=$now
    make_units
    [ "$(facts "$(unit)")" = "$was_then" ]
    [ ! -e "$SNAPSHOTS" ]
}

@test "sessions of the same state of a template share one snapshot" {
    local one two
    settled
    new_session -t solo --no-start
    one=$(cat "$ROOT/sessions/$ID/.snapshot")
    new_session -t solo --no-start
    two=$(cat "$ROOT/sessions/$ID/.snapshot")
    [ "$one" = "$two" ]
    [[ $one =~ ^[0-9a-f]{32}$ ]]
    [ "$(count_snapshots)" = 1 ]
    [ "$(stat -c %h "$SNAPSHOTS/$one/name")" = 3 ]
    touch "$UNIT/AGENTS.md"
    settled
    new_session -t solo --no-start
    [ "$(cat "$ROOT/sessions/$ID/.snapshot")" != "$one" ]
    new_session -t pair --no-start
    [ "$(count_snapshots)" = 3 ]
}

@test "every kind of change makes another state" {
    local seen='' change
    mkdir "$UNIT/d"
    echo 12345 >"$UNIT/file"
    cp -p "$UNIT/file" "$T/file"
    for change in true 'chmod 640 "$UNIT/file"' 'echo 54321 >"$UNIT/file"' 'touch -r "$T/file" "$UNIT/file"' \
        'mv "$UNIT/file" "$UNIT/other"' 'mv "$UNIT/other" "$UNIT/d/other"' 'ln -s x "$UNIT/l"' \
        'ln -sf y "$UNIT/l"' 'mkdir "$UNIT/d/e"' 'rmdir "$UNIT/d/e"' 'cp -p "$UNIT/d/other" "$UNIT/again"' \
        'mv "$UNIT/again" "$UNIT/d/other"'; do
        eval "$change"
        settled
        new_session -t solo --no-start
        run ! grep -qxf "$ROOT/sessions/$ID/.snapshot" <<<"$seen"
        seen+=$(cat "$ROOT/sessions/$ID/.snapshot")$'\n'
    done
    [ "$(count_snapshots)" = 12 ]
}

@test "a change just before and just after is never mistaken" {
    local i ids=()
    for i in $(seq 10 29); do
        echo "$i" >"$UNIT/file"
        new_session -t solo --no-start
        ids+=("$ID")
        echo xx >"$UNIT/file"
    done
    for i in $(seq 10 29); do
        [ "$(cat "$SNAPSHOTS/$(cat "$ROOT/sessions/${ids[i - 10]}/.snapshot")/unit/solo/file")" = "$i" ]
    done
}

@test "a snapshot goes with the last session that holds it" {
    settled
    new_session -t solo --no-start
    local first=$ID
    new_session -t solo --no-start
    "$MAS" rm -q "$first"
    [ "$(count_snapshots)" = 1 ]
    mas doctor
    [ "$output" = 'everything is in order' ]
    "$MAS" rm -q "$ID"
    [ -z "$(find "$ROOT/sessions" -mindepth 1 ! -name ".sessions.*")" ]
}

@test "a team half of which has started keeps its snapshot for the others" {
    sed -i '/^\[agent reviewer\]/a start = demand' "$ROOT/templates/pair/template.ini"
    new_session -t pair
    eventually units_are_made lead
    [ ! -e "$(unit)/reviewer" ]
    [ "$(count_snapshots)" = 1 ]
    rm -r "$ROOT/templates/pair"
    "$MAS" send "$ID" reviewer true
    eventually units_are_made reviewer
    eventually test ! -e "$SNAPSHOTS"
    "$MAS" stop -q "$ID"
    mas doctor
    [ "$output" = 'everything is in order' ]
}

@test "many at once make one snapshot, and none is lost when they go" {
    local ids i
    settled
    for i in 1 2 3 4 5 6 7 8; do "$MAS" new -q -t solo --no-start >"$T/id$i" 3>&- & done
    wait
    mapfile -t ids < <(cat "$T"/id*)
    [ "${#ids[@]}" = 8 ]
    [ "$(count_snapshots)" = 1 ]
    for i in 0 1 2 3; do "$MAS" rm -q "${ids[i]}" 3>&- & done
    "$MAS" new -q -t solo --no-start >"$T/id9"
    wait
    ID=$(cat "$T/id9")
    make_units
    diff <(facts "$ROOT/templates/solo/unit") <(facts "$(unit)")
    for i in 4 5 6 7; do "$MAS" rm -q "${ids[i]}" 3>&- & done
    wait
    [ ! -e "$SNAPSHOTS" ]
}

@test "what the template may not hold is refused as ever, and nothing is left" {
    local before
    new_session -t pair --no-start
    mkfifo "$UNIT/pipe"
    before=$(snapshot)
    fails 1 new -t solo
    [ "$stderr" = "mas: cannot copy 'templates/solo/unit/solo/pipe': it is a FIFO" ]
    [ "$(snapshot)" = "$before" ]
}

@test "a snapshot that is gone is told, and doctor makes the rest from the template" {
    new_session -t solo --no-start
    rm -r "$SNAPSHOTS"
    "$MAS" start -q "$ID"
    eventually eval '"$MAS" peek "$ID" solo | grep -q "could not be started: cannot create .unit/solo. from its snapshot"'
    "$MAS" stop -q "$ID"
    fails 1 doctor
    [[ $output == *"$ID"*"the snapshot for its agents' directories is missing; they can be created from the current template"* ]]
    [ ! -e "$(unit)/solo" ]
    ok doctor --fix
    diff <(facts "$ROOT/templates/solo/unit") <(facts "$(unit)")
    mas doctor
    [ "$output" = 'everything is in order' ]
    make_units
}

@test "a hold that is damaged leads nowhere, and no snapshot is lost for it" {
    local text other
    new_session -t pair --no-start
    other=$ID
    new_session -t solo --no-start
    mkdir -p "$T/evil/unit/solo"
    for text in "../../../evil" "/$T/evil" '' "$(printf '%0100d' 0)" $'aa\nbb'; do
        rm -f "$ROOT/sessions/$ID/.snapshot"
        printf '%s\n' "$text" >"$ROOT/sessions/$ID/.snapshot"
        "$MAS" new -q -t pair --no-start | xargs "$MAS" rm -q
        [ -d "$SNAPSHOTS/$(cat "$ROOT/sessions/$other/.snapshot")" ]
        "$MAS" start -q "$ID"
        eventually eval '"$MAS" peek "$ID" solo | grep -q "could not be started"'
        "$MAS" stop -q "$ID"
    done
    ln -sf "$T/evil" "$ROOT/sessions/$ID/.snapshot"
    mas doctor
    [[ $output == *"the snapshot for its agents' directories is missing"* ]]
    [ ! -e "$(unit)/solo" ]
}

@test "a root that was copied without its links loses no snapshot" {
    settled
    new_session -t pair --no-start
    new_session -t solo --no-start
    cp -r --no-preserve=links "$ROOT" "$T/copy"
    export MAS_ROOT=$T/copy
    ROOT=$T/copy
    [ "$(stat -c %h "$ROOT/sessions/$ID/.snapshot")" = 1 ]
    rm -r "$ROOT/templates/solo"
    "$MAS" list -q --all | grep -v "$ID" | xargs "$MAS" rm -q
    "$MAS" doctor --fix >/dev/null
    [ "$(find "$ROOT/sessions/.snapshots" -mindepth 1 -maxdepth 1 | wc -l)" = 1 ]
    make_units
    [ ! -e "$ROOT/sessions/.snapshots" ]
}

@test "without hard links a snapshot is held as well" {
    settled
    for _ in 1 2; do
        ID=$(strace -f -o /dev/null -e trace=linkat -e inject=linkat:error=EPERM "$MAS" new -q -t solo --no-start)
    done
    [ "$(count_snapshots)" = 1 ]
    [ "$(stat -c %h "$ROOT/sessions/$ID/.snapshot")" = 1 ]
    "$MAS" list -q | grep -v "$ID" | xargs "$MAS" rm -q
    [ "$(count_snapshots)" = 1 ]
    make_units
    [ ! -e "$SNAPSHOTS" ]
}

@test "what a killed host has left is found, put right by doctor, and by the next start" {
    new_session -t pair --no-start
    mkdir "$ROOT/sessions/$ID/.new-lead"
    echo half >"$ROOT/sessions/$ID/.new-lead/file"
    fails 1 doctor
    [[ $output == *"a killed host left the directory of agent lead incomplete"* ]]
    ok doctor --fix
    [ ! -e "$ROOT/sessions/$ID/.new-lead" ]
    mkdir "$ROOT/sessions/$ID/.new-lead"
    echo half >"$ROOT/sessions/$ID/.new-lead/file"
    make_units lead
    diff <(facts "$ROOT/templates/pair/unit/lead") <(facts "$(unit)/lead")
    [ ! -e "$ROOT/sessions/$ID/.new-lead" ]
}

@test "a snapshot that nobody needs is found and removed" {
    settled
    new_session -t solo --no-start
    cp -r "$SNAPSHOTS" "$T/kept"
    "$MAS" rm -q "$ID"
    mv "$T/kept" "$SNAPSHOTS"
    fails 1 doctor
    [[ $output == *".snapshots/"*"a killed command left it behind"* ]]
    ok doctor --fix
    [ ! -e "$SNAPSHOTS" ]
}

@test "the index is no staler for snapshots, and readers take them for no session" {
    new_session -t solo --no-start
    mas list --json --all
    [ "$(jq '.total' <<<"$output")" = 1 ]
    [ -z "$stderr" ]
    [ "$(strace -o /dev/stdout -e trace=getdents64 "$MAS" list 2>/dev/null | grep -c getdents64)" = 0 ]
    [ "$(strace -f -o /dev/stdout -e trace=getdents64 -y "$MAS" new -t solo --no-start 2>/dev/null |
        grep -c 'getdents64([0-9]*<[^>]*/sessions>')" = 0 ]
}

@test "with read-only files linked, snapshots are shared and units are linked too" {
    printf 'hardlink = readonly\n' >>"$ROOT/mas.ini"
    echo x >"$UNIT/reference"
    chmod 444 "$UNIT/reference"
    settled
    new_session -t solo --no-start
    local first=$ID
    new_session -t solo --no-start
    cmp "$ROOT/sessions/$first/.snapshot" "$ROOT/sessions/$ID/.snapshot"
    make_units
    [ "$(unit)/solo/reference" -ef "$UNIT/reference" ]
    new_session -t solo --no-start
    cmp "$ROOT/sessions/$first/.snapshot" "$ROOT/sessions/$ID/.snapshot"
    [ "$(stat -c %a "$UNIT/reference")" = 444 ]
    rm -f "$UNIT/reference"
    make_units
    [ "$(cat "$(unit)/solo/reference")" = x ]
}

@test "sessions that were made whole stay so, and a lazy one starts when lazy is off again" {
    sed -i 's/^lazy = .*/lazy = no/' "$ROOT/mas.ini"
    new_session -t solo --no-start
    [ -e "$(unit)/solo" ]
    [ ! -e "$ROOT/sessions/$ID/.snapshot" ]
    sed -i 's/^lazy = .*/lazy = yes/' "$ROOT/mas.ini"
    make_units
    new_session -t solo --no-start
    sed -i 's/^lazy = .*/lazy = no/' "$ROOT/mas.ini"
    make_units
}
