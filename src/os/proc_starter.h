/*
 * A process that starts programs for another one, which then may give that up by a filter of system
 * calls: a filter, and no_new_privs, hold for all that a process starts.
 *
 *     struct proc_starter starter = {.accepts = accepts, .arg = &rules};
 *     if (proc_starter_fork(&starter, err) == -1) ...      before there are threads
 *     proc_start_by(starter.socket);
 *     ... proc_start() works as before ...
 *     proc_starter_end(&starter);
 *
 * The starter inherits the environment, the current directory, standard error and `keep`; what it
 * starts gets its three standard files from the one that asks. It believes nothing: `accepts` sees
 * each program and its arguments, at most PROC_STARTER_REQUEST_MAX bytes, and there are at most
 * PROC_STARTER_PROGRAMS_MAX programs at once. It ends when the process that forked it ends, however
 * that happens; the programs go on. They can be ended and interrupted only by the one that asked
 * for them.
 *
 * On the socket, for proc*.c: a request is one packet, the path and the arguments, each with its
 * NUL, and the descriptors of enum proc_starter_fd. The answers come on PROC_STARTER_ANSWERS: first
 * a struct proc_starter_answer with 0 and the pid, or errno; at the end of the program one with its
 * status as from waitpid(). In the other direction goes the number of a signal (int): SIGINT or
 * SIGKILL.
 */
#pragma once

#include "os/proc.h"

enum {
    PROC_STARTER_REQUEST_MAX = 128 << 10,
    PROC_STARTER_WORDS_MAX = 512,
    PROC_STARTER_PROGRAMS_MAX = 128,
    PROC_STARTER_KEEP_MAX = 4,
};

enum proc_starter_fd { /* which descriptor of a request is what */
                       PROC_STARTER_IN,
                       PROC_STARTER_OUT,
                       PROC_STARTER_ERR,
                       PROC_STARTER_ANSWERS,
                       PROC_STARTER_FDS,
};

struct proc_starter_answer {
    int error; /* errno of the start; 0: it runs, or has ended */
    int value; /* its pid, or its status */
};

struct proc_starter {
    /* Decides in the starter. spec->file and spec->argv, which is never empty, are as asked for,
     * everything else is zero and cwd -1. Returns false to refuse it (EPERM); otherwise sets the
     * environment and the directory. */
    bool (*accepts)(struct proc_spec *spec, void *arg);
    void *arg;
    const char *name; /* the kernel's name of the process, at most 15 bytes */
    int keep[PROC_STARTER_KEEP_MAX]; /* descriptors that `accepts` needs, above 2 */
    size_t keep_count;
    /* Set by proc_starter_fork(): */
    pid_t pid;
    int socket; /* readable when the starter has ended */
};

int proc_starter_fork(struct proc_starter *starter, struct err *err);
/* Ends the starter and waits for that. */
void proc_starter_end(struct proc_starter *starter);
