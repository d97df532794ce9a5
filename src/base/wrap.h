/*
 * How text fills rows of a terminal.
 */
#ifndef MAS_BASE_WRAP_H
#define MAS_BASE_WRAP_H

#include <stddef.h>

/* Decodes the character at text (UTF-8, or a byte that is none): its bytes, and the columns that it
 * takes in *ret_columns. len > 0. */
size_t wrap_char(const char *text, size_t len, int *ret_columns);

/* How many columns a text takes. */
int wrap_columns(const char *text, size_t len);

/* The bytes of a text that go into a row of so many columns, cut at a blank where there is one;
 * *ret_next is where the next row begins (len: there is none). */
size_t wrap_row(const char *text, size_t len, int columns, size_t *ret_next);

/* The longest beginning of a text that fits. */
size_t wrap_cut(const char *text, size_t len, int columns);

#endif
