/*
 * Runs verbs of mas, for workers. Every change is made by `mas` in its own process. So it means the
 * same as on a command line, and completes even if this server ends. Which verbs and options these
 * may be is in serve/starter.c.
 */
#ifndef MAS_SERVE_VERB_H
#define MAS_SERVE_VERB_H

#include "base/err.h"
#include "base/proc.h"

struct server;

/* Runs `mas --root ROOT WORD...`, at most 30 minutes. `input` NULL: none. If `ret_out` is not NULL,
 * *ret_out receives its output, at most 8 MiB, also on failure; the caller frees it. On failure the
 * error has its exit code and message. */
int verb_run(const struct server *server, const char *const *words, const struct str *input,
             struct str *ret_out, struct err *err);

/* Puts `to` in place of words of the command line, which are no words of the API, in the text of an
 * error. */
void verb_reword(struct err *err, const char *from, const char *to);

/* For verbs that take long. */
struct verb_watch {
    /* Called once the process runs; false: it is killed at once. */
    bool (*on_start)(const struct proc *proc, void *arg);
    void *arg;
};
/* Like verb_run(). `watch` may be NULL. */
int verb_run_watched(const struct server *server, const char *const *words, const struct str *input,
                     const struct verb_watch *watch, struct str *ret_out, struct err *err);

#endif
