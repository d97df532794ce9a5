/*
 * Reading messages and queries, for any number of processes, each with its own snapshot. In each
 * statement of a filter a parameter has the same number. A page is chosen by numbers, and only its
 * own rows are read. A row that mas would not have written is damage. Pieces of an open message and
 * the tags that all messages have are put in here.
 */

#include "base/id.h"
#include "base/json.h"
#include "base/time.h"
#include "memory/store_internal.h"

static int damaged(struct err *err, const char *what)
{
    return err_set(err, MAS_DAMAGED, "cannot read '" STORE_FILE "': %s is invalid", what);
}

/* ---- the filter */

/* Parameters of a filter; each has the same place in every statement. */
enum {
    AT_AGENT = 1,
    AT_CONVERSATION,
    AT_QUERY,
    AT_ROLES,
    AT_SINCE,
    AT_UNTIL,
    AT_AFTER,
    AT_TAG,
    AT_LIMIT,
    AT_OFFSET,
    AT_FROM,
};

/* The prompt under which message `m` stands: the one that caused it, or itself. What the agent does
 * by itself stands under the prompt before it, and a word of mas with what it precedes. It is never
 * later than the message. */
#define TURN                                                                                       \
    "CASE WHEN m.trigger <> 0 THEN m.trigger WHEN m.role = 0 THEN m.id WHEN m.role < 5 THEN"       \
    " coalesce((SELECT c.trigger FROM message c WHERE c.agent = m.agent AND c.id < m.id"           \
    " AND c.trigger <> 0 ORDER BY c.id DESC LIMIT 1), m.id) ELSE min(m.id, coalesce((SELECT"       \
    " c.trigger FROM message c WHERE c.agent = m.agent AND c.id > m.id AND c.trigger <> 0"         \
    " ORDER BY c.id LIMIT 1), m.id)) END"

static void add_condition(struct str *sql, const char *condition)
{
    str_add(sql, sql->len == 0 ? " WHERE " : " AND ");
    str_add(sql, condition);
}

/* The plus signs keep SQLite from using an index that would require a sort. */
static void add_conditions(struct str *sql, const struct store_filter *f, const char *tag)
{
    if (f->query != 0)
        add_condition(sql, "query = ?3");
    if (f->conversation != NULL)
        add_condition(sql, f->query != 0 || f->agent != NULL
                               ? "+query IN (SELECT q.id FROM query q JOIN conversation c"
                                 " ON c.id = q.conversation WHERE c.uuid = ?2)"
                               : "agent = (SELECT agent FROM conversation WHERE uuid = ?2)"
                                 " AND +query IN (SELECT q.id FROM query q JOIN conversation c"
                                 " ON c.id = q.conversation WHERE c.uuid = ?2)");
    if (f->agent != NULL)
        add_condition(sql, f->query != 0 ? "+agent = ?1" : "agent = ?1");
    if (f->roles != 0)
        add_condition(sql, "((1 << role) & ?4) != 0");
    if (f->since_ms != 0)
        add_condition(sql, "time >= ?5");
    if (f->until_ms != 0)
        add_condition(sql, "time < ?6");
    if (f->after != 0)
        add_condition(sql, "id > ?7");
    if (f->waiting)
        add_condition(sql, STORE_WAITS);
    if (f->from != 0)
        add_condition(sql, "id >= ?11");
    if (tag != NULL)
        add_condition(sql, "instr(tags, ?8) > 0");
}

/* Resolves the implicit tags, which are not stored: "session:" matches all or none, "agent:"
 * becomes a filter. *ret_tag is the text to look for in the stored tags. */
static bool resolve_tag(const struct store *store, struct store_filter *f, struct str *ret_tag)
{
    if (f->tag == NULL)
        return true;
    if (str_starts(f->tag, "session:"))
        return strcmp(f->tag + strlen("session:"), store->session_id) == 0;
    if (str_starts(f->tag, "agent:")) {
        const char *agent = f->tag + strlen("agent:");
        if (f->agent != NULL && strcmp(f->agent, agent) != 0)
            return false;
        f->agent = agent;
        return true;
    }
    /* As JSON text it matches completely: quotes within another tag would be escaped. */
    struct json_out out = {.to = ret_tag};
    json_put(&out, NULL, f->tag);
    return true;
}

static void bind_filter(sqlite3_stmt *s, const struct store_filter *f, const char *tag)
{
    (void)sqlite3_bind_text(s, AT_AGENT, f->agent, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(s, AT_CONVERSATION, f->conversation, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(s, AT_QUERY, f->query);
    (void)sqlite3_bind_int64(s, AT_ROLES, f->roles);
    (void)sqlite3_bind_int64(s, AT_SINCE, f->since_ms);
    (void)sqlite3_bind_int64(s, AT_UNTIL, f->until_ms);
    (void)sqlite3_bind_int64(s, AT_AFTER, f->after);
    (void)sqlite3_bind_text(s, AT_TAG, tag, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(s, AT_LIMIT, f->limit > 0 ? f->limit : -1);
    (void)sqlite3_bind_int64(s, AT_OFFSET, f->offset);
    (void)sqlite3_bind_int64(s, AT_FROM, f->from);
}

/* ---- messages */

/* The bytes that one message needs besides those that SQLite keeps. */
struct message_text {
    struct str tags, text;
};

static void put_tags(const struct store *store, const char *agent, const char *stored,
                     struct str *to)
{
    struct json_out out = {.to = to};
    _cleanup_free_ char *session = mem_printf("session:%s", store->session_id);
    _cleanup_free_ char *agent_tag = mem_printf("agent:%s", agent);
    _cleanup_json_ struct json *json = NULL;
    struct err ignored = ERR_INIT;

    json_open(&out, NULL, '[');
    json_put(&out, NULL, session);
    json_put(&out, NULL, agent_tag);
    if (stored[0] != '\0' &&
        json_parse(stored, strlen(stored), DB_VALUE_MAX, &json, &ignored) == 0 &&
        json_is_array(json)) {
        for (const struct json *tag = json_first(json); tag != NULL; tag = json_next(tag)) {
            if (json_is_string(tag))
                json_put(&out, NULL, json_text(tag));
        }
    }
    json_close(&out, ']');
}

static int add_pieces(struct store *store, int64_t number, struct str *to, struct err *err)
{
    _cleanup_reset_ sqlite3_stmt *s = db_query(
        store->db, err, "SELECT text FROM piece WHERE message = ?1 ORDER BY number", "i", number);
    int rc;

    while ((rc = db_step(store->db, s, err)) == 1) {
        if (to->len + db_len(s, 0) > DB_VALUE_MAX)
            return damaged(err, "the length of a message");
        str_addn(to, db_text(s, 0), db_len(s, 0));
    }
    return rc;
}

enum {
    C_ID,
    C_CONVERSATION,
    C_QUERY,
    C_AGENT,
    C_ROLE,
    C_STATE,
    C_TIME,
    C_TRIGGER,
    C_STOP,
    C_SENDER,
    C_KEY,
    C_TAGS,
    C_TEXT,
    C_DATA,
};
#define COLUMNS                                                                                    \
    "m.id, c.uuid, m.query, m.agent, m.role, m.state, m.time, m.trigger, m.stop_reason,"           \
    " m.sender, m.key, m.tags, m.text, m.data"

static int fill_item(struct store *store, sqlite3_stmt *s, struct message_text *buffers,
                     struct store_item *ret, struct err *err)
{
    int64_t role = sqlite3_column_int64(s, C_ROLE);
    int64_t state = sqlite3_column_int64(s, C_STATE);

    *ret = (struct store_item){.number = sqlite3_column_int64(s, C_ID),
                               .query = sqlite3_column_int64(s, C_QUERY),
                               .agent = db_text(s, C_AGENT),
                               .role = (enum store_role)role,
                               .state = (enum store_state)state,
                               .text = db_text(s, C_TEXT),
                               .len = db_len(s, C_TEXT),
                               .data = db_text_null(s, C_DATA),
                               .key = db_text_null(s, C_KEY),
                               .sender = db_text_null(s, C_SENDER),
                               .stop_reason = db_text_null(s, C_STOP),
                               .time_ms = sqlite3_column_int64(s, C_TIME),
                               .trigger = sqlite3_column_int64(s, C_TRIGGER)};
    if (role < 0 || role >= ROLE_COUNT)
        return damaged(err, "the role of a message");
    if (state < MESSAGE_OPEN || state > MESSAGE_FAILED)
        return damaged(err, "the state of a message");
    if (!id_is_valid(db_text(s, C_CONVERSATION)) || !str_is_word(ret->agent, STORE_AGENT_MAX))
        return damaged(err, "a conversation");
    memcpy(ret->conversation, db_text(s, C_CONVERSATION), sizeof ret->conversation);
    str_clear(&buffers->tags);
    put_tags(store, ret->agent, db_text(s, C_TAGS), &buffers->tags);
    ret->tags = buffers->tags.data;
    if (ret->state != MESSAGE_OPEN)
        return 0;
    str_clear(&buffers->text);
    str_addn(&buffers->text, ret->text, ret->len);
    if (add_pieces(store, ret->number, &buffers->text, err) == -1)
        return -1;
    ret->text = str_text(&buffers->text);
    ret->len = buffers->text.len;
    return 0;
}

static void build_read(const struct store_filter *f, const char *tag, struct str *sql)
{
    _cleanup_str_ struct str where = STR_INIT;

    add_conditions(&where, f, tag);
    /* The page is selected by numbers alone; only its own rows are read. */
    str_addf(sql,
             "SELECT " COLUMNS " FROM (SELECT id AS chosen, %s AS turn FROM message m%s ORDER BY"
             " turn%s, id%s LIMIT ?9 OFFSET ?10) CROSS JOIN message m ON m.id = chosen"
             " CROSS JOIN query q ON q.id = m.query"
             " CROSS JOIN conversation c ON c.id = q.conversation ORDER BY %sm.id",
             f->by_turn ? TURN : "id", str_text(&where), f->newest ? " DESC" : "",
             f->newest ? " DESC" : "", f->by_turn ? "turn, " : "");
}

/* Finds the prompt with which a page by turns begins at the earliest, so that nothing before it is
 * sorted: as many messages as the page goes back are newer. */
static int find_from(struct store *store, struct store_filter *f, const char *tag, struct err *err)
{
    _cleanup_str_ struct str where = STR_INIT;

    if (!f->by_turn || !f->newest || f->limit <= 0)
        return 0;
    add_conditions(&where, f, tag);
    _cleanup_free_ char *sql = mem_printf("SELECT min(turn) FROM (SELECT " TURN " AS turn FROM"
                                          " message m%s ORDER BY id DESC LIMIT ?9 + ?10)",
                                          str_text(&where));
    sqlite3_stmt *s = db_prepare_once(store->db, sql, err);
    if (s == NULL)
        return -1;
    bind_filter(s, f, tag);
    int rc = db_step(store->db, s, err);
    if (rc == 1)
        f->from = sqlite3_column_int64(s, 0);
    (void)sqlite3_finalize(s);
    return rc == -1 ? -1 : 0;
}

int store_read(struct store *store, const struct store_filter *filter, store_each *each, void *arg,
               struct err *err)
{
    _cleanup_str_ struct str sql = STR_INIT;
    _cleanup_str_ struct str tag = STR_INIT;
    struct message_text buffers = {.tags = STR_INIT};
    struct store_filter f = *filter;
    struct store_item item;
    int rc;

    if (!resolve_tag(store, &f, &tag))
        return 0;
    if (find_from(store, &f, tag.data, err) == -1)
        return -1;
    build_read(&f, tag.data, &sql);
    sqlite3_stmt *s = db_prepare_once(store->db, str_text(&sql), err);
    if (s == NULL)
        return -1;
    bind_filter(s, &f, tag.data);
    while ((rc = db_step(store->db, s, err)) == 1) {
        rc = fill_item(store, s, &buffers, &item, err);
        if (rc == -1 || !each(&item, arg))
            break;
    }
    (void)sqlite3_finalize(s);
    str_free(&buffers.tags);
    str_free(&buffers.text);
    return rc;
}

int store_count(struct store *store, const struct store_filter *filter, int64_t *ret,
                struct err *err)
{
    _cleanup_str_ struct str where = STR_INIT;
    _cleanup_str_ struct str tag = STR_INIT;
    struct store_filter f = *filter;

    if (!resolve_tag(store, &f, &tag)) {
        *ret = 0;
        return 0;
    }
    add_conditions(&where, &f, tag.data);
    _cleanup_free_ char *sql = mem_printf("SELECT count(*) FROM message m%s", str_text(&where));
    sqlite3_stmt *s = db_prepare_once(store->db, sql, err);
    if (s == NULL)
        return -1;
    bind_filter(s, &f, tag.data);
    int rc = db_step(store->db, s, err);
    if (rc == 1)
        *ret = sqlite3_column_int64(s, 0);
    (void)sqlite3_finalize(s);
    return rc == 1 ? 0 : -1;
}

int store_waiting(struct store *store, struct store_waiting **ret, size_t *ret_count,
                  struct err *err)
{
    struct store_waiting *items = NULL;
    size_t count = 0;
    int rc;

    _cleanup_reset_ sqlite3_stmt *s =
        db_query(store->db, err,
                 "SELECT agent, count(*) FROM (SELECT m.agent AS agent FROM"
                 " message m WHERE " STORE_WAITS " UNION ALL SELECT agent FROM input)"
                 " GROUP BY agent ORDER BY agent",
                 "");
    while ((rc = db_step(store->db, s, err)) == 1) {
        if (!str_is_word(db_text(s, 0), STORE_AGENT_MAX)) {
            rc = damaged(err, "an agent");
            break;
        }
        items = mem_room(items, count, sizeof *items);
        items[count] = (struct store_waiting){.count = sqlite3_column_int(s, 1)};
        (void)snprintf(items[count++].agent, sizeof items->agent, "%s", db_text(s, 0));
    }
    if (rc == -1) {
        free(items);
        return -1;
    }
    *ret = items;
    *ret_count = count;
    return 0;
}

char **store_own_tags(const char *text)
{
    _cleanup_json_ struct json *tags = NULL;
    struct err ignored = ERR_INIT;
    char **own = NULL;

    if (json_parse(text, strlen(text), STORE_TEXT_MAX, &tags, &ignored) == -1)
        return NULL;
    for (const struct json *tag = json_first(tags); tag != NULL; tag = json_next(tag)) {
        const char *word = json_text(tag);
        if (word != NULL && !str_starts(word, "session:") && !str_starts(word, "agent:"))
            strv_push(&own, word);
    }
    return own;
}

/* ---- how the newest turn ended */

int store_has_note(struct store *store, const char *agent, const char *text, bool *ret,
                   struct err *err)
{
    int64_t count = 0;
    int rc = db_number(store->db, 0, &count, err,
                       "SELECT count(*) FROM message WHERE agent = ?1 AND role = 7 AND text = ?2",
                       "tt", agent, text);

    *ret = count > 0;
    return rc;
}

int store_newest_turn(struct store *store, const char *agent, struct store_turn *ret,
                      struct err *err)
{
    struct store_turn turn = {.prompt = 0};

    /* without the prompts that never had a turn */
    _cleanup_reset_ sqlite3_stmt *s = db_query(
        store->db, err,
        "SELECT m.id, m.state, coalesce(m.stop_reason, ''), coalesce(n.time, m.time), n.text"
        " FROM message m LEFT JOIN message n ON n.id = (SELECT max(c.id) FROM message c"
        " WHERE c.agent = ?1 AND c.id > m.id AND c.trigger = m.id AND c.role = 7"
        " AND c.state IN (2, 3)) WHERE m.id = (SELECT max(id) FROM message WHERE agent = ?1"
        " AND role = 0 AND state <> 0 AND coalesce(stop_reason, '') NOT IN ('cleared',"
        " 'not asked'))",
        "t", agent);
    int rc = db_step(store->db, s, err);
    if (rc == 1) {
        turn.prompt = sqlite3_column_int64(s, 0);
        turn.state = (enum store_state)sqlite3_column_int(s, 1);
        turn.over = db_len(s, 2) > 0;
        turn.stopped = strcmp(db_text(s, 2), STORE_STOPPED) == 0;
        turn.time_ms = sqlite3_column_int64(s, 3);
        turn.why = db_text_null(s, 4) != NULL ? mem_dup(db_text(s, 4)) : NULL;
    }
    if (rc != -1)
        *ret = turn;
    return rc == -1 ? -1 : 0;
}

void store_turn_free(struct store_turn *turn)
{
    free(turn->why);
    turn->why = NULL;
}

/* ---- queries */

static int put_sessions(struct store *store, int64_t query, struct str *to, struct err *err)
{
    struct json_out out = {.to = to};
    int rc;

    _cleanup_reset_ sqlite3_stmt *s =
        db_query(store->db, err,
                 "SELECT agent_session, program, outcome, started, ended, note"
                 " FROM agent_session WHERE query = ?1 ORDER BY id",
                 "i", query);
    json_open(&out, NULL, '[');
    while ((rc = db_step(store->db, s, err)) == 1) {
        int64_t outcome = sqlite3_column_int64(s, 2);
        if (outcome < OUTCOME_FRESH || outcome > OUTCOME_INJECTED)
            return damaged(err, "an agent's session");
        json_open(&out, NULL, '{');
        json_put_all(&out, JT("id", db_text(s, 0)), JT("program", db_text(s, 1)),
                     JT("outcome", store_outcome_name((enum store_outcome)outcome)));
        json_put_time(&out, "startedAt", sqlite3_column_int64(s, 3));
        json_put_time(&out, "endedAt", sqlite3_column_int64(s, 4));
        json_put(&out, "note", db_text(s, 5));
        json_close(&out, '}');
    }
    json_close(&out, ']');
    return rc;
}

static int fill_query(struct store *store, sqlite3_stmt *s, struct str *sessions,
                      struct store_query *ret, struct err *err)
{
    *ret = (struct store_query){.query = sqlite3_column_int64(s, 0),
                                .number = sqlite3_column_int(s, 1),
                                .agent = db_text(s, 3),
                                .started_ms = sqlite3_column_int64(s, 4),
                                .ended_ms = sqlite3_column_int64(s, 5),
                                .reason = db_text(s, 6),
                                .mode = db_text(s, 7),
                                .current = sqlite3_column_int(s, 8) != 0,
                                .messages = sqlite3_column_int64(s, 9)};
    if (!id_is_valid(db_text(s, 2)) || !str_is_word(ret->agent, STORE_AGENT_MAX))
        return damaged(err, "a conversation");
    memcpy(ret->conversation, db_text(s, 2), sizeof ret->conversation);
    str_clear(sessions);
    if (put_sessions(store, ret->query, sessions, err) == -1)
        return -1;
    ret->sessions = sessions->data;
    return 0;
}

int store_queries(struct store *store, const char *agent, store_each_query *each, void *arg,
                  struct err *err)
{
    _cleanup_str_ struct str sessions = STR_INIT;
    struct store_query query;
    int rc;

    _cleanup_reset_ sqlite3_stmt *s = db_query(
        store->db, err,
        "SELECT q.id, q.number, c.uuid, c.agent, q.started, q.ended, q.reason, q.mode,"
        " c.current = 1 AND q.ended = 0, (SELECT count(*) FROM message m WHERE m.query = q.id)"
        " FROM query q JOIN conversation c ON c.id = q.conversation"
        " WHERE ?1 IS NULL OR c.agent = ?1 ORDER BY q.id",
        "t", agent);
    while ((rc = db_step(store->db, s, err)) == 1) {
        rc = fill_query(store, s, &sessions, &query, err);
        if (rc == -1 || !each(&query, arg))
            return rc;
    }
    return rc;
}
