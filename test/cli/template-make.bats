#!/usr/bin/env bats
# mas template make, and the template that mas init makes of a directory with unit/ and workflows/
load ../helper

setup_more() { TEMPLATES=$ROOT/templates; }

# A directory as teams had it before there were templates.
make_dir() {
    mkdir -p "$1"
    cp -r "$PROJECT/templates/default/unit" "$PROJECT/templates/default/workflows" "$1"
}

# All of a directory, with the times and the inodes, but for when it was read.
whole() { (cd "$1" && find . -printf '%P %i %m %u %s %T@ %C@ %l\n' | sort); }

ini_of() { jq -r "$2" <<<"$("$MAS" template show --json "$1")"; }

@test "init takes unit/ and workflows/ of a directory as its template, and new uses it" {
    make_dir "$T/old"
    echo mine >"$T/old/unit/21/mine"
    before=$(whole "$T/old/unit")
    ok init "$T/old"
    [ "$output" = "$T/old: root created
templates/own: made of unit/ and workflows/; 'mas new' uses it" ]
    [ -z "$stderr" ]
    [ "$(whole "$T/old/unit")" = "$before" ]
    diff -r --no-dereference "$T/old/unit" "$T/old/templates/own/unit"
    diff -r "$T/old/workflows" "$T/old/templates/own/workflows"
    export MAS_ROOT=$T/old ROOT=$T/old
    ok template check
    [ -z "$output" ]
    new_session --no-start
    [ "$(field "$ID" .template)" = own ]
    [ "$(cat "$ROOT/sessions/$ID/unit/21/mine")" = mine ]
    ok init
    [ "$output" = "$T/old: is already a root, nothing to do" ]
}

@test "init makes no template where there is one of its own, no workflows/, or a root" {
    make_dir "$T/has"
    mkdir -p "$T/has/templates/mine"
    ok init "$T/has"
    [ "$output" = "$T/has: root created" ]
    make_dir "$T/none"
    rm -r "$T/none/workflows"
    ok init "$T/none"
    make_dir "$ROOT"
    ok init
    for dir in "$T/has" "$T/none" "$ROOT"; do
        [ ! -e "$dir/templates/own" ]
        run ! grep -q '^template' "$dir/mas.ini"
    done
}

@test "what a killed init left of it is completed, and one that is refused ends no init" {
    make_dir "$T/old"
    "$MAS" init -q "$T/old"
    rm "$T/old/mas.ini"
    mkdir "$T/old/templates/.new-own"
    ok init "$T/old"
    grep -qx 'template = own' "$T/old/mas.ini"
    rm -r "$T/old/mas.ini" "$T/old/templates"
    ok init "$T/old"
    [[ $output == *'templates/own: made '* ]]
    make_dir "$T/bad"
    ln -s /etc "$T/bad/unit/00/out"
    ok init "$T/bad"
    [ "$stderr" = "mas: warning: cannot make a template of '$T/bad/unit/00/out': it is a link that leads out" ]
    [ -f "$T/bad/mas.ini" ]
    [ ! -e "$T/bad/templates/own" ]
}

@test "make makes a template with the ranks of the numbers and the roles of the workflows" {
    make_dir "$T/my team"
    before=$(whole "$T/my team")
    ok template make "$T/my team"
    [ "$output" = "$TEMPLATES/my-team" ]
    [ -z "$stderr" ]
    [ "$(whole "$T/my team")" = "$before" ]
    ok template check my-team
    [ -z "$output" ]
    [ "$(ini_of my-team '[.team[] | select(.rank != "worker") | .id + " " + .rank + " " + .group + " " + .role] | join("; ")')" = \
        "00 meta meta meta manager; 10 manager unit-1 design manager; 20 manager unit-2 development manager; 30 manager unit-3 business manager" ]
    [ "$(ini_of my-team '[.windows[] | .name + ":" + (.agents | join(","))] | join(" ")')" = \
        "meta:00 unit-1:10,11,12,13 unit-2:20,21,22,23 unit-3:30,31,32,33" ]
    [ "$(ini_of my-team '.rules | tojson')" = "$(ini_of default '.rules | tojson')" ]
    new_session -t my-team
    [ "$(field "$ID" '.agents | length')" = 13 ]
    # one manager has no other one to write to
    mkdir -p "$T/one/unit/00" "$T/one/unit/10" "$T/one/unit/11" "$T/one/workflows"
    ok template make "$T/one"
    ok template check one
    [ -z "$output$stderr" ]
}

@test "agents that have names are workers who may write to each other" {
    mkdir -p "$T/team/unit/"{a,b,c,d,e,f,g}
    echo x >"$T/team/unit/README"
    ok template make -n seven "$T/team"
    ok template check seven
    [ -z "$output" ]
    [ "$(ini_of seven '[.windows[] | .name + ":" + (.agents | join(","))] | join(" ")')" = "team:a,b,c,d,e,f team-2:g" ]
    [ "$(ini_of seven '.rules.worker + [.team[0].role, .team[0].code] | join(" ")')" = "all worker a worktree" ]
    mkdir -p "$T/one/unit/solo"
    cd "$T/one"
    ok template make .
    ok template check one
    [ -z "$output" ]
    new_session -t one --no-start
}

@test "make never goes over a template, takes no template, and says how to go on" {
    make_dir "$T/pair"
    before=$(snapshot)
    fails 4 template make "$T/pair"
    [ "$stderr" = "mas: cannot make template 'pair': it exists
give it another name: mas template make --name pair-2 $T/pair" ]
    fails 4 template make "$TEMPLATES/solo"
    [ "$stderr" = "mas: cannot make a template of '$TEMPLATES/solo': it is one
copy it with: mas template copy $TEMPLATES/solo solo" ]
    for name in '' 'a b' ../x .new-x "$(printf '%033d' 0)"; do
        fails 2 template make -n "$name" "$T/pair"
        [[ $stderr == "mas: cannot make template '"*"': a name must be 1 to 32 characters of A-Z a-z 0-9 _ -" ]]
    done
    fails 1 template make "$T/nope"
    fails 1 template make "$PROJECT/README.md"
    fails 2 template make
    [ "$(snapshot)" = "$before" ]
}

@test "what is hostile is refused by name, and nothing is left" {
    before=$(snapshot)
    # refused TEXT: of what is in $T/bad, which is made anew
    refused() {
        fails 1 template make "$T/bad"
        [[ $stderr == "mas: cannot "*" '$T/bad"$1 ]] || { echo "$stderr" >&2 && return 1; }
        [ "$(snapshot)" = "$before" ]
        rm -rf "$T/bad"
        mkdir -p "$T/bad/unit/a/b" "$T/bad/workflows"
    }
    mkdir -p "$T/bad"
    refused "/unit': it is missing"
    rm -r "$T/bad/unit/a"
    refused "/unit': it has no directories of agents"
    rm -r "$T/bad/unit" && ln -s "$TEMPLATES/pair/unit" "$T/bad/unit"
    refused "/unit': it is a symbolic link"
    rm -r "$T/bad/workflows" && ln -s /etc "$T/bad/workflows"
    refused "/workflows': it is a symbolic link"
    ln -s /etc "$T/bad/unit/b"
    refused "/unit/b': it is not a directory"
    mkdir "$T/bad/unit/"$'x\033[31m'
    refused "/unit/x?x1b?31m': an agent's id must be "*
    mkdir "$T/bad/unit/-x"
    refused "/unit/-x': an agent's id must be "*
    ln -s /etc/passwd "$T/bad/unit/a/b/x"
    refused "/unit/a/b/x': it is a link that leads out"
    ln -s ../../../../x "$T/bad/unit/a/b/x"
    refused "/unit/a/b/x': it is a link that leads out"
    ln -s ../../x "$T/bad/workflows/x"
    refused "/workflows/x': it is a link that leads out"
    truncate -s 5G "$T/bad/workflows/x.md"
    refused "/workflows/x.md': there are more than "*
    truncate -s 2G "$T/bad/unit/a/1" "$T/bad/unit/a/2" "$T/bad/workflows/3"
    refused "/workflows/3': there are more than "*
    mkfifo "$T/bad/unit/a/b/fifo"
    refused "/unit/a/b/fifo': it is a FIFO"
    mkdir "$T/bad/unit/"{1..256}
    refused "/unit': it has more than 256 agents"
    # links that stay within, also from one part to the other, are copied as links
    ln -s ../../../workflows/w.md "$T/bad/unit/a/b/w"
    ok template make "$T/bad"
    [ "$(readlink "$TEMPLATES/bad/unit/a/b/w")" = ../../../workflows/w.md ]
}

@test "a directory without template.ini gets a hint that works as it is typed" {
    mkdir -p "$TEMPLATES/mine/unit/a" "$T/my dir/unit/a" "$TEMPLATES/empty"
    cd "$T"
    for name in mine "./my dir" empty; do
        for verb in 'new -q --no-start -t' 'template show'; do
            # shellcheck disable=SC2086 # words
            mas $verb "$name"
            [ "$status" -ne 0 ]
            [[ ${stderr_lines[1]} == *': mas template '* ]]
        done
        run eval "'$MAS' ${stderr_lines[1]#*: mas }"
        [ "$status" -eq 0 ]
        ok new -q --no-start -t "${output##*/}"
    done
    [ "$("$MAS" template list -q | xargs)" = "default empty-2 mine-2 my-dir pair solo" ]
}
