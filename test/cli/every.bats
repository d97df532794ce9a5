#!/usr/bin/env bats
# mas every: entries, what `mas tick` makes of them, and the timer that runs it. calendar.bats has when.
# shellcheck disable=SC2016 # for other shells
load ../helper
load ../host/lib
load ../acp/lib

# A crontab, and a systemctl that has no systemd until $T/systemd is there; both note their calls.
setup_more() {
    export TZ=UTC XDG_CONFIG_HOME=$T/config XDG_STATE_HOME=$T/state
    mkdir "$T/bin"
    cat >"$T/bin/crontab" <<'P'
#!/bin/sh
T=${0%/bin/*}
echo "$*" >>"$T/crontab-calls"
if [ -e "$T/crontab-fails" ]; then echo "you may not" >&2; exit 1; fi
case $1 in
-l) [ -f "$T/tab" ] || { echo "no crontab for somebody" >&2; exit 1; }; cat "$T/tab" ;;
-) cat >"$T/tab" ;;
esac
P
    cat >"$T/bin/systemctl" <<'P'
#!/bin/sh
T=${0%/bin/*}
[ -d "$T/systemd" ] || exit 1
shift 2
echo "$*" >>"$T/systemctl-calls"
case $1 in
is-active) [ -e "$T/systemd/$2" ] ;;
enable) [ -f "$T/config/systemd/user/$3" ] && touch "$T/systemd/$3" ;;
disable) rm -f "$T/systemd/$3" ;;
esac
P
    chmod +x "$T/bin/crontab" "$T/bin/systemctl"
    export PATH=$T/bin:$PATH
}

# A session of one shell.
shell_team() {
    new_session -n fix -t solo "$@"
    DIR=$ROOT/sessions/$ID
}

# entry N FILTER: what the list says of an entry.
entry() { "$MAS" every --list --json | jq -r ".entries[] | select(.number == $1) | $2"; }

# shift_back N MS: entry N was due earlier by that.
shift_back() {
    jq -c "(.entries[] | select(.number == $1)).nextMs -= $2" "$DIR/every.json" >"$T/shifted"
    cp "$T/shifted" "$DIR/every.json"
}
due() { shift_back "$1" "$(($(entry "$1" .nextMs) - $(date +%s%3N) + ${2-1000}))"; }

tick() { ok tick; [ -z "$output$stderr" ]; }

shell_shows() { "$MAS" peek fix solo | grep -qx "$1"; }

@test "an entry has a number of its own, which none gets again" {
    shell_team
    ok every 'Mon..Fri 08:00' fix solo echo one
    [[ $output == "entry 1: next "*" 08:00 UTC" ]]
    ok every -q 2h fix solo echo two
    [ "$output" = 2 ]
    ok every --at 'tomorrow 07:00' fix solo 'echo  three'
    [[ $output == "entry 3: next $(LC_ALL=C date -ud tomorrow '+%a %F') 07:00 UTC" ]]
    [ "$(entry 3 .text)" = 'echo  three' ]
    [ "$(entry 1 '[.kind, .when, .agent, .start, .paused, .runs] | join(" ")')" = "calendar Mon..Fri 08:00 UTC solo false false 0" ]
    ok every
    [[ ${lines[1]} == "1 "*"Mon..Fri 08:00 UTC"*"fix/solo"*"echo one" ]]
    [ "${lines[4]}" = "the crontab runs them" ]
    ok every --off 3
    ok every --off 1
    fails 3 every --off 1
    [ "$stderr" = $'mas: there is no entry 1\nlist them with: mas every --list' ]
    printf 'prompt\n' >"$T/prompt"
    ok every -q daily fix solo --file "$T/prompt"
    [ "$output" = 4 ]
    rm "$ROOT/sessions/.every"
    ok every --json daily fix solo x
    [ "$output" = "$("$MAS" every --json | jq -c '.entries[] | select(.number == 5)')" ]
    TZ=:Europe/Berlin ok every -q daily fix solo x
    [ "$(entry 6 .when)" = 'daily Europe/Berlin' ]
    "$MAS" doctor
}

@test "what is no time, agent or text is refused, and nothing is left" {
    shell_team
    for when in foo 30s 8:60 '*-2-30' 2020-1-1 '' '08:00 Nowhere/City'; do
        fails 2 every "$when" fix solo x
    done
    fails 2 every --at 'today 00:00' fix solo x
    [[ $stderr == "mas: cannot add an entry: 'today 00:00' is not a time to come"* ]]
    fails 2 every --at 2h --after fix/solo fix solo x
    fails 2 every --after solo fix solo x
    fails 2 every --after fix/solo fix solo x
    fails 3 every --after fix/nobody fix solo x
    fails 3 every 2h nothing solo x
    fails 3 every 2h fix nobody x
    [ "$stderr" = $'mas: cannot find agent \'nobody\': the team has no such agent\nthe team has: solo' ]
    fails 2 every 2h fix solo
    fails 2 every 2h fix
    fails 2 every 2h
    fails 2 every --start
    [[ $stderr == "mas: cannot add an entry: missing WHEN"$'\n'"usage: "* ]]
    fails 2 every 2h fix solo ' '
    fails 2 every 2h fix solo "$(head -c 16385 /dev/zero | tr '\0' x)"
    for text in 'a\033[2J' 'a\377' 'a\0b'; do # which no file of entries may have
        printf %b "$text" >"$T/bad"
        fails 2 every 2h fix solo --file "$T/bad"
    done
    fails 2 every --off x
    fails 2 every --list --off 2
    fails 2 every --list fix
    [ ! -e "$DIR/every.json" ]
    [ ! -e "$ROOT/sessions/.every" ]
    [ ! -e "$T/tab" ]
    ok every -q 2h fix solo "$(head -c 16384 /dev/zero | tr '\0' x)"
}

@test "a hundred and twenty-eight entries of a session are run, and no more are taken" {
    shell_team
    ok every -q daily fix solo 'echo x >>'"$T/said"
    jq -c '.entries = [range(1; 129) as $n | .entries[0] | .number = $n | .nextMs = 1000]' "$DIR/every.json" >"$T/many"
    cp "$T/many" "$DIR/every.json"
    echo 129 >"$ROOT/sessions/.every"
    fails 4 every daily fix solo x
    [[ $stderr == *"the session has 128 entries already"* ]]
    tick
    eventually eval '[ "$(wc -l <"$T/said")" -ge 1 ]'
    [ "$("$MAS" every --list --json | jq '[.entries[] | select(.runs > 0 or .skipped > 0)] | length')" -eq 128 ]
}

@test "tick gives what is due, once; what was missed comes once, late" {
    shell_team
    ok every 2h fix solo 'echo said-$((40 + 2))'
    tick
    [ "$(entry 1 .runs)" = 0 ]
    due 1
    tick
    eventually shell_shows said-42
    [ "$(entry 1 '[.runs, .lateSeconds, .why] | join(" ")')" = "1  " ]
    session_log "every number=1 agent=solo given"
    "$MAS" wait fix solo --for idle
    due 1 $((7 * 3600 * 1000))
    tick
    tick
    [ "$(entry 1 .runs)" = 2 ]
    [ "$(entry 1 .lateSeconds)" -ge $((7 * 3600)) ]
    session_log "every number=1 agent=solo given 25200 s late"
    next=$(entry 1 .nextMs)
    [ "$next" -gt "$(date +%s%3N)" ]
    [ $(((next / 1000 - $(entry 1 .madeMs) / 1000) % 7200)) -eq 0 ]
    ok every --list
    [[ $output == *", 420 min late"* ]]
}

@test "a clock that was ahead when an entry ran, and was set back, does not keep it waiting" {
    shell_team
    ok every 2h fix solo 'echo a'
    ok every daily fix solo 'echo b'
    ok every --at 'tomorrow 07:00' fix solo 'echo c'
    ahead=$((10 * 365 * 86400 * 1000))
    jq -c ".entries[] |= (.madeMs += $ahead - 90000 | .nextMs += $ahead)" "$DIR/every.json" >"$T/shifted"
    cp "$T/shifted" "$DIR/every.json"
    tick
    [ "$(entry 1 ".nextMs / 1000 - $(date +%s) <= 7201")" = true ]
    [ "$(entry 2 ".nextMs / 1000 - $(date +%s) <= 90001")" = true ]
    [ "$(entry 3 ".nextMs / 1000 - $(date +%s) > 86400 * 365")" = true ]
    before=$(stat -c %i "$DIR/every.json")
    tick
    [ "$(stat -c %i "$DIR/every.json")" = "$before" ]
    due 1
    tick
    [ "$(entry 1 .runs)" = 1 ]
}

# at TIME COMMAND...: runs mas by a clock that stands at TIME.
at() {
    python3 -ES -c 'import struct, sys, time
open(sys.argv[1], "wb").write(struct.pack("q", int(sys.argv[2]) - int(time.time())))' "$T/clock" "$(date -d "$1" +%s)"
    printf '#!/bin/sh\nTEST_CLOCK=%s LD_PRELOAD=%s exec %s "$@"\n' "$T/clock" "${MAS%/*}/test/fleet/clock.so" "$MAS" >"$T/clocked"
    chmod +x "$T/clocked"
    MAS=$T/clocked "${@:2}"
}
# Two agents that show nothing of what they get, so that no run of one entry each finds them at work.
quiet_team() {
    printf '#!/bin/sh\nstty -echo\necho ready\nexec cat >>%s\n' "$T/said" >"$T/quiet"
    chmod +x "$T/quiet"
    preset quiet "$T/quiet" 'idle = 100ms'
    new_session -n fix -t pair --agent quiet
    DIR=$ROOT/sessions/$ID
    for agent in lead reviewer; do eventually eval '"$MAS" peek fix $agent | grep -qx ready'; done
}
ticks() {
    local time
    for time; do
        at "$time" tick
        "$MAS" wait -s fix --for idle all
    done
}
# ran N: how often; a run that found the agent at work counts.
ran() { entry "$1" '.runs + .skipped'; }

@test "what came while the machine slept, or its clock was put forward, comes once, late" {
    quiet_team
    at '2026-02-01 12:00' ok every 2h fix lead span
    at '2026-02-01 12:00' ok every 08:00 fix reviewer day
    at '2026-02-01 12:00' ok every --at 'tomorrow 07:00' fix lead once
    ticks '2026-02-01 12:01'
    [ "$(ran 1) $(ran 2) $(ran 3)" = '0 0 0' ]
    ticks '2026-02-11 13:00' '2026-02-11 13:01' '2026-02-11 13:30'
    [ "$(ran 1) $(ran 2) $(ran 3)" = '1 1 ' ]
    late() { entry "$1" '(.lateSeconds + 1800) / 3600 | floor'; }
    [ "$(late 1) $(late 2)" = "$((10 * 24 - 1)) $((9 * 24 + 5))" ]
    ticks '2026-02-11 14:10' '2026-02-12 08:10'
    [ "$(ran 1) $(ran 2)" = '3 2' ]
}

@test "a clock that is set right repeats no run, and one that was wrong keeps none waiting" {
    quiet_team
    at '2026-02-01 06:00' ok every 2h fix lead span
    at '2026-02-01 06:00' ok every 08:00 fix reviewer day
    ticks '2026-02-01 '{08:10,07:40,08:05,08:20,09:30}
    [ "$(ran 1) $(ran 2)" = '1 1' ]
    ticks '2026-02-01 10:10' '2026-02-02 08:10'
    [ "$(ran 1) $(ran 2)" = '3 2' ]
    # a day ahead, and a run that was being given then
    ticks '2026-02-01 '{09:00,09:30,10:10}
    [ "$(ran 1) $(ran 2)" = '4 2' ]
    ticks '2026-02-02 08:10'
    [ "$(ran 1) $(ran 2)" = '5 3' ]
    jq -c ".entries[0].givenMs = $(date -d 2027-01-01 +%s)000" "$DIR/every.json" >"$T/given"
    cp "$T/given" "$DIR/every.json"
    ticks '2026-02-02 08:20'
    [ "$(ran 1) $(entry 1 .why)" = "6 mas was killed while it gave the text, which may have arrived" ]
}

@test "both changes of time of a year leave out no run and repeat none" {
    quiet_team
    at '2026-03-28 12:00' ok every '02:30 Europe/Berlin' fix lead a
    at '2026-03-28 12:00' ok every '1..3:00 Europe/Berlin' fix reviewer b
    ticks "2026-03-28 12:30 UTC + "{{10..15},{34..38}}" hours"
    # no clock shows 02:00 and 02:30 on the 29th
    [ "$(ran 1) $(ran 2)" = '1 5' ]
    ticks "2026-10-24 12:30 UTC + "{{10..15},{34..38}}" hours"
    # it shows them twice on the 25th; all that came in between is one run
    [ "$(ran 1) $(ran 2)" = '4 12' ]
}

@test "an entry of one time goes when it was given" {
    shell_team
    ok every --at +2h fix solo 'echo said-$((40 + 2))'
    due 1
    tick
    eventually shell_shows said-42
    [ ! -e "$DIR/every.json" ]
    [ -s "$T/tab" ]
    tick
    [ ! -s "$T/tab" ]
}

@test "a run that finds the prompt of the one before at work is skipped and counted" {
    acp_agent
    ok every 2h "$ID" solo HANG
    ok every --run 1
    eventually state_is solo working
    due 1
    tick
    tick
    [ "$(entry 1 '[.runs, .skipped, .why] | join(" ")')" = "1 1 skipped: the run before still goes on" ]
    fails 4 every --run 1
    [ "$stderr" = "mas: cannot run entry 1: the run before still goes on" ]
    "$MAS" cancel "$ID" solo
    eventually state_is solo idle
    due 1
    tick
    eventually state_is solo working
    [ "$(entry 1 '[.runs, .skipped, .why] | join(" ")')" = "2 2 " ]
    [ "$(prompts HANG)" -eq 2 ]
    [ "$("$MAS" history "$ID" solo --role user --json | jq -c '[.messages[].tags[] | select(startswith("every:1-"))] | length')" -eq 2 ]
}

@test "a run that a killed tick has given, but not recorded, is not given twice" {
    acp_agent
    ok every 2h "$ID" solo CW-RUN
    given=$(($(date +%s%3N) - 5000))
    jq -c ".entries[0].givenMs = $given" "$DIR/every.json" >"$T/given"
    for times in 1 2; do # killed before, and behind
        cp "$T/given" "$DIR/every.json"
        tick
        [ "$(entry 1 .runs)" = 1 ]
        eventually eval '[ "$(prompts CW-RUN)" -ge 1 ]'
        eventually state_is solo idle
    done
    [ "$(prompts CW-RUN)" -eq 1 ]
    ok rm -qf "$ID"
    shell_team
    ok every 2h fix solo 'echo said >>'"$T/said"
    jq -c ".entries[0].givenMs = $given" "$DIR/every.json" >"$T/given"
    cp "$T/given" "$DIR/every.json"
    tick
    [[ $(entry 2 .why) == "mas was killed while it gave the text, which may have arrived" ]]
    [ ! -e "$T/said" ]
}

@test "no agent takes the place of a run with a prompt that has its tag" {
    acp_team pair
    ok every 2h "$ID" lead CW-RUN
    due 1
    ok ask --from reviewer --tag "every:1-$(entry 1 .nextMs)" "$ID" lead CW-PLANTED
    tick
    eventually eval '[ "$(prompts CW-RUN)" -eq 1 ]'
    [ "$(entry 1 .runs)" = 1 ]
}

@test "a sleeping agent is woken" {
    acp_agent
    tell CW-ONE
    eventually state_is solo idle
    ok sleep "$ID" solo
    ok every 2h "$ID" solo CW-TWO
    due 1
    tick
    eventually eval '[ "$(prompts CW-TWO)" -eq 1 ]'
}

@test "an entry of a session that does not run waits for it, and runs once" {
    shell_team
    ok every 2h fix solo 'echo said >>'"$T/said"
    ok stop -q fix
    due 1 $((5 * 3600 * 1000))
    tick
    before=$(stat -c %i "$DIR/every.json")
    tick
    [ "$(stat -c %i "$DIR/every.json")" = "$before" ]
    [ "$(entry 1 '[.runs, .why] | join(" ")')" = "0 the session does not run" ]
    ok start -q fix
    "$MAS" wait fix solo --for idle
    tick
    tick
    eventually [ -s "$T/said" ]
    [ "$(cat "$T/said")" = said ]
    [ "$(entry 1 '[.runs, .why] | join(" ")')" = "1 " ]
}

@test "--start starts the session, with the environment that the person had" {
    shell_team --no-start
    KEY_OF_PERSON=open ok every --start 2h fix solo 'echo "key $KEY_OF_PERSON" >>'"$T/said"
    [ "$(stat -c %a "$DIR/every.env")" = 600 ]
    [[ $("$MAS" every --list --json) != *KEY_OF_PERSON=open* ]]
    due 1
    ( unset KEY_OF_PERSON; PATH=/usr/bin:/bin "$MAS" tick )
    eventually [ -s "$T/said" ]
    [ "$(cat "$T/said")" = "key open" ]
    ok every --off 1
    [ ! -e "$DIR/every.env" ]
}

@test "a start that lacks a login says which" {
    preset needy 'sh' 'needs_env = KEY_OF_PERSON'
    KEY_OF_PERSON=open new_session -n fix -t solo --agent needy
    DIR=$ROOT/sessions/$ID
    ok stop -q fix
    ok every --start 2h fix solo x
    due 1
    tick
    [[ $(entry 1 .why) == *KEY_OF_PERSON* ]]
    [ "$(entry 1 .runs)" = 0 ]
    rm "$DIR/every.env"
    tick
    [[ $(entry 1 .why) == "it has no environment here"* ]]
}

@test "--after runs once for each end of a turn" {
    acp_team pair
    ok every --after "$ID/lead" "$ID" reviewer CW-NEXT
    [ "$output" = "entry 1: after each turn of $ID/lead" ]
    ok set "$ID" name=team
    ok every
    [[ ${lines[1]} == "1  after team/lead  team/reviewer  "* ]]
    tick
    "$MAS" ask --no-wait "$ID" lead 'HANG' >/dev/null
    eventually state_is lead working
    tick
    [ "$(entry 1 .runs)" = 0 ]
    "$MAS" cancel "$ID" lead
    eventually state_is lead idle
    tick
    tick
    [ "$(entry 1 .runs)" = 1 ]
    eventually eval '[ "$(prompts CW-NEXT)" -eq 1 ]'
    eventually state_is reviewer idle
    "$MAS" ask "$ID" lead CW-ONE >/dev/null
    tick
    tick
    [ "$(entry 1 .runs)" = 2 ]
    acp=$ID
    shell_team
    fails 4 every --after fix/solo "$acp" lead x
    [ "$stderr" = "mas: cannot add an entry: agent 'solo' does not tell when its turns end" ]
    ok rm -qf "$acp"
    ok every
    [ -z "$output" ]
}

@test "a run after a turn that does not arrive is still due" {
    acp_team pair
    acp=$ID
    shell_team
    printf ': %05000d' 0 >"$T/long"
    ok every --after "$acp/lead" fix solo --file "$T/long"
    "$MAS" ask "$acp" lead CW-ONE >/dev/null
    tick
    [[ $(entry 1 '[.runs, .why] | join(" ")') == "0 "*"has a line of more than 4095 bytes"* ]]
    ok send fix solo 'stty -icanon; echo "can $((1 + 1))"'
    eventually shell_shows 'can 2'
    tick
    tick
    [ "$(entry 1 '[.runs, .why] | join(" ")')" = "1 " ]
}

@test "a text that is refused again and again counts as no run" {
    shell_team
    printf ': %05000d' 0 >"$T/long"
    ok every 2h fix solo --file "$T/long"
    due 1
    for _ in 1 2 3; do
        tick
        [[ $(entry 1 '[.runs, .why] | join(" ")') == "0 "*"has a line of more than 4095 bytes"* ]]
    done
}

@test "entries go with their agent and their session" {
    new_session -n fix -t pair --no-start
    DIR=$ROOT/sessions/$ID
    ok every 2h fix reviewer x
    ok every 2h fix lead y
    ok remove fix reviewer
    [ "$("$MAS" every --list --json | jq -c '[.entries[].number]')" = '[2]' ]
    ok rm -q fix
    ok every
    [ -z "$output" ]
    tick
    [ ! -s "$T/tab" ]
}

@test "entries in an archive are paused until a person runs them, and have new numbers" {
    shell_team --no-start
    KEY_OF_PERSON=open ok every --start 2h fix solo 'echo said >>'"$T/said"
    ok archive -q --rm fix -o "$T/a.tar.zst"
    tar --zstd -tf "$T/a.tar.zst" >"$T/names"
    grep -q every.json "$T/names"
    run -1 grep -q every.env "$T/names"
    ok restore -q "$T/a.tar.zst"
    [ "$(entry 2 .paused)" = true ]
    due 2
    tick
    [ "$(entry 2 '[.runs, .why] | join(" ")')" = "0 " ]
    ok start -q fix
    "$MAS" wait fix solo --for idle
    : >"$T/tab" # as on another machine
    ok every --run 2
    [ "$("$MAS" every --list --json | jq -r .timer)" = crontab ]
    eventually [ -s "$T/said" ]
    [ "$(entry 2 '[.runs, .paused] | join(" ")')" = "1 false" ]
}

@test "a damaged file of entries is run by nobody, and the others go on" {
    shell_team
    new_session -n other -t solo
    ok every 2h other solo 'echo said >>'"$T/said"
    ok every 2h fix solo x
    good=$(cat "$DIR/every.json")
    while IFS= read -r bad; do
        jq -c "$bad" <<<"$good" >"$DIR/every.json"
        fails 5 every --list
        [[ $stderr == *"session 'fix': cannot read 'every.json'"* ]] || { echo "$bad: $stderr"; return 1; }
        fails 5 every 2h fix solo x
        [[ $stderr == *$'\n'"mend it, or remove it: its entries are lost then" ]]
    done <<'E'
.entries = 1
del(.entries)
[]
.entries[0].number = 0
.entries[0].number = "2"
.entries[0].kind = "often"
.entries[0].when = ""
.entries[0].when = "a\nb"
.entries[0].agent = "../x"
.entries[0].agent = "a b"
.entries[0].text = "\u001b[2J"
.entries[0].text = ""
.entries[0].text = ("x" * 16385)
.entries[0].start = "perhaps"
.entries[0].nextMs = -1
.entries[0].runs = 1e300
del(.entries[0].text)
.entries = [range(129) as $n | .entries[0]]
E
    echo '{' >"$DIR/every.json"
    fails 5 every --list
    [[ $output == *"other/solo"* ]]
    fails 1 doctor
    [[ $output == *"cannot read 'every.json'"* ]]
    DIR=$ROOT/sessions/$("$MAS" show other --json | jq -r .sessionId)
    jq -c '.entries[0].nextMs = 1000' "$DIR/every.json" >"$T/early"
    cp "$T/early" "$DIR/every.json"
    tick
    eventually [ -s "$T/said" ]
}

@test "the crontab keeps its other lines, and a root with % is quoted" {
    mv "$ROOT" "$T/100% \$HOME"
    export MAS_ROOT="$T/100% \$HOME"
    printf '5 4 * * * echo mine # mas-tick-000000000000\n' >"$T/tab"
    shell_team
    ok every 2h fix solo 'echo said >>'"$T/said"
    [ "$(wc -l <"$T/tab")" -eq 2 ]
    ok every 3h fix solo x
    [ "$(wc -l <"$T/tab")" -eq 2 ]
    DIR=$MAS_ROOT/sessions/$ID
    due 1
    # as cron does: the five fields go, \% is %
    line=$(sed -n '2s/^\* \* \* \* \* //; 2s/\\%/%/gp' "$T/tab")
    (unset MAS_ROOT; sh -c "$line")
    eventually [ -s "$T/said" ]
    ok every --off 1
    ok every --off 2
    [ "$(cat "$T/tab")" = '5 4 * * * echo mine # mas-tick-000000000000' ]
}

@test "a crontab that cannot be read is left alone, and the entry is not added" {
    shell_team
    touch "$T/crontab-fails"
    fails 1 every 2h fix solo x
    [[ $stderr == "mas: cannot make a timer: the user has no systemd, and crontab does not work"* ]]
    run -1 grep -qx -- - "$T/crontab-calls"
    [ ! -e "$DIR/every.json" ]
}

@test "a root that no timer can name is refused" {
    mv "$ROOT" "$T/it's"
    export MAS_ROOT="$T/it's"
    shell_team
    fails 1 every 2h fix solo x
    [[ $stderr == "mas: cannot make a timer: the path of the root has a quote"* ]]
    [ ! -e "$T/tab" ]
}

@test "where systemd serves the user, it has a timer, which goes with the last entry" {
    mv "$ROOT" "$T/100% \$HOME"
    export MAS_ROOT="$T/100% \$HOME"
    mkdir "$T/systemd"
    shell_team
    ok every 2h fix solo x
    [[ $stderr == *"the timer stops when you log out (so that it goes on: loginctl enable-linger)"* ]]
    [ ! -e "$T/tab" ]
    unit=$(basename "$XDG_CONFIG_HOME"/systemd/user/mas-tick-*.timer .timer)
    grep -qx "enable --now $unit.timer" "$T/systemctl-calls"
    service=$XDG_CONFIG_HOME/systemd/user/$unit.service
    grep -qxF "ConditionPathExists=$T/100%% \$HOME/mas.ini" "$service"
    grep -qxF "ExecStart=\"${MAS//%/%%}\" --root \"$T/100%% \$\$HOME\" tick" "$service"
    if command -v systemd-analyze >/dev/null; then
        systemd-analyze verify "$service" "${service%.service}.timer" 2>&1 | grep -F "$unit" && return 1
    fi
    # in the place of the program itself, systemd knows no $$
    mkdir "$T/\$HOME"
    cp "$MAS" "$T/\$HOME/mas"
    MAS=$T/\$HOME/mas ok every -q 2h fix solo y
    grep -qxF "ExecStart=\"$T/\$HOME/mas\" --root \"$T/100%% \$\$HOME\" tick" "$service"
    ok every --off 2
    ok every
    [[ ${lines[-1]} == "a timer of systemd runs them; it stops when you log out"* ]]
    [ "$("$MAS" every --list --json | jq -r .timer)" = systemd ]
    ok doctor
    [[ $output == *"prompts at set times stop when you log out"* ]]
    ok every --off 1
    [ -z "$(ls "$XDG_CONFIG_HOME/systemd/user")" ]
    grep -qx "disable --now $unit.timer" "$T/systemctl-calls"
    [ "$(tail -n 1 "$T/systemctl-calls")" = daemon-reload ] # else it would still know what is gone
}

@test "doctor finds a timer that is missing or does not fire, and makes the former" {
    shell_team
    ok every 2h fix solo x
    mv "$ROOT" "$T/moved"
    export MAS_ROOT=$T/moved
    ok every
    [ "${lines[-1]}" = "no timer runs them: mas doctor --fix" ]
    (unset MAS_ROOT; sh -c "$(sed 's/^\* \* \* \* \* //' "$T/tab")" || true)
    fails 1 doctor
    [[ $output == *"no timer runs the prompts at set times"* ]]
    ok doctor --fix
    [ "$(grep -c "$T/moved'" "$T/tab")" -eq 1 ]
    tick
    ok doctor
    touch -d '10 minutes ago' "$MAS_ROOT/sessions/.every.lock"
    ok doctor # the entry is younger
    DIR=$MAS_ROOT/sessions/$ID
    jq -c '.entries[0].madeMs -= 3600000' "$DIR/every.json" >"$T/older"
    cp "$T/older" "$DIR/every.json"
    fails 1 doctor
    [[ $output == *"the timer of prompts at set times (crontab) has not fired for 1"* ]]
    rm "$MAS_ROOT/sessions/.every.lock" # it never has
    fails 1 doctor
    [[ $output == *"the timer of prompts at set times (crontab) has not fired for 6"* ]]
}

@test "a tick that finds no sessions because their disk is gone leaves the timer" {
    shell_team
    ok every 2h fix solo x
    ok stop -q fix
    mv "$ROOT/sessions" "$T/away"
    mkdir -m 700 "$ROOT/sessions"
    fails 1 tick
    [ -s "$T/tab" ]
}

# shellcheck disable=SC2016 # for the other shell
@test "only a person has entries" {
    shell_team
    cp "$(command -v bash)" "$T/mas-supervisor"
    for words in 'every 2h fix solo x' 'every --list' tick; do
        run --separate-stderr env MAS_ROOT="$ROOT" "$T/mas-supervisor" -c '"$0" $1; exit $?' "$MAS" "$words"
        [ "$status" -eq 1 ]
        [[ $stderr == *"only a person may ${words%% *}"* ]] || { echo "$stderr"; return 1; }
    done
    [ ! -e "$DIR/every.json" ]
}

@test "the session and the agent are completed behind WHEN, or behind an option that says it" {
    shell_team
    for when in 2h '--at +2h' '--at=+2h' '--after fix/solo' '--start 2h'; do
        # shellcheck disable=SC2086 # words
        [ "$("$MAS" complete -- every $when f)" = fix ]
        # shellcheck disable=SC2086
        [ "$("$MAS" complete -- every $when fix '')" = solo ]
    done
}
