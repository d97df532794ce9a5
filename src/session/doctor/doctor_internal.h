/*
 * Shared by the parts of session/doctor/doctor.h: doctor.c checks the root, doctor_session.c one
 * session, and all of them say what they found by doctor_found.c.
 */
#pragma once

#include "client/survey.h"
#include "session/doctor/doctor.h"

struct doctor {
    const struct root *root;
    const struct config *config;
    bool fix;
    doctor_look *look;
    uint64_t memory; /* bytes that are free */
    struct findings *findings;
    bool rows_wrong; /* the index must be rebuilt */
    const struct config *presets; /* with the presets; NULL: they cannot be read */
    struct doctor_wants { /* of this machine, by sessions and settings */
        bool walls; /* some agent has one */
        bool none; /* some agent has none, because nobody has asked for it */
        bool asked; /* somebody has asked for them, and not only its preset needs one */
        unsigned limits; /* bits of enum cgroup_limit */
        struct err network; /* why an agent's list of hosts cannot be held; MAS_OK: it can */
    } wants;
};

/* Adds a finding. */
void doctor_add(struct doctor *doctor, enum finding_state state, const char *subject,
                const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Reports a problem that --fix repairs. `mended` is the result of the attempt: 0, or -1 with the
 * reason in *why. */
void doctor_mend(struct doctor *doctor, const char *subject, const char *what, int mended,
                 const struct err *why);
/* Checks the type and mode of one entry, and with --fix corrects the mode. */
void doctor_check_mode(struct doctor *doctor, const char *subject, int dir, const char *name,
                       mode_t want);
/* Reports a file that an interrupted write left, and with --fix removes it. No process writes it
 * now, because the lock is held. */
void doctor_check_left(struct doctor *doctor, const char *subject, int dir, const char *name);
/* Renames a damaged file to <name>.broken-<time>; a missing file is success. */
int doctor_put_aside(int dir, const char *name, struct err *err);
/* Rewrites damaged metadata (--fix) from its valid lines and from what else is known about the
 * session. Adds every value that it had to assume to *what. */
int doctor_rebuild_session(const struct doctor *doctor, int dir, const struct view *view,
                           struct str *what, struct err *err);
/* Checks the repositories of a session that has a project. */
void doctor_check_code(struct doctor *doctor, int dir, const char *id);
/* Tells if a session has no walls, or needs more memory than is free if `stopped`; finds out what
 * is missing for those that ask for walls. */
void doctor_check_wall(struct doctor *doctor, int dir, const char *id, bool stopped);
void doctor_check_machine(struct doctor *doctor);
/* Checks prompts at set times: their files, and the timer that runs them. */
void doctor_check_every(struct doctor *doctor);
/* Looks for what killed hosts have left outside of the root. */
void doctor_check_remains(struct doctor *doctor, const struct survey *survey);
/* Tells how much of the transcripts of running agents mas does not know. */
void doctor_check_told(struct doctor *doctor, const struct survey *survey);
/* Checks everything in a session that has a workspace. */
void doctor_check_session(struct doctor *doctor, const struct view *view);
