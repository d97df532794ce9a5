#!/usr/bin/env bats
# The shells' side. test/unit/test_cmd.c goes through what there is to offer for every command.
load ../helper

setup_more() {
    ln -s "$MAS" "$T/mas"
    export PATH=$T:$PATH
    cd "$T" || return
}

# What bash offers for the last of these words, behind `mas`.
bash_offers() {
    # shellcheck disable=SC2016
    bash --norc --noprofile -c '
        source <(mas completion bash)
        COMP_WORDS=(mas "$@") COMP_CWORD=$# COMP_LINE="mas $*"
        COMP_POINT=${#COMP_LINE} COMPREPLY=()
        eval "spec=($(complete -p mas))"
        for ((i = 0; i < ${#spec[@]}; i++)); do
            [ "${spec[i]}" = -F ] && function=${spec[i + 1]}
        done
        "$function" mas "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        ((${#COMPREPLY[@]} == 0)) || printf "%s\n" "${COMPREPLY[@]% }"' bash "$@"
}

# What fish offers for this command line.
fish_offers() {
    # shellcheck disable=SC2016
    fish --no-config -c 'mas completion fish | source; complete -C $argv[1]' "$1" | cut -f 1
}

# An interactive shell in a terminal, with the completion loaded.
start_shell() {
    tm new-session -d -s shell -x 120 -y 100 -- "$@"
    case $1 in
        bash) type_line "PS1='> '; bind 'set bell-style none'; source <(mas completion bash); echo load''ed" ;;
        zsh) type_line "PS1='> '; autoload -Uz compinit; compinit -D -u; source <(mas completion zsh); echo load''ed" ;;
        fish) type_line "function fish_prompt; echo '> '; end; mas completion fish | source; echo load''ed" ;;
    esac
    eventually screen_has loaded
    type_line clear
    # shellcheck disable=SC2329
    is_clear() { ! screen_has loaded; }
    eventually is_clear
}
type_text() { tm send-keys -t =shell: -l -- "$1"; }
type_line() { type_text "$1" && tm send-keys -t =shell: Enter; }
screen_has() { tm capture-pane -p -t =shell: | grep -qF -- "$1"; }
# $1 and a tab make the command line $2.
tab_makes() {
    tm send-keys -t =shell: C-u
    type_text "$1"
    tm send-keys -t =shell: Tab
    eventually screen_has "> $2"
}

commands() { "$MAS" help | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p'; }
options() { "$MAS" help "$1" | sed -n 's/^  \(-[a-zA-Z],\|   \) \(--[a-z-]*\).*/\2/p'; }

lines_of() { sort -u <<<"$1" | xargs; }

@test "completion is for bash, zsh and fish, and for nothing else" {
    for shell in bash zsh fish; do
        ok completion $shell
        [ -z "$stderr" ]
        [[ $output == *"written by 'mas completion $shell'"* ]]
    done
    fails 2 completion tcsh
    [ "$stderr" = "mas: cannot complete for 'tcsh': the shells are bash, zsh and fish" ]
    [ -z "$output" ]
    fails 2 completion
}

@test "the scripts have no syntax error and print nothing when loaded" {
    for shell in bash zsh fish; do
        "$MAS" completion $shell >"$T/script"
        run -0 $shell -n "$T/script"
        [ "$status" -eq 0 ]
        [ -z "$output" ]
    done
    run bash --norc -c 'set -u; source <(mas completion bash)'
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    run fish --no-config -c 'mas completion fish | source'
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "bash: every command is offered" {
    [ "$(lines_of "$(bash_offers '')")" = "$(lines_of "$(commands)")" ]
    [ "$(bash_offers comple)" = completion ]
    [ "$(lines_of "$(bash_offers st)")" = "start status stop" ]
    [ -z "$(bash_offers xyz)" ]
}

@test "bash: every option of a command is offered" {
    for name in new list help; do
        [ "$(lines_of "$(bash_offers "$name" --)")" = "$(lines_of "$(options "$name")")" ]
    done
    [ "$(lines_of "$(bash_offers list --a)")" = "--active --all --all-hosts" ]
}

@test "bash: an alias is completed as its command is" {
    new_session -t solo -n alpha --no-start
    for name in ls info; do
        [ "$(lines_of "$(bash_offers "$name" --)")" = "$(lines_of "$(options "$name")")" ]
    done
    [ "$(bash_offers info --session al)" = alpha ]
}

@test "bash: sessions are offered by tmux name and by name where a SESSION stands" {
    new_session -t solo -n alpha --no-start
    one=mas-${ID:0:8}
    new_session -t solo --no-start
    two=mas-${ID:0:8}
    for name in show info attach stop start rm env; do
        [ "$(lines_of "$(bash_offers $name '')")" = "$(printf '%s\n' alpha "$one" "$two" | sort | xargs)" ]
        [ "$(bash_offers $name al)" = alpha ]
    done
    [ "$(bash_offers show --session al)" = alpha ]
    [ "$(bash_offers stop "$two" al)" = alpha ]
    [ -z "$(bash_offers new al)" ]
}

@test "bash: templates and presets are offered behind their options" {
    printf '[preset mine]\ncommand = true\n' >>"$ROOT/mas.ini"
    mkdir "$ROOT/templates/no-template"
    [ "$(lines_of "$(bash_offers new --template '')")" = "default pair solo" ]
    [ "$(bash_offers new --template so)" = solo ]
    output=$(bash_offers new --agent '')
    for name in shell claude codex gemini copilot opencode claude-tty opencode-tty mine; do
        grep -qxF -- $name <<<"$output"
    done
}

@test "bash: a short option that takes a value is completed as the long one is" {
    new_session -t solo -n alpha --no-start
    [ "$(lines_of "$(bash_offers new -t '')")" = "default pair solo" ]
    [ "$(bash_offers new -t so)" = solo ]
    [ "$(bash_offers show -s al)" = alpha ]
}

@test "bash: completion runs nothing that stands in a name" {
    new_session -t solo
    # shellcheck disable=SC2016
    {
        cp -r "$ROOT/templates/solo" "$ROOT/templates/"'$(touch ran1)'
        cp -r "$ROOT/templates/solo" "$ROOT/templates/"'`touch ran2`'
        printf '[preset $(touch ran3)]\ncommand = true\n' >>"$ROOT/templates/agents.ini"
        tm rename-session -t "=mas-${ID:0:8}" '$(touch${IFS}ran4)'
    }
    bash_offers new --template ''
    bash_offers new --agent ''
    bash_offers show ''
    run find "$T" -name 'ran*' -o -name 'touch*'
    [ -z "$output" ]
}

@test "bash: words with slashes, stars and quotes on the command line do no harm" {
    # shellcheck disable=SC1003,SC2016
    for word in a/b 'x/y/e' '.*/touch ran/e' '*' "it's" '[' '\' '$(touch ran)' 'a b'; do
        run bash_offers init "$word" ''
        [ "$status" -eq 0 ]
        [ -z "$output" ]
        run bash_offers "$word" '' ''
        [ "$status" -eq 0 ]
        [ -z "$output" ]
        run bash_offers show "$word"
        [ "$status" -eq 0 ]
        [ -z "$output" ]
    done
    run find "$T" -name 'ran*'
    [ -z "$output" ]
}

@test "bash: a root with spaces and quotes in its path is looked into" {
    export MAS_ROOT="$T/it's a \"root\"  with #() "
    "$MAS" init -q
    [ "$(bash_offers new --template so)" = solo ]
    [ "$(bash_offers new --agent she)" = shell ]
    "$MAS" new -q -t solo -n alpha --no-start
    [ "$(bash_offers show al)" = alpha ]
}

@test "bash: the root that the command line names is looked into" {
    local other="$T/other root"
    "$MAS" --root "$other" init -q
    mv "$other/templates/solo" "$other/templates/only"
    "$MAS" --root "$other" new -q -t only -n alpha --no-start
    new_session -t solo -n beta --no-start
    # as bash cuts the line: quotes stay, and = is a word
    for dir in "$other" "'$other'" "\"$other\"" "${other/ /\\ }"; do
        [ "$(bash_offers --root "$dir" show --session al)" = alpha ]
        [ -z "$(bash_offers --root "$dir" show --session be)" ]
        [ "$(bash_offers --root = "$dir" show al)" = alpha ]
        [ "$(bash_offers "--root=$dir" show al)" = alpha ]
        [ "$(bash_offers show --root "$dir" al)" = alpha ]
        [ "$(bash_offers new --root = "$dir" -t o)" = only ]
        [ "$(bash_offers template --root "$dir" show o)" = only ]
    done
    mv "$other" "$HOME/other root"
    # shellcheck disable=SC2088 # mas expands it
    [ "$(bash_offers --root '~/other\ root' show al)" = alpha ]
    [ "$(bash_offers show be)" = beta ]
    # behind -- there are only operands
    [ "$(bash_offers stop -- --root "$HOME/other root" be)" = beta ]
    # its value is a directory, and one that is not there offers no sessions
    for words in '--root' '--root =' '--root /nowhere show' '--root = /nowhere show'; do
        # shellcheck disable=SC2086
        [ -z "$(bash_offers $words '')" ]
    done
    [ "$(bash_offers --root /nowhere vers)" = version ]
}

@test "bash: without a root nothing is offered, printed or made" {
    export MAS_ROOT=''
    for words in 'show ' 'new --template ' 'new --agent '; do
        # shellcheck disable=SC2086
        run bash_offers $words ''
        [ "$status" -eq 0 ]
        [ -z "$output" ]
    done
    [ ! -e "$XDG_DATA_HOME/mas" ]
}

@test "bash: the actions of a command are offered, and their options and operands" {
    [ "$(lines_of "$(bash_offers template '')")" = 'check copy diff edit list make show' ]
    [ "$(bash_offers template li)" = list ]
    [ "$(lines_of "$(bash_offers template list --)")" = '--help --json --quiet --root' ]
    [ "$(lines_of "$(bash_offers template check pair so)")" = solo ]
    [ "$(bash_offers template copy pa)" = pair ]
    [ -z "$(bash_offers template copy pair so)" ] # a new name
    [ -z "$(bash_offers template nope '')" ]
    [ "$(lines_of "$(bash_offers help template '')")" = 'check copy diff edit list make show' ]
    [ -z "$(bash_offers help list '')" ]
}

@test "bash: agents, units and words are offered where a TARGET stands, of the session on the line" {
    new_session -t default -n big --no-start
    new_session -t pair -n two --no-start
    for name in send peek logs restart wait; do
        [ "$(lines_of "$(bash_offers $name two '')")" = 'all lead managers pair reviewer workers' ]
        [ "$(bash_offers $name big 3 | xargs)" = '30 31 32 33' ]
    done
    [ "$(bash_offers logs -n 5 two re)" = reviewer ]
    [ "$(bash_offers send -s two le)" = lead ]
    [ "$(bash_offers send --session=two le)" = lead ]
    [ "$(bash_offers send two --from re)" = reviewer ]
    [ "$(bash_offers send two lead,re)" = lead,reviewer ]
    [ -z "$(bash_offers send two lead re)" ] # the text
    [ "$(bash_offers restart two lead re)" = reviewer ]
    [ "$(lines_of "$(bash_offers attach two '')")" = 'lead reviewer' ]
    for verb in ask clear cancel approve deny; do
        [ "$(lines_of "$(bash_offers "$verb" two '')")" = 'lead reviewer' ]
    done
    [ -z "$(bash_offers send nosuch '')" ]
    [ -z "$(bash_offers show two le)" ]
}

@test "bash: in a team's pane the TARGET may come first" {
    new_session -t default -n big --no-start
    new_session -t pair -n two --no-start
    export MAS_SESSION_ID=$ID
    [ "$(bash_offers send le)" = lead ]
    [ "$(bash_offers send bi)" = big ]
    [ "$(bash_offers restart lead re)" = reviewer ]
}

@test "bash: fixed words and lists of them are offered" {
    [ "$(lines_of "$(bash_offers wait --for '')")" = 'exit idle waiting' ]
    [ "$(lines_of "$(bash_offers new --mode '')")" = 'isolated legacy' ]
    [ "$(bash_offers clean --status st)" = stopped ]
    [ "$(bash_offers clean --status stopped,cr)" = stopped,crashed ]
    [ "$(bash_offers new --template = so)" = solo ] # bash parts a word at its =
    [ "$("$MAS" complete -- new --template=so)" = --template=solo ]
}

@test "bash: behind approve and deny stand the answers that there are, not files" {
    new_session -t pair -n two --no-start
    cd "$T"
    : >file
    [ "$(lines_of "$(bash_offers approve two lead '')")" = 'always clear once' ]
    [ "$(lines_of "$(bash_offers approve -s two lead '')")" = 'always clear once' ]
    [ "$(lines_of "$(bash_offers deny two lead '')")" = 'always once' ]
}

@test "zsh and fish show a word on each command, option and preset" {
    fish_describes() {
        # shellcheck disable=SC2016
        fish --no-config -c 'mas completion fish | source; complete -C $argv[1]' "$1"
    }
    grep -qxF -- $'doctor\tcheck everything on disk and in tmux, and repair it' <<<"$(fish_describes 'mas ')"
    grep -qxF -- $'--watch\tcontinue, and show each change' <<<"$(fish_describes 'mas status --')"
    grep -qxF -- $'shell\tlogin shell' <<<"$(fish_describes 'mas new --agent ')"
    [ -z "$("$MAS" complete -- doc | tr -d 'a-z\n')" ]
    start_shell zsh -f -i
    type_text 'mas d'
    tm send-keys -t =shell: C-d
    eventually screen_has 'doctor  -- check everything on disk and in tmux'
    eventually screen_has "deny  -- deny a permission request of an agent"
    # a description moves no terminal
    printf '[preset rude]\ndescription = a\033[2Jb\ncommand = true\n' >>"$ROOT/templates/agents.ini"
    run ! grep -q $'\033' <<<"$("$MAS" complete --describe -- new --agent '')"
}

@test "zsh: actions, agents and values behind = are completed" {
    new_session -t pair -n two --no-start
    start_shell zsh -f -i
    tab_makes 'mas template che' 'mas template check'
    tab_makes 'mas template show so' 'mas template show solo'
    tab_makes 'mas send two lead,re' 'mas send two lead,reviewer'
    tab_makes 'mas new --template=so' 'mas new --template=solo'
}

@test "fish: actions, agents and values behind = are completed" {
    new_session -t pair -n two --no-start
    [ "$(lines_of "$(fish_offers 'mas template ')")" = 'check copy diff edit list make show' ]
    [ "$(fish_offers 'mas template show so')" = solo ]
    [ "$(lines_of "$(fish_offers 'mas send two ')")" = 'all lead managers pair reviewer workers' ]
    [ "$(fish_offers 'mas send two lead,re')" = lead,reviewer ]
    [ "$(fish_offers 'mas new --template=so')" = --template=solo ]
}

@test "zsh, fish: the root that the command line names is looked into" {
    "$MAS" --root "$T/other root" init -q
    "$MAS" --root "$T/other root" new -q -t solo -n alpha --no-start
    [ "$(fish_offers "mas --root '$T/other root' show al")" = alpha ]
    [ "$(fish_offers "mas show --root='$T/other root' al")" = alpha ]
    start_shell zsh -f -i
    tab_makes 'mas --root ./other\ root show al' 'mas --root ./other\ root show alpha'
    tab_makes "mas show --root='$T/other root' al" "mas show --root='$T/other root' alpha"
}

@test "bash: a tab in a terminal completes commands, options, sessions, templates and files" {
    new_session -t solo -n alpha --no-start
    start_shell bash --norc --noprofile -i
    tab_makes 'mas comple' 'mas completion'
    tab_makes 'mas list --act' 'mas list --active'
    tab_makes 'mas show al' 'mas show alpha'
    tab_makes 'mas new -t so' 'mas new -t solo'
    mkdir "$T/only-here"
    tab_makes 'mas init on' 'mas init only-here/'
}

@test "zsh: a tab in a terminal completes commands, options, sessions, templates and files" {
    new_session -t solo -n alpha --no-start
    start_shell zsh -f -i
    tab_makes 'mas comple' 'mas completion'
    tab_makes 'mas list --act' 'mas list --active'
    tab_makes 'mas ls --act' 'mas ls --active'
    tab_makes 'mas show al' 'mas show alpha'
    tab_makes 'mas stop --al' 'mas stop --all'
    tab_makes 'mas new --template so' 'mas new --template solo'
    tab_makes 'mas new --agent she' 'mas new --agent shell'
    mkdir "$T/only-here"
    tab_makes 'mas init on' 'mas init only-here/'
}

@test "zsh: short options that take a value are completed as the long ones are" {
    new_session -t solo -n alpha --no-start
    start_shell zsh -f -i
    tab_makes 'mas new -t so' 'mas new -t solo'
    tab_makes 'mas show -s al' 'mas show -s alpha'
}

@test "zsh: two tabs list all candidates" {
    start_shell zsh -f -i
    type_text 'mas '
    tm send-keys -t =shell: C-d
    all_listed() { [ -z "$(comm -13 <(tm capture-pane -p -t =shell: | tr -s ' ' '\n' | sort -u) <(commands | sort))" ]; }
    eventually all_listed
}

@test "zsh: completion runs nothing that stands in a name or in the words before" {
    # shellcheck disable=SC2016
    cp -r "$ROOT/templates/solo" "$ROOT/templates/"'$(touch ran1)'
    # shellcheck disable=SC2016
    printf '[preset $(touch ran3)]\ncommand = true\n' >>"$ROOT/templates/agents.ini"
    start_shell zsh -f -i
    for line in 'mas new --template ' 'mas new --agent ' "mas '.*/touch ran4/e' x " 'mas init a/b '; do
        tm send-keys -t =shell: C-u
        type_text "$line"
        tm send-keys -t =shell: C-d
    done
    tm send-keys -t =shell: C-u
    type_line "echo do''ne"
    eventually screen_has 'done'
    run ! screen_has 'sed:'
    run find "$T" -name 'ran*'
    [ -z "$output" ]
}

@test "fish: every command is offered, and every option of a command" {
    [ "$(lines_of "$(fish_offers 'mas ')")" = "$(lines_of "$(commands)")" ]
    for name in new list help; do
        [ "$(lines_of "$(fish_offers "mas $name --")")" = "$(lines_of "$(options "$name")")" ]
    done
}

@test "fish: options of an alias are those of its command" {
    [ "$(lines_of "$(fish_offers 'mas ls --')")" = "$(lines_of "$(fish_offers 'mas list --')")" ]
    new_session -t solo -n alpha --no-start
    [ "$(fish_offers 'mas info al')" = alpha ]
}

@test "fish: sessions, templates and presets are offered" {
    new_session -t solo -n alpha --no-start
    one=mas-${ID:0:8}
    for name in show attach stop start rm env; do
        [ "$(lines_of "$(fish_offers "mas $name ")")" = "$(printf '%s\n' alpha "$one" | sort | xargs)" ]
    done
    [ "$(fish_offers 'mas show --session al')" = alpha ]
    [ "$(fish_offers 'mas show -s al')" = alpha ]
    [ "$(lines_of "$(fish_offers 'mas new -t ')")" = "default pair solo" ]
    [ "$(lines_of "$(fish_offers 'mas new --template ')")" = "default pair solo" ]
    [ "$(fish_offers 'mas new --agent she')" = shell ]
}

@test "fish: completion runs nothing that stands in a name" {
    new_session -t solo
    # shellcheck disable=SC2016
    cp -r "$ROOT/templates/solo" "$ROOT/templates/"'$(touch ran1)'
    cp -r "$ROOT/templates/solo" "$ROOT/templates/"'(touch ran2)'
    printf '[preset (touch ran3)]\ncommand = true\n' >>"$ROOT/templates/agents.ini"
    tm rename-session -t "=mas-${ID:0:8}" '(touch ran4)'
    for line in 'mas new -t ' 'mas new --agent ' 'mas show '; do
        fish_offers "$line"
    done
    run find "$T" -name 'ran*'
    [ -z "$output" ]
}

@test "fish: a tab in a terminal completes" {
    new_session -t solo -n alpha --no-start
    start_shell fish --no-config
    tab_makes 'mas comple' 'mas completion'
    tab_makes 'mas show al' 'mas show alpha'
}
