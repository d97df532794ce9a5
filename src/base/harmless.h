/*
 * Text that comes in pieces and goes to a terminal: no byte of it can move one. Newlines and tabs
 * stay, carriage returns go, other control characters and bytes that are not UTF-8 become \xNN. A
 * character may be cut between two pieces.
 *
 *     struct harmless harmless = {.count = 0};
 *     harmless_add(&harmless, piece, len, &to);   as often as there is one
 *     harmless_end(&harmless, &to);
 */
#ifndef MAS_BASE_HARMLESS_H
#define MAS_BASE_HARMLESS_H

#include "base/str.h"

#include <stddef.h>

/* Zero-initialised; nothing to release. */
struct harmless {
    char held[4]; /* the beginning of a character whose end has not come */
    size_t count;
};

void harmless_add(struct harmless *harmless, const char *piece, size_t len, struct str *to);
void harmless_end(struct harmless *harmless, struct str *to);

#endif
