#!/usr/bin/env bats
load ../helper

# The value and the origin of a setting.
setting() { "$MAS" config --json | jq -r --arg k "$1" '.settings[] | select(.key == $k) | .value + " from " + .origin'; }

# mas.ini is refused by every command that reads settings, with this text behind its path.
refused() {
    local verb
    for verb in config list new; do
        mas "$verb"
        [ "$status" -eq 1 ] || return
        [ "$stderr" = "mas: $ROOT/mas.ini:$1" ] || {
            echo "said: $stderr"
            return 1
        }
        [ -z "$output" ] || return
    done
    [ -z "$(ls -A "$ROOT/sessions")" ]
}

ini() { printf '%s\n' "$@" >"$ROOT/mas.ini"; }

setup_more() { unset MAS_TMUX_SOCKET; }

@test "config prints each setting with its value and where it came from" {
    ok config
    [ -z "$stderr" ]
    [[ ${lines[0]} =~ ^SETTING\ +VALUE\ +RESTART\ +FROM$ ]]
    for line in 'session.mode isolated -' 'session.template default -' 'session.preset shell yes' 'tmux.socket - -' \
        'tmux.server shared -' 'tmux.size 200x50 yes' 'tmux.status yes yes' 'stop.hangup 2s -' 'stop.terminate 3s -' \
        'log.size 10M yes' 'log.keep 3 yes' 'env.remove - yes' 'memory.recall on yes' 'memory.share no -' \
        'code.check_timeout 10m -' 'notify.quiet - -'; do
        grep -qE "^${line// / +} +built in\$" <<<"$output"
    done
    [[ $output == *"$ROOT"* ]]
}

@test "config --json has the root and the settings" {
    ok config --json
    [ "$(jq -r .root <<<"$output")" = "$ROOT" ]
    [ "$(jq -r '.settings | length >= 8' <<<"$output")" = true ]
    [ "$(jq -r '[.settings[] | keys_unsorted | join(" ")] | unique | join(";")' <<<"$output")" = "key value restart origin" ]
}

@test "what hosts read needs a restart, but for the times of stop, which it says" {
    local name needs
    needs=$(awk -F'[][]' '/^    \[SETTING_/ { name = $2 } /SETTING_OF_HOSTS/ { print name }' "$PROJECT/src/model/setting.c")
    while read -r name; do
        grep -rqwF "$name" "$PROJECT/src/host" || continue
        [[ $name = SETTING_HANGUP || $name = SETTING_TERMINATE || $needs = *"$name"* ]] || { echo "$name"; return 1; }
    done < <(grep -oE '^    SETTING_[A-Z_]+' "$PROJECT/src/model/setting.h")
    "$MAS" config --json >"$T/config"
    jq -e '.settings | map({(.key): .restart}) | add |
        ."memory.summary" and ."wall.level" and ."budget.cost" and (."serve.listen" or ."memory.embed_command" | not)' "$T/config"
}

@test "config tells where the root came from" {
    mas config
    [[ $output =~ root\ +"$ROOT"\ +-\ +MAS_ROOT ]]
    mas config --root "$ROOT"
    [[ $output =~ root\ +"$ROOT"\ +-\ +--root ]]
}

@test "the environment goes before the root's mas.ini, that before the user's, that before what is built in" {
    [ "$(setting tmux.size)" = "200x50 from built in" ]
    mkdir -p "$XDG_CONFIG_HOME/mas"
    printf '\n[tmux]\nsize = 100x40\nserver = per-session\n' >"$XDG_CONFIG_HOME/mas/mas.ini"
    [ "$(setting tmux.size)" = "100x40 from $XDG_CONFIG_HOME/mas/mas.ini:3" ]
    ini '; one' '[tmux]' 'size = 120x30'
    [ "$(setting tmux.size)" = "120x30 from $ROOT/mas.ini:3" ]
    [ "$(setting tmux.server)" = "per-session from $XDG_CONFIG_HOME/mas/mas.ini:4" ]
    export MAS_TMUX_SIZE=90x20
    [ "$(setting tmux.size)" = "90x20 from MAS_TMUX_SIZE" ]
    export MAS_TMUX_SIZE=''
    [ "$(setting tmux.size)" = "120x30 from $ROOT/mas.ini:3" ]
}

@test "each environment variable sets its setting" {
    export MAS_SESSION_MODE=legacy MAS_TEMPLATE=pair MAS_PRESET=claude MAS_TMUX_SOCKET=named MAS_TMUX_SERVER=per-session
    [ "$(setting session.mode)" = "legacy from MAS_SESSION_MODE" ]
    [ "$(setting session.template)" = "pair from MAS_TEMPLATE" ]
    [ "$(setting session.preset)" = "claude from MAS_PRESET" ]
    [ "$(setting tmux.socket)" = "named from MAS_TMUX_SOCKET" ]
    [ "$(setting tmux.server)" = "per-session from MAS_TMUX_SERVER" ]
}

@test "the command line goes before the environment" {
    MAS_SESSION_MODE=legacy new_session -t solo --no-start --mode isolated
    [ "$(meta "$ID" MODE)" = isolated ]
    MAS_TEMPLATE=pair new_session -t solo --no-start
    [ "$(meta "$ID" TEMPLATE)" = solo ]
}

@test "inside a team the inherited mode is no setting" {
    export MAS_SESSION_ID=550e8400-e29b-41d4-a716-446655440000 MAS_SESSION_MODE=legacy
    [ "$(setting session.mode)" = "isolated from built in" ]
}

@test "without XDG_CONFIG_HOME the user's mas.ini is in .config" {
    unset XDG_CONFIG_HOME
    mkdir -p "$HOME/.config/mas"
    printf '[tmux]\nsize = 81x25\n' >"$HOME/.config/mas/mas.ini"
    [ "$(setting tmux.size)" = "81x25 from $HOME/.config/mas/mas.ini:2" ]
}

@test "without a root config prints the user's settings, and makes none" {
    unset MAS_ROOT
    cd "$T"
    [ "$(setting tmux.size)" = "200x50 from built in" ]
    [ ! -e "$XDG_DATA_HOME/mas" ]
}

@test "a setting that is misspelt names file, line and key" {
    ini '[session]' '' 'templat = solo'
    refused "3: [session] templat: unknown setting; did you mean 'template'?"
    ini '[session]' 'Template = solo'
    refused "2: [session] Template: unknown setting; did you mean 'template'?"
    ini '[tmux]' 'size = 80x24' '[tmux]' 'colour = yes'
    refused '4: [tmux] colour: unknown setting'
}

@test "a section that is misspelt names file and line" {
    ini '' '[sesion]' 'template = solo'
    refused "2: [sesion]: unknown section; did you mean '[session]'?"
    ini '[Session]'
    refused "1: [Session]: unknown section; did you mean '[session]'?"
    ini '[presett shell]' 'command = x'
    refused "1: [presett shell]: unknown section; did you mean '[preset NAME]'?"
    ini '[kitchen]'
    refused '1: [kitchen]: unknown section'
}

@test "a key outside a section is refused" {
    ini 'template = solo'
    fails 1 list
    [[ $stderr == "mas: $ROOT/mas.ini:1: "* ]]
}

@test "a key that stands there twice names both lines" {
    ini '[tmux]' 'size = 80x24' '' 'size = 90x24'
    refused '4: [tmux] size: duplicate key: first used in line 2'
}

@test "values out of range or of the wrong kind name file, line and key" {
    ini '[session]' 'mode = wild'
    refused "2: [session] mode: 'wild' is not isolated or legacy"
    ini '[session]' 'mode ='
    refused "2: [session] mode: '' is not isolated or legacy"
    ini '[session]' 'template = ../evil'
    refused "2: [session] template: '../evil' is not 1 to 32 characters of A-Z a-z 0-9 _ -, or the absolute path of a directory"
    ini '[session]' 'preset = two words'
    refused "2: [session] preset: 'two words' is not 1 to 32 characters of A-Z a-z 0-9 _ -"
    ini '[tmux]' 'server = mine'
    refused "2: [tmux] server: 'mine' is not shared or per-session"
    for value in 9x3 10x2 1001x50 200x1001 200 x 200x 200x50x 99999x50 -1x5 '200 x 50'; do
        ini '[tmux]' "size = $value"
        refused "2: [tmux] size: '$value' is not COLUMNSxROWS, from 10x3 to 1000x1000"
    done
}

@test "times out of range or of the wrong kind are refused" {
    for value in 601 601s -1 1m '' s 1.5 99999999999999999999 '2 s'; do
        ini '[stop]' "hangup = $value"
        refused "2: [stop] hangup: '$value' is not a number of seconds from 0 to 600, such as 2s"
        ini '[stop]' "terminate = $value"
        refused "2: [stop] terminate: '$value' is not a number of seconds from 0 to 600, such as 2s"
    done
    for value in 0 600 600s 007; do
        ini '[stop]' "hangup = $value"
        [ "$(setting stop.hangup)" = "$value from $ROOT/mas.ini:2" ]
    done
}

@test "a socket is a name or an absolute path of at most 107 bytes" {
    for value in relative/path . .. ../x; do
        ini '[tmux]' "socket = $value"
        refused "2: [tmux] socket: '$value' is not a name, or an absolute path"
    done
    value=/$(printf '%0107d' 0)
    ini '[tmux]' "socket = $value"
    refused "2: [tmux] socket: '$value' is not a text of at most 107 bytes without control characters"
    value=/$(printf '%0106d' 0)
    ini '[tmux]' "socket = $value"
    [ "$(setting tmux.socket)" = "$value from $ROOT/mas.ini:2" ]
}

@test "values too long are refused, not cut" {
    value=$(printf '%033d' 0)
    ini '[session]' "template = $value"
    refused "2: [session] template: '$value' is not 1 to 32 characters of A-Z a-z 0-9 _ -, or the absolute path of a directory"
    value=$(printf '%09000d' 0)
    ini '[session]' "template = $value"
    fails 1 list
    [[ $stderr == "mas: $ROOT/mas.ini:2: the line is longer than 8192 bytes" ]]
}

@test "bad values in the environment name the variable" {
    MAS_SESSION_MODE=wild fails 1 list
    [ "$stderr" = "mas: cannot use MAS_SESSION_MODE='wild': it is not isolated or legacy" ]
    MAS_TMUX_SIZE=1x1 fails 1 new -t solo
    [ "$stderr" = "mas: cannot use MAS_TMUX_SIZE='1x1': it is not COLUMNSxROWS, from 10x3 to 1000x1000" ]
    MAS_TMUX_SOCKET=a/b fails 1 list
    [ "$stderr" = "mas: cannot use MAS_TMUX_SOCKET='a/b': it is not a name, or an absolute path" ]
    MAS_TEMPLATE='#(touch x)' mas list
    [ "$status" -eq 1 ]
    [ "$stderr" = "mas: cannot use MAS_TEMPLATE='#(touch x)': it is not 1 to 32 characters of A-Z a-z 0-9 _ -, or the absolute path of a directory" ]
    [ -z "$(ls -A "$ROOT/sessions")" ]
}

@test "text that is no INI file is refused with its line" {
    ini '[session]' 'template solo'
    refused "2: missing '='"
    ini '[session' 'template = solo'
    refused "1: missing ']'"
    ini '[session] x'
    refused "1: unexpected text after ']'"
    ini '[]'
    refused '1: missing section name'
    ini '[session]' $'template = so\033[31mlo'
    refused '2: the line contains a control character'
    printf '[session]\r\ntemplate = solo\n' >"$ROOT/mas.ini"
    refused '1: the line ends in a carriage return; use a newline alone'
    printf '[session]\ntemplate = so\0lo\n' >"$ROOT/mas.ini"
    refused '2: the line contains a NUL byte'
    head -c 2000000 /dev/zero | tr '\0' '\n' >"$ROOT/mas.ini"
    fails 1 list
    [[ $stderr == "mas: $ROOT/mas.ini: the file is larger than "* ]]
}

@test "the user's mas.ini is checked alike" {
    mkdir -p "$XDG_CONFIG_HOME/mas"
    printf '[tmux]\nsiez = 1\n' >"$XDG_CONFIG_HOME/mas/mas.ini"
    fails 1 list
    [ "$stderr" = "mas: $XDG_CONFIG_HOME/mas/mas.ini:2: [tmux] siez: unknown setting; did you mean 'size'?" ]
}

@test "all errors of mas.ini and agents.ini are told, by file and line, and many are cut" {
    printf '[preset a]\ncommnd = x\n' >"$ROOT/templates/agents.ini"
    ini '[tmux]' 'sokcet = /tmp/x' 'no sign of equality' '[sesion]' 'template = solo' '[tmux]' 'size = huge'
    fails 1 new
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 5 ]
    [ "${stderr_lines[0]}" = "mas: $ROOT/mas.ini:2: [tmux] sokcet: unknown setting; did you mean 'socket'?" ]
    [ "${stderr_lines[1]}" = "mas: $ROOT/mas.ini:3: missing '='" ]
    [ "${stderr_lines[2]}" = "mas: $ROOT/mas.ini:4: [sesion]: unknown section; did you mean '[session]'?" ]
    [ "${stderr_lines[3]}" = "mas: $ROOT/mas.ini:7: [tmux] size: 'huge' is not COLUMNSxROWS, from 10x3 to 1000x1000" ]
    [ "${stderr_lines[4]}" = "mas: $ROOT/templates/agents.ini:2: [preset a] commnd: unknown key in a preset; did you mean 'command'?" ]
    {
        echo '[tmux]'
        for i in {1..33}; do echo "colour$i = x"; done
    } >"$ROOT/mas.ini"
    fails 1 list
    [ "${#stderr_lines[@]}" -eq 21 ]
    [ "${stderr_lines[19]}" = "mas: $ROOT/mas.ini:21: [tmux] colour20: unknown setting" ]
    [ "${stderr_lines[20]}" = '13 more errors are not shown' ]
    [ -z "$(ls -A "$ROOT/sessions")" ]
}

@test "an empty mas.ini and one without a last newline are fine" {
    : >"$ROOT/mas.ini"
    ok config
    printf '[tmux]\nsize = 80x24' >"$ROOT/mas.ini"
    [ "$(setting tmux.size)" = "80x24 from $ROOT/mas.ini:2" ]
}

@test "a semicolon inside a value is part of it" {
    # shellcheck disable=SC2016
    ini '[preset p]' 'command = sh -c "echo a; echo b ; exec sleep 1000 #x"'
    MAS_TMUX_SOCKET=$SOCK new_session -t solo --agent p
    # shellcheck disable=SC2329
    said() { [[ $(tm capture-pane -p -t "=mas-${ID:0:8}:") == $'a\nb'* ]]; }
    eventually said
    [ -n "$(agent_pid "$ID")" ]
}

@test "what MAS_PRESET says when a session is made stays with it, for agents that name no preset" {
    export MAS_TMUX_SOCKET=$SOCK
    ini '[session]' 'preset = two' '[preset one]' "command = sh -c 'sleep 1000; :' says-one" \
        '[preset two]' "command = sh -c 'sleep 1000; :' says-two" \
        '[preset mine]' "command = sh -c 'sleep 1000; :' says-mine"
    runs() { eventually grep -qxaz "says-$1" "/proc/$(agent_pid "$ID" "${2-}")/cmdline"; }
    sed -i '/^\[agent reviewer\]/,$s/^preset =$/preset = mine/' "$ROOT/templates/pair/template.ini"
    MAS_PRESET=one new_session -t pair
    [ "$(jq -r '.preset + "," + ([.team[].preset] | join(","))' "$ROOT/sessions/$ID/config.json")" = one,,mine ]
    runs one lead
    runs mine reviewer
    # as after a reboot, and by somebody who has other wishes
    tm kill-server
    MAS_PRESET=two "$MAS" start -q "$ID"
    runs one lead
    runs mine reviewer
    MAS_PRESET=one new_session -t solo --agent mine
    runs mine
    # what only mas.ini says is read at each start
    new_session -t solo
    runs two
    "$MAS" stop -q "$ID"
    sed -i 's/^preset = two/preset = mine/' "$ROOT/mas.ini"
    "$MAS" start -q "$ID"
    runs mine
}

@test "MAS_PRESET that names no preset is refused where an agent would run so" {
    local before
    before=$(snapshot)
    MAS_PRESET=nope fails 3 new -t solo --no-start
    [[ $stderr == "mas: cannot use preset 'nope': there is no such preset
the presets are: "*"shell"* ]]
    [ "$(snapshot)" = "$before" ]
    MAS_PRESET=nope ok new -q -t solo --no-start --agent shell
}

@test "a socket that is a name is a server in TMUX_TMPDIR, one that is a path is there" {
    ini '[tmux]' 'socket = other'
    new_session -t solo
    [ "$(meta "$ID" TMUX_SOCKET)" = "$T/tmux-$(id -u)/other" ]
    tmux -L other has-session -t "=mas-${ID:0:8}"
    ini '[tmux]' "socket = $T/by path"
    new_session -t solo
    [ "$(meta "$ID" TMUX_SOCKET)" = "$T/by path" ]
    tmux -S "$T/by path" has-session -t "=mas-${ID:0:8}"
    [ "$("$MAS" list --active -q | wc -l)" -eq 2 ]
}

@test "a socket that is not set is the user's default one, whatever TMUX says" {
    TMUX=/tmp/elsewhere,1,0 new_session -t solo
    [ "$(meta "$ID" TMUX_SOCKET)" = "$T/tmux-$(id -u)/default" ]
    tmux has-session -t "=mas-${ID:0:8}"
}

@test "size is the size of the team's windows" {
    ini '[tmux]' 'size = 133x37'
    MAS_TMUX_SOCKET=$SOCK new_session -t solo
    [ "$(tm display-message -p -t "=mas-${ID:0:8}:" '#{window_width}x#{window_height}')" = 133x37 ]
}

@test "config takes no operand" {
    fails 2 config tmux.size
    [[ $stderr == "mas: cannot run 'config': unexpected operand 'tmux.size'"* ]]
}

@test "sizes and numbers of logs out of range or of the wrong kind are refused" {
    for value in 4095 4095B 1K 2T 1.5M '' M -1M '10 M' 10m 99999999999999999999; do
        ini '[log]' "size = $value"
        refused "2: [log] size: '$value' is not a size from 4K to 1T, such as 10M"
    done
    for value in 4096 4K 10M 2G 1T; do
        ini '[log]' "size = $value"
        [ "$(setting log.size)" = "$value from $ROOT/mas.ini:2" ]
    done
    for value in 1001 -1 '' three 1K; do
        ini '[log]' "keep = $value"
        refused "2: [log] keep: '$value' is not a number from 0 to 1000"
    done
    ini '[log]' 'keep = 0'
    [ "$(setting log.keep)" = "0 from $ROOT/mas.ini:2" ]
}

@test "config shows what [env] says, with the variables that it sets" {
    mkdir -p "$XDG_CONFIG_HOME/mas"
    printf '[env]\npass = *\nset.EDITOR = vi\nset.PAGER = less\n' >"$XDG_CONFIG_HOME/mas/mas.ini"
    ini '[env]' 'remove = AWS_*, *_TOKEN [A-C]?' 'set.EDITOR = ed = not # cut'
    [ "$(setting env.pass)" = "* from $XDG_CONFIG_HOME/mas/mas.ini:2" ]
    [ "$(setting env.remove)" = "AWS_*, *_TOKEN [A-C]? from $ROOT/mas.ini:2" ]
    [ "$(setting env.set.EDITOR)" = "ed = not # cut from $ROOT/mas.ini:3" ]
    [ "$(setting env.set.PAGER)" = "less from $XDG_CONFIG_HOME/mas/mas.ini:4" ]
    mas config
    [[ $output == *"env.set.PAGER "* ]]
}

@test "[env] refuses what is no pattern, no name, or mas's own" {
    ini '[env]' 'pass = A=B'
    refused "2: [env] pass: 'A=B' is not a list of patterns of names, such as AWS_* *_TOKEN"
    ini '[env]' 'set.1X = y'
    refused "2: [env] set.1X: '1X' is not a name of an environment variable"
    ini '[env]' 'set. = y'
    refused "2: [env] set.: '' is not a name of an environment variable"
    for name in MAS_AGENT_ID TMUX TMUX_PANE PWD SESSION_NAME UNIT_DIR WORKFLOWS_DIR; do
        ini '[env]' "set.$name = y"
        refused "2: [env] set.$name: '$name' is set by mas itself"
    done
    for name in TERM COLUMNS LINES OLDPWD; do
        ini '[env]' "set.$name = y"
        refused "2: [env] set.$name: '$name' describes the agent's own terminal"
    done
    ini '[env]' 'EDITOR = vi'
    refused '2: [env] EDITOR: unknown setting'
}

@test "[memory] has what the contract says, and refuses what is out of range or of the wrong kind" {
    for line in recall=on share=no embed_command= embed_host= summary=off messages=50 each=2000 all=60000 current=20 relevant=10; do
        [ "$(setting "memory.${line%%=*}")" = "${line#*=} from built in" ]
    done
    ini '[memory]' 'recall = yes'
    refused "2: [memory] recall: 'yes' is not on or off"
    ini '[memory]' 'share = on'
    refused "2: [memory] share: 'on' is not yes or no"
    ini '[memory]' 'summary = me'
    refused "2: [memory] summary: 'me' is not off or agent"
    ini '[memory]' "embed_command = embed 'open"
    refused "2: [memory] embed_command: 'embed 'open' is not a program and its arguments, with every quote closed"
    for key in messages current relevant; do
        for value in 10001 -1 '' ten 1K; do
            ini '[memory]' "$key = $value"
            refused "2: [memory] $key: '$value' is not a number from 0 to 10000"
        done
    done
    for key in each all; do
        for value in 99 4000001 '' 2K; do
            ini '[memory]' "$key = $value"
            refused "2: [memory] $key: '$value' is not a number of characters from 100 to 4000000"
        done
    done
    ini '[memory]' 'recall = on' 'share = yes' 'embed_command = embed "two words"' 'summary = agent' 'messages = 0' 'each = 100'
    [ "$(setting memory.recall)" = "on from $ROOT/mas.ini:2" ]
    [ "$(setting memory.embed_command)" = "embed \"two words\" from $ROOT/mas.ini:4" ]
    [ "$(setting memory.each)" = "100 from $ROOT/mas.ini:7" ]
}

@test "config prints what a mas.ini says of presets, limits too, and where" {
    mkdir -p "$HOME/.config/mas"
    printf '[preset made]\ncommand = cat\nlimits.memory = 1G\nlimits.cpus = 2\n' >"$HOME/.config/mas/mas.ini"
    printf '[preset made]\nlimits.memory = 2G\n' >>"$ROOT/mas.ini"
    mas config
    grep -qE "^preset\.made\.limits\.memory +2G +yes +$ROOT/mas\.ini:[0-9]+$" <<<"$output"
    grep -qE "^preset\.made\.limits\.cpus +2 +yes +$HOME/\.config/mas/mas\.ini:4$" <<<"$output"
    [ "$(grep -c '^preset\.made\.limits\.memory' <<<"$output")" -eq 1 ]
    mas config --json
    [ "$(jq -r '.settings[] | select(.key == "preset.made.command") | .value' <<<"$output")" = cat ]
    # not what comes with mas
    run ! grep -q 'preset\.claude' <<<"$output"
}
