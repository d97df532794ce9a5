/*
 * SQLite opens by paths, so it gets one through the open directory, and a VFS that resolves no link
 * in it. The file is looked at before without being opened, as a close would drop the locks of
 * other connections of this process. Then features are switched off, the content is read for the
 * first time, and the name must still be that of the same file.
 */

#include "memory/db_internal.h"

#include "base/time.h"
#include "os/file.h"
#include "os/path.h"

#include <sys/statvfs.h>

#define VFS_NAME "mas-beneath"

enum {
    NAP_US_MAX = 2000, /* between two checks of a busy database */
    WAL_KEPT = 4 << 20, /* bytes that its log may keep when it restarts */
};

/* ---- the file */

/* SQLite would resolve the links in the path, including /proc/self/fd/N, and later open whatever
 * has the resulting path. With this function the kernel resolves the path at each open; the file
 * itself is opened with O_NOFOLLOW. */
static int full_path(sqlite3_vfs *vfs, const char *name, int room, char *ret)
{
    (void)vfs;
    return snprintf(ret, (size_t)room, "%s", name) < room ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int find_vfs(struct err *err)
{
    if (sqlite_load(err) == -1)
        return -1;
    if (sqlite3_vfs_find(VFS_NAME) != NULL)
        return 0;
    const sqlite3_vfs *system = sqlite3_vfs_find("unix");
    if (system == NULL)
        return err_set(err, MAS_FAILED, "cannot open a database: SQLite has no unix VFS");
    /* SQLite uses it until the process ends. */
    sqlite3_vfs *vfs = mem_alloc(sizeof *vfs);
    *vfs = *system;
    vfs->pNext = NULL;
    vfs->zName = VFS_NAME;
    vfs->xFullPathname = full_path;
    if (sqlite3_vfs_register(vfs, 0) != SQLITE_OK) {
        free(vfs);
        return err_set(err, MAS_FAILED, "cannot open a database: out of memory");
    }
    return 0;
}

static int make_file(int dir, const char *name, struct err *err)
{
    _cleanup_close_ int fd =
        openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd == -1 && errno == EEXIST)
        return 0; /* another thread registered it first */
    if (fd == -1 || fchmod(fd, 0600) == -1)
        return err_errno(err, "cannot create '%s'", name);
    return file_sync_dir(dir, err);
}

static int not_regular(const char *name, mode_t mode, struct err *err)
{
    return err_set(err, MAS_DAMAGED, "cannot open '%s': it is %s", name, path_type_name(mode));
}

/* Unlike a damaged file it is not set aside: someone may have made a copy with hard links. */
static int each_session_names(const char *name, struct err *err)
{
    (void)err_set(err, MAS_FAILED, "cannot open '%s': it has several names (hard links)", name);
    return err_hint(err, "mas writes only to files with a single name; remove the other names");
}

/* Checks that the database and its companion files are missing, or regular files without other
 * names. Does not open the database: closing it would drop the locks of another connection of this
 * process. */
static int look_at(struct db *db, enum db_how how, struct err *err)
{
    static const char *const parts[] = {"-wal", "-shm", "-journal"};

    if (fstatat(db->dir, db->name, &db->is, AT_SYMLINK_NOFOLLOW) == -1) {
        (void)err_errno(err, "cannot open '%s'", db->name);
        if (err->number == ENOENT)
            err->code = MAS_NOT_FOUND;
        return -1;
    }
    if (!S_ISREG(db->is.st_mode))
        return not_regular(db->name, db->is.st_mode, err);
    if (db->is.st_nlink > 1 && how != DB_LOOK)
        return each_session_names(db->name, err);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        _cleanup_free_ char *name = mem_printf("%s%s", db->name, parts[i]);
        struct stat st;
        if (fstatat(db->dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
            continue;
        if (!S_ISREG(st.st_mode))
            return not_regular(name, st.st_mode, err);
        if (st.st_nlink > 1 && how != DB_LOOK)
            return each_session_names(name, err);
        if (i == 0 && db->is.st_size == 0 && st.st_size > 0)
            return err_set(err, MAS_DAMAGED, "cannot open '%s': it is empty, but its log is not",
                           db->name);
    }
    return 0;
}

/* ---- waiting */

static struct db_trace trace_of(const struct db *db)
{
    struct db_trace trace = {.log_size = -1};
    struct stat st;

    if (db->dir == -1 || db->name == NULL)
        return trace;
    _cleanup_free_ char *log = mem_printf("%s-wal", db->name);
    if (fstatat(db->dir, db->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        trace.file = st.st_mtim;
    if (fstatat(db->dir, log, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        trace.log = st.st_mtim;
        trace.log_size = st.st_size;
    }
    return trace;
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

void db_wait_begin(const struct db *db, struct db_wait *wait, int64_t now)
{
    *wait = (struct db_wait){.since = now, .seen = trace_of(db)};
}

bool db_wait_on(const struct db *db, struct db_wait *wait, int64_t now)
{
    if (now - wait->since < DB_BUSY_MS)
        return true;
    /* computed only here, so that a short wait needs one check */
    struct db_wait next;
    db_wait_begin(db, &next, now);
    if (same_time(next.seen.file, wait->seen.file) && same_time(next.seen.log, wait->seen.log) &&
        next.seen.log_size == wait->seen.log_size)
        return false;
    *wait = next;
    return true;
}

static int nap(void *arg, int count)
{
    struct db *db = arg;
    int64_t now = time_monotonic_ms();

    if (count == 0)
        db_wait_begin(db, &db->busy, now);
    if (!db_wait_on(db, &db->busy, now))
        return 0;
    /* The sleep depends on an address and the count, so that 13 waiting processes do not wake at
     * once. */
    unsigned us = 50u << (count < 5 ? count : 5);
    us += (unsigned)((uintptr_t)db / 64 + (unsigned)count * 7919u + (unsigned)getpid() * 104729u) %
          (us + 1);
    (void)usleep(us < NAP_US_MAX ? us : NAP_US_MAX);
    return 1;
}

/* ---- opening */

static int harden(struct db *db, struct err *err)
{
    static const int switches[][2] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 0},    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_DQS_DML, 0},        {SQLITE_DBCONFIG_DQS_DDL, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(switches); i++) {
        if (sqlite3_db_config(db->sql, switches[i][0], switches[i][1], NULL) != SQLITE_OK)
            return err_set(err, MAS_FAILED, "cannot open '%s': this SQLite is too old", db->name);
    }
    (void)sqlite3_extended_result_codes(db->sql, 1);
    (void)sqlite3_limit(db->sql, SQLITE_LIMIT_LENGTH, DB_VALUE_MAX);
    (void)sqlite3_limit(db->sql, SQLITE_LIMIT_ATTACHED, 0);
    (void)sqlite3_limit(db->sql, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
    (void)sqlite3_busy_handler(db->sql, nap, db);
    return 0;
}

/* Reads the content for the first time: SQLite detects here if the file is not a database. */
static int set_up(struct db *db, struct err *err)
{
    char pragmas[256];

    (void)snprintf(pragmas, sizeof pragmas,
                   "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;"
                   "PRAGMA secure_delete = OFF; PRAGMA journal_size_limit = %d;"
                   "PRAGMA synchronous = FULL;",
                   WAL_KEPT);
    db->full = true;
    if (db_exec(db, pragmas, err) == -1)
        return -1;
    if (!db->write)
        return db_exec(db, "PRAGMA query_only = ON; PRAGMA schema_version;", err);

    /* The switch needs the database to itself for a moment; processes that create it together take
     * turns. */
    struct db_wait wait;
    db_wait_begin(db, &wait, time_monotonic_ms());
    for (int count = 0;; count++) {
        int rc = sqlite3_exec(db->sql, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
        if (rc == SQLITE_OK)
            return 0;
        if ((rc & 0xff) != SQLITE_BUSY || !db_wait_on(db, &wait, time_monotonic_ms()))
            return db_error(db, rc, "open", err);
        (void)nap(db, count);
    }
}

/* Without a handle, SQLite need not have been loaded. */
static void close_handle(struct db *db)
{
    if (db->sql != NULL)
        (void)sqlite3_close(db->sql);
    db->sql = NULL;
}

static int connect_file(struct db *db, const char *options, struct err *err)
{
    _cleanup_free_ char *uri = mem_printf("file:/proc/self/fd/%d/%s%s", db->dir, db->name, options);

    close_handle(db);
    int rc = sqlite3_open_v2(
        uri, &db->sql, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, VFS_NAME);
    if (rc != SQLITE_OK)
        return db_error(db, rc, "open", err);
    return harden(db, err) == -1 || set_up(db, err) == -1 ? -1 : 0;
}

/* Returns true if a reader cannot create the memory that it shares with writers, and no writer can
 * exist: the log is empty, and nothing can be written to it. */
static bool stands_still(const struct db *db)
{
    _cleanup_free_ char *log = mem_printf("%s-wal", db->name);
    struct statvfs disk;
    struct stat st;

    if (db->write || (fstatat(db->dir, log, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0))
        return false;
    return faccessat(db->dir, ".", W_OK, AT_EACCESS) == -1 ||
           (fstatvfs(db->dir, &disk) == 0 && disk.f_bavail == 0);
}

/* Opens the database of a program that may have it open. The index of its log, in which a reader
 * would note where it reads, is only read, so that is made in memory if the program has ended; a
 * database without a log is read as it is. */
static int connect_look(struct db *db, struct err *err)
{
    _cleanup_free_ char *log = mem_printf("%s-wal", db->name);
    struct stat st;
    bool has_log = fstatat(db->dir, log, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0;

    if (db->name[strcspn(db->name, "?#%")] != '\0')
        return err_set(err, MAS_CONFLICT, "cannot open '%s': its name is no part of an address",
                       db->name);
    return connect_file(db, has_log ? "?mode=ro&readonly_shm=1" : "?immutable=1", err);
}

static int open_file(struct db *db, enum db_how how, struct err *err)
{
    if (find_vfs(err) == -1)
        return -1;
    if (db->write)
        db_make_room(db);
    if (how == DB_CREATE && faccessat(db->dir, db->name, F_OK, AT_SYMLINK_NOFOLLOW) == -1 &&
        errno == ENOENT && make_file(db->dir, db->name, err) == -1)
        return -1;
    if (look_at(db, how, err) == -1)
        return -1;
    struct err why = ERR_INIT;
    if (how == DB_LOOK && connect_look(db, err) == -1)
        return -1;
    if (how != DB_LOOK && connect_file(db, "", &why) == -1) {
        if (why.code != MAS_FAILED || !stands_still(db) ||
            connect_file(db, "?immutable=1", err) == -1) {
            *err = why;
            return -1;
        }
    }
    if (!db_is_named(db))
        return err_set(err, MAS_CONFLICT, "cannot open '%s': it was replaced in the meantime",
                       db->name);
    return 0;
}

int db_open(int dir, const char *name, enum db_how how, struct db **ret, struct err *err)
{
    _cleanup_db_ struct db *db = mem_alloc(sizeof *db);

    db->name = mem_dup(name);
    db->write = how >= DB_WRITE;
    db->dir = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (db->dir == -1)
        return err_errno(err, "cannot open '%s'", name);
    if (open_file(db, how, err) == -1)
        return -1;
    *ret = TAKE_PTR(db);
    return 0;
}

int db_open_copy(int dir, const char *name, struct db **ret, struct err *err)
{
    _cleanup_db_ struct db *db = mem_alloc(sizeof *db);
    char top[PATH_FD_TEXT];
    _cleanup_free_ char *path = mem_printf("%s/%s", path_fd(dir, top), name);

    db->name = mem_dup(name);
    db->write = true;
    db->dir = -1;
    if (find_vfs(err) == -1)
        return -1;
    int rc = sqlite3_open_v2(path, &db->sql, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, VFS_NAME);
    if (rc != SQLITE_OK)
        return db_error(db, rc, "open", err);
    /* the last statement opens the file */
    if (harden(db, err) == -1 || db_exec(db,
                                         "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;"
                                         "PRAGMA locking_mode = EXCLUSIVE; PRAGMA schema_version;",
                                         err) == -1)
        return -1;
    *ret = TAKE_PTR(db);
    return 0;
}

int db_open_memory(struct db **ret, struct err *err)
{
    _cleanup_db_ struct db *db = mem_alloc(sizeof *db);

    db->name = mem_dup("memory");
    db->write = true;
    db->dir = -1;
    if (sqlite_load(err) == -1)
        return -1;
    int rc =
        sqlite3_open_v2(":memory:", &db->sql,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, "unix");
    if (rc != SQLITE_OK)
        return db_error(db, rc, "open", err);
    if (harden(db, err) == -1)
        return -1;
    *ret = TAKE_PTR(db);
    return 0;
}

void db_close(struct db *db)
{
    if (db == NULL)
        return;
    for (size_t i = 0; i < db->count; i++)
        (void)sqlite3_finalize(db->statements[i].stmt);
    /* SQLite removes the log of a database only if that still has its name */
    close_handle(db);
    fd_closep(&db->dir);
    free(db->statements);
    free(db->name);
    free(db);
}

void db_closep(struct db **db)
{
    db_close(*db);
}

sqlite3 *db_handle(const struct db *db)
{
    return db->sql;
}

/* ---- checks */

/* Describes the complete schema as comparable text, including what SQLite creates by itself
 * (sqlite_sequence, automatic indexes). */
static int describe(struct db *db, struct str *ret, struct err *err)
{
    _cleanup_reset_ sqlite3_stmt *stmt = db_query(
        db, err, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name", "");
    int rc;

    while ((rc = db_step(db, stmt, err)) == 1) {
        for (int i = 0; i < 4; i++) {
            str_addn(ret, db_text(stmt, i), db_len(stmt, i));
            str_addc(ret, '\0');
        }
    }
    return rc;
}

int db_same_schema(struct db *db, const char *schema, bool *ret_same, struct err *err)
{
    _cleanup_db_ struct db *model = NULL;
    _cleanup_str_ struct str want = STR_INIT;
    _cleanup_str_ struct str got = STR_INIT;

    if (db_open_memory(&model, err) == -1 || db_exec(model, schema, err) == -1 ||
        describe(model, &want, err) == -1 || describe(db, &got, err) == -1)
        return -1;
    *ret_same =
        want.len == got.len && (want.len == 0 || memcmp(want.data, got.data, want.len) == 0);
    return 0;
}

int db_check(struct db *db, struct err *err)
{
    sqlite3_stmt *stmt = db_prepare(db, "PRAGMA integrity_check(1)", err);
    if (stmt == NULL)
        return -1;
    int rc = db_step(db, stmt, err);
    if (rc == -1)
        return -1;
    _cleanup_free_ char *finding =
        mem_dup(rc == 1 ? db_text(stmt, 0) : "the check returned nothing");
    db_reset(stmt);
    if (strcmp(finding, "ok") != 0)
        return err_set(err, MAS_DAMAGED, "cannot trust '%s': %s", db->name, finding);

    stmt = db_prepare(db, "PRAGMA foreign_key_check", err);
    if (stmt == NULL || (rc = db_step(db, stmt, err)) == -1)
        return -1;
    if (rc == 1) {
        (void)err_set(err, MAS_DAMAGED, "cannot trust '%s': a row of %s refers to a missing row",
                      db->name, db_text(stmt, 0));
        db_reset(stmt);
        return -1;
    }
    return 0;
}
