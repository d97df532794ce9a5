/*
 * Opens the index and makes it if it is missing. A damaged one, or one of another version, is
 * removed under the root's lock and made anew, unless its inode says that another process has done
 * so. One that cannot be written is used as it is; without any, this search has one in memory. A
 * session that cannot be removed from the index now, because others write, is removed by the next
 * search.
 */

#include "memory/search.h"

#include "memory/search_internal.h"

/* APPLICATION_ID is "mas" and the number of the kind of file; an index of another version is
 * rebuilt. */
enum { APPLICATION_ID = 0x6d617302, VERSION = 4, CACHE_KIB = 64 << 10, FORGET_WAIT_MS = 1000 };

static const char schema[] =
    "CREATE TABLE session ("
    " id INTEGER PRIMARY KEY,"
    " uuid TEXT NOT NULL UNIQUE,"
    " stamp TEXT NOT NULL," /* state of its files before they were read */
    " file INTEGER NOT NULL," /* inode of memory.db */
    " next INTEGER NOT NULL," /* the first message to read next, perhaps again */
    " seen INTEGER NOT NULL," /* the last one read */
    " project TEXT" /* path of the project that it works on, "" if it has none; NULL: not known */
    ") STRICT;"
    "CREATE TABLE sitting ("
    " id INTEGER PRIMARY KEY,"
    " session INTEGER NOT NULL,"
    " query INTEGER NOT NULL,"
    " conversation TEXT NOT NULL,"
    " agent TEXT NOT NULL,"
    " first INTEGER NOT NULL,"
    " last INTEGER NOT NULL,"
    " said INTEGER NOT NULL," /* prompts and answers */
    " tools INTEGER NOT NULL,"
    " words INTEGER NOT NULL,"
    " compacted INTEGER NOT NULL" /* 1: the agent has compacted its context since */
    ") STRICT;"
    "CREATE INDEX sitting_query ON sitting (session, query);"
    "CREATE TABLE message ("
    " id INTEGER PRIMARY KEY,"
    " session INTEGER NOT NULL,"
    " number INTEGER NOT NULL,"
    " time INTEGER NOT NULL,"
    " trigger INTEGER NOT NULL,"
    " tags TEXT NOT NULL,"
    " text TEXT NOT NULL,"
    " UNIQUE (session, number)"
    ") STRICT;"
    "CREATE TABLE tag ("
    " tag TEXT NOT NULL,"
    " message INTEGER NOT NULL,"
    " PRIMARY KEY (tag, message)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE model (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;"
    "CREATE TABLE vector ("
    " message INTEGER PRIMARY KEY,"
    " model INTEGER NOT NULL,"
    " scale REAL NOT NULL,"
    " parts BLOB NOT NULL"
    ") STRICT;"
    "CREATE VIRTUAL TABLE word USING fts5("
    " text, content = 'message', content_rowid = 'id', prefix = '3', columnsize = 0,"
    " tokenize = 'mas');";

static const enum store_role kinds[] = {
    [KIND_USER] = ROLE_USER, [KIND_AGENT] = ROLE_AGENT, [KIND_TOOL] = ROLE_TOOL};

enum store_role search_role(enum kind kind)
{
    return (size_t)kind < ARRAY_LEN(kinds) ? kinds[kind] : ROLE_NOTE;
}

enum kind search_kind_of(enum store_role role)
{
    return role == ROLE_USER ? KIND_USER : role == ROLE_AGENT ? KIND_AGENT : KIND_TOOL;
}

void search_say(struct search *search, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    va_list args;

    if (search->note != NULL)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    search->note = mem_dup(text);
}

const char *search_note(const struct search *search)
{
    return search->note;
}

/* ---- opening */

static int read_version(struct db *db, int64_t *ret, struct err *err)
{
    int64_t application;

    if (db_number(db, 0, &application, err, "PRAGMA application_id", "") == -1 ||
        db_number(db, 0, ret, err, "PRAGMA user_version", "") == -1)
        return -1;
    if (application != 0 && application != APPLICATION_ID)
        *ret = -1;
    return 0;
}

/* Creates the tables in an empty index. Returns 1 if the index has another version. */
static int settle(struct db *db, struct err *err)
{
    char mark[96];
    int64_t version = 0;

    if (read_version(db, &version, err) == -1)
        return -1;
    if (version != 0)
        return version != VERSION;
    (void)snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %d;",
                   APPLICATION_ID, VERSION);
    if (db_begin(db, err) == -1)
        return -1;
    /* another process may have created them meanwhile */
    if (read_version(db, &version, err) == -1 ||
        (version == 0 && (db_exec(db, schema, err) == -1 || db_exec(db, mark, err) == -1))) {
        db_rollback(db);
        return -1;
    }
    if (db_commit(db, err) == -1)
        return -1;
    return version != 0 && version != VERSION;
}

/* Returns 1 if the index has another version. */
static int set_up(struct db *db, struct err *err)
{
    char pragma[64];

    (void)snprintf(pragma, sizeof pragma, "PRAGMA cache_size = -%d", CACHE_KIB);
    (void)sqlite3_busy_timeout(db_handle(db), SEARCH_WAIT_MS);
    if (db_sync(db, false, err) == -1 || db_exec(db, pragma, err) == -1)
        return -1;
    return search_add_function(db, err) == -1 ? -1 : settle(db, err);
}

static ino_t file_now(const struct root *root)
{
    struct stat st;
    return fstatat(root->sessions, SEARCH_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_ino : 0;
}

static int open_index(struct search *search, struct err *err)
{
    _cleanup_db_ struct db *db = NULL;

    search->file = file_now(search->root);
    if (db_open(search->root->sessions, SEARCH_FILE, DB_CREATE, &db, err) == -1)
        return -1;
    if (search->file == 0)
        search->file = file_now(search->root);
    int rc = set_up(db, err);
    if (rc == 1)
        return err_set(err, MAS_DAMAGED, "cannot use '%s': it has another version", SEARCH_FILE);
    if (rc == -1)
        return -1;
    search->db = TAKE_PTR(db);
    return 0;
}

/* Removes a bad index, unless another process has done so: then the new one is good. */
static int remove_files(struct search *search, struct err *err)
{
    static const char *const names[] = {SEARCH_FILE, SEARCH_FILE "-wal", SEARCH_FILE "-shm",
                                        SEARCH_FILE "-journal"};
    _cleanup_close_ int lock = -1;

    if (root_lock(search->root, &lock, err) == -1)
        return -1;
    if (search->file != 0 && file_now(search->root) != search->file)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (unlinkat(search->root->sessions, names[i], 0) == -1 && errno != ENOENT)
            return err_errno(err, "cannot remove '%s'", names[i]);
    }
    return 0;
}

/* Uses the existing index if it cannot be written; if there is none, one in memory. */
static int open_unwritable(struct search *search, const struct err *reason, struct err *err)
{
    struct err why = *reason;
    _cleanup_db_ struct db *db = NULL;
    struct err ignored = ERR_INIT;
    int64_t version = 0;

    if (faccessat(search->root->sessions, ".", W_OK, AT_EACCESS) == -1)
        (void)err_errno(&why, "cannot write to '%s'", SEARCH_FILE);
    if (db_open(search->root->sessions, SEARCH_FILE, DB_READ, &db, &ignored) == 0 &&
        read_version(db, &version, &ignored) == 0 && version == VERSION) {
        search->fixed = true;
        search_say(search, "the newest messages may be missing: %s", why.text);
    } else {
        db_close(db);
        db = NULL;
        search->unkept = true;
        search_say(search, "the search index is in memory, for this search only: %s", why.text);
        if (db_open_memory(&db, err) == -1)
            return -1;
    }
    if (set_up(db, err) == -1)
        return -1;
    search->db = TAKE_PTR(db);
    return 0;
}

int search_remake(struct search *search, const char *why, struct err *err)
{
    search_say(search, "the search index was rebuilt: %s", why);
    db_close(search->db);
    search->db = NULL;
    if (search->alone[0] != '\0' || search->unkept)
        return err_set(err, MAS_DAMAGED, "cannot search in memory: %s", why);
    if (remove_files(search, err) == -1)
        return -1;
    return open_index(search, err);
}

int search_open(const struct root *root, const char *alone, struct search **ret, struct err *err)
{
    _cleanup_search_ struct search *search = mem_alloc(sizeof *search);
    struct err why = ERR_INIT;

    search->root = root;
    if (alone != NULL) {
        (void)snprintf(search->alone, sizeof search->alone, "%s", alone);
        if (db_open_memory(&search->db, err) == -1 || set_up(search->db, err) == -1)
            return -1;
    } else if (open_index(search, &why) == -1) {
        int rc = -1;
        if (why.code == MAS_DAMAGED)
            rc = search_remake(search, why.text, err);
        else if (why.code == MAS_FAILED)
            rc = open_unwritable(search, &why, err);
        else
            *err = why;
        if (rc == -1)
            return -1;
    }
    *ret = TAKE_PTR(search);
    return 0;
}

void search_close(struct search *search)
{
    if (search == NULL)
        return;
    free(search->embed_command);
    free(search->embed_host);
    db_close(search->db);
    free(search->note);
    free(search);
}

void search_closep(struct search **search)
{
    search_close(*search);
}

/* ---- removing sessions */

int search_drop(struct db *db, int64_t session, struct err *err)
{
    static const char *const steps[] = {
        ("INSERT INTO word (word, rowid, text)"
         " SELECT 'delete', id, text FROM message WHERE session = ?1 ORDER BY id"),
        "DELETE FROM tag WHERE message IN (SELECT id FROM message WHERE session = ?1)",
        "DELETE FROM vector WHERE message IN (SELECT id FROM message WHERE session = ?1)",
        "DELETE FROM message WHERE session = ?1",
        "DELETE FROM sitting WHERE session = ?1",
        "DELETE FROM session WHERE id = ?1",
    };
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (db_run(db, err, steps[i], "i", session) == -1)
            return -1;
    }
    return 0;
}

static int forget_all(struct db *db, const char *const *ids, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        int64_t session;
        if (db_number(db, 0, &session, err, "SELECT id FROM session WHERE uuid = ?1", "t",
                      ids[i]) == -1 ||
            (session != 0 && search_drop(db, session, err) == -1))
            return -1;
    }
    return 0;
}

int search_forget(const struct root *root, const char *const *ids, size_t count, struct err *err)
{
    struct search search = {.root = root};

    if (count == 0 || file_now(root) == 0)
        return 0;
    if (open_index(&search, err) == -1) /* the next search rebuilds a damaged index */
        return err->code == MAS_DAMAGED ? 0 : -1;
    (void)sqlite3_busy_timeout(db_handle(search.db), FORGET_WAIT_MS);
    int rc = db_begin(search.db, err);
    if (rc == 0 && (rc = forget_all(search.db, ids, count, err)) == 0)
        rc = db_commit(search.db, err);
    db_rollback(search.db);
    db_close(search.db);
    return rc == -1 && err->code == MAS_TIMEOUT ? 0 : rc; /* the next search does it */
}
