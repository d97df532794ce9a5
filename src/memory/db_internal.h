/*
 * Shared by the database files; for them only.
 *
 *     db.c             the file: opening without links, waiting, checks
 *     db_statement.c   statements, transactions, errors
 */
#pragma once

#include "memory/db.h"

struct statement {
    const char *sql; /* compared by address: each literal has one */
    sqlite3_stmt *stmt;
};

/* What other processes have done to a database, judged by its files. */
struct db_trace {
    struct timespec file;
    struct timespec log;
    off_t log_size;
};

/* A wait for other processes, which lasts as long as they make progress. */
struct db_wait {
    int64_t since; /* when they last made progress */
    struct db_trace seen;
};

struct db {
    sqlite3 *sql;
    int dir; /* keeps /proc/self/fd/<dir>/<name> valid; -1: in memory */
    char *name;
    bool write;
    bool full; /* the current setting of synchronous */
    struct stat is; /* fstat() data of the file that was opened */
    struct db_wait busy;
    struct statement *statements;
    size_t count;
};

/* Returns true if the name still refers to the file that was opened. */
bool db_is_named(const struct db *db);

/* Call it before a write: a transaction that finds the disk full is gone. Gives the session's
 * reserve back if there is little room. */
void db_make_room(const struct db *db);

/* Starts a wait. `now` is monotonic ms. */
void db_wait_begin(const struct db *db, struct db_wait *wait, int64_t now);
/* Returns false when no process has written for DB_BUSY_MS. */
bool db_wait_on(const struct db *db, struct db_wait *wait, int64_t now);
