/*
 * Prints the table of commands, for tests that go through all of it: `mas help` says the same, with
 * a process for each command. test/unit/test_cmd.c checks that it does.
 *
 *   verbs [all]       with `all`, those that mas itself needs, too
 *
 * One line a fact, with tabs between its fields:
 *
 *   verb NAME OPERANDS ALIAS              a verb, or an action such as "template list"; "-": no
 * alias group NAME OPERANDS ALIAS             likewise, but all that it does are its actions option
 * NAME LETTER LONG VALUE         of that command; "-": it has none
 */
#include "cmd.h"

static const char *or_dash(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : "-";
}

static void print_options(const struct cmd *cmd, const struct opt *opt)
{
    for (; opt != NULL && opt->name != NULL; opt++)
        printf("option\t%s\t%c\t%s\t%s\n", cmd->name, opt->letter != 0 ? opt->letter : '-',
               opt->name, or_dash(opt->arg));
}

static void print_commands(const struct cmd *const *list, bool all)
{
    struct opt common[8];

    for (; list != NULL && *list != NULL; list++) {
        const struct cmd *cmd = *list;
        if (!all && cmd->group == GROUP_HIDDEN)
            continue;
        printf("%s\t%s\t%s\t%s\n", cmd->run != NULL ? "verb" : "group", cmd->name,
               or_dash(cmd->operands + (cmd->operands[0] == ' ')), or_dash(cmd->alias));
        print_options(cmd, cmd->opts);
        print_options(cmd, cmd_common_opts(cmd, common));
        print_commands(cmd->actions, all);
    }
}

int main(int argc, char **argv)
{
    print_commands(cmd_table, argc > 1 && strcmp(argv[1], "all") == 0);
    return fflush(stdout) == 0 ? 0 : 1;
}
