/*
 * SQLite, tamed: a database file by its name beneath a directory, opened without following a link,
 * with all that a hostile file could use switched off; statements that are kept; errors in words.
 *
 *     db_open(dir, "memory.db", DB_CREATE, &db, err);
 *     sqlite3_stmt *s = db_prepare(db, "SELECT text FROM message WHERE id = ?1", err);
 *     db_bind(s, "i", number);
 *     while ((rc = db_step(db, s, err)) == 1)
 *         ... db_text(s, 0) ...
 *
 * Every database is in WAL mode. A busy one is waited for, with short naps, until nobody has
 * written to it for DB_BUSY_MS. Writing is either one statement by itself or between db_begin() and
 * db_commit(); both take the write lock at once, so that no snapshot is ever too old to write on.
 *
 * A database that was renamed or replaced meanwhile is not written to any more, and closing it does
 * not take away the log of the one that has its name now.
 */
#ifndef MAS_MEMORY_DB_H
#define MAS_MEMORY_DB_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DB_BUSY_MS = 10000,
    DB_VALUE_MAX = 64 << 20, /* bytes of one row or value; more is damage */
};

struct db;

/* DB_READ never writes to tables, and needs nothing that it could write to: one that nobody can
 * have open, because its directory cannot be written or its disk is full, is read as it stands.
 * DB_CREATE makes the file where there is none, with mode 600. */
enum db_how { DB_READ, DB_WRITE, DB_CREATE };
/* MAS_NOT_FOUND where there is none, MAS_DAMAGED where what is there is no database, or no file. */
int db_open(int dir, const char *name, enum db_how how, struct db **ret, struct err *err);
/* A new empty one in memory. */
int db_open_memory(struct db **ret, struct err *err);
void db_close(struct db *db);
void db_closep(struct db **db);
#define _cleanup_db_ __attribute__((cleanup(db_closep)))

sqlite3 *db_handle(const struct db *db);

/* A statement that is kept until the end, found again by its text; ready for db_bind(). NULL on
 * failure. */
sqlite3_stmt *db_prepare(struct db *db, const char *sql, struct err *err);
/* One that is used once: the caller's, to be given to sqlite3_finalize(). */
sqlite3_stmt *db_prepare_once(struct db *db, const char *sql, struct err *err);
/* Binds from ?1 on: 'i' int64_t, 'd' double, 't' const char * (NULL is NULL), 'n' const char * and
 * size_t, 'b' const void * and size_t (a blob). The bytes must live until the last step. */
void db_bind(sqlite3_stmt *stmt, const char *kinds, ...);
/* 1: there is a row; 0: there is no more, and the statement is ready for the next time; -1: so is
 * it, and *err says why. */
int db_step(struct db *db, sqlite3_stmt *stmt, struct err *err);
/* Prepares, binds, runs a statement whose rows are of no interest. */
int db_run(struct db *db, struct err *err, const char *sql, const char *kinds, ...);
/* Its first column of the first row as a number; `fallback` where there is no row or NULL. */
int db_number(struct db *db, int64_t fallback, int64_t *ret, struct err *err, const char *sql,
              const char *kinds, ...);
/* Several statements without values. */
int db_exec(struct db *db, const char *sql, struct err *err);
/* Ends a statement before its last row. */
void db_reset(sqlite3_stmt *stmt);

const char *db_text(sqlite3_stmt *stmt, int column); /* NULL is "" */
const char *db_text_null(sqlite3_stmt *stmt, int column); /* NULL is NULL */
size_t db_len(sqlite3_stmt *stmt, int column);

/* With `full` a commit is on disk when it is done; without it it survives a kill, not the loss of
 * power. It stays so until it is changed; not inside a transaction. */
int db_sync(struct db *db, bool full, struct err *err);
int db_begin(struct db *db, struct err *err);
int db_commit(struct db *db, struct err *err);
/* Where nothing was begun, it does nothing. */
void db_rollback(struct db *db);

/* Words and code for what SQLite said last: "cannot <what> '<name>': <why>". Returns -1. */
int db_error(const struct db *db, int code, const char *what, struct err *err);

/* Compares every table and index with what `build` makes in a new database in memory: *ret_same. */
int db_same_schema(struct db *db, int (*build)(struct db *model, void *arg, struct err *err),
                   void *arg, bool *ret_same, struct err *err);

/* SQLite's integrity check and that of the foreign keys: MAS_DAMAGED with the first finding. */
int db_check(struct db *db, struct err *err);

#endif
