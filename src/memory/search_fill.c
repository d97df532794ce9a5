/* How the index is brought up to date: which sessions have changed is told by the state of their
 * files alone; of those what is new is read, and what was not finished when it was read last. */
#include "base/path.h"
#include "core/session.h"
#include "core/workspace.h"
#include "memory/search_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    STAMP_MAX = 320,
    UNSETTLED_MS = 100, /* so short after a change the next one may leave the same times */
    PAGE_MESSAGES = 4096, /* that are read at once */
    PAGE_BYTES = 16 << 20,
    BATCH = 20000, /* messages of one transaction */
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

/* One session while it is read. */
struct filling {
    struct search *search;
    const char *uuid;
    int64_t session;
    int64_t seen; /* the last message that was read at an earlier time */
    int64_t last, open; /* that was read now; the first that is not finished, 0 none */
    int64_t written; /* as `seen` is in the index now */
    struct item *items; /* a page of them */
    size_t count, bytes;
    bool more; /* the page was cut */
    struct sitting *sittings;
    size_t sitting_count;
};

/* What the whole run shares. */
struct run {
    struct search *search;
    int wait_ms;
    bool begun; /* a transaction */
    bool busy; /* somebody else catches up */
    size_t written; /* messages in it */
};

/* ---- which sessions have changed */

static void add_stamp(const struct root *root, const char *id, const char *name, bool settles,
                      char stamp[STAMP_MAX], ino_t *ret_file)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", id, name);
    size_t at = strlen(stamp);
    struct timespec now;
    struct stat st;

    if (fstatat(root->sessions, path, &st, AT_SYMLINK_NOFOLLOW) == -1) {
        (void)snprintf(stamp + at, STAMP_MAX - at, "- ");
        return;
    }
    *ret_file = st.st_ino;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    int64_t age = (int64_t)(now.tv_sec - st.st_mtim.tv_sec) * 1000 +
                  (now.tv_nsec - st.st_mtim.tv_nsec) / 1000000;
    (void)snprintf(stamp + at, STAMP_MAX - at, "%ju.%jd.%jd.%ld%s ", (uintmax_t)st.st_ino,
                   (intmax_t)st.st_size, (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
                   settles && age < UNSETTLED_MS ? "?" : "");
}

/* false where the session has no memory. */
static bool take_stamp(const struct root *root, const char *id, char stamp[STAMP_MAX],
                       ino_t *ret_file)
{
    ino_t file = 0;
    ino_t other = 0;

    stamp[0] = '\0';
    add_stamp(root, id, STORE_FILE, true, stamp, &file);
    add_stamp(root, id, STORE_FILE "-wal", true, stamp, &other);
    add_stamp(root, id, WORKSPACE_SESSION, false, stamp, &other);
    *ret_file = file;
    return file != 0;
}

struct known {
    char *uuid, *stamp;
    bool there;
};

struct knowns {
    struct known *items; /* sorted */
    size_t count;
};

static void knowns_free(struct knowns *knowns)
{
    for (size_t i = 0; i < knowns->count; i++) {
        free(knowns->items[i].uuid);
        free(knowns->items[i].stamp);
    }
    free(knowns->items);
}

static int knowns_read(struct db *db, struct knowns *ret, struct err *err)
{
    sqlite3_stmt *stmt = db_prepare(db, "SELECT uuid, stamp FROM session ORDER BY uuid", err);
    int rc;

    if (stmt == NULL)
        return -1;
    while ((rc = db_step(db, stmt, err)) == 1) {
        ret->items = mem_room(ret->items, ret->count, sizeof *ret->items);
        ret->items[ret->count++] =
            (struct known){.uuid = mem_dup(db_text(stmt, 0)), .stamp = mem_dup(db_text(stmt, 1))};
    }
    return rc;
}

static int compare_known(const void *key, const void *item)
{
    return strcmp(key, ((const struct known *)item)->uuid);
}

/* true where it is to be read. What is not settled is never equal. */
static bool has_changed(struct knowns *knowns, const char *id, const char *stamp)
{
    struct known *known = knowns->count == 0 ? NULL
                                             : bsearch(id, knowns->items, knowns->count,
                                                       sizeof *knowns->items, compare_known);
    if (known != NULL)
        known->there = true;
    return known == NULL || strchr(known->stamp, '?') != NULL || strcmp(known->stamp, stamp) != 0;
}

/* ---- reading a page */

/* At most `max` bytes, not in the middle of a character. */
static size_t cut_text(const char *text, size_t len, size_t max)
{
    if (len <= max)
        return len;
    while (max > 0 && ((unsigned char)text[max] & 0xC0) == 0x80)
        max--;
    return max;
}

static bool take_item(const struct store_item *item, void *arg)
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
        len = cut_text(item->text, len, SEARCH_TITLE_MAX);
    }
    len = cut_text(item->text, len, SEARCH_TEXT_MAX);
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

static void drop_page(struct filling *filling)
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

static void filling_free(struct filling *filling)
{
    drop_page(filling);
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

static int write_page(struct filling *filling, struct err *err)
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

/* ---- transactions */

/* 1: somebody else has it. */
static int begin(struct run *run, struct err *err)
{
    struct db *db = run->search->db;
    struct err why = ERR_INIT;

    if (run->begun)
        return 0;
    if (run->busy)
        return 1;
    (void)sqlite3_busy_timeout(db_handle(db), run->wait_ms);
    int rc = db_begin(db, &why);
    (void)sqlite3_busy_timeout(db_handle(db), SEARCH_WAIT_MS);
    run->begun = rc == 0;
    run->busy = rc == -1 && why.code == MAS_TIMEOUT;
    if (rc == -1 && !run->busy)
        *err = why;
    return run->busy ? 1 : rc;
}

static int end(struct run *run, int rc, struct err *err)
{
    if (!run->begun)
        return rc;
    run->begun = false;
    run->written = 0;
    if (rc == 0)
        return db_commit(run->search->db, err);
    db_rollback(run->search->db);
    return rc;
}

/* ---- one session */

/* What the index knows of it, under the write lock. 1: another run has just read it. */
static int load(struct filling *filling, const char *stamp, ino_t file, int64_t *ret_next,
                struct err *err)
{
    struct db *db = filling->search->db;
    sqlite3_stmt *stmt =
        db_prepare(db, "SELECT id, stamp, file, next, seen FROM session WHERE uuid = ?1", err);
    bool same_file = true;

    if (stmt == NULL)
        return -1;
    db_bind(stmt, "t", filling->uuid);
    int rc = db_step(db, stmt, err);
    if (rc == -1)
        return -1;
    *ret_next = 1;
    if (rc == 1) {
        bool is_read = strcmp(db_text(stmt, 1), stamp) == 0 && strchr(stamp, '?') == NULL;
        filling->session = sqlite3_column_int64(stmt, 0);
        same_file = sqlite3_column_int64(stmt, 2) == (int64_t)file;
        *ret_next = sqlite3_column_int64(stmt, 3);
        filling->seen = sqlite3_column_int64(stmt, 4);
        db_reset(stmt);
        if (is_read)
            return 1;
    }
    if (!same_file) { /* it was set aside, or restored: other messages have these numbers */
        if (search_drop(db, filling->session, err) == -1)
            return -1;
        filling->session = 0;
        filling->seen = 0;
        *ret_next = 1;
    }
    if (filling->session != 0)
        return 0;
    if (db_run(db, err,
               "INSERT INTO session (uuid, stamp, file, next, seen) VALUES (?1, '?', ?2, 1, 0)",
               "ti", filling->uuid, (int64_t)file) == -1)
        return -1;
    filling->session = sqlite3_last_insert_rowid(db_handle(db));
    return 0;
}

/* Whether its messages may be in the index of the root. One that does not say so is private. */
static bool is_private(const struct root *root, int dir, const char *id, bool *ret_known)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    struct err ignored = ERR_INIT;

    *ret_known = session_load(root, dir, id, &session, &ignored) == 0;
    return !*ret_known || session.private;
}

/* Keeps no message of it, but that it was looked at. */
static int fill_private(struct filling *filling, ino_t file, struct err *err)
{
    struct db *db = filling->search->db;

    if (filling->session != 0 && search_drop(db, filling->session, err) == -1)
        return -1;
    return db_run(db, err,
                  "INSERT INTO session (uuid, stamp, file, next, seen) VALUES (?1, '?', ?2, 1, 0)",
                  "ti", filling->uuid, (int64_t)file);
}

/* Commits when enough was written, and goes on. 1: others have gone on with this session. */
static int breathe(struct run *run, struct filling *filling, struct err *err)
{
    int64_t seen;

    run->written += filling->count;
    if (run->written < BATCH)
        return 0;
    if (end(run, 0, err) == -1)
        return -1;
    int rc = begin(run, err);
    if (rc != 0)
        return rc;
    if (db_number(run->search->db, -1, &seen, err, "SELECT seen FROM session WHERE id = ?1", "i",
                  filling->session) == -1)
        return -1;
    return seen != filling->written;
}

/* Reads page by page, so that no writer's log grows because of it. */
static int fill_pages(struct run *run, struct filling *filling, struct store *store, int64_t next,
                      struct err *err)
{
    struct store_filter filter = {.roles = SEARCH_ROLES};

    filling->last = next - 1;
    do {
        drop_page(filling);
        filter.after = filling->last;
        struct err why = ERR_INIT;
        if (store_read(store, &filter, take_item, filling, &why) == -1) {
            search_say(filling->search, "not all of session '%s' is searched: %s", filling->uuid,
                       why.text);
            return 0;
        }
        if (write_page(filling, err) == -1)
            return -1;
        int rc = breathe(run, filling, err);
        if (rc != 0)
            return rc;
    } while (filling->more);
    return 0;
}

static int fill_open(struct run *run, struct filling *filling, int dir, const char *stamp,
                     ino_t file, struct err *err)
{
    _cleanup_store_ struct store *store = NULL;
    struct err why = ERR_INIT;
    int64_t next = 1;
    bool known = true;

    int rc = load(filling, stamp, file, &next, err);
    if (rc != 0)
        return rc == 1 ? 0 : -1;
    if (run->search->alone[0] == '\0' &&
        is_private(run->search->root, dir, filling->uuid, &known)) {
        rc = fill_private(filling, file, err);
        if (rc == -1 || !known)
            return rc;
    } else if (store_open(dir, filling->uuid, NULL, false, &store, &why) == -1) {
        search_say(filling->search, "session '%s' is not searched: %s", filling->uuid, why.text);
        if (why.code != MAS_DAMAGED)
            return 0;
    } else if ((rc = fill_pages(run, filling, store, next, err)) != 0) {
        return rc == 1 && !run->busy ? 0 : rc;
    }
    return db_run(run->search->db, err, "UPDATE session SET stamp = ?2 WHERE uuid = ?1", "tt",
                  filling->uuid, stamp);
}

static int fill_session(struct run *run, const char *id, const char *stamp, ino_t file,
                        struct err *err)
{
    struct filling filling = {.search = run->search, .uuid = id};
    _cleanup_close_ int dir = workspace_open(run->search->root, id);

    if (dir == -1)
        return 0; /* it is being removed, or cannot be read: the next search looks again */
    int rc = begin(run, err);
    if (rc == 0)
        rc = fill_open(run, &filling, dir, stamp, file, err);
    filling_free(&filling);
    return rc;
}

/* ---- all of them */

static int drop_gone(struct run *run, const struct knowns *knowns, struct err *err)
{
    for (size_t i = 0; i < knowns->count; i++) {
        const char *uuid = knowns->items[i].uuid;
        int64_t session;
        if (knowns->items[i].there)
            continue;
        int rc = begin(run, err);
        if (rc != 0)
            return rc;
        if (db_number(run->search->db, 0, &session, err, "SELECT id FROM session WHERE uuid = ?1",
                      "t", uuid) == -1 ||
            (session != 0 && search_drop(run->search->db, session, err) == -1))
            return -1;
    }
    return 0;
}

static int fill_all(struct run *run, struct err *err)
{
    const struct root *root = run->search->root;
    _cleanup_strv_ char **names = NULL;
    struct knowns knowns = {.count = 0};
    char stamp[STAMP_MAX];
    ino_t file;

    if (run->search->alone[0] != '\0') {
        strv_push(&names, run->search->alone);
    } else {
        struct err why = ERR_INIT;
        if (path_list(root->sessions, &names, &why) == -1)
            return err_set(err, MAS_FAILED, "cannot search: %s", why.text);
    }
    int rc = knowns_read(run->search->db, &knowns, err);
    for (char **id = names; rc == 0 && id != NULL && *id != NULL; id++) {
        if (id_is_valid(*id) && take_stamp(root, *id, stamp, &file) &&
            has_changed(&knowns, *id, stamp))
            rc = fill_session(run, *id, stamp, file, err);
    }
    if (rc == 0)
        rc = drop_gone(run, &knowns, err);
    knowns_free(&knowns);
    return rc;
}

static int catch_up(struct search *search, int wait_ms, struct err *err)
{
    struct run run = {.search = search, .wait_ms = wait_ms};

    int rc = fill_all(&run, err);
    if (rc == 1) {
        search_say(search, "another search brings the index up to date: "
                           "what was said last may be missing");
        rc = 0;
    }
    return end(&run, rc, err);
}

int search_catch_up(struct search *search, int wait_ms, struct err *err)
{
    struct err why = ERR_INIT;

    if (catch_up(search, wait_ms, &why) == 0)
        return 0;
    if (why.code == MAS_DAMAGED && search->alone[0] == '\0' &&
        search_remake(search, why.text, err) == 0)
        return catch_up(search, wait_ms, err);
    if (err->code == MAS_OK || why.code != MAS_DAMAGED)
        *err = why;
    return -1;
}
