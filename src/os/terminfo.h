/*
 * The descriptions of terminals, for programs that do not read them themselves.
 */
#pragma once

/* Returns false if this machine has descriptions of terminals, but none of `term`. */
bool terminfo_knows(const char *term);
