#!/usr/bin/env bats
# Behind a wall an ACP agent and the programs that it asks its host for share one private /tmp and one
# home.
load ../helper
load ../host/lib
load lib

need_bwrap() {
    command -v bwrap >/dev/null || skip 'bubblewrap is not installed'
    bwrap --ro-bind / / --unshare-pid --proc /proc --dev /dev true 2>/dev/null || skip 'bubblewrap does not work here'
}

need_tmp() {
    need_bwrap
    # what else is there below /tmp keeps each program's /tmp its own
    [[ $T$PROJECT$MAS != */tmp/* ]] || skip 'the root, mas or its tests are below /tmp'
}

# run_walled: the agent of run_acp behind a wall.
run_walled() {
    mkdir -p "$T/store"
    touch "$T/trace" "$T/agent" "$T/options"
    run_acp "" 'wall.level = require' "wall.read = $PROJECT/test/acp, $T/agent, $T/options${READS:+, $READS}" \
        "wall.write = $T/store, $T/trace" "$@"
}
tmp() { echo "$DIR/home/solo/.tmp"; }

@test "a file in /tmp is there for the agent's programs and the other way round, and for nobody else" {
    need_tmp
    local mark=CW-$RANDOM$RANDOM
    run_walled
    mas ask "$ID" solo "OWN:\"echo $mark >/tmp/a\" RUN:\"cat /tmp/a\" RUN:\"sh -c 'echo $mark-2 >/tmp/b'\" OWN:\"cat /tmp/b\""
    echo "$output"
    [[ $output == *"run=0:'$mark\n'"* ]]
    [[ $output == *"own='$mark-2\n'"* ]]
    [ ! -e /tmp/a ] || [ "$(cat /tmp/a)" != "$mark" ]
    [ "$(stat -c %a "$DIR/home")" = 700 ]
    [ "$(<"$(tmp)/b")" = "$mark-2" ]

    # the next start finds it empty, and nothing is left after the stop
    "$MAS" restart -q "$ID" solo
    mas ask "$ID" solo 'OWN:"find /tmp -type f" RUN:"find /tmp -type f"'
    [[ $output == *"own=''"*"run=0:''"* ]]
    "$MAS" stop -q "$ID"
    [ ! -e "$(tmp)" ]
}

@test "links in /tmp lead the next program's wall nowhere" {
    need_tmp
    run_walled
    mas ask "$ID" solo "OWN:\"ln -s $HOME /tmp/out; ln -s /oldroot$HOME /tmp/up; rmdir /tmp; mv /tmp /tmp2; echo done\" RUN:\"sh -c 'touch /tmp/out/x /tmp/up/x; ls -A /tmp'\""
    echo "$output"
    [[ $output == *"own='done\n'"* ]]
    [[ $output == *"out\nup\n"* ]]
    [ ! -e "$HOME/x" ]
    [ -d "$(tmp)" ]
}

@test "with a place below it, the /tmp of each program is its own: nobody can put a link in its way" {
    need_tmp
    local place=/tmp/mas-place-$RANDOM$RANDOM
    mkdir "$place"
    READS=$place run_walled
    mas ask "$ID" solo "OWN:\"touch /tmp/a; ls -d /tmp/a $place\" RUN:\"find /tmp -name a -o -name ${place#/tmp/}\""
    rmdir "$place"
    echo "$output"
    [[ $output == *"own='/tmp/a\n$place\n'"* ]]
    [[ $output == *"run=0:'$place\n'"* ]]
    [ ! -e "$(tmp)" ]
}

@test "a file in the home is there for the agent's programs and the other way round, and for nobody else" {
    local mark=CW-$RANDOM$RANDOM
    need_bwrap
    mkdir -p "$HOME/.conf/deep" "$HOME/bin"
    echo settings | tee "$HOME/.conf/deep/kept" "$HOME/.conf/copied" >"$HOME/copied"
    echo tool >"$HOME/bin/tool"
    READS=$HOME/bin/tool run_walled 'wall.home = .conf/deep/kept:ro .conf/copied:copy copied:copy .own/it:own'
    mas ask "$ID" solo "OWN:\"cd ~; echo $mark >a; echo $mark-c >copied; mkdir -p .cache/x; echo y >.cache/x/y; echo $mark-d >.conf/new; echo o >.own/it/o; ls -A\" RUN:\"sh -c 'cd ~; cat a copied .conf/copied .cache/x/y .conf/new .conf/deep/kept .own/it/o bin/tool; echo $mark-2 >b; rm a; mv copied moved'\" OWN:\"cd ~; ls; cat b moved\""
    echo "$output"
    [[ $output == *"run=0:'$mark\n$mark-c\nsettings\ny\n$mark-d\nsettings\no\ntool\n'"* ]]
    [[ $output == *"own='b\nbin\n"*"moved\n"*"$mark-2\n$mark-c\n'"* ]]
    [ "$(cat "$HOME/copied" "$HOME/.conf/copied")" = $'settings\nsettings' ]
    [ ! -e "$HOME/a" ]
    [ ! -e "$HOME/b" ]
    [ ! -e "$HOME/.conf/new" ]

    # an archive has what is kept, and not what is gone with the agent
    "$MAS" archive --live -q -o "$T/a.tar.zst" "$ID"
    [[ $(zstd -dc "$T/a.tar.zst" | tar -t) == */home/solo/.own/it/o$'\n'* ]]
    run ! grep -E '/home/solo/[.](home|tmp)' <(zstd -dc "$T/a.tar.zst" | tar -t)

    # the next start finds it empty, and nothing is left after the stop
    "$MAS" restart -q "$ID" solo
    mas ask "$ID" solo 'OWN:"cd ~; ls; cat copied .own/it/o"'
    echo "$output"
    [[ $output == *"own='bin\ncopied\n"*"settings\no\n'"* ]]
    "$MAS" stop -q "$ID"
    [ ! -e "$DIR/home/solo/.home" ]
    [ "$(cat "$DIR/home/solo/.own/it/o")" = o ]
}

@test "no link in the home leads the next program's wall anywhere" {
    need_bwrap
    mkdir -p "$HOME/.conf/deep" "$HOME/bin" "$HOME/victim"
    echo settings | tee "$HOME/.conf/deep/kept" "$HOME/.conf/copied" >"$HOME/copied"
    printf '#!/bin/sh\nls -A ~ && touch ~/here\n' >"$HOME/bin/late"
    chmod +x "$HOME/bin/late"
    PATH=$HOME/bin:$PATH run_walled 'wall.home = .conf/deep/kept:ro .conf/copied:copy copied:copy .own/it:own'
    # what the walls of its programs are mounted on cannot be moved, from none of them
    mas ask "$ID" solo "OWN:\"cd ~; mv .conf .c; rm -rf .conf .own; mv .own .o; mv .conf/deep .conf/d; ls -A\" RUN:\"sh -c 'cd ~; mv .conf .c; mv .own .o; mv .conf/deep .conf/d; rm -r .own/it; ls -A . .conf .own'\""
    echo "$output"
    [[ $output == *".conf\n"*".own\n"* ]]
    [[ $output == *".conf:\n"*"deep\n"*".own:\nit\n"* ]]
    [[ $output != *"\n.c\n"* ]]
    [[ $output != *"\n.o\n"* ]]
    # what is not, leads no wall: a copy that is a link is not written again, a program in `bin` has its own home
    mas ask "$ID" solo "OWN:\"cd ~; rm -f copied .conf/copied; ln -s /oldroot$HOME/victim/a copied; ln -s $HOME/victim/a .conf/copied; ln -s /oldroot$HOME/victim bin; echo done\" RUN:\"cat .\" RUN:\"late\" OWN:\"ls -A ~\""
    echo "$output"
    [[ $output == *"own='done\n'"*"run=0:'.conf\n"*"bin\n"* ]]
    [[ $output != *here* ]]
    [ -z "$(ls -A "$HOME/victim")" ]
    [ "$(cat "$HOME/copied" "$HOME/.conf/copied")" = $'settings\nsettings' ]
}

# There a mount keeps nothing in its place: in a namespace of its own a program could have it elsewhere.
@test "behind a wall that may be nested each program has a home of its own" {
    need_bwrap
    mkdir -p "$HOME/.conf/deep"
    run_walled 'wall.nested = yes' 'wall.home = .conf/deep'
    mas ask "$ID" solo "OWN:\"echo CW-MINE >~/a; ls -A ~\" RUN:\"sh -c 'ls -A ~'\""
    echo "$output"
    [[ $output == *"own='.conf\n"*"\na\n'"* ]]
    [[ ${output#*run=0:} == "'.conf"* ]]
    [[ ${output#*run=0:} != *"\na\n'"* ]]
    [ ! -e "$DIR/home/solo/.home" ]
}
