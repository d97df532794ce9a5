/*
 * How much disk space a session, or one of its agents, may take ([limits] session and agent). At
 * 90 % of a limit people are told; at the limit the agent, or the whole team, is paused until it
 * takes less again or the limit is raised.
 */
#pragma once

#include "base/json.h"

/* Whose space: of all that is in the session's directory, or of an agent's own directories. */
enum disk_scope { DISK_SESSION, DISK_AGENT, DISK_SCOPE_COUNT };

struct disk_use {
    bool known; /* it was measured */
    int64_t used; /* bytes */
    int64_t limit; /* 0: none */
};

enum disk_level { DISK_CALM, DISK_NEAR, DISK_FULL };

/* Returns the level that follows `before`. It falls only when five percent less are used than what
 * it rose at, so that it does not change with each small file. */
enum disk_level disk_level(enum disk_level before, const struct disk_use *use);

/* Returns how many more bytes lead to the next level; INT64_MAX: there is no limit, or it is
 * reached. */
int64_t disk_room(const struct disk_use *use);

enum { DISK_WORDS = 96 };
/* Writes "the session uses 1.9G of 2.0G on disk". */
void disk_describe(enum disk_scope scope, const struct disk_use *use, char buf[DISK_WORDS]);

/* Writes and reads the member `key`, an object; null, or missing, if nothing is watched. */
void disk_put(const char *key, const struct disk_use *use, struct json_out *out);
void disk_read(const struct json *object, struct disk_use *ret);
