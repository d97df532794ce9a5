/*
 * Sessions that run as jobs of Slurm, for the verbs that ask all machines: each has a root of its
 * own on its node, and is asked by a step of its job.
 *
 * A step costs this machine about 10 ms of CPU and the controller of Slurm some of its locks, so at
 * most FLEET_JOBS_MAX are asked, at the same time as the machines and for as long. Of the others it
 * is said how many they are; so it is of those whose team is not up yet. Which jobs run is what the
 * list of jobs says (fleet/jobs.h); a Slurm that does not answer has no steps either, and its jobs
 * are not asked.
 */
#pragma once

#include "fleet/jobs.h"
#include "fleet/reach.h"
#include "model/remote.h"
#include "store/config.h"

enum {
    FLEET_JOBS_MAX = 64,
    FLEET_JOB_ANSWER_MAX = 2 << 20, /* bytes */
    FLEET_JOBS_AGAIN_MS = JOBS_ASK_S * 1000, /* between two times that `top` asks them */
};

/* A job that is asked. */
struct fleet_job {
    struct batch_job record;
    struct remote node; /* its remote, with the session's root; the configuration owns the texts */
    char number[24];
    struct reach_ask ask;
};

/* A partition of which something is to be said. */
struct fleet_partition {
    const struct remote *remote;
    char *why; /* why Slurm does not answer; NULL: it does */
    size_t running, asked;
    size_t begun; /* jobs whose team is not up yet */
    char *next; /* the first that is not asked: its name or id; NULL: there is none */
};

struct fleet_jobs {
    struct fleet_job *list;
    size_t count;
    struct fleet_partition *partitions;
    size_t partition_count;
    int64_t asked_ms; /* time_monotonic_ms(); 0: never */
    int64_t from_ms, to_ms; /* time_epoch_ms() of the asking */
};

#define FLEET_JOBS_INIT                                                                            \
    {                                                                                              \
        .count = 0                                                                                 \
    }

/* Finds the running jobs of all partitions and makes what asks them, in at most `room` steps.
 * `words`, the verb that they are asked, has to live as long as *ret. The caller releases *ret with
 * fleet_jobs_free(). */
void fleet_jobs_find(const struct config *config, size_t room, char *const *words, int timeout_ms,
                     struct fleet_jobs *ret);
/* Returns the name of a job's session, or its id. */
const char *fleet_job_label(const struct batch_job *job);
void fleet_jobs_free(struct fleet_jobs *jobs);
