/*
 * Updates the index. The state of their files alone tells which sessions have changed; one that was
 * written just now counts as changed next time, too. Of those, mas reads new messages and those
 * that were unfinished at the last reading, page by page, in transactions of a limited size. Where
 * another process updates it, or there is no more time, what is there is searched, and the user is
 * told.
 */

#include "base/time.h"
#include "memory/search_page.h"
#include "os/path.h"
#include "store/session.h"
#include "store/team_file.h"
#include "store/workspace.h"

enum {
    STAMP_MAX = 320,
    /* within this time after a change, the next one may leave the same timestamps */
    UNSETTLED_MS = 100,
    BATCH = 20000, /* messages in one transaction */
};

/* State of the whole update. */
struct search_update {
    struct search *search;
    int wait_ms;
    bool begun; /* a transaction is open */
    bool busy; /* another process updates the index */
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

/* Returns false if the session has no memory. */
static bool read_stamp(const struct root *root, const char *id, char stamp[STAMP_MAX],
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
    _cleanup_reset_ sqlite3_stmt *stmt =
        db_query(db, err, "SELECT uuid, stamp FROM session ORDER BY uuid", "");
    int rc;

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

/* Returns true if the session must be read. An unsettled stamp never matches. */
static bool has_changed(struct knowns *knowns, const char *id, const char *stamp)
{
    struct known *known = knowns->count == 0 ? NULL
                                             : bsearch(id, knowns->items, knowns->count,
                                                       sizeof *knowns->items, compare_known);
    if (known != NULL)
        known->there = true;
    return known == NULL || strchr(known->stamp, '?') != NULL || strcmp(known->stamp, stamp) != 0;
}

/* ---- transactions */

/* Returns 1 if another process holds the lock. */
static int begin(struct search_update *update, struct err *err)
{
    struct db *db = update->search->db;
    struct err why = ERR_INIT;

    if (update->begun)
        return 0;
    if (update->busy)
        return 1;
    (void)sqlite3_busy_timeout(db_handle(db), update->wait_ms);
    int rc = db_begin(db, &why);
    (void)sqlite3_busy_timeout(db_handle(db), SEARCH_WAIT_MS);
    update->begun = rc == 0;
    update->busy = rc == -1 && why.code == MAS_TIMEOUT;
    if (rc == -1 && !update->busy)
        *err = why;
    return update->busy ? 1 : rc;
}

static int end(struct search_update *update, int rc, struct err *err)
{
    if (!update->begun)
        return rc;
    update->begun = false;
    update->written = 0;
    if (rc == 0)
        return db_commit(update->search->db, err);
    db_rollback(update->search->db);
    return rc;
}

/* ---- one session */

/* Reads the index's data about the session, under the write lock. Returns 1 if another update has
 * just read it. */
static int load(struct page_reader *reader, const char *stamp, ino_t file, int64_t *ret_next,
                struct err *err)
{
    struct db *db = reader->search->db;
    _cleanup_reset_ sqlite3_stmt *stmt =
        db_query(db, err, "SELECT id, stamp, file, next, seen FROM session WHERE uuid = ?1", "t",
                 reader->uuid);
    bool same_file = true;

    int rc = db_step(db, stmt, err);
    if (rc == -1)
        return -1;
    *ret_next = 1;
    if (rc == 1) {
        bool is_read = strcmp(db_text(stmt, 1), stamp) == 0 && strchr(stamp, '?') == NULL;
        reader->session = sqlite3_column_int64(stmt, 0);
        same_file = sqlite3_column_int64(stmt, 2) == (int64_t)file;
        *ret_next = sqlite3_column_int64(stmt, 3);
        reader->seen = sqlite3_column_int64(stmt, 4);
        db_reset(stmt);
        if (is_read)
            return 1;
    }
    if (!same_file) { /* it was set aside or restored: the numbers belong to other messages */
        if (search_drop(db, reader->session, err) == -1)
            return -1;
        reader->session = 0;
        reader->seen = 0;
        *ret_next = 1;
    }
    if (reader->session != 0)
        return 0;
    if (db_run(db, err,
               "INSERT INTO session (uuid, stamp, file, next, seen) VALUES (?1, '?', ?2, 1, 0)",
               "ti", reader->uuid, (int64_t)file) == -1)
        return -1;
    reader->session = sqlite3_last_insert_rowid(db_handle(db));
    return 0;
}

/* Returns whether its messages must stay out of the root's index. A session of unknown status
 * counts as private. */
static bool is_private(const struct root *root, int dir, const char *id, bool *ret_known)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    struct err ignored = ERR_INIT;

    *ret_known = session_load(root, dir, id, &session, &ignored) == 0;
    return !*ret_known || session.private;
}

/* Records that the session was read, but none of its messages. */
static int fill_private(struct page_reader *reader, ino_t file, struct err *err)
{
    struct db *db = reader->search->db;

    if (reader->session != 0 && search_drop(db, reader->session, err) == -1)
        return -1;
    return db_run(db, err,
                  "INSERT INTO session (uuid, stamp, file, next, seen) VALUES (?1, '?', ?2, 1, 0)",
                  "ti", reader->uuid, (int64_t)file);
}

static bool is_late(const struct search_update *update)
{
    return update->search->until_ms != 0 && time_monotonic_ms() >= update->search->until_ms;
}

/* Commits if enough was written, and continues. Returns 1 if another process has continued with
 * this session, or at the deadline. */
static int commit_batch(struct search_update *update, struct page_reader *reader, struct err *err)
{
    int64_t seen;

    update->written += reader->count;
    update->busy = is_late(update);
    if (update->written < BATCH && !update->busy)
        return 0;
    if (end(update, 0, err) == -1)
        return -1;
    int rc = begin(update, err);
    if (rc != 0)
        return rc;
    if (db_number(update->search->db, -1, &seen, err, "SELECT seen FROM session WHERE id = ?1", "i",
                  reader->session) == -1)
        return -1;
    return seen != reader->written;
}

/* Reads page by page, so that no writer's log grows because of a long read. */
static int fill_pages(struct search_update *update, struct page_reader *reader, struct store *store,
                      int64_t next, struct err *err)
{
    struct store_filter filter = {.roles = SEARCH_ROLES | 1 << ROLE_NOTE};

    reader->last = next - 1;
    do {
        page_drop(reader);
        filter.after = reader->last;
        struct err why = ERR_INIT;
        if (store_read(store, &filter, page_add, reader, &why) == -1) {
            search_say(reader->search, "some messages of session '%s' are not searched: %s",
                       reader->uuid, why.text);
            return 0;
        }
        if (page_write(reader, err) == -1)
            return -1;
        int rc = commit_batch(update, reader, err);
        if (rc != 0)
            return rc;
    } while (reader->more);
    return 0;
}

static int fill_open(struct search_update *update, struct page_reader *reader, int dir,
                     const char *stamp, ino_t file, struct err *err)
{
    _cleanup_store_ struct store *store = NULL;
    struct err why = ERR_INIT;
    int64_t next = 1;
    bool known = true;

    int rc = load(reader, stamp, file, &next, err);
    if (rc != 0)
        return rc == 1 ? 0 : -1;
    if (update->search->alone[0] == '\0' &&
        is_private(update->search->root, dir, reader->uuid, &known)) {
        rc = fill_private(reader, file, err);
        if (rc == -1 || !known)
            return rc;
    } else if (store_open(dir, reader->uuid, NULL, false, &store, &why) == -1) {
        search_say(reader->search, "session '%s' is not searched: %s", reader->uuid, why.text);
        if (why.code != MAS_DAMAGED)
            return 0;
    } else if ((rc = fill_pages(update, reader, store, next, err)) != 0) {
        return rc == 1 && !update->busy ? 0 : rc;
    }
    _cleanup_team_ struct team team = TEAM_INIT;
    bool has_team = team_file_load(dir, &team, &why) == 0;
    return db_run(
        update->search->db, err, "UPDATE session SET stamp = ?2, project = ?3 WHERE uuid = ?1",
        "ttt", reader->uuid, stamp, has_team && team.project.path == NULL ? "" : team.project.path);
}

static int fill_session(struct search_update *update, const char *id, const char *stamp, ino_t file,
                        struct err *err)
{
    struct page_reader reader = {.search = update->search, .uuid = id};
    _cleanup_close_ int dir = workspace_open(update->search->root, id);

    if (dir == -1)
        return 0; /* it is being removed or unreadable: the next search tries again */
    int rc = begin(update, err);
    if (rc == 0)
        rc = fill_open(update, &reader, dir, stamp, file, err);
    page_reader_free(&reader);
    return rc;
}

/* ---- all sessions */

static int drop_gone(struct search_update *update, const struct knowns *knowns, struct err *err)
{
    for (size_t i = 0; i < knowns->count; i++) {
        const char *uuid = knowns->items[i].uuid;
        int64_t session;
        if (knowns->items[i].there)
            continue;
        int rc = begin(update, err);
        if (rc != 0)
            return rc;
        if (db_number(update->search->db, 0, &session, err,
                      "SELECT id FROM session WHERE uuid = ?1", "t", uuid) == -1 ||
            (session != 0 && search_drop(update->search->db, session, err) == -1))
            return -1;
    }
    return 0;
}

static int fill_all(struct search_update *update, struct err *err)
{
    const struct root *root = update->search->root;
    _cleanup_strv_ char **names = NULL;
    struct knowns knowns = {.count = 0};
    char stamp[STAMP_MAX];
    ino_t file;

    if (update->search->alone[0] != '\0') {
        strv_push(&names, update->search->alone);
    } else {
        struct err why = ERR_INIT;
        if (path_list(root->sessions, &names, &why) == -1)
            return err_set(err, MAS_FAILED, "cannot search: %s", why.text);
    }
    int rc = knowns_read(update->search->db, &knowns, err);
    for (char **id = names; rc == 0 && id != NULL && *id != NULL; id++) {
        if (is_late(update))
            rc = 1;
        else if (id_is_valid(*id) && read_stamp(root, *id, stamp, &file) &&
                 has_changed(&knowns, *id, stamp))
            rc = fill_session(update, *id, stamp, file, err);
    }
    if (rc == 0)
        rc = drop_gone(update, &knowns, err);
    knowns_free(&knowns);
    return rc;
}

static int catch_up(struct search *search, int wait_ms, struct err *err)
{
    struct search_update update = {.search = search, .wait_ms = wait_ms};

    int rc = fill_all(&update, err);
    if (rc == 1) {
        search_say(search, "%s: the newest messages may be missing",
                   is_late(&update) ? "there was no time to update the index"
                                    : "another search is updating the index");
        rc = 0;
    }
    return end(&update, rc, err);
}

void search_set_deadline(struct search *search, int ms)
{
    search->until_ms = time_monotonic_ms() + ms;
}

int search_catch_up(struct search *search, int wait_ms, struct err *err)
{
    struct err why = ERR_INIT;

    if (search->fixed || catch_up(search, wait_ms, &why) == 0)
        return 0;
    if (why.code == MAS_FAILED && search->alone[0] == '\0' && !search->unkept) {
        search_say(search, "the newest messages may be missing: %s", why.text);
        return 0; /* its contents can be searched */
    }
    if (why.code == MAS_DAMAGED && search->alone[0] == '\0' &&
        search_remake(search, why.text, err) == 0)
        return catch_up(search, wait_ms, err);
    if (err->code == MAS_OK || why.code != MAS_DAMAGED)
        *err = why;
    return -1;
}
