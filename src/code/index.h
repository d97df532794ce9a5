/*
 * An index file of git that mas keeps.
 */
#ifndef MAS_CODE_INDEX_H
#define MAS_CODE_INDEX_H

#include "base/err.h"

#include <stdbool.h>
#include <time.h>

/* Makes git read those files again whose inodes changed in the second `begun` or later. git
 * compares times in whole seconds, and looks twice only at a file whose modification time is as new
 * as the index: it misses a second change in the same second that keeps size and modification time.
 */
int index_distrust(const char *path, bool sha256, time_t begun, struct err *err);

#endif
