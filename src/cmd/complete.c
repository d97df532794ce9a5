#include "base/str.h"
#include "cmd.h"
#include "core/survey.h"
#include "core/template.h"

#include <stdio.h>
#include <string.h>

/*
 * What the completion scripts ask: candidates for the last of the words, one a line. Only plain
 * words are offered, so that no shell finds anything in them to run.
 */

static void offer(const char *word, const char *prefix)
{
    if (str_starts(word, prefix) && word[0] != '\0' && strlen(word) <= TMUX_NAME_MAX &&
        strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
            strlen(word))
        printf("%s\n", word);
}

static void offer_verbs(const char *prefix)
{
    for (size_t i = 0; cmd_table[i] != NULL; i++)
        if ((cmd_table[i]->flags & CMD_HIDDEN) == 0)
            offer(cmd_table[i]->name, prefix);
}

static void offer_options(const struct cmd *cmd, const char *prefix)
{
    struct opt common[8];
    const struct opt *lists[] = {cmd->opts, cmd_common_opts(cmd, common)};

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (const struct opt *opt = lists[i]; opt != NULL && opt->name != NULL; opt++) {
            _cleanup_free_ char *word = mem_printf("--%s", opt->name);
            offer(word, prefix);
        }
}

static void offer_sessions(const struct call *call, const char *prefix)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    struct err ignored = ERR_INIT;

    if (survey_take(&call->root, &call->config, SURVEY_LIVE, &survey, &ignored) == -1)
        return;
    for (size_t i = 0; i < survey.count; i++) {
        const struct view *view = &survey.views[i];
        offer(view->live != NULL ? view->live->name : view->row.tmux_name, prefix);
        offer(view_name(view), prefix);
        if (strlen(prefix) >= 4)
            offer(view->row.id, prefix);
    }
}

static void offer_templates(const struct call *call, const char *prefix)
{
    _cleanup_strv_ char **names = template_list(&call->root);

    for (char **name = names; name != NULL && *name != NULL; name++)
        offer(*name, prefix);
}

static void offer_kind(const struct call *call, enum offer kind, const char *prefix)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};

    if (kind == OFFER_COMMAND)
        offer_verbs(prefix);
    for (size_t i = 0; kind == OFFER_SHELL && i < ARRAY_LEN(shells); i++)
        offer(shells[i], prefix);
    if (!call->has_root)
        return;
    if (kind == OFFER_SESSION)
        offer_sessions(call, prefix);
    else if (kind == OFFER_TEMPLATE)
        offer_templates(call, prefix);
    for (size_t i = 0; kind == OFFER_PRESET && i < call->config.preset_count; i++)
        offer(call->config.presets[i].name, prefix);
}

/* The option of a command that a word is, or NULL. */
static const struct opt *find_opt(const struct cmd *cmd, const char *word)
{
    static struct opt common[8];
    const struct opt *lists[] = {cmd->opts, cmd_common_opts(cmd, common)};

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (const struct opt *opt = lists[i]; opt != NULL && opt->name != NULL; opt++)
            if ((word[0] == '-' && word[1] == '-' && strcmp(word + 2, opt->name) == 0) ||
                (word[0] == '-' && opt->letter != 0 && word[1] == opt->letter && word[2] == '\0'))
                return opt;
    return NULL;
}

static int run_complete(struct call *call, struct err *err)
{
    int last = call->operand_count - 1;
    const char *prefix = call->operands[last];
    int verb = 0;

    (void)err;
    while (verb < last && call->operands[verb][0] == '-')
        verb += strcmp(call->operands[verb], "--root") == 0 ? 2 : 1;
    if (verb >= last) {
        if (verb == last)
            offer_verbs(prefix);
        return 0;
    }
    const struct cmd *cmd = cmd_find(call->operands[verb]);
    if (cmd == NULL)
        return 0;
    const struct opt *opt = find_opt(cmd, call->operands[last - 1]);
    if (opt != NULL && opt->arg != NULL)
        offer_kind(call, opt->offer, prefix);
    else if (prefix[0] == '-')
        offer_options(cmd, prefix);
    else
        offer_kind(call, cmd->offer, prefix);
    return 0;
}

const struct cmd cmd_complete = {
    .name = "complete",
    .operands = " WORD...",
    .summary = "print what could stand in place of the last word",
    .operands_min = 1,
    .operands_max = -1,
    .flags = CMD_ROOT | CMD_NO_ROOT_OK | CMD_PRESETS | CMD_HIDDEN,
    .run = run_complete,
};
