/*
 * SQLite's codes become those of mas by a table. A statement is found by the address of its text,
 * and lives as long as the database. Before a statement writes outside of a transaction, and before
 * one begins, the file must still have its name, and room is made on a disk that is full
 * (store/reserve.h).
 */

#include "memory/db_internal.h"

#include "store/reserve.h"

/* ---- errors */

static const struct {
    int code; /* SQLite's primary code */
    int ours;
    const char *why; /* NULL: SQLite's own text */
} words[] = {
    {SQLITE_BUSY, MAS_TIMEOUT, "another process keeps it locked"},
    {SQLITE_LOCKED, MAS_TIMEOUT, "another process keeps it locked"},
    {SQLITE_PROTOCOL, MAS_TIMEOUT, "other processes keep it locked"},
    {SQLITE_CORRUPT, MAS_DAMAGED, "it is damaged"},
    {SQLITE_NOTADB, MAS_DAMAGED, "it is not a database"},
    {SQLITE_TOOBIG, MAS_DAMAGED, "a value in it is too large"},
    {SQLITE_CONSTRAINT, MAS_FAILED, "the new data contradicts the existing data"},
    {SQLITE_NOMEM, MAS_FAILED, "out of memory"},
};

int db_error(const struct db *db, int code, const char *what, struct err *err)
{
    int primary = code & 0xff;

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (words[i].code == primary)
            return err_set(err, words[i].ours, "cannot %s '%s': %s", what, db->name, words[i].why);
    }
    int system = primary == SQLITE_FULL ? ENOSPC
                 : db->sql != NULL && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN)
                     ? sqlite3_system_errno(db->sql)
                     : 0;
    if (system != 0) {
        errno = system;
        return err_errno(err, "cannot %s '%s'", what, db->name);
    }
    return err_set(err, MAS_FAILED, "cannot %s '%s': %s", what, db->name, sqlite3_errstr(code));
}

/* ---- statements */

static sqlite3_stmt *prepare(struct db *db, const char *sql, unsigned flags, struct err *err)
{
    sqlite3_stmt *stmt = NULL;

    int rc = sqlite3_prepare_v3(db->sql, sql, -1, flags, &stmt, NULL);
    if (rc != SQLITE_OK)
        (void)db_error(db, rc, db->write ? "write to" : "read", err);
    return stmt;
}

sqlite3_stmt *db_prepare_once(struct db *db, const char *sql, struct err *err)
{
    return prepare(db, sql, 0, err);
}

sqlite3_stmt *db_prepare(struct db *db, const char *sql, struct err *err)
{
    for (size_t i = 0; i < db->count; i++) {
        if (db->statements[i].sql == sql)
            return db->statements[i].stmt;
    }
    sqlite3_stmt *stmt = prepare(db, sql, SQLITE_PREPARE_PERSISTENT, err);
    if (stmt == NULL)
        return NULL;
    db->statements = mem_room(db->statements, db->count, sizeof *db->statements);
    db->statements[db->count++] = (struct statement){.sql = sql, .stmt = stmt};
    return stmt;
}

static void bind_all(sqlite3_stmt *stmt, const char *kinds, va_list args)
{
    for (int at = 1; *kinds != '\0'; kinds++, at++) {
        const char *text;
        switch (*kinds) {
        case 'i':
            (void)sqlite3_bind_int64(stmt, at, va_arg(args, int64_t));
            break;
        case 'd':
            (void)sqlite3_bind_double(stmt, at, va_arg(args, double));
            break;
        case 't':
            (void)sqlite3_bind_text(stmt, at, va_arg(args, const char *), -1, SQLITE_STATIC);
            break;
        case 'n':
            text = va_arg(args, const char *);
            (void)sqlite3_bind_text64(stmt, at, text, va_arg(args, size_t), SQLITE_STATIC,
                                      SQLITE_UTF8);
            break;
        case 'b':
            text = va_arg(args, const char *);
            (void)sqlite3_bind_blob64(stmt, at, text, va_arg(args, size_t), SQLITE_STATIC);
            break;
        default:
            abort();
        }
    }
}

void db_bind(sqlite3_stmt *stmt, const char *kinds, ...)
{
    va_list args;

    va_start(args, kinds);
    bind_all(stmt, kinds, args);
    va_end(args);
}

void db_reset(sqlite3_stmt *stmt)
{
    (void)sqlite3_reset(stmt);
    (void)sqlite3_clear_bindings(stmt);
}

void db_resetp(sqlite3_stmt **stmt)
{
    if (*stmt != NULL)
        db_reset(*stmt);
}

sqlite3_stmt *db_query(struct db *db, struct err *err, const char *sql, const char *kinds, ...)
{
    sqlite3_stmt *stmt = db_prepare(db, sql, err);
    va_list args;

    va_start(args, kinds);
    if (stmt != NULL)
        bind_all(stmt, kinds, args);
    va_end(args);
    return stmt;
}

bool db_is_named(const struct db *db)
{
    struct stat st;
    return db->dir == -1 || (fstatat(db->dir, db->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                             st.st_ino == db->is.st_ino && st.st_dev == db->is.st_dev);
}

void db_make_room(const struct db *db)
{
    if (db->dir != -1)
        reserve_need(db->dir, RESERVE_MEMORY);
}

int db_step(struct db *db, sqlite3_stmt *stmt, struct err *err)
{
    bool reads = stmt == NULL || sqlite3_stmt_readonly(stmt) != 0;

    if (stmt == NULL)
        return -1;
    /* Inside a transaction, db_begin() has checked this. */
    if (!reads && sqlite3_get_autocommit(db->sql) != 0) {
        if (!db_is_named(db)) {
            db_reset(stmt);
            return err_set(err, MAS_DAMAGED, "cannot write to '%s': it was set aside", db->name);
        }
        db_make_room(db);
    }
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        return 1;
    db_reset(stmt);
    return rc == SQLITE_DONE ? 0 : db_error(db, rc, reads ? "read" : "write to", err);
}

int db_run(struct db *db, struct err *err, const char *sql, const char *kinds, ...)
{
    sqlite3_stmt *stmt = db_prepare(db, sql, err);
    va_list args;
    int rc;

    if (stmt == NULL)
        return -1;
    va_start(args, kinds);
    bind_all(stmt, kinds, args);
    va_end(args);
    while ((rc = db_step(db, stmt, err)) == 1)
        continue;
    return rc;
}

int db_number(struct db *db, int64_t fallback, int64_t *ret, struct err *err, const char *sql,
              const char *kinds, ...)
{
    sqlite3_stmt *stmt = db_prepare(db, sql, err);
    va_list args;

    if (stmt == NULL)
        return -1;
    va_start(args, kinds);
    bind_all(stmt, kinds, args);
    va_end(args);
    int rc = db_step(db, stmt, err);
    if (rc == -1)
        return -1;
    int64_t n = fallback;
    if (rc == 1 && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
        n = sqlite3_column_int64(stmt, 0);
    db_reset(stmt);
    *ret = n;
    return 0;
}

int db_exec(struct db *db, const char *sql, struct err *err)
{
    int rc = sqlite3_exec(db->sql, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : db_error(db, rc, db->write ? "write to" : "read", err);
}

const char *db_text_null(sqlite3_stmt *stmt, int column)
{
    return (const char *)sqlite3_column_text(stmt, column);
}

const char *db_text(sqlite3_stmt *stmt, int column)
{
    const char *text = db_text_null(stmt, column);
    return text != NULL ? text : "";
}

size_t db_len(sqlite3_stmt *stmt, int column)
{
    return (size_t)sqlite3_column_bytes(stmt, column);
}

/* ---- transactions */

int db_sync(struct db *db, bool full, struct err *err)
{
    if (db->full == full)
        return 0;
    if (db_exec(db, full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", err) == -1)
        return -1;
    db->full = full;
    return 0;
}

int db_begin(struct db *db, struct err *err)
{
    return db_run(db, err, "BEGIN IMMEDIATE", "");
}

int db_commit(struct db *db, struct err *err)
{
    if (db_run(db, err, "COMMIT", "") == 0)
        return 0;
    db_rollback(db);
    return -1;
}

void db_rollback(struct db *db)
{
    struct err ignored = ERR_INIT;

    if (sqlite3_get_autocommit(db->sql) == 0)
        (void)db_exec(db, "ROLLBACK", &ignored);
}
