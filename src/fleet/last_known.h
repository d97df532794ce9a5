/*
 * What was last known of other machines: ${XDG_STATE_HOME:-~/.local/state}/mas/hosts, a line for
 * each with its name and place, when it answered, how many sessions it had and how many of them
 * ran. Only counts, so that the file is small and says nothing of the work. A cache: not synced,
 * and lines that mas would not write are left out.
 *
 *     n1@ann@n1.example.org 2025-12-18T08:00:00Z 12 3
 */
#pragma once

#include "model/remote.h"

enum { LAST_KNOWN_FILE_MAX = 512 * 1024 }; /* bytes */

struct last_known {
    time_t when; /* 0: never */
    int64_t sessions, active;
};

/* Fills ret[i] with what is known of number i; what cannot be read is unknown. */
void last_known_read(const struct remote *const *remotes, size_t count, struct last_known *ret);
/* Records what is known now, for those with a time, and keeps the rest. It is no error that this
 * fails. */
void last_known_write(const struct remote *const *remotes, size_t count,
                      const struct last_known *known);
