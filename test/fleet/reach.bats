#!/usr/bin/env bats
# Verbs on another machine, over ssh: what goes there and what comes back.
# shellcheck disable=SC2016,SC1003 # for the shells there

load ../helper
load lib

setup_file() {
    bed_up
    if [ -n "$BED" ]; then fleet_config; fi
}

teardown_more() { if [ -n "$BED" ]; then window_close; fi; }

@test "forty hostile arguments arrive over ssh as they are" {
    local words long
    long=$(head -c 60000 /dev/zero | tr '\0' x)
    words=('' ' ' '  a  b ' $'a\nb' $'\n' $'\t' "'" "''" "'''" '"' '""' '\' '\\' "\\'" "'\\" "a'b\"c\\d" '$(touch x)'
        '`touch x`' '$HOME' '${HOME}' '*' '?' '[a-z]*' '~' '~root' '!' '!!' '; touch x' '& touch x' '| cat' '> x'
        '< x' '#x' '-' '--' '-x' '--host' 'Grüße, 世界 🦊' $'\x01\x7f\x1b[31m' $'\xff\xfe' '%s%n' '{a,b}' "$long")
    [ "${#words[@]}" -ge 40 ]
    acts_as n1 'printf "%s\0" "as $MAS_REACHED_AS" "$@"'
    front --host n1 send "${words[@]}" >"$T/got"
    acts_normally
    printf '%s\0' 'as n1' send "${words[@]}" >"$T/want"
    cmp "$T/want" "$T/got"
    run ! as n1 test -e x
}

@test "64 MB of standard input arrive over ssh, and as much comes back" {
    acts_as n1 'tee >(sha256sum >&2)'
    head -c 67108864 /dev/urandom >"$T/data"
    front --host n1 send <"$T/data" >"$T/back" 2>"$T/sum"
    acts_normally
    cmp "$T/data" "$T/back"
    [ "$(cut -d' ' -f1 "$T/sum")" = "$(sha256sum <"$T/data" | cut -d' ' -f1)" ]
}

@test "output, errors and each exit code come back over ssh as they are" {
    local code
    acts_as n1 'echo "out $2"; echo "err $2" >&2; exit "$2"'
    for code in {0..12} 130; do
        front_mas --host n1 wait "$code"
        [ "$status" -eq "$code" ]
        [ "$output" = "out $code" ]
        [ "$stderr" = "err $code" ]
    done
    acts_normally
}

@test "verbs on another machine do there what they do here" {
    local id
    front --host n1 new -q -t solo --agent scripted --name shop >"$T/id"
    id=$(cat "$T/id")
    [ "$(as n1 mas list -q)" = "$id" ]
    front --host n1 list --json | jq -e '.sessions[0].name == "shop"'
    front_mas --host n1 ask shop solo 'SAY:hello'
    [ "$status" -eq 0 ]
    [[ $output == *hello* ]]
    front_mas --host n1 ask bench solo 'SAY:hello'
    [ "$status" -eq 3 ]
    front_mas --host n1 ask shop solo 'STOP:refusal'
    [ "$status" -eq 10 ]
    front --host n1 rm -f -q shop
    [ -z "$(as n1 mas list -q)" ]
}

@test "an answer streams as it comes" {
    local asker code
    as n1 mas new -q -t solo --agent scripted --name streams
    front --host n1 ask streams solo 'SAY:"first part" HANG' >"$T/answer" &
    asker=$!
    eventually grep -q 'first part' "$T/answer"
    [ "$(state n1 streams solo)" = working ]
    as n1 mas cancel streams solo
    code=0
    wait "$asker" || code=$?
    [ "$code" -eq 11 ]
    as n1 mas rm -f -q streams
}

# size_is COLUMNS: the terminal in the window, as the agent there sees it.
size_is() {
    keys 'clear; stty size' Enter
    eventually window_shows '^[0-9]+ [0-9]+$'
    window_shows "^[0-9]+ $1\$"
}

@test "attach over ssh, in a window of tmux: typing, another size, and detaching" {
    as n1 mas new -q -t solo --agent shell --name seen
    in_window 'mas --host n1 attach seen'
    eventually window_shows 'solo'
    keys 'echo six times seven: $((6 * 7))' Enter
    eventually window_shows 'six times seven: 42'
    as front tmux -L window resize-window -x 70 -y 20
    eventually size_is 70
    keys C-b d
    eventually window_shows '^ended 0'
    eventually prints '' verbs n1
    as n1 mas rm -f -q seen
}

@test "sixteen commands at once to an sshd as it is by default: none fails" {
    local n pids=()
    disconnect
    for n in {1..16}; do
        front --host n2 version >"$T/out.$n" 2>"$T/err.$n" &
        pids+=($!)
    done
    for n in {1..16}; do
        wait "${pids[n - 1]}" || { cat "$T/err.$n"; false; }
        [ -s "$T/out.$n" ]
    done
}

@test "a connection that is lost in the middle is exit code 12" {
    need_full
    front --host n3 version
    link_down n3
    front_mas --host n3 version
    link_up n3
    [ "$status" -eq 12 ]
    [[ $stderr == *"cannot reach host 'n3': the connection was lost"* ]]
}

@test "a machine without power, without a link, with another key or without mas is exit code 12, with the reason" {
    link_down n3
    front_mas --host n3 version
    [ "$status" -eq 12 ]
    [[ $stderr == "mas: cannot reach host 'n3': "* ]]
    link_up n3
    eventually front --host n3 version
    disconnect
    power_off n3
    front_mas --host n3 version
    [ "$status" -eq 12 ]
    power_on n3
    eventually front --host n3 version
    acts_as n3 'exit 127'
    as n3 rm tool
    front_mas --host n3 version
    [ "$status" -eq 12 ]
    [[ $stderr == *"'/home/ann/tool' does not run there"* ]]
    acts_normally
    wrong_key n3
    disconnect
    front_mas --host n3 version
    [ "$status" -eq 12 ]
    [[ $stderr == *'Permission denied'* ]]
}
