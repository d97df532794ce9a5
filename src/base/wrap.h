/*
 * How text fills the rows of a terminal.
 */
#pragma once

/* Decodes the character at `text` (UTF-8, or one invalid byte). Returns its length in bytes;
 * *ret_columns is its width in columns. len > 0. */
size_t wrap_char(const char *text, size_t len, int *ret_columns);

/* Returns the width of a text in columns. */
int wrap_columns(const char *text, size_t len);

/* Returns how many bytes of a text fill a row of `columns` columns, cut at a space if possible.
 * *ret_next is the offset of the next row (len: there is none). Takes at least one character. */
size_t wrap_row(const char *text, size_t len, int columns, size_t *ret_next);

/* Returns the length in bytes of the longest prefix that fits into `columns` columns. */
size_t wrap_cut(const char *text, size_t len, int columns);
