/*
 * The options become one filter, which the store answers; history_print.c prints each message as it
 * is read. What memory.db has lost is said before the rest. If an agent runs this, its output is
 * held until the store is closed: it need never read what is printed, and the database would wait
 * for it.
 */

#include "cli/history_print.h"

#include "base/number.h"
#include "cli/brokered.h"
#include "cli/held_output.h"
#include "cli/table.h"
#include "cli/targets.h"
#include "cmd.h"
#include "memory/context.h"

enum {
    PAGE = 50, /* default number of messages */
    NUMBER_MAX = 1000000000,
    WIDTH = 80,
    WIDTH_MIN = 40,
    WIDTH_MAX = 100,
    CONVERSATION_MIN = 4, /* characters of an id */
};

static const char *const forms[] = {
    [HISTORY_JSONL] = "jsonl",
    [HISTORY_MARKDOWN] = "md",
};

/* *ret stays unchanged if the option was not given. */
static int read_number(const struct call *call, const char *option, int64_t *ret, struct err *err)
{
    const char *text = call_opt(call, option);
    uint64_t n;

    if (text == NULL)
        return 0;
    if (!number_parse_count(text, NUMBER_MAX, &n))
        return call_bad_value(call, option, "a number", err);
    *ret = (int64_t)n;
    return 0;
}

static int read_roles(const struct call *call, unsigned *ret, struct err *err)
{
    const char *text = call_opt(call, "role");
    unsigned roles = 0;
    enum store_role role;

    if (text == NULL)
        return 0;
    _cleanup_strv_ char **names = str_split_list(text);
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        if (!store_role_parse(names[i], &role))
            return call_bad_value(
                call, "role", "a list of user, agent, thought, tool, plan, permission, mode, note",
                err);
        roles |= 1u << role;
    }
    *ret = roles;
    return 0;
}

static int read_form(const struct call *call, enum history_form *ret, struct err *err)
{
    const char *text = call_opt(call, "export");

    if (text != NULL && (call->json || call_opt(call, "queries") != NULL))
        return err_set(err, MAS_USAGE, "cannot use --export with --json or --queries");
    *ret = call->json ? HISTORY_JSON : HISTORY_TEXT;
    for (size_t i = 0; text != NULL && i < ARRAY_LEN(forms); i++) {
        if (forms[i] != NULL && strcmp(forms[i], text) == 0) {
            *ret = (enum history_form)i;
            return 0;
        }
    }
    return text == NULL ? 0 : call_bad_value(call, "export", "md or jsonl", err);
}

/* Reads the options that select messages. Default: an export is complete, other forms show the
 * newest PAGE messages. */
static int read_filter(const struct call *call, enum history_form form, struct store_filter *ret,
                       struct err *err)
{
    const char *limit_text = call_opt(call, "limit");
    bool all = limit_text != NULL && strcmp(limit_text, "all") == 0;
    int64_t limit = form == HISTORY_JSONL || form == HISTORY_MARKDOWN ? 0 : PAGE;
    int64_t offset = 0;

    if ((!all && read_number(call, "limit", &limit, err) == -1) ||
        read_number(call, "offset", &offset, err) == -1 ||
        read_number(call, "query", &ret->query, err) == -1 ||
        read_roles(call, &ret->roles, err) == -1 ||
        call_past(call, "since", &ret->since_ms, err) == -1 ||
        call_past(call, "until", &ret->until_ms, err) == -1)
        return -1;
    if (limit_text != NULL && !all && limit == 0)
        return call_bad_value(call, "limit", "a positive number, or all", err);
    ret->limit = all ? 0 : (int)limit;
    ret->offset = (int)offset;
    ret->tag = call_opt(call, "tag");
    ret->newest = ret->by_turn = true;
    return 0;
}

/* ---- find a conversation by the beginning of its id */

struct id_search {
    const char *prefix;
    char found[ID_TEXT];
    bool several;
};

static bool compare(const struct store_query *query, void *arg)
{
    struct id_search *search = arg;

    if (!str_starts(query->conversation, search->prefix) ||
        strcmp(query->conversation, search->found) == 0)
        return true;
    search->several = search->found[0] != '\0';
    memcpy(search->found, query->conversation, ID_TEXT);
    return !search->several;
}

static int find_conversation(struct store *store, const char *agent, const char *text,
                             char ret[ID_TEXT], struct err *err)
{
    struct id_search search = {.prefix = text};

    if (strlen(text) < CONVERSATION_MIN)
        return err_set(err, MAS_USAGE,
                       "cannot find conversation '%s': an id needs at least %d characters", text,
                       CONVERSATION_MIN);
    if (store_queries(store, agent, compare, &search, err) == -1)
        return -1;
    if (search.found[0] == '\0') {
        (void)err_set(err, MAS_NOT_FOUND,
                      "cannot find conversation '%s': agent %s has no conversation with that id",
                      text, agent);
        return err_hint(err, "list them with: mas history --queries, and the same operands");
    }
    if (search.several)
        return err_set(err, MAS_CONFLICT,
                       "cannot find conversation '%s': several ids begin with it", text);
    memcpy(ret, search.found, ID_TEXT);
    return 0;
}

/* ---- printing */

static int line_width(void)
{
    int columns = (int)screen_size().columns;
    return columns == 0          ? WIDTH
           : columns < WIDTH_MIN ? WIDTH_MIN
           : columns > WIDTH_MAX ? WIDTH_MAX
                                 : columns;
}

/* Writes {"sessionId":..,"agent":..,"total":N,"<list>":[ */
static void open_json(const char *id, const char *agent, int64_t total, const char *list)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    json_put(&out, "sessionId", id);
    json_put(&out, "agent", agent);
    if (total != -1)
        json_put_int(&out, "total", total);
    json_open(&out, list, '[');
    (void)fwrite(text.data, 1, text.len, stdout);
}

static int print_messages(struct store *store, const struct store_filter *filter,
                          struct history *history, struct err *err)
{
    int64_t total = 0;
    bool pages = history->form == HISTORY_TEXT && filter->limit != 0 && history->on_terminal;

    if ((history->form == HISTORY_JSON || pages) && store != NULL &&
        store_count(store, filter, &total, err) == -1)
        return -1;
    if (history->form == HISTORY_JSON)
        open_json(history->session_id, filter->agent, total, "messages");
    if (history->form == HISTORY_MARKDOWN)
        printf("# Agent %s of session %s\n\n", filter->agent, history->session_id);
    if (store != NULL && store_read(store, filter, history_print, history, err) == -1)
        return -1;
    if (history->form == HISTORY_JSON)
        (void)fputs("]}\n", stdout);
    if (history->form == HISTORY_TEXT && history->count == 0)
        (void)fputs("no messages\n", stderr);
    int64_t shown = filter->offset + history->count;
    if (pages && total > shown)
        (void)fprintf(stderr, "%lld older messages: --offset %lld\n", (long long)(total - shown),
                      (long long)shown);
    return 0;
}

static int print_queries(struct store *store, const char *agent, struct history *history,
                         struct err *err)
{
    if (history->form == HISTORY_JSON)
        open_json(history->session_id, agent, -1, "queries");
    if (store != NULL && store_queries(store, agent, history_print_query, history, err) == -1)
        return -1;
    if (history->form == HISTORY_JSON)
        (void)fputs("]}\n", stdout);
    return 0;
}

/* `store` is NULL if the session has no messages yet. */
static int print_all(const struct call *call, struct store *store, struct store_filter filter,
                     struct history *history, struct err *err)
{
    const char *conversation = call_opt(call, "conversation");
    char found[ID_TEXT];

    if (call_opt(call, "queries") != NULL)
        return print_queries(store, filter.agent, history, err);
    if (conversation != NULL && store != NULL) {
        if (find_conversation(store, filter.agent, conversation, found, err) == -1)
            return -1;
        filter.conversation = found;
    }
    return print_messages(store, &filter, history, err);
}

/* Adds the session to an error of the store about memory.db. */
static int failed(const struct roster_team *team, struct err *err)
{
    if (err->code == MAS_USAGE || err->code == MAS_NOT_FOUND || err->code == MAS_CONFLICT)
        return -1;
    (void)err_wrap(err, "cannot show the history of session '%s'", roster_label(team).text);
    return store_failed(err);
}

static int run_history(struct call *call, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    _cleanup_held_output_ struct held_output held = HELD_OUTPUT_INIT; /* ends after the store */
    _cleanup_store_ struct store *store = NULL;
    struct history history = {.width = line_width(), .on_terminal = isatty(STDOUT_FILENO) != 0};
    struct store_filter filter = {.agent = NULL};
    bool private;

    if (read_form(call, &history.form, err) == -1 ||
        read_filter(call, history.form, &filter, err) == -1 ||
        targets_parse(call, TARGETS_AGENT, &roster, err) == -1)
        return -1;
    if (call->operand_count > 0)
        return call_unexpected(call, call->operands[0], err);
    const struct roster_team *team = &roster.teams[0];
    const struct context_asker asker = context_asker(&call->config);
    if (context_may_see(&call->root, &asker, team->id, &private, err) == -1)
        return -1;
    if (brokered_is_agent())
        held_output_begin(&held);
    filter.agent = roster.agents[0].agent->id;
    history.session_id = team->id;
    int rc = store_open(team->dir, team->id, NULL, false, &store, err);
    if (rc == -1 && err->code != MAS_NOT_FOUND)
        return failed(team, err);
    _cleanup_free_ char *loss = store_loss(team->dir);
    if (loss != NULL && store == NULL)
        return err_set(err, MAS_DAMAGED, "cannot show the history of session '%s': %s",
                       roster_label(team).text, loss);
    if (loss != NULL)
        err_warn("%s", loss);
    return print_all(call, store, filter, &history, err) == 0 ? 0 : failed(team, err);
}

static const struct opt opts[] = {
    {'n', "limit", "N", "print at most N messages, the newest (50), or all"},
    {0, "offset", "N", "skip the newest N messages"},
    {0, "role", "LIST", "only these roles: user, agent, thought, tool, plan, ..."},
    {0, "since", "AGE", "only messages not older than this: 10m, 2h, 2025-12-18T08:00:00Z"},
    {0, "until", "AGE", "only messages older than this"},
    {0, "tag", "KEY:VALUE", "only messages with this tag"},
    {0, "conversation", "ID", "only this conversation"},
    {0, "query", "N", "only this query"},
    {0, "queries", NULL,
     "list the queries: beginning, end, reason of the end, and how the agent got "
     "each"},
    {0, "export", "FORM", "export all of it as md (Markdown) or jsonl (one JSON object per line)"},
    {.name = NULL},
};

const struct cmd cmd_history = {
    .name = "history",
    .group = GROUP_MEMORY,
    .operands = " [SESSION] AGENT",
    .summary = "print the history of an agent",
    .examples = "mas history shop lead\n"
                "mas history shop lead --since 1d --role user\n"
                "mas history shop lead --export md",
    .details = "The session may be stopped. mas prints the newest messages, the oldest of "
               "them first.",
    .opts = opts,
    .operands_max = 2,
    .root = ROOT_IF_THERE,
    .on = ON_TARGET,
    .who = WHO_AGENTS_SHARE,
    .takes = TAKES_JSON,
    .run = run_history,
};
