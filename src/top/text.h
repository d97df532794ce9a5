/*
 * Text of agents in the columns of a terminal. Whatever the text contains, nothing of it affects
 * the terminal: control characters and bytes that are not UTF-8 become \xNN, line breaks and tabs
 * become blanks, and characters that only change the direction or the joining of others are
 * dropped.
 */
#pragma once

/* Appends as much of the text as fits into `columns`, with an ellipsis if it is cut. Returns the
 * number of columns that it takes. Without `unicode` every character beyond ASCII becomes "?".
 * With it, the locale must use UTF-8. */
size_t text_put(struct str *to, const char *text, size_t columns, bool unicode);
/* The same with the end of the text, the ellipsis in front. */
size_t text_put_end(struct str *to, const char *text, size_t columns, bool unicode);
/* Returns the number of columns that the whole text takes. */
size_t text_columns(const char *text, bool unicode);
