/*
 * A session in the foreground: what a job of Slurm runs, or a service of systemd, or a person in a
 * terminal. See `mas run` in mas(1).
 *
 * 1. Have the session: the one in the root, or the newest save in the store, or a new one. A store
 *    whose newest save is of a later epoch than the session in the root has been written by another
 *    machine, and then the session in the root is old.
 * 2. Start it, unless it runs.
 * 3. Wait for what happens: agents that end or become idle, signals, the time of the next save.
 * 4. Stop it and save it, except after a takeover by another machine.
 *
 * Killed in 1 or 2, nothing is lost: the store has what it had. Killed in 3 or 4, the session is as
 * after a crash, and the store has a save that is at most [fleet] save old.
 *
 * Without a store nothing is saved. The signals of run_signals() are blocked before step 1 and read
 * from a descriptor, so one that comes early is not lost.
 */
#pragma once

#include "session/life.h"

enum run_end {
    RUN_AGENTS_ENDED,
    RUN_IDLE, /* for as long as --idle says */
    RUN_STOPPED, /* SIGTERM, SIGINT or SIGHUP */
    RUN_REQUEUED, /* SIGUSR1 in a job: the session goes on in another job */
    RUN_LAST, /* likewise, but no other job may follow */
    RUN_END_COUNT
};

struct run {
    const struct life *life; /* without a tick */
    const struct life_options *options; /* of a new session; with an id */
    const char *store; /* NULL: none */
    int idle_ms; /* 0: no limit */
    int save_ms; /* between saves */
    bool scratch; /* an old session in the root may be replaced */
    /* Gets a line for people about each step. */
    void (*say)(const char *line, void *arg);
    void *arg;
};

/* Runs a session to its end. *ret_end says why it ended. Fails if the session could not be started,
 * with MAS_CONFLICT if another machine has taken it over, and with MAS_FAILED if it ended but could
 * not be saved, or if all agents have crashed. */
int run_session(const struct run *run, enum run_end *ret_end, struct err *err);

/* Blocks the signals that run_session() reads. Call it first. */
void run_block_signals(void);
