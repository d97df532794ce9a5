/*
 * Safe access to SQLite: opens a database file by its name in a directory, follows no link and
 * switches off every SQLite feature that a hostile file could use; caches statements; reports
 * errors as text.
 *
 *     db_open(dir, "memory.db", DB_CREATE, &db, err);
 *     sqlite3_stmt *s = db_prepare(db, "SELECT text FROM message WHERE id = ?1", err);
 *     db_bind(s, "i", number);
 *     while ((rc = db_step(db, s, err)) == 1)
 *         ... db_text(s, 0) ...
 *
 * Every database is in WAL mode. If a database is busy, mas waits with short sleeps until no
 * process has written to it for DB_BUSY_MS. A write is either a single statement or a transaction
 * between db_begin() and db_commit(). Both take the write lock at once, so a snapshot is never too
 * old to write on. If a database was renamed or replaced meanwhile, mas no longer writes to it, and
 * closing it does not remove the log of the database that now has its name.
 */
#pragma once

#include "memory/sqlite.h"

enum {
    DB_BUSY_MS = 10000,
    DB_VALUE_MAX = 64 << 20, /* bytes of one row or value; more is damage */
};

struct db;

/* DB_READ never writes to tables and needs no write access. If no other process can have the
 * database open, because its directory is not writable or its disk is full, it is read as it is.
 * DB_LOOK is for the database of another program: it writes nothing at all, not even to the files
 * beside it. DB_CREATE creates a missing file with mode 600. */
enum db_how { DB_READ, DB_LOOK, DB_WRITE, DB_CREATE };
/* Opens a database. Fails with MAS_NOT_FOUND if the file is missing, and with MAS_DAMAGED if it is
 * not a database or not a regular file. The caller closes *ret with db_close(). */
int db_open(int dir, const char *name, enum db_how how, struct db **ret, struct err *err);
/* Opens an empty file as a database that keeps its journal in memory and syncs nothing, for
 * memory/backup.c. The name may go once this returns. The caller closes *ret. */
int db_open_copy(int dir, const char *name, struct db **ret, struct err *err);
/* Opens a new empty database in memory. The caller closes it. */
int db_open_memory(struct db **ret, struct err *err);
void db_close(struct db *db);
void db_closep(struct db **db);
#define _cleanup_db_ __attribute__((cleanup(db_closep)))

/* Returns the SQLite handle, for calls that this header does not cover. */
sqlite3 *db_handle(const struct db *db);

/* Returns a cached statement, found by its text (a string literal) and ready for db_bind(). The
 * database owns it. NULL on failure. */
sqlite3_stmt *db_prepare(struct db *db, const char *sql, struct err *err);
/* Returns a statement for one use; the caller passes it to sqlite3_finalize(). NULL on failure. */
sqlite3_stmt *db_prepare_once(struct db *db, const char *sql, struct err *err);
/* Binds values from ?1 on: 'i' int64_t, 'd' double, 't' const char * (NULL is NULL), 'n' const char
 * * and size_t, 'b' const void * and size_t (a blob). The bytes must stay valid until the last
 * step. */
void db_bind(sqlite3_stmt *stmt, const char *kinds, ...);
/* Prepares a statement and binds its values, for db_step() to run:
 *
 *     _cleanup_reset_ sqlite3_stmt *s = db_query(db, err, "SELECT text ... ?1", "i", number);
 *     while ((rc = db_step(db, s, err)) == 1) ...
 */
sqlite3_stmt *db_query(struct db *db, struct err *err, const char *sql, const char *kinds, ...);
/* Runs one step. Returns 1 if there is a row; 0 if there are no more; -1 with *err set (MAS_DAMAGED
 * if a write finds that the database was renamed or replaced). After 0 and -1 the statement can be
 * used again. `stmt` may be NULL: db_query() has failed. */
int db_step(struct db *db, sqlite3_stmt *stmt, struct err *err);
/* Prepares, binds and runs a statement, and ignores its rows. */
int db_run(struct db *db, struct err *err, const char *sql, const char *kinds, ...);
/* Runs a statement and sets *ret to the first column of its first row as a number; to `fallback` if
 * there is no row or it is NULL. */
int db_number(struct db *db, int64_t fallback, int64_t *ret, struct err *err, const char *sql,
              const char *kinds, ...);
/* Runs several statements without values. */
int db_exec(struct db *db, const char *sql, struct err *err);
/* Ends a statement before its last row. */
void db_reset(sqlite3_stmt *stmt);
void db_resetp(sqlite3_stmt **stmt);
#define _cleanup_reset_ __attribute__((cleanup(db_resetp)))

const char *db_text(sqlite3_stmt *stmt, int column); /* NULL becomes "" */
const char *db_text_null(sqlite3_stmt *stmt, int column); /* NULL stays NULL */
size_t db_len(sqlite3_stmt *stmt, int column);

/* Sets the durability of commits. With `full`, a commit is on disk when it returns; without it, a
 * commit survives a kill but not a power failure. The setting stays until it is changed. Do not
 * call it inside a transaction. */
int db_sync(struct db *db, bool full, struct err *err);
/* Begin and commit a write transaction. */
int db_begin(struct db *db, struct err *err);
int db_commit(struct db *db, struct err *err);
/* Rolls the transaction back; does nothing if there is none. */
void db_rollback(struct db *db);

/* Sets the error for the last failure of SQLite: "cannot <what> '<name>': <why>", with a matching
 * code. Returns -1. */
int db_error(const struct db *db, int code, const char *what, struct err *err);

/* Sets *ret_same to whether all tables and indexes equal those that `schema` creates in a new
 * database in memory. */
int db_same_schema(struct db *db, const char *schema, bool *ret_same, struct err *err);

/* Runs SQLite's integrity check and its foreign key check. Fails with MAS_DAMAGED and the first
 * finding. */
int db_check(struct db *db, struct err *err);
