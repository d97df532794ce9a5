/* The part of memory/store.h that copies the open query of one agent to another. */
#include "base/id.h"
#include "base/time.h"
#include "memory/store_internal.h"

/* The text of a message that still grows is in pieces. */
#define WHOLE_TEXT                                                                                 \
    "text || coalesce((SELECT group_concat(p.text, '') FROM (SELECT text FROM piece"               \
    " WHERE message = m.id ORDER BY number) p), '')"

/* Copies the messages. Who was in the middle of a turn, has been cut off there. */
static int copy_messages(struct store *store, int64_t from, int64_t to, const char *agent,
                         bool *ret_copied, struct err *err)
{
    _cleanup_numbers_ struct store_numbers old = {.count = 0};
    _cleanup_reset_ sqlite3_stmt *s = db_query(store->db, err,
                                               "SELECT id FROM message m WHERE query = ?1"
                                               " AND NOT (" STORE_WAITS ") ORDER BY id",
                                               "i", from);

    if (store_list(store, s, &old, err) == -1)
        return -1;
    _cleanup_free_ int64_t *new = mem_alloc((old.count + 1) * sizeof *new);
    for (size_t i = 0; i < old.count; i++) {
        int64_t trigger = 0;
        if (db_number(store->db, 0, &trigger, err, "SELECT trigger FROM message WHERE id = ?1", "i",
                      old.items[i]) == -1)
            return -1;
        size_t cause = 0;
        while (cause < i && old.items[cause] != trigger)
            cause++;
        if (db_run(
                store->db, err,
                "INSERT INTO message (query, agent, role, state, time, trigger, stop_reason,"
                " sender, key, tags, text, data)"
                " SELECT ?2, ?3, role,"
                " CASE WHEN state = 0 OR (role = 0 AND stop_reason IS NULL) THEN 2 ELSE state END,"
                " time, ?4, CASE WHEN role = 0 THEN coalesce(stop_reason, '" STORE_STOPPED "') END,"
                " sender, key, tags, " WHOLE_TEXT ", data FROM message m WHERE id = ?1",
                "iiti", old.items[i], to, agent, cause < i ? new[cause] : (int64_t)0) == -1)
            return -1;
        new[i] = sqlite3_last_insert_rowid(db_handle(store->db));
        *ret_copied = true;
    }
    return 0;
}

/* Finds the agent session in which all of the query was said. */
static int find_session(struct store *store, int64_t query, const struct store_home *home,
                        char **ret, struct err *err)
{
    const char *why = NULL;
    int64_t knows = 0;

    return db_number(store->db, 0, &knows, err, "SELECT injected FROM query WHERE id = ?1", "i",
                     query) == -1
               ? -1
           : knows != 0 ? store_last_session(store, query, home, ret, &why, err)
                        : 0;
}

static int fork_query(struct store *store, const char *from, const struct store_home *home,
                      struct store_forked *ret, struct err *err)
{
    char uuid[ID_TEXT];
    int64_t query = 0;
    bool copied = false;

    if (id_make(uuid, err) == -1 ||
        db_number(store->db, 0, &query, err,
                  "SELECT q.id FROM query q JOIN conversation c ON c.id = q.conversation"
                  " WHERE c.agent = ?1 AND c.current = 1 ORDER BY q.number DESC LIMIT 1",
                  "t", from) == -1)
        return -1;
    if (query == 0)
        return 0;
    if (db_run(store->db, err,
               "INSERT INTO conversation (uuid, agent, current, started, mode, model, options)"
               " SELECT ?1, ?2, 1, ?3, c.mode, c.model, c.options FROM query q"
               " JOIN conversation c ON c.id = q.conversation WHERE q.id = ?4",
               "ttii", uuid, store->agent, time_epoch_ms(), query) == -1 ||
        db_run(store->db, err,
               "INSERT INTO query (conversation, number, started, injected, mode)"
               " SELECT ?1, 1, started, 0, mode FROM query WHERE id = ?2",
               "ii", sqlite3_last_insert_rowid(db_handle(store->db)), query) == -1)
        return -1;
    int64_t to = sqlite3_last_insert_rowid(db_handle(store->db));
    if (copy_messages(store, query, to, store->agent, &copied, err) == -1 ||
        find_session(store, query, home, &ret->session, err) == -1)
        return -1;
    ret->query = copied ? to : 0;
    return 0;
}

int store_fork(struct store *store, const char *from, const struct store_home *home,
               struct store_forked *ret, struct err *err)
{
    *ret = (struct store_forked){.query = 0};
    if (store_begin(store, SYNC_FULL, err) == -1)
        return -1;
    if (store_end(store, fork_query(store, from, home, ret, err), err) == 0)
        return 0;
    free(ret->session);
    return -1;
}
