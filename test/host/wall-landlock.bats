# Walls where bubblewrap does not work: Landlock alone holds the files.
load ../helper
load lib
load ../acp/lib

setup_more() {
    local abi p
    abi=$("${MAS%/*}/mas-wall" --probe | sed -n 's/^landlock=//p')
    [ "$abi" -ge 3 ] || skip "this kernel has Landlock ABI $abi"
    mkdir -p "$HOME/.tool/dir" "$T/shared" "$T/bin"
    echo login >"$HOME/.tool/login"
    echo settings >"$HOME/.tool.json"
    echo secret >"$HOME/secret"
    for p in tmux sh env cat ls mktemp rm sleep ps git touch; do ln -s "$(type -P "$p")" "$T/bin/$p"; done
}

# inside SCRIPT [KEY=VALUE...]: like that of wall.bats, without bubblewrap.
inside() {
    printf '%s\n' "$1" >"$T/inside"
    shift
    PATH=$T/bin:${MAS%/*} run_agent "sh $T/inside" 'wall.level = try' "wall.write = $T/shared" "$@"
    eventually state_is solo exited
}

out() { cat "$T/shared/out"; }

@test "Landlock alone: an agent has its unit and a home with what its preset names" {
    inside "exec >$T/shared/out 2>&1
        cat ~/.tool/login ~/.tool.json; echo new >made && cat made; ls -A ~
        echo more >>~/.tool/login && echo changed >~/.tool.json && echo \$HOME; echo temporary >\$TMPDIR/file && echo written" \
        'wall.home = .tool, .tool.json:copy, .own:own'
    run -0 out
    output=$(grep -v 'profile$' <<<"$output") # of login shells, unless mas is in /usr/bin
    [ "$output" = $'login\nsettings\nnew\n.own\n.tmp\n.tool\n.tool.json\n'"$DIR/home/solo"$'\nwritten' ] || { echo "$output"; false; }
    [ "$(cat "$HOME/.tool.json" "$HOME/.tool/login")" = $'settings\nlogin\nmore' ]
}

@test "Landlock alone: files of the user, of the root and of other sessions are not reached, and are without a wall" {
    "$MAS" new -q --no-start -t solo --name other
    local script="exec >$T/shared/out 2>&1
        for f in $HOME/secret $ROOT/mas.ini $ROOT/sessions/*/config.json $ROOT/sessions/*/.session $T/inside/../home/secret; do
            cat \$f >/dev/null 2>&1 && echo read \$f
            (: >>\$f) 2>/dev/null && echo wrote \$f
        done
        ls $ROOT $HOME >/dev/null 2>&1 && echo listed; touch \$WORKFLOWS_DIR/x 2>/dev/null && echo touched
        echo end"
    inside "$script"
    run -0 out
    [ "$output" = end ] || { echo "$output"; false; }
    WORKFLOWS_DIR=$DIR/workflows sh "$T/inside"
    [ "$(grep -cE '^(read|wrote|listed|touched)' "$T/shared/out")" -ge 8 ]
}

@test "Landlock alone: show says what holds, what does not, and what is missing" {
    inside 'exit 3'
    [ "$(field "$ID" '.agents[0].wall | [.level, .files, .systemCalls, .processes] | join(" ")')" = 'try Landlock seccomp ' ]
    [[ "$(field "$ID" '.agents[0].wall.missing')" = "there is no program 'bwrap'; Landlock alone holds no Unix sockets"* ]]
    [ "$(of solo .exitCode)" = 3 ]
}

@test "Landlock alone: show says that no host of a list is reached" {
    printf '[wall]\nnetwork = good.test\n' >>"$ROOT/mas.ini"
    inside 'exit 3'
    [[ "$(field "$ID" '.agents[0].wall.missing')" = *'; no host of wall.network is reached' ]]
    "$MAS" stop -q "$ID"
    PATH=$T/bin run -0 "$MAS" show "$ID"
    [[ $output = *'walls '*'network: seccomp; '*'; no host of wall.network is reached'* ]] || { echo "$output"; false; }
}

@test "Landlock alone: variables that name a part of the agent's home name its own" {
    TOOL_HOME=$HOME/.tool TOOL_LOGIN=$HOME/.tool/login OTHER=$HOME/.tools LIST=$HOME/.tool/bin:$HOME/.tool \
        inside "exec >$T/shared/out 2>&1
        echo \$TOOL_HOME \$TOOL_LOGIN \$OTHER \$LIST; cat \$TOOL_LOGIN; echo new >\$TOOL_HOME/new && echo written" \
        'wall.home = .tool'
    run -0 out
    [ "$output" = "$DIR/home/solo/.tool $DIR/home/solo/.tool/login $HOME/.tools $HOME/.tool/bin:$HOME/.tool"$'\nlogin\nwritten' ] ||
        { echo "$output"; false; }
}
