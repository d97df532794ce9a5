/*
 * Retention: which sessions to clean up, and their removal. Never removed: a session that runs or
 * whose hosts live, one younger than the age, one on which another command works, one that is half
 * migrated, and one whose tmux server cannot be asked. Crashed sessions (STATUS says active, tmux
 * says no) are removed only on request.
 *
 * The time of last use of a session is when it was stopped or was last active. If its metadata is
 * damaged, it is the newest change of a file at the top of the workspace and in logs/. The
 * selection comes from one survey. Before removal mas checks each selected session again under its
 * lock, and skips it if anything has changed.
 *
 * Steps of a cleaning:
 *
 * 1. Take a survey with every workspace, and choose sessions from it. Read once from /proc which
 *    sessions have processes.
 * 2. For each session of a batch (128; one with archives): take its lock, or skip it. Skip it if
 *    its .session is another file than in the survey or has changed: it was used. A start writes
 *    metadata before anything else, so this covers all sessions except crashed and damaged ones,
 *    for which mas asks tmux again. Skip it if a host lives. End its remaining processes. Archive
 *    it.
 * 3. Under the metadata lock, for the whole batch: remove the rows with one write, rename each <id>
 *    to .trash-<id>, one fsync(2).
 * 4. Delete them, on two threads, then release their locks.
 *
 * A kill leaves of each session what a kill of rm leaves (session/life.h). mas deletes
 * .session.lock last, so that a sweep does not take a session that is being deleted for a leftover.
 * If mas cannot write the index because the disk is full, it removes the index: mas can rebuild it,
 * and the removal frees space.
 */
#pragma once

#include "base/id.h"
#include "client/survey.h"
#include "model/retention_status.h"
#include "session/life.h"

/* The criteria. Candidates are stopped sessions with one of these statuses. */
struct retention {
    unsigned statuses;
    bool by_age;
    bool by_count;
    time_t age; /* seconds since the last use, at least */
    size_t keep; /* but keep this many of the newest candidates */
    bool archive; /* archive before removing */
};

/* Reads [retention]. Fails with MAS_USAGE if it sets neither age, number nor status. */
int retention_read(const struct config *config, struct retention *ret, struct err *err);

/* A session to remove; the survey owns the texts. */
struct retention_candidate {
    const char *id;
    const char *name;
    unsigned status; /* one bit */
    bool damaged; /* its metadata is unreadable */
    time_t used;
    ino_t metadata; /* inode of its .session, see struct view */
    struct timespec written;
};

/* Possible candidates that could not be checked: their tmux server could not be asked, or their
 * metadata could not be read. */
struct retention_unknown {
    size_t count;
    int code; /* of the first one, for a struct err */
    const char *why; /* of the first one; owned by the survey */
};

/* Selects the sessions of a survey to remove, oldest first, and returns their number. The caller
 * frees *ret. */
size_t retention_choose(const struct root *root, const struct survey *survey,
                        const struct retention *options, time_t now,
                        struct retention_candidate **ret, struct retention_unknown *ret_unknown);

/* Determines from its files when a session with damaged metadata was last used. Returns false if
 * that is unknown. */
bool retention_find_used(int dir, time_t *ret);

enum retention_fate {
    RETENTION_REMOVED, /* or would be, in a dry run */
    RETENTION_LOCKED, /* kept: another command works on it, or its hosts live */
    RETENTION_CHANGED, /* kept: started or removed meanwhile; not reported */
    RETENTION_FAILED,
};

struct retention_result {
    const struct retention_candidate *session;
    enum retention_fate fate;
    uint64_t freed; /* bytes */
    char *archive; /* path; NULL: none */
    struct err err; /* of a failure; code MAS_OK: none */
};
/* Called for each session in turn. */
typedef void retention_tell(const struct retention_result *result, void *arg);

/* Removes the selected sessions, or with `dry_run` only reports them. A failure of one session is
 * reported and does not stop the others; -1 is an error that stops all, or sessions that could not
 * be checked. life->tick can stop between sessions. */
int retention_run(const struct life *life, const struct retention *options, bool dry_run,
                  retention_tell *tell, void *arg, struct err *err);
