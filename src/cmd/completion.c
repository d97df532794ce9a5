#include "cmd.h"

/*
 * The scripts pass the words, of which the last is the one under the cursor, to `mas complete` and
 * offer what it prints. If it prints nothing, the shell completes file names.
 */

static const char bash_script[] =
    "# bash completion for mas; written by 'mas completion bash'\n_mas() {\n    local line\n    "
    "COMPREPLY=()\n    while IFS= read -r line; do\n        COMPREPLY+=(\"$line\")\n    done < "
    "<(command mas complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n    [[ "
    "${COMPREPLY[0]-} != *: ]] || "
    "compopt -o nospace\n}\ncomplete -o default -F _mas mas\n";

static const char zsh_script[] =
    "#compdef mas\n# zsh completion for mas; written by 'mas completion zsh'\n_mas() {\n    local "
    "-a offered plain\n    offered=(${(f)\"$(command mas complete --describe -- "
    "\"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n    plain=(${offered%%$'\\t'*})\n    "
    "offered=(\"${(@)offered/$'\\t'/  -- }\")\n    if (( ! ${#plain} )); then _files\n    elif [[ "
    "$offered = *'  -- '* ]]; then compadd -l -d offered -a plain\n    else compadd -a plain; "
    "fi\n}\nif [ \"${funcstack[1]-}\" = _mas ]; then _mas \"$@\"; else compdef _mas mas; fi\n";

static const char fish_script[] =
    "# fish completion for mas; written by 'mas completion fish'\nfunction __mas_complete\n    set "
    "-l words (commandline -opc) (commandline -ct)\n    set -l offered (command mas complete "
    "--describe -- $words[2..-1] 2>/dev/null)\n    if test (count $offered) -gt 0\n        printf "
    "'%s\\n' $offered\n    else\n        __fish_complete_path (commandline -ct)\n    "
    "end\nend\ncomplete -c mas -f -a '(__mas_complete)'\n";

static int run_completion(struct call *call, struct err *err)
{
    static const struct {
        const char *shell, *script;
    } shells[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};

    for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
        if (strcmp(call->operands[0], shells[i].shell) != 0)
            continue;
        (void)fputs(shells[i].script, stdout);
        return 0;
    }
    return err_set(err, MAS_USAGE, "cannot complete for '%s': the shells are bash, zsh and fish",
                   call->operands[0]);
}

const struct cmd cmd_completion = {
    .name = "completion",
    .group = GROUP_SETUP,
    .operands = " SHELL",
    .summary = "print the completion script for bash, zsh or fish",
    .examples = "source <(mas completion bash)\n"
                "mas completion fish > ~/.config/fish/completions/mas.fish",
    .details = "To load it into the running bash: source <(mas completion bash)",
    .operands_min = 1,
    .operands_max = 1,
    .who = WHO_AGENTS,
    .run = run_completion,
};
