/*
 * Conversations, queries, agent sessions and resume methods. The newest query of a conversation is
 * the open one. A clear is one transaction: the query ends, the next one begins with what it
 * adopts, and with its first prompt. An agent session is resumed only where it was opened: by this
 * session, on this machine, in this directory. A method that has failed several times is left out
 * for an hour.
 */

#include "base/id.h"
#include "base/time.h"
#include "memory/store_internal.h"
#include "memory/store_transcript.h"

enum {
    PREFIX_MIN = 4, /* of a conversation's id */
    METHOD_FAILURES = 3,
    METHOD_AGE_MS = 3600 * 1000,
};

void store_place_free(struct store_place *place)
{
    free(place->mode);
    free(place->model);
    free(place->options);
    *place = (struct store_place){.query = 0};
}

/* Reads the open query of an existing conversation. */
static int read_place(struct store *store, int64_t conversation, struct store_place *ret,
                      struct err *err)
{
    _cleanup_reset_ sqlite3_stmt *s =
        db_query(store->db, err,
                 "SELECT c.uuid, q.id, q.number, q.injected, c.mode, c.model, c.options,"
                 " NOT EXISTS (SELECT 1 FROM message m WHERE m.query = q.id AND m.role < 5"
                 " AND NOT (" STORE_WAITS "))"
                 " FROM conversation c JOIN query q ON q.conversation = c.id"
                 " WHERE c.id = ?1 ORDER BY q.number DESC LIMIT 1",
                 "i", conversation);
    int rc = db_step(store->db, s, err);
    if (rc == -1)
        return -1;
    if (rc == 0)
        return err_set(err, MAS_DAMAGED,
                       "cannot use '" STORE_FILE "': a conversation has no query");
    *ret = (struct store_place){.query = sqlite3_column_int64(s, 1),
                                .number = sqlite3_column_int(s, 2),
                                .is_new = sqlite3_column_int(s, 7) != 0,
                                .injected = sqlite3_column_int(s, 3) != 0,
                                .mode = mem_dup(db_text(s, 4)),
                                .model = mem_dup(db_text(s, 5)),
                                .options = mem_dup(db_text(s, 6))};
    (void)snprintf(ret->conversation, sizeof ret->conversation, "%s", db_text(s, 0));
    return 0;
}

static int make_current(struct store *store, int64_t conversation, struct err *err)
{
    if (db_run(store->db, err,
               "UPDATE conversation SET current = 0 WHERE agent = ?1 AND current = 1", "t",
               store->agent) == -1)
        return -1;
    return db_run(store->db, err, "UPDATE conversation SET current = 1 WHERE id = ?1", "i",
                  conversation);
}

static int add_query(struct store *store, int64_t conversation, const char *mode, struct err *err)
{
    return db_run(store->db, err,
                  "INSERT INTO query (conversation, number, started, mode)"
                  " SELECT id, 1 + coalesce((SELECT max(number) FROM query"
                  " WHERE conversation = c.id), 0), ?2, coalesce(?3, c.mode)"
                  " FROM conversation c WHERE id = ?1",
                  "iit", conversation, time_epoch_ms(), mode);
}

static int make_conversation(struct store *store, int64_t *ret, struct err *err)
{
    char id[ID_TEXT];

    if (id_make(id, err) == -1 ||
        db_run(store->db, err,
               "INSERT INTO conversation (uuid, agent, current, started) VALUES (?1, ?2, 0, ?3)",
               "tti", id, store->agent, time_epoch_ms()) == -1)
        return -1;
    *ret = sqlite3_last_insert_rowid(db_handle(store->db));
    return add_query(store, *ret, NULL, err);
}

/* Finds conversations of the writer's agent by the beginning of their id. Two matches are
 * enough. */
static int find_conversation(struct store *store, const char *id, int64_t *ret, struct err *err)
{
    int64_t found[2];
    int count = 0;
    int rc;

    if (strlen(id) < PREFIX_MIN)
        return err_set(err, MAS_USAGE,
                       "cannot find conversation '%s': an id needs at least %d characters", id,
                       PREFIX_MIN);
    _cleanup_reset_ sqlite3_stmt *s = db_query(store->db, err,
                                               "SELECT id FROM conversation WHERE agent = ?1"
                                               " AND substr(uuid, 1, ?3) = lower(?2) LIMIT 2",
                                               "tti", store->agent, id, (int64_t)strlen(id));
    while ((rc = db_step(store->db, s, err)) == 1)
        found[count++] = sqlite3_column_int64(s, 0);
    if (rc == -1)
        return -1;
    if (count == 0)
        return err_set(err, MAS_NOT_FOUND,
                       "cannot find conversation '%s': agent %s has no conversation with that id",
                       id, store->agent);
    if (count > 1)
        return err_set(err, MAS_CONFLICT,
                       "cannot find conversation '%s': several ids begin with it", id);
    *ret = found[0];
    return 0;
}

static int find_place(struct store *store, enum conversation_choice choice, const char *id,
                      bool current, struct store_place *ret, struct err *err)
{
    int64_t number = 0;

    if (choice == CHOICE_NAMED && find_conversation(store, id, &number, err) == -1)
        return -1;
    if (choice == CHOICE_CURRENT &&
        db_number(store->db, 0, &number, err,
                  "SELECT id FROM conversation WHERE agent = ?1 AND current = 1", "t",
                  store->agent) == -1)
        return -1;
    if (number == 0 && make_conversation(store, &number, err) == -1)
        return -1;
    if (current && make_current(store, number, err) == -1)
        return -1;
    return read_place(store, number, ret, err);
}

/* A writer without an agent (a test, doctor) has no conversations. */
static int has_agent(const struct store *store, struct err *err)
{
    if (store_may_write(store, err) == -1)
        return -1;
    if (store->agent != NULL)
        return 0;
    return err_set(err, MAS_FAILED, "cannot enter a conversation: no agent was named");
}

static int to_place(struct store *store, enum conversation_choice choice, const char *id,
                    bool current, struct store_place *ret, struct err *err)
{
    struct store_place place = {.query = 0};

    if (has_agent(store, err) == -1 || store_begin(store, SYNC_FULL, err) == -1)
        return -1;
    if (store_end(store, find_place(store, choice, id, current, &place, err), err) == -1) {
        store_place_free(&place);
        return -1;
    }
    *ret = place;
    return 0;
}

int store_enter(struct store *store, enum conversation_choice choice, const char *id,
                struct store_place *ret, struct err *err)
{
    return to_place(store, choice, id, true, ret, err);
}

int store_prepare(struct store *store, enum conversation_choice choice, const char *id,
                  struct store_place *ret, struct err *err)
{
    return to_place(store, choice, id, false, ret, err);
}

/* Returns the number of a conversation with this complete id. */
static int conversation_number(struct store *store, const char *id, int64_t *ret, struct err *err)
{
    int64_t number;

    if (db_number(store->db, 0, &number, err, "SELECT id FROM conversation WHERE uuid = ?1", "t",
                  id) == -1)
        return -1;
    if (number == 0)
        return err_set(err, MAS_NOT_FOUND, "cannot find conversation '%s'", id);
    *ret = number;
    return 0;
}

static int keep_settings(struct store *store, const char *conversation, const char *mode,
                         const char *model, const char *options, struct err *err)
{
    int64_t number;

    if (conversation_number(store, conversation, &number, err) == -1)
        return -1;
    return db_run(store->db, err,
                  "UPDATE conversation SET mode = coalesce(?2, mode), model = coalesce(?3, model),"
                  " options = coalesce(?4, options) WHERE id = ?1",
                  "ittt", number, mode, model, options);
}

int store_keep_settings(struct store *store, const char *conversation, const char *mode,
                        const char *model, const char *options, struct err *err)
{
    if (store_begin(store, SYNC_FULL, err) == -1)
        return -1;
    return store_end(store, keep_settings(store, conversation, mode, model, options, err), err);
}

/* ---- clear */

/* Cuts off the open messages of the query, and clears the waiting prompts of the agent in all its
 * conversations. */
static int close_query(struct store *store, int64_t query, const char *reason, struct err *err)
{
    _cleanup_numbers_ struct store_numbers open = {.count = 0};
    int64_t now = time_epoch_ms();

    if (db_run(store->db, err,
               "UPDATE message SET state = 3, stop_reason = 'cleared' WHERE id IN"
               " (SELECT m.id FROM message m WHERE m.agent = (SELECT c.agent FROM query q"
               " JOIN conversation c ON c.id = q.conversation WHERE q.id = ?1) AND " STORE_WAITS
               ")",
               "i", query) == -1)
        return -1;
    _cleanup_reset_ sqlite3_stmt *s =
        db_query(store->db, err,
                 "SELECT id FROM message WHERE agent = (SELECT c.agent FROM query q"
                 " JOIN conversation c ON c.id = q.conversation WHERE q.id = ?1)"
                 " AND state = 0 AND query = ?1",
                 "i", query);
    if (store_list(store, s, &open, err) == -1)
        return -1;
    for (size_t i = 0; i < open.count; i++) {
        if (store_close_message(store, open.items[i], MESSAGE_INTERRUPTED, err) == -1)
            return -1;
    }
    if (db_run(store->db, err, "UPDATE agent_session SET ended = ?2 WHERE query = ?1 AND ended = 0",
               "ii", query, now) == -1)
        return -1;
    return db_run(store->db, err, "UPDATE query SET ended = ?2, reason = ?3 WHERE id = ?1", "iit",
                  query, now, reason);
}

static int add_session(struct store *store, int64_t query,
                       const struct store_agent_session *session, struct err *err);

static int add_said(struct store *store, int64_t query, const struct store_adoption *adopts,
                    int64_t *numbers, struct err *err)
{
    for (size_t i = 0; i < adopts->count; i++) {
        const struct store_adopted *said = &adopts->said[i];
        struct store_message message = said->message;
        message.trigger = said->prompt > 0 && said->prompt <= i ? numbers[said->prompt - 1] : 0;
        if (store_insert(store, query, &message, &numbers[i], err) == -1 ||
            (said->stop_reason != NULL &&
             db_run(store->db, err, "UPDATE message SET stop_reason = ?2 WHERE id = ?1", "it",
                    numbers[i], said->stop_reason) == -1))
            return -1;
    }
    return 0;
}

static int adopt(struct store *store, int64_t query, const struct store_adoption *adopts,
                 struct err *err)
{
    const struct store_spending nothing = {
        .tokens = token_counts_none(), .used = -1, .size = -1, .model = ""};
    _cleanup_free_ int64_t *numbers = mem_alloc((adopts->count + 1) * sizeof *numbers);

    if (add_said(store, query, adopts, numbers, err) == -1 ||
        (adopts->session != NULL && add_session(store, query, adopts->session, err) == -1))
        return -1;
    return adopts->at != NULL ? store_transcript_add(store, query, adopts->at, &nothing, err) : 0;
}

static int clear_query(struct store *store, const char *conversation,
                       const struct store_clear *clear, struct store_place *ret, int64_t *ret_then,
                       struct err *err)
{
    struct store_place old = {.query = 0};
    int64_t number;

    if (conversation_number(store, conversation, &number, err) == -1 ||
        read_place(store, number, &old, err) == -1)
        return -1;
    int64_t query = old.query;
    store_place_free(&old);
    if (close_query(store, query, clear->reason, err) == -1 ||
        (clear->mode != NULL &&
         db_run(store->db, err, "UPDATE conversation SET mode = ?2 WHERE id = ?1", "it", number,
                clear->mode) == -1) ||
        add_query(store, number, clear->mode, err) == -1 ||
        read_place(store, number, ret, err) == -1)
        return -1;
    if (clear->adopts != NULL) {
        ret->is_new = clear->adopts->count == 0;
        if (adopt(store, ret->query, clear->adopts, err) == -1)
            return -1;
    }
    if (clear->then_text == NULL)
        return 0;
    struct store_message then = {.role = ROLE_USER,
                                 .state = MESSAGE_OPEN,
                                 .text = clear->then_text,
                                 .len = clear->then_len,
                                 .sender = clear->sender,
                                 .tags = clear->tags};
    return store_insert(store, ret->query, &then, ret_then, err);
}

int store_clear(struct store *store, const char *conversation, const struct store_clear *clear,
                struct store_place *ret, int64_t *ret_then, struct err *err)
{
    struct store_place place = {.query = 0};
    int64_t then = 0;

    if (store_begin(store, SYNC_FULL, err) == -1)
        return -1;
    if (store_end(store, clear_query(store, conversation, clear, &place, &then, err), err) == -1) {
        store_place_free(&place);
        return -1;
    }
    store->open_count = 0;
    *ret = place;
    if (ret_then != NULL)
        *ret_then = then;
    return 0;
}

/* ---- agent sessions */

static int add_session(struct store *store, int64_t query,
                       const struct store_agent_session *session, struct err *err)
{
    int64_t now = time_epoch_ms();

    if (db_run(store->db, err, "UPDATE agent_session SET ended = ?2 WHERE query = ?1 AND ended = 0",
               "ii", query, now) == -1 ||
        db_run(store->db, err,
               "INSERT INTO agent_session (query, started, outcome, agent_session, program, note,"
               " session, directory, machine)"
               " VALUES (?1, ?2, ?3, ?4, coalesce(?5, ''), coalesce(?6, ''), ?7, ?8, ?9)",
               "iiitttttt", query, now, (int64_t)session->outcome, session->id, session->program,
               session->note, store->session_id, session->home.directory,
               session->home.machine) == -1)
        return -1;
    /* Injection is due from now on, until a turn succeeds. */
    if (session->outcome != OUTCOME_INJECTED)
        return 0;
    return db_run(store->db, err, "UPDATE query SET injected = 0 WHERE id = ?1", "i", query);
}

int store_agent_session(struct store *store, int64_t query,
                        const struct store_agent_session *session, struct err *err)
{
    if (store_begin(store, SYNC_FULL, err) == -1)
        return -1;
    return store_end(store, add_session(store, query, session, err), err);
}

static int go_on(struct store *store, int64_t query, const struct store_adoption *with,
                 struct err *err)
{
    if (adopt(store, query, with, err) == -1)
        return -1;
    return db_run(store->db, err, "UPDATE query SET injected = 1 WHERE id = ?1", "i", query);
}

int store_fork_goes_on(struct store *store, int64_t query,
                       const struct store_agent_session *session, const struct store_transcript *at,
                       struct err *err)
{
    const struct store_adoption with = {.session = session, .at = at};

    if (store_begin(store, SYNC_FULL, err) == -1)
        return -1;
    return store_end(store, go_on(store, query, &with, err), err);
}

/* Returns why a session that was opened there cannot be resumed here; NULL if it can. */
static const char *why_elsewhere(const struct store *store, sqlite3_stmt *s,
                                 const struct store_home *home)
{
    const struct {
        const char *then, *now, *why;
    } parts[] = {
        {db_text(s, 1), store->session_id, "it was opened by another session"},
        {db_text(s, 3), home->machine, "it was opened on another machine"},
        {db_text(s, 2), home->directory, "it was opened in another directory"},
    };

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (strcmp(parts[i].then, parts[i].now) != 0)
            return parts[i].why;
    }
    return NULL;
}

int store_last_session(struct store *store, int64_t query, const struct store_home *home,
                       char **ret_id, const char **ret_why, struct err *err)
{
    _cleanup_reset_ sqlite3_stmt *s =
        db_query(store->db, err,
                 "SELECT agent_session, session, directory, machine"
                 " FROM agent_session"
                 " WHERE query = ?1 AND ended = 0 ORDER BY id DESC LIMIT 1",
                 "i", query);
    int rc = db_step(store->db, s, err);
    if (rc == -1)
        return -1;
    *ret_why = rc == 1 ? why_elsewhere(store, s, home) : NULL;
    *ret_id = rc == 1 && *ret_why == NULL ? mem_dup(db_text(s, 0)) : NULL;
    return 0;
}

int store_end_session(struct store *store, int64_t query, const char *agent_session,
                      struct err *err)
{
    if (store_may_write(store, err) == -1 || db_sync(store->db, true, err) == -1)
        return -1;
    return db_run(store->db, err,
                  "UPDATE agent_session SET ended = ?3"
                  " WHERE query = ?1 AND agent_session = ?2 AND ended = 0",
                  "iti", query, agent_session, time_epoch_ms());
}

int store_method_tried(struct store *store, const char *program, const char *method,
                       const char *why, struct err *err)
{
    int64_t now = time_epoch_ms();

    if (has_agent(store, err) == -1 || db_sync(store->db, true, err) == -1)
        return -1;
    if (why == NULL)
        return db_run(store->db, err,
                      "INSERT INTO rung (agent, program, rung, worked) VALUES (?1, ?2, ?3, ?4)"
                      " ON CONFLICT DO UPDATE SET failures = 0, worked = ?4",
                      "ttti", store->agent, program, method, now);
    return db_run(store->db, err,
                  "INSERT INTO rung (agent, program, rung, failures, failed, why)"
                  " VALUES (?1, ?2, ?3, 1, ?4, ?5)"
                  " ON CONFLICT DO UPDATE SET failures = failures + 1, failed = ?4, why = ?5",
                  "tttit", store->agent, program, method, now, why);
}

char *store_method_skip(struct store *store, const char *program, const char *method)
{
    struct err ignored = ERR_INIT;
    char *why = NULL;
    int64_t now = time_epoch_ms();

    sqlite3_stmt *s = db_prepare(store->db,
                                 "SELECT r.failures, r.why FROM rung r"
                                 " WHERE r.agent = ?1 AND r.program = ?2 AND r.rung = ?3"
                                 " AND r.failures >= ?4 AND r.failed BETWEEN ?5 AND ?6"
                                 " AND NOT EXISTS (SELECT 1 FROM rung o WHERE o.program = ?2"
                                 " AND o.rung = ?3 AND o.worked > 0)",
                                 &ignored);
    if (s == NULL)
        return NULL;
    db_bind(s, "tttiii", store->agent, program, method, (int64_t)METHOD_FAILURES,
            now - METHOD_AGE_MS, now);
    if (db_step(store->db, s, &ignored) == 1)
        why = mem_printf("it failed %lld times, most recently with: %s",
                         (long long)sqlite3_column_int64(s, 0), db_text(s, 1));
    db_reset(s);
    return why;
}
