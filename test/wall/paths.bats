#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # every test runs in a shell of its own
# A path that an agent may write is no way for the wall of another agent, nor for its own next start:
# what it leads to by a link of the agent's is left out, and named.
load ../helper
load lib

setup_last() {
    mkdir -p "$HOME/.ssh" "$HOME/.config/tool" "$T/data/docs"
    ln -s "$T/data" "$HOME/work"
    echo CW-PRIVATE >"$HOME/.ssh/token"
    echo CW-PUBLIC | tee "$HOME/.config/tool/token" "$HOME/.config/cred" >"$T/data/docs/token"
    cat >"$READABLE/look" <<'SH'
cat "$@" >"got" 2>&1
echo planted >"${1%/*}/planted"
touch "looked"
SH
    echo "exec sleep $MARK" >>"$READABLE/look"
}

# other_team: that of an agent that looks at these files, behind a wall with $KEYS.
other_team() {
    preset looks "sh $READABLE/look ${LOOKS-}" "wall.level = ${LEVEL-require}" "wall.read = $READABLE" "${KEYS[@]}"
    "$MAS" new -q -t solo --agent looks --no-start
}

# looks_again: starts that agent; $SEEN is what it has read.
looks_again() {
    local unit=$ROOT/sessions/$OTHER/unit/solo
    rm -f "$unit/looked"
    "$MAS" stop -q "$OTHER" 2>/dev/null || true
    "$MAS" start -q "$OTHER"
    eventually test -e "$unit/looked"
    SEEN=$(<"$unit/got")
}

# left_out SESSION AGENT PATH
left_out() {
    field "$1" ".agents[] | select(.id == \"$2\") | .wall.missing" | grep -F "left out, as a link leads there that an agent may have made:" |
        grep -qF "$3"
}

# One agent has .config to write; the other a directory and a copy of a file in it.
takes_another() {
    LOOKS="'$HOME/.config/tool/token' '$HOME/.config/cred'"
    KEYS=('wall.home = .config/tool .config/cred:copy')
    "$@" 'wall.home = .config'
    looks_again
    [[ $SEEN == CW-PUBLIC*CW-PUBLIC ]] || { echo "$SEEN"; return 1; }
    rm "$HOME/.config/tool/planted"
    inside "cd '$HOME/.config' && mv tool away && ln -s '$HOME/.ssh' tool && mv cred away && ln -s '$HOME/.ssh/token' cred"
    [ "$rc" -eq 0 ]
    looks_again
    echo "$SEEN"
    [[ $SEEN != *CW-PRIVATE* ]]
    [ ! -e "$HOME/.ssh/planted" ]
    left_out "$OTHER" solo "$HOME/.config/tool"
}
@test "links in the home that one agent puts there lead the wall of another nowhere" {
    need_wall
    takes_another compromise require
}

@test "nor where Landlock alone holds both" {
    [ "$("${MAS%/*}/mas-wall" --probe | sed -n 's/^landlock=//p')" -gt 0 ] || skip 'the kernel has no Landlock'
    mkdir "$T/bin"
    printf '#!/bin/sh\nexit 1\n' >"$T/bin/bwrap"
    chmod +x "$T/bin/bwrap"
    need_wall() { :; }
    LEVEL=try PATH=$T/bin:$PATH takes_another compromise try
}

@test "a path that the settings give to all is no way for the wall of another" {
    need_wall
    LOOKS="$T/data/docs/token" KEYS=()
    printf '[wall]\nread = %s\n' "$T/data/docs" >>"$ROOT/mas.ini"
    compromise require 'wall.write = ~/work'
    looks_again
    [ "$SEEN" = CW-PUBLIC ]
    inside "cd ~/work && mv docs away && ln -s '$HOME/.ssh' docs"
    looks_again
    [[ $SEEN != *CW-PRIVATE* ]]
    left_out "$OTHER" solo "$T/data/docs"
}

@test "an agent leaves a link for its own next start, where the user has one, too" {
    need_wall
    KEYS=()
    printf '[wall]\nread = %s\n' "$T/data/docs" >>"$ROOT/mas.ini"
    compromise require 'wall.write = ~/work'
    inside "cat '$T/data/docs/token' && cd ~/work && mv docs away && ln -s '$HOME/.ssh' docs"
    said CW-PUBLIC
    "$MAS" restart -q "$ID" bad
    inside "cat '$T/data/docs/token' ~/work/docs/token ~/.ssh/token"
    run ! said CW-PRIVATE
    left_out "$ID" bad "$T/data/docs"
    # what the user has linked counts where no agent can write
    inside 'cd ~/work && rm docs && mv away docs'
    "$MAS" restart -q "$ID" bad
    inside "cat '$T/data/docs/token'"
    said CW-PUBLIC
    [ "$(field "$ID" '.agents[] | select(.id == "bad") | .wall.missing')" = null ]
}

@test "each of many paths that are left out is named" {
    need_wall
    local i
    KEYS=() LOOKS=$T/data/docs/token
    printf '[wall]\nread =' >>"$ROOT/mas.ini"
    for i in 1 2 3 4 5 6 7 8; do
        mkdir "$T/data/with-a-name-of-some-length-$i"
        printf ' %s' "$T/data/with-a-name-of-some-length-$i" >>"$ROOT/mas.ini"
    done
    echo >>"$ROOT/mas.ini"
    compromise require 'wall.write = ~/work'
    inside "cd ~/work && rmdir with-* && for i in 1 2 3 4 5 6 7 8; do ln -s '$HOME/.ssh' with-a-name-of-some-length-\$i; done"
    [ "$rc" -eq 0 ]
    looks_again
    for i in 1 2 3 4 5 6 7 8; do left_out "$OTHER" solo "of-some-length-$i"; done
}

@test "a copy of a file in a directory that can be written is not put over the file" {
    need_wall
    KEYS=()
    compromise require 'wall.home = .config/cred:copy' 'wall.write = ~/.config'
    inside "cat ~/.config/cred"
    said CW-PUBLIC
    [ "$(<"$HOME/.config/cred")" = CW-PUBLIC ]
}
