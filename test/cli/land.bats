#!/usr/bin/env bats
# `mas land` brings the team's branch into the project, or says why not and changes nothing there.
load ../helper
# shellcheck source=test/cli/code.bash
. "$BATS_TEST_DIRNAME/code.bash"

setup_more() {
    make_project
    make_trio
}

# The team's branch has two commits of x and one of y.
work() {
    change x a 1 one
    change x a 2 two
    change y b 1 three
    "$MAS" merge -q "$ID" x y
}

tip() { git -C "$P" rev-parse "${1:-main}"; }
clean() { [ -z "$(git -C "$P" status --porcelain)" ]; }
# Fails with exit code $1 and the text $2, and the project is as $BEFORE.
refused() {
    [ "$status" -eq "$1" ] || return
    [[ $stderr == "$2"* ]] || return
    [ "$(project_state)" = "$BEFORE" ] && whole
}

@test "a branch that has not moved goes forward, and its work tree follows" {
    make_team -t trio
    work
    ok land "$ID"
    [ "$output" = "4 commits landed on main of $P: $(main_of | cut -c1-12)" ]
    [ "$(tip)" = "$(main_of)" ]
    [ "$(head -n 2 "$P/a" | tr '\n' ' ')$(head -n 1 "$P/b")" = 'one two three' ]
    clean
    [ "$(git -C "$P" for-each-ref --format='%(refname)')" = refs/heads/main ]
    [ "$(git -C "$P" reflog -1 --format=%gs main)" = 'mas land' ]
    whole
    ok land "$ID"
    [[ $output == 'nothing to land: main has all of mas/'*/main ]]
}

@test "a branch that has moved on is merged; a conflict is exit 4 and changes nothing" {
    make_team -t trio
    work
    sed -i '20s/.*/person/' "$P/c" && git -C "$P" commit -qam 'Person'
    ok land "$ID"
    [ "$(git -C "$P" log -1 --format=%s)" = "Merge mas/$L/main" ]
    [ "$(git -C "$P" log -1 --format=%P | wc -w)" = 2 ]
    [ "$(tail -n 1 "$P/c")$(head -n 1 "$P/a")" = personone ]
    clean
    change x a 3 agent
    "$MAS" merge -q "$ID" x
    sed -i '3s/.*/person/' "$P/a" && git -C "$P" commit -qam 'Person 2'
    BEFORE=$(project_state)
    mas land "$ID"
    refused 4 "mas: cannot land session '$ID': it conflicts in a; there it was changed by: $(tip | cut -c1-12) 'Person 2'"$'\n'
    [[ $stderr == *"mas sync --project $ID"* ]]
}

@test "--merge makes a commit, --squash one commit, -m its message" {
    make_team -t trio
    work
    ok land "$ID" --merge -m 'My words'
    [ "$(git -C "$P" log -1 --format=%s)" = 'My words' ]
    [ "$(git -C "$P" log -1 --format=%P | wc -w)" = 2 ]
    change z c 1 z1
    change z c 2 z2
    "$MAS" merge -q "$ID" z
    before=$(tip)
    ok land "$ID" --squash --message 'Squashed
and more'
    [ "$(git -C "$P" log -1 --format=%P)" = "$before" ]
    [ "$(git -C "$P" log -1 --format=%B)" = $'Squashed\nand more' ]
    [ "$(git -C "$P" log -1 --format=%an)" = Person ]
    [ "$(head -n 2 "$P/c" | tr '\n' ' ')" = 'z1 z2 ' ]
    clean
    # it counts as landed from now on
    mas land "$ID"
    [[ $output == 'nothing to land: main has all of mas/'*/main ]]
    ok rm "$ID"
    fails 2 land "$ID" --merge --squash
    # a message makes a commit also where the branch could go forward
    make_team -t trio
    change x a 5 five
    "$MAS" merge -q "$ID" x
    before=$(tip)
    ok land "$ID" -m 'Five'
    [ "$(git -C "$P" log -1 --format='%s %P')" = "Five $before $(main_of)" ]
}

@test "changes in the way are named, others stay" {
    make_team -t trio
    work # of a and b
    echo 'my change' >>"$P/c"
    sed -i '20s/.*/mine/' "$P/a" "$P/b"
    BEFORE=$(project_state)
    mas land "$ID"
    refused 4 "mas: cannot land onto 'main': in its work tree '$P' it would overwrite changes of these: a, b"$'\n'
    git -C "$P" add a b
    BEFORE=$(project_state)
    mas land "$ID"
    refused 4 "mas: cannot land onto 'main': in its work tree '$P' it would overwrite changes of these: a, b"$'\n'
    git -C "$P" reset -q && git -C "$P" checkout -q a b
    # files that git does not track and that would be overwritten, also those that it ignores
    mkdir "$C/x/d"
    for name in d/f m n o; do echo theirs >"$C/x/$name"; done
    git -C "$C/x" add d m n o && git -C "$C/x" commit -qm n
    "$MAS" merge -q "$ID" x
    echo mine >"$P/n"
    echo mine >"$P/o"
    ln -s "$T" "$P/d" # followed, it shows no f
    ln -s nowhere "$P/m"
    printf '%s\n' d m n >>"$P/.git/info/exclude"
    BEFORE=$(project_state)
    mas land "$ID"
    refused 4 "mas: cannot land onto 'main': in its work tree '$P' these are in the way, and the branch does not have them: d, m, n, o"$'\n'
    rm "$P/n" "$P/m" "$P/d"
    mv "$P/o" "$P/other"
    # what landing does not touch stays, changed, staged, removed or new; nor is a touched file in the way
    echo new >"$P/new" && git -C "$P" add new && echo newer >"$P/new"
    touch -d 2001-01-01 "$P/a"
    ok land "$ID"
    [ "$(git -C "$P" status --porcelain)" = $' M c\nAM new\n?? other' ]
    [ "$(tail -n 1 "$P/c")$(cat "$P/new" "$P/other" "$P/n")" = $'my changenewer\nmine\ntheirs' ]
}

@test "a commit that a person makes while it lands is not lost" {
    make_team -t trio
    work
    git -C "$P" branch other
    mkdir "$T/bin"
    # the person commits just before the branch moves
    cat >"$T/bin/git" <<SH
#!/bin/sh
case "\$*" in
*'update-ref -m mas land'*)
    env -i HOME="$HOME" PATH="$PATH" sh -c '
        cd "$P" && git update-ref "refs/heads/\$0" "\$(git commit-tree -p "\$0" -m mine "\$0^{tree}")"' \
        "\$(cat "$T/onto")" ;;
esac
exec $(command -v git) "\$@"
SH
    chmod +x "$T/bin/git"
    for onto in other main; do
        echo "$onto" >"$T/onto"
        run --separate-stderr env PATH="$T/bin:$PATH" "$MAS" land --onto "$onto" "$ID"
        [ "$status" -eq 4 ]
        [[ $stderr == "mas: cannot land onto '$onto': "*'the branch has moved; try again' ]]
        [ "$(git -C "$P" log -1 --format=%s "$onto")" = mine ]
        clean
        whole
        ok land --onto "$onto" "$ID"
        git -C "$P" log --format=%s "$onto" | grep -qx mine
        [ "$(git -C "$P" show "$onto:a" | head -n 1)" = one ]
    done
}

@test "an operation of git that is in progress is in the way" {
    make_team -t trio
    work
    git -C "$P" checkout -q -b side && sed -i '10s/.*/side/' "$P/a" && git -C "$P" commit -qam side
    git -C "$P" checkout -q main && sed -i '10s/.*/main/' "$P/a" && git -C "$P" commit -qam main
    run ! git -C "$P" merge -q side
    BEFORE=$(project_state)
    mas land "$ID"
    refused 4 "mas: cannot land onto 'main': a merge is in progress in '$P'"
    # also once its conflicts are resolved
    git -C "$P" checkout -q --ours a && git -C "$P" add a
    BEFORE=$(project_state)
    mas land "$ID"
    refused 4 "mas: cannot land onto 'main': a merge is in progress in '$P'"
}

@test "a checkout with CRLF, as its person's settings have it, is clean and stays so" {
    git config --global core.autocrlf true
    for name in a b; do printf '%s\n' one two >"$P/$name.txt"; done
    git -C "$P" add . && git -C "$P" commit -qm text
    rm "$P"/* && git -C "$P" checkout -q .
    [ "$(grep -c $'\r' "$P/a.txt")" = 2 ]
    make_team -t trio
    [ "$(grep -c $'\r' "$C/x/a.txt" || true)" = 0 ]
    # git in an agent's work tree leaves the files as mas has made them
    rm "$C/x/a.txt" && git -C "$C/x" checkout -q a.txt
    [ "$(grep -c $'\r' "$C/x/a.txt" || true)" = 0 ]
    change x a.txt 1 agent
    "$MAS" merge -q "$ID" x
    ok land "$ID"
    [ "$(head -n 1 "$P/a.txt")" = $'agent\r' ]
    clean
    # nor does what is taken along change all lines
    sed -i '2s/.*/mine\r/' "$P/b.txt"
    make_team -t trio --with-changes
    [ "$(team_git diff --numstat refs/mas/changes^ refs/mas/changes)" = $'1\t1\tb.txt' ]
}

@test "--onto names another branch; one that is not checked out moves alone" {
    make_team -t trio
    work
    git -C "$P" branch release
    tree=$(cd "$P" && find . -path ./.git -prune -o -type f -print0 | xargs -0 sha256sum)
    ok land "$ID" --onto release
    [ "$(tip release)" = "$(main_of)" ]
    [ "$(tip main)" != "$(main_of)" ]
    [ "$(cd "$P" && find . -path ./.git -prune -o -type f -print0 | xargs -0 sha256sum)" = "$tree" ]
    clean
    BEFORE=$(project_state)
    mas land "$ID" --onto nowhere
    refused 3 "mas: cannot land onto 'nowhere': project '$P' has no such branch"
    for name in -x HEAD .. 'a b' refs/../x 'x~1' '@{-1}'; do
        mas land "$ID" --onto="$name"
        [ "$status" -eq 2 ] || [ "$status" -eq 3 ]
        [ "$(project_state)" = "$BEFORE" ]
    done
}

@test "a branch that is checked out in another work tree is refused" {
    make_team -t trio
    work
    git -C "$P" worktree add -q -b side "$T/side tree"
    BEFORE=$(project_state)
    mas land "$ID" --onto side
    refused 4 "mas: cannot land onto 'side': it is checked out in another work tree, '$T/side tree'"
    [ -z "$(git -C "$T/side tree" status --porcelain)" ]
}

@test "a project that is a linked work tree, or whose path is odd, is landed in" {
    git -C "$P" worktree add -q -b side "$T/side"
    main=$P
    P=$T/side # the project of this session
    make_team -t trio
    work
    ok land "$ID"
    [ "$(tip side)" = "$(main_of)" ]
    clean
    [ "$(git -C "$main" status --porcelain)" = '' ]
    make_project "$T/-odd #(x) 'q\" é"
    make_team -t trio
    work
    ok land "$ID"
    clean
    [ "$(tip)" = "$(main_of)" ]
}

@test "a bare project gets the branch" {
    git clone -q --bare "$P" "$T/bare.git"
    P=$T/bare.git
    make_team -t trio
    work
    ok land "$ID"
    [ "$(git -C "$P" rev-parse main)" = "$(main_of)" ]
    GIT_DIR=$P git fsck
}

@test "a session that began at no branch needs --onto" {
    git -C "$P" checkout -q --detach
    make_team -t trio
    work
    BEFORE=$(project_state)
    mas land "$ID"
    refused 2 'mas: cannot land: the session began at no branch'
    ok land "$ID" --onto main
    [ "$(tip main)" = "$(main_of)" ]
    [ "$(head -n 1 "$P/a")" = 'a 1' ]
}

@test "a project that was moved or removed is said; the session keeps everything" {
    make_team -t trio
    work
    mv "$P" "$T/moved"
    fails 3 land "$ID"
    [[ $stderr == "mas: cannot find project '$P': it was moved or removed"$'\n'*"mas set SESSION project=DIR" ]]
    ok diff "$ID"
    change z c 1 z
    ok merge "$ID" z
    ln -s "$T/moved" "$P"
    ok land "$ID"
    [ "$(tip)" = "$(main_of)" ]
    # its objects are its own
    rm -rf "$T/moved"
    team_git fsck --strict --no-dangling
}

@test "a project that was moved, cloned anew, or is no repository any more is named anew" {
    make_team -t trio
    work
    rm -rf "$P/.git"
    fails 2 land "$ID"
    [[ $stderr == "mas: cannot use project '$P': "*$'\n'*"mas set SESSION project=DIR" ]]
    # another repository is refused, and what is no repository
    git init -q "$T/else" && git -C "$T/else" commit -q --allow-empty -m other
    for dir in "$T/else" "$T/none" "$P"; do
        mas set "$ID" "project=$dir"
        [ "$status" -ne 0 ]
        [ "$(jq -r .project.path "$ROOT/sessions/$ID/config.json")" = "$P" ]
    done
    git clone -q --bare "$G" "$T/again.git"
    git --git-dir="$T/again.git" update-ref refs/heads/main "$(team_git rev-parse refs/mas/base)"
    cd "$T"
    MAS_AGENT_ID=x fails 1 set "$ID" project=again.git
    ok set "$ID" project=again.git
    ok land "$ID"
    [ "$(git --git-dir="$T/again.git" rev-parse main)" = "$(main_of)" ]
    [ "$(jq -r '.project | "\(.path) \(.onto)"' "$ROOT/sessions/$ID/config.json")" = "$T/again.git refs/heads/main" ]
}

@test "nothing in the project changes but the branch: no hook, filter or driver of it runs" {
    printf '* filter=evil diff=evil merge=evil\n' >"$P/.gitattributes"
    git -C "$P" add . && git -C "$P" commit -qm attributes
    make_team -t trio
    for name in post-checkout post-merge pre-commit reference-transaction post-update update pre-push; do
        printf '#!/bin/sh\ntouch "%s/ran.%s"\n' "$T" "$name" >"$P/.git/hooks/$name"
        chmod +x "$P/.git/hooks/$name"
    done
    git -C "$P" config core.fsmonitor "touch '$T/ran.fsmonitor'"
    git -C "$P" config core.sshCommand "touch '$T/ran.ssh'"
    git -C "$P" config diff.evil.command "touch '$T/ran.diff'"
    git -C "$P" config merge.evil.driver "touch '$T/ran.merge'"
    git -C "$P" config alias.status "!touch '$T/ran.alias'"
    git -C "$P" config filter.other.process "touch '$T/ran.other'"
    config=$(sha256sum "$P/.git/config")
    work
    sed -i '19s/.*/person/' "$P/a"
    git -C "$P" -c core.hooksPath=/dev/null -c core.fsmonitor=false commit -qam person
    ok land "$ID" --merge
    compgen -G "$T/ran.*" && return 1
    [ "$(sha256sum "$P/.git/config")" = "$config" ]
    [ "$(head -n 1 "$P/a")" = one ]
}

@test "--rebase puts each commit onto the branch, without merges, with its author and message" {
    make_team -t trio
    work
    sed -i '20s/.*/person/' "$P/c" && git -C "$P" commit -qam 'Person'
    git -C "$C/z" -c user.name='Other Ä' commit -q --allow-empty -m 'empty'
    sed -i '3s/.*/z/' "$C/z/c" && git -C "$C/z" -c user.name='Other Ä' commit -qam 'Subject

Body of z'
    "$MAS" merge -q "$ID" z
    base=$(tip)
    ok land "$ID" --rebase
    [ "$(git -C "$P" rev-list --merges "$base..main")" = '' ]
    [ "$(git -C "$P" rev-list --count "$base..main")" = 4 ]
    [ "$(git -C "$P" merge-base "$base" main)" = "$base" ]
    git -C "$P" log --format='%an|%cn|%B' "$base..main" >"$T/log"
    grep -qx 'Other Ä|Person|Subject' "$T/log"
    grep -qx 'Body of z' "$T/log"
    grep -qx 'Person|Person|x: one' "$T/log"
    [ "$(tail -n 1 "$P/c")$(sed -n 3p "$P/c")$(head -n 1 "$P/a")" = personzone ]
    clean
    whole
    ok land "$ID" --rebase
    [[ $output == 'nothing to land: main has all of mas/'*/main ]]
    ok rm "$ID"
}

@test "--rebase refuses a commit that conflicts, and a merge that has changes of its own" {
    make_team -t trio
    change x a 1 one
    "$MAS" merge -q "$ID" x
    sed -i '1s/.*/person/' "$P/a" && git -C "$P" commit -qam 'Person'
    BEFORE=$(project_state)
    mas land "$ID" --rebase
    refused 4 "mas: cannot land session '$ID': commit $(git -C "$C/x" rev-parse HEAD | cut -c1-12) conflicts in a"
    git -C "$P" reset -q --hard HEAD^
    change y b 1 two
    git -C "$C/y" fetch -q team && git -C "$C/y" merge -q --no-commit team/main
    echo evil >"$C/y/evil" && git -C "$C/y" add evil && git -C "$C/y" commit -qm 'evil merge'
    "$MAS" merge -q "$ID" y
    BEFORE=$(project_state)
    mas land "$ID" --rebase
    refused 4 "mas: cannot land 'mas/$L/main': cannot replay the commits: a merge among them has changes of its own"
}

@test "only one of --merge, --squash and --rebase, and --pr alone" {
    make_team -t trio
    for options in '--merge --squash' '--merge --rebase' '--squash --rebase' '--pr --push' '--pr --rebase' \
        '--rebase -m text' '--pr --check' '--pr --dry-run' '--dry-run --push' '--dry-run --check'; do
        # shellcheck disable=SC2086 # words
        fails 2 land "$ID" $options
    done
}

@test "--push pushes the branch without force; if that fails the branch has landed" {
    git clone -q --bare "$P" "$T/remote.git"
    make_team -t trio
    work
    fails 4 land "$ID" --push
    [[ $stderr == *'has no remote'* ]]
    [ "$(tip)" = "$(main_of)" ]
    git -C "$P" remote add origin "$T/remote.git"
    ok land "$ID" --push
    [ "$(GIT_DIR=$T/remote.git git rev-parse main)" = "$(main_of)" ]
    # the remote has moved on
    git clone -q "$T/remote.git" "$T/other"
    git -C "$T/other" commit -q --allow-empty -m other && git -C "$T/other" push -q
    theirs=$(GIT_DIR=$T/remote.git git rev-parse main)
    change z c 1 z
    "$MAS" merge -q "$ID" z
    fails 1 land "$ID" --push
    [[ $stderr == *"cannot push to 'origin'"*'the branch has landed'* ]]
    [ "$(tip)" = "$(main_of)" ]
    [ "$(GIT_DIR=$T/remote.git git rev-parse main)" = "$theirs" ]
}

@test "--push goes where git push would: to pushRemote, pushDefault, the remote of the branch" {
    for name in origin fork own; do
        git clone -q --bare "$P" "$T/$name.git"
        git -C "$P" remote add "$name" "$T/$name.git"
    done
    at() { GIT_DIR=$T/$1.git git rev-parse main; }
    git -C "$P" config branch.main.remote origin
    git -C "$P" config remote.pushDefault fork
    make_team -t trio
    before=$(tip)
    work
    ok land "$ID" --push
    [ "$(at fork)" = "$(main_of)" ]
    [ "$(at origin)" = "$before" ]
    git -C "$P" config branch.main.pushRemote own
    before=$(tip)
    change z c 1 z
    "$MAS" merge -q "$ID" z
    ok land "$ID" --push
    [ "$(at own)" = "$(main_of)" ] && [ "$(at fork)" = "$before" ]
}

@test "--pr pushes the team's branch and opens a pull request, or goes on with the one there is; no branch of the project moves" {
    git clone -q --bare "$P" "$T/remote.git"
    git -C "$P" remote add origin "$T/remote.git"
    make_team -t trio -n login
    work
    before=$(tip)
    # without gh it says what a person has to do
    mkdir "$T/most" # of the programs
    ln -s /usr/bin/* "$T/most/"
    rm -f "$T/most/gh"
    PATH=$T/most ok land "$ID" --pr
    [ "$stderr" = 'mas: warning: gh is not in PATH, so this is left to you: push the branch, then open the page' ]
    [ "$output" = "git -C $P push -- origin $(main_of):refs/heads/mas/login" ]
    run ! git --git-dir="$T/remote.git" rev-parse -q --verify mas/login
    [ "$(tip)" = "$before" ]
    PATH=$T/most "$MAS" land "$ID" --pr >"$T/push" 2>/dev/null
    sh -e "$T/push"
    [ "$(GIT_DIR=$T/remote.git git rev-parse mas/login)" = "$(main_of)" ]
    git -C "$P" push -q origin :mas/login
    git -C "$P" remote set-url origin git@gitlab.com:o/r.git
    PATH=$T/most ok land "$ID" --pr --onto 'it'\''s'
    [ "${lines[1]}" = 'https://gitlab.com/o/r/-/merge_requests/new?merge_request%5Bsource_branch%5D=mas/login&merge_request%5Btarget_branch%5D=it%27s' ]
    git -C "$P" remote set-url origin $'https://me:secret@github.com/o/r\033[31m$(touch x).git'
    PATH=$T/most ok land "$ID" --pr
    [ "${lines[1]}" = 'https://github.com/o/r%1B%5B31m%24%28touch%20x%29/compare/main...mas/login?expand=1' ]
    [[ $output$stderr != *secret* ]]
    git -C "$P" remote set-url origin "$T/remote.git"
    mkdir "$T/bin"
    cat >"$T/bin/gh" <<'P'
#!/bin/sh
T=${0%/bin/*}
{ pwd; printf '%s\n' "$@"; } >>"$T/gh"
[ -z "${GH_SAYS-}" ] || { echo "$GH_SAYS" >&2; exit 1; }
case "$1 $2" in
'pr view') cat "$T/view" ;;
'pr create') printf 'https://github.com/o/r/pull/12\033[m\n' ;;
'api '*) echo '[]' ;;
esac
P
    chmod +x "$T/bin/gh"
    PATH=$T/bin:$PATH ok land "$ID" --pr -m $'Title\n\nText'
    [ "$output" = 'https://github.com/o/r/pull/12\x1b[m' ]
    [ "$(GIT_DIR=$T/remote.git git rev-parse mas/login)" = "$(main_of)" ]
    [ "$(tip)" = "$before" ]
    [ "$(git -C "$P" for-each-ref --format='%(refname)' refs/heads)" = refs/heads/main ]
    [ "$(tail -n 11 "$T/gh")" = "$P"$'\npr\ncreate\n--head\nmas/login\n--base\nmain\n--title\nTitle\n--body\nText' ]
    GH_SAYS=$'no \e[31mway\nusage' PATH=$T/bin:$PATH fails 1 land "$ID" --pr
    [[ $stderr == *$'mas: cannot open a pull request: gh: no \\x1b[31mway\nthe branch \'mas/login\' was pushed; open it on the web' ]]
    # one that is there goes on
    change x a 3 new
    "$MAS" merge -q "$ID" x
    printf '{"number":12,"url":"https://github.com/o/r/pull/12","state":"OPEN","headRefOid":"%s"}' "$(main_of)" >"$T/view"
    rm "$T/gh"
    PATH=$T/bin:$PATH ok land "$ID" --pr
    [ "$output" = https://github.com/o/r/pull/12 ]
    [ "$(GIT_DIR=$T/remote.git git rev-parse mas/login)" = "$(main_of)" ]
    run ! grep -qx create "$T/gh"
    sed -i s/OPEN/MERGED/ "$T/view"
    PATH=$T/bin:$PATH ok land "$ID" --pr
    grep -qx create "$T/gh"
}

@test "[forge] command opens and tells in place of gh; one that is missing is named" {
    git clone -q --bare "$P" "$T/remote.git"
    git -C "$P" remote add origin "$T/remote.git"
    make_team -t trio -n login
    work
    printf '\n[forge]\ncommand = %s/forge --of "a b"\n' "$T" >>"$ROOT/mas.ini"
    fails 3 land "$ID" --pr
    [ "$stderr" = "mas: cannot find '$T/forge', which [forge] command names" ]
    # shellcheck disable=SC2016 # for the script
    printf '#!/bin/sh\nprintf "%%s\\n" "$@" >>"%s/asked"\n[ "$3" != open ] || echo http://x/7\n' "$T" >"$T/forge"
    chmod +x "$T/forge"
    ok land "$ID" --pr -m 'Say it'
    [ "$output" = http://x/7 ]
    [ "$(cat "$T/asked")" = $'--of\na b\nview\nmas/login\n--of\na b\nopen\nmas/login\nmain\nSay it' ]
    # shellcheck disable=SC2016 # for the script
    printf '#!/bin/sh\necho \047{"number":7,"state":"open","url":"http://x/7","head":"%s"}\047\n[ "$3" != open ] || exit 1\n' \
        "$(main_of)" >"$T/forge"
    ok land "$ID" --pr
    [ "$output" = http://x/7 ]
}

# shellcheck disable=SC2016 # for the other shell
@test "only a person lands: an agent is refused, whatever its environment says" {
    make_team -t trio
    work
    BEFORE=$(project_state)
    local way
    for way in '' --squash --push --pr; do
        # shellcheck disable=SC2086 # none or one
        MAS_SESSION_ID=$ID MAS_AGENT_ID=x mas land "$ID" $way
        refused 1 "mas: cannot land: only a person may land, and this is agent 'x'"
    done
    # the supervisor above it tells, as it tells a host
    cp "$(command -v bash)" "$T/mas-supervisor"
    cp "$(command -v bash)" "$T/mas-superv-op"
    run --separate-stderr "$T/mas-supervisor" -c 'env -u MAS_AGENT_ID "$0" land "$1"; exit $?' "$MAS" "$ID"
    refused 1 "mas: cannot land: only a person may land, and this is an agent"
    # a shell in a team is a person's
    MAS_SESSION_ID=$ID MAS_AGENT_ID=x run --separate-stderr "$T/mas-superv-op" -c '"$0" land "$1"; exit $?' "$MAS" "$ID"
    [ "$status" -eq 0 ]
    [ "$(tip)" = "$(main_of)" ]
}

@test "another repository in the place of the project gets nothing" {
    make_team -t trio
    work
    mv "$P" "$T/moved"
    # the same files committed within the same second would be the same commit
    GIT_COMMITTER_DATE='2001-01-01T00:00:00Z' make_project "$P"
    BEFORE=$(project_state)
    for verb in "land $ID" "land $ID --squash" "sync $ID --project"; do
        # shellcheck disable=SC2086 # words
        mas $verb
        refused 4 "mas: cannot use project '$P': it is another repository than the one that the session began with"
    done
    change y c 1 mine
    ok rm -f "$ID"
    [[ $stderr == *'warning: the project did not get the commits'*'it is another repository'* ]]
    [ "$(project_state)" = "$BEFORE" ]
    [ -n "$(ls "$ROOT/lost")" ]
}

# Changes line 7 of the file a of work tree $1 so that git does not see it: within a second of its last
# look, with size and time kept.
change_unseen() {
    local seen
    while :; do
        touch -d 2001-01-01 "$1/a"
        git -C "$1" update-index --refresh >/dev/null
        seen=$(stat -c %Z "$1/a")
        sed 's/a 7/a 8/' "$1/a" >"$T/changed"
        cat "$T/changed" >"$1/a"
        touch -d 2001-01-01 "$1/a"
        [ "$(stat -c %Z "$1/a")" != "$seen" ] || return 0
        git -C "$1" checkout -q -- a
    done
}

@test "a change that git does not see is in the way, but only of the file that landing replaces" {
    make_team -t trio
    change x a 1 one
    "$MAS" merge -q "$ID" x
    change_unseen "$P"
    [ -z "$(git -C "$P" status --porcelain)" ]
    BEFORE=$(project_state)
    mas land "$ID"
    refused 4 "mas: cannot land onto 'main': in its work tree '$P' these have changes, which git does not see yet: a"
    [ "$(sed -n 7p "$P/a")" = 'a 8' ]
    make_team -t trio
    change y b 1 two
    "$MAS" merge -q "$ID" y
    ok land "$ID"
    [ "$(head -n 1 "$P/b")" = two ]
    [ "$(sed -n 7p "$P/a")" = 'a 8' ]
}

@test "a filter of the project does not run; what needs it lands on a branch that is not checked out" {
    local key
    for key in clean smudge process; do git -C "$P" config "filter.evil.$key" "touch '$T/ran.$key'"; done
    git -C "$P" config filter.evil.required true
    make_team -t trio
    work # of a and b
    printf 'c filter=evil\n' >"$C/x/.gitattributes"
    git -C "$C/x" add .gitattributes
    git -C "$C/x" commit -qm attributes
    "$MAS" merge -q "$ID" x
    ok land "$ID"
    clean_of_evil() { run ! compgen -G "$T/ran.*"; }
    clean_of_evil
    [ "$(head -n 1 "$P/a")" = one ]
    git -C "$C/z" fetch -q team
    git -C "$C/z" merge -q team/main
    change z c 1 three
    "$MAS" merge -q "$ID" z
    rm -f "$T"/ran.*
    BEFORE=$(project_state)
    mas land "$ID"
    refused 4 "mas: cannot land onto 'main': 'c' needs a filter of the project, and mas runs none"
    git -C "$P" branch side
    ok land "$ID" --onto side
    clean_of_evil
    [ "$(git -C "$P" show side:c | head -n 1)" = three ]
}

# All of the project and the root, with inodes and times.
everything() { find "$P" "$ROOT" -printf '%p %i %m %s %T@ %C@ %l\n' | sort; }

# dry CODE TEXT OPTION...: a dry run ends so and says so, and no inode has changed.
dry() {
    before=$(everything)
    fails "$1" land "$ID" --dry-run "${@:3}"
    [[ $output$stderr == "$2"* ]] || { echo "$output$stderr" >&2 && return 1; }
    [ "$(everything)" = "$before" ]
}

@test "--dry-run says what would land, and changes nothing at all" {
    make_team -t trio
    dry 0 'nothing to land'
    work
    dry 0 "4 commits would land on main of $P: forward"
    dry 0 "4 commits would land on main of $P: as one commit" --squash
    git -C "$P" branch other
    git -C "$P" switch -q other
    dry 0 "4 commits would land on other of $P: by a merge" --onto other -m text
    git -C "$P" switch -q main
    echo other >"$P/other" && git -C "$P" add other && git -C "$P" commit -qm other
    dry 0 "4 commits would land on main of $P: by a merge"
    dry 0 "4 commits would land on main of $P: one by one" --rebase
    dry 3 "mas: cannot land onto 'none': project '$P' has no such branch" --onto none
    # what would refuse the landing refuses it here
    echo mine >>"$P/a"
    dry 4 "mas: cannot land onto 'main': in its work tree '$P' it would overwrite changes of these: a"
    git -C "$P" commit -qam mine
    sed -i '1s/.*/else/' "$P/a" && git -C "$P" commit -qam else
    dry 4 "mas: cannot land session '$ID': it conflicts in a"
    git -C "$P" reset -q --hard HEAD~2
    ok land "$ID"
    dry 0 'nothing to land'
    echo '{}' >"$G/landing"
    dry 4 'mas: cannot say what would land: a landing was killed'
}

@test "a dry run that is ended leaves nothing in /tmp, and what one that was killed has left goes" {
    make_team -t trio
    work
    mkdir "$T/bin"
    echo other >"$P/other" && git -C "$P" add other && git -C "$P" commit -qm other
    # git waits for its end where it writes the commit that would land
    cat >"$T/bin/git" <<SH
#!/bin/sh
case "\$*" in
*commit-tree*)
    echo "\$GIT_OBJECT_DIRECTORY" >"$T/hung"
    exec sleep 60 ;;
esac
exec $(command -v git) "\$@"
SH
    chmod +x "$T/bin/git"
    for signal in INT TERM KILL; do
        PATH="$T/bin:$PATH" setsid env --default-signal=INT,TERM "$MAS" land --dry-run --squash "$ID" >/dev/null 2>&1 3>&- &
        pid=$!
        eventually test -s "$T/hung"
        dir=$(cat "$T/hung")
        rm "$T/hung"
        [[ $dir == /tmp/mas-land.*/objects ]]
        [ -d "$dir" ]
        # a sweep takes no directory that is in use
        ok land --dry-run "$ID"
        [ -d "$dir" ]
        kill -s "$signal" -- "-$pid"
        wait "$pid" || true
        if [ "$signal" = KILL ]; then
            ok land --dry-run "$ID"
        fi
        [ ! -e "${dir%/objects}" ]
    done
}

@test "--check runs the check of merges on what would land, and lands only if it succeeds" {
    make_team -t trio -n login
    fails 2 land "$ID" --check
    [ "$stderr" = "mas: cannot use --check: there is no check
set one in mas.ini: [code] check = COMMAND" ]
    work
    echo other >"$P/other" && git -C "$P" add other && git -C "$P" commit -qm other
    BEFORE=$(project_state)
    # what has come to the project meanwhile is there with what the team has done
    printf '[code]\ncheck = sh -c "head -qn 1 a b other; exit 3"\n' >>"$ROOT/mas.ini"
    mas land "$ID" --check
    refused 1 $'one\nthree\nother\nmas: cannot land: [code] check failed: it ended with exit code 3\nsee all of its output in '
    sed -i 's/exit 3/exit 0/' "$ROOT/mas.ini"
    ok land "$ID" --check
    [[ $output == '4 commits landed on main of '* ]]
    [ "$(cat "$P/other")$(head -n 1 "$P/a")" = otherone ]
    ok land "$ID" --check
    [[ $output == 'nothing to land: main has all of mas/'*/main ]]
}
