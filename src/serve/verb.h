/*
 * Runs verbs of mas, for workers. Every change is made by `mas` in its own process. So it means the
 * same as on a command line, and completes even if this server ends. Which words these may be is in
 * the table of operations.
 */
#pragma once

#include "os/proc.h"

struct operation;
struct operation_values;
struct request;
struct server;

/* Runs the command of the request's operation, at most 30 minutes. `more` has what the request does
 * not: a file, a setting, the id of a new session (NULL: nothing). `input` is its standard input;
 * NULL: that of its parameters. If `ret_out` is not NULL, *ret_out receives its output, at most 8
 * MiB, also on failure; the caller frees it. On failure the error has its exit code and message,
 * with names of parameters in place of options. */
int verb_do(const struct request *request, const struct operation_values *more,
            const struct str *input, struct str *ret_out, struct err *err);

/* Puts `to` in place of words of the command line, which are no words of the API, in the text of an
 * error. */
void verb_reword(struct err *err, const char *from, const char *to);
/* Does so with each option of an operation's command: "cannot use --keep 'x'" is "cannot use the
 * member keep 'x'", or the query. */
void verb_say_params(const struct operation *operation, struct err *err);

/* For verbs that take long. */
struct verb_watch {
    /* Called once the process runs; false: it is killed at once. */
    bool (*on_start)(const struct proc *proc, void *arg);
    void *arg;
};
/* Runs `mas --root ROOT WORD...`. `watch` may be NULL. */
int verb_run_watched(const struct server *server, char *const *words, const struct str *input,
                     const struct verb_watch *watch, struct str *ret_out, struct err *err);
