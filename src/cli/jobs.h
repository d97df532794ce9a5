/*
 * Sessions that run, or wait to run, as jobs of Slurm: their part of `mas list`, and what other
 * verbs do with one that is not in this root.
 */
#pragma once

#include "base/json.h"
#include "cmd.h"
#include "fleet/jobs.h"

/* The jobs of all stores that the settings name. */
struct all_jobs {
    struct stored_jobs {
        char *store;
        struct jobs jobs;
    } * stores;
    size_t count;
};

#define ALL_JOBS_INIT                                                                              \
    {                                                                                              \
        .stores = NULL                                                                             \
    }

/* Reads them, and warns about what cannot be read and about a Slurm that does not answer. The
 * caller releases *ret with all_jobs_free(). */
void all_jobs_read(const struct call *call, struct all_jobs *ret);
void all_jobs_free(struct all_jobs *all);
#define _cleanup_all_jobs_ __attribute__((cleanup(all_jobs_free)))

/* Prints a table of them, after a blank line if `more` is set. Returns false if there are none. */
bool all_jobs_print(const struct call *call, const struct all_jobs *all, bool more);
/* Prints the ids of their sessions. */
void all_jobs_print_ids(const struct call *call, const struct all_jobs *all);
/* Writes the member "jobs"; if no host is reached through Slurm, only with `always`. */
void all_jobs_put_json(const struct call *call, const struct all_jobs *all, bool always,
                       struct json_out *out);

/* After the same: acts on the job as the verb does (cmd->job), and *err is only about that. Returns
 * -1 and leaves *err as it is if the verb acts on no jobs, or there is none. */
int all_jobs_act(const struct call *call, const char *text, struct err *err);

/* After the same, for a verb that does not look for jobs: if `text` names one, the hint says how to
 * reach it. Returns -1. */
int all_jobs_hint(const struct call *call, const char *text, struct err *err);

/* `mas show`, `stop`, `rm` and `logs` of a job. */
int job_show(const struct call *call, const char *store, const struct batch_job *job,
             struct err *err);
int job_stop(const struct call *call, const char *store, const struct batch_job *job,
             struct err *err);
int job_remove(const struct call *call, const char *store, const struct batch_job *job,
               struct err *err);
int job_print_logs(const struct call *call, const char *store, const struct batch_job *job,
                   struct err *err);
