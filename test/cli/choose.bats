#!/usr/bin/env bats
# test/reach/choose.py, by which CI leaves out tests that reach nothing that has changed.
# shellcheck disable=SC2016 # texts of tests
load ../helper

# A project of four sources, four tests and a map. cmd/list.c is the verb `list`; os/sound.c exports a table that
# cmd/new.c reads; every test runs base/text.c.
setup_more() {
    export REACH_TOP=$T/project BUILD=build
    mkdir -p "$REACH_TOP" && cd "$REACH_TOP" || return
    mkdir -p src/base src/os src/cmd src/cli src/serve test/cli test/serve test/unit test/reach man scripts/lint
    echo 'int text(void); int text(void) { return 1; }' >src/base/text.c
    echo '#include "os/deep.h"' >src/os/sound.h
    echo 'extern const int sounds[];' >src/os/deep.h
    printf '%s\n' '#include "os/sound.h"' 'const int sounds[] = {1};' >src/os/sound.c
    printf '%s\n' '#include "os/sound.h"' 'int run_new(void); int run_new(void) { return sounds[0]; }' >src/cmd/new.c
    printf '%s\n' 'struct cmd { const char *name; };' 'const struct cmd cmd_list = {' '    .name = "list"};' >src/cmd/list.c
    for name in cmd/help cmd/complete cli/suggest serve/main; do
        echo "int ${name##*/}(void); int ${name##*/}(void) { return 0; }" >"src/$name.c"
    done
    echo '{}' >src/serve/components.json
    echo '"$MAS" new' >test/cli/new.bats
    echo '"$MAS" ls; load more' >test/cli/rows.bats
    echo '"$MAS" list --wrong' >test/cli/refused.bats
    echo 'mandoc man/x.1' >test/cli/man.bats
    echo 'load ../cli/more' >test/serve/page.bats
    echo 'is() { :; }' >test/cli/more.bash
    echo ': "shared"' >test/helper.bash
    echo '#include "os/sound.h"' >test/unit/test_sound.c
    touch man/x.1 Makefile scripts/run-tests.sh scripts/lint/format.sh
    printf '/build\n' >.gitignore
    git init -q . && git config user.name x && git config user.email x@localhost
    build && commit
    MADE=$(git rev-parse HEAD)
    map >test/reach/map.txt
    commit
}

build() {
    local source
    for source in src/*/*.c; do
        mkdir -p "build/${source%/*}"
        cc -Isrc -c -o "build/${source%.c}.o" "$source"
    done
}
commit() { git add -A && git commit -qm change "$@"; }
map() {
    cat <<MAP
# a map
commit $MADE
tests cli/man cli/new cli/refused cli/rows serve/page unit/test_sound
src/base/text.c *
src/cli/suggest.c cli/man
src/cmd/complete.c cli/man
src/cmd/help.c cli/man
src/cmd/list.c cli/rows
src/cmd/new.c - cli/man cli/refused unit/test_sound
src/os/sound.c unit/test_sound
src/os/unseen.c
src/serve/main.c serve/page
MAP
}

# left TEST...: it leaves these out. all: it leaves out none, and says why.
left() {
    run --separate-stderr "$PROJECT/test/reach/choose.py"
    [ "$status" -eq 0 ]
    [ "$(tr '\n' ' ' <<<"$output")" = "$* " ] || { echo "$output" "$stderr"; return 1; }
}
all() {
    left ''
    [[ $stderr == *"all tests run: "*"$1"* ]] || { echo "$stderr"; return 1; }
}
append() { echo '/* more */' >>"$1"; }

@test "where nothing has changed, every test with a row is left out" {
    left cli/man cli/new cli/refused cli/rows serve/page unit/test_sound
}

@test "a source that changed runs the tests that run it, committed or not" {
    append src/cmd/new.c
    left cli/man cli/refused unit/test_sound
    commit
    left cli/man cli/refused unit/test_sound
}

@test "a verb that changed also runs the tests that name it, or list all verbs" {
    append src/cmd/list.c
    left cli/new serve/page unit/test_sound
}

@test "a source that changed runs the tests that notice a mistake in it, too" {
    mkdir test/mutants
    printf '%s\n' '# why' 'src/serve/main.c cli/man whole names' '-a' '+b' 'src/os/other.c cli/new' '-a' '+b' >test/mutants/x.txt
    append src/serve/main.c
    left cli/new cli/refused cli/rows unit/test_sound
}

@test "a table that changed runs the tests of those who read it" {
    append src/os/sound.c
    left cli/man cli/refused
    rm -r build
    all 'nothing is built'
}

@test "a header that changed counts as all that include it, over another one too" {
    append src/os/deep.h
    left cli/man cli/refused
}

@test "a source that is gone runs the tests that ran it" {
    git rm -q src/cmd/new.c
    left cli/man cli/refused unit/test_sound
}

@test "a new source counts for nothing by itself, a new test runs" {
    echo 'int fresh(void); int fresh(void) { return 0; }' >src/os/fresh.c
    echo '"$MAS" fresh' >test/cli/fresh.bats
    build
    left cli/man cli/new cli/refused cli/rows serve/page unit/test_sound
}

@test "a test that changed runs; so do all in the folder of another file, and who loads it" {
    append test/cli/new.bats
    left cli/man cli/refused cli/rows serve/page unit/test_sound
    append test/cli/more.bash
    left unit/test_sound
}

@test "a manual runs the tests that name manuals, a file in another format the tests of its folder" {
    append man/x.1
    left cli/new cli/refused cli/rows serve/page unit/test_sound
    append src/serve/components.json
    left cli/new cli/refused cli/rows unit/test_sound
}

@test "all tests run after a change of what all run or read, and of what is not known" {
    for file in src/base/text.c test/helper.bash Makefile scripts/run-tests.sh test/reach/other.py templates/x; do
        mkdir -p "$(dirname "$file")"
        append "$file"
        all ''
        git stash -qu
    done
    echo 'int lonely(void); int lonely(void) { return 0; }' >src/os/lonely.c && build && commit
    MADE=$(git rev-parse HEAD)
    map >test/reach/map.txt
    append src/os/lonely.c
    all 'src/os/lonely.c is not in the map'
}

@test "all tests run without the commit of the map, with an old one, and with a damaged one" {
    git clone -q --depth 1 "file://$REACH_TOP" shallow
    REACH_TOP=$PWD/shallow all git
    GIT_COMMITTER_DATE="$(date -d '+15 days' -R)" commit --allow-empty
    all 'is old'
    git reset -q --hard HEAD^
    sed -i 's/cli\/rows$/cli\/none/' test/reach/map.txt
    all damaged
    rm test/reach/map.txt
    all map.txt
}

@test "changes count from the commit of the map on, or from a day ago if that is later" {
    # shellcheck source=scripts/lib/steps.sh
    since() { . "$PROJECT/scripts/lib/steps.sh" && since_when; }
    [ "$(since)" = "$MADE" ]
    GIT_COMMITTER_DATE="$(date -d '+12 hours' -R)" commit --allow-empty
    [ "$(since)" = "$MADE" ]
    GIT_COMMITTER_DATE="$(date -d '+26 hours' -R)" commit --allow-empty
    GIT_COMMITTER_DATE="$(date -d '+27 hours' -R)" commit --allow-empty
    [ "$(since)" = "$(git rev-parse HEAD~3)" ] # the map itself came after its commit
    sed -i "s/^commit .*/commit $(git rev-parse HEAD^)/" test/reach/map.txt
    [ "$(since)" = "$(git rev-parse HEAD^)" ]
    git clone -q --depth 1 "file://$REACH_TOP" shallow
    cp test/reach/map.txt shallow/test/reach/
    [ -z "$(cd shallow && since)" ]
}

@test "a map is made only of a commit that has passed" {
    mkdir "$T/own" && cd "$T/own" && mkdir -p test/reach build && git init -q .
    cp "$PROJECT/test/reach/record.py" test/reach/
    echo /build >.gitignore
    git add . && git -c user.name=x -c user.email=x@localhost commit -qm one
    run test/reach/record.py
    [ "$status" -eq 1 ]
    [[ $output == *'has not passed this commit here'* ]]
    (. "$PROJECT/scripts/lib/steps.sh" && failed=1 && steps_end) || [ "$?" -eq 1 ]
    [ ! -e build/passed ]
    (. "$PROJECT/scripts/lib/steps.sh" && steps_end)
    [ "$(cat build/passed)" = "$(git rev-parse HEAD)" ]
    touch new
    run test/reach/record.py
    [ "$status" -eq 1 ]
    [[ $output == *'has changes'* ]]
    (. "$PROJECT/scripts/lib/steps.sh" && steps_end)
    [ ! -e build/passed ]
}
