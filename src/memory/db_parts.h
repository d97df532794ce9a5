/*
 * What the files of the database share; nobody else includes this.
 *
 *     db.c             the file: opened so that no link leads elsewhere, waited for, checked
 *     db_statement.c   statements, transactions, errors
 */
#ifndef MAS_MEMORY_DB_PARTS_H
#define MAS_MEMORY_DB_PARTS_H

#include "memory/db.h"

#include <stdint.h>
#include <sys/stat.h>

struct statement {
    const char *sql; /* where its text stands: a literal has one place */
    sqlite3_stmt *stmt;
};

struct db {
    sqlite3 *sql;
    int dir; /* keeps /proc/self/fd/<dir>/<name> alive; -1: in memory */
    char *name;
    bool write;
    bool full; /* synchronous, as set */
    struct stat is; /* the file that was opened */
    int64_t busy_since;
    struct statement *statements;
    size_t count;
};

/* true if the name still stands for the file that was opened. */
bool db_is_named(const struct db *db);

#endif
