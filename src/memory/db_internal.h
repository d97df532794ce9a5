/*
 * What the files of the database share; nobody else includes this.
 *
 *     db.c             the file: opened so that no link leads elsewhere, waited for, checked
 *     db_statement.c   statements, transactions, errors
 */
#ifndef MAS_MEMORY_DB_INTERNAL_H
#define MAS_MEMORY_DB_INTERNAL_H

#include "memory/db.h"

#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

struct statement {
    const char *sql; /* where its text stands: a literal has one place */
    sqlite3_stmt *stmt;
};

/* What others have done to a database, as far as its files tell it. */
struct db_trace {
    struct timespec file;
    struct timespec log;
    off_t log_size;
};

/* A wait for others, which lasts as long as they get on. */
struct db_wait {
    int64_t since; /* when they were last seen to */
    struct db_trace seen;
};

struct db {
    sqlite3 *sql;
    int dir; /* keeps /proc/self/fd/<dir>/<name> alive; -1: in memory */
    char *name;
    bool write;
    bool full; /* synchronous, as set */
    struct stat is; /* the file that was opened */
    struct db_wait busy;
    struct statement *statements;
    size_t count;
};

/* true if the name still stands for the file that was opened. */
bool db_is_named(const struct db *db);

void db_wait_begin(const struct db *db, struct db_wait *wait, int64_t now);
/* false once nobody has written for DB_BUSY_MS. */
bool db_wait_on(const struct db *db, struct db_wait *wait, int64_t now);

#endif
