#!/usr/bin/env bats
# Every verb, as `mas help` and the usage lines list them, with sessions of another machine: a new verb is
# tried here without a word about it.
load ../helper
load ../ssh

setup_more() {
    make_machines n1
    # it says what it was asked; 42 is no exit code of mas
    acts_as n1 'echo "$*" >>"'"$T"'/calls"; case " $* " in *" complete "*) echo shopping ;; *) exit 42 ;; esac'
}
teardown_more() { close_connections; }

# verbs: the verbs, and the actions of those that have some, one a line.
verbs() {
    local verb action
    for verb in $("$MAS" complete ''); do
        echo "$verb"
        "$MAS" help "$verb" | sed -n '/^actions:/,/^$/s/^  \([a-z][a-z-]*\)  .*/\1/p' |
            while read -r action; do echo "$verb $action"; done
    done
}

# usage VERB: its operands, as its help has them.
# shellcheck disable=SC2086 # a verb and its action
usage() { "$MAS" help $1 | sed -n "1s/^usage: mas $1 \[OPTION\.\.\.\] *//p"; }

# operands USAGE SESSION: words that could stand there.
operands() {
    local word
    for word in $1; do
        case ${word//[].[]/} in
            SESSION) echo "$2" ;;
            HOST) echo n1 ;;
            KEY=VALUE) echo model=x ;;
            TARGET | AGENT | 'AGENT|REQUEST') echo 10 ;;
            OPTION | TEXT) echo once ;;
            *) echo "what is $word?" >&2 && return 1 ;;
        esac
    done
}

asked() { tail -n 1 "$T/calls"; }

@test "every verb that takes a SESSION takes NAME:SESSION, as an operand and with -s" {
    local all verb words options count=0
    mapfile -t all < <(verbs)
    for verb in "${all[@]}"; do
        words=$(usage "$verb")
        # shellcheck disable=SC2086 # words
        options=$("$MAS" help $verb)
        if [[ $words = *SESSION* ]]; then
            count=$((count + 1))
            : >"$T/calls"
            # shellcheck disable=SC2046,SC2086 # words
            mas $verb $(operands "$words" n1:shop)
            echo "$verb: $status $stderr $(asked)"
            [ "$status" -eq 42 ]
            [ "$(wc -l <"$T/calls")" -eq 1 ]
            [[ $(asked) = "--root $T/n1/root $verb "*[=\ ]shop* ]]
            [[ $(asked) != *n1:* ]]
        fi
        if [[ $options = *'--session SESSION '* ]]; then
            words=${words//'[SESSION]'/}
            # shellcheck disable=SC2046,SC2086 # words
            mas $verb -s n1:shop $([[ $words = *SESSION* ]] || operands "${words:-}" '')
            echo "$verb -s: $status $stderr $(asked)"
            [ "$status" -eq 42 ]
            [[ $(asked) = "--root $T/n1/root $verb --session=shop "* ]]
        fi
    done
    [ "$count" -gt 30 ]
}

@test "every verb runs there by --host, with its words as they are" {
    local all verb count=0
    mapfile -t all < <(verbs)
    for verb in "${all[@]}"; do
        count=$((count + 1))
        # shellcheck disable=SC2086 # a verb and its action
        mas --host n1 $verb --json -- 'a b' n1:c
        echo "$verb: $status $stderr $(asked)"
        [ "$status" -eq 42 ]
        [ "$(asked)" = "--root $T/n1/root $verb --json -- a b n1:c" ]
    done
    [ "$count" -gt 50 ]
}

@test "the sessions of a host are completed wherever a verb takes a SESSION" {
    local all verb words
    mapfile -t all < <(verbs)
    mas --host n1 version # completion waits a second, and for no connection
    for verb in "${all[@]}"; do
        words=$(usage "$verb")
        # shellcheck disable=SC2086 # a verb and its action
        if [[ $words = *SESSION* ]]; then
            echo "$verb"
            eventually prints n1:shopping "$MAS" complete -- $verb n1:sh
            [[ $words != *SESSION...* ]] || eventually prints n1:shopping "$MAS" complete -- $verb n1:a n1:sh
            [[ $words != *' '*AGENT* && $words != *' '*TARGET* ]] ||
                eventually prints shopping "$MAS" complete -- $verb n1:a s
        fi
        # shellcheck disable=SC2086 # a verb and its action
        if [[ $("$MAS" help $verb) = *'--session SESSION '* ]]; then
            echo "$verb -s"
            # shellcheck disable=SC2086 # a verb and its action
            eventually prints n1:shopping "$MAS" complete -- $verb -s n1:sh
        fi
    done
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
