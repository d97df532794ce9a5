#!/usr/bin/env bats
# shellcheck disable=SC2015,SC2016 # texts for another shell; both sides of || count
# An agent owns its repository. Whatever it puts there, mas runs none of it and believes none of it.
load ../helper
# shellcheck source=test/cli/code.bash
. "$BATS_TEST_DIRNAME/code.bash"

setup_more() {
    make_project
    make_trio
    make_team -t trio
    change x a 1 one
    change y b 1 two
    R=$C/x/.git
    EVIL=$T/evil
    printf '#!/bin/sh\necho "$0 $*" >>"%s"\nexit 0\n' "$EVIL" >"$T/run" && chmod +x "$T/run"
}

teardown_more() { [ ! -e "$EVIL" ] || { echo 'this ran:' && cat "$EVIL"; return 1; }; }

# All verbs on agent x. They leave the team's branch and the project alone but for what $1 says:
# `refuse CODE TEXT`: each that reads the repository fails so.
verbs() {
    local before main
    before=$(project_state) main=$(main_of)
    for verb in diff 'diff --stat' 'diff --json' merge sync; do
        # shellcheck disable=SC2086 # words
        mas ${verb%% *} "$ID" x ${verb#"${verb%% *}"}
        [ "$status" -eq "$1" ] || { echo "$verb: $status $stderr"; return 1; }
        [[ $stderr == *"$2"* ]] || { echo "$verb: $stderr"; return 1; }
        [ ! -e "$EVIL" ] || return 1
    done
    [ "$(main_of)" = "$main" ] || return 1
    [ "$(project_state)" = "$before" ] || return 1
    mas rm "$ID"
    [ "$status" -ne 0 ] || return 1
    mas list --json
    [ "$status" -eq 0 ] || return 1
    mas status "$ID"
    # the others go on
    mas merge "$ID" x y
    [ "$status" -ne 0 ] && [[ $output == *'y: 1 commit merged'* ]] || { echo "$output $stderr"; return 1; }
    mas land "$ID"
    [ "$status" -eq 0 ] || { echo "$stderr"; return 1; }
    [ ! -e "$EVIL" ] || return 1
    whole
}

refuse() { verbs "$@"; }

# Everything that git would run in a repository.
plant() {
    local name
    mkdir -p "$1/hooks" "$1/info"
    for name in applypatch-msg pre-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge \
        pre-push pre-receive update post-receive post-update reference-transaction pre-auto-gc fsmonitor-watchman \
        post-index-change proc-receive push-to-checkout; do
        cp "$T/run" "$1/hooks/$name"
    done
    cat >>"$1/config" <<END
[core]
	fsmonitor = $T/run
	hooksPath = $1/hooks
	sshCommand = $T/run
	editor = $T/run
	pager = $T/run
	askPass = $T/run
	gitProxy = $T/run
	attributesFile = $1/info/attributes
	worktree = $T
[alias]
	diff = !$T/run
	status = !$T/run
	merge-tree = !$T/run
[filter "evil"]
	clean = $T/run
	smudge = $T/run
	process = $T/run
	required = true
[diff "evil"]
	command = $T/run
	textconv = $T/run
[merge "evil"]
	driver = $T/run
[diff]
	external = $T/run
[gpg]
	program = $T/run
[uploadpack]
	packObjectsHook = $T/run
[credential]
	helper = !$T/run
[include]
	path = $T/included
[remote "team"]
	uploadpack = $T/run
	url = ext::$T/run
[url "ext::$T/run"]
	insteadOf = ../
END
    printf '[core]\n\tfsmonitor = %s\n' "$T/run" >"$T/included"
    printf '* filter=evil diff=evil merge=evil\n' >"$1/info/attributes"
}

@test "planted configuration, hooks, filters and drivers run by no verb" {
    plant "$R"
    printf '* filter=evil diff=evil merge=evil\n' >"$C/x/.gitattributes"
    sed -i 's/^b 1$/x/' "$C/x/b"
    for verb in diff 'diff --stat' 'diff --json' merge sync; do
        # shellcheck disable=SC2086 # words
        ok ${verb%% *} "$ID" x ${verb#"${verb%% *}"}
    done
    [ "$(team_git rev-parse "mas/$L/main")" = "$(GIT_DIR=$R GIT_CONFIG_COUNT=0 cat "$R/refs/heads/mas/$L/x")" ]
    # what is committed in .gitattributes must not run in the team's and the person's trees, too
    GIT_DIR=$R GIT_INDEX_FILE=$R/i2 GIT_CONFIG_GLOBAL=/dev/null true
    ok merge "$ID" y
    ok land "$ID"
    mas list
    mas show "$ID"
    mas status "$ID"
    fails 4 rm "$ID"
    ok rm -f "$ID"
    [ ! -e "$EVIL" ]
}

@test ".git that is a file, a link, or another repository is refused" {
    git init -q "$T/other" && git -C "$T/other" commit -q --allow-empty -m other
    plant "$T/other/.git"
    mv "$R" "$T/saved"
    printf 'gitdir: %s/other/.git\n' "$T" >"$R"
    refuse 5 "cannot read the repository of agent 'x': its .git is missing, a file or a link"
    rm "$R" && ln -s "$T/other/.git" "$R"
    fails 5 diff "$ID" x
    rm "$R"
    fails 5 diff "$ID" x
    # the whole directory
    mv "$C/x" "$C/x.saved" && ln -s "$T/other" "$C/x"
    fails 5 diff "$ID" x
    [[ $stderr == *'its directory is missing or a link'* ]]
}

@test "another repository in its place has nothing in common, and gives nothing" {
    rm -rf "$R"
    git init -q "$T/other" && git -C "$T/other" commit -q --allow-empty -m other
    plant "$T/other/.git"
    mv "$T/other/.git" "$R"
    mas diff "$ID" x
    [ "$status" -ne 0 ]
    fails 5 merge "$ID" x
    mas sync "$ID" x
    [[ $status != 0 || $output == *'not updated'* ]]
    mas rm "$ID"
    [ "$status" -ne 0 ]
}

@test "commondir is refused" {
    git init -q "$T/other" && git -C "$T/other" commit -q --allow-empty -m other
    plant "$T/other/.git"
    printf '%s\n' "$T/other/.git" >"$R/commondir"
    refuse 5 'it names another repository as its own'
}

@test "alternates that lead elsewhere, and directories that are links, are refused" {
    printf '%s/elsewhere\n' "$T" >>"$R/objects/info/alternates"
    refuse 5 'it borrows objects from elsewhere'
    printf '../../../../code.git/objects\n' >"$R/objects/info/alternates"
    ok diff "$ID" x
    echo http://localhost:1/ >"$R/objects/info/http-alternates"
    fails 5 diff "$ID" x
    rm "$R/objects/info/http-alternates"
    mv "$R/objects/pack" "$T/pack" && ln -s "$T/pack" "$R/objects/pack"
    fails 5 diff "$ID" x
    rm "$R/objects/pack" && mkdir "$R/objects/pack"
    mv "$R/refs" "$T/refs" && ln -s "$T/refs" "$R/refs"
    fails 5 merge "$ID" x
}

@test "a branch or HEAD that leads elsewhere or is garbage is refused" {
    b=$R/refs/heads/mas/$L/x
    printf 'ref: refs/heads/../../../../../../secret\n' >"$b"
    refuse 5 "cannot read the repository of agent 'x': a ref names no object"
    for text in 'ref: refs/heads/other' garbage '' 1234 "$(printf 'f%.0s' {1..39})" "$(head -c 5000 /dev/zero | tr '\0' f)"; do
        printf '%s' "$text" >"$b"
        fails 5 merge "$ID" x
    done
    rm "$b" && printf '%040d\n' 1 >"$T/secret" && ln -s "$T/secret" "$b"
    fails 5 merge "$ID" x
    rm "$b" && mkfifo "$b"
    fails 5 merge "$ID" x
    rm "$b"
    for text in 'ref: refs/heads/../../x' 'ref: /etc/passwd' garbage '' 'ref: refs/remotes/x'; do
        printf '%s\n' "$text" >"$R/HEAD"
        fails 5 diff "$ID" x
        fails 5 sync "$ID" x
    done
    rm "$R/HEAD" && ln -s "$T/secret" "$R/HEAD"
    fails 5 diff "$ID" x
}

@test "garbage in packed-refs is refused" {
    git -C "$C/x" checkout -q --detach
    git -C "$C/x" pack-refs --all
    head -c 100000 /dev/urandom >"$R/packed-refs"
    fails 5 merge "$ID" x
    mas rm "$ID"
    [ "$status" -ne 0 ]
    printf 'zzz refs/heads/mas/%s/x\n' "$L" >"$R/packed-refs"
    fails 5 merge "$ID" x
    printf '%040d refs/heads/../../escape\n' 1 >"$R/packed-refs"
    mas rm "$ID"
    [ "$status" -ne 0 ]
}

@test "a commit that is missing, damaged or of another kind is refused, and nothing of it comes in" {
    before=$(team_git count-objects -v)
    head=$(git -C "$C/x" rev-parse HEAD)
    blob=$(git -C "$C/x" rev-parse HEAD:a)
    f=$R/objects/${blob:0:2}/${blob:2}
    chmod u+w "$f" && cp "$f" "$T/blob"
    printf 'garbage' >"$f"
    refuse 5 "cannot fetch the work of agent 'x'"
    # well formed, and not what its name says
    printf 'blob 5\0hello' | python3 -c 'import sys,zlib; sys.stdout.buffer.write(zlib.compress(sys.stdin.buffer.read()))' >"$f"
    fails 5 merge "$ID" x
    rm -f "$f"
    fails 5 merge "$ID" x
    cp "$T/blob" "$f"
    tree=$(git -C "$C/x" rev-parse 'HEAD^{tree}')
    for oid in "$blob" "$tree" "$(printf '%040d' 7)"; do
        echo "$oid" >"$R/refs/heads/mas/$L/x"
        fails 5 merge "$ID" x
    done
    echo "$head" >"$R/refs/heads/mas/$L/x"
    ok merge "$ID" x
    whole
}

@test "an object that pretends to be one of the team's changes nothing in the team" {
    base=$(team_git rev-parse refs/mas/base:c)
    mkdir -p "$R/objects/${base:0:2}"
    printf 'blob 5\0hello' | python3 -c 'import sys,zlib; sys.stdout.buffer.write(zlib.compress(sys.stdin.buffer.read()))' \
        >"$R/objects/${base:0:2}/${base:2}"
    mas diff "$ID" x
    [[ $output != *hello* ]]
    mas merge "$ID" x
    [ "$(team_git cat-file -p "mas/$L/main:c" | head -n 1)" = 'c 1' ]
    [ "$(head -n 1 "$C/view/c")" = 'c 1' ]
    whole
}

@test "an index that is garbage stops nothing but rm and sync" {
    head -c 3000 /dev/urandom >"$R/index"
    ok diff "$ID" x
    ok merge "$ID" x
    mas rm "$ID"
    [ "$status" -ne 0 ]
    printf 'DIRC\0\0\0\11\0\0\0\1' >"$R/index"
    ok diff "$ID" x
    mas rm "$ID"
    [ "$status" -ne 0 ]
}

@test "a file of gigabytes in a few bytes is refused" {
    oid=$(python3 - "$R" <<'END'
import hashlib, os, sys, zlib
size = (1 << 30) + 1
h = hashlib.sha1(); z = zlib.compressobj(9); out = []
def feed(b): h.update(b); out.append(z.compress(b))
feed(b'blob %d\0' % size)
block = bytes(1 << 20)
for _ in range(1 << 10): feed(block)
feed(b'\0')
out.append(z.flush()); oid = h.hexdigest()
d = os.path.join(sys.argv[1], 'objects', oid[:2]); os.makedirs(d, exist_ok=True)
open(os.path.join(d, oid[2:]), 'wb').write(b''.join(out)); print(oid)
END
)
    tree=$(printf '100644 blob %s\tbomb\n' "$oid" | git -C "$C/x" mktree)
    git -C "$C/x" update-ref HEAD "$(git -C "$C/x" commit-tree -p HEAD -m bomb "$tree")"
    fails 1 merge "$ID" x
    [[ $stderr == *"a file in it is larger than 1 GiB"* ]]
    fails 1 diff "$ID" x
    [ ! -e "$C/view/bomb" ]
    whole
}

@test "a tree with .git, .., or odd names is refused" {
    blob=$(echo x | git -C "$C/x" hash-object -w --stdin)
    for name in .git .GIT .. . 'a/b' git~1; do
        tree=$(python3 -c 'import sys; sys.stdout.buffer.write(b"100644 " + sys.argv[1].encode() + b"\0" + bytes.fromhex(sys.argv[2]))' \
            "$name" "$blob" | git -C "$C/x" hash-object -t tree -w --literally --stdin)
        git -C "$C/x" update-ref "refs/heads/mas/$L/x" \
            "$(git -C "$C/x" commit-tree -p refs/remotes/team/main -m evil "$tree" 2>/dev/null ||
                git -C "$C/x" commit-tree -m evil "$tree")"
        fails 5 merge "$ID" x
        [ ! -e "$C/view/.git/x" ]
    done
    whole
}

@test "a FIFO where git opens a file is refused and named, and nothing waits for it" {
    local at where words x=$C/x
    git -C "$x" gc -q
    git init -q "$x/inner"
    git init -q "$x/other" && git -C "$x/other" commit -q --allow-empty -m other && mv "$x/other/.git" "$x/bare"
    echo 'gitdir: ../bare' >"$x/other/.git"
    for at in .git/objects/info/commit-graph .git/objects/pack/multi-pack-index .git/objects/aa/0123456789012345678901234567890123456789 \
        .git/objects/info/commit-graphs/commit-graph-chain .gitignore dir/.gitattributes inner/.git/HEAD inner/.git/config \
        bare/HEAD bare/refs/heads/main; do
        where=$x/$at
        mkdir -p "${where%/*}"
        [ ! -e "$where" ] || mv "$where" "$T/kept"
        mkfifo "$where"
        for verb in diff merge sync rm; do
            if [ "$verb" = rm ]; then words=(rm "$ID"); else words=("$verb" "$ID" x); fi
            run --separate-stderr timeout 30 "$MAS" "${words[@]}"
            [[ $status =~ ^[45]$ ]] && [[ $stderr == *"'$at' is a FIFO where git needs a file"* ]] ||
                { echo "$at: $verb: $status $stderr"; return 1; }
        done
        rm "$where"
        [ ! -e "$T/kept" ] || mv "$T/kept" "$where"
    done
    # where the link leads to one, and one that is none of git's business
    mkfifo "$x/pipe"
    rm "$x/inner/.git/HEAD"
    ln -s ../../pipe "$x/inner/.git/HEAD"
    run --separate-stderr timeout 30 "$MAS" diff "$ID" x
    [ "$status" -eq 5 ]
    [[ $stderr == *"'inner/.git/HEAD' is a symbolic link where git needs a file"* ]]
    rm -r "$x/inner" "$x/other" "$x/bare"
    run --separate-stderr timeout 30 "$MAS" diff "$ID" x
    [ "$status" -eq 0 ]
}

@test "a FIFO in place of the index, or in the view, makes nothing wait" {
    local verb
    rm "$R/index"
    mkfifo "$R/index" "$C/view/.gitattributes"
    for verb in diff 'sync x' rm; do
        # shellcheck disable=SC2086 # words
        run --separate-stderr timeout 60 "$MAS" ${verb%% *} "$ID" ${verb#"${verb%% *}"}
        [ "$status" -ne 124 ] || { echo "$verb waits"; return 1; }
    done
    [[ $stderr == *"'.git/index' is a FIFO"* ]] && [[ $stderr == *"'.gitattributes' is a FIFO"* ]] || { echo "$stderr"; return 1; }
    run --separate-stderr timeout 60 "$MAS" merge "$ID" y
    [[ $stderr == *"'.gitattributes' is a FIFO"* ]] || { echo "$status $stderr"; return 1; }
    run --separate-stderr timeout 60 "$MAS" rm -f "$ID"
    [ "$status" -eq 0 ]
    [ ! -e "$ROOT/sessions/$ID" ]
}
