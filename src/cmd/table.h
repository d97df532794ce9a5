/*
 * Tables: each column is as wide as its widest cell. On a terminal a table that names columns to
 * spare is made to fit: these go first, then cells are cut, with "..." where something is missing.
 * On a pipe it is always whole.
 *
 *     struct table table = {.columns = 3, .spare = spare};
 *     table_add(&table, "NAME", colour_dim());   cell by cell, row by row, the heads first
 *     table_print(&table);
 *     table_free(&table);
 */
#ifndef MAS_CMD_TABLE_H
#define MAS_CMD_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct table {
    size_t columns;
    const char *const *spare; /* heads of columns, the first to go first, ends with NULL; NULL:
                                 the table is never made to fit */
    bool whole_last; /* cells of the last column are not cut; they wrap */
    char **cells; /* row by row, safe for a terminal */
    const char **colours; /* beside each cell; NULL: none */
    size_t count;
};

void table_add(struct table *table, const char *cell, const char *colour);
void table_print(const struct table *table);
void table_free(struct table *table);

/* Columns and rows of the terminal behind stdout; 0 if there is none or it does not tell. */
struct screen {
    size_t columns, rows;
};
struct screen screen_size(void);

#endif
