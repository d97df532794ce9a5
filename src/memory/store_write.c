/*
 * Transactions; adding, growing and finishing messages. A message that grows costs a piece each
 * time, and not its whole text; finishing joins the pieces in the same transaction. What a process
 * keeps of open messages is only their size. What a killed writer has left open is ended by the
 * next one of that agent, store_mend().
 */

#include "base/json.h"
#include "base/time.h"
#include "memory/store_internal.h"

/* ---- transactions */

int store_may_write(const struct store *store, struct err *err)
{
    if (store->write)
        return 0;
    return err_set(err, MAS_FAILED,
                   "cannot write to '" STORE_FILE "': it is open only for reading");
}

int store_begin(struct store *store, enum store_sync sync, struct err *err)
{
    if (store_may_write(store, err) == -1 || db_sync(store->db, sync == SYNC_FULL, err) == -1)
        return -1;
    return db_begin(store->db, err);
}

int store_end(struct store *store, int rc, struct err *err)
{
    if (rc == 0)
        return db_commit(store->db, err);
    db_rollback(store->db);
    return -1;
}

/* ---- tags */

static int check_tag(const char *tag, struct err *err)
{
    size_t len = strlen(tag);
    const char *colon = strchr(tag, ':');

    if (len > STORE_TAG_MAX)
        return err_set(err, MAS_USAGE, "cannot tag with '%.32s...': it is longer than %d bytes",
                       tag, STORE_TAG_MAX);
    if (colon == NULL || colon == tag || colon[1] == '\0')
        return err_set(err, MAS_USAGE, "cannot tag with '%s': a tag is KEY:VALUE", tag);
    if (str_has_control(tag) || !str_is_utf8(tag, len))
        return err_set(err, MAS_USAGE,
                       "cannot tag with '%s': it is not text without control characters", tag);
    if (str_starts(tag, "session:") || str_starts(tag, "agent:"))
        return err_set(err, MAS_USAGE, "cannot tag with '%s': mas sets this tag itself", tag);
    return 0;
}

int store_check_tags(char *const *tags, struct err *err)
{
    size_t count = strv_len(tags);

    if (count > STORE_TAGS_MAX)
        return err_set(err, MAS_USAGE, "cannot set %zu tags on a message: the limit is %d", count,
                       STORE_TAGS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (check_tag(tags[i], err) == -1)
            return -1;
    }
    return 0;
}

/* Packs further tags into a JSON array; *ret is "" if there are none. Fails with MAS_USAGE for an
 * invalid tag. */
static int store_pack_tags(char *const *tags, struct str *ret, struct err *err)
{
    struct json_out out = {.to = ret};
    size_t count = strv_len(tags);

    if (store_check_tags(tags, err) == -1)
        return -1;
    if (count == 0)
        return 0;
    json_open(&out, NULL, '[');
    for (size_t i = 0; i < count; i++) {
        bool again = false;
        for (size_t j = 0; j < i; j++)
            again = again || strcmp(tags[i], tags[j]) == 0;
        if (!again)
            json_put(&out, NULL, tags[i]);
    }
    json_close(&out, ']');
    return 0;
}

/* ---- messages that are open here */

static struct store_open_message *find_open(struct store *store, int64_t number)
{
    for (size_t i = store->open_count; i > 0; i--) {
        if (store->open[i - 1].number == number)
            return &store->open[i - 1];
    }
    return NULL;
}

static void note_open(struct store *store, int64_t number, int64_t pieces, size_t bytes)
{
    store->open = mem_room(store->open, store->open_count, sizeof *store->open);
    store->open[store->open_count++] =
        (struct store_open_message){.number = number, .pieces = pieces, .bytes = bytes};
}

static void forget_open(struct store *store, int64_t number)
{
    struct store_open_message *open = find_open(store, number);

    if (open != NULL)
        *open = store->open[--store->open_count];
}

/* ---- adding */

static int too_large(struct err *err)
{
    return err_set(err, MAS_FAILED, "cannot store a message: it is larger than %d MB",
                   STORE_TEXT_MAX >> 20);
}

int store_insert(struct store *store, int64_t query, const struct store_message *message,
                 int64_t *ret, struct err *err)
{
    _cleanup_str_ struct str tags = STR_INIT;
    const char *data = message->data;
    const char *text = message->text != NULL ? message->text : "";
    size_t len = message->text != NULL ? message->len : 0;

    if (len > STORE_TEXT_MAX || (data != NULL && strlen(data) > STORE_TEXT_MAX))
        return too_large(err);
    if (store_pack_tags(message->tags, &tags, err) == -1)
        return -1;
    /* Without its own tags a message inherits those of its prompt. */
    bool inherit = message->tags == NULL && message->trigger != 0;
    if (db_run(store->db, err,
               "INSERT INTO message (query, agent, role, state, time, trigger, sender, key, tags,"
               " text, data) SELECT ?1, c.agent, ?2, ?3, ?4, ?5, ?6, ?7, coalesce(?8, (SELECT tags"
               " FROM message WHERE id = ?5), ''), ?9, ?10"
               " FROM query q JOIN conversation c ON c.id = q.conversation WHERE q.id = ?1",
               "iiiiitttnt", query, (int64_t)message->role, (int64_t)message->state,
               time_epoch_ms(), message->trigger, message->sender, message->key,
               inherit ? NULL : str_text(&tags), text, len, data) == -1)
        return -1;
    if (sqlite3_changes(db_handle(store->db)) != 1)
        return err_set(err, MAS_NOT_FOUND, "cannot store a message: there is no such query");
    *ret = sqlite3_last_insert_rowid(db_handle(store->db));
    return 0;
}

int store_add(struct store *store, int64_t query, const struct store_message *message,
              enum store_sync sync, int64_t *ret, struct err *err)
{
    int64_t number;

    if (store_may_write(store, err) == -1 || db_sync(store->db, sync == SYNC_FULL, err) == -1 ||
        store_insert(store, query, message, &number, err) == -1)
        return -1;
    if (message->state == MESSAGE_OPEN)
        note_open(store, number, 0, message->text != NULL ? message->len : 0);
    *ret = number;
    return 0;
}

/* ---- growing */

/* Reads the size of an open message that this process has not seen. */
static int measure_open(struct store *store, int64_t number, struct store_open_message **ret,
                        struct err *err)
{
    int64_t pieces, bytes;

    if (db_number(store->db, 0, &pieces, err, "SELECT max(number) FROM piece WHERE message = ?1",
                  "i", number) == -1 ||
        db_number(store->db, -1, &bytes, err,
                  "SELECT length(CAST(m.text AS BLOB)) + coalesce((SELECT"
                  " sum(length(CAST(p.text AS BLOB))) FROM piece p WHERE p.message = m.id), 0)"
                  " FROM message m WHERE m.id = ?1 AND m.state = 0",
                  "i", number) == -1)
        return -1;
    if (bytes == -1)
        return err_set(err, MAS_NOT_FOUND, "cannot add to a message: it is finished");
    note_open(store, number, pieces, (size_t)bytes);
    *ret = &store->open[store->open_count - 1];
    return 0;
}

int store_append(struct store *store, int64_t number, const char *text, size_t len, struct err *err)
{
    struct store_open_message *open = find_open(store, number);

    if (store_may_write(store, err) == -1 || db_sync(store->db, false, err) == -1 ||
        (open == NULL && measure_open(store, number, &open, err) == -1))
        return -1;
    if (len > STORE_TEXT_MAX - open->bytes)
        return too_large(err);
    if (db_run(store->db, err, "INSERT INTO piece (message, number, text) VALUES (?1, ?2, ?3)",
               "iin", number, open->pieces + 1, text, len) == -1)
        return -1;
    open->pieces++;
    open->bytes += len;
    return 0;
}

/* ---- finishing */

int store_close_message(struct store *store, int64_t number, enum store_state state,
                        struct err *err)
{
    /* A text that never had pieces is not written again. */
    if (db_run(store->db, err,
               "UPDATE message SET text = text || (SELECT group_concat(text, '') FROM"
               " (SELECT text FROM piece WHERE message = ?1 ORDER BY number))"
               " WHERE id = ?1 AND EXISTS (SELECT 1 FROM piece WHERE message = ?1)",
               "i", number) == -1 ||
        db_run(store->db, err, "DELETE FROM piece WHERE message = ?1", "i", number) == -1 ||
        db_run(store->db, err, "UPDATE message SET state = ?2 WHERE id = ?1", "ii", number,
               (int64_t)state) == -1)
        return -1;
    if (sqlite3_changes(db_handle(store->db)) != 1)
        return err_set(err, MAS_NOT_FOUND, "cannot finish a message: there is no message %lld",
                       (long long)number);
    return 0;
}

int store_finish(struct store *store, int64_t number, enum store_state state, enum store_sync sync,
                 struct err *err)
{
    return store_update(store, number, NULL, 0, NULL, state, sync, err);
}

static int replace(struct store *store, int64_t number, const char *text, size_t len,
                   const char *data, enum store_state state, struct err *err)
{
    if (text != NULL &&
        db_run(store->db, err, "DELETE FROM piece WHERE message = ?1", "i", number) == -1)
        return -1;
    if ((text != NULL || data != NULL) &&
        db_run(store->db, err,
               "UPDATE message SET text = coalesce(?2, text), data = coalesce(?3, data)"
               " WHERE id = ?1",
               "int", number, text, len, data) == -1)
        return -1;
    return store_close_message(store, number, state, err);
}

int store_update(struct store *store, int64_t number, const char *text, size_t len,
                 const char *data, enum store_state state, enum store_sync sync, struct err *err)
{
    if ((text != NULL && len > STORE_TEXT_MAX) || (data != NULL && strlen(data) > STORE_TEXT_MAX))
        return too_large(err);
    if (store_begin(store, sync, err) == -1 ||
        store_end(store, replace(store, number, text, len, data, state, err), err) == -1)
        return -1;
    /* It is still open and its pieces are now text: the next piece reads its size again. */
    forget_open(store, number);
    return 0;
}

int store_join_turn(struct store *store, int64_t number, int64_t turn, struct err *err)
{
    if (store_may_write(store, err) == -1 || db_sync(store->db, false, err) == -1)
        return -1;
    return db_run(store->db, err, "UPDATE message SET trigger = ?2 WHERE id = ?1", "ii", number,
                  turn);
}

int store_list(struct store *store, sqlite3_stmt *stmt, struct store_numbers *ret, struct err *err)
{
    int rc;

    while ((rc = db_step(store->db, stmt, err)) == 1) {
        ret->items = mem_room(ret->items, ret->count, sizeof *ret->items);
        ret->items[ret->count++] = sqlite3_column_int64(stmt, 0);
    }
    return rc;
}

void store_numbers_free(struct store_numbers *numbers)
{
    free(numbers->items);
}

static int close_all(struct store *store, sqlite3_stmt *stmt, enum store_state state,
                     struct err *err)
{
    _cleanup_numbers_ struct store_numbers open = {.count = 0};

    if (store_list(store, stmt, &open, err) == -1)
        return -1;
    for (size_t i = 0; i < open.count; i++) {
        if (store_close_message(store, open.items[i], state, err) == -1)
            return -1;
    }
    return 0;
}

static int add_why(struct store *store, int64_t prompt, enum store_state state, const char *why,
                   struct err *err)
{
    const struct store_message note = {
        .role = ROLE_NOTE, .state = state, .text = why, .len = strlen(why), .trigger = prompt};
    int64_t query, number;

    return db_number(store->db, 0, &query, err, "SELECT query FROM message WHERE id = ?1", "i",
                     prompt) == -1
               ? -1
               : store_insert(store, query, &note, &number, err);
}

static int end_prompt(struct store *store, int64_t prompt, const char *stop_reason,
                      enum store_state state, const char *why, struct err *err)
{
    if (db_run(store->db, err, "UPDATE message SET stop_reason = ?2 WHERE id = ?1", "it", prompt,
               stop_reason) == -1 ||
        store_close_message(store, prompt, state, err) == -1)
        return -1;
    return why != NULL ? add_why(store, prompt, state, why, err) : 0;
}

/* Ends the turns that a kill has cut off: their prompts were begun, and have no end. */
static int end_cut_turns(struct store *store, struct err *err)
{
    _cleanup_numbers_ struct store_numbers prompts = {.count = 0};

    _cleanup_reset_ sqlite3_stmt *s =
        db_query(store->db, err,
                 "SELECT id FROM message WHERE agent = ?1 AND role = 0"
                 " AND state = 1 AND stop_reason IS NULL ORDER BY id",
                 "t", store->agent);
    if (store_list(store, s, &prompts, err) == -1)
        return -1;
    for (size_t i = 0; i < prompts.count; i++)
        if (end_prompt(store, prompts.items[i], STORE_STOPPED, MESSAGE_INTERRUPTED,
                       "its host was killed, or its machine went down", err) == -1)
            return -1;
    store->cut_turns = prompts.count;
    return 0;
}

int store_mend(struct store *store, struct err *err)
{
    _cleanup_reset_ sqlite3_stmt *s =
        db_query(store->db, err,
                 "SELECT m.id FROM message m WHERE m.agent = ?1 AND m.state = 0"
                 " AND NOT (" STORE_WAITS ")",
                 "t", store->agent);
    return close_all(store, s, MESSAGE_INTERRUPTED, err) == -1 ? -1 : end_cut_turns(store, err);
}

size_t store_cut_turns(const struct store *store)
{
    return store->cut_turns;
}

/* `agent` NULL: what waits for any. */
static int disown(struct store *store, const char *agent, int64_t *ret_count, struct err *err)
{
    if (db_run(store->db, err,
               "UPDATE message SET state = 3, stop_reason = 'not asked' WHERE id IN"
               " (SELECT m.id FROM message m WHERE " STORE_WAITS
               " AND m.agent = coalesce(?1, m.agent))",
               "t", agent) == -1)
        return -1;
    *ret_count = sqlite3_changes(db_handle(store->db));
    if (db_run(store->db, err, "DELETE FROM input WHERE agent = coalesce(?1, agent)", "t", agent) ==
        -1)
        return -1;
    *ret_count += sqlite3_changes(db_handle(store->db));
    return 0;
}

static int retire(struct store *store, const char *agent, int64_t *ret_count, struct err *err)
{
    return disown(store, agent, ret_count, err) == -1 ||
                   db_run(store->db, err, "UPDATE conversation SET current = 0 WHERE agent = ?1",
                          "t", agent) == -1 ||
                   db_run(store->db, err, "DELETE FROM budget WHERE agent = ?1", "t", agent) == -1
               ? -1
               : 0;
}

int store_retire(struct store *store, const char *agent, int64_t *ret_count, struct err *err)
{
    if (store_begin(store, SYNC_FULL, err) == -1)
        return -1;
    return store_end(store, retire(store, agent, ret_count, err), err);
}

int store_disown(struct store *store, int64_t *ret_count, struct err *err)
{
    if (store_begin(store, SYNC_FULL, err) == -1)
        return -1;
    return store_end(store, disown(store, NULL, ret_count, err), err);
}

static int end_turn(struct store *store, int64_t query, int64_t prompt, const char *stop_reason,
                    enum store_state state, const char *why, struct err *err)
{
    _cleanup_reset_ sqlite3_stmt *s =
        db_query(store->db, err,
                 "SELECT m.id FROM message m WHERE m.agent = (SELECT agent FROM"
                 " message WHERE id = ?1) AND m.state = 0 AND m.trigger = ?1",
                 "i", prompt);
    if (close_all(store, s, state, err) == -1 ||
        end_prompt(store, prompt, stop_reason, state, why, err) == -1)
        return -1;
    if (state != MESSAGE_DONE)
        return 0;
    return db_run(store->db, err, "UPDATE query SET injected = 1 WHERE id = ?1 AND injected = 0",
                  "i", query);
}

int store_end_turn(struct store *store, int64_t query, int64_t prompt, const char *stop_reason,
                   enum store_state state, const char *why, struct err *err)
{
    if (store_begin(store, SYNC_FULL, err) == -1)
        return -1;
    int rc = end_turn(store, query, prompt, stop_reason, state, why, err);
    if (store_end(store, rc, err) == -1)
        return -1;
    /* Only a cache: the sizes of other turns' open messages are read again. */
    store->open_count = 0;
    return 0;
}
