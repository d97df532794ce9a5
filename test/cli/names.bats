#!/usr/bin/env bats
load ../helper

# Values that must come to nothing wherever a name is asked for. A ` marks the place of a command.
# shellcheck disable=SC2016
hostile=(
    '#(touch ran)' '##(touch ran)' '#{pane_id}' '$(touch ran)' '`touch ran`' '${HOME}' 'x;touch ran' 'x;' ';' 'x\;'
    'x & touch ran' '| touch ran' '> ran' "'; touch ran; '" '"; touch ran; "' $'x\ntouch ran' $'x\r' $'x\tb'
    $'\033[31mred' $'\033]0;title\a' $'\x9b31m' $'\xc2\x9b31m' $'\xff\xfe' $'x\x7f' 'two words' ' ' '../../x' '../x' '/etc' '.' '..'
    'a/b' '~' '*' '?' '[a]' '=x' '%1' '@1' '@last' ':x' 'x.y' 'x:y' 'é' '-' '--' '-x' '--help' 'NUL%00' '%s%n%d'
)

setup_more() {
    cd "$T" || return
    mkdir work && cd work || return
    before=$(snapshot)
}

# As `mas`, without what bats does around a command: some tests call it hundreds of times.
try() {
    status=0
    "$MAS" "$@" >"$T/out" 2>"$T/err" || status=$?
    output=$(<"$T/out") stderr=$(<"$T/err")
}

# The value was refused with one of these exit codes, told on two lines at most that move no terminal.
is_refused() {
    local value=$1 wanted=$2
    if [[ " $wanted " != *" $status "* ]] || [ -n "$output" ]; then
        printf 'for %q: exit %s, not one of %s: %s\n' "$value" "$status" "$wanted" "$output$stderr"
        return 1
    fi
    if [[ $stderr != "mas: cannot "* ]] || [[ $stderr == *$'\n'*$'\n'* ]] || LC_ALL=C grep -q $'[[:cntrl:]\x80-\x9f]' "$T/err"; then
        printf 'for %q: told badly: %q\n' "$value" "$stderr"
        return 1
    fi
}

# Nothing was run, made or left since setup.
nothing_left() {
    if [ "$(snapshot)" != "$before" ] || [ -n "$(ls -A .)" ] || [ -n "$(find "$T" -name 'ran*')" ]; then
        echo "something was left"
        return 1
    fi
    run tm list-sessions
    [ "$status" -ne 0 ]
}

@test "a hostile --name is refused" {
    for value in "${hostile[@]}" '' '1x' '_x' '-x'; do
        try new -t solo --name="$value"
        is_refused "$value" 2
    done
    nothing_left
}

@test "a hostile --template is refused" {
    for value in "${hostile[@]}" '' .new-solo agents.ini ../templates/solo solo/ ./solo; do
        try new --template="$value"
        is_refused "$value" '2 3'
    done
    nothing_left
}

@test "a hostile --agent is refused" {
    for value in "${hostile[@]}" ''; do
        try new -t solo --agent="$value"
        is_refused "$value" '2 3'
    done
    nothing_left
}

@test "a hostile --id is refused" {
    for value in "${hostile[@]}" '' x 550e8400 ../550e8400-e29b-41d4-a716-446655440000 550e8400-e29b-41d4-a716-446655440000/x \
        ' 550e8400-e29b-41d4-a716-446655440000' $'550e8400-e29b-41d4-a716-446655440000\n' 550e8400e29b41d4a716446655440000 \
        '{550e8400-e29b-41d4-a716-446655440000}' 550e8400-e29b-41d4-a716-44665544000g 550e8400-e29b-41d4-a716-4466554400000; do
        try new -t solo --id="$value"
        is_refused "$value" 2
    done
    nothing_left
}

@test "a hostile --mode is refused" {
    for value in "${hostile[@]}" '' Isolated; do
        try new -t solo --mode="$value"
        is_refused "$value" 2
    done
    nothing_left
}

@test "a hostile SESSION is none" {
    for value in "${hostile[@]}"; do
        case $value in @last) continue ;; esac
        for verb in show stop rm; do
            try $verb -- "$value"
            is_refused "$value" 3
        done
    done
    nothing_left
}

@test "a hostile SESSION is none where there are sessions, too" {
    new_session -t solo -n one
    for value in "${hostile[@]}" '' 'mas-*' "=mas-${ID:0:8}" "mas-${ID:0:8}:" "mas-${ID:0:8}:0" "mas-${ID:0:8}.0" "mas-${ID:0:7}" 'one ' 'on'; do
        case $value in @last) continue ;; esac
        for verb in show stop 'rm -f'; do
            # shellcheck disable=SC2086
            try $verb -- "$value"
            is_refused "$value" 3
            case $value in
                x:y) [[ $stderr == "mas: cannot find host 'x': "* ]] ;;
                *) [[ $stderr == "mas: cannot find session '"* ]] ;;
            esac
        done
    done
    [ "$("$MAS" list --active -q)" = "$ID" ]
    run find "$T" -name 'ran*'
    [ -z "$output" ]
}

@test "values of 10 kB are refused with the reason" {
    long=x$(printf '%010239d' 0)
    while IFS=: read -r option reason; do
        try new -t solo "$option=$long"
        is_refused "$option" '2 3'
        [[ ${stderr%%$'\n'*} == *": $reason"* ]] || {
            echo "$option: no reason told"
            return 1
        }
    done <<'EOF'
--name:a name must be one of A-Z a-z and at most 63 more characters of A-Z a-z 0-9 _ -
--template:a name must be 1 to 32 characters of A-Z a-z 0-9 _ -
--agent:there is no such preset
--id:it is not a version 4 UUID
--mode:it is not isolated or legacy
EOF
    try show "$long"
    is_refused SESSION 3
    [[ ${stderr%%$'\n'*} == *": there is no such session in "* ]]
    nothing_left
}

@test "an id in upper case is refused with the same in lower case" {
    try new -t solo --id 550E8400-E29B-41D4-A716-446655440000
    [ "$stderr" = "mas: cannot use id '550E8400-E29B-41D4-A716-446655440000': it is not a version 4 UUID
write it in lower case: --id 550e8400-e29b-41d4-a716-446655440000" ]
    is_refused upper 2
    nothing_left
}

@test "a UUID of another version or variant is refused" {
    for digit in 0 1 2 3 5 6 7 8 f; do
        try new -t solo --id "550e8400-e29b-${digit}1d4-a716-446655440000"
        [[ $stderr == "mas: cannot use id '550e8400-e29b-${digit}1d4-a716-446655440000': it is not a version 4 UUID"* ]]
        is_refused "version $digit" 2
    done
    for digit in 0 7 c d e f; do
        try new -t solo --id "550e8400-e29b-41d4-${digit}716-446655440000"
        is_refused "variant $digit" 2
    done
    try new -t solo --id 00000000-0000-0000-0000-000000000000
    is_refused nil 2
    nothing_left
}

@test "an id that exists is a conflict, running or stopped, and its session stays as it is" {
    id=550e8400-e29b-41d4-a716-446655440000
    new_session -t solo --id $id -n one
    echo mine >"$ROOT/sessions/$id/unit/solo/mine"
    "$MAS" wait "$ID" --for idle
    before=$(snapshot)
    fails 4 new -t solo --id $id
    [ "$stderr" = "mas: cannot create session '$id': it exists" ]
    [ "$(snapshot)" = "$before" ]
    [ "$(field one .status)" = active ]
    "$MAS" stop -q one
    fails 4 new -t pair --id $id
    [ "$(cat "$ROOT/sessions/$id/unit/solo/mine")" = mine ]
    "$MAS" rm -q one
    ok new -t pair --id $id
}

@test "what stands in the place of an id is never overwritten" {
    id=550e8400-e29b-41d4-a716-446655440000
    place=$ROOT/sessions/$id
    mkdir "$T/outside"
    echo keep >"$T/outside/file"
    # shellcheck disable=SC2016
    for make in 'mkdir "$place"' 'mkdir "$place"; echo keep >"$place/file"' 'echo keep >"$place"' 'ln -s "$T/outside" "$place"' \
        'ln -s nowhere "$place"' 'mkfifo "$place"'; do
        eval "$make"
        kept=$(ls -lR --time-style=+ "$place" "$T/outside")
        fails 4 new -t solo --id $id
        [ "$stderr" = "mas: cannot create session '$id': it exists" ]
        [ "$(ls -lR --time-style=+ "$place" "$T/outside")" = "$kept" ]
        [ "$(find "$ROOT/sessions" -mindepth 1 -maxdepth 1 ! -name '.sessions.*')" = "$place" ]
        rm -r "$place"
    done
    run tm list-sessions
    [ "$status" -ne 0 ]
}

@test "what a killed new or rm of the same id left is no hindrance" {
    id=550e8400-e29b-41d4-a716-446655440000
    mkdir -p "$ROOT/sessions/.new-$id/unit/solo" "$ROOT/sessions/.trash-$id/unit"
    echo x >"$ROOT/sessions/.new-$id/unit/solo/old"
    ok new -q -t solo --id $id
    [ "$output" = $id ]
    [ ! -e "$ROOT/sessions/$id/unit/solo/old" ]
    mkdir -p "$ROOT/sessions/.trash-$id/unit"
    ok rm -f $id
    [ "$(find "$ROOT/sessions" -mindepth 1 -maxdepth 1 ! -name '.sessions.*')" = "" ]
}

@test "ids with the same first 8 digits both work and have different tmux names" {
    one=550e8400-e29b-41d4-a716-446655440000
    two=550e8400-1111-4111-8111-111111111111
    three=550e8400-1111-4222-8111-111111111111
    for id in $one $two $three; do
        ok new -q -t solo --id "$id"
    done
    [ "$("$MAS" list --active -q | sort | xargs)" = "$(printf '%s\n' $one $two $three | sort | xargs)" ]
    names=$("$MAS" list --json | jq -r '.sessions[].tmuxSession' | sort)
    [ "$(uniq <<<"$names" | wc -l)" -eq 3 ]
    [ "$(tm list-sessions -F '#{session_name}' | sort)" = "$names" ]
    [ "$(field $one .tmuxSession)" = mas-550e8400 ]
    [ "$(field $two .tmuxSession)" = mas-550e8400-1111 ]
    [ "$(meta $two TMUX_SESSION)" = mas-550e8400-1111 ]
    for id in $one $two $three; do
        [ "$(field "$(field "$id" .tmuxSession)" .sessionId)" = "$id" ]
    done
    fails 4 show 550e8400
    "$MAS" stop -q $one
    [ "$("$MAS" list --active -q | wc -l)" -eq 2 ]
    "$MAS" start -q $one
    "$MAS" rm -q -f $two
    [ "$("$MAS" list --active -q | sort | xargs)" = "$(printf '%s\n' $one $three | sort | xargs)" ]
    tm has-session -t =mas-550e8400
}

@test "a tmux name that a stranger's session has is not taken over" {
    tm new-session -d -s mas-550e8400 -x 80 -y 24 'sleep 1000'
    ok new -q -t solo --id 550e8400-e29b-41d4-a716-446655440000
    [ "$(field "$output" .tmuxSession)" != mas-550e8400 ]
    [ "$(field "$output" .status)" = active ]
    "$MAS" rm -q -f 550e8400-e29b-41d4-a716-446655440000
    tm has-session -t =mas-550e8400
}

@test "an agent id, window or role of the template cannot be hostile either" {
    # shellcheck disable=SC2016
    for name in '#(touch ran)' '$(touch ran)' '../x' 'a;b'; do
        sed "s|^\[agent solo\]|[agent $name]|" "$PROJECT/templates/solo/template.ini" >"$ROOT/templates/solo/template.ini"
        before=$(snapshot)
        try new -t solo
        is_refused "$name" 1
    done
    nothing_left
}

@test "a hostile environment is passed on to the agent and run nowhere" {
    printf '[preset p]\ncommand = sh -c "env -0 >env.new; mv env.new env.bin; exec sleep 1000"\n' >>"$ROOT/mas.ini"
    # shellcheck disable=SC2016
    EVIL=$'#(touch ran)$(touch ran)`touch ran`;\n\033[31m\xff' new_session -t solo --agent p
    file=$ROOT/sessions/$ID/unit/solo/env.bin
    eventually [ -f "$file" ]
    # shellcheck disable=SC2016
    LC_ALL=C grep -qzF 'EVIL=#(touch ran)$(touch ran)`touch ran`;' "$file"
    run find "$T" -name 'ran*'
    [ -z "$output" ]
}

@test "a session's name is never the name of another one in tmux" {
    new_session -t solo -n shop --no-start
    name=$(field shop .tmuxSession)
    fails 4 new -t solo --no-start -n "$name"
    [ "${stderr_lines[0]}" = "mas: cannot name a session '$name': another session has that name" ]
    [ "$("$MAS" list -q | wc -l)" -eq 1 ]

    # nor the other way round: the id's first digits are another session's name already
    new_session -t solo -n mas-3e846642 --no-start
    ok new -t solo --no-start -q --id 3e846642-1111-4111-8111-111111111111
    [ "$(field "$output" .tmuxSession)" = mas-3e846642-1111 ]
    SESSION_NAME=shop fails 4 new -t solo --mode legacy --no-start
    [[ $stderr == "mas: cannot create a legacy session: another session is called 'shop'"* ]]
}

@test "what is one session's name and another's name in tmux selects neither" {
    new_session -t solo -n shop --agent shell
    tm rename-session -t "=$(field shop .tmuxSession)" tea
    new_session -t solo -n tea --no-start
    for verb in show stop 'rm -f'; do
        # shellcheck disable=SC2086 # words
        fails 4 $verb tea
        [[ ${stderr_lines[0]} == *"cannot find session 'tea': 2 sessions match" ]]
    done
    [ "$("$MAS" list -q | wc -l)" -eq 2 ]
}

# fails_as CODE WORDS VERB...: the verb fails with this code, and says these words, which name no id.
fails_as() {
    local code=$1 words=$2
    shift 2
    mas "$@"
    [ "$status" -eq "$code" ] && [[ $stderr == *"$words"* ]] && [[ $stderr != *"$ID"* ]] && return
    printf 'mas %s: exit %s: %s\n' "$*" "$status" "$stderr"
    return 1
}

@test "errors, warnings and hints call a session by its name, scripts get its id" {
    new_session -t pair -n shop --agent shell
    new_session -t solo -n other --no-start
    local other=$ID
    ID=$("$MAS" show shop --json | jq -r .sessionId)
    running=$'cannot remove session \'shop\': it is running\nstop it first, or remove it with: mas rm -f shop'
    fails_as 4 "$running" rm "$ID"
    fails_as 4 "cannot archive session 'shop': it is running"$'\n'"stop it first with: mas stop shop" archive "$ID"
    MAS_SESSION_ID=$ID MAS_AGENT_ID=lead mas send "$other" solo hi
    [ "$stderr" = "mas: cannot send to session 'other': an agent may write only to its own team
this is agent 'lead' of session 'shop'" ]
    exec 9>"$ROOT/sessions/$ID/.session.lock" && flock 9
    fails_as 4 "cannot lock session 'shop': " start "$ID"
    exec 9>&-
    run --separate-stderr /usr/bin/env PATH="$T" "$MAS" stop "$ID"
    [ "$status" -eq 0 ]
    [[ $stderr == "mas: warning: the agents of session 'shop' have ended"*"mas stop shop" ]]
    mas stop "$ID"
    for verb in 'send to' 'peek at' 'wait for' restart; do
        case $verb in
            send*) set -- send "$ID" lead hi ;;
            peek*) set -- peek "$ID" lead ;;
            wait*) set -- wait "$ID" ;;
            *) set -- restart "$ID" lead ;;
        esac
        fails_as 4 "cannot $verb session 'shop': it is not running"$'\n'"start it with: mas start shop" "$@"
    done
    # what a hint says works
    mas start shop
    [ "$output" = 'shop started' ]
    [ "$("$MAS" stop -q shop; "$MAS" list -q --all | sort)" = "$(printf '%s\n' "$ID" "$other" | sort)" ]
    # one whose name cannot be read is called by its id
    echo x >>"$ROOT/sessions/$ID/.session"
    fails 5 start "$ID"
    [[ $stderr == "mas: cannot start session '$ID': its .session is damaged"* ]]
}
