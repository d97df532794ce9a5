/*
 * The record of a session that was submitted to Slurm: the file `job` in <store>/<id>/, in shell
 * format (base/kv.h). It is written before the job is submitted, so that nothing that Slurm has was
 * forgotten, and says everything that is needed to submit the job again.
 *
 * <store> is a directory on a disk that the front and the nodes share. It and <store>/<id>/ must
 * belong to this user, and nobody else may write there: the record names programs.
 *
 * The job itself writes what has become of the session into the file `run` beside it
 * (job_run_save()), and Slurm what it prints into `output`. job_save() holds job.lock, before and
 * after the submission. <store>/.jobs/answer is what Slurm said last of the store's jobs: a cache,
 * except for jobs that Slurm has forgotten, under `lock` beside it (fleet/jobs.h).
 */
#pragma once

#include "base/id.h"
#include "base/json.h"
#include "fleet/slurm.h"

#define JOB_FILE "job"
#define JOB_LOCK "job.lock" /* held while the job is submitted */
#define JOB_RUN "run"
#define JOB_OUTPUT "output" /* what the job prints */

struct batch_job {
    char id[ID_TEXT]; /* of the session */
    char *host; /* the name of the remote */
    char *name, *template; /* of the session; "" if there is none */
    time_t submitted;
    uint64_t number; /* of the job; 0: not known */
    uint64_t chain; /* how many jobs may follow each other; 0: any number */
    uint64_t link; /* which of them it is, from 1; 0: there is no chain */
    /* what Slurm says of it, see struct slurm_job */
    enum slurm_state state;
    unsigned restarts;
    int exit_code;
    char *node, *reason; /* "" if there is none */
    /* only in the record; otherwise NULL */
    char *partition;
    char *script; /* path */
    char *root; /* of the session on its node */
    char *command; /* the arguments of the script, in the shell's quoting */
    char *options; /* of sbatch, likewise */
};

#define JOB_INIT                                                                                   \
    {                                                                                              \
        .number = 0                                                                                \
    }

/* Opens <store>/<id>, and creates both if `make` is set. Returns a descriptor, which the caller
 * closes, or -1; err->number is ENOENT if it is missing. */
int job_open_dir(const char *store, const char *id, bool make, struct err *err);

/* Reads the record in the directory <store>/<id>. err->number is ENOENT if there is none. The
 * caller releases *ret with job_free(). */
int job_load(int dir, const char *id, struct batch_job *ret, struct err *err);
/* Replaces it. */
int job_save(int dir, const struct batch_job *job, struct err *err);
void job_free(struct batch_job *job);
#define _cleanup_job_ __attribute__((cleanup(job_free)))

/* How a session in a job, or another `mas run` with a store, has ended. */
struct job_run {
    uint64_t number; /* of the job; 0: it was none */
    uint64_t restarts; /* of the job before this time */
    char node[SLURM_NODE_MAX];
    time_t started, ended; /* ended 0: it runs, or was killed */
    char how[64]; /* "idle", "stopped", ... */
};
/* Write and read the file `run`. job_run_load() returns false if there is none that can be read. */
int job_run_save(int dir, const struct job_run *run, struct err *err);
bool job_run_load(int dir, struct job_run *ret);

/* How far a job is that Slurm calls running, by what it has written there. */
enum job_phase {
    JOB_BEGINS, /* it restores or makes the session: its root may be missing */
    JOB_IS_UP, /* the team was started */
    JOB_ENDS, /* the team was stopped and saved; its root may be gone */
};
enum job_phase job_phase(int dir, const struct batch_job *job);

/* Appends what is to be said of a job in a table: "pending: Priority". */
void job_put_state(const struct batch_job *job, struct str *to);
/* Writes the members of a job into an open JSON object. */
void job_put_json(const struct batch_job *job, struct json_out *out);
