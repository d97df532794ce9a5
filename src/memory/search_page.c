/*
 * page_write() gives each new message of the page its number, sorts by that, and writes messages,
 * words, tags and segments. In the same transaction goes the position from which the next update
 * reads: the first message that was not finished, so that it is read again and replaced if it has
 * changed.
 */

#include "memory/search_page.h"

#include "base/json.h"

#include <math.h>

enum {
    PAGE_MESSAGES = 4096, /* messages that are read at once */
    PAGE_BYTES = 16 << 20,
};

struct index_message {
    int64_t number, query, time, trigger, id;
    enum store_role role;
    char *conversation, *agent, *tags, *text;
    size_t len;
};

struct segment {
    int64_t id, query, last, said, tools, words;
    bool changed;
};

/* ---- reading a page */

static bool is_boundary(const struct store_item *item)
{
    return item->key != NULL && strcmp(item->key, STORE_COMPACTION) == 0;
}

bool page_add(const struct store_item *item, void *arg)
{
    struct page_reader *reader = arg;
    size_t len = item->len;

    reader->last = item->number;
    if (item->state == MESSAGE_OPEN && reader->open == 0)
        reader->open = item->number;
    if (item->role == ROLE_NOTE) /* of the notes, only the boundaries */
        len = 0;
    if (item->text == NULL || (item->role == ROLE_NOTE && !is_boundary(item)))
        return true;
    if (item->role == ROLE_TOOL) {
        const char *newline = memchr(item->text, '\n', len);
        len = newline != NULL ? (size_t)(newline - item->text) : len;
        len = str_cut(item->text, len, SEARCH_TITLE_MAX);
    }
    len = str_cut(item->text, len, SEARCH_TEXT_MAX);
    if (len == 0 && item->role != ROLE_NOTE)
        return true;
    reader->items = mem_room(reader->items, reader->count, sizeof *reader->items);
    reader->items[reader->count++] = (struct index_message){
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
    reader->bytes += len;
    reader->more = reader->count >= PAGE_MESSAGES || reader->bytes >= PAGE_BYTES;
    return !reader->more;
}

void page_drop(struct page_reader *reader)
{
    for (size_t i = 0; i < reader->count; i++) {
        free(reader->items[i].conversation);
        free(reader->items[i].agent);
        free(reader->items[i].tags);
        free(reader->items[i].text);
    }
    reader->count = 0;
    reader->bytes = 0;
    reader->more = false;
}

void page_reader_free(struct page_reader *reader)
{
    page_drop(reader);
    free(reader->items);
    free(reader->segments);
}

/* ---- segments */

/* Returns the last segment of the query, as this update or an earlier one left it; NULL: there is
 * none. */
static int find_segment(struct page_reader *reader, int64_t query, struct segment **ret,
                        struct err *err)
{
    struct db *db = reader->search->db;

    for (size_t i = 0; i < reader->segment_count; i++) {
        if (reader->segments[i].query == query) {
            *ret = &reader->segments[i];
            return 0;
        }
    }
    reader->segments = mem_room(reader->segments, reader->segment_count, sizeof *reader->segments);
    struct segment *segment = &reader->segments[reader->segment_count++];
    *segment = (struct segment){.query = query};
    *ret = segment;
    _cleanup_reset_ sqlite3_stmt *stmt =
        db_query(db, err,
                 "SELECT id, last, said, tools, words, compacted"
                 " FROM sitting WHERE session = ?1 AND query = ?2 ORDER BY id DESC LIMIT 1",
                 "ii", reader->session, query);
    int rc = db_step(db, stmt, err);
    if (rc == 1) {
        if (sqlite3_column_int(stmt, 5) == 0)
            segment->id = sqlite3_column_int64(stmt, 0);
        segment->last = sqlite3_column_int64(stmt, 1);
        segment->said = sqlite3_column_int64(stmt, 2);
        segment->tools = sqlite3_column_int64(stmt, 3);
        segment->words = sqlite3_column_int64(stmt, 4);
        db_reset(stmt);
    }
    return rc == -1 ? -1 : 0;
}

static int save_segment(struct db *db, struct segment *segment, struct err *err)
{
    if (!segment->changed)
        return 0;
    segment->changed = false;
    return db_run(
        db, err, "UPDATE sitting SET last = ?2, said = ?3, tools = ?4, words = ?5 WHERE id = ?1",
        "iiiii", segment->id, segment->last, segment->said, segment->tools, segment->words);
}

static int open_segment(struct page_reader *reader, struct segment *segment,
                        const struct index_message *item, struct err *err)
{
    struct db *db = reader->search->db;

    if (save_segment(db, segment, err) == -1 ||
        db_run(db, err,
               "INSERT INTO sitting (session, query, conversation, agent, first, last, said, tools,"
               " words, compacted) VALUES (?1, ?2, ?3, ?4, ?5, ?5, 0, 0, 0, 0)",
               "iitti", reader->session, item->query, item->conversation, item->agent,
               item->time) == -1)
        return -1;
    *segment = (struct segment){
        .id = sqlite3_last_insert_rowid(db_handle(db)), .query = item->query, .last = item->time};
    return 0;
}

/* Ends the segment, as the agent has compacted its context: what was said so far is marked. */
static int end_segment(struct page_reader *reader, int64_t query, struct err *err)
{
    struct db *db = reader->search->db;
    struct segment *segment;

    if (find_segment(reader, query, &segment, err) == -1 || save_segment(db, segment, err) == -1)
        return -1;
    *segment = (struct segment){.query = query};
    return db_run(db, err, "UPDATE sitting SET compacted = 1 WHERE session = ?1 AND query = ?2",
                  "ii", reader->session, query);
}

static int length_of(size_t words)
{
    double length = log((double)words + 1) / log(LENGTH_STEP);
    return length < LENGTH_MAX ? (int)lround(length) : LENGTH_MAX;
}

/* Gives a message its number in the index. */
static int seat(struct page_reader *reader, struct index_message *item, struct err *err)
{
    struct segment *segment;
    bool is_tool = item->role == ROLE_TOOL;

    if (find_segment(reader, item->query, &segment, err) == -1)
        return -1;
    if ((segment->id == 0 || item->time - segment->last > SEARCH_SILENCE_MS ||
         segment->said >= PLACE_MAX || segment->tools >= PLACE_MAX) &&
        open_segment(reader, segment, item, err) == -1)
        return -1;
    size_t words = words_count(item->text, item->len);
    item->id = search_id(segment->id, is_tool ? segment->tools++ : segment->said++,
                         search_kind_of(item->role), length_of(words));
    segment->last = item->time > segment->last ? item->time : segment->last;
    segment->words += (int64_t)words;
    segment->changed = true;
    return 0;
}

/* ---- writing */

/* Stores KEY:VALUE tags; the tags that all messages have are implicit. */
static int add_tags(struct db *db, const struct index_message *item, struct err *err)
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

static int add_item(struct page_reader *reader, const struct index_message *item, struct err *err)
{
    struct db *db = reader->search->db;

    if (db_run(db, err,
               "INSERT INTO message (id, session, number, time, trigger, tags, text)"
               " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
               "iiiiitn", item->id, reader->session, item->number, item->time, item->trigger,
               item->tags, item->text, item->len) == -1 ||
        db_run(db, err, "INSERT INTO word (rowid, text) VALUES (?1, ?2)", "in", item->id,
               item->text, item->len) == -1)
        return -1;
    return add_tags(db, item, err);
}

/* Updates a message that was there already, perhaps unfinished. Returns 1 if it was not there. */
static int renew_item(struct page_reader *reader, const struct index_message *item, struct err *err)
{
    struct db *db = reader->search->db;
    _cleanup_reset_ sqlite3_stmt *stmt =
        db_query(db, err, "SELECT id, text FROM message WHERE session = ?1 AND number = ?2", "ii",
                 reader->session, item->number);
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

/* FTS5 writes entries in the order of their numbers fastest. */
static int compare_items(const void *a, const void *b)
{
    const struct index_message *x = a;
    const struct index_message *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

int page_write(struct page_reader *reader, struct err *err)
{
    struct db *db = reader->search->db;

    for (size_t i = 0; i < reader->count; i++) {
        struct index_message *item = &reader->items[i];
        if (item->role == ROLE_NOTE) {
            if (item->number > reader->seen && end_segment(reader, item->query, err) == -1)
                return -1;
            continue;
        }
        int rc = item->number <= reader->seen ? renew_item(reader, item, err) : 1;
        if (rc == -1 || (rc == 1 && seat(reader, item, err) == -1))
            return -1;
    }
    if (reader->count > 0)
        qsort(reader->items, reader->count, sizeof *reader->items, compare_items);
    for (size_t i = 0; i < reader->count; i++) {
        if (reader->items[i].id != 0 && add_item(reader, &reader->items[i], err) == -1)
            return -1;
    }
    for (size_t i = 0; i < reader->segment_count; i++) {
        if (save_segment(db, &reader->segments[i], err) == -1)
            return -1;
    }
    reader->written = reader->last > reader->seen ? reader->last : reader->seen;
    return db_run(db, err, "UPDATE session SET next = ?2, seen = ?3 WHERE id = ?1", "iii",
                  reader->session, reader->open != 0 ? reader->open : reader->written + 1,
                  reader->written);
}
