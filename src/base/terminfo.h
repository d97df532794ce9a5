/*
 * The descriptions of terminals, for programs that do not read them themselves.
 */
#ifndef MAS_BASE_TERMINFO_H
#define MAS_BASE_TERMINFO_H

#include <stdbool.h>

/* Returns false if this machine has descriptions of terminals, but none of `term`. */
bool terminfo_knows(const char *term);

#endif
