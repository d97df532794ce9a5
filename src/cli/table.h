/*
 * Tables. Each column is as wide as its widest cell. On a terminal, a table with `spare` columns is
 * fitted to its width: the spare columns are omitted first, then cells are cut and end in "...".
 * Elsewhere the table is printed in full.
 *
 *     struct table table = {.columns = 3, .spare = spare};
 *     table_add(&table, "NAME", colour_dim());   cell by cell, row by row, headings first
 *     table_print(&table);
 *     table_free(&table);
 */
#pragma once

struct cell {
    size_t at; /* in the text of the table, where a NUL follows it */
    size_t width; /* columns it takes on the terminal */
    const char *colour; /* NULL: none */
};

struct table {
    size_t columns;
    const char *const *spare; /* headings of columns that may be omitted, in that order; ends
                                 with NULL. NULL: the table is never fitted */
    bool whole_last; /* the last column is not cut; the terminal wraps it */
    struct str text; /* of all cells, row by row; control characters are escaped */
    struct cell *cells;
    size_t count;
};

/* Appends a cell; copies its text. `colour` is an escape sequence, or NULL. */
void table_add(struct table *table, const char *cell, const char *colour);
/* Appends a heading for each column. */
void table_heads(struct table *table, const char *const *heads);
/* Prints the table on standard output. */
void table_print(const struct table *table);
/* Releases the cells and empties the table. */
void table_free(struct table *table);

/* Size of the terminal on standard output; 0 and 0 if there is none or its size is unknown. */
struct screen {
    size_t columns, rows;
};
struct screen screen_size(void);
