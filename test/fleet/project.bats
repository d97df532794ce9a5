#!/usr/bin/env bats
# A repository of front goes to n1, and the work of its team comes home. What is not of the network is tested in
# test/cli/carried.bats.
# shellcheck disable=SC2016 # for the shells there

load ../helper
load lib

setup_file() {
    bed_up
    if [ -z "$BED" ]; then return; fi
    fleet_config
    as front sh -c 'git config --global user.name Ann && git config --global user.email ann@example.org &&
        git init -q -b main shop && cd shop && echo a >a && git add a && git commit -qm Begin'
}

# in_shop ARG...: mas on front, in the checkout.
in_shop() { run --separate-stderr as front sh -c 'cd shop && exec mas "$@"' sh "$@"; }

# work NAME: the team on n1 commits the file NAME, and merges.
work() {
    as n1 sh -c 'cd "$(mas show --json fix | jq -r .workingDir)/code/solo" && echo "$1" >"$1" && git add "$1" &&
        git commit -qm "Write $1" && mas merge -q fix solo' sh "$1"
}

is_whole() { [ -z "$(as front git -C shop status --porcelain)" ]; }

@test "a repository goes to n1, without an identity of git there, and its work lands in the checkout" {
    in_shop --host n1 new -q --no-start -t solo -n fix --project .
    [ "$status" -eq 0 ]
    work b
    run ! as n1 mas rm -q fix
    in_shop diff n1:fix main
    [[ $output == *'+b'* ]]
    in_shop land n1:fix
    [ "$status" -eq 0 ]
    [ "$(as front cat shop/b)" = b ]
    is_whole
    as n1 mas rm -q fix
}

# cut_at STEP VERB...: the link goes while mas on n1 is at this step, which never ends.
cut_at() {
    local step=$1
    shift
    as n1 rm -f reached
    acts_as n1 'case $* in *'"$step"'*) : >/home/ann/reached; exec sleep 1000 ;; esac; exec mas "$@"'
    in_shop "$@" &
    eventually as n1 test -e reached
    link_down n1
    wait "$!" || :
    link_up n1
    acts_normally
    disconnect
    eventually front --host n1 version
}

@test "the link is cut at each step: run again, it goes on, and nothing is half here" {
    need_full
    local step
    for step in make receive; do
        cut_at "carried*$step" --host n1 new -q --no-start -t solo -n fix --project .
        [ -z "$(as n1 mas list -q)" ]
        is_whole
    done
    in_shop --host n1 new -q --no-start -t solo -n fix --project .
    [ "$status" -eq 0 ]
    for step in show send receive landed; do
        work "$step"
        cut_at "carried*$step" land n1:fix
        is_whole
        in_shop land n1:fix
        [ "$status" -eq 0 ]
        [ "$(as front cat "shop/$step")" = "$step" ]
        is_whole
    done
    as n1 mas rm -q fix
}
