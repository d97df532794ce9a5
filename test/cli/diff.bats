#!/usr/bin/env bats
# `mas diff` shows what agents have changed, committed or not, as it is now.
load ../helper
# shellcheck source=test/cli/code.bash
. "$BATS_TEST_DIRNAME/code.bash"

setup_more() {
    make_project
    make_trio
    make_team -t trio
}

@test "commits, staged, changed and new files are shown; ignored ones are not" {
    change x a 1 committed
    sed -i '1s/.*/staged/' "$C/x/b" && git -C "$C/x" add b
    sed -i '1s/.*/changed/' "$C/x/c"
    echo new >"$C/x/new"
    mkdir -p "$C/x/.git/info" && echo '*.o' >"$C/x/.gitignore"
    echo object >"$C/x/x.o"
    before=$(sha256sum "$C/x/.git/index")
    ok diff "$ID" x
    for line in +committed +staged +changed +new '-a 1' '-b 1' '-c 1' '+++ b/new'; do
        grep -qxF -e "$line" <<<"$output"
    done
    [[ $output != *object* ]]
    [ "$(sha256sum "$C/x/.git/index")" = "$before" ]
    mas diff "$ID" x --stat
    [[ $output == *'5 files changed, 5 insertions(+), 3 deletions(-)' ]]
    whole
    ok diff "$ID" y
    [ -z "$output" ]
}

@test "several agents have titles with branch, ahead, behind and files" {
    change x a 1 one
    "$MAS" merge -q "$ID" x
    change y b 1 two
    echo >"$C/y/new"
    ok diff "$ID" --stat
    grep -qx "x  mas/$L/x  0 ahead, 0 behind, 0 files not committed" <<<"$output"
    grep -qx "y  mas/$L/y  1 ahead, 1 behind, 1 file not committed" <<<"$output"
    grep -qx "z  mas/$L/z  0 ahead, 1 behind, 0 files not committed" <<<"$output"
    # the end is what land would bring
    [ "${lines[-1]}" = "main: 1 file, +1 -1, not landed; see: mas diff $ID main" ]
    mas diff "$ID" x --stat
    [[ $output != *'not landed'* ]]
    "$MAS" land -q "$ID"
    mas diff "$ID" --stat
    [[ $output != *'not landed'* ]]
    "$MAS" merge -q "$ID" y
    mas diff "$ID" --stat
    [ "${lines[-1]}" = "main: 1 file, +1 -1, not landed; see: mas diff $ID main" ]
}

@test "--base and --integration compare with those" {
    change x a 1 one
    "$MAS" merge -q "$ID" x
    change y b 1 two
    mas diff "$ID" x
    [ -z "$output" ]
    mas diff "$ID" x --base
    grep -qx '+one' <<<"$output"
    mas diff "$ID" y
    [[ $output == *+two* && $output != *'-one'* ]]
    mas diff "$ID" y --integration
    grep -qx -e '-one' <<<"$output"
    fails 2 diff "$ID" y --integration --base
}

@test "kinds: binary, rename, mode, link, CRLF, no newline, large, names that are odd" {
    cd "$C/x"
    printf 'a\0b' >binary
    git mv b renamed
    chmod +x c
    ln -s x link
    printf 'dos\r\n' >crlf
    printf 'none' >bare
    esc=$'esc\033]0;x\a'
    printf 'text \033[31m\n' >"$esc"
    yes line | head -c 10000000 >large
    ok diff "$ID" x
    LC_ALL=C grep -q $'[\001-\010\013-\037\177]' <<<"$output" && return 1
    grep -qF 'Binary files /dev/null and b/binary differ' <<<"$output"
    grep -qx 'rename to renamed' <<<"$output"
    grep -qx 'new mode 100755' <<<"$output"
    grep -qx '+dos\\x0d' <<<"$output"
    grep -qF 'No newline at end of file' <<<"$output"
    ok diff "$ID" x --stat
    LC_ALL=C grep -q $'[\001-\010\013-\037\177]' <<<"$output" && return 1
    cd "$T"
}

@test "a file that changes in the same second and keeps size and time is seen" {
    local second same=0
    # it is first as git knows it: else git reads it anyway
    printf 'aaaa\n' >"$C/x/a" && touch -d 2001-01-01 "$C/x/a" && git -C "$C/x" commit -qam a
    for _ in {1..50}; do
        printf 'aaaa\n' >"$C/x/a" && touch -d 2001-01-01 "$C/x/a"
        second=$(stat -c %Z "$C/x/a")
        "$MAS" diff "$ID" x >"$T/one"
        printf 'bbbb\n' >"$C/x/a" && touch -d 2001-01-01 "$C/x/a"
        [ "$(stat -c %Z "$C/x/a")" != "$second" ] || same=$((same + 1))
        "$MAS" diff "$ID" x >"$T/two"
        grep -qx '+aaaa' "$T/one"
        grep -qx '+bbbb' "$T/two"
        [ "$same" -lt 2 ] || return 0
    done
    skip 'this machine is too slow'
}

@test "--json lists files with hunks and lines" {
    cd "$C/x"
    sed -i '5s/.*/five/; 6d' a
    git mv b moved && chmod +x moved && printf 'x\0' >bin && rm c
    cd "$T"
    ok diff "$ID" x --json
    [ "$(jq -r '.sessionId, .agents[0].id, .agents[0].branch, .agents[0].changedFiles' <<<"$output" | tr '\n' ' ')" = \
        "$ID x mas/$L/x 5 " ] || { echo "$output"; return 1; }
    # shellcheck disable=SC2016 # a variable of jq
    f='.agents[0].files[] | select(.path == $p)'
    [ "$(jq -c --arg p a "$f | [.status, .oldPath, .added, .removed, .binary]" <<<"$output")" = \
        '["modified",null,1,2,false]' ]
    [ "$(jq -r --arg p a "$f | .hunks[0].lines[] | select(test(\"^[+-]\"))" <<<"$output")" = $'-a 5\n-a 6\n+five' ]
    [[ $(jq -r --arg p a "$f | .hunks[0].header" <<<"$output") == '@@ -2,8 +2,7 @@'* ]]
    [ "$(jq -c --arg p moved "$f | [.status, .oldPath, .oldMode, .mode]" <<<"$output")" = '["renamed","b","100644","100755"]' ]
    [ "$(jq -c --arg p bin "$f | [.status, .binary, .hunks]" <<<"$output")" = '["added",true,[]]' ]
    [ "$(jq -c --arg p c "$f | [.status, .removed]" <<<"$output")" = '["deleted",20]' ]
    mas diff "$ID" --json
    [ "$(jq -r '.agents[].id' <<<"$output" | tr '\n' ' ')" = 'x y z ' ]
}

@test "main is the team's branch, compared with the commit that the session began with" {
    change x a 1 one
    "$MAS" merge -q "$ID" x
    echo later >"$C/x/later"
    ok diff "$ID" main
    [[ $output == *+one* && $output != *later* ]]
    mas diff "$ID" main --stat
    [[ $output == *'1 file changed, 1 insertion(+), 1 deletion(-)' ]]
    mas diff "$ID" main --json
    [ "$(jq -r '.agents[0] | .id, .branch, .ahead' <<<"$output" | tr '\n' ' ')" = "main mas/$L/main 1 " ]
}

@test "--since-look shows what changed since the last diff of that agent" {
    change x a 1 one
    mas diff "$ID" x --since-look
    [[ $output == *+one* ]]
    ok diff "$ID" x --since-look
    [ -z "$output" ]
    echo two >"$C/x/b"
    mas diff "$ID" x --stat
    mas diff "$ID" x --json
    mas diff "$ID" x --since-look
    [[ $output == *+two* && $output != *+one* ]]
    # it also holds for files that were not committed, and if they are taken back
    git -C "$C/x" checkout -q b
    mas diff "$ID" x --since-look
    grep -qx -e '-two' <<<"$output"
    mas diff "$ID" y --since-look
    [ -z "$output" ]
    fails 2 diff "$ID" x --since-look --base
    whole
}

@test "colours and the pager are for a terminal alone" {
    change x a 1 one
    printf '#!/bin/sh\necho PAGED\ncat\n' >"$T/pager" && chmod +x "$T/pager"
    tty() { script -qec "$*" /dev/null </dev/null | tr -d '\r'; }
    PAGER=$T/pager run tty "$MAS" diff "$ID" x
    [ "${lines[0]}" = PAGED ]
    [[ $output == *$'\033['*'+one'* ]]
    NO_COLOR=1 PAGER=$T/pager run tty "$MAS" diff "$ID" x
    [ "${lines[0]}" = PAGED ]
    [[ $output != *$'\033['* ]]
    PAGER='' run tty "$MAS" diff "$ID" x
    [[ $output == *$'\033['*'+one'* ]]
    PAGER=$T/pager mas diff "$ID" x
    [[ $output != *PAGED* && $output != *$'\033['* ]]
    # bytes of a file never reach the terminal
    printf 'evil \033]0;title\a\n\tindented\r\n' >"$C/x/a"
    PAGER='cat' run tty "$MAS" diff "$ID" x
    [[ $output == *'evil \x1b]0;title\x07'* ]]
    # but a tab is one
    [[ $output == *$'+\tindented\\x0d'* ]]
}

@test "FIFOs, sockets and devices in a work tree block and break nothing" {
    local verb
    mkfifo "$C/x/pipe"
    rm "$C/x/a"
    mkfifo "$C/x/a"
    python3 -c 'import os, socket, sys; os.chdir(sys.argv[1]); socket.socket(socket.AF_UNIX).bind("socket")' "$C/x"
    mkfifo "$C/view/pipe"
    rm "$C/view/b"
    mkfifo "$C/view/b"
    if mknod "$C/x/zero" c 1 5 2>/dev/null; then rm "$C/x/b" && mknod "$C/x/b" c 1 5; fi
    run timeout 60 "$MAS" diff "$ID" x
    [ "$status" -eq 0 ]
    [[ $output == *'deleted file mode 100644'*'--- a/a'* ]]
    [[ $output != *pipe* && $output != *socket* && $output != *zero* ]]
    for verb in "diff $ID x --stat" "diff $ID --json" "merge $ID x" "sync $ID" "show $ID" doctor "land $ID" \
        "archive $ID -o $T/archive"; do
        # shellcheck disable=SC2086 # words
        run timeout 60 "$MAS" $verb
        [ "$status" -eq 0 ]
    done
    run timeout 60 "$MAS" rm "$ID"
    [ "$status" -eq 4 ]
    [[ $output == *'x: '*' not committed: a'* ]]
    run timeout 60 "$MAS" rm -f "$ID"
    [ "$status" -eq 0 ]
    git -C "$P" cat-file -e "refs/mas/lost/$ID/x/work:c"
    run ! git -C "$P" cat-file -e "refs/mas/lost/$ID/x/work:a"
    run timeout 60 "$MAS" restore "$ROOT"/lost/*
    [ "$status" -eq 0 ]
}

@test "files that come and go while they are read are no error" {
    echo more >>"$C/x/a"
    echo new >"$C/x/new"
    # a git after which a file that it listed is gone
    mkdir "$T/bin"
    cat >"$T/bin/git" <<SH
#!/bin/sh
case " \$* " in *' --others '*) touch '$C/x/gone' && drop=1 ;; *' --diff-filter=d '*) drop=2 ;; esac
$(command -v git) "\$@" || exit
[ "\$drop" != 1 ] || rm '$C/x/gone'
[ "\$drop" != 2 ] || rm -f '$C/x/b'
SH
    chmod +x "$T/bin/git"
    echo more >>"$C/x/b"
    PATH=$T/bin:$PATH ok diff "$ID" x --stat
    [[ $output == *new* && $output != *gone* ]]
}

@test "git is started twice for an agent that has done nothing" {
    count_git diff --stat "$ID"
    [ "$count" -le $((3 * 3 + 1)) ] # the first look makes an index
    count_git diff --stat "$ID"
    [ "$count" -le $((2 * 3 + 1)) ]
    # for one with a change as before it: the change is found, and the look after it is as good
    sed -i '1s/.*/changed/' "$C/x/a"
    mas diff --stat "$ID" x
    [[ $output == *' a | 2 +-'* ]]
    git -C "$C/x" checkout -q a
    mas diff --stat "$ID" x
    [ -z "$output" ]
    count_git diff --stat "$ID"
    [ "$count" -le $((2 * 3 + 1)) ]
    # refs that are packed are read without git, too
    team_git pack-refs --all
    count_git diff --stat "$ID"
    [ "$count" -le $((2 * 3 + 1)) ]
}
