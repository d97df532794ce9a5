/*
 * The table of commands: what the parser takes, what `mas help` prints and what completion offers
 * of every verb and action. All run in this process, from their words on.
 */
#define UNIT_OWN_MAIN
#include "root.h"

#include "cmd.h"

#include <sys/mman.h>

enum { OUTPUT_MAX = 1 << 16 };

/* What a command line came to. */
struct outcome {
    int rc;
    char *output; /* what was printed on standard output */
    struct err err;
};

static void outcome_free(struct outcome *outcome)
{
    free(outcome->output);
}
#define _cleanup_outcome_ __attribute__((cleanup(outcome_free)))

/* Runs the words behind `mas`, in the quotes of a shell. */
static struct outcome run(const char *line)
{
    const struct cmd_globals globals = {.root = NULL};
    struct outcome ret = {.rc = -1, .err = ERR_INIT};
    _cleanup_strv_ char **words = NULL;
    _cleanup_close_ int shown = dup(STDOUT_FILENO);
    _cleanup_close_ int written = memfd_create("stdout", MFD_CLOEXEC);
    int code = MAS_OK;
    size_t len;

    if (!CHECK(str_split_words(line, &words, &ret.err) == 0 && words != NULL))
        return ret;
    /* parsing puts the words into another order */
    size_t count = strv_len(words);
    char **argv = mem_alloc((count + 1) * sizeof *argv);
    memcpy(argv, words, (count + 1) * sizeof *argv);
    const struct cmd *cmd = cmd_find(argv[0]);
    (void)fflush(stdout);
    (void)dup2(written, STDOUT_FILENO);
    if (CHECK(cmd != NULL))
        ret.rc = cmd_run(cmd, (int)count, argv, &globals, &code, &ret.err);
    (void)fflush(stdout);
    (void)dup2(shown, STDOUT_FILENO);
    free(argv);
    struct err err = ERR_INIT;
    CHECK(lseek(written, 0, SEEK_SET) == 0 &&
          file_read_stream(written, "stdout", OUTPUT_MAX, &ret.output, &len, &err) == 0);
    return ret;
}

/* Says which command line a check is about, if it fails. */
static bool about(bool ok, const char *line, const struct outcome *outcome)
{
    if (!ok)
        printf("# mas %s: %s\n", line, outcome->err.text);
    return ok;
}
#define CHECK_LINE(cond, line, outcome) about(CHECK(cond), line, outcome)

static void each_of(const struct cmd *const *list, void (*check)(const struct cmd *), int *count)
{
    for (; list != NULL && *list != NULL; list++) {
        check(*list);
        ++*count;
        each_of((*list)->actions, check, count);
    }
}

/* Checks every verb and every action, those that mas itself needs, too. */
static void check_each(void (*check)(const struct cmd *))
{
    int count = 0;

    each_of(cmd_table, check, &count);
    CHECK(count >= 70);
}

/* Calls check() with each option of a command, its own and the shared ones. */
static void each_option(const struct cmd *cmd,
                        void (*check)(const struct cmd *cmd, const struct opt *opt))
{
    struct opt common[8];
    const struct opt *lists[] = {cmd->opts, cmd_common_opts(cmd, common)};

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (const struct opt *opt = lists[i]; opt != NULL && opt->name != NULL; opt++)
            check(cmd, opt);
}

static bool needs_value(const struct opt *opt)
{
    return opt->arg != NULL && opt->arg[0] != '[';
}

/* With this option in front of --help, the command prints its help. */
static void takes(const struct cmd *cmd, const char *option, const struct opt *opt)
{
    _cleanup_free_ char *line =
        mem_printf("%s %s%s --help", cmd->name, option, needs_value(opt) ? " x" : "");
    _cleanup_free_ char *usage = mem_printf("usage: mas %s [OPTION...]", cmd->name);
    _cleanup_outcome_ struct outcome got = run(line);

    CHECK_LINE(got.rc == 0 && str_starts(got.output, usage), line, &got);
}

static void takes_option(const struct cmd *cmd, const struct opt *opt)
{
    const char letter[] = {'-', opt->letter, '\0'};
    _cleanup_free_ char *name = mem_printf("--%s", opt->name);

    takes(cmd, name, opt);
    if (opt->letter != 0)
        takes(cmd, letter, opt);
}

static void takes_no_other(const struct cmd *cmd)
{
    _cleanup_free_ char *line = mem_printf("%s --no-such-option", cmd->name);
    _cleanup_free_ char *want =
        mem_printf("cannot run '%s': there is no option '--no-such-option'", cmd->name);
    _cleanup_free_ char *usage = mem_printf("usage: mas %s [OPTION...]", cmd->name);
    _cleanup_outcome_ struct outcome got = run(line);

    each_option(cmd, takes_option);
    CHECK_LINE(got.rc == -1 && got.err.code == MAS_USAGE && str_starts(got.err.hint, usage), line,
               &got);
    CHECK(str_starts(got.err.text, want));
}

TEST(every_option_is_taken_and_no_other)
{
    check_each(takes_no_other);
}

static void says_that_a_value_is_missing(const struct cmd *cmd, const struct opt *opt)
{
    if (!needs_value(opt))
        return;
    _cleanup_free_ char *line = mem_printf("%s --%s", cmd->name, opt->name);
    _cleanup_free_ char *want =
        mem_printf("cannot run '%s': option '--%s' needs a value", cmd->name, opt->name);
    _cleanup_outcome_ struct outcome got = run(line);

    CHECK_LINE(got.rc == -1 && got.err.code == MAS_USAGE, line, &got);
    CHECK_STR(got.err.text, want);
}

static void needs_values(const struct cmd *cmd)
{
    each_option(cmd, says_that_a_value_is_missing);
}

TEST(an_option_without_its_value_says_so)
{
    check_each(needs_values);
}

static void helps_with(const struct cmd *cmd, const struct opt *opt)
{
    _cleanup_free_ char *line = mem_printf("help %s", cmd->name);
    _cleanup_free_ char *letter =
        opt->letter != 0 ? mem_printf("\n  -%c, --", opt->letter) : mem_dup("\n      --");
    _cleanup_free_ char *entry = mem_printf("%s%s%s%s", letter, opt->name,
                                            needs_value(opt) ? " " : "", opt->arg ? opt->arg : "");
    _cleanup_outcome_ struct outcome got = run(line);
    const char *at = got.rc == 0 ? strstr(got.output, entry) : NULL;

    CHECK_LINE(at != NULL && strchr(" \n", at[strlen(entry)]) != NULL, line, &got);
}

static void fits(const char *line, const struct outcome *got)
{
    for (const char *at = got->output; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        CHECK_LINE(len <= 80, line, got);
        at += len + (at[len] != '\0');
    }
    CHECK_LINE(strchr(got->output, '\033') == NULL, line, got);
}

static void has_help(const struct cmd *cmd)
{
    _cleanup_free_ char *line = mem_printf("help %s", cmd->name);
    _cleanup_free_ char *usage =
        mem_printf("usage: mas %s [OPTION...]%s\n", cmd->name, cmd->operands);
    _cleanup_free_ char *alias = mem_printf("\nalso called: %s\n", cmd->alias ? cmd->alias : "");
    _cleanup_free_ char *line_h = mem_printf("%s -h", cmd->name);
    _cleanup_free_ char *line_help = mem_printf("%s --help", cmd->name);
    _cleanup_outcome_ struct outcome got = run(line), h = run(line_h), help = run(line_help);

    CHECK_LINE(got.rc == 0 && str_starts(got.output, usage), line, &got);
    CHECK_LINE((strstr(got.output, alias) != NULL) == (cmd->alias != NULL), line, &got);
    CHECK_STR(h.output, got.output);
    CHECK_STR(help.output, got.output);
    fits(line, &got);
    each_option(cmd, helps_with);
    for (size_t i = 0; cmd->actions != NULL && cmd->actions[i] != NULL; i++) {
        _cleanup_free_ char *action = mem_printf("\n  %s ", cmd_action_name(cmd->actions[i]));
        CHECK_LINE(strstr(got.output, action) != NULL, line, &got);
    }
}

TEST(help_tells_all_in_80_columns)
{
    _cleanup_outcome_ struct outcome overview = run("help");

    check_each(has_help);
    fits("help", &overview);
    for (size_t i = 0; cmd_table[i] != NULL; i++) {
        _cleanup_free_ char *line = mem_printf("\n  %s ", cmd_table[i]->name);
        const bool listed = strstr(overview.output, line) != NULL;
        CHECK_LINE(listed == (cmd_table[i]->group != GROUP_HIDDEN), cmd_table[i]->name, &overview);
    }
}

static int examples_tried;

/* An example is for its own command, and it parses. Lines with < > | are more than a command line
 * of mas. */
static void tries_example(const struct cmd *cmd, const char *example)
{
    _cleanup_free_ char *line = mem_printf("%s --help", example + strlen("mas "));
    size_t verb = strcspn(cmd->name, " ");
    _cleanup_outcome_ struct outcome got = run(line);

    CHECK_LINE(got.rc == 0, line, &got);
    CHECK_LINE(strncmp(line, cmd->name, verb) == 0 || strcmp(cmd->name, "presets") == 0, line,
               &got);
    examples_tried++;
}

static void has_examples(const struct cmd *cmd)
{
    if (cmd->group == GROUP_HIDDEN)
        return;
    if (!CHECK(cmd->examples != NULL)) {
        printf("# mas %s has no examples\n", cmd->name);
        return;
    }
    for (const char *at = cmd->examples; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        _cleanup_free_ char *line = mem_dupn(at, len);
        CHECK(strstr(line, "mas ") != NULL);
        if (str_starts(line, "mas ") && strpbrk(line, "<>|") == NULL)
            tries_example(cmd, line);
        at += len + (at[len] != '\0');
    }
}

TEST(examples_are_command_lines)
{
    check_each(has_examples);
    CHECK(examples_tried >= 60);
}

/* What completion offers behind `line`, between newlines. */
static char *offered(const char *line)
{
    _cleanup_free_ char *complete = mem_printf("complete -- %s", line);
    _cleanup_outcome_ struct outcome got = run(complete);

    CHECK_LINE(got.rc == 0, complete, &got);
    return mem_printf("\n%s", got.output);
}

static void offers_option(const struct cmd *cmd, const struct opt *opt)
{
    _cleanup_free_ char *line = mem_printf("%s --%s", cmd->name, opt->name);
    _cleanup_free_ char *found = offered(line);
    _cleanup_free_ char *word = mem_printf("\n--%s\n", opt->name);

    if (!CHECK(strstr(found, word) != NULL))
        printf("# behind mas %s:%s", line, found);
}

static size_t options_counted;

static void count_option(const struct cmd *cmd, const struct opt *opt)
{
    (void)cmd;
    (void)opt;
    options_counted++;
}

/* All of them and nothing else, and behind an alias the same. */
static void offers_options(const struct cmd *cmd)
{
    _cleanup_free_ char *line = mem_printf("%s --", cmd->name);
    _cleanup_free_ char *found = offered(line);
    size_t count = 0;

    each_option(cmd, offers_option);
    options_counted = 0;
    each_option(cmd, count_option);
    for (const char *at = found + 1; *at != '\0'; at += strcspn(at, "\n") + 1)
        count++;
    CHECK_INT(count, options_counted);
    if (cmd->alias == NULL)
        return;
    _cleanup_free_ char *alias = mem_printf("%s --", cmd->alias);
    _cleanup_free_ char *same = offered(alias);
    CHECK_STR(same, found);
}

static void offers_command(const struct cmd *cmd)
{
    const bool verb = strchr(cmd->name, ' ') == NULL;
    _cleanup_free_ char *found = offered(cmd->name);
    _cleanup_free_ char *word = mem_printf("\n%s\n", cmd_action_name(cmd));

    if (!CHECK((strstr(found, word) != NULL) == (!verb || cmd->group != GROUP_HIDDEN)))
        printf("# behind mas %s:%s", cmd->name, found);
}

TEST(completion_offers_every_command_and_option)
{
    check_each(offers_command);
    check_each(offers_options);
}

/* Each word of a usage line is completed as what it names; "..." repeats the last. */
TEST(completion_offers_what_the_usage_line_says)
{
    static const struct {
        const char *operands;
        enum offer last, offers[4];
    } rows[] = {
        {"", 0, {0}},
        {" SESSION...", 0, {OFFER_SESSION, OFFER_SESSION, OFFER_SESSION, OFFER_SESSION}},
        {" [SESSION]", 0, {OFFER_SESSION}},
        {" [SESSION [AGENT]]", 0, {OFFER_SESSION, OFFER_AGENT}},
        {" [SESSION] TARGET TEXT...", 0, {OFFER_SESSION, OFFER_TARGET}},
        {" [SESSION] [TARGET...]", 0, {OFFER_SESSION, OFFER_TARGET, OFFER_TARGET, OFFER_TARGET}},
        {" SESSION [AGENT] [KEY=VALUE...]", 0, {OFFER_SESSION, OFFER_AGENT}},
        {" [SESSION] AGENT|REQUEST [OPTION]",
         OFFER_ALLOW,
         {OFFER_SESSION, OFFER_AGENT, OFFER_ALLOW}},
        {" [NAME]", OFFER_TEMPLATE, {OFFER_TEMPLATE}},
        {" [COMMAND [ACTION...]]", 0, {OFFER_COMMAND, OFFER_ACTION, OFFER_ACTION, OFFER_ACTION}},
        {" TEMPLATE NAME", 0, {OFFER_TEMPLATE}},
        {" SESSIONS", 0, {0}},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t place = 0; place < ARRAY_LEN(rows[i].offers); place++) {
            const struct cmd cmd = {.operands = rows[i].operands, .last = rows[i].last};
            if (!CHECK_INT(cmd_operand_offer(&cmd, place), rows[i].offers[place]))
                printf("# operand %zu of '%s'\n", place, rows[i].operands);
        }
}

int main(void)
{
    _cleanup_place_ struct place place = place_make();

    root_clear_env(&place); /* there is no root */
    return unit_run();
}
