/*
 * Retention: which sessions have had their time, and their removal.
 *
 * Never taken: a session that runs or whose hosts live, one that is younger than the age, one on
 * which another command works, one whose tmux server could not be asked. Crashed ones (STATUS says
 * active, tmux says no) only where that is asked for.
 */
#ifndef MAS_CORE_RETENTION_H
#define MAS_CORE_RETENTION_H

#include "base/err.h"
#include "core/life.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { /* a set of these bits */
       RETENTION_STOPPED = 1,
       RETENTION_ERROR = 2,
       RETENTION_CRASHED = 4,
};

/* Reads "stopped,error"; an empty text is the empty set. false for anything else. */
bool retention_parse_status(const char *text, unsigned *ret);

#endif
