/*
 * Text that comes in pieces and goes to a terminal: no byte of it can move one. Newlines and tabs
 * stay, carriage returns go, other control characters and bytes that are not UTF-8 become \xNN. A
 * character may be cut between two pieces.
 *
 *     struct harmless harmless = {.count = 0};
 *     term_escape_add(&harmless, piece, len, &to);   as often as there is one
 *     term_escape_end(&harmless, &to);
 */
#ifndef MAS_BASE_TERM_ESCAPE_H
#define MAS_BASE_TERM_ESCAPE_H

#include "base/str.h"

#include <stddef.h>

/* Zero-initialised; nothing to release. */
struct term_escape {
    char held[4]; /* the beginning of a character whose end has not come */
    size_t count;
};

void term_escape_add(struct term_escape *harmless, const char *piece, size_t len, struct str *to);
void term_escape_end(struct term_escape *harmless, struct str *to);

#endif
