/*
 * The limits of disk space that hold for a session: those that a person has set for it, which are
 * in the file `limits.json` of its workspace, or else [limits] of mas.ini.
 */
#ifndef MAS_STORE_DISK_LIMITS_H
#define MAS_STORE_DISK_LIMITS_H

#include "base/err.h"
#include "model/disk.h"
#include "model/team.h"
#include "store/config.h"
#include "store/root.h"

#include <stddef.h>
#include <stdint.h>

enum { DISK_LIMITS_FILE_MAX = 64 * 1024, DISK_LIMITS_MAX = TEAM_AGENTS_MAX };

/* Bytes; 0: not set, -1: there is no limit. */
struct disk_limits {
    int64_t session;
    int64_t agent; /* of each agent without one of its own */
    struct disk_limit_of {
        char agent[TEAM_WORD_MAX + 1];
        int64_t bytes;
    } * each;
    size_t count;
};
#define DISK_LIMITS_INIT                                                                           \
    {                                                                                              \
        .each = NULL                                                                               \
    }

/* Reads the file in the workspace `dir`; if it is missing, nothing is set. Fails with MAS_DAMAGED.
 * The caller releases *ret with disk_limits_free(). */
int disk_limits_read(int dir, struct disk_limits *ret, struct err *err);
void disk_limits_free(struct disk_limits *limits);
#define _cleanup_disk_limits_ __attribute__((cleanup(disk_limits_free)))

/* Sets a limit for the session open at `dir`; 0 removes it. `agent` NULL: of each agent. Waits at
 * most `wait_ms` for the lock. */
int disk_limits_set(const struct root *root, int dir, enum disk_scope scope, const char *agent,
                    int64_t bytes, int wait_ms, struct err *err);

/* Returns the limit that holds, 0: none. */
int64_t disk_limits_of(const struct disk_limits *limits, const struct config *config,
                       enum disk_scope scope, const char *agent);
/* The same for the session in `dir`; what cannot be read counts as not set. */
int64_t disk_limits_of_session(int dir, const struct config *config);
/* Returns true if anything of the session has a limit. */
bool disk_limits_exist(int dir, const struct config *config);

#endif
