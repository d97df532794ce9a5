/*
 * The jobs of a store: which sessions were submitted from here, and what Slurm says of them.
 *
 * Slurm is asked for all of them at once, and at most every JOBS_ASK_S; in between, and where Slurm
 * does not answer in time, its last answer counts. It is kept in <store>/.jobs/answer, one line a
 * session, so that a list reads one file. Slurm forgets a job minutes after its end; what it said
 * last of a job that has ended is kept there too.
 */
#pragma once

#include "fleet/job.h"
#include "store/config.h"

#define JOBS_DIR ".jobs" /* a directory, so that writing here does not change that of the store */
#define JOBS_FILE "answer"
#define JOBS_LOCK "lock"

enum {
    JOBS_ASK_S = 30,
    JOBS_DISK_MS = 2000, /* for a look at the store */
    JOBS_FILE_MAX = 32 << 20
};

struct jobs {
    struct batch_job *list; /* by session id */
    size_t count;
    time_t asked, answered; /* 0: never */
    char *why; /* why Slurm did not answer when it was asked last; "": it did */
};

#define JOBS_INIT                                                                                  \
    {                                                                                              \
        .count = 0                                                                                 \
    }

/* Returns the directory for saves and records of a remote: its own, or that of [fleet] store; NULL
 * if there is none. The configuration owns it. */
struct remote;
const char *jobs_store(const struct config *config, const struct remote *remote);
/* Returns the stores of all remotes that are reached through Slurm, each once; NULL if there are
 * none. The caller releases the list with strv_free(). */
char **jobs_stores(const struct config *config);

/* Fails with MAS_UNREACHED if the disk of the store does not answer. */
int jobs_check_store(const char *store, struct err *err);
/* Reads the jobs of a store, after that check; with `now`, asks Slurm in any case. A store that
 * does not exist has no jobs. The caller releases *ret with jobs_free(). */
int jobs_read(const char *store, bool now, struct jobs *ret, struct err *err);
/* Lets the next jobs_read() ask Slurm. */
void jobs_forget(const char *store);
void jobs_free(struct jobs *jobs);
#define _cleanup_jobs_ __attribute__((cleanup(jobs_free)))

/* Finds the job of the session that `text` means: an id, a name, a tmux name, or the beginning of
 * an id. Of several with one name, the only one that lives is meant. Fails with MAS_NOT_FOUND, or
 * with MAS_CONFLICT and the candidates in the hint if several match. The job belongs to `jobs`. */
int jobs_select(const struct jobs *jobs, const char *text, const struct batch_job **ret,
                struct err *err);

/* Reads the record of one of the jobs, with what Slurm says of it, and how far it is. The caller
 * releases *ret with job_free(). */
int jobs_record(const char *store, const struct batch_job *job, struct batch_job *ret,
                enum job_phase *ret_phase, struct err *err);

/* Finds the job of a session on a remote. *ret is its record, with what Slurm says of it; *ret_up
 * tells whether its team is up. If it is not, Slurm was asked just now, and a job that saves its
 * session counts as one that ends. Fails with MAS_NOT_FOUND if there is none. */
int job_find(const struct config *config, const struct remote *remote, const char *session,
             struct batch_job *ret, bool *ret_up, struct err *err);
/* Sets the error of a job whose team is not up: MAS_CONFLICT, with Slurm's reason. Returns -1. */
int job_fail(const struct batch_job *job, const char *session, struct err *err);
