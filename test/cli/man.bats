#!/usr/bin/env bats
# The manual pages say neither less nor more than the program and its files.
load ../helper

setup_more() {
    MAN=$PROJECT/man
    SRC=$PROJECT/src
    "${MAS%/*}/test/tools/verbs" >"$T/table"
}

# The verbs, and the actions of those that have some: "template list".
verbs() { awk -F '\t' '$1 == "verb" { print $2 }' "$T/table"; }

# part PAGE KIND TITLE: the source of a section (Sh) or subsection (Ss) of a page.
part() {
    awk -v macro=".$2" -v title="$3" '
        $1 == ".Sh" || $1 == macro { on = $1 == macro && substr($0, length(macro) + 2) == title; next }
        on' "$MAN/$1"
}

# The long options in mdoc source on stdin.
man_options() { grep -oE '(^\.(It|Op) Fl| Fl|[,|]) ([a-zA-Z] , )?-[a-z][a-z-]+' | grep -oE -- '-[a-z][a-z-]+$' | cut -c 2- | sort -u; }

# words PAGE: each word of a page, as a reader sees it, on a line of its own.
words() { mandoc -T ascii "$MAN/$1" | col -bx | tr -s ' \t(),;:.' '\n'; }

# has_word WORD FILE-OF-WORDS
has_word() { grep -qxF -- "$1" "$2" || { echo "not in the page: $1" >&2; return 1; }; }

@test "mandoc finds nothing to warn of in the manual pages" {
    run mandoc -T lint -W warning "$MAN"/*.[157]
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

# shellcheck disable=SC1112 # they are what is looked for
@test "no quotation in the manual pages begins within another of its kind" {
    local page
    for page in "$MAN"/*.[1578]; do
        run ! grep -nE '‘[^’]*‘|’’|“[^”]*“' <(mandoc -T utf8 "$page" | col -bx)
        [ -z "$output" ]
    done
}

# Creates a session whose agents work on a project.
new_code_session() {
    git init -q "$T/project"
    git -C "$T/project" config user.name Ann
    git -C "$T/project" config user.email ann@localhost
    git -C "$T/project" commit -q --allow-empty -m 'Begin'
    new_session --project "$T/project" "$@"
}

@test "mas(1) has every verb, and no other" {
    run diff <(verbs | sort) <(part mas.1 Sh COMMANDS | sed -n 's/^\.Ss //p' | sort)
    [ "$status" -eq 0 ]
    [ "$(verbs | wc -l)" -ge 14 ]
}

@test "mas(1) has each verb's aliases" {
    local verb alias count=0
    while IFS=$'\t' read -r verb alias; do
        part mas.1 Ss "$verb" | grep -qE "^\.Cm $alias( |$)"
        count=$((count + 1))
    done < <(awk -F '\t' -v OFS='\t' '$1 == "verb" && $4 != "-" { print $2, $4 }' "$T/table")
    [ "$count" -ge 2 ]
    part mas.1 Ss list | grep -q '^\.Cm ls'
}

@test "mas(1) has every long option of every verb at that verb, and no other" {
    local verb count=0
    part mas.1 Sh OPTIONS >"$T/shared"
    while read -r verb; do
        awk -F '\t' -v verb="$verb" '$1 == "option" && $2 == verb && $4 !~ /^(root|help)$/ { print $4 }' "$T/table" |
            sort -u >"$T/options"
        part mas.1 Ss "$verb" >"$T/section"
        # -s and -q stand in a synopsis by their letters
        { man_options <"$T/section"
            grep -qE '^\.Op Fl [a-z]*s( |$)' "$T/section" && echo session
            grep -qE '^\.Op Fl [a-z]*q[a-z]*$' "$T/section" && echo quiet; } | sort -u >"$T/man"
        diff "$T/options" "$T/man" || { echo "that was: mas $verb" >&2; false; }
        count=$((count + $(wc -l <"$T/options")))
    done < <(verbs)
    [ "$count" -ge 25 ]
    for option in root session json quiet help; do grep -q -- "-$option" "$T/shared"; done
}

@test "mas(1) has the letter of every option" {
    local verb letter option count=0
    part mas.1 Sh OPTIONS >"$T/shared"
    while IFS=$'\t' read -r verb letter option; do
        part mas.1 Ss "$verb" | cat - "$T/shared" >"$T/section"
        grep -qE "^\.It Fl $letter , -$option( |$)" "$T/section" || { echo "mas $verb: -$letter" >&2; false; }
        count=$((count + 1))
    done < <(awk -F '\t' -v OFS='\t' '$1 == "option" && $3 != "-" { print $2, $3, $4 }' "$T/table")
    [ "$count" -ge 60 ]
}

@test "mas(1) has every exit code" {
    local codes
    codes=$(sed -n '/MAS_OK = 0/,/};/s/.* = \([0-9]*\),.*/\1/p' "$SRC/base/err.h")
    [ "$(wc -l <<<"$codes")" -eq 13 ]
    run diff <(echo "$codes") <(part mas.1 Sh 'EXIT STATUS' | sed -n 's/^\.It \([0-9]*\)$/\1/p')
    [ "$status" -eq 0 ]
}

# The variables that only agents of a team with a project get.
code_variables() { grep -oE 'kv_put\(to, "MAS_[A-Z_]+"' "$SRC/code/repo.c" | cut -d'"' -f2; }

@test "mas-code(7) has every variable that agents with a project get, and no other" {
    code_variables | sort >"$T/source"
    [ "$(wc -l <"$T/source")" -eq 3 ]
    run diff "$T/source" <(part mas-code.7 Sh ENVIRONMENT | sed -n 's/^\.It Ev //p' | sort)
    [ "$status" -eq 0 ] || { echo "$output" >&2; false; }
}

@test "mas-code(7) has every ref of mas" {
    words mas-code.7 >"$T/words"
    grep -ohE '"refs/mas/[a-z]+/?' "$SRC"/code/*.[ch] "$SRC"/code/*/*.[ch] | tr -d '"' | sort -u >"$T/refs"
    [ "$(wc -l <"$T/refs")" -ge 4 ]
    while read -r ref; do
        grep -qE "^$ref(agent|id/|id/agent|commit|commit/from)?$" "$T/words" || { echo "not in the page: $ref" >&2; false; }
    done <"$T/refs"
}

@test "mas-session(5) has every file that mas adds to code.git" {
    new_code_session -t pair --no-start
    ok diff "$ID"
    part mas-session.5 Ss Code | grep '^\.It Pa' | grep -oE 'Pa [a-z.]+' | cut -d' ' -f2 >"$T/page"
    grep -qx 'code.git' "$T/page"
    run diff <(printf '%s\n' HEAD config objects refs) <(
        find "$ROOT/sessions/$ID/code.git" -mindepth 1 -maxdepth 1 -printf '%f\n' | grep -vxFf "$T/page" | sort)
    [ "$status" -eq 0 ] || { echo "$output" >&2; false; }
}

@test "mas(1) has every variable that agents get, and every one that mas reads" {
    local name
    new_session -t solo
    part mas.1 Sh ENVIRONMENT | grep -oE '\b[A-Z][A-Z_]+\b' | sort -u >"$T/page"
    for name in $("$MAS" env "$ID" | cut -d= -f1) MAS_AGENT_ID MAS_AGENT_ROLE MAS_SOCKET $(code_variables); do
        part mas.1 Ss 'Set for every agent' | grep -q "^\.It Ev $name$"
    done
    while read -r name; do
        has_word "$name" "$T/page"
    done < <(grep -ohE 'getenv\("[A-Z_]+"|"MAS_[A-Z_]+", "' "$SRC"/*.c "$SRC"/*/*.c | grep -oE '[A-Z_]{3,}' | sort -u)
}

@test "mas(1) has every member of the JSON that commands print" {
    local key
    new_session -t solo
    words mas.1 >"$T/words"
    for key in $("$MAS" list --json | jq -r '[paths | .[-1] | strings] | unique[]') \
        $("$MAS" show "$ID" --json | jq -r '[paths | .[-1] | strings] | unique[]') \
        $("$MAS" config --json | jq -r '[paths | .[-1] | strings] | unique[]') exitStatus reason; do
        has_word "$key" "$T/words"
    done
    while read -r key; do
        has_word "$key" "$T/words"
    done < <(grep -ohE 'json_(put|open)[a-z_]*\(&?out, "[a-zA-Z]+"' "$SRC"/cmd/*.c "$SRC"/client/view.c | sed 's/.*"\(.*\)"/\1/')
}

@test "mas.ini(5) has every setting with its default, and no other" {
    local key value section name
    unset MAS_TMUX_SOCKET
    "$MAS" config --json | jq -r '.settings[] | .key + " " + .value' >"$T/settings"
    [ "$(wc -l <"$T/settings")" -ge 8 ]
    part mas.ini.5 Sh SETTINGS | awk '
        $1 == ".Ss" { section = substr($2, 2, length($2) - 2) }
        $1 == ".It" { key = section "." $3 }
        $1 == "Default:" || after { value = $1 == ".Cm" ? $2 : ""; after = $0 == "Default:"; if (!after) print key " " value }
    ' >"$T/page"
    run diff <(sort "$T/settings") <(sort "$T/page")
    [ "$status" -eq 0 ] || { echo "$output" >&2; false; }
}

@test "each variable in mas.ini(5) sets the setting at which it stands" {
    local key name value count=0
    while read -r key name; do
        case $key in
            tmux.socket) value=/tmp/other ;;
            tmux.server) value=per-session ;;
            tmux.size) value=90x30 ;;
            session.mode) value=legacy ;;
            *) value=other ;;
        esac
        run env -u MAS_TMUX_SOCKET "$name=$value" "$MAS" config --json
        [ "$(jq -r --arg k "$key" '.settings[] | select(.key == $k) | .value + " " + .origin' <<<"$output")" = "$value $name" ]
        count=$((count + 1))
    done < <(part mas.ini.5 Sh SETTINGS | awk '
        $1 == ".Ss" { section = substr($2, 2, length($2) - 2) }
        $1 == ".It" { key = section "." $3 }
        $1 == ".Ev" && $2 ~ /^MAS_/ { print key, $2 }')
    [ "$count" -eq "$(grep -coE '"MAS_[A-Z_]+", "' "$SRC/model/setting.c")" ]
}

@test "mas.ini(5) has every key of a preset, and mas knows each" {
    local key
    part mas.ini.5 Sh PRESETS | sed -n 's/^\.It Cm //p' >"$T/page"
    tr -s ' ,' '\n' <"$T/page" | grep -vxE 'Ns|Ar|NAME|KIND|PATH|(role_|wall\.|sandbox_off\.|told\.)?env\.|told\.(event|each|file|home|line|tool|trusted_home)\.|permission\.|(budget|limits)\.|' | sort >"$T/keys"
    run diff <(grep -oE '\{KEY\("[a-z_.]+"' "$SRC/model/preset.c" | cut -d'"' -f2 | grep -vE '^(budget|limits)\.' | sort) "$T/keys"
    [ "$status" -eq 0 ] || { echo "$output" >&2; false; }
    grep -q '^env\. ' "$T/page"
    grep -q '^role_env\. ' "$T/page"
    grep -q '^wall.env\. ' "$T/page"
    grep -q '^sandbox_off.env\. ' "$T/page"
    grep -q '^told.env\. ' "$T/page"
    grep -q '^told.event\. ' "$T/page"
    grep -q '^told.file\. ' "$T/page"
    grep -q '^told.line\. ' "$T/page"
    grep -q '^permission\. ' "$T/page"
    grep -q '^budget\. ' "$T/page"
    grep -q '^limits\. ' "$T/page"
    {
        echo '[preset all]'
        echo 'env.KEY = value'
        printf '%s.KEY = value\n' role_env wall.env sandbox_off.env told.env
        printf 'budget.%s\n' 'cost = 5 USD' 'tokens = 5M' 'turns = 5' 'time = 5m'
        printf 'limits.%s\n' 'agent = 1G' 'memory = 1G' 'cpus = 1.5' 'processes = 50'
        printf 'told.%s\n' 'event.Stop = done' 'file.a/b = text' 'line.a = says text:b'
        printf 'permission.%s = allow\n' read edit delete move search execute think fetch switch_mode other
        while read -r key; do
            case $key in
                protocol) echo "$key = acp" ;;
                permission) echo "$key = deny" ;;
                offers) echo "$key = terminal" ;;
                tokens) echo "$key = session" ;;
                start) echo "$key = demand" ;;
                restart) echo "$key = on-crash" ;;
                tools | paste | operator | executes | told.copies | told.renews | wall.nested) echo "$key = no" ;;
                sandbox_off.session) echo "$key = {}" ;;
                wall.level) echo "$key = try" ;;
                picture) echo "$key = {path}" ;;
                wall.read | wall.write) echo "$key = /x" ;;
                *_limit) echo "$key = 7" ;;
                memory) echo "$key = 1G" ;;
                idle | hold | hibernate | *_delay | *_after | *_quiet | *_timeout) echo "$key = 10ms" ;;
                told.database.*) echo "$key = SELECT 1" ;;
                told.key.*) echo "$key = Esc" ;;
                *) echo "$key = word" ;;
            esac
        done <"$T/keys"
    } >>"$ROOT/mas.ini"
    ok list
    echo 'other = 1' >>"$ROOT/mas.ini"
    fails 1 list
}

@test "mas.ini(5) has every key of a host, and no other" {
    run diff <(grep -oE '(\.key = |MEMBER\()"[a-z]+"' "$SRC/model/remote.c" | cut -d'"' -f2) \
        <(part mas.ini.5 Sh HOSTS | sed -n 's/^\.It Cm //p')
    [ "$status" -eq 0 ] || { echo "$output" >&2; false; }
}

@test "mas.ini(5) has every shipped preset" {
    words mas.ini.5 >"$T/words"
    while read -r name; do
        has_word "$name" "$T/words"
    done < <(sed -n 's/^\[preset \(.*\)]$/\1/p' "$PROJECT/templates/agents.ini")
}

@test "the mas.ini in mas.ini(5)'s example is a good one" {
    part mas.ini.5 Sh EXAMPLES | grep -v '^\.' >"$ROOT/mas.ini"
    unset MAS_TMUX_SOCKET
    ok config --json
    [ "$(jq -r '.settings[] | select(.key == "tmux.server") | .value' <<<"$output")" = per-session ]
}

@test "mas-template(5) has every section and key of template.ini, and every word they take" {
    local word
    part mas-template.5 Ss template.ini >"$T/page"
    diff <(grep -v MEMBER_OF_JSON "$SRC"/model/team/team{,_ini}.c |
        sed -nE 's/.*(line->key, |\{AGENT\()"([a-z]+)".*|.*MEMBER\("([a-z.]+)", [^,]*, struct (team|window),.*/\2\3/p' | sort -u) \
        <(sed -n 's/^\.It Cm //p' "$T/page" | sort -u)
    diff <(grep -oE 'line->section, "[a-z]+ ?"' "$SRC/model/team/team_ini.c" | tr -d ' ' | cut -d'"' -f2 | sort -u) \
        <(sed -nE 's/^\.It Li \[([a-z]+).*/\1/p' "$T/page" | sort -u)
    words mas-template.5 >"$T/words"
    for word in $(sed -n '/rank_names\[/,/;/p; / reaches\[/,/;/p; /known\[\] =/,/;/p' "$SRC/model/team/team.c" "$SRC/model/team/layout.c" | grep -oE '"[a-z-]+"' | tr -d '"'); do
        has_word "$word" "$T/words"
    done
    has_word "$(sed -n 's/.*TEAM_AGENTS_MAX = \([0-9]*\).*/\1/p' "$SRC/model/team/team.h")" "$T/words"
    has_word "$(sed -n 's/.*TEAM_WINDOWS_MAX = \([0-9]*\).*/\1/p' "$SRC/model/team/team.h")" "$T/words"
    for word in "$PROJECT"/templates/*/; do has_word "templates/$(basename "$word")" "$T/words"; done
}

@test "the template in mas-template(5)'s example makes a team" {
    mkdir -p "$ROOT/templates/desk/unit/writer" "$ROOT/templates/desk/unit/shell"
    part mas-template.5 Sh EXAMPLES | grep -v '^\.' | sed -n '/^\[template]/,/^With/p' | grep -v '^With' \
        >"$ROOT/templates/desk/template.ini"
    ok new -q -t desk --no-start
    [ "$(field "$output" '.agents[] | select(.id == "writer") | .preset + " " + .model')" = 'claude opus' ]
}

@test "mas-session(5) has every key of .session, and no other" {
    local key
    part mas-session.5 Ss .session | sed -n 's/^\.It Li //p' | sed 's/ , /\n/g' | sort >"$T/page"
    grep -oE 'KEY\("[A-Z_]+"' "$SRC/store/session.c" | grep -oE '[A-Z_]{4,}' | sort >"$T/source"
    run diff "$T/source" "$T/page"
    [ "$status" -eq 0 ] || { echo "$output" >&2; false; }
    new_session -t solo
    "$MAS" stop -q "$ID"
    run ! grep -vxFf "$T/page" <(cut -d= -f1 "$ROOT/sessions/$ID/.session")
}

@test "mas-session(5) has every member of the index and of config.json" {
    local key
    new_code_session -t solo
    words mas-session.5 >"$T/words"
    for key in $(jq -r '[paths | .[-1] | strings] | unique[]' "$ROOT/sessions/.sessions.index") \
        $(jq -r '[paths | .[-1] | strings] | unique[]' "$ROOT/sessions/$ID/config.json"); do
        # ranks are those of mas-template(5)
        case $key in meta | manager | worker) continue ;; esac
        has_word "$key" "$T/words"
    done
}

# entries SESSION: makes every.json and every.env, with a crontab that keeps nothing.
entries() {
    mkdir "$T/cron"
    # shellcheck disable=SC2016 # for the other shell
    printf '#!/bin/sh\ncase $1 in -l) echo "no crontab for me" >&2; exit 1 ;; *) cat >/dev/null ;; esac\n' >"$T/cron/crontab"
    printf '#!/bin/sh\nexit 1\n' >"$T/cron/systemctl"
    chmod +x "$T/cron/"*
    PATH=$T/cron:$PATH "$MAS" every -q --start daily "$1" solo x
}

@test "mas-session(5) has every file of a workspace with its mode, and a workspace has them" {
    local file mode count=0
    "$MAS" init -q
    printf '[workspace]\nlazy = yes\n' >"$ROOT/mas.ini"
    new_session -t solo --no-start
    LAZY=$ID
    : >"$ROOT/mas.ini"
    new_session -t solo
    agent_pid "$ID" # which has made its files
    # as a host that was killed leaves it
    run -137 "${MAS%/*}/test/tools/say" "$ROOT/sessions/$ID" solo <<<kill
    "$MAS" set -q "$ID" limits.agent=1T # makes limits.json
    entries "$ID"
    while read -r file mode; do
        case $file in run/env | .new-* | .trash-* | .sessions.events | .serve.* | .waiting* | .came-from* | .starts* | .every | .wall-probe | .turns/ | .limits/ | pictures/ | home/* | logs/network-*) continue ;; esac
        case $file in
            .snapshots/) path=$ROOT/sessions/$file ;;
            .snapshot) path=$ROOT/sessions/$LAZY/$file ;;
            .sessions.*) path=$ROOT/sessions/$file ;;
            uuid) path=$ROOT/sessions/$ID ;;
            unit/*) path=$ROOT/sessions/$ID/unit/solo ;;
            *) path=$ROOT/sessions/$ID/$file ;;
        esac
        [ "$(stat -c %a "$path")" = "$mode" ] || { echo "$file" >&2; false; }
        echo "${file%/}" >>"$T/page"
        count=$((count + 1))
    done < <(sed -nE 's/^\.It (Pa|Ar) (.*) Ta ([0-7]{3}) Ta .*/\2 \3/p' "$MAN/mas-session.5" | sed 's/ Ns Ar /</; s/<agent/agent/; s/<uuid/uuid/')
    [ "$count" -eq 19 ]
    # and nothing else is there
    run ! grep -vxFf <(echo unit; cat "$T/page") < <(cd "$ROOT/sessions/$ID" && find . -mindepth 1 -maxdepth 1 -printf '%P\n')
}

@test "the .session in mas-session(5)'s example is one that mas can read" {
    local id=550e8400-e29b-41d4-a716-446655440000
    mas new -q --id "$id" -t solo --no-start
    part mas-session.5 Sh EXAMPLES | grep -v '^\.' | sed 's/^STATUS=.*/STATUS=stopped/' >"$ROOT/sessions/$id/.session"
    ok doctor --fix
    [[ $output == *"its paths are those of another directory"* ]]
    [[ $output != *damaged* ]]
    [ "$(field "$id" '.name + " " + .status')" = 'fix-login stopped' ]
}

@test "the example in mas-serve(8) starts a server and a team, and ends both" {
    part mas-serve.8 Sh EXAMPLES | sed -n '/^\.Bd/,/^\.Ed/p' | grep -v '^\.' >"$T/script"
    [ "$(wc -l <"$T/script")" -ge 8 ]
    mkdir "$T/bin" "$T/there"
    ln -s "$MAS" "$T/bin/mas"
    cd "$T/there"
    PATH=$T/bin:$PATH run sh -eu "$T/script" 3>&-
    [ "$status" -eq 0 ]
    [[ $output == *'"outcome":"'*'"removed":true'* ]]
    [ -z "$("$MAS" list -q --all)" ]
}

@test "mas-agents(7) has every state of an agent" {
    local state
    part mas-agents.7 Ss States | sed -n 's/^\.It Cm //p' | sort >"$T/page"
    sed -n '/state_names\[AGENT/,/};/p' "$SRC/model/agent_status.c" | grep -oE '"[a-z]+"' | tr -d '"' | sort >"$T/source"
    [ "$(wc -l <"$T/source")" -eq 9 ]
    diff "$T/source" "$T/page"
}

@test "mas-acp(7) names every method that is called or served, every kind of update, and the limits" {
    sed -n '/methods\[\] = {/,/};/p; /served\[\] = {/,/};/p' "$SRC/protocol/acp.c" "$SRC/protocol/acp_call.c" | grep -oE '"[a-z/_]+"' | tr -d '"' >"$T/names"
    sed -n '/^} kinds\[\] = {/,/};/p' "$SRC/protocol/acp_update.c" | grep -oE '"[a-z_]+"' | tr -d '"' >>"$T/names"
    sort -u "$T/names" >"$T/source"
    [ "$(wc -l <"$T/source")" -ge 25 ]
    sed -n 's/^\.It Li //p; s/^\.Li //p' "$PROJECT/man/mas-acp.7" | tr ' ' '\n' | grep -xFf "$T/source" | sort -u >"$T/page"
    diff "$T/source" "$T/page"
    grep -q 'ACP_LINE_MAX = 32 << 20' "$SRC/protocol/acp.h"
    grep -q 'ACP_OUT_MAX = 64 << 20' "$SRC/protocol/acp.h"
    grep -q 'RPC_OPEN_MAX = 1024' "$SRC/protocol/rpc.h"
    grep -q 'AGENT_FILE_MAX = 16 << 20' "$SRC/host/acp/files.h"
    grep -q 'OUTPUT_DEFAULT = 1 << 20' "$SRC/host/acp/terminals.c"
    grep -q 'OUTPUT_MAX = 4 << 20' "$SRC/host/acp/terminals.c"
    grep -q 'TERMINALS_MAX = 64' "$SRC/host/acp/terminals.h"
    grep -q 'TURN_CANCEL_MS = 5000' "$SRC/host/talk/turn.h"
}

@test "host/acp/phase.h says of each phase of an ACP agent what it waits for" {
    sed -nE 's/^ \*     ([A-Z_]+)  +(.*)$/\1: \2/p' "$SRC/host/acp/phase.h" >"$T/page"
    grep -oE '\{"[A-Z_]+", "[^"]+"' "$SRC/host/acp/phase.c" | sed 's/^{"\([A-Z_]*\)", "\(.*\)"$/\1: \2/' >"$T/source"
    [ "$(wc -l <"$T/source")" -eq 11 ]
    diff "$T/source" "$T/page"
}

@test "protocol/host.h has a line for every request and event of a host" {
    {
        sed -n '/^} requests\[\] = {/,/^};/p' "$SRC/host/request.c" | sed -n 's/^ *{"\([a-z]*\)".*/\1/p' | grep -vxE 'status|watch|restart|stop'
        grep -ohE 'event_open\(&[a-z_]+, "[a-z]+"|event_tell_text\([a-z]+, "[a-z]+"' "$SRC"/host/{acp,talk}/*.c | cut -d'"' -f2
    } | sort -u >"$T/source"
    [ "$(wc -l <"$T/source")" -ge 22 ]
    sed -n 's/^ \*   \([a-z][a-z]*\)\( .*\)\{0,1\}$/\1/p' "$SRC/protocol/host.h" | sort -u >"$T/page"
    run ! grep -vxFf "$T/page" "$T/source"
}
