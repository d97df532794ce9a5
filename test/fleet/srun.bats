#!/usr/bin/env bats
# Verbs for a session that is a job of Slurm: over srun, what goes there and what comes back.
# shellcheck disable=SC2016,SC1003 # for the shells there

load ../helper
load lib

setup_file() {
    bed_up
    if [ -z "$BED" ]; then return; fi
    fleet_config
    fleet_slurm 'submit = -w n1'
    as front mas new -q --host gpu -n shop -t solo --agent scripted
    eventually front --host gpu wait shop --for idle
}

# tool SCRIPT: instead of mas, the host runs this script there, after the first seal. mas_again: mas.
tool() {
    as n1 sh -c 'printf "#!/bin/bash\n%s\n%s\n" "$1" "$2" >tool; chmod +x tool' sh "$SEAL" "$1"
    as front sed -i 's|^mas = .*|mas = /home/ann/tool|' .config/mas/mas.ini
}
# In front of the verb are --seal=, --root and the root. The script may seal its output by itself, or end as mas does
# there: then the first seal of that mas ends the output, and its second one is SURPLUS bytes behind it.
READ='exec /usr/local/bin/mas "${@:1:3}" wait shop --for idle'
SURPLUS=38
SEAL='printf "\36%s\n" "${1#*=}"'
mas_again() { as front sed -i 's|^mas = .*|mas = /usr/local/bin/mas|' .config/mas/mas.ini; }
teardown_more() {
    if [ -z "$BED" ]; then return; fi
    mas_again
    window_close
}

@test "forty hostile arguments arrive over srun as they are" {
    local words long
    long=$(head -c 60000 /dev/zero | tr '\0' x)
    words=(shop solo ' ' '  a  b ' $'a\nb' $'\n' $'\t' "'" "''" "'''" '"' '""' '\' '\\' "\\'" "'\\" "a'b\"c\\d" '$(touch x)'
        '`touch x`' '$HOME' '${HOME}' '*' '?' '[a-z]*' '~' '~root' '!' '!!' '; touch x' '& touch x' '| cat' '> x'
        '< x' '#x' '-' '--' '-x' '--host' 'Grüße, 世界 🦊' $'\x01\x7f\x1b[31m' $'\xff\xfe' '%s%n' '{a,b}' '' "$long")
    tool 'printf "%s\0" "$@" "as $MAS_REACHED_AS"; '"$READ"
    front --host gpu send "${words[@]}" >"$T/got"
    printf '%s\0' "${words[@]}" 'as gpu' >"$T/want"
    head -c -"$SURPLUS" "$T/got" | tail -c "$(stat -c %s "$T/want")" | cmp "$T/want" -
    run ! as n1 test -e x
}

@test "64 MB of standard input arrive over srun, and as much comes back" {
    tool "cat; $READ"
    head -c 67108864 /dev/urandom >"$T/data"
    front --host gpu send shop solo - <"$T/data" >"$T/back"
    head -c -"$SURPLUS" "$T/back" | cmp "$T/data" -
}

@test "output, errors and each exit code come back over srun as they are" {
    local code
    tool 'echo "out ${@: -1}"; echo "err ${@: -1}" >&2; '"$SEAL"'; exit "${@: -1}"'
    for code in {0..12}; do
        front_mas --host gpu wait shop solo "$code"
        [ "$status" -eq "$code" ]
        [ "$output" = "out $code" ]
        [ "$stderr" = "err $code" ]
    done
}

@test "an output whose end is lost on the way is exit code 12, and not a whole one" {
    tool 'printf "begun\n and cut"'
    front_mas --host gpu wait shop solo
    [ "$status" -eq 12 ]
    [ "$output" = $'begun\n and cut' ]
    [[ $stderr == "mas: cannot reach host 'gpu': the end of its output is missing"* ]]
    tool 'echo begun; printf "\36%s\n" "${1#*=}" | head -c 30'
    front_mas --host gpu wait shop solo
    [ "$status" -eq 12 ]
    # what ends otherwise says so itself
    tool 'echo begun; kill -KILL $$'
    front_mas --host gpu wait shop solo
    [ "$status" -eq 137 ]
}

@test "the end of an output without a last line break arrives over srun, each time" {
    local try
    tool "printf %060000d 0; $READ"
    for try in {1..30}; do
        : | front --host gpu wait shop >"$T/got"
        [ "$(stat -c %s "$T/got")" -eq $((60000 + SURPLUS)) ] || { echo "try $try" && false; }
    done
}

@test "a reader of an output that goes away ends the command" {
    tool 'yes'
    [ "$(front --host gpu logs shop | head -n 1)" = y ]
    eventually eval '! on n1 pgrep -x yes'
    tool 'seq 100000; '"$READ"
    run ! as front sh -c 'mas --host gpu logs shop >/dev/full'
}

@test "an answer streams over srun as it comes; Ctrl-C cancels it there and leaves no process" {
    in_window 'mas --host gpu ask shop solo "SAY:\"begun\\n\" HANG"'
    eventually window_shows begun
    [ "$(front --host gpu status shop --json | jq -r '.sessions[0].agents[0].state')" = working ]
    keys C-c
    eventually eval '! verbs n1 | grep -q " ask "'
    eventually prints idle eval "as front mas --host gpu status shop --json | jq -r '.sessions[0].agents[0].state'"
}

@test "a client that is killed ends its verb on the node" {
    in_window 'mas --host gpu ask shop solo "SAY:\"begun\\n\" HANG"'
    eventually window_shows begun
    on front pkill -KILL -u ann -x mas
    eventually eval '! verbs n1 | grep -q " ask "'
    eventually prints idle eval "as front mas --host gpu status shop --json | jq -r '.sessions[0].agents[0].state'"
}

@test "attach over srun: typing and detaching" {
    in_window 'mas --host gpu attach shop'
    eventually window_shows 'solo'
    keys 'SAY:"typed there"' Enter
    eventually window_shows 'typed there'
    keys C-b d
    eventually window_shows '^ended 0'
}

@test "attach over srun: another size is that of the terminal there" {
    front new -q --host gpu -n sized -t solo --agent shell
    eventually front --host gpu wait sized --for idle
    in_window 'mas --host gpu attach sized'
    eventually window_shows 'solo'
    as front tmux -L window resize-window -x 70 -y 20
    size_is() {
        keys 'clear; stty size' Enter
        eventually window_shows '^[0-9]+ [0-9]+$'
        window_shows "^[0-9]+ $1\$"
    }
    eventually size_is 70
    keys C-b d
    eventually window_shows '^ended 0'
}
