/*
 * The person's pager.
 */
#ifndef MAS_BASE_PAGER_H
#define MAS_BASE_PAGER_H

#include "base/str.h"

#include <stdbool.h>

/* Shows a text through $PAGER if standard output is a terminal, and returns when the person has
 * read it; without PAGER the pager is `less`, a command line that begins with "less", if that is
 * installed. Otherwise prints the text. Returns true if `less` ran. */
bool pager_show(const struct str *text, const char *less);

#endif
