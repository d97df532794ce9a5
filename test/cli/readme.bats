#!/usr/bin/env bats
# shellcheck disable=SC2016 # back quotes of Markdown
# Every command in README.md is run, in the order in which it stands there.
#
# The blocks marked ```sh become one POSIX shell script, which runs in a directory that stands for a
# fresh clone, without any variable of mas set. Nothing in them is left out. Three rules:
#
# - A line that begins with `mas attach` is run in a terminal (a pane of another tmux). When the
#   team is on its screen the keys that README names for it are pressed, and it has to end with 0.
# - Stand-ins for these programs are first on PATH: `make` does not compile, but puts the program
#   under test in build/mas, runs a true `make install` with a DESTDIR of its own, and notes that it
#   was called; `sudo` runs its operands; `apt-get` fails, because the tests' needs are there; `claude`
#   is an agent that waits, `claude-agent-acp` the scripted one of test/acp.
# - All other lines are run as they are, and each has to succeed.
load ../helper

setup_more() {
    unset MAS_ROOT MAS_TMUX_SOCKET
    CLONE=$T/clone
    mkdir -p "$CLONE/sessions" "$T/bin"
    cp -R "$PROJECT/lib" "$PROJECT/scripts" "$PROJECT/templates" "$CLONE"
    stand_in sudo 'exec "$@"'
    stand_in apt-get 'echo "apt-get: nothing should be installed here: $*" >&2; exit 1'
    stand_in claude 'trap "exit 0" HUP TERM; while :; do read -r line || sleep 1; done'
    # one file, because it stands behind a wall, and with its memory where Claude Code has it
    {
        printf '#!/usr/bin/python3 -ES\nimport os, sys\n'
        printf 'sys.argv[1:1] = ["--store", os.path.expanduser("~/.claude/projects/store")]\n'
        cat "$PROJECT/test/acp/agent.py"
    } >"$T/bin/claude-agent-acp"
    chmod +x "$T/bin/claude-agent-acp"
    # all programs are there already, so that `make install` compiles nothing
    local programs='mas mas-archive mas-chat mas-network mas-serve mas-told mas-top mas-wall' old
    # shellcheck disable=SC2086 # words
    old=$(printf " -o '$T/built/%s'" $programs)
    stand_in make "
        printf '%s\n' \"\$*\" >>'$T/made'
        case \" \$* \" in
        *' install '*)
            exec '$(command -v make)' -s -C '$PROJECT' $old BUILD='$T/built' DESTDIR='$T/dest' \"\$@\" ;;
        esac
        mkdir -p build '$T/built'
        for program in $programs; do
            cp -f '${MAS%/*}'/\$program build/\$program
            cp -f '${MAS%/*}'/\$program '$T/built'/\$program
        done"
    PATH=$T/bin:$PATH
}

stand_in() {
    printf '#!/bin/sh\n%s\n' "$2" >"$T/bin/$1"
    chmod +x "$T/bin/$1"
}

# The text of README's ```sh blocks as "line number, tab, line".
commands() {
    awk '/^```/ { inside = $0 == "```sh"; next } inside { print NR "\t" $0 }' "$PROJECT/README.md"
}

# The script that runs them: notes before each line where it is, unless a construct of many lines
# is open, which ends with a line that begins at the margin.
script() {
    cat <<END
set -eu
at=0
trap 'rc=\$?; [ \$rc -eq 0 ] || echo "README.md:\$at: failed with \$rc" >&2' EXIT
in_terminal() {
    tmux -u -S '$T/terminal' -f /dev/null new-session -d -x 100 -y 30 \\
        "env -u TMUX -u TMUX_PANE sh -c '\$1; echo \\\$? >$T/attached' 2>$T/said"
    '$T/press'
}
END
    commands | awk -F '\t' '
        $2 !~ /^[ )]/ { print "at=" $1 }
        $2 ~ /^mas attach/ { print "in_terminal '\''" $2 "'\''"; next }
        { print substr($0, length($1) + 2) }'
}

# What the person at the terminal does: waits for the team, detaches, sees the end.
# shellcheck disable=SC2317 # called by name
press() {
    screen() { tmux -u -S "$T/terminal" capture-pane -p; }
    sees_team() { [ -s "$T/attached" ] || screen | tr '\n' ' ' | grep -q '10 design manager: .* 13 visual and'; }
    eventually sees_team
    tmux -S "$T/terminal" send-keys C-b d
    eventually test -s "$T/attached"
    [ "$(cat "$T/attached")" -eq 0 ] || { cat "$T/said" >&2; false; }
}

run_readme() {
    script >"$T/script"
    { declare -f press eventually; echo "set -eu; T='$T'; press"; } >"$T/press.bash"
    printf '#!/bin/sh\nexec bash %s\n' "'$T/press.bash'" >"$T/press"
    chmod +x "$T/press"
    cd "$CLONE" || return 1
    run --separate-stderr sh "$T/script" 3>&-
    if [ "$status" -ne 0 ]; then printf '%s\n' "$output" "$stderr" >&2; fi
}

@test "every command in README.md does what it says, in order" {
    run_readme
    [ "$status" -eq 0 ]
    # quickstart: a running team of 13, its workspace, the line to attach
    [[ $output =~ mas-[0-9a-f]{8}\ +quickstart\ +default\ .*\ 13/13\ +active ]]
    [[ $output == *"workspace: $CLONE/sessions/"* ]]
    [[ $output == *"./build/mas attach quickstart"* ]]
    # test.sh: the program is built, then the tests are run
    grep -q ' all$' "$T/made"
    grep -q ' test$' "$T/made"
    # the tour: a person attached, the crash was seen and undone, everything was removed
    [ "$(cat "$T/attached")" -eq 0 ]
    [[ $output =~ shop\ +default\ .*stopped\ \(crashed\) ]]
    [[ $output =~ page\ +pair\ .*stopped\ \(crashed\) ]]
    [ "$(grep -cE '^(quickstart|shop|page) started$' <<<"$output")" -eq 2 ]
    [[ $output == *'everything is in order'* ]]
    # work on code came home, and left nothing to keep
    [[ $output == *$'\n1 commit landed on '*$'\nOolong\nAssam\nmenu removed\n'* ]]
    [ ! -e "$CLONE/lost" ]
    # the template of one's own ran, and so did an agent
    [[ $output =~ mas-[0-9a-f]{8}\ +writing\ +desk\  ]]
    [[ $output =~ mas-[0-9a-f]{8}\ +fix\ +solo\  ]]
    # the conversation: a clear forgot both prompts, and the crash neither prompt nor answer since
    [[ $output == *'users=2 last="README.md'* || $output == *'users=2 last="build'* ]]
    [[ $output == *'users=2 last="Which colour was it?"'* ]]
    [[ $output == *'query '*'is called Oolong'*'query '*'in green'* ]]
    [ "$(cd "$CLONE" && "$MAS" list --all -q | wc -l)" -eq 0 ]
    # the installation
    [ -z "$(find "$T/built" -name '*.o')" ]
    [ "$("$T/dest/usr/local/bin/mas" version)" = "$("$MAS" version)" ]
    [ -f "$T/dest/usr/local/share/man/man1/mas.1" ]
    [ -f "$T/dest/usr/local/share/mas/templates/default/template.ini" ]
    [ -f "$T/dest/usr/local/share/mas/lib/session.sh" ]
    for file in scripts/mas_refactored.sh scripts/examples/*; do
        [ -x "$T/dest/usr/local/share/mas/examples/${file##*/}" ]
    done
    [ -s "$T/dest/usr/local/share/bash-completion/completions/mas" ]
    [ -s "$T/dest/usr/local/share/zsh/site-functions/_mas" ]
    [ -s "$T/dest/usr/local/share/fish/vendor_completions.d/mas.fish" ]
}

@test "the first two commands in README.md are the quickstart and the tests" {
    run cut -f 2 < <(commands)
    [ "${lines[0]}" = 'sh scripts/quickstart.sh' ]
    [ "${lines[1]}" = 'sh scripts/test.sh' ]
    [ "${#lines[@]}" -gt 20 ]
}

@test "no command in README.md stands in a block that is not run" {
    run grep '^ *```' "$PROJECT/README.md"
    [ "$status" -eq 0 ]
    [ $((${#lines[@]} % 2)) -eq 0 ]
    for ((i = 0; i < ${#lines[@]}; i += 2)); do
        [[ ${lines[i]} =~ ^\`\`\`sh$ ]]
        [ "${lines[i + 1]}" = '```' ]
    done
    # nor in one that is made by indenting
    run ! awk '/^```/ { on = !on } !on && /^(    |\t)/ { print; bad = 1 } END { exit !bad }' "$PROJECT/README.md"
}

# The verb of a command line with the actions that follow it.
action_of() {
    local verb words
    read -r -a words <<<"$1"
    verb=${words[1]}
    case $verb in template | serve) verb=${words[*]:1:2} ;; esac
    [[ $verb != 'serve token' ]] || verb=${words[*]:1:3}
    [[ $verb != 'serve -'* ]] || verb=serve
    echo "$verb"
}

@test "every verb and option that the documents name in code is one of mas" {
    local file line verb option count=0
    "${MAS%/*}/test/tools/verbs" all >"$T/table"
    for file in README.md HACKING.md SECURITY.md; do
        while read -r line; do
            verb=$(action_of "$line")
            case $verb in send | host) continue ;; esac # not there yet, as README says; for mas itself
            grep -qP "^(verb|group)\\t$verb\\t" "$T/table" || { echo "$file: $line" >&2; false; }
            while read -r option; do
                grep -qP "^option\\t$verb\\t.\\t${option#--}\\t" "$T/table" || { echo "$file: $line" >&2; false; }
            done < <(grep -oE -- '--[a-z-]+' <<<"$line")
            count=$((count + 1))
        done < <(awk -F '`' '{ for (i = 2; i <= NF; i += 2) if ($i ~ /^mas [a-z]/) print $i }' "$PROJECT/$file")
    done
    [ "$count" -ge 20 ]
}

@test "every file that the documents link to is there" {
    local file link count=0
    for file in README.md HACKING.md SECURITY.md; do
        while read -r link; do
            case $link in http*) continue ;; esac
            [ -e "$PROJECT/${link%%#*}" ] || { echo "$file: $link" >&2; false; }
            count=$((count + 1))
        done < <(grep -oE '\]\([^)]+\)' "$PROJECT/$file" | sed 's/^](//; s/)$//')
    done
    [ "$count" -ge 10 ]
}

@test "the picture in README.md is small, and its script makes one like it" {
    local picture ms
    picture=$(sed -n 's/^!\[.*\](\(.*mas\.svg\))$/\1/p' "$PROJECT/README.md")
    [ "$(stat -c %s "$PROJECT/$picture")" -lt 150000 ]
    run "$PROJECT/docs/picture.sh" "$T/picture.svg"
    [ "$status" -eq 0 ] || { echo "$output" >&2; false; }
    for file in "$PROJECT/$picture" "$T/picture.svg"; do
        for text in 'mas new --name shop' 'There are 2: AGENTS.md, CLAUDE.md.' 'waiting | a digit' \
            'mas approve shop lead' 'order.txt is written.' 'kill -9' 'server exited unexpectedly' \
            'stopped (crashed)' 'mas start --crashed' 'conversation injected' \
            "You had me write 'two dozen roses' into order.txt."; do
            grep -q ">[^<]*$text" "$file" || { echo "$file lacks: $text" >&2; false; }
        done
    done
    [ "$(head -c 4 "$T/picture.svg")" = '<svg' ]
    [ "$(tail -n 1 "$T/picture.svg")" = '</svg>' ]
    # it moves, and ends where it stays without that
    ms=$(sed -nE 's/.*animation:([0-9]+)ms.*/\1/p' "$PROJECT/$picture")
    [ "$ms" -gt 15000 ]
    [ "$ms" -lt 22000 ]
    grep -q '^g\.t.*;visibility:visible}@keyframes' "$PROJECT/$picture"
}

@test "the limits in SECURITY.md are those of the sources" {
    local value name source count=0
    while IFS='|' read -r value name; do
        source=$(grep -ohE "\b$name = [^,}]+" "$PROJECT"/src/{*,*/*}/*.h | sed 's/.* = //')
        [ $((source)) -eq $((value)) ] || { echo "$name is $source" >&2; false; }
        count=$((count + 1))
    done < <(sed -nE 's/^\|.*\| ([0-9]+)( [KM]iB| ms| s)? \| `([A-Z_]+)` \|$/\1\2|\3/p' "$PROJECT/SECURITY.md" |
        sed 's/ KiB/ * 1024/; s/ MiB/ * 1048576/; s/ ms//; s/ s//')
    [ "$count" -eq "$(grep -cE '^\| .*\| `[A-Z_]+` \|$' "$PROJECT/SECURITY.md")" ]
    [ "$count" -ge 15 ]
}
