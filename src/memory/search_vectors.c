/*
 * Vectors in addition to words. A search computes vectors of its text and of EMBED_MESSAGES
 * messages that have none of the program's model yet, newest first, so no search waits for a
 * million of them.
 */
#include "memory/embed.h"
#include "memory/search_internal.h"

enum { EMBED_MESSAGES = 512, CHOSEN_MAX = EMBED_MESSAGES };

/* Messages without a vector of the model. */
struct chosen {
    int64_t ids[CHOSEN_MAX];
    struct embed_text texts[CHOSEN_MAX];
    size_t count;
};

void search_use_vectors(struct search *search, const char *command, const char *host)
{
    if (command[0] == '\0' || search->embed_command != NULL)
        return;
    search->embed_command = mem_dup(command);
    search->embed_host = mem_dup(search->alone[0] == '\0' ? host : "");
}

static void chosen_clear(struct chosen *chosen)
{
    for (size_t i = 0; i < chosen->count; i++) {
        const void *text = chosen->texts[i].text;
        free((void *)(uintptr_t)text);
    }
    chosen->count = 0;
}

/* Model 0 is the one used last. */
static int choose(struct db *db, int64_t model, struct chosen *chosen, struct err *err)
{
    _cleanup_reset_ sqlite3_stmt *stmt =
        db_query(db, err,
                 "SELECT m.id, m.text FROM message m LEFT JOIN vector v ON v.message = m.id"
                 " WHERE v.model IS NOT coalesce(nullif(?1, 0), (SELECT max(id) FROM model))"
                 " AND (m.id >> 6 & 3) < 2 ORDER BY m.id DESC LIMIT ?2",
                 "ii", model, (int64_t)CHOSEN_MAX);
    int rc;

    while ((rc = db_step(db, stmt, err)) == 1) {
        size_t len = db_len(stmt, 1);
        chosen->ids[chosen->count] = sqlite3_column_int64(stmt, 0);
        chosen->texts[chosen->count++] =
            (struct embed_text){.text = mem_dupn(db_text(stmt, 1), len), .len = len};
    }
    return rc;
}

/* Returns the number of a model. It becomes the current one, and the vectors of others are
 * dropped. */
static int know_model(struct db *db, const char *name, int64_t *ret, struct err *err)
{
    int64_t last;

    if (db_number(db, 0, ret, err, "SELECT id FROM model WHERE name = ?1", "t", name) == -1 ||
        db_number(db, 0, &last, err, "SELECT max(id) FROM model", "") == -1)
        return -1;
    if (*ret != 0 && *ret == last)
        return 0;
    *ret = last + 1;
    return db_run(db, err, "DELETE FROM model WHERE name = ?1", "t", name) == -1 ||
                   db_run(db, err, "DELETE FROM vector", "") == -1
               ? -1
               : db_run(db, err, "INSERT INTO model (id, name) VALUES (?1, ?2)", "it", *ret, name);
}

/* Stores the vectors of messages that still exist; the first vector of the embedding is the search
 * text's. */
static int keep(struct db *db, const struct chosen *chosen, const struct embedding *embedding,
                int64_t *ret_model, struct err *err)
{
    if (know_model(db, embedding->model, ret_model, err) == -1)
        return -1;
    for (size_t i = 0; i < chosen->count && i + 1 < embedding->count; i++) {
        const struct vector *vector = &embedding->vectors[i + 1];
        if (db_run(db, err,
                   "INSERT OR REPLACE INTO vector (message, model, scale, parts)"
                   " SELECT id, ?2, ?3, ?4 FROM message WHERE id = ?1",
                   "iidb", chosen->ids[i], *ret_model, (double)vector->scale, vector->parts,
                   embedding->parts) == -1)
            return -1;
    }
    return 0;
}

static int keep_all(struct db *db, const struct chosen *chosen, const struct embedding *embedding,
                    int64_t *ret_model, struct err *err)
{
    if (db_begin(db, err) == -1)
        return -1;
    if (keep(db, chosen, embedding, ret_model, err) == -1) {
        db_rollback(db);
        return -1;
    }
    return db_commit(db, err);
}

/* Counts the vectors of this model; those of another model do not count. */
static int count_of(struct db *db, const char *model, int64_t *ret, struct err *err)
{
    return db_number(db, 0, ret, err,
                     "SELECT id FROM model WHERE name = ?1 AND id = (SELECT max(id) FROM model)",
                     "t", model);
}

/* Runs the program; if its model has changed, also for messages that had a vector. */
static int make(struct search *search, const char *text, struct embedding *ret, int64_t *ret_model,
                struct err *err)
{
    const struct embed_text query = {.text = text, .len = strlen(text)};
    struct chosen *chosen = mem_alloc(sizeof *chosen);
    int64_t known = 0;

    int rc = choose(search->db, 0, chosen, err);
    if (rc == 0)
        rc = embed_run(search->embed_command, search->embed_host, &query, chosen->texts,
                       chosen->count, ret, err);
    if (rc == 0)
        rc = count_of(search->db, ret->model, &known, err);
    if (rc == 0 && known == 0 && chosen->count < CHOSEN_MAX) {
        embedding_free(ret);
        chosen_clear(chosen);
        rc = choose(search->db, -1, chosen, err);
        if (rc == 0)
            rc = embed_run(search->embed_command, search->embed_host, &query, chosen->texts,
                           chosen->count, ret, err);
    }
    if (rc == 0)
        rc = keep_all(search->db, chosen, ret, ret_model, err);
    chosen_clear(chosen);
    free(chosen);
    return rc;
}

static int rank(struct search *search, const struct embedding *embedding, int64_t model,
                const struct search_scope *scope, struct best *ret, struct err *err)
{
    const struct vector *question = embedding->vectors;
    struct db *db = search->db;
    int rc;

    if (question == NULL)
        return 0;
    _cleanup_reset_ sqlite3_stmt *stmt =
        db_query(db, err, "SELECT message, scale, parts FROM vector WHERE model = ?1", "i", model);
    while ((rc = db_step(db, stmt, err)) == 1) {
        int64_t id = sqlite3_column_int64(stmt, 0);
        if (!scope_has(scope, id) || db_len(stmt, 2) != embedding->parts)
            continue;
        double alike =
            vector_product(question->parts, sqlite3_column_blob(stmt, 2), embedding->parts) *
            (double)question->scale * sqlite3_column_double(stmt, 1);
        if (alike > 0)
            best_push(ret, id, alike);
    }
    best_sort(ret);
    return rc;
}

int search_rank_vectors(struct search *search, const char *text, const struct search_scope *scope,
                        struct best *ret, struct err *err)
{
    _cleanup_embedding_ struct embedding embedding = {.count = 0};
    struct err why = ERR_INIT;
    int64_t model = 0;

    if (search->embed_command == NULL)
        return 0;
    if (make(search, text, &embedding, &model, &why) != 0) {
        if (why.code == MAS_DAMAGED) {
            *err = why;
            return -1;
        }
        search_say(search, "the search uses words only, because embed_command failed: %s",
                   why.text);
        return 0;
    }
    return rank(search, &embedding, model, scope, ret, err);
}
