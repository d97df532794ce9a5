#!/usr/bin/env bats
load ../helper

# A project with submodules.

setup_more() {
    git config --global user.name Person
    git config --global user.email person@example.org
    git config --global init.defaultBranch main
    git config --global protocol.file.allow always
    for name in inner outer project; do
        git init -q "$T/$name"
        echo "$name" >"$T/$name/$name"
        git -C "$T/$name" add .
        git -C "$T/$name" commit -qm "$name"
    done
    git -C "$T/outer" submodule --quiet add "$T/inner" in
    git -C "$T/outer" commit -qm in
    P=$T/project
    git -C "$P" submodule --quiet add "$T/outer" lib/out
    git -C "$P" submodule --quiet update --init --recursive
    git -C "$P" commit -qm out
}

make_on() {
    ID=$("$MAS" new -q --no-start -t pair --project "$@") || return
    W=$ROOT/sessions/$ID
}

state() { (cd "$P" && find . -printf '%P %m %T@\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum); }

@test "each work tree gets the files of submodules from the person's checkout, without a network" {
    rm -rf "$T/inner" "$T/outer"
    before=$(state)
    make_on "$P"
    [ "$(state)" = "$before" ]
    for tree in lead view; do
        [ "$(cat "$W/code/$tree/lib/out/outer" "$W/code/$tree/lib/out/in/inner" | xargs)" = 'outer inner' ]
        [ -z "$(git -C "$W/code/$tree" status --porcelain --ignored)" ]
    done
    [ ! -e "$W/code/view/lib/out/.git" ] # its agents only read
    echo more >>"$W/code/lead/project"
    git -C "$W/code/lead" add -A
    git -C "$W/code/lead" commit -qm more
    [ "$(git -C "$W/code/lead" diff --name-only HEAD^)" = project ]
    run "$MAS" merge "$ID" lead
    [ "$status" -eq 0 ]
    [ "$(cat "$W/code/view/lib/out/in/inner")" = inner ]
    git -C "$W/code/lead" reset -q --hard HEAD^
    ok diff "$ID" --stat
}

@test "what is changed in a submodule is work" {
    make_on "$P"
    A=$W/code/lead/lib/out
    echo more >>"$A/in/inner"
    fails 4 rm "$ID"
    [[ $stderr == *"lead, submodule 'lib/out/in': 1 file not committed: inner"* ]]
    echo inner >"$A/in/inner"
    echo new >"$A/new"
    fails 4 rm "$ID"
    [[ $stderr == *"lead, submodule 'lib/out': 1 file not committed: new"* ]]
    rm "$A/new"
    mv "$A/in" "$T/in"
    fails 4 rm "$ID"
    mv "$T/in" "$A/in"
    echo x >"$W/code/view/lib/out/x"
    fails 4 rm "$ID"
    [[ $stderr == *"the view, submodule 'lib/out': 1 file not committed: x"* ]]
    rm "$W/code/view/lib/out/x"
    ok rm "$ID"
}

@test "what is changed in a submodule is counted by status and list, and shown by diff" {
    make_on "$P"
    figures() { "$MAS" status "$ID" --json | jq -c '.sessions[0].agents[] | select(.id == "lead").code.changed'; }
    [ "$(figures)" = 0 ]
    mas diff "$ID" lead
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    echo more >>"$W/code/lead/lib/out/in/inner"
    echo new >"$W/code/lead/lib/out/new"
    [ "$(figures)" = 2 ]
    [ "$("$MAS" list --json | jq '.sessions[0].code.changed')" = 2 ]
    mas diff "$ID" lead --stat
    [[ $output == *"lib/out/new | 1 +"*"lib/out/in/inner | 1 +"* ]]
    mas diff "$ID" lead
    [[ $output == *"+++ b/lib/out/new"*+new*"+++ b/lib/out/in/inner"*+more* ]]
    mas diff "$ID" lead --json
    [ "$(jq -c '.agents[0] | [.changedFiles, (.files[] | [.path, .status, .added, .hunks[0].lines[-1]])]' <<<"$output")" = \
        '[2,["lib/out/new","added",1,"+new"],["lib/out/in/inner","modified",1,"+more"]]' ]
    mas diff "$ID" lead --since-look
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    # a commit there is one here that names another
    git -C "$W/code/lead/lib/out" add new
    git -C "$W/code/lead/lib/out" commit -qm new
    mas diff "$ID" lead
    [[ $output == *"+Subproject commit "*"+++ b/lib/out/new"*"+++ b/lib/out/in/inner"* ]]
    git -C "$W/code/lead/lib/out" reset -q --hard HEAD^
    echo inner >"$W/code/lead/lib/out/in/inner"
    [ "$(figures)" = 0 ]
    ok rm "$ID"
}

@test "submodules that are not checked out are left out, with a word, and stay so" {
    git clone -q "$P" "$T/clone"
    ok new -q --no-start -t pair --project "$T/clone"
    [ "$stderr" = "mas: warning: submodule 'lib/out' is not checked out in '$T/clone', and is left out" ]
    W=$ROOT/sessions/$output
    [ -z "$(ls -A "$W/code/lead/lib/out")" ]
    [ -z "$(git -C "$W/code/lead" status --porcelain)" ]
    ok rm "$output"
    git clone -q --bare "$P" "$T/bare"
    ok new -q --no-start -t pair --project "$T/bare"
    [[ $stderr == "mas: warning: submodule 'lib/out' is not checked out in '$T/bare'"* ]]
    git -C "$P/lib/out" submodule --quiet deinit --force in
    ok new -q --no-start -t pair --project "$P"
    [[ $stderr == "mas: warning: submodule 'lib/out/in' is not checked out in '$P'"* ]]
    W=$ROOT/sessions/$output
    [ "$(cat "$W/code/lead/lib/out/outer")" = outer ]
    [ -z "$(ls -A "$W/code/lead/lib/out/in")" ]
    # what goes on in the session leaves them out, too
    echo more >>"$W/code/lead/project" && git -C "$W/code/lead" commit -qam more
    ok merge "$output" lead
    [ -z "$stderr" ]
    [ "$(cat "$W/code/view/lib/out/outer")" = outer ]
}

@test "a submodule whose checkout lacks the commit, or is gone while the session has its files, is refused" {
    make_on "$P"
    git -C "$P" submodule --quiet deinit --force lib/out
    git -C "$P" rm -q --cached .gitmodules && git -C "$P" commit -qm change
    ok sync "$ID" --project
    [ "$(cat "$W/code/lead/lib/out/outer")" = outer ]
    git -C "$P" update-index --cacheinfo "160000,$(git -C "$T/outer" rev-parse HEAD^),lib/out"
    git -C "$P" commit -qm older
    mas sync "$ID" --project
    [[ $stderr == *"its submodule 'lib/out' is not checked out any more"* ]]
    [ "$(cat "$W/code/lead/lib/out/outer")" = outer ]
    before=$(snapshot)
    git -C "$P" checkout -q HEAD~2 -- .gitmodules
    git -C "$P" submodule --quiet update --init lib/out
    git -C "$P" update-index --cacheinfo "160000,$(git -C "$P" rev-parse HEAD),lib/out"
    git -C "$P" commit -qm wrong
    fails 2 new --no-start -t pair --project "$P"
    [[ $stderr == *"its submodule 'lib/out' does not have the commit that the project names"* ]]
    [ "$(snapshot)" = "$before" ]
}

@test "a repository that an agent plants in its work tree runs nothing" {
    make_on "$P"
    A=$W/code/lead
    git init -q "$A/sub"
    echo x >"$A/sub/f"
    git -C "$A/sub" add f
    git -C "$A/sub" commit -qm sub
    git -C "$A" add sub 2>/dev/null
    git -C "$A" commit -qm link
    # shellcheck disable=SC2016 # a script
    printf '#!/bin/sh\necho "$0" >>%s/ran\ncat\n' "$T" >"$T/evil"
    chmod 755 "$T/evil"
    git -C "$A/sub" config filter.f.clean "$T/evil"
    echo '* filter=f' >"$A/sub/.git/info/attributes"
    echo y >"$A/sub/f"
    git -C "$A" status >/dev/null
    [ -e "$T/ran" ] # git alone runs it
    rm "$T/ran"
    for verb in status "diff $ID" "rm $ID" "merge $ID lead" "sync $ID" "rm -f $ID"; do
        # shellcheck disable=SC2086 # words
        mas $verb
        [ ! -e "$T/ran" ]
    done
}

# Makes a commit in the person's checkout of lib/out, and one in the project that names it.
advance_out() {
    echo "$1" >"$P/lib/out/outer"
    echo "$1" >"$P/lib/out/$1"
    git -C "$P/lib/out" add .
    git -C "$P/lib/out" commit -qm "$1"
    git -C "$P" commit -qam "$1"
}

@test "sync and merge bring a submodule to the commit that the project names now" {
    make_on "$P"
    advance_out second
    ok sync "$ID" --project
    ok sync "$ID" lead
    for tree in lead view; do
        [ "$(cat "$W/code/$tree/lib/out/outer" "$W/code/$tree/lib/out/second" "$W/code/$tree/lib/out/in/inner" | xargs)" = 'second second inner' ]
        [ -z "$(git -C "$W/code/$tree" status --porcelain --ignored)" ]
    done
    ok rm "$ID"
}

@test "a submodule that was moved, removed or added moves with the files around it" {
    make_on "$P"
    git -C "$P" mv lib/out vendor
    git -C "$P" commit -qm moved
    mas sync "$ID" --project
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    ok sync "$ID" lead
    for tree in lead view; do
        [ "$(cat "$W/code/$tree/vendor/outer" "$W/code/$tree/vendor/in/inner" | xargs)" = 'outer inner' ]
        [ ! -e "$W/code/$tree/lib" ]
        [ -z "$(git -C "$W/code/$tree" status --porcelain --ignored)" ]
    done
    git -C "$P" submodule --quiet add "$T/inner" more
    git -C "$P" rm -qf vendor
    git -C "$P" commit -qm other
    mas sync "$ID" --project
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    ok sync "$ID" lead
    for tree in lead view; do
        [ "$(cat "$W/code/$tree/more/inner")" = inner ]
        [ ! -e "$W/code/$tree/vendor" ]
        [ -z "$(git -C "$W/code/$tree" status --porcelain --ignored)" ]
    done
    ok rm "$ID"
}

@test "a submodule in which an agent has changed a file stays as it is, and sync says so" {
    make_on "$P"
    echo mine >>"$W/code/lead/lib/out/outer"
    advance_out second
    fails 4 sync "$ID" --project
    [[ $stderr == *"cannot update the submodules of 'code/lead': 'lib/out/outer' was changed there"* ]]
    [ "$(tail -1 "$W/code/lead/lib/out/outer")" = mine ]
    fails 4 rm "$ID"
    [[ $stderr == *"lead, submodule 'lib/out': 1 file not committed: outer"* ]]
}

@test "a commit that an agent makes in a submodule while its work tree is moved is not taken away" {
    make_on "$P"
    A=$W/code/lead/lib/out
    advance_out second
    mkdir "$T/bin"
    cat >"$T/bin/git" <<SH
#!/bin/sh
$(command -v git) "\$@"
status=\$?
case "\$*" in
*'ls-files -z --others --exclude-standard'*)
    (cd '$A' && env -i HOME=/ PATH="$PATH" git -c user.name=x -c user.email=y commit -q --allow-empty -m mine) ;;
esac
exit \$status
SH
    chmod +x "$T/bin/git"
    PATH=$T/bin:$PATH fails 4 sync "$ID" --project lead
    [[ $stderr == *"cannot update the submodules of 'code/lead': 'lib/out' was changed there"* ]]
    [ "$(git -C "$A" log -1 --format=%s)" = mine ]
}

@test "git in an agent's work tree knows the submodules, and update has nothing to fetch" {
    rm -rf "$T/inner" "$T/outer"
    make_on "$P"
    A=$W/code/lead
    heads() { git -C "$1" submodule status --recursive | cut -d" " -f1-3; }
    [ "$(heads "$A")" = "$(heads "$P")" ]
    git -C "$A" submodule update --init --recursive
    [ "$(git -C "$A/lib/out" rev-parse HEAD)" = "$(git -C "$P/lib/out" rev-parse HEAD)" ]
    [ "$(git -C "$A/lib/out/in" rev-parse --show-toplevel)" = "$A/lib/out/in" ]
    [ "$(git -C "$A/lib/out" log --format=%s | xargs)" = 'in outer' ]
    [ "$(git -C "$A" config submodule.lib/out.active)" = true ]
    [ "$(git -C "$A" config submodule.lib/out.url)" = "$T/outer" ]
    rm "$A/lib/out/outer"
    git -C "$A/lib/out" checkout -q outer
    git -C "$A" submodule --quiet update --init --force
    [ -z "$(git -C "$A" status --porcelain --ignored)" ]
    [ "$("$MAS" status "$ID" --json | jq '.sessions[0].agents[] | select(.id == "lead").code.changed')" = 0 ]
    ok rm "$ID"
}

# The agent commits in a submodule, and has its own commit name that one.
commit_inside() {
    echo "${1-agent}" >"$A/lib/out/agent"
    git -C "$A/lib/out" add agent
    git -C "$A/lib/out" commit -qm agent
    X=$(git -C "$A/lib/out" rev-parse HEAD)
    git -C "$A" add lib/out
    git -C "$A" commit -qm 'lib/out: agent'
}

link_of() { git -C "$1" rev-parse "HEAD:$2"; }

@test "a commit in a submodule is merged and landed: it comes into the project's checkout, then the pointer" {
    make_on "$P"
    A=$W/code/lead
    echo more >>"$A/lib/out/in/inner"
    git -C "$A/lib/out/in" commit -qam inside
    git -C "$A/lib/out" add in
    commit_inside
    fails 4 rm "$ID"
    mas merge "$ID" lead
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "$(cat "$W/code/view/lib/out/agent" "$W/code/view/lib/out/in/inner" | xargs)" = 'agent inner more' ]
    mas land "$ID"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [[ $output == *$'\n'"submodules are at other commits; get their files with: git -C $P submodule update" ]]
    [ "$(link_of "$P" lib/out)" = "$X" ]
    [ "$(git -C "$P/lib/out" rev-parse "refs/mas/landed/$X")" = "$X" ]
    git -C "$P" submodule --quiet update --no-fetch --recursive
    [ "$(cat "$P/lib/out/agent" "$P/lib/out/in/inner" | xargs)" = 'agent inner more' ]
    # the next one is on top of it, and the project's next comes back
    commit_inside again
    mas merge "$ID" lead
    ok land "$ID"
    git -C "$P" submodule --quiet update --no-fetch --recursive
    [ "$(cat "$P/lib/out/agent")" = again ]
    advance_out second
    mas sync "$ID" --project
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    ok sync "$ID" lead
    [ "$(cat "$A/lib/out/second" "$A/lib/out/agent" | xargs)" = 'second again' ]
    [ "$(git -C "$A/lib/out" rev-parse HEAD)" = "$(link_of "$P" lib/out)" ]
    [ -z "$(git -C "$A" status --porcelain --ignored)" ]
    ok rm "$ID"
}

@test "a damaged commit of a submodule is not taken, and land refuses one that is nowhere" {
    make_on "$P"
    A=$W/code/lead
    commit_inside
    object=$A/.git/modules/lib/out/objects/$(git -C "$A/lib/out" rev-parse HEAD:agent | sed 's|^..|&/|')
    chmod u+w "$object"
    echo bad >"$object"
    fails 5 merge "$ID" lead
    git -C "$A" reset -q --hard HEAD^
    git -C "$A" update-index --cacheinfo "160000,$(printf '1%.0s' {1..40}),lib/out"
    git -C "$A" commit -qm nowhere
    ok merge "$ID" lead
    [[ $stderr == *"its submodule 'lib/out' does not have the commit that the project names"* ]]
    before=$(state)
    fails 4 land "$ID"
    [ "$stderr" = "mas: cannot land onto 'main': submodule 'lib/out' is at commit 1111111111, which its checkout in the project does not have
fetch it there first, from where it was made" ]
    [ "$(state)" = "$before" ]
}

@test "a repository of a submodule that leads elsewhere, or runs programs, is read as a stranger's" {
    make_on "$P"
    A=$W/code/lead
    # shellcheck disable=SC2016 # a script
    printf '#!/bin/sh\necho "$0" >>%s/ran\ncat\n' "$T" >"$T/evil"
    chmod 755 "$T/evil"
    git -C "$A/lib/out" config filter.f.clean "$T/evil"
    git -C "$A/lib/out" config core.fsmonitor "$T/evil"
    mkdir -p "$A/.git/modules/lib/out/info"
    echo '* filter=f' >"$A/.git/modules/lib/out/info/attributes"
    commit_inside
    rm -f "$T/ran"
    echo "$T/outer/.git/objects" >"$A/.git/modules/lib/out/objects/info/alternates"
    fails 5 merge "$ID" lead
    [[ $stderr == *"borrows objects from elsewhere"* ]]
    fails 4 rm "$ID"
    echo "gitdir: $T/outer/.git" >"$A/lib/out/.git"
    fails 5 merge "$ID" lead
    [[ $stderr == *"'lib/out/.git' names no repository in the work tree"* ]]
    echo "gitdir: ../../../../../../outer/.git" >"$A/lib/out/.git"
    fails 5 merge "$ID" lead
    mas status
    mas diff "$ID"
    [ ! -e "$T/ran" ]
}

@test "what an agent has committed in a submodule is work until it has landed, and rm -f keeps it" {
    make_on "$P"
    A=$W/code/lead
    printf '[code]\ncheck = false\n' >>"$ROOT/mas.ini"
    commit_inside
    mas merge "$ID" lead # fetches it, and takes nothing
    [ "$status" -ne 0 ]
    git -C "$A/lib/out" branch kept
    git -C "$A" reset -q --hard HEAD^
    git -C "$A" submodule --quiet update
    fails 4 rm "$ID"
    [[ $stderr == *"lead, submodule 'lib/out': 1 commit of kept is not landed"* ]]
    rm -rf "${A:?}/lib"
    fails 4 rm "$ID"
    [[ $stderr == *"lead, submodule '.git/modules/lib/out': 1 commit of kept is not landed"* ]]
    git -C "$A" checkout -q lib
    git -C "$A" submodule --quiet update --recursive
    echo changed >>"$A/lib/out/in/inner"
    ok rm -f "$ID"
    git -C "$P/lib/out" merge-base --is-ancestor "$X" "refs/mas/lost/$ID/lead/submodules/lib%2Fout/heads/kept"
    [ "$(git -C "$P/lib/out/in" show "refs/mas/lost/$ID/lead/submodules/lib%2Fout%2Fin/work:inner" | xargs)" = 'inner changed' ]
    git -C "$P/lib/out" fsck
}

@test "rm -f keeps the commits of submodules that the integration branch names" {
    make_on "$P"
    A=$W/code/lead
    commit_inside
    mas merge "$ID" lead
    mas rm -f "$ID"
    [ "$(git -C "$P/lib/out" rev-parse "refs/mas/lost/$ID/submodules/$X")" = "$X" ]
}

@test "a submodule that an agent adds is merged and landed, and its commits come into the project" {
    make_on "$P"
    A=$W/code/lead
    git -C "$A" submodule --quiet add "$T/inner" new
    echo mine >>"$A/new/inner"
    mas diff "$ID" lead
    [[ $output == *"+++ b/new/inner"*+mine* ]]
    git -C "$A/new" commit -qam mine
    git -C "$A" add new
    git -C "$A" commit -qm new
    fails 4 rm "$ID"
    [[ $stderr == *"lead, submodule 'new': "*" not landed"* ]]
    X=$(git -C "$A/new" rev-parse HEAD)
    mas merge "$ID" lead
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    ok land "$ID"
    [[ $output != *submodules* ]] # it is not checked out
    [ "$(git -C "$P" rev-parse "refs/mas/landed/$X")" = "$X" ]
    ok rm "$ID"
}

@test "a repository that an agent has added as a submodule, or that is left of one, is work" {
    make_on "$P"
    A=$W/code/lead
    git init -q "$A/sub"
    git -C "$A/sub" commit -q --allow-empty -m one
    git -C "$A" add sub 2>/dev/null
    git -C "$A" commit -qm link
    git -C "$A/sub" commit -q --allow-empty -m two
    echo x >"$A/sub/x"
    mas rm "$ID"
    [[ $stderr == *"lead, submodule 'sub': 1 file not committed: x"*"lead, submodule 'sub': 2 commits of "* ]]
    git -C "$A" submodule --quiet add "$T/inner" new
    git -C "$A/new" commit -q --allow-empty -m three
    rm -rf "$A/new"
    mas rm "$ID"
    [[ $stderr == *"lead, submodule '.git/modules/new': "*" not landed"* ]]
    mkdir "$A/lib/out/w"
    git -C "$A/lib/out" worktree add -q w
    mas rm "$ID"
    [[ $stderr == *"lead, submodule 'lib/out': it has linked work trees"* ]]
    git clone -q --depth 1 "file://$P" "$A/short"
    git -C "$A" add short 2>/dev/null
    git -C "$A" commit -qm short
    fails 5 merge "$ID" lead
    [[ $stderr == *"it has only a part of the history"*"git fetch --unshallow"* ]]
}

@test "land --rebase brings the commits of submodules that only earlier commits name" {
    make_on "$P"
    A=$W/code/lead
    commit_inside one
    first=$X
    git -C "$A/lib/out" reset -q --hard HEAD^
    commit_inside two
    ok merge "$ID" lead
    echo more >>"$P/project"
    git -C "$P" commit -qam more
    ok land "$ID" --rebase
    [ "$(git -C "$P" rev-list --count HEAD~2..)" = 2 ]
    [ "$(link_of "$P" lib/out)" = "$X" ]
    git -C "$P/lib/out" cat-file -e "$first"
    git -C "$P/lib/out" cat-file -e "$X"
    git -C "$P/lib/out" fsck --no-dangling
}

@test "names and places in .gitmodules, and links where a submodule was, lead nowhere else" {
    git -C "$P" config -f .gitmodules --rename-section submodule.lib/out submodule.../../x
    git -C "$P" config -f .gitmodules 'submodule.../../x.url' "ext::touch $T/ran"
    git -C "$P" commit -qam hostile
    make_on "$P"
    A=$W/code/lead
    [ "$(cat "$A/lib/out/outer")" = outer ]
    [ ! -e "$A/.git/x" ]
    [ ! -e "$A/../x" ]
    [ ! -e "$A/lib/out/.git" ]
    mkdir "$T/away"
    cp -a "$T/outer/." "$T/away"
    before=$(find "$T/away" -printf '%P %m %T@\n' | sort)
    mv "$A/lib/out" "$A/lib/was"
    ln -s "$T/away" "$A/lib/out"
    git -C "$A" add lib
    git -C "$A" commit -qm link
    for verb in status "diff $ID" "rm $ID" "merge $ID lead" "sync $ID" "land $ID" "rm -f $ID"; do
        # shellcheck disable=SC2086 # words
        mas $verb
    done
    [ "$(find "$T/away" -printf '%P %m %T@\n' | sort)" = "$before" ]
    [ ! -e "$T/ran" ]
}

@test "a sparse checkout leaves its submodules whole, or out" {
    mkdir "$P/docs" && echo d >"$P/docs/d"
    git -C "$P" add docs && git -C "$P" commit -qm docs
    git -C "$P" sparse-checkout set --cone lib
    make_on "$P"
    [ "$(cat "$W/code/lead/lib/out/outer" "$W/code/lead/lib/out/in/inner" | xargs)" = 'outer inner' ]
    [ ! -e "$W/code/lead/docs" ]
    ok rm "$ID"
    rm -rf "${P:?}/lib"
    git -C "$P" sparse-checkout set --cone docs
    make_on "$P"
    [ -e "$W/code/lead/docs/d" ]
    [ ! -e "$W/code/lead/lib" ]
    ok rm "$ID"
}
