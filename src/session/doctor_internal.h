/*
 * What the two parts of session/doctor.h share: what it looks at in the root (doctor.c) and in one
 * session (doctor_session.c).
 */
#ifndef MAS_SESSION_DOCTOR_INTERNAL_H
#define MAS_SESSION_DOCTOR_INTERNAL_H

#include "client/survey.h"
#include "session/doctor.h"

#include <sys/types.h>

struct doctor {
    const struct root *root;
    const struct config *config;
    bool fix;
    doctor_look *look;
    struct findings *findings;
    bool rows_wrong; /* the index has to be written anew */
};

void doctor_add(struct doctor *doctor, enum finding_state state, const char *subject,
                const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Reports something that --fix mends; `mended` says how trying went: 0, or -1 with *why. */
void doctor_mend(struct doctor *doctor, const char *subject, const char *what, int mended,
                 const struct err *why);
/* Checks one entry's type, and its mode, which it sets. */
void doctor_check_mode(struct doctor *doctor, const char *subject, int dir, const char *name,
                       mode_t want);
/* A file that an interrupted write left; nobody writes it now, since the lock is held. */
void doctor_check_left(struct doctor *doctor, const char *subject, int dir, const char *name);
/* Keeps a damaged file under another name. */
int doctor_put_aside(int dir, const char *name, struct err *err);
/* Writes damaged metadata anew, with --fix: what is whole of it, and what else is known of the
 * session. What has to be guessed is added to *what. */
int doctor_rebuild_session(const struct doctor *doctor, int dir, const struct view *view,
                           struct str *what, struct err *err);
/* All of one session that has a workspace. */
void doctor_check_session(struct doctor *doctor, const struct view *view);

#endif
