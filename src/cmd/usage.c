/*
 * Rows of the sessions' stores are added up as they are read, into the line of their key. A copy of
 * a session has the rows from before the copy, too: `origins` notes who has brought them, so that
 * they count once. -1 stands for unknown from the store to the table, and costs are kept apart by
 * currency.
 */

#include "base/time.h"
#include "cli/each_session.h"
#include "cli/print.h"
#include "cli/quota.h"
#include "cli/roots.h"
#include "cli/table.h"
#include "cmd.h"
#include "memory/store_usage.h"
#include "model/budget.h"
#include "store/index.h"
#include "store/session.h"
#include "store/workspace.h"

/* What a line of the table stands for. */
enum usage_by { BY_SESSION, BY_AGENT, BY_QUERY, BY_DAY, BY_MODEL, BY_ACCOUNT, BY_COUNT };
static const char *const by_names[BY_COUNT] = {"session", "agent", "query",
                                               "day",     "model", "account"};

/* The members that tell the lines apart; "" or 0: not one of them. */
struct usage_key {
    char session[ID_TEXT];
    char agent[TEAM_WORD_MAX + 1];
    int64_t query;
    char *word; /* the day, the model or the account; NULL: none of them */
};

struct usage_line {
    struct usage_key key;
    int64_t turns;
    int64_t worked_ms; /* -1: unknown */
    struct token_counts tokens;
    int64_t all_tokens; /* -1: unknown */
    struct money *costs;
    size_t cost_count;
};

struct usage_sums {
    enum usage_by by;
    bool one; /* a single session: its lines do not name it */
    char (*ids)[ID_TEXT]; /* the sessions */
    size_t id_count;
    const char *id; /* the one that is being read */
    struct usage_line *lines;
    size_t count;
    struct usage_line total;
    /* For rows that a copy of a session has from the session that they were counted in: */
    struct usage_origin {
        char session[ID_TEXT]; /* where they were counted */
        char taken_from[ID_TEXT]; /* the only copy whose rows count; "": none */
    } * origins;
    size_t origin_count;
    struct usage_problem {
        char id[ID_TEXT];
        char *text;
    } * problems;
    size_t problem_count;
};

static void free_line(struct usage_line *line)
{
    free(line->key.word);
    free(line->costs);
}

static void sums_free(struct usage_sums *sums)
{
    for (size_t i = 0; i < sums->count; i++)
        free_line(&sums->lines[i]);
    for (size_t i = 0; i < sums->problem_count; i++)
        free(sums->problems[i].text);
    free_line(&sums->total);
    free(sums->ids);
    free(sums->lines);
    free(sums->origins);
    free(sums->problems);
}
#define _cleanup_sums_ __attribute__((cleanup(sums_free)))

/* ---- adding up */

static void add_cost(struct usage_line *line, const struct money *cost)
{
    for (size_t i = 0; i < line->cost_count; i++) {
        if (strcmp(line->costs[i].currency, cost->currency) != 0)
            continue;
        line->costs[i].micro = money_sum(line->costs[i].micro, cost->micro);
        return;
    }
    line->costs = mem_room(line->costs, line->cost_count, sizeof *line->costs);
    line->costs[line->cost_count++] = *cost;
}

/* Adds a number that may be unknown. */
static void add_number(int64_t *to, int64_t n)
{
    if (n != -1)
        *to = (*to == -1 ? 0 : *to) + n;
}

static void add_row(struct usage_line *line, const struct store_usage *row)
{
    line->turns += row->prompt != 0;
    add_number(&line->worked_ms, row->worked_ms);
    add_number(&line->all_tokens, token_counts_all(&row->tokens));
    token_counts_add(&line->tokens, &row->tokens);
    for (size_t i = 0; i < row->cost_count; i++)
        add_cost(line, &row->costs[i]);
}

static struct usage_line empty_line(void)
{
    return (struct usage_line){.worked_ms = -1, .all_tokens = -1, .tokens = token_counts_none()};
}

/* Returns the word by which a row is grouped, which the caller frees; NULL: none. */
static char *word_of(enum usage_by by, const struct store_usage *row)
{
    enum { DAY = 10 }; /* of "2025-12-18T08:00:00Z" */
    char text[TIME_TEXT];

    if (by == BY_MODEL)
        return mem_dup(row->model);
    if (by == BY_ACCOUNT)
        return mem_dup(row->account);
    if (by != BY_DAY)
        return NULL;
    time_format((time_t)(row->started_ms / 1000), text);
    return mem_dupn(text, DAY);
}

static bool same_key(const struct usage_key *a, const struct usage_key *b)
{
    return strcmp(a->session, b->session) == 0 && strcmp(a->agent, b->agent) == 0 &&
           a->query == b->query &&
           (a->word == NULL || b->word == NULL ? a->word == b->word
                                               : strcmp(a->word, b->word) == 0);
}

/* Finds the line of a row, the newest ones first, or makes it. */
static struct usage_line *find_line(struct usage_sums *sums, const struct store_usage *row)
{
    struct usage_key key = {.query = sums->by == BY_QUERY ? row->query : 0};

    if (sums->by <= BY_QUERY)
        (void)snprintf(key.session, sizeof key.session, "%s", sums->id);
    if (sums->by == BY_AGENT || sums->by == BY_QUERY)
        (void)snprintf(key.agent, sizeof key.agent, "%s", row->agent);
    key.word = word_of(sums->by, row);
    for (size_t i = sums->count; i-- > 0;) {
        if (!same_key(&key, &sums->lines[i].key))
            continue;
        free(key.word);
        return &sums->lines[i];
    }
    sums->lines = mem_room(sums->lines, sums->count, sizeof *sums->lines);
    sums->lines[sums->count] = empty_line();
    sums->lines[sums->count].key = key;
    return &sums->lines[sums->count++];
}

/* Returns true if the row counts. In a copy of a session, the rows from before the copy count only
 * if the session itself is not among those that are shown, and in one copy only. */
static bool counts(struct usage_sums *sums, const struct store_usage *row)
{
    if (sums->one || strcmp(row->session, sums->id) == 0)
        return true;
    for (size_t i = 0; i < sums->origin_count; i++)
        if (strcmp(sums->origins[i].session, row->session) == 0)
            return strcmp(sums->origins[i].taken_from, sums->id) == 0;
    sums->origins = mem_room(sums->origins, sums->origin_count, sizeof *sums->origins);
    struct usage_origin *origin = &sums->origins[sums->origin_count++];
    *origin = (struct usage_origin){.session = ""};
    (void)snprintf(origin->session, sizeof origin->session, "%s", row->session);
    for (size_t i = 0; i < sums->id_count; i++)
        if (strcmp(sums->ids[i], row->session) == 0)
            return false;
    (void)snprintf(origin->taken_from, sizeof origin->taken_from, "%s", sums->id);
    return true;
}

static bool add_usage(const struct store_usage *row, void *arg)
{
    struct usage_sums *sums = arg;

    if (!counts(sums, row))
        return true;
    add_row(find_line(sums, row), row);
    add_row(&sums->total, row);
    return true;
}

/* ---- sessions */

static int read_session(const struct call *call, struct usage_sums *sums, const char *id,
                        struct err *err)
{
    _cleanup_close_ int dir = workspace_open(&call->root, id);
    _cleanup_store_ struct store *store = NULL;

    if (dir == -1)
        return err_errno(err, "cannot open its workspace");
    sums->id = id;
    if (store_open(dir, id, NULL, false, &store, err) == -1)
        return err->code == MAS_NOT_FOUND ? 0 : -1; /* it has no conversations */
    return store_usages(store, NULL, add_usage, sums, err);
}

static int keep_id(const struct call *call, const char *id, void *arg, struct err *err)
{
    struct usage_sums *sums = arg;

    (void)call;
    (void)err;
    for (size_t i = 0; i < sums->id_count; i++)
        if (strcmp(sums->ids[i], id) == 0)
            return 0;
    sums->ids = mem_room(sums->ids, sums->id_count, sizeof *sums->ids);
    (void)snprintf(sums->ids[sums->id_count++], ID_TEXT, "%s", id);
    return 0;
}

static int find_sessions(const struct call *call, struct usage_sums *sums, struct err *err)
{
    _cleanup_index_ struct index index = INDEX_INIT;

    if (!each_session_means_all(call))
        return each_session_look(call, keep_id, sums, err);
    if (!call->has_root)
        return 0;
    if (index_read(&call->root, true, &index, err) == -1)
        return -1;
    for (size_t i = 0; i < index.count; i++)
        if (!index.rows[i].missing)
            (void)keep_id(call, index.rows[i].id, sums, err);
    return 0;
}

/* Reads all sessions. One that cannot be read is told of and left out; if it is the only one that
 * was asked for, that is the error. */
static int read_sessions(const struct call *call, struct usage_sums *sums, struct err *err)
{
    for (size_t i = 0; i < sums->id_count; i++) {
        struct err why = ERR_INIT;
        if (read_session(call, sums, sums->ids[i], &why) == 0)
            continue;
        if (sums->one) {
            *err = why;
            return err_wrap(err, "cannot read what session '%s' has used",
                            session_label(&call->root, sums->ids[i]).text);
        }
        err_warn("cannot read what session '%s' has used: %s",
                 session_label(&call->root, sums->ids[i]).text, why.text);
        sums->problems = mem_room(sums->problems, sums->problem_count, sizeof *sums->problems);
        struct usage_problem *problem = &sums->problems[sums->problem_count++];
        (void)snprintf(problem->id, sizeof problem->id, "%s", sums->ids[i]);
        problem->text = mem_dup(why.text);
    }
    return 0;
}

static int compare_words(const void *a, const void *b)
{
    const struct usage_line *x = a;
    const struct usage_line *y = b;
    return strcmp(x->key.word, y->key.word);
}

/* ---- text */

/* Adds a cell with a number, blank if it is unknown. */
static void add_cell(struct table *table, int64_t n)
{
    char text[24] = "";

    if (n != -1)
        (void)snprintf(text, sizeof text, "%lld", (long long)n);
    table_add(table, text, NULL);
}

static void add_time_cell(struct table *table, int64_t ms)
{
    const struct budget_limit limit = {.amount = ms};
    char text[BUDGET_TEXT] = "";

    if (ms != -1)
        budget_format(BUDGET_TIME, &limit, text);
    table_add(table, text, NULL);
}

static void add_cost_cell(struct table *table, const struct usage_line *line)
{
    _cleanup_str_ struct str cell = STR_INIT;
    char text[MONEY_TEXT];

    for (size_t i = 0; i < line->cost_count; i++) {
        money_format(&line->costs[i], text);
        str_addf(&cell, "%s%s", i > 0 ? " + " : "", text);
    }
    table_add(table, str_text(&cell), NULL);
}

/* Returns true if the lines name their session. */
static bool names_session(const struct usage_sums *sums)
{
    return sums->by == BY_SESSION || (sums->by <= BY_QUERY && !sums->one);
}

/* Adds the cells that name a line. */
static void add_name(const struct call *call, const struct usage_sums *sums, struct table *table,
                     const struct usage_line *line)
{
    const struct usage_key *key = &line->key;
    char query[24];

    if (names_session(sums))
        table_add(table, session_label(&call->root, key->session).text, NULL);
    if (sums->by == BY_AGENT || sums->by == BY_QUERY)
        table_add(table, key->agent, NULL);
    (void)snprintf(query, sizeof query, "%lld", (long long)key->query);
    if (sums->by == BY_QUERY)
        table_add(table, query, NULL);
    if (key->word != NULL)
        table_add(table, key->word, NULL);
}

static void add_figures(struct table *table, const struct usage_line *line)
{
    int64_t cached = -1;

    add_number(&cached, line->tokens.of[TOKENS_CACHED_READ]);
    add_number(&cached, line->tokens.of[TOKENS_CACHED_WRITE]);
    add_cell(table, line->turns);
    add_time_cell(table, line->worked_ms);
    add_cell(table, line->tokens.of[TOKENS_INPUT]);
    add_cell(table, line->tokens.of[TOKENS_OUTPUT]);
    add_cell(table, cached);
    add_cell(table, line->tokens.of[TOKENS_THOUGHT]);
    add_cell(table, line->all_tokens);
    add_cost_cell(table, line);
}

static void print_table(const struct call *call, const struct usage_sums *sums)
{
    static const char *const figures[] = {"TURNS",  "TIME",    "INPUT",  "OUTPUT",
                                          "CACHED", "THOUGHT", "TOKENS", "COST"};
    static const char *const spare[] = {"THOUGHT", "CACHED", "INPUT", "OUTPUT", "TIME", NULL};
    const struct {
        const char *head;
        bool is;
    } names[] = {
        {"SESSION", names_session(sums)}, {"AGENT", sums->by == BY_AGENT || sums->by == BY_QUERY},
        {"QUERY", sums->by == BY_QUERY},  {"DAY", sums->by == BY_DAY},
        {"MODEL", sums->by == BY_MODEL},  {"ACCOUNT", sums->by == BY_ACCOUNT}};
    struct table table = {.spare = spare};
    size_t named = 0;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (!names[i].is)
            continue;
        table_add(&table, names[i].head, colour_dim());
        named++;
    }
    for (size_t i = 0; i < ARRAY_LEN(figures); i++)
        table_add(&table, figures[i], colour_dim());
    table.columns = table.count;
    for (size_t i = 0; i < sums->count; i++) {
        add_name(call, sums, &table, &sums->lines[i]);
        add_figures(&table, &sums->lines[i]);
    }
    for (size_t i = 0; i < named; i++)
        table_add(&table, i == 0 ? "total" : "", NULL);
    add_figures(&table, &sums->total);
    table_print(&table);
    table_free(&table);
}

/* ---- JSON */

static void put_number(struct json_out *out, const char *key, int64_t n)
{
    if (n == -1)
        json_put(out, key, NULL);
    else
        json_put_int(out, key, n);
}

static void put_figures(struct json_out *out, const struct usage_line *line)
{
    json_put_int(out, "turns", line->turns);
    put_number(out, "workedMs", line->worked_ms);
    json_open(out, "tokens", '{');
    put_number(out, "all", line->all_tokens);
    for (enum token_kind i = TOKENS_INPUT; i < TOKEN_KIND_COUNT; i++)
        put_number(out, token_kind_name(i), line->tokens.of[i]);
    json_close(out, '}');
    json_open(out, "costs", '[');
    for (size_t i = 0; i < line->cost_count; i++) {
        json_open(out, NULL, '{');
        money_put(&line->costs[i], out);
        json_close(out, '}');
    }
    json_close(out, ']');
}

static void put_line(struct json_out *out, const struct usage_line *line, enum usage_by by)
{
    json_open(out, NULL, '{');
    if (by <= BY_QUERY)
        json_put(out, "sessionId", line->key.session);
    if (by == BY_AGENT || by == BY_QUERY)
        json_put(out, "agent", line->key.agent);
    if (by == BY_QUERY)
        json_put_int(out, "query", line->key.query);
    if (by == BY_DAY)
        json_put(out, "day", line->key.word);
    if (by == BY_MODEL || by == BY_ACCOUNT)
        json_put(out, by_names[by], line->key.word[0] != '\0' ? line->key.word : NULL);
    put_figures(out, line);
    json_close(out, '}');
}

static void print_json(const struct usage_sums *sums)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    json_open(&out, "usage", '[');
    for (size_t i = 0; i < sums->count; i++)
        put_line(&out, &sums->lines[i], sums->by);
    json_close(&out, ']');
    json_open(&out, "total", '{');
    put_figures(&out, &sums->total);
    json_close(&out, '}');
    json_open(&out, "problems", '[');
    for (size_t i = 0; i < sums->problem_count; i++) {
        json_put_all(&out, JO(NULL), JT("sessionId", sums->problems[i].id),
                     JT("problem", sums->problems[i].text), JOE);
    }
    json_close(&out, ']');
    json_close(&out, '}');
    print_line(&text);
}

/* ---- the command */

static int read_by(struct call *call, bool one, enum usage_by *ret, struct err *err)
{
    const char *word = call_opt(call, "by");

    *ret = one ? BY_AGENT : BY_SESSION;
    for (enum usage_by i = 0; word != NULL && i <= BY_COUNT; i++) {
        if (i == BY_COUNT)
            return call_bad_value(call, "by", "session, agent, query, day, model or account", err);
        if (strcmp(word, by_names[i]) != 0)
            continue;
        *ret = i;
        break;
    }
    return 0;
}

static int run_usage(struct call *call, struct err *err)
{
    _cleanup_sums_ struct usage_sums sums = {.total = empty_line()};

    if (call_opt(call, "quota") != NULL)
        return quota_print(call, err);
    if (read_by(call, false, &sums.by, err) == -1)
        return -1;
    int rc = find_sessions(call, &sums, err);
    if (sums.id_count == 0 && rc == -1)
        return -1;
    sums.one = sums.id_count == 1 && !each_session_means_all(call);
    if (read_by(call, sums.one, &sums.by, err) == -1)
        return -1;
    if (read_sessions(call, &sums, err) == -1)
        return -1;
    if (sums.by == BY_DAY && sums.count > 1)
        qsort(sums.lines, sums.count, sizeof *sums.lines, compare_words);
    if (call->json)
        print_json(&sums);
    else if (sums.id_count == 0)
        roots_say_none(call, "no sessions");
    else
        print_table(call, &sums);
    return rc;
}

static const struct opt opts[] = {
    {0, "by", "WHAT", "one line for each session, agent, query, day, model or account"},
    {0, "quota", NULL, "how much is used of the windows of the providers, as the programs tell"},
    {.name = NULL},
};

const struct cmd cmd_usage = {
    .name = "usage",
    .group = GROUP_MEMORY,
    .operands = " [SESSION...]",
    .summary = "show what agents have used: turns, time, tokens, cost",
    .examples = "mas usage\n"
                "mas usage shop\n"
                "mas usage --by day\n"
                "mas usage --quota",
    .details = "Sums are those of memory.db, also of stopped sessions. What an agent does not "
               "tell is blank. TIME is the time in which agents work, without waiting for a "
               "person; TOKENS are the totals that agents tell, or else the sum of their parts. "
               "Costs of different currencies are not added up. Days are those of UTC. Without "
               "SESSION, show the team in whose pane the command runs; elsewhere show all "
               "sessions. For a single SESSION, show its agents. With --quota, show for each "
               "login how much is used of its provider's windows, when they begin anew, and "
               "when that was told.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_SESSIONS,
    .who = WHO_AGENTS,
    .takes = TAKES_JSON | TAKES_ALL_HOSTS,
    .run = run_usage,
};
