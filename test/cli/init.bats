#!/usr/bin/env bats
load ../helper

# The names of the templates that the project ships.
shipped() { (cd "$PROJECT/templates" && find . -mindepth 1 -printf '%P %y %l\n' | sort); }

@test "init makes mas.ini, templates and sessions and says where" {
    ok init "$T/new root"
    [ "$output" = "$T/new root: root created" ]
    [ -z "$stderr" ]
    [ -f "$T/new root/mas.ini" ]
    [ -d "$T/new root/templates/default" ]
    [ "$(stat -c %a "$T/new root/sessions")" = 755 ]
    [ -z "$(ls -A "$T/new root/sessions")" ]
}

@test "init copies the shipped templates whole, links kept" {
    [ "$(shipped | wc -l)" -gt 30 ]
    [ "$(cd "$ROOT/templates" && find . -mindepth 1 ! -name .shipped -printf '%P %y %l\n' | sort)" = "$(shipped)" ]
    diff -r --no-dereference -x .shipped "$PROJECT/templates" "$ROOT/templates"
}

@test "init makes the directories above" {
    ok init "$T/a/b/c"
    [ -f "$T/a/b/c/mas.ini" ]
}

@test "init without DIR makes MAS_ROOT, and --root goes before it" {
    MAS_ROOT=$T/one ok init
    [ -f "$T/one/mas.ini" ]
    MAS_ROOT=$T/two ok init --root "$T/three"
    [ -f "$T/three/mas.ini" ]
    [ ! -e "$T/two" ]
}

@test "init a second time changes nothing" {
    echo '; mine' >>"$ROOT/mas.ini"
    echo mine >"$ROOT/templates/solo/unit/solo/AGENTS.md"
    new_session -t solo --no-start
    before=$(snapshot)
    ok init
    [ "$output" = "$ROOT: is already a root, nothing to do" ]
    [ "$(snapshot)" = "$before" ]
}

@test "init brings back a shipped template that is missing, and leaves the user's own" {
    rm -rf "$ROOT/templates/solo"
    mkdir -p "$ROOT/templates/mine"
    echo x >"$ROOT/templates/mine/file"
    ok init
    [ "$output" = "$ROOT: is already a root
templates/solo: created" ]
    diff -r --no-dereference "$PROJECT/templates/solo" "$ROOT/templates/solo"
    [ "$(cat "$ROOT/templates/mine/file")" = x ]
}

@test "init puts nothing else into a directory that holds other files" {
    mkdir "$T/full"
    echo keep >"$T/full/file"
    ok init "$T/full"
    [ "$(cat "$T/full/file")" = keep ]
    [ "$(find "$T/full" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | xargs)" = "file mas.ini sessions templates" ]
}

@test "init -q prints nothing" {
    ok init -q "$T/quiet"
    [ -z "$output$stderr" ]
    [ -f "$T/quiet/mas.ini" ]
}

@test "init refuses an empty name and more than one directory" {
    fails 2 init ''
    [[ $stderr == "mas: cannot create a root: "*empty* ]]
    fails 2 init "$T/a" "$T/b"
    [[ $stderr == "mas: cannot run 'init': unexpected operand '$T/b'"* ]]
    [ ! -e "$T/a" ]
}

@test "init refuses a place that is a file" {
    echo x >"$T/file"
    fails 1 init "$T/file"
    [[ $stderr == "mas: cannot create root '$T/file': "* ]]
    fails 1 init "$T/file/below"
    [[ $stderr == "mas: cannot create directory '$T/file/below': "* ]]
    [ "$(cat "$T/file")" = x ]
}

@test "init refuses another user's directory and leaves it as it is" {
    [ "$(id -u)" -eq 0 ] || skip "only root can give a directory away"
    mkdir "$T/theirs"
    chown nobody "$T/theirs"
    fails 1 init "$T/theirs"
    [[ $stderr == "mas: cannot use root '$T/theirs': it belongs to user "* ]]
    [ -z "$(ls -A "$T/theirs")" ]
}

@test "init refuses a path with control characters" {
    fails 1 init "$T/a"$'\n'"b"
    [ "$stderr" = "mas: cannot create root '$T/a\\x0ab': its path contains control characters" ]
    [ ! -e "$T/a"$'\n'"b" ]
    fails 1 init "$T/"$'\033[31m'
    [[ $stderr != *$'\033'* ]]
}

@test "a root lets nobody else write to it, and lets others read no more than the umask does" {
    for mask in 000 022 027 077; do
        (umask "$mask" && "$MAS" init -q "$T/root$mask" && "$MAS" --root "$T/root$mask" template copy -q solo mine)
        run find "$T/root$mask" ! -type l -perm "/$(printf %o $((8#$mask | 8#022)))"
        [ "$status" -eq 0 ]
        [ -z "$output" ]
    done
    [ "$(stat -c %a "$T/root000/sessions" "$T/root027/sessions" "$T/root077/sessions" "$T/root077/mas.ini" "$T/root027/templates/mine" | xargs)" = '755 750 700 600 750' ]
    cd "$T/root077"
    ok doctor
    (umask 027 && "$MAS" new -q -t solo --no-start)
    ok doctor
    [ "$(stat -c %a "$T/root077/sessions")" = 700 ]
}

@test "the mas.ini that init writes is valid, and all of it is comment" {
    run grep -vE '^([;#]|\[|$)' "$ROOT/mas.ini"
    [ -z "$output" ]
    ok config --json
    [ "$(jq -r '[.settings[].origin] | unique | join(" ")' <<<"$output")" = "MAS_TMUX_SOCKET built in" ]
}

@test "the mas.ini that init writes has each section once" {
    run grep '^\[' "$ROOT/mas.ini"
    [ "${#lines[@]}" -ge 10 ]
    [ -z "$(printf '%s\n' "${lines[@]}" | sort | uniq -d)" ]
}

@test "each setting in the mas.ini that init writes may be taken out of its comment" {
    sed -i '/preset mine/,$!s/^;\([a-z]* = .*\)/\1/' "$ROOT/mas.ini"
    [ "$(grep -c '^[a-z]* =' "$ROOT/mas.ini")" -ge 8 ]
    ok config
    [[ $output == *"$ROOT/mas.ini:"* ]]
}

@test "a directory that init was killed in becomes a root by the next init" {
    rm "$ROOT/mas.ini"
    mkdir -p "$ROOT/templates/.new-solo/unit"
    echo half >"$ROOT/templates/.new-solo/unit/file"
    rm -rf "$ROOT/templates/solo"
    ok init
    [ ! -e "$ROOT/templates/.new-solo" ]
    diff -r --no-dereference -x .shipped "$PROJECT/templates" "$ROOT/templates"
    new_session -t solo --no-start
}

# A mas of another version: its shipped templates are in $NEW.
newer_mas() {
    mkdir -p "$T/newer/build"
    cp "$MAS" "$T/newer/build/mas"
    NEW=$T/newer/templates
    cp -a "$PROJECT/templates" "$NEW"
    NEWER=$T/newer/build/mas
}

@test "after an upgrade init brings up to date what the user has not changed, and shows what he has" {
    newer_mas
    echo '# newer' >>"$NEW/agents.ini"
    echo '# newer' >>"$NEW/solo/template.ini"
    echo 'newer' >"$NEW/pair/unit/lead/AGENTS.md"
    mkdir "$NEW/trio"
    echo '# mine' >>"$ROOT/templates/solo/template.ini"
    run "$NEWER" doctor
    [ "$status" -eq 0 ]
    [[ $output == *'templates/agents.ini '*'it comes from an earlier version of mas; update it with: mas init'* ]]
    [[ $output == *'templates/solo '*"you have changed it, and the shipped version has changed too; see: mas template diff solo"* ]]
    [[ $output != *templates/default* ]]
    run --separate-stderr "$NEWER" init
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "$output" = "$ROOT: is already a root
templates/agents.ini: updated
templates/pair: updated
templates/solo: kept, because you have changed it; the shipped version has changed too, see: mas template diff solo
templates/trio: created" ]
    diff -r "$NEW/pair" "$ROOT/templates/pair"
    cmp "$NEW/agents.ini" "$ROOT/templates/agents.ini"
    [ "$(tail -n 1 "$ROOT/templates/solo/template.ini")" = '# mine' ]
    [ -z "$(find "$ROOT/templates" -name '.new-*')" ]
    # he was told
    [ "$("$NEWER" init)" = "$ROOT: is already a root, nothing to do" ]
    [ "$("$NEWER" doctor)" = 'everything is in order' ]
    # and back
    [[ $("$MAS" init) == *'templates/agents.ini: updated'* ]]
    cmp "$PROJECT/templates/agents.ini" "$ROOT/templates/agents.ini"
}
