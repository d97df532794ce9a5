/*
 * Disk use of sessions: what their files hold, and what they really take; and the limits that
 * [limits] of mas.ini sets to that.
 *
 * A session's own figures say what it takes by itself, each file with several names and each piece
 * of the disk that files share counted once; so the sum of several sessions may be more than what
 * they take together, which is the total. What nobody outside of a session shares is its own: that
 * much comes back, at least, when it is removed.
 */
#ifndef MAS_STORE_USAGE_H
#define MAS_STORE_USAGE_H

#include "base/err.h"
#include "base/tree.h"
#include "store/config.h"
#include "store/root.h"
#include "store/session.h"
#include "store/template.h"

#include <stddef.h>
#include <stdint.h>

enum usage_part { USAGE_WORKFLOWS, USAGE_LOGS, USAGE_MEMORY, USAGE_OTHER, USAGE_PARTS };

/* What a session takes. The parts of it and its units make up all of it; what several of them
 * share is with the first one. */
struct usage {
    struct tree_size all;
    uint64_t own;
    struct usage_unit {
        char *agent;
        struct tree_size size;
    } * units; /* by name */
    size_t unit_count;
    struct tree_size parts[USAGE_PARTS];
};

#define USAGE_INIT                                                                                 \
    {                                                                                              \
        .units = NULL                                                                              \
    }

struct usage_options {
    const char *id; /* or another name in sessions/: SNAPSHOTS_DIR */
    enum mode mode; /* in legacy mode unit/ and workflows/ of the root are part of it */
};

/* Measures sessions, on up to two threads. `ret` has room for `count`; each is released with
 * usage_free(). *ret_total is what they take together, without parts; NULL: not asked. What cannot
 * be read is in size.skipped. */
void usage_measure(const struct root *root, const struct usage_options *wishes, size_t count,
                   struct usage *ret, struct usage *ret_total);
void usage_free(struct usage *usage);
#define _cleanup_usage_ __attribute__((cleanup(usage_free)))

/* Words for a session that takes more than [limits] session says; NULL where it does not. The
 * caller frees. */
char *usage_over(const struct config *config, const struct usage *usage);

/* Calls `each` with what is over a limit, and with words for that: sessions and, as "sessions", the
 * file system that they are on. Measures only where there is a limit. */
typedef void usage_finding(const char *subject, const char *what, void *arg);
void usage_find_over(const struct root *root, const struct config *config,
                     const struct usage_options *wishes, size_t count, usage_finding *each,
                     void *arg);

/* Fails (MAS_FAILED, with how much is there and what is wanted) where writing `bytes` more would
 * leave less on the file system of sessions/ than [limits] free says. */
int usage_check_room(const struct root *root, const struct config *config, uint64_t bytes,
                     struct err *err);
/* Fails where a session of this template would be over a limit from the start. Measures the
 * template only where there is a limit. */
int usage_check_new(const struct root *root, const struct config *config,
                    const struct template *tmpl, enum mode mode, struct err *err);

#endif
