#include "memory/store_transcript.h"

#include "memory/store_internal.h"

int store_transcript_read(struct store *store, const char *agent_session, const char *file,
                          struct store_transcript *ret, struct err *err)
{
    _cleanup_reset_ sqlite3_stmt *s =
        db_query(store->db, err,
                 "SELECT offset, tail, once, mark FROM transcript WHERE agent = ?1"
                 " AND agent_session = ?2 AND file = ?3",
                 "ttt", store->agent, agent_session, file);
    int rc = db_step(store->db, s, err);

    if (rc != 1)
        return rc;
    ret->offset = sqlite3_column_int64(s, 0);
    ret->tail = sqlite3_column_int64(s, 1);
    ret->once = sqlite3_column_int64(s, 2);
    ret->mark = sqlite3_column_int64(s, 3);
    return 1;
}

static bool is_empty(const struct store_spending *more)
{
    return token_counts_all(&more->tokens) == -1 && more->cost.currency[0] == '\0' &&
           more->used == -1 && more->size == -1 && more->model[0] == '\0';
}

int store_transcript_add(struct store *store, int64_t query, const struct store_transcript *at,
                         const struct store_spending *more, struct err *err)
{
    if (!is_empty(more) && store_usage_add(store, query, at->agent_session, more, err) == -1)
        return -1;
    return db_run(store->db, err,
                  "INSERT INTO transcript (agent, agent_session, file, offset, tail, once, mark)"
                  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, coalesce(nullif(?7, -1),"
                  " (SELECT max(id) FROM message WHERE agent = ?1), 0))"
                  " ON CONFLICT DO UPDATE SET offset = excluded.offset, tail = excluded.tail,"
                  " once = excluded.once, mark = excluded.mark",
                  "tttiiii", store->agent, at->agent_session, at->file, at->offset, at->tail,
                  at->once, at->mark);
}

int store_transcript_write(struct store *store, int64_t query, const struct store_transcript *at,
                           const struct store_spending *more, struct err *err)
{
    if (store_begin(store, SYNC_CHUNK, err) == -1)
        return -1;
    return store_end(store, store_transcript_add(store, query, at, more, err), err);
}
