/*
 * Retention: which sessions have had their time, and their removal.
 *
 * Never taken: a session that runs or whose hosts live, one that is younger than the age, one on
 * which another command works, one that is half migrated, one whose tmux server could not be asked.
 * Crashed ones (STATUS says active, tmux says no) only where that is asked for.
 *
 * A session was last used when it was stopped or last did something; one whose metadata is damaged,
 * when the newest of its files in the workspace's top and in logs/ was changed. The choice is made
 * from one survey; what is chosen is looked at again under its lock, and left alone if anything
 * about it has changed.
 */
#ifndef MAS_SESSION_RETENTION_H
#define MAS_SESSION_RETENTION_H

#include "base/err.h"
#include "base/id.h"
#include "client/survey.h"
#include "model/retention_status.h"
#include "session/life.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* What is to go. Sessions that do not run and have one of these statuses are the candidates. */
struct retention {
    unsigned statuses;
    bool by_age;
    bool by_count;
    time_t age; /* those that were last used so many seconds ago */
    size_t keep; /* but the newest of the candidates */
    bool archive; /* first */
};

/* What [retention] says. MAS_USAGE where it says neither age, number nor status. */
int retention_read(const struct config *config, struct retention *ret, struct err *err);

/* A session that is to go; the texts belong to the survey. */
struct candidate {
    const char *id;
    const char *name;
    unsigned status; /* one bit */
    bool damaged; /* its metadata cannot be read */
    time_t used;
    ino_t metadata; /* its .session, see struct view */
    struct timespec written;
};

/* Those that might have to go, if it could be told: their tmux server could not be asked, their
 * metadata could not be read. */
struct retention_unknown {
    size_t count;
    int code; /* of the first, for a struct err */
    const char *why; /* likewise; belongs to the survey */
};

/* Those of a survey that are to go, oldest first; the caller frees *ret. */
size_t retention_choose(const struct root *root, const struct survey *survey,
                        const struct retention *options, time_t now, struct candidate **ret,
                        struct retention_unknown *ret_unknown);

/* When a session whose metadata is damaged was last used, by its files; false: not known. */
bool retention_guess_used(int dir, time_t *ret);

enum retention_fate {
    RETENTION_REMOVED, /* or would be */
    RETENTION_LOCKED, /* left: another command works on it, or its hosts live */
    RETENTION_CHANGED, /* left: it was started or removed meanwhile; not told */
    RETENTION_FAILED,
};

struct retention_result {
    const struct candidate *session;
    enum retention_fate fate;
    uint64_t freed; /* bytes */
    char *archive; /* path; NULL: none */
    struct err err; /* of a failure; code MAS_OK: none */
};
/* Told of each in turn. */
typedef void retention_tell(const struct retention_result *result, void *arg);

/* Removes them, or only tells what it would do. What fails for one session is told and stops no
 * other; -1 is for what stops all. life->tick may give up between sessions. */
int retention_run(const struct life *life, const struct retention *options, bool dry_run,
                  retention_tell *tell, void *arg, struct err *err);

#endif
