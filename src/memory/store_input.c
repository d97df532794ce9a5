/* Messages that wait to be typed at an agent's terminal. */
#include "memory/store_internal.h"

int store_input_add(struct store *store, const struct store_input *input, int64_t *ret,
                    struct err *err)
{
    if (input->len > STORE_TEXT_MAX)
        return err_set(err, MAS_FAILED, "cannot store a message: it is larger than %d MB",
                       STORE_TEXT_MAX >> 20);
    if (store_may_write(store, err) == -1 || db_sync(store->db, true, err) == -1 ||
        db_run(store->db, err,
               "INSERT INTO input (agent, sender, enter, begun, note, text, data)"
               " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
               "ttiiint", input->agent, input->sender, (int64_t)input->enter, (int64_t)input->begun,
               (int64_t)input->note, input->text, input->len, input->data) == -1)
        return -1;
    *ret = sqlite3_last_insert_rowid(db_handle(store->db));
    return 0;
}

int store_input_begin(struct store *store, int64_t number, bool begun, struct err *err)
{
    if (store_may_write(store, err) == -1 || db_sync(store->db, begun, err) == -1)
        return -1;
    return db_run(store->db, err, "UPDATE input SET begun = ?2 WHERE id = ?1", "ii", number,
                  (int64_t)begun);
}

int store_input_drop(struct store *store, int64_t number, struct err *err)
{
    if (store_may_write(store, err) == -1 || db_sync(store->db, false, err) == -1)
        return -1;
    return db_run(store->db, err, "DELETE FROM input WHERE id = ?1", "i", number);
}

int store_inputs(struct store *store, const char *agent, store_each_input *each, void *arg,
                 struct err *err)
{
    int rc;

    _cleanup_reset_ sqlite3_stmt *s =
        db_query(store->db, err,
                 "SELECT id, sender, enter, begun, note, text, data FROM input"
                 " WHERE agent = ?1 ORDER BY id",
                 "t", agent);
    while ((rc = db_step(store->db, s, err)) == 1) {
        const struct store_input input = {.number = sqlite3_column_int64(s, 0),
                                          .agent = agent,
                                          .sender = db_text_null(s, 1),
                                          .enter = sqlite3_column_int(s, 2) != 0,
                                          .begun = sqlite3_column_int(s, 3) != 0,
                                          .note = sqlite3_column_int(s, 4) != 0,
                                          .text = db_text(s, 5),
                                          .len = db_len(s, 5),
                                          .data = db_text_null(s, 6)};
        if (!each(&input, arg))
            return 0;
    }
    return rc;
}
