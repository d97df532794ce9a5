/*
 * Makes text safe for a terminal when the text arrives in pieces. Newlines and tabs stay and
 * carriage returns are dropped. Other control characters and bytes that are not UTF-8 become \xNN.
 * A character may be split between two pieces.
 *
 *     struct term_escape escape = {.count = 0};
 *     term_escape_add(&escape, piece, len, &to);   for each piece
 *     term_escape_end(&escape, &to);
 */
#pragma once

/* Zero-initialised; needs no release. */
struct term_escape {
    char held[4]; /* the beginning of an incomplete character */
    size_t count;
};

/* Appends a piece to `to`, except an incomplete character at its end. */
void term_escape_add(struct term_escape *escape, const char *piece, size_t len, struct str *to);
/* Appends the incomplete character, if there is one. */
void term_escape_end(struct term_escape *escape, struct str *to);
