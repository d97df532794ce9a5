# The repositories of a team: 13 of them on a project of 3,000 files (26 MB), against 13 times
# `git worktree add`; merges of 13 agents against git's own commands for them; what was changed.
# Both sides of the first are durable when they end. On a disk that takes as long as the disk takes to
# write 39,000 files, so that is only told; where copies share their blocks, only 3,000 are written.
# shellcheck shell=bash

AGENTS=13

# make_project DIRECTORY: random words, so that they compress as sources do.
make_project() {
    git init -q -b main "$1" && git -C "$1" config user.name Person &&
        git -C "$1" config user.email person@example.org || return 1
    awk -v top="$1" 'BEGIN {
        srand(1)
        for (i = 0; i < 3000; i++) word[i] = sprintf("%x", int(rand() * 2 ^ (8 + 24 * rand())))
        for (i = 0; i < 3000; i++) {
            dir = sprintf("%s/src/%02d/%d", top, i % 60, i / 60 % 5)
            if (!(dir in made)) system("mkdir -p \"" dir "\"")
            made[dir] = 1
            file = sprintf("%s/%04d.c", dir, i)
            for (size = 0; size < 8800; size += length(line) + 1) {
                line = word[int(rand() * 3000)]
                while (length(line) < 60) line = line " " word[int(rand() * 3000)]
                print line >file
            }
            close(file)
        }
    }' && git -C "$1" add . && git -C "$1" commit -qm begin && git -C "$1" gc -q || return 1
}

# make_writers ROOT: the template `writers`, whose agents all have a repository.
make_writers() {
    local i dir=$1/templates/writers list=''
    mkdir -p "$dir/workflows" || return 1
    for ((i = 10; i < 10 + AGENTS; i++)); do
        list+=${list:+, }$i
        mkdir -p "$dir/unit/$i" && echo "$i" >"$dir/unit/$i/AGENTS.md" || return 1
    done
    {
        printf '[template]\ndescription = writers\npreset = shell\n'
        printf '[window w]\nagents = %s\nlayout = tiled\n' "$list"
        for ((i = 10; i < 10 + AGENTS; i++)); do
            printf '[agent %s]\nrole = r\nrank = worker\ngroup = g\npreset =\ncode = worktree\nmodel =\n' "$i"
        done
        printf '[rules]\nworker = workers\n'
    } >"$dir/template.ini"
}

make_scripts() {
    make_script worktrees <<'END' || return 1
i=0
while [ $i -lt 13 ]; do
    git -C "$AREA/project" worktree add -q --detach "$AREA/trees/$i" main || exit 1
    i=$((i + 1))
done
exec sync -f "$AREA"
END
    # ends what a run has made, on both sides
    make_script tidy <<'END' || return 1
rm -rf "$AREA"/trees/* "$AREA"/root/sessions/*-*-*
git -C "$AREA/project" worktree prune
exec sync -f "$AREA"
END
}

# make_on DIRECTORY: sets T[mas], T[git].
make_on() {
    export AREA=$1
    make_root "$AREA/root" && make_writers "$AREA/root" && mkdir "$AREA/trees" &&
        make_project "$AREA/project" || return 1
    measure -a "$FAST/tidy" git="$FAST/worktrees" \
        mas="$MAS --root $AREA/root new -q --no-start -t writers --project $AREA/project"
}

make_scripts && mkdir "$FAST/code" && make_on "$FAST/code" || return 1
at_most "$AGENTS repositories / git worktree add" "$(calc "${T[mas]} / ${T[git]}")" 0.3 \
    "(mas $(ms mas), git $(ms git); in memory)"

# Each agent has a new commit before each run; SIDE names the session.
make_merge_scripts() {
    make_script commit <<'END' || return 1
for tree in "$AREA/root/sessions/$SIDE"/code/*/; do
    echo "$ROUND" >"$tree/own-$(basename "$tree")"
    git -C "$tree" add . && git -C "$tree" commit -qm "$ROUND" || exit 1
done
END
    make_script merge-git <<'END'
export GIT_DIR=$AREA/root/sessions/git/code.git
main=$(git symbolic-ref HEAD)
for tree in "$AREA/root/sessions/git"/code/*/; do
    agent=$(basename "$tree")
    git fetch -q "$tree" "HEAD:refs/mas/agents/$agent" || exit 1
    old=$(git rev-parse "$main") && new=$(git rev-parse "refs/mas/agents/$agent") &&
        made=$(git merge-tree --write-tree "$old" "$new") &&
        made=$(git commit-tree "$made" -p "$old" -p "$new" -m merge) &&
        git update-ref "$main" "$made" "$old" || exit 1
done
END
}

# merge_on DIRECTORY: sets T[mas], T[git].
merge_on() {
    local name id
    export AREA=$1
    for name in mas git; do
        id=$("$MAS" --root "$AREA/root" new -q --no-start -t writers -n "$name" --project "$AREA/project") &&
            ln -s "$id" "$AREA/root/sessions/$name" || return 1
    done
    measure -b "$FAST/commit" git="$FAST/merge-git" mas="$MAS --root $AREA/root merge -q mas all"
}

make_merge_scripts && merge_on "$FAST/code" || return 1
at_most "mas merge of $AGENTS agents / git" "$(calc "${T[mas]} / ${T[git]}")" 1.2 \
    "(mas $(ms mas), git $(ms git))"
measure stat="$MAS --root $AREA/root diff --stat mas" || return 1
at_most "mas diff --stat of $AGENTS agents, ms" "$(calc "${T[stat]} / 1000")" 300 "($(ms stat))"

# What 200 merges leave behind costs the next ones nothing: a session with them beside a new one. SIDE names
# the session; the work of one agent, so that the new one stays new.
make_grown_scripts() {
    make_script commit-one <<'END' || return 1
tree=$AREA/root/sessions/$SIDE/code/10
echo "$ROUND" >>"$tree/own-10"
git -C "$tree" add . && git -C "$tree" commit -qm "$ROUND"
END
    make_script grow <<'END'
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    SIDE=grown ROUND=$round "$FAST/commit" && "$MAS" --root "$AREA/root" merge -q grown all &&
        "$MAS" --root "$AREA/root" sync -q grown || exit 1
done
END
}

# grown_on DIRECTORY
grown_on() {
    local name id
    export AREA=$1
    for name in new grown; do
        id=$("$MAS" --root "$AREA/root" new -q --no-start -t writers -n "$name" --project "$AREA/project") &&
            ln -s "$id" "$AREA/root/sessions/$name" || return 1
    done
    "$FAST/grow" || return 1
    for name in "merge -q %s 10" "sync -q %s 10" "diff --stat %s 10"; do
        # shellcheck disable=SC2059 # the verb is a format
        measure -b "$FAST/commit-one" new="$MAS --root $AREA/root $(printf "$name" new)" \
            grown="$MAS --root $AREA/root $(printf "$name" grown)" || return 1
        at_most "mas ${name%% *} after 200 merges / before" "$(calc "${T[grown]} / ${T[new]}")" 1.2 \
            "(after $(ms grown), before $(ms new))"
    done
}
make_grown_scripts && grown_on "$FAST/code" || return 1

# An agent that has changed each of the 3,000 files, tried in the checkout, against `git checkout` of the same
# commit in a clone; what was there before comes back before each run. The work was looked at once.
make_try_scripts() {
    make_script back <<'END'
"$MAS" --root "$AREA/root" try -q --off try && git -C "$AREA/clone" checkout -q main
END
}

# try_on DIRECTORY
try_on() {
    local id tree
    export AREA=$1 MAS
    id=$("$MAS" --root "$AREA/root" new -q --no-start -t writers -n try --project "$AREA/project") &&
        tree=$AREA/root/sessions/$id/code/10 &&
        find "$tree/src" -type f -exec sed -i '$a more' {} + && git -C "$tree" commit -qam all &&
        git clone -q "$AREA/project" "$AREA/clone" && git -C "$AREA/clone" fetch -q "$tree" HEAD:agent &&
        "$MAS" --root "$AREA/root" try -q try 10 || return 1
    measure -b "$FAST/back" git="git -C $AREA/clone checkout -q agent" mas="$MAS --root $AREA/root try -q try 10"
}
make_try_scripts && try_on "$FAST/code" || return 1
at_most "mas try of 3,000 files / git checkout" "$(calc "${T[mas]} / ${T[git]}")" 1.2 "(mas $(ms mas), git $(ms git))"

# A fork of an agent with 3,000 files that mas has looked at, in a session that does not run, against
# `git worktree add` of the same commit: with nothing uncommitted, then with one file changed and one new.
make_fork_scripts() {
    make_script unfork <<'END'
case $SIDE in
    mas) "$MAS" --root "$AREA/root" remove -qf fork second ;;
    git) git -C "$AREA/project" worktree remove --force "$AREA/trees/second" && git -C "$AREA/project" branch -qD second ;;
esac
END
}

# fork_on DIRECTORY
fork_on() {
    local tree id what
    export AREA=$1 MAS
    id=$("$MAS" --root "$AREA/root" new -q --no-start -t writers -n fork --project "$AREA/project") || return 1
    tree=$AREA/root/sessions/$id/code/10
    for what in 'nothing changed' 'two files changed'; do
        [[ $what == nothing* ]] || { echo more >>"$tree/src/00/0/0000.c" && echo new >"$tree/src/00/0/new.c"; } || return 1
        sleep 1.1 # mas trusts no file that was changed in the second in which it looks
        "$MAS" --root "$AREA/root" diff --stat fork 10 >/dev/null || return 1
        measure -a "$FAST/unfork" git="git -C $AREA/project worktree add -q -b second $AREA/trees/second main" \
            mas="$MAS --root $AREA/root fork -q fork 10 --as second" || return 1
        at_most "mas fork, $what / git worktree add" "$(calc "${T[mas]} / ${T[git]}")" 1.0 "(mas $(ms mas), git $(ms git))"
    done
}
make_fork_scripts && fork_on "$FAST/code" || return 1
