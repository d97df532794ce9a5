/*
 * Finds damage on disk and in tmux and repairs it without losing data: before a repair replaces or
 * removes something, mas renames it or saves it under lost/ in the root.
 */
#pragma once

#include "store/config.h"
#include "store/root.h"

enum finding_state {
    FINDING_NOTE, /* information; nothing is wrong */
    FINDING_OPEN, /* wrong; --fix repairs it */
    FINDING_HAND, /* wrong; the user must decide */
    FINDING_MENDED,
};

struct finding {
    char *subject; /* a session id, a file, or a tmux session */
    char *what; /* what is wrong, and what was done or can be done */
    enum finding_state state;
};

struct findings {
    struct finding *items;
    size_t count;
};

/* Lets a higher layer check its own part of a session, whose workspace is open at `dir` and locked.
 * Returns 0 if nothing is wrong; 1 if *ret_what (the caller frees it) describes a problem, which
 * with `fix` is now repaired; -1 if that problem cannot be repaired or, with *ret_what NULL, the
 * part cannot be checked. */
typedef int doctor_look(int dir, const char *id, bool fix, char **ret_what, struct err *err);

/* Checks the root and all sessions and, with `fix`, repairs them. Returns -1 if the check itself
 * cannot continue. The caller releases *ret with findings_free() in any case. */
int doctor_run(const struct root *root, const struct config *config, bool fix, doctor_look *look,
               struct findings *ret, struct err *err);
void findings_free(struct findings *findings);

/* Returns the name of a state for output. */
const char *finding_state_name(enum finding_state state);
