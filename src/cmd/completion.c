#include "base/str.h"
#include "cmd.h"
#include "cmd/print.h"

#include <string.h>

/*
 * Completion scripts, made from the command table. Sessions come live from `mas list`; templates
 * and presets from the files of the root.
 */

static const char *offer_word(enum offer offer)
{
    static const char *const words[] = {"", "file", "dir", "session", "template", "preset"};
    return words[offer];
}

/* One line for each option and operand of each command: "<verb> <option> <what it offers>". */
static void add_facts(struct str *to)
{
    for (size_t i = 0; cmd_table[i] != NULL; i++) {
        const struct cmd *cmd = cmd_table[i];
        struct opt common[8];
        if ((cmd->flags & CMD_HIDDEN) != 0)
            continue;
        str_addf(to, "%s operand %s\n", cmd->name, offer_word(cmd->offer));
        if (cmd->alias != NULL)
            str_addf(to, "%s operand %s\n", cmd->alias, offer_word(cmd->offer));
        const struct opt *lists[] = {cmd->opts, cmd_common_opts(cmd, common)};
        for (size_t j = 0; j < ARRAY_LEN(lists); j++)
            for (const struct opt *opt = lists[j]; opt != NULL && opt->name != NULL; opt++)
                str_addf(to, "%s --%s %s\n", cmd->name, opt->name,
                         opt->arg == NULL ? "flag" : offer_word(opt->offer));
    }
}

/* The part that bash and zsh share: candidates for the word under the cursor, a line each. */
static const char shell_functions[] =
    "_mas_offer() {\n"
    "    local root\n"
    "    case $1 in\n"
    "    session) mas list 2>/dev/null | awk 'NR > 1 { print $1; if ($2 != \"-\") print $2 }' ;;\n"
    "    template) root=$(_mas_root) && for d in \"$root\"/templates/*/template.ini; do\n"
    "        d=${d%/template.ini}; printf '%s\\n' \"${d##*/}\"; done ;;\n"
    "    preset) root=$(_mas_root) && sed -n 's/^\\[preset \\(.*\\)]$/\\1/p' \\\n"
    "        \"$root\"/templates/agents.ini \"$root\"/mas.ini 2>/dev/null ;;\n"
    "    esac\n"
    "}\n"
    "_mas_root() { mas config 2>/dev/null | sed -n 's/^root  *\\(.*[^ ]\\)  *[^ ]*$/\\1/p'; }\n"
    "_mas_candidates() { # verb, word before the cursor, word under it\n"
    "    local kind\n"
    "    if [ -z \"$1\" ]; then\n"
    "        printf '%s\\n' \"$_mas_facts\" | sed -n 's/^\\([^ ]*\\) operand.*/\\1/p'\n"
    "        return\n"
    "    fi\n"
    "    kind=$(printf '%s\\n' \"$_mas_facts\" | sed -n \"s/^$1 $2 //p\")\n"
    "    case $kind in\n"
    "    '' | flag) ;;\n"
    "    *) _mas_offer \"$kind\"; return ;;\n"
    "    esac\n"
    "    case $3 in\n"
    "    -*) printf '%s\\n' \"$_mas_facts\" | sed -n \"s/^$1 \\(--[^ ]*\\).*/\\1/p\" ;;\n"
    "    *) _mas_offer \"$(printf '%s\\n' \"$_mas_facts\" | sed -n \"s/^$1 operand //p\")\" ;;\n"
    "    esac\n"
    "}\n";

static void add_bash(struct str *to)
{
    str_add(to, "# bash completion for mas; made by 'mas completion bash'\n_mas_facts='");
    add_facts(to);
    str_add(to, "'\n");
    str_add(to, shell_functions);
    str_add(to, "_mas() {\n"
                "    local cur=${COMP_WORDS[COMP_CWORD]} verb=''\n"
                "    [ \"$COMP_CWORD\" -gt 1 ] && verb=${COMP_WORDS[1]}\n"
                "    mapfile -t COMPREPLY < <(compgen -W \"$(_mas_candidates \"$verb\" \\\n"
                "        \"${COMP_WORDS[COMP_CWORD - 1]}\" \"$cur\")\" -- \"$cur\")\n"
                "}\n"
                "complete -o default -F _mas mas\n");
}

static void add_zsh(struct str *to)
{
    str_add(to,
            "#compdef mas\n# zsh completion for mas; made by 'mas completion zsh'\n_mas_facts='");
    add_facts(to);
    str_add(to, "'\n");
    str_add(to, shell_functions);
    str_add(to,
            "_mas() {\n"
            "    local verb='' line\n"
            "    local -a words_offered\n"
            "    (( CURRENT > 2 )) && verb=${words[2]}\n"
            "    words_offered=(${(f)\"$(_mas_candidates \"$verb\" \"${words[CURRENT-1]}\" "
            "\"${words[CURRENT]}\")\"})\n"
            "    if (( ${#words_offered} )); then compadd -a words_offered; else _files; fi\n"
            "}\n"
            "if [ \"${funcstack[1]-}\" = _mas ]; then _mas \"$@\"; else compdef _mas mas; fi\n");
}

/* What fish runs for each enum offer; NULL: it completes files. */
static const char *const fish_values[] = {"",
                                          NULL,
                                          "(__fish_complete_directories)",
                                          "(__mas_sessions)",
                                          "(__mas_templates)",
                                          "(__mas_presets)"};

/* Text in single quotes as fish reads it. */
static void add_fish_word(struct str *to, const char *text)
{
    str_addc(to, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            str_addc(to, '\\');
        str_addc(to, *text);
    }
    str_addc(to, '\'');
}

static void add_fish_opt(struct str *to, const struct cmd *cmd, const struct opt *opt)
{
    str_addf(to, "complete -c mas -n '__fish_seen_subcommand_from %s' -l %s", cmd->name, opt->name);
    if (opt->letter != 0)
        str_addf(to, " -s %c", opt->letter);
    if (opt->arg != NULL && fish_values[opt->offer] != NULL)
        str_addf(to, " -x -a '%s'", fish_values[opt->offer]);
    else if (opt->arg != NULL)
        str_add(to, " -r -F");
    str_add(to, " -d ");
    add_fish_word(to, opt->help);
    str_addc(to, '\n');
}

static void add_fish(struct str *to)
{
    str_add(to, "# fish completion for mas; made by 'mas completion fish'\n"
                "function __mas_sessions\n"
                "    mas list 2>/dev/null | awk 'NR > 1 { print $1; if ($2 != \"-\") print $2 }'\n"
                "end\n"
                "function __mas_root\n"
                "    mas config 2>/dev/null | sed -n 's/^root  *\\(.*[^ ]\\)  *[^ ]*$/\\1/p'\n"
                "end\n"
                "function __mas_templates\n"
                "    for f in (__mas_root)/templates/*/template.ini\n"
                "        basename (dirname $f)\n"
                "    end\n"
                "end\n"
                "function __mas_presets\n"
                "    sed -n 's/^\\[preset \\(.*\\)]$/\\1/p' (__mas_root)/templates/agents.ini "
                "(__mas_root)/mas.ini 2>/dev/null\n"
                "end\n"
                "complete -c mas -f\n");
    for (size_t i = 0; cmd_table[i] != NULL; i++) {
        const struct cmd *cmd = cmd_table[i];
        struct opt common[8];
        if ((cmd->flags & CMD_HIDDEN) != 0)
            continue;
        str_addf(to, "complete -c mas -n __fish_use_subcommand -a %s -d ", cmd->name);
        add_fish_word(to, cmd->summary);
        str_addc(to, '\n');
        if (cmd->offer != OFFER_NONE && fish_values[cmd->offer] != NULL)
            str_addf(to, "complete -c mas -n '__fish_seen_subcommand_from %s' -a '%s'\n", cmd->name,
                     fish_values[cmd->offer]);
        const struct opt *lists[] = {cmd->opts, cmd_common_opts(cmd, common)};
        for (size_t j = 0; j < ARRAY_LEN(lists); j++)
            for (const struct opt *opt = lists[j]; opt != NULL && opt->name != NULL; opt++)
                add_fish_opt(to, cmd, opt);
    }
}

static int run_completion(struct call *call, struct err *err)
{
    static const struct {
        const char *shell;
        void (*add)(struct str *to);
    } shells[] = {{"bash", add_bash}, {"zsh", add_zsh}, {"fish", add_fish}};
    _cleanup_str_ struct str text = STR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
        if (strcmp(call->operands[0], shells[i].shell) != 0)
            continue;
        shells[i].add(&text);
        text.len--; /* print_line() ends the last line */
        print_line(&text);
        return 0;
    }
    return err_set(err, MAS_USAGE, "cannot complete for '%s': only for bash, zsh and fish",
                   call->operands[0]);
}

const struct cmd cmd_completion = {
    .name = "completion",
    .operands = " SHELL",
    .summary = "print the completion script for bash, zsh or fish",
    .details = "For the running shell, for example: source <(mas completion bash)",
    .operands_min = 1,
    .operands_max = 1,
    .run = run_completion,
};
