# The options, settings and files of walls; what agents see of them is in test/host/wall.bats.
load ../helper
load ../host/lib
load code

level() { field "$1" '[.agents[].wall.level] | unique | join(" ")'; }
kept() { jq -r .wall "$ROOT/sessions/$1/config.json"; }
hosts_up() { eventually eval "[ \"\$(level $1)\" != null ] && [ -n \"\$(level $1)\" ]"; }

@test "walls are off for shells, and as --wall, template, preset and mas.ini say" {
    new_session -t solo
    hosts_up "$ID"
    [ "$(level "$ID")" = off ]
    [ "$(kept "$ID")" = default ]
    printf '[wall]\nlevel = try\n' >>"$ROOT/mas.ini"
    new_session -t solo
    hosts_up "$ID"
    [ "$(level "$ID")" = try ]
    preset own cat 'wall.level = off'
    new_session -t solo --agent own
    hosts_up "$ID"
    [ "$(level "$ID")" = off ]
    new_session -t solo --agent own --wall
    hosts_up "$ID"
    [ "$(level "$ID")" = try ]
    [ "$(kept "$ID")" = try ]
    new_session -t solo --agent own --wall=off
    hosts_up "$ID"
    [ "$(level "$ID")" = off ]
    fails 2 new --wall=maybe
    [[ $stderr = *"cannot use --wall=maybe: it is not off, try, require or default"* ]]
}

@test "a preset that says what it needs of the home is behind a wall by default" {
    preset home cat 'wall.home = .x'
    new_session -t solo --agent home
    hosts_up "$ID"
    [ "$(level "$ID")" = try ]
}

@test "a session whose agents have no walls gets them from mas start --wall" {
    preset home cat 'wall.home = .x'
    new_session -t solo --agent home --wall=off
    hosts_up "$ID"
    [ "$(level "$ID")" = off ]
    run -4 --separate-stderr "$MAS" start --wall "$ID"
    [[ $stderr = *"cannot use --wall: session '${ID:0:8}"*'is running'*"stop it first"* ]] || { echo "$stderr"; false; }
    "$MAS" stop -q "$ID"
    "$MAS" start -q --wall=default "$ID"
    hosts_up "$ID"
    [ "$(level "$ID")" = try ]
    [ "$(kept "$ID")" = default ]
}

@test "an agent behind a wall commits in its work tree, and merge and land bring it home" {
    bwrap --unshare-pid --ro-bind / / --proc /proc --dev /dev true 2>/dev/null || skip 'bubblewrap does not work here'
    make_project
    script work <<'S'
cd "$MAS_CODE_DIR" || exit 1
git config user.name A; git config user.email a@example.org
echo new >made && git add made && git commit -qm 'Make' && git gc -q && git status --short && git log --oneline -1
git fetch team && echo >>"$MAS_PROJECT/a" || echo "not there"
mas merge && echo merged
exec cat
S
    preset made "sh $T/work" 'wall.level = require' 'wall.home = .gitconfig:ro'
    new_session -t solo --agent made --project "$P"
    find_agent
    eventually shows merged
    shows 'not there'
    run -0 "$MAS" land "$ID"
    [ "$(git -C "$P" show main:made)" = new ]
    git -C "$P" diff --quiet HEAD -- a
}

@test "the setup of a work tree runs behind the wall of its agent" {
    bwrap --unshare-pid --ro-bind / / --proc /proc --dev /dev true 2>/dev/null || skip 'bubblewrap does not work here'
    make_project
    mkdir "$T/shared"
    printf '[code]\nsetup = sh -c "ls %s >made; echo $$ >>made"\n' "$ROOT" >>"$ROOT/mas.ini"
    preset made cat 'wall.level = require'
    new_session -t solo --agent made --project "$P"
    eventually grep -qx sessions "$ROOT/sessions/$ID/code/solo/made"
    run -0 cat "$ROOT/sessions/$ID/code/solo/made"
    [ "${lines[0]}" = sessions ]
    [ "${#lines[@]}" -eq 2 ]
}

@test "what an agent keeps in its home is archived and restored with the session" {
    bwrap --unshare-pid --ro-bind / / --proc /proc --dev /dev true 2>/dev/null || skip 'bubblewrap does not work here'
    mkdir -p "$HOME"
    script keep <<'S'
echo mine >~/.o/f && exec cat
S
    preset made "sh $T/keep" 'wall.level = require' 'wall.home = .o:own'
    new_session -t solo --agent made
    eventually grep -qx mine "$ROOT/sessions/$ID/home/solo/.o/f"
    "$MAS" stop -q "$ID"
    run -0 --separate-stderr "$MAS" archive --rm "$ID"
    [ -z "$stderr" ] || { echo "$stderr"; false; }
    "$MAS" restore -q "$ROOT"/archive/*
    [ "$(cat "$ROOT/sessions/$ID/home/solo/.o/f")" = mine ]
    [ "$(stat -c %a "$ROOT/sessions/$ID/home")" = 700 ]
}

@test "show and doctor say who has no wall because nothing asks for one, and how to put them up" {
    preset own cat
    preset said cat 'wall.level = off'
    new_session -t solo --agent own
    hosts_up "$ID"
    run -0 "$MAS" show "$ID"
    [[ $output = *'walls '*"off; put them up with: mas start --wall $ID"* ]] || { echo "$output"; false; }
    run -0 "$MAS" doctor
    [[ $output = *note*"its agents have no walls, because nothing asks for them; stop it, then: mas start --wall $ID"* ]] ||
        { echo "$output"; false; }
    "$MAS" stop -q "$ID"
    "$MAS" start -q --wall=off "$ID"
    hosts_up "$ID"
    run -0 "$MAS" show "$ID"
    [[ $output != *'start --wall'* ]]
    prints 'everything is in order' "$MAS" doctor
    "$MAS" rm -qf "$ID"
    new_session -t solo --agent said
    new_session -t solo # a shell is a person's
    prints 'everything is in order' "$MAS" doctor
    hosts_up "$ID"
    run -0 "$MAS" show "$ID"
    [[ $output = *'walls '*"off; put them up with: mas start --wall $ID"* ]]
}

@test "show says of a stopped session what the next start would put up, who says so, and what is missing here" {
    bwrap --unshare-pid --ro-bind / / --proc /proc --dev /dev true 2>/dev/null || skip 'bubblewrap does not work here'
    preset plain cat
    preset home cat 'wall.home = .x'
    preset said cat 'wall.level = off'
    # next WORD...: sets $walls to what show says of a stopped session that was made so
    next() {
        new_session -t solo --no-start "$@"
        run -0 --separate-stderr "$MAS" show "$ID"
        [ -z "$stderr" ]
        walls=$(sed -n 's/^walls *//p' <<<"$output")
    }
    # shellcheck disable=SC2053 # patterns are meant
    is() { [[ $walls == $1 ]] || { printf '%s\n%s\n' "$walls" "$1" >&2; return 1; }; }
    local walls parts='files: bubblewrap, processes: bubblewrap, system calls: seccomp, signals: '
    next --agent plain
    is "at the next start: off (nothing asks for walls); put them up with: mas start --wall $ID"
    next --agent said
    is "at the next start: off (wall.level of preset 'said')"
    next --agent home --wall=off
    is 'at the next start: off (--wall, which the session keeps)'
    next --agent home
    jq -e '.agents[0].nextWall == {level: "try", from: "preset '"'home'"' has a wall.home"}' <<<"$("$MAS" show --json "$ID")"
    is "at the next start: try (preset 'home' has a wall.home); $parts"*', network: open'
    next --agent said --wall=require
    is "at the next start: require (--wall, which the session keeps); $parts"*
    printf '[wall]\nlevel = require\nnetwork = none\n' >>"$ROOT/mas.ini"
    local line
    line=$(grep -n '^level = require' "$ROOT/mas.ini" | cut -d: -f1)
    next --agent plain
    is "at the next start: require (wall.level, $ROOT/mas.ini:$line); $parts"*', network: namespace'
    mkdir "$T/bin"
    find /usr/bin /bin /usr/sbin -maxdepth 1 ! -name bwrap -exec ln -sf -t "$T/bin" {} + 2>/dev/null
    PATH=$T/bin run -0 "$MAS" show "$ID"
    [[ $output = *"; it would not start: cannot put up the wall of agent 'solo': "*"there is no program 'bwrap'"* ]]
    run -0 "$MAS" show "$ID"
    [[ $output != *'would not start'* ]]
    "$MAS" start -q "$ID"
    hosts_up "$ID"
    run -0 "$MAS" show "$ID"
    [[ $output = *'walls '*"$parts"* && $output != *'next start'* ]] || { echo "$output"; false; }
    jq -e '.agents[0] | has("nextWall") | not' <<<"$("$MAS" show --json "$ID")"
    "$MAS" stop -q "$ID"
    sed -i '/^\[preset plain\]/,$d' "$ROOT/mas.ini"
    run -0 "$MAS" show "$ID"
    [[ $output = *'at the next start: unknown, because there is no such preset'* ]] || { echo "$output"; false; }
    jq -e '.agents[0] | has("nextWall") and .nextWall == null' <<<"$("$MAS" show --json "$ID")"
}
