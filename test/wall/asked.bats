# An ACP agent that is hostile asks its host for programs: what it says of them, and what it has put into
# its files, is read outside of the wall, and gets them nothing that the agent itself has not.
load ../helper
load lib

# ask_for LEVEL [KEY=VALUE...]: a session whose agent `solo` asks for programs, behind a wall of this level.
ask_for() {
    mkdir "$T/secret" "$T/shared"
    echo 'CW-PRIVATE' >"$T/secret/file"
    preset asks "python3 -ES '$PROJECT/test/acp/agent.py' --store '$T/shared/store'" 'protocol = acp' \
        "wall.level = $1" "wall.write = $T/shared" "${@:2}"
    OTHER=$("$MAS" new -q -t solo --no-start)
    printf '#!/bin/sh\necho CW-PRIVATE\n' >"$ROOT/sessions/$OTHER/unit/solo/tool"
    chmod +x "$ROOT/sessions/$OTHER/unit/solo/tool"
    new_session -t solo --agent asks
    DIR=$ROOT/sessions/$ID UNIT=$ROOT/sessions/$ID/unit/solo
    "$MAS" ask "$ID" solo begin >/dev/null # it has started, and its home is not cleared any more
}

# told WORDS: what the agent says that came of them.
told() {
    "$MAS" ask "$ID" solo "$1" >"$T/said" 2>&1 || { cat "$T/said"; return 1; }
}
came() { grep -qaF -- "$1" "$T/said" || { cat "$T/said"; return 1; }; }

# its ATTACK: it works without a wall, and fails behind one.
its() {
    ask_for off "${@:2}"
    "$1" || { echo 'it does not work without a wall'; cat "$T/said"; return 1; }
    "$MAS" rm -qf "$ID" && rm -r "$T/secret" "$T/shared" && sed -i '/^\[preset asks\]/,$d' "$ROOT/mas.ini"
    need_wall
    ask_for require "${@:2}"
    if "$1"; then
        echo 'it works in spite of the wall' >&2
        return 1
    fi
    told 'RUN:"echo still here"' && came 'still here'
}

# What ld.so does for who may set its variables; it could as well load a library.
loads() {
    told "RUN:\"LD_DEBUG=libs LD_DEBUG_OUTPUT=$T/secret/made true\"" || :
    compgen -G "$T/secret/made*" >/dev/null
}
@test "a variable of ld.so is for the program alone" { its loads; }

# The host has it in this place, and the agent as /tmp.
its_home() {
    local home=$DIR/home/solo/.tmp
    mkdir -p "$home/.tool"
    ln -sfn "$T/secret/file" "$home/.tool/login"
    told "RUN:\"HOME=$home cat $home/.tool/login\"" || :
    grep -q CW-PRIVATE "$T/said"
}
@test "another HOME is for the program alone" { its its_home 'wall.home = .tool/login'; }

runs_another() {
    told "RUN:\"$ROOT/sessions/$OTHER/unit/solo/tool\"" || :
    grep -q CW-PRIVATE "$T/said"
}
@test "a program of another session is not there because it is asked for" { its runs_another; }

through_a_link() {
    ln -sfn "$ROOT/sessions/$OTHER/unit/solo/tool" "$UNIT/link"
    told "RUN:\"$UNIT/link\"" || :
    grep -q CW-PRIVATE "$T/said"
}
@test "nor because a link in the unit leads there" { its through_a_link; }

# The host reads one first line, and the kernel another.
by_its_interpreter() {
    told "OWN:\"cd $UNIT && printf '#!/bin/sh\\\\ncat $T/secret/file\\\\n' >good && printf '#!$T/secret/file\\\\n' >bad && chmod +x good bad
        (while [ ! -e stop ]; do cp -p good a; mv a x; cp -p bad a; mv a x; done) >/dev/null 2>&1 &\"" || :
    local i found=1
    for i in {1..40}; do
        told "RUN:\"$UNIT/x\"" || :
        if grep -q CW-PRIVATE "$T/said"; then
            found=0
            break
        fi
    done
    touch "$UNIT/stop"
    return "$found"
}
@test "nor because the first line of a script names it" { its by_its_interpreter; }

# An error of its own would tell whether there is such a program.
@test "whether a program is there outside is not told" {
    need_wall
    ask_for require
    local name
    for name in tool toll; do # the second is not there
        told "RUN:\"$ROOT/sessions/$OTHER/unit/solo/$name\""
        came 'run=127'
        sed "s/$name'/NAME'/; s/ AGENT.*//" "$T/said" >"$T/$name"
    done
    cmp "$T/tool" "$T/toll"
}

@test "a program is looked for where it runs, and a line is for the shell" {
    need_wall
    ask_for require
    local own=$ROOT/sessions/$ID/unit/solo
    told "OWN:\"printf '#!/bin/sh\\necho it runs\\n' >'$own/a program' && chmod +x '$own/a program'\" RUN:\"'$own/a program'\""
    came "run=0:'it runs"
    told "RUN:\"'echo one; echo \$((1 + 1))'\""
    came "run=0:'one\\n2"
    told "RUN:\"PATH=$own:/usr/bin:/bin 'a program'\""
    came "run=0:'it runs"
    told "RUN:no-such-program"
    came "run=127:"
    came 'cannot find the program'
}

@test "a program whose wall does not come up does not run" {
    need_wall
    mkdir "$T/bin"
    printf '#!/bin/sh\nexec %q "$@"\n' "$(command -v bwrap)" >"$T/bin/bwrap"
    chmod +x "$T/bin/bwrap"
    PATH=$T/bin:$PATH ask_for try
    told 'RUN:"echo here"' && came "run=0:'here"
    printf '#!/bin/sh\nexit 1\n' >"$T/bin/bwrap"
    told 'RUN:"echo here"' && came "run=1:''"
    "$MAS" restart -q "$ID" solo # it starts with what there is
    told 'RUN:"echo here"' && came "run=0:'here"
}
