/*
 * Submitting a session to Slurm: `mas new --host` and the end of a job that wants another one.
 *
 * The session is made here, as any other, but stopped. Then it moves into the store as its first
 * save, and the job restores it there (`mas run`). So what a person gives for the session, such as
 * first messages, passes through no argument and no script, and what is wrong with it is told at
 * once.
 *
 * 1. Make the session in this root, stopped.
 * 2. Archive it in <store>/<id>/ and remove it here, under one lock.
 * 3. Under <store>/<id>/job.lock: write the record (fleet/job.h).
 * 4. Look whether Slurm has a live job with this comment. If not, submit one. Without an answer,
 *    look again.
 * 5. Write the job's number into the record.
 *
 * Killed before 2, a stopped session is left in the root; before 4, a save without a job. Run with
 * the same id again, each goes on where it was. Killed in 4 or before 5, Slurm may have the job: it
 * is found by its comment. So there is never a second one.
 *
 * A job that is to go on elsewhere (SIGUSR1) submits the next one from inside, which waits for its
 * end (--dependency=singleton): Slurm lets a job that is requeued wait for 121 s, and a new one not
 * at all. `scontrol requeue` is what is left where nodes may not submit. In a chain with an end
 * (--chain) the next job is counted in the record before it is submitted: a kill in between ends
 * the chain early. Jobs that Slurm itself puts back do not count.
 */
#pragma once

#include "fleet/job.h"
#include "model/remote.h"
#include "session/life.h"

struct submit_size {
    uint64_t cpus, gpus; /* 0: as Slurm does */
    uint64_t memory; /* bytes; 0: likewise */
    uint64_t time_s; /* seconds; 0: likewise */
    const char *idle; /* --idle of `mas run`; NULL: none */
    uint64_t chain; /* jobs that may follow each other; 0: any number */
};

struct submit {
    const struct remote *remote;
    const char *store;
    struct submit_size size;
    const struct life_options *options; /* of the session; with an id */
};

/* Submits a session. *ret_was tells whether it was submitted already, and its job waits or runs.
 * The caller releases *ret with job_free(). */
int submit_new(const struct life *life, const struct submit *submit, struct batch_job *ret,
               bool *ret_was, struct err *err);

/* What follows a job that is about to end. */
struct submit_next {
    uint64_t number; /* of the next job */
    uint64_t chain; /* as in struct batch_job */
    bool last; /* no other job may follow: the chain ends, or could not be counted */
};

/* Submits the job of a session again, from inside of that job, which is about to end. At the end of
 * a chain it submits nothing. */
int submit_again(const char *store, const char *id, struct submit_next *ret, struct err *err);

/* Cancels the job of a session. With `forget`, removes all that the store has of it, too. */
int submit_cancel(const char *store, const struct batch_job *job, bool forget, struct err *err);
