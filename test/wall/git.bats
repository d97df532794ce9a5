#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # every test runs in a shell of its own
# mas runs git outside of the wall, in the work trees of agents, and an agent may ask for it. While git
# works, the agent puts a link to the user's files in the place of a directory.
load ../helper
load lib

# swaps WHEN: writes a program that exchanges the directory `d` of the work tree with a link to
# $HOME/outside once the expression of Python is true.
swaps() {
    need_exchange
    mkdir "$HOME/outside"
    cat >"$READABLE/swap" <<PY
import ctypes, os
def names(path):
    try:
        return os.listdir(path)
    except OSError:
        return []
os.symlink("$HOME/outside", "link")
open("$READABLE/ready", "w").close() if os.access("$READABLE", os.W_OK) else os.mkdir("ready")
while not ($1):
    pass
ctypes.CDLL(None).renameat2(-100, b"d", -100, b"link", 2)  # RENAME_EXCHANGE
os.mkdir("swapped")
PY
}

# What the tests put into the work tree of `bad` is not work.
ignores() {
    printf '%s\n' said code code.new 'do' do.new doing link ready swapped >>"$TREE/.gitignore"
    git -C "$TREE" add .gitignore
    git -C "$TREE" commit -qm 'Ignore'
}

# while_swapping COMMAND: `bad` runs it, and swaps meanwhile.
while_swapping() {
    inside "$PYTHON -ES $READABLE/swap </dev/null >/dev/null 2>&1 &
        while [ ! -e ready ]; do sleep 0.01; done; $1"
    eventually test -e "$TREE/swapped"
}

@test "sync writes nowhere else while its agent swaps a directory for a link" {
    local i peer
    compromise require
    peer=$DIR/code/good
    ignores
    "$MAS" merge -q "$ID" bad
    "$MAS" sync -q "$ID" good
    mkdir "$peer/d"
    for ((i = 0; i < 3000; i++)); do echo planted >"$peer/d/f$i"; done
    git -C "$peer" add d
    git -C "$peer" commit -qm 'Plant'
    "$MAS" merge -q "$ID" good
    swaps 'len(names("d")) > 500'
    while_swapping "$MAS sync"
    [ -z "$(ls -A "$HOME/outside")" ] || { find "$HOME/outside" | head; false; }
    said 'Permission denied'
}

@test "diff reads nowhere else while the agent swaps a directory for a link" {
    local i
    compromise require
    ignores
    swaps "len(names('$DIR/code.git/scratch/bad')) > 20"
    mkdir "$TREE/d"
    for ((i = 0; i < 3000; i++)); do
        echo "mine $i" >"$TREE/d/f$i"
        echo "CW-PRIVATE $i" >"$HOME/outside/f$i"
    done
    while_swapping "$MAS diff"
    run ! grep -qaF CW-PRIVATE "$TREE/said"
    said 'new file mode 120000' # what it was refused it has listed again
    run grep -rl CW-PRIVATE "$DIR"
    [ -z "$output" ]
}

@test "merge writes nowhere else while somebody swaps a directory of the view for a link" {
    local i swapper
    [ "$("${MAS%/*}/mas-wall" --probe | sed -n 's/^landlock=//p')" -gt 0 ] || skip 'the kernel has no Landlock'
    make_project
    make_trio
    make_team -t trio
    mkdir "$C/x/d"
    for ((i = 0; i < 3000; i++)); do echo planted >"$C/x/d/f$i"; done
    git -C "$C/x" add d
    git -C "$C/x" commit -qm 'Plant'
    swaps 'len(names("d")) > 500'
    (cd "$C/view" && exec timeout 60 "$PYTHON" -ES "$READABLE/swap") 3>&- &
    swapper=$!
    eventually test -e "$READABLE/ready"
    run "$MAS" merge "$ID" x
    echo "$output"
    wait "$swapper"
    [ -z "$(ls -A "$HOME/outside")" ] || { find "$HOME/outside" | head; false; }
    [[ $output == *'cannot update the view of the project'* ]]
}
