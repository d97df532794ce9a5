/*
 * Everything is printed from the tables of commands and options, so that nothing about a command is
 * written twice; only the overview's headings and its frame are here.
 */

#include "base/suggest.h"
#include "base/wrap.h"
#include "cli/suggest.h"
#include "cmd.h"

enum {
    WIDTH = 80,
    NAME_COLUMN = 14, /* where the summary of a command begins */
    OPT_COLUMN = 29,
};

/* Prints a text after a line that is filled up to `column`; further lines begin at `column`. A
 * newline in the text counts as a blank, two newlines as an empty line. */
static void print_filled(const char *text, int column)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        bool paragraph = strncmp(text + len, "\n\n", 2) == 0;
        _cleanup_str_ struct str line = STR_INIT;

        while (!paragraph && text[len] != '\0') { /* the whole paragraph */
            len += 1 + strcspn(text + len + 1, "\n");
            paragraph = strncmp(text + len, "\n\n", 2) == 0;
        }
        str_addn(&line, text, len);
        for (char *c = line.data; c != NULL && *c != '\0'; c++)
            *c = *c == '\n' ? ' ' : *c;
        for (size_t at = 0; at < line.len;) {
            size_t next;
            size_t row = wrap_row(line.data + at, line.len - at, WIDTH - column, &next);
            printf("%*s%.*s\n", at > 0 ? column : 0, "", (int)row, line.data + at);
            at += next;
        }
        text += len;
        if (paragraph) {
            (void)putchar('\n');
            text += 2;
        }
    }
}

/* Prints "  left      text"; the text begins at `column`. */
static void print_entry(const char *left, const char *text, int column)
{
    int used = printf("  %s", left);

    if (used > column - 2) {
        (void)putchar('\n');
        used = 0;
    }
    printf("%*s", column - used, "");
    print_filled(text, column);
}

static void print_opt(const struct opt *opt)
{
    char left[64];
    int n = opt->letter != 0 ? snprintf(left, sizeof left, "-%c, --%s", opt->letter, opt->name)
                             : snprintf(left, sizeof left, "    --%s", opt->name);
    if (opt->arg != NULL && n > 0 && (size_t)n < sizeof left)
        (void)snprintf(left + n, sizeof left - (size_t)n, opt->arg[0] == '[' ? "%s" : " %s",
                       opt->arg);
    print_entry(left, opt->help, OPT_COLUMN);
}

static void print_actions(const struct cmd *cmd)
{
    printf("\nactions:\n");
    for (size_t i = 0; cmd->actions[i] != NULL; i++)
        print_entry(cmd_action_name(cmd->actions[i]), cmd->actions[i]->summary, NAME_COLUMN);
    printf("\nSee 'mas help %s ACTION' for details.\n", cmd->name);
}

static void print_examples(const char *examples)
{
    printf("\nexamples:\n");
    for (size_t len; *examples != '\0'; examples += len + (examples[len] == '\n')) {
        len = strcspn(examples, "\n");
        printf("  %.*s\n", (int)len, examples);
    }
}

/* Prints the help of one command. */
static void print_command(const struct cmd *cmd)
{
    struct opt common[8];
    const struct opt *lists[] = {cmd->opts, cmd_common_opts(cmd, common)};

    printf("usage: mas %s [OPTION...]%s\n\n", cmd->name, cmd->operands);
    print_filled(cmd->summary, 0);
    if (cmd->alias != NULL)
        printf("\nalso called: %s\n", cmd->alias);
    if (cmd->details != NULL) {
        (void)putchar('\n');
        print_filled(cmd->details, 0);
    }
    if (cmd->actions != NULL)
        print_actions(cmd);
    printf("\noptions:\n");
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (const struct opt *opt = lists[i]; opt != NULL && opt->name != NULL; opt++)
            print_opt(opt);
    if (cmd->examples != NULL)
        print_examples(cmd->examples);
}

static void print_overview(void)
{
    static const char *const heads[GROUP_COUNT] = {
        [GROUP_BEGIN] = "to begin with",
        [GROUP_SESSIONS] = "sessions",
        [GROUP_TEAMS] = "teams",
        [GROUP_AGENTS] = "agents",
        [GROUP_CODE] = "code",
        [GROUP_MEMORY] = "conversations",
        [GROUP_PROGRAMS] = "for other programs",
        [GROUP_SETUP] = "setup",
    };

    printf("mas runs teams of AI agents, each in a workspace and a tmux session of its own.\n\n"
           "usage: mas [--root DIR] [--host NAME] COMMAND [OPTION...] [OPERAND...]\n");
    for (size_t i = 0; cmd_table[i] != NULL; i++) {
        const struct cmd *cmd = cmd_table[i];
        if (cmd->group == GROUP_HIDDEN)
            continue;
        if (i == 0 || cmd->group != cmd_table[i - 1]->group)
            printf("\n%s:\n", heads[cmd->group]);
        print_entry(cmd->name, cmd->summary, NAME_COLUMN);
    }
    printf("\nSee 'mas help COMMAND' for details and examples, and mas(1).\n");
}

void cmd_print_help(const struct cmd *cmd)
{
    if (cmd == NULL)
        print_overview();
    else
        print_command(cmd);
}

static int run_help(struct call *call, struct err *err)
{
    const struct cmd *cmd = NULL;

    if (call->operand_count > 0) {
        cmd = cmd_find(call->operands[0]);
        if (cmd == NULL) {
            const char *meant = suggest_command(call->operands[0]);
            (void)err_set(err, MAS_USAGE, "cannot show help for '%s': there is no such command",
                          call->operands[0]);
            return meant != NULL
                       ? err_hint(err, SUGGEST_MEANT "mas help %.*s  (all commands: mas help)",
                                  (int)strcspn(meant, " "), meant)
                       : err_hint(err, "see: mas help");
        }
    }
    for (int i = 1; i < call->operand_count; i++) {
        const struct cmd *verb = cmd;
        cmd = cmd_action(verb, call->operands[i]);
        if (cmd == NULL) {
            (void)err_set(err, MAS_USAGE, "cannot show help for '%s %s': there is no such action",
                          verb->name, call->operands[i]);
            return err_hint(err, "see: mas help %s", verb->name);
        }
    }
    cmd_print_help(cmd);
    return 0;
}

const struct cmd cmd_help = {
    .name = "help",
    .group = GROUP_SETUP,
    .operands = " [COMMAND [ACTION...]]",
    .summary = "show how to use mas or one of its commands",
    .examples = "mas help\n"
                "mas help new\n"
                "mas help template copy",
    .operands_max = 3,
    .who = WHO_AGENTS,
    .run = run_help,
};
