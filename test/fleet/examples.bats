#!/usr/bin/env bats
# The examples of mas-fleet(7) and of docs/fleet.md, as they stand there, on front.
# shellcheck disable=SC2016 # for the shells there

load ../helper
load lib

# block NUMBER: a display of the section.
block() {
    awk -v number="$1" '/^\.Sh /{ on = $2 == "EXAMPLES" } !on { next } /^\.Ed/ { shown = 0 }
        shown && count == number; /^\.Bd/ { shown = 1; count++ }' "$BATS_TEST_DIRNAME/../../man/mas-fleet.7"
}

setup_file() {
    bed_up
    if [ -z "$BED" ]; then return; fi
    local machine
    for machine in front n1; do
        block 1 | as "$machine" sh -c 'mkdir -p .config/mas && cat >.config/mas/mas.ini'
    done
}

teardown_more() {
    [ -n "$BED" ] || return 0
    window_close
    keeper has-power n2 || power_on n2
}

# commands NUMBER COUNT: runs the commands of a display, of which there are so many. An attached terminal detaches.
commands() {
    local line
    block "$1" >"$T/block"
    [ "$(grep -c '^mas ' "$T/block")" -eq "$2" ]
    [ "$(wc -l <"$T/block")" -eq "$2" ]
    while read -r line <&5; do
        if [[ $line == 'mas attach '* ]]; then
            in_window "$line"
            eventually window_shows '"?solo'
            keys C-b d
            eventually window_shows '^ended 0'
            window_close
        else
            as front sh -c "$line" >"$T/said" || { echo "$line: $?" && false; }
        fi
    done 5<"$T/block"
}

# status_at MACHINE SESSION: what `show` says.
status_at() { as "$1" mas show "$2" --json | jq -r .status; }

@test "a team on one machine and then on another" {
    commands 2 6
    [ "$(status_at n2 shop)" = active ]
    eventually eval 'as n2 mas logs shop solo | grep -q "make test"'
    run ! as n1 mas show shop
}

@test "a team on the cluster, and the same one in the foreground elsewhere" {
    local id
    commands 3 3
    id=$(front list --json | jq -r '.jobs[] | select(.name == "train").sessionId')
    [ -n "$id" ]
    eventually front --host gpu wait train --for idle
    commands 4 2
    eventually prints '' queue
    [ "$(block 6 | grep -c '^mas ')" -eq 1 ]
    block 5 >"$T/run"
    grep -qx 'mas run --store [^ ]* --id 550e8400-e29b-41d4-a716-446655440000' "$T/run"
    as front sh -c 'exec '"$(sed "s/550e8400[^ ]*/$id/" "$T/run")" >"$T/said" 2>&1 3>&- &
    eventually eval '[ "$(status_at front train)" = active ]'
    front stop -q train
    wait "$!"
}

@test "the whole way there and home again of docs/fleet.md" {
    local line
    awk '/^## There and home/ { on = 1 } on && /^```$/ { exit } shown; on && /^```sh$/ { shown = 1 }' \
        "$BATS_TEST_DIRNAME/../../docs/fleet.md" >"$T/way"
    [ "$(wc -l <"$T/way")" -eq 10 ]
    as front sh -c 'git config --global user.name Ann && git config --global user.email ann@example.org &&
        git init -q -b main src/shop && cd src/shop && echo a >a && git add a && git commit -qm Begin'
    as front sh -c 'test -e .local/share/mas/mas.ini || mas init -q'
    # the agent is a shell, which does what a person asks of the other one
    sed -i -e 's/ann@n1.example.org/n1/' -e 's/--agent claude/--agent shell/' \
        -e "s/'mend the login'/'echo mended >login; git add login; git commit -qm Mend'/" \
        -e '/^cd /d' "$T/way"
    while read -r line <&5; do
        as front sh -c "cd src/shop && $line" >"$T/said" 2>&1 || { cat "$T/said" && echo "$line" && false; }
    done 5<"$T/way"
    [ "$(as front cat src/shop/login)" = mended ]
    run ! as n1 mas show fix
}

@test "a session whose move was interrupted, on the machine that had it" {
    as n2 mas rm -qf shop || :
    front new -q --name shop --template solo
    # only n2 knows whether the session is there
    acts_as n2 'case $* in *"receive release"*) mas "$@"; kill -9 $$ ;; esac; exec mas "$@"'
    front_mas move shop n2
    echo "$output $stderr"
    [ "$status" -ne 0 ]
    power_off n2
    disconnect
    run ! front start -q shop
    commands 6 1
    [ "$(status_at front shop)" = active ]
    front rm -q -f shop
}
