#!/usr/bin/env bats
# Every verb, as its usage line is, with sessions of another machine: a new verb is
# tried here without a word about it.
load ../helper
load ../ssh

setup_more() {
    make_machines n1
    "${MAS%/*}/test/tools/verbs" >"$T/table"
    # it says what it was asked; 42 is no exit code of mas
    acts_as n1 'echo "$*" >>"'"$T"'/calls"; case " $* " in *" complete "*) echo shopping ;; *) exit 42 ;; esac'
}
teardown_more() { close_connections; }

# The verbs, and the actions of those that have some, with their operands behind a tab.
verbs() { awk -F '\t' -v OFS='\t' '$1 != "option" { print $2, $3 == "-" ? "" : $3 }' "$T/table"; }
takes_session() { grep -qF $'option\t'"$1"$'\ts\tsession\tSESSION' "$T/table"; }

# operands USAGE SESSION: words that could stand there.
operands() {
    local word
    for word in $1; do
        case ${word//[].[]/} in
            SESSION) echo "$2" ;;
            HOST) echo n1 ;;
            WHEN) echo 2h ;;
            KEY=VALUE) echo model=x ;;
            TARGET | AGENT | 'AGENT|REQUEST') echo 10 ;;
            OPTION | TEXT) echo once ;;
            *) echo "what is $word?" >&2 && return 1 ;;
        esac
    done
}

asked() { tail -n 1 "$T/calls"; }

@test "every verb that takes a SESSION takes NAME:SESSION, as an operand and with -s" {
    local verb words word count=0
    while IFS=$'\t' read -r verb words <&3; do
        if [[ $words = *SESSION* && $words != *HOST:SESSION* ]]; then
            count=$((count + 1))
            : >"$T/calls"
            # shellcheck disable=SC2046,SC2086 # words
            mas $verb $(operands "$words" n1:shop)
            echo "$verb: $status $stderr $(asked)"
            [ "$status" -eq 42 ]
            [ "$(wc -l <"$T/calls")" -eq 1 ]
            [[ $(asked) = "--root $T/n1/root $verb "*[=\ ]shop* ]]
            [[ $(asked) != *n1:* ]]
            for word in $(operands "$words" shop); do
                [[ "$(asked) " = *[=\ ]"$word "* ]] || return 1
            done
        fi
        if takes_session "$verb"; then
            words=${words//'[SESSION]'/}
            # shellcheck disable=SC2046,SC2086 # words
            mas $verb -s n1:shop $([[ $words = *SESSION* ]] || operands "${words:-}" '')
            echo "$verb -s: $status $stderr $(asked)"
            [ "$status" -eq 42 ]
            [[ $(asked) = "--root $T/n1/root $verb --session=shop "* ]]
        fi
    done 3< <(verbs)
    [ "$count" -gt 30 ]
}

@test "every verb runs there by --host, with its words as they are" {
    local verb count=0
    while IFS=$'\t' read -r verb _ <&3; do
        count=$((count + 1))
        # shellcheck disable=SC2086 # a verb and its action
        mas --host n1 $verb --json -- 'a b' n1:c
        echo "$verb: $status $stderr $(asked)"
        [ "$status" -eq 42 ]
        [ "$(asked)" = "--root $T/n1/root $verb --json -- a b n1:c" ]
    done 3< <(verbs)
    [ "$count" -gt 50 ]
}

# test/unit/test_cmd.c checks that each verb whose usage line has a SESSION, an AGENT or a TARGET has it completed.
@test "the sessions of a host are completed wherever a verb takes a SESSION" {
    mas --host n1 version # completion waits a second, and for no connection
    for verb in show stop send restart; do
        eventually prints n1:shopping "$MAS" complete -- $verb n1:sh
    done
    eventually prints n1:shopping "$MAS" complete -- stop n1:a n1:sh
    eventually prints shopping "$MAS" complete -- send n1:a s
    eventually prints shopping "$MAS" complete -- ask n1:a s
    eventually prints n1:shopping "$MAS" complete -- logs -s n1:sh
}

@test "a verb about all sessions says how to have it on another machine" {
    local verb
    for verb in next list clean doctor keys status du usage top; do
        mas "$verb" n1:
        echo "$verb: $stderr"
        [ "$status" -eq 2 ]
        [[ $stderr = *"mas --host n1 $verb"* ]]
    done
    [ ! -e "$T/calls" ]
}
