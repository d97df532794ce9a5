/*
 * What agents use; how it is counted is in store_usage.h. A counter and what it adds change in one
 * transaction, so that nothing is added twice after a kill, and sums are made when they are asked
 * for. Limits that a person has set or extended are rows, too; one that makes no sense counts as
 * none.
 */

#include "memory/store_usage.h"

#include "base/time.h"
#include "memory/store_internal.h"
#include "memory/store_transcript.h"

/* ---- turns */

int store_usage_begin(struct store *store, const struct store_usage_turn *turn, bool *ret_begun,
                      struct err *err)
{
    /* One statement: two agents of a team may begin at once. */
    if (store_may_write(store, err) == -1 || db_sync(store->db, false, err) == -1 ||
        db_run(store->db, err,
               "INSERT INTO usage (query, agent, prompt, session, agent_session, model, started,"
               " account, worked) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?10, 0 WHERE"
               " EXISTS (SELECT 1 FROM usage WHERE prompt = ?3) OR"
               " ((?8 = 0 OR (SELECT count(prompt) FROM usage) < ?8) AND"
               " (?9 = 0 OR (SELECT count(prompt) FROM usage WHERE agent = ?2) < ?9))"
               " ON CONFLICT (prompt) DO UPDATE SET agent_session = ?5, account = ?10,"
               " ended = NULL",
               "itittt"
               "iiit",
               turn->query, store->agent, turn->prompt, store->session_id, turn->agent_session,
               turn->model, time_epoch_ms(), turn->team_turns, turn->agent_turns,
               turn->account) == -1)
        return -1;
    *ret_begun = sqlite3_changes(db_handle(store->db)) > 0;
    return 0;
}

int store_usage_worked(struct store *store, int64_t prompt, int64_t worked_ms, struct err *err)
{
    if (store_may_write(store, err) == -1 || db_sync(store->db, false, err) == -1)
        return -1;
    return db_run(store->db, err, "UPDATE usage SET worked = ?2 WHERE prompt = ?1", "ii", prompt,
                  worked_ms);
}

int store_usage_end(struct store *store, int64_t prompt, int64_t worked_ms, struct err *err)
{
    if (store_may_write(store, err) == -1 || db_sync(store->db, true, err) == -1)
        return -1;
    return db_run(store->db, err, "UPDATE usage SET worked = ?2, ended = ?3 WHERE prompt = ?1",
                  "iii", prompt, worked_ms, time_epoch_ms());
}

int store_usage_mend(struct store *store, struct err *err)
{
    return db_run(store->db, err,
                  "UPDATE usage SET ended = started + coalesce(worked, 0)"
                  " WHERE agent = ?1 AND ended IS NULL",
                  "t", store->agent);
}

/* ---- what the agent tells */

/* Finds the row for what is told of an agent session now: its last one, or a new one without a
 * turn. */
static int find_row(struct store *store, int64_t query, const char *agent_session,
                    const char *model, const char *account, int64_t *ret, struct err *err)
{
    if (db_number(store->db, 0, ret, err,
                  "SELECT max(id) FROM usage WHERE agent = ?1 AND agent_session = ?2", "tt",
                  store->agent, agent_session) == -1)
        return -1;
    if (*ret != 0)
        return 0;
    if (db_run(store->db, err,
               "INSERT INTO usage (query, agent, session, agent_session, model, started, ended,"
               " account) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7)",
               "ittttit", query, store->agent, store->session_id, agent_session, model,
               time_epoch_ms(), account) == -1)
        return -1;
    *ret = sqlite3_last_insert_rowid(db_handle(store->db));
    return 0;
}

/* Moves a counter to its new value. *ret_more is what that adds. */
static int count(struct store *store, const char *agent_session, const char *unit, int64_t value,
                 int64_t *ret_more, struct err *err)
{
    int64_t last, restarted, others;

    if (db_number(store->db, -1, &last, err,
                  "SELECT value FROM counter WHERE agent = ?1 AND agent_session = ?2"
                  " AND unit = ?3",
                  "ttt", store->agent, agent_session, unit) == -1 ||
        db_number(store->db, 0, &restarted, err,
                  "SELECT restarted FROM counter WHERE agent = ?1 AND agent_session = ?2"
                  " AND unit = ?3",
                  "ttt", store->agent, agent_session, unit) == -1 ||
        db_number(store->db, 0, &others, err,
                  "SELECT count(*) FROM counter WHERE agent = ?1 AND agent_session = ?2", "tt",
                  store->agent, agent_session) == -1)
        return -1;
    *ret_more = 0;
    if (last == -1)
        *ret_more = others == 0 ? value : 0;
    else if (value >= last)
        *ret_more = value - last;
    else if (restarted != 0)
        *ret_more = value;
    if (last != -1 && (value == 0 || (value < last && restarted == 0)))
        return 0; /* a process that has not counted yet may still go on from the old value */
    return db_run(store->db, err,
                  "INSERT INTO counter (agent, agent_session, unit, value) VALUES (?1, ?2, ?3, ?4)"
                  " ON CONFLICT DO UPDATE SET value = ?4, restarted = 0",
                  "ttti", store->agent, agent_session, unit, value);
}

static int add_cost(struct store *store, int64_t row, const struct store_usage_report *report,
                    struct err *err)
{
    int64_t more;

    if (report->cost.currency[0] == '\0')
        return 0;
    if (count(store, report->agent_session, report->cost.currency, report->cost.micro, &more,
              err) == -1)
        return -1;
    return db_run(store->db, err,
                  "INSERT INTO cost (usage, currency, amount) VALUES (?1, ?2, ?3)"
                  " ON CONFLICT DO UPDATE SET amount = min(amount + ?3, ?4)",
                  "itii", row, report->cost.currency, more, MONEY_MAX);
}

static int tell(struct store *store, const struct store_usage_report *report, struct err *err)
{
    int64_t row;

    if (find_row(store, report->query, report->agent_session, report->model, report->account, &row,
                 err) == -1 ||
        db_run(store->db, err,
               "UPDATE usage SET used = coalesce(nullif(?2, -1), used),"
               " size = coalesce(nullif(?3, -1), size) WHERE id = ?1",
               "iii", row, report->used, report->size) == -1)
        return -1;
    return add_cost(store, row, report, err);
}

int store_usage_tell(struct store *store, const struct store_usage_report *report, struct err *err)
{
    if (store_begin(store, SYNC_CHUNK, err) == -1)
        return -1;
    return store_end(store, tell(store, report, err), err);
}

static int add_tokens(struct store *store, int64_t query, const char *agent_session,
                      const struct token_counts *tokens, struct err *err)
{
    int64_t row;

    if (find_row(store, query, agent_session, "", "", &row, err) == -1)
        return -1;
    return db_run(store->db, err,
                  "UPDATE usage SET total = nullif(?2, -1), input = nullif(?3, -1),"
                  " output = nullif(?4, -1), thought = nullif(?5, -1),"
                  " cached_read = nullif(?6, -1), cached_write = nullif(?7, -1) WHERE id = ?1",
                  "iiiiiii", row, tokens->of[TOKENS_TOTAL], tokens->of[TOKENS_INPUT],
                  tokens->of[TOKENS_OUTPUT], tokens->of[TOKENS_THOUGHT],
                  tokens->of[TOKENS_CACHED_READ], tokens->of[TOKENS_CACHED_WRITE]);
}

int store_usage_tokens(struct store *store, int64_t query, const char *agent_session,
                       const struct token_counts *tokens, struct err *err)
{
    if (store_begin(store, SYNC_CHUNK, err) == -1)
        return -1;
    return store_end(store, add_tokens(store, query, agent_session, tokens, err), err);
}

static const char add_spending[] =
    "UPDATE usage SET"
    " total = iif(?2 = -1, total, min(coalesce(total, 0) + ?2, ?11)),"
    " input = iif(?3 = -1, input, min(coalesce(input, 0) + ?3, ?11)),"
    " output = iif(?4 = -1, output, min(coalesce(output, 0) + ?4, ?11)),"
    " thought = iif(?5 = -1, thought, min(coalesce(thought, 0) + ?5, ?11)),"
    " cached_read = iif(?6 = -1, cached_read, min(coalesce(cached_read, 0) + ?6, ?11)),"
    " cached_write = iif(?7 = -1, cached_write, min(coalesce(cached_write, 0) + ?7, ?11)),"
    " used = coalesce(nullif(?8, -1), used), size = coalesce(nullif(?9, -1), size),"
    " model = coalesce(nullif(?10, ''), model) WHERE id = ?1";

int store_usage_add(struct store *store, int64_t query, const char *agent_session,
                    const struct store_spending *more, struct err *err)
{
    const int64_t *of = more->tokens.of;
    int64_t row;

    if (find_row(store, query, agent_session, more->model, "", &row, err) == -1 ||
        db_run(store->db, err, add_spending, "iiiiiiiiiti", row, of[TOKENS_TOTAL], of[TOKENS_INPUT],
               of[TOKENS_OUTPUT], of[TOKENS_THOUGHT], of[TOKENS_CACHED_READ],
               of[TOKENS_CACHED_WRITE], more->used, more->size, more->model, TOKENS_MAX) == -1)
        return -1;
    return more->cost.currency[0] == '\0'
               ? 0
               : db_run(store->db, err,
                        "INSERT INTO cost (usage, currency, amount) VALUES (?1, ?2, ?3)"
                        " ON CONFLICT DO UPDATE SET amount = min(amount + ?3, ?4)",
                        "itii", row, more->cost.currency, more->cost.micro, MONEY_MAX);
}

int store_usage_join(struct store *store, const char *agent_session, bool is_new, struct err *err)
{
    if (store_may_write(store, err) == -1 || db_sync(store->db, false, err) == -1)
        return -1;
    if (is_new) /* an agent may give an id again; it counts from zero then */
        return db_run(store->db, err, "DELETE FROM counter WHERE agent = ?1 AND agent_session = ?2",
                      "tt", store->agent, agent_session);
    return db_run(store->db, err,
                  "UPDATE counter SET restarted = 1 WHERE agent = ?1 AND agent_session = ?2", "tt",
                  store->agent, agent_session);
}

/* ---- reading */

static int64_t number_of(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, column);
}

/* Reads the costs of a row, at most as many as there is room for. */
static int read_costs(struct store *store, int64_t row, struct money *costs, size_t room,
                      size_t *ret_count, struct err *err)
{
    size_t n = 0;
    int rc;

    _cleanup_reset_ sqlite3_stmt *s =
        db_query(store->db, err,
                 "SELECT currency, amount FROM cost WHERE usage = ?1 ORDER BY currency LIMIT ?2",
                 "ii", row, (int64_t)room);
    while ((rc = db_step(store->db, s, err)) == 1 && n < room) {
        int64_t amount = sqlite3_column_int64(s, 1);
        if (!money_parse_currency(db_text(s, 0), costs[n].currency) || amount < 0 ||
            amount > MONEY_MAX)
            continue; /* of no agent: somebody else has written it */
        costs[n++].micro = amount;
    }
    *ret_count = n;
    return rc == -1 ? -1 : 0;
}

static int64_t clamp(int64_t n, int64_t max)
{
    return n < -1 || n > max ? -1 : n;
}

/* Reads the columns of store_usages(). The texts belong to the statement. */
static struct store_usage read_row(sqlite3_stmt *s)
{
    struct store_usage row = {
        .number = sqlite3_column_int64(s, 0),
        .agent = db_text(s, 1),
        .query = sqlite3_column_int64(s, 2),
        .prompt = sqlite3_column_int64(s, 3), /* NULL is 0 */
        .session = db_text(s, 4),
        .agent_session = db_text(s, 5),
        .model = db_text(s, 6),
        .started_ms = sqlite3_column_int64(s, 7),
        .ended_ms = sqlite3_column_int64(s, 8),
        .worked_ms = clamp(number_of(s, 9), TOKENS_MAX),
        .used = clamp(number_of(s, 10), TOKENS_MAX),
        .size = clamp(number_of(s, 11), TOKENS_MAX),
        .account = db_text(s, 18),
    };

    for (int i = 0; i < TOKEN_KIND_COUNT; i++)
        row.tokens.of[i] = clamp(number_of(s, 12 + i), TOKENS_MAX);
    return row;
}

#define USAGES(account)                                                                            \
    "SELECT id, agent, query, prompt, session, agent_session, model, started, ended, worked,"      \
    " used, size, total, input, output, thought, cached_read, cached_write, " account              \
    " FROM usage WHERE ?1 IS NULL OR agent = ?1 ORDER BY id"

int store_usages(struct store *store, const char *agent, store_each_usage *each, void *arg,
                 struct err *err)
{
    enum { COSTS = 16 };
    struct money costs[COSTS];
    int rc;

    _cleanup_reset_ sqlite3_stmt *s =
        db_query(store->db, err, store->version < 2 ? USAGES("''") : USAGES("account"), "t", agent);
    while ((rc = db_step(store->db, s, err)) == 1) {
        struct store_usage row = read_row(s);
        row.costs = costs;
        if (read_costs(store, row.number, costs, COSTS, &row.cost_count, err) == -1)
            return -1;
        if (!each(&row, arg))
            return 0;
    }
    return rc;
}

/* Sums up costs. The sum is a float for SQLite, which is exact as far as MONEY_MAX. */
static int sum_costs(struct store *store, const char *agent, const char *currency,
                     struct store_spent *ret, struct err *err)
{
    _cleanup_reset_ sqlite3_stmt *s =
        db_query(store->db, err,
                 "SELECT currency FROM cost JOIN usage ON usage.id = cost.usage"
                 " WHERE ?1 IS NULL OR agent = ?1 ORDER BY usage DESC LIMIT 1",
                 "t", agent);
    int rc = db_step(store->db, s, err);
    if (rc == 1)
        (void)money_parse_currency(db_text(s, 0), ret->currency);
    if (rc != 1)
        return rc;
    return db_number(store->db, -1, &ret->cost, err,
                     "SELECT CAST(min(total(amount), ?3) AS INTEGER) FROM cost"
                     " JOIN usage ON usage.id = cost.usage"
                     " WHERE (?1 IS NULL OR agent = ?1) AND currency = ?2 HAVING count(*) > 0",
                     "tti", agent, currency[0] != '\0' ? currency : ret->currency, MONEY_MAX);
}

int store_spent(struct store *store, const char *agent, const char *currency,
                struct store_spent *ret, struct err *err)
{
    struct store_spent spent = {.cost = -1};

    _cleanup_reset_ sqlite3_stmt *s =
        db_query(store->db, err,
                 "SELECT count(prompt), sum(worked), sum(coalesce(total, CASE WHEN"
                 " coalesce(input, output, thought, cached_read, cached_write) IS NOT NULL THEN"
                 " coalesce(input, 0) + coalesce(output, 0) + coalesce(thought, 0) +"
                 " coalesce(cached_read, 0) + coalesce(cached_write, 0) END))"
                 " FROM usage WHERE ?1 IS NULL OR agent = ?1",
                 "t", agent);
    int rc = db_step(store->db, s, err);
    if (rc == -1)
        return -1;
    spent.turns = sqlite3_column_int64(s, 0);
    spent.worked_ms = number_of(s, 1);
    spent.tokens = number_of(s, 2);
    db_reset(s);
    if (sum_costs(store, agent, currency, &spent, err) == -1)
        return -1;
    *ret = spent;
    return 0;
}

int store_context(struct store *store, const char *agent, const char *agent_session,
                  int64_t *ret_used, int64_t *ret_size, struct err *err)
{
    _cleanup_reset_ sqlite3_stmt *s = db_query(store->db, err,
                                               "SELECT used, size FROM usage WHERE agent = ?1"
                                               " AND agent_session = ?2 AND used IS NOT NULL"
                                               " ORDER BY id DESC LIMIT 1",
                                               "tt", agent, agent_session);
    int rc = db_step(store->db, s, err);
    if (rc == -1)
        return -1;
    *ret_used = rc == 1 ? number_of(s, 0) : -1;
    *ret_size = rc == 1 ? number_of(s, 1) : -1;
    return 0;
}

/* ---- limits */

/* Returns the name of a limit in the table, "cost"; "cost+" for up to where it was extended. */
static void name_limit(enum budget_kind kind, bool extended, char buf[BUDGET_TEXT])
{
    (void)snprintf(buf, BUDGET_TEXT, "%s%s", budget_kind_name(kind), extended ? "+" : "");
}

static int write_limit(struct store *store, const char *agent, const char *name,
                       const struct budget_limit *limit, struct err *err)
{
    if (limit->amount == 0)
        return db_run(store->db, err, "DELETE FROM budget WHERE agent = ?1 AND kind = ?2", "tt",
                      agent, name);
    return db_run(store->db, err,
                  "INSERT INTO budget (agent, kind, amount, currency) VALUES (?1, ?2, ?3, ?4)"
                  " ON CONFLICT DO UPDATE SET amount = ?3, currency = ?4",
                  "ttit", agent, name, limit->amount, limit->currency);
}

static int set_limit(struct store *store, const char *agent, enum budget_kind kind,
                     const struct budget_limit *limit, struct err *err)
{
    const struct budget_limit none = {.amount = 0};
    char name[BUDGET_TEXT], extended[BUDGET_TEXT];

    name_limit(kind, false, name);
    name_limit(kind, true, extended);
    return write_limit(store, agent, name, limit, err) == -1
               ? -1
               : write_limit(store, agent, extended, &none, err);
}

int store_set_limit(struct store *store, const char *agent, enum budget_kind kind,
                    const struct budget_limit *limit, struct err *err)
{
    if (store_begin(store, SYNC_FULL, err) == -1)
        return -1;
    return store_end(store, set_limit(store, agent, kind, limit, err), err);
}

int store_extend_limit(struct store *store, const char *agent, enum budget_kind kind,
                       const struct budget_limit *limit, struct err *err)
{
    char name[BUDGET_TEXT];

    name_limit(kind, true, name);
    if (store_may_write(store, err) == -1 || db_sync(store->db, true, err) == -1)
        return -1;
    return write_limit(store, agent, name, limit, err);
}

/* Puts a row of the table where it belongs; a row that says nothing is none. */
static void put_limit(sqlite3_stmt *s, struct budget *set, struct budget *extended)
{
    _cleanup_free_ char *name = mem_dup(db_text(s, 0));
    struct budget_limit limit = {.amount = sqlite3_column_int64(s, 1)};
    size_t len = strlen(name);
    bool more = len > 0 && name[len - 1] == '+';
    enum budget_kind kind;

    if (more)
        name[len - 1] = '\0';
    bool money = money_parse_currency(db_text(s, 2), limit.currency);
    if (budget_kind_parse(name, &kind) && limit.amount >= -1 &&
        (kind != BUDGET_COST || limit.amount == -1 || money))
        (more ? extended : set)->of[kind] = limit;
}

int store_limits(struct store *store, const char *agent, struct budget *ret_set,
                 struct budget *ret_extended, struct err *err)
{
    int rc;

    *ret_set = *ret_extended = (struct budget){.of = {{.amount = 0}}};
    _cleanup_reset_ sqlite3_stmt *s = db_query(
        store->db, err, "SELECT kind, amount, currency FROM budget WHERE agent = ?1", "t", agent);
    while ((rc = db_step(store->db, s, err)) == 1)
        put_limit(s, ret_set, ret_extended);
    return rc;
}

int64_t store_changes(struct store *store)
{
    struct err ignored = ERR_INIT;
    int64_t version;

    return db_number(store->db, -1, &version, &ignored, "PRAGMA data_version", "") == 0 ? version
                                                                                        : -1;
}
