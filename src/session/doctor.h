/*
 * Finds what is wrong on disk and in tmux, and mends it without losing anything: what has to give
 * way is renamed or saved under lost/ in the root first.
 */
#ifndef MAS_SESSION_DOCTOR_H
#define MAS_SESSION_DOCTOR_H

#include "base/err.h"
#include "store/config.h"
#include "store/root.h"

#include <stdbool.h>
#include <stddef.h>

enum finding_state {
    FINDING_NOTE, /* worth knowing, nothing is wrong */
    FINDING_OPEN, /* wrong; --fix mends it */
    FINDING_HAND, /* wrong; somebody has to decide */
    FINDING_MENDED,
};

struct finding {
    char *subject; /* a session's id, a file, a tmux session */
    char *what; /* what is wrong, and what was or can be done */
    enum finding_state state;
};

struct findings {
    struct finding *items;
    size_t count;
};

/* What is above this floor looks at its own part of each session, whose workspace is open at `dir`
 * and locked. 0: nothing is wrong; 1: what *ret_what says (the caller frees), which with `fix` has
 * been mended; -1: that cannot be mended, or, with *ret_what NULL, not be looked at. */
typedef int doctor_look(int dir, const char *id, bool fix, char **ret_what, struct err *err);

int doctor_run(const struct root *root, const struct config *config, bool fix, doctor_look *look,
               struct findings *ret, struct err *err);
void findings_free(struct findings *findings);

const char *finding_state_name(enum finding_state state);

#endif
