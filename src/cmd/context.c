#include "memory/context.h"

#include "base/time.h"
#include "cli/history_print.h"
#include "cli/print.h"
#include "cli/roots.h"
#include "cli/targets.h"
#include "cli/words.h"
#include "cmd.h"

/* "semantic" is what vectors found, more than its words. */
static const char *source_of(const struct context_item *item)
{
    return !item->is_relevant ? "session" : item->is_semantic ? "semantic" : "words";
}

static void put_item(struct json_out *out, const struct context_item *item)
{
    _cleanup_free_ char *id = mem_printf("%s:%lld", item->session, (long long)item->number);
    _cleanup_free_ char *trigger = mem_printf("%s:%lld", item->session, (long long)item->trigger);
    char when[TIME_TEXT];
    char score[32];

    time_format((time_t)(item->time_ms / 1000), when);
    (void)snprintf(score, sizeof score, "%.6f", item->score);
    json_open(out, NULL, '{');
    json_put_all(out, JT("id", id), JT("role", store_role_name(item->role)),
                 JT("content", item->text), JT("source", source_of(item)),
                 JT("session_id", item->session), JT("agent", item->agent),
                 JT("trigger_id", item->trigger != 0 ? trigger : NULL), JT("time", when));
    if (item->is_relevant)
        json_put_raw(out, "score", score);
    json_close(out, '}');
}

static void put_list(struct json_out *out, const char *key, const struct context_list *list)
{
    json_open(out, key, '[');
    for (size_t i = 0; i < list->count; i++)
        put_item(out, &list->items[i]);
    json_close(out, ']');
}

static void print_json(const struct context *context)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    put_list(&out, "current_conversation", &context->current);
    put_list(&out, "relevant_history", &context->relevant);
    put_list(&out, "chat_history", &context->chat);
    json_close(&out, '}');
    print_line(&text);
}

/* Indents each line of a message, so that none looks like a heading. */
static void print_item(const struct context_item *item)
{
    _cleanup_str_ struct str out = STR_INIT;

    history_add_head(&out, item->session, item->number, item->agent, item->role, item->time_ms);
    for (const char *line = item->text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        str_add(&out, "\n  ");
        str_add_line(&out, line, len);
        line += len + (line[len] == '\n');
    }
    print_line(&out);
}

static void print_list(const char *title, const struct context_list *list)
{
    const char *blue = colour(TINT_NEWS);

    printf("%s%s%s\n", blue != NULL ? blue : "", title, blue != NULL ? "\033[0m" : "");
    for (size_t i = 0; i < list->count; i++)
        print_item(&list->items[i]);
}

static int run_context(struct call *call, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    _cleanup_context_ struct context context = {.note = NULL};
    const struct context_asker asker = context_asker(&call->config);

    if (targets_parse(call, TARGETS_AGENT, &roster, err) == -1)
        return -1;
    if (call->operand_count > 0)
        return call_unexpected(call, call->operands[0], err);
    const char *text = call_opt(call, "for");
    _cleanup_free_ char *query = NULL;
    if (text != NULL && words_query(text, &query, err) == -1)
        return -1;
    const struct context_options options = {
        .session = roster.teams[0].id,
        .agent = roster.agents[0].agent->id,
        .team = call_opt(call, "team") != NULL,
        .text = query,
        .current = config_number(&call->config, SETTING_MEMORY_CURRENT),
        .relevant = config_number(&call->config, SETTING_MEMORY_RELEVANT),
        .all = (size_t)config_number(&call->config, SETTING_MEMORY_ALL),
    };
    roots_warn_disbelieved(call);
    if (context_open(&call->root, &call->config, &asker, &options, &context, err) == -1)
        return -1;
    if (context.note != NULL)
        err_warn("%s", context.note);
    if (call->json) {
        print_json(&context);
        return 0;
    }
    print_list("current conversation", &context.current);
    print_list("relevant history", &context.relevant);
    return 0;
}

static const struct opt opts[] = {
    {0, "for", "TEXT",
     "find history that is relevant to TEXT; - is standard input (default: the "
     "newest prompt)"},
    {0, "team", NULL, "include the conversations of all agents of the session"},
    {.name = NULL},
};

const struct cmd cmd_context = {
    .name = "context",
    .group = GROUP_MEMORY,
    .operands = " [SESSION] AGENT",
    .summary = "print an agent's newest messages and the relevant history",
    .examples = "mas context shop lead\n"
                "mas context shop lead --for 'the login page'",
    .details = "Print the newest prompts and answers since the last clear and, in a separate "
               "list, the most relevant others of all sessions. [memory] of mas.ini sets how "
               "many of each. With --json, the lists are current_conversation, "
               "relevant_history and chat_history, which is both, oldest first.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_TARGET,
    .who = WHO_AGENTS_SHARE,
    .takes = TAKES_JSON,
    .run = run_context,
};
