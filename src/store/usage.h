/*
 * Disk use of sessions: the size of their files, the space that they take on disk, and the limits
 * that [limits] in mas.ini sets.
 *
 * The figures of a session count each file with several names and each shared disk extent once
 * within that session. The sum over several sessions can therefore exceed the total that they take
 * together. `own` is the part that a session shares with nothing else: removing the session frees
 * at least that much.
 */
#pragma once

#include "os/tree.h"
#include "store/config.h"
#include "store/limits/session_limits.h"
#include "store/placement.h"
#include "store/root.h"
#include "store/session.h"
#include "store/template.h"

enum usage_part { USAGE_WORKFLOWS, USAGE_LOGS, USAGE_MEMORY, USAGE_CODE, USAGE_OTHER, USAGE_PARTS };

/* The disk use of a session. The units and the parts add up to `all`. Space that several of them
 * share counts for the first one. */
struct usage {
    struct tree_size all;
    uint64_t own;
    struct usage_unit {
        char *agent;
        struct tree_size size;
    } * units; /* sorted by name */
    size_t unit_count;
    struct tree_size parts[USAGE_PARTS];
};

#define USAGE_INIT                                                                                 \
    {                                                                                              \
        .units = NULL                                                                              \
    }

struct usage_options {
    const char *id; /* or another name in sessions/: SNAPSHOTS_DIR */
    enum mode mode; /* unit/ and workflows/ of the root count too if it works in them */
};

/* Measures sessions on up to two threads. `ret` has space for `count` results; the caller releases
 * each with usage_free(). *ret_total receives what they take together, without parts; it may be
 * NULL. Unreadable entries are counted in size.skipped. */
void usage_measure(const struct root *root, const struct usage_options *options, size_t count,
                   struct usage *ret, struct usage *ret_total);
void usage_free(struct usage *usage);
#define _cleanup_usage_ __attribute__((cleanup(usage_free)))

/* Returns a text about a session that exceeds its limit (0: none), or NULL. The caller frees it. */
char *usage_over(uint64_t limit, const struct usage *usage);

/* An agent whose directories are measured. */
struct usage_agent {
    const char *id;
    uint64_t used; /* bytes on disk of its directories in unit/, code/ and home/ */
};
/* Measures the session in the open directory `dir`, and these agents of it. Each agent's figure
 * counts all that is in its own directories, the sum of the session what several share once. */
void usage_measure_agents(const struct root *root, int dir, enum mode mode,
                          struct usage_agent *agents, size_t count, uint64_t *ret_session);

/* Calls `each` with every subject that exceeds a limit and a text about it. The subjects are
 * sessions and, as "sessions", their file system. Measures only if a limit is set. */
typedef void usage_finding(const char *subject, const char *what, void *arg);
void usage_find_over(const struct root *root, const struct config *config,
                     const struct usage_options *options, size_t count, usage_finding *each,
                     void *arg);

/* Fails with MAS_FAILED if writing `bytes` more would leave less on the file system of sessions/
 * than [limits] free requires. The text gives the available and the required space. */
int usage_check_room(const struct root *root, const struct config *config, uint64_t bytes,
                     struct err *err);
/* Fails if a new session of this template would exceed a limit. `limits` are those that the caller
 * has set for it; NULL: none. Measures the template only if a limit is set. */
int usage_check_new(const struct root *root, const struct config *config,
                    const struct template *tmpl, enum mode mode,
                    const struct session_limits *limits, struct err *err);
