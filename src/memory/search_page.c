#include "memory/search_page.h"

#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE_MESSAGES = 4096, /* that are read at once */
    PAGE_BYTES = 16 << 20,
};

struct item {
    int64_t number, query, time, trigger, id;
    enum store_role role;
    char *conversation, *agent, *tags, *text;
    size_t len;
};

struct sitting {
    int64_t id, query, last, said, tools, words;
    bool changed;
};

/* ---- reading a page */

bool page_take(const struct store_item *item, void *arg)
{
    struct filling *filling = arg;
    size_t len = item->len;

    filling->last = item->number;
    if (item->state == MESSAGE_OPEN && filling->open == 0)
        filling->open = item->number;
    if (item->text == NULL)
        return true;
    if (item->role == ROLE_TOOL) {
        const char *newline = memchr(item->text, '\n', len);
        len = newline != NULL ? (size_t)(newline - item->text) : len;
        len = str_cut(item->text, len, SEARCH_TITLE_MAX);
    }
    len = str_cut(item->text, len, SEARCH_TEXT_MAX);
    if (len == 0)
        return true;
    filling->items = mem_room(filling->items, filling->count, sizeof *filling->items);
    filling->items[filling->count++] = (struct item){
        .number = item->number,
        .query = item->query,
        .time = item->time_ms,
        .trigger = item->trigger,
        .role = item->role,
        .conversation = mem_dup(item->conversation),
        .agent = mem_dup(item->agent),
        .tags = mem_dup(item->tags),
        .text = mem_dupn(item->text, len),
        .len = len,
    };
    filling->bytes += len;
    filling->more = filling->count >= PAGE_MESSAGES || filling->bytes >= PAGE_BYTES;
    return !filling->more;
}

void page_drop(struct filling *filling)
{
    for (size_t i = 0; i < filling->count; i++) {
        free(filling->items[i].conversation);
        free(filling->items[i].agent);
        free(filling->items[i].tags);
        free(filling->items[i].text);
    }
    filling->count = 0;
    filling->bytes = 0;
    filling->more = false;
}

void filling_free(struct filling *filling)
{
    page_drop(filling);
    free(filling->items);
    free(filling->sittings);
}

/* ---- sittings */

/* The last one of the query, as this run or an earlier one left it; NULL: there is none. */
static int find_sitting(struct filling *filling, int64_t query, struct sitting **ret,
                        struct err *err)
{
    struct db *db = filling->search->db;

    for (size_t i = 0; i < filling->sitting_count; i++) {
        if (filling->sittings[i].query == query) {
            *ret = &filling->sittings[i];
            return 0;
        }
    }
    filling->sittings =
        mem_room(filling->sittings, filling->sitting_count, sizeof *filling->sittings);
    struct sitting *sitting = &filling->sittings[filling->sitting_count++];
    *sitting = (struct sitting){.query = query};
    *ret = sitting;
    sqlite3_stmt *stmt = db_prepare(db,
                                    "SELECT id, last, said, tools, words FROM sitting"
                                    " WHERE session = ?1 AND query = ?2 ORDER BY id DESC LIMIT 1",
                                    err);
    if (stmt == NULL)
        return -1;
    db_bind(stmt, "ii", filling->session, query);
    int rc = db_step(db, stmt, err);
    if (rc == 1) {
        sitting->id = sqlite3_column_int64(stmt, 0);
        sitting->last = sqlite3_column_int64(stmt, 1);
        sitting->said = sqlite3_column_int64(stmt, 2);
        sitting->tools = sqlite3_column_int64(stmt, 3);
        sitting->words = sqlite3_column_int64(stmt, 4);
        db_reset(stmt);
    }
    return rc == -1 ? -1 : 0;
}

static int save_sitting(struct db *db, struct sitting *sitting, struct err *err)
{
    if (!sitting->changed)
        return 0;
    sitting->changed = false;
    return db_run(
        db, err, "UPDATE sitting SET last = ?2, said = ?3, tools = ?4, words = ?5 WHERE id = ?1",
        "iiiii", sitting->id, sitting->last, sitting->said, sitting->tools, sitting->words);
}

static int open_sitting(struct filling *filling, struct sitting *sitting, const struct item *item,
                        struct err *err)
{
    struct db *db = filling->search->db;

    if (save_sitting(db, sitting, err) == -1 ||
        db_run(db, err,
               "INSERT INTO sitting (session, query, conversation, agent, first, last, said, tools,"
               " words) VALUES (?1, ?2, ?3, ?4, ?5, ?5, 0, 0, 0)",
               "iitti", filling->session, item->query, item->conversation, item->agent,
               item->time) == -1)
        return -1;
    *sitting = (struct sitting){
        .id = sqlite3_last_insert_rowid(db_handle(db)), .query = item->query, .last = item->time};
    return 0;
}

static int length_of(size_t words)
{
    double length = log((double)words + 1) / log(LENGTH_STEP);
    return length < LENGTH_MAX ? (int)lround(length) : LENGTH_MAX;
}

/* Gives a message its number in the index. */
static int seat(struct filling *filling, struct item *item, struct err *err)
{
    struct sitting *sitting;
    bool is_tool = item->role == ROLE_TOOL;

    if (find_sitting(filling, item->query, &sitting, err) == -1)
        return -1;
    if ((sitting->id == 0 || item->time - sitting->last > SEARCH_SILENCE_MS ||
         sitting->said >= PLACE_MAX || sitting->tools >= PLACE_MAX) &&
        open_sitting(filling, sitting, item, err) == -1)
        return -1;
    size_t words = words_count(item->text, item->len);
    item->id = search_id(sitting->id, is_tool ? sitting->tools++ : sitting->said++,
                         search_kind_of(item->role), length_of(words));
    sitting->last = item->time > sitting->last ? item->time : sitting->last;
    sitting->words += (int64_t)words;
    sitting->changed = true;
    return 0;
}

/* ---- writing */

/* KEY:VALUE each; those that all messages have are known. */
static int add_tags(struct db *db, const struct item *item, struct err *err)
{
    _cleanup_json_ struct json *tags = NULL;
    struct err ignored = ERR_INIT;

    if (json_parse(item->tags, strlen(item->tags), STORE_TAGS_MAX * STORE_TAG_MAX * 8, &tags,
                   &ignored) == -1)
        return 0;
    for (const struct json *tag = json_first(tags); tag != NULL; tag = json_next(tag)) {
        const char *text = json_text(tag);
        if (text == NULL || str_starts(text, "session:") || str_starts(text, "agent:"))
            continue;
        if (db_run(db, err, "INSERT OR IGNORE INTO tag (tag, message) VALUES (?1, ?2)", "ti", text,
                   item->id) == -1)
            return -1;
    }
    return 0;
}

static int add_item(struct filling *filling, const struct item *item, struct err *err)
{
    struct db *db = filling->search->db;

    if (db_run(db, err,
               "INSERT INTO message (id, session, number, time, trigger, tags, text)"
               " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
               "iiiiitn", item->id, filling->session, item->number, item->time, item->trigger,
               item->tags, item->text, item->len) == -1 ||
        db_run(db, err, "INSERT INTO word (rowid, text) VALUES (?1, ?2)", "in", item->id,
               item->text, item->len) == -1)
        return -1;
    return add_tags(db, item, err);
}

/* A message that was there already, perhaps while it was not finished. 1: it was not there. */
static int renew_item(struct filling *filling, const struct item *item, struct err *err)
{
    struct db *db = filling->search->db;
    sqlite3_stmt *stmt =
        db_prepare(db, "SELECT id, text FROM message WHERE session = ?1 AND number = ?2", err);

    if (stmt == NULL)
        return -1;
    db_bind(stmt, "ii", filling->session, item->number);
    int rc = db_step(db, stmt, err);
    if (rc != 1)
        return rc == 0 ? 1 : -1;
    int64_t id = sqlite3_column_int64(stmt, 0);
    size_t len = db_len(stmt, 1);
    _cleanup_free_ char *old = mem_dupn(db_text(stmt, 1), len);
    db_reset(stmt);
    if (len == item->len && memcmp(old, item->text, len) == 0)
        return 0;
    if (db_run(db, err, "INSERT INTO word (word, rowid, text) VALUES ('delete', ?1, ?2)", "in", id,
               old, len) == -1 ||
        db_run(db, err, "UPDATE message SET text = ?2 WHERE id = ?1", "in", id, item->text,
               item->len) == -1 ||
        db_run(db, err, "DELETE FROM vector WHERE message = ?1", "i", id) == -1)
        return -1;
    return db_run(db, err, "INSERT INTO word (rowid, text) VALUES (?1, ?2)", "in", id, item->text,
                  item->len);
}

/* FTS5 writes what comes in the order of its numbers in one go. */
static int compare_items(const void *a, const void *b)
{
    const struct item *x = a;
    const struct item *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

int page_write(struct filling *filling, struct err *err)
{
    struct db *db = filling->search->db;

    for (size_t i = 0; i < filling->count; i++) {
        struct item *item = &filling->items[i];
        int rc = item->number <= filling->seen ? renew_item(filling, item, err) : 1;
        if (rc == -1 || (rc == 1 && seat(filling, item, err) == -1))
            return -1;
    }
    if (filling->count > 0)
        qsort(filling->items, filling->count, sizeof *filling->items, compare_items);
    for (size_t i = 0; i < filling->count; i++) {
        if (filling->items[i].id != 0 && add_item(filling, &filling->items[i], err) == -1)
            return -1;
    }
    for (size_t i = 0; i < filling->sitting_count; i++) {
        if (save_sitting(db, &filling->sittings[i], err) == -1)
            return -1;
    }
    filling->written = filling->last > filling->seen ? filling->last : filling->seen;
    return db_run(db, err, "UPDATE session SET next = ?2, seen = ?3 WHERE id = ?1", "iii",
                  filling->session, filling->open != 0 ? filling->open : filling->written + 1,
                  filling->written);
}
