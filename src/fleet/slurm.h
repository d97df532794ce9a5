/*
 * The words for Slurm: sbatch, squeue, scancel and scontrol, and what they print. Nothing else in
 * mas knows them.
 *
 * A session that runs as a job is found by the job's comment, "mas:<id>", which mas chooses before
 * it submits the job. So mas knows its jobs even if the answer of sbatch was lost.
 *
 * What these programs print is bounded, and parsed strictly: a line of squeue that has not exactly
 * the form that mas asks for, or another comment, is not about a session. Each call has a time
 * limit (MAS_TIMEOUT), because they wait long for a controller that is down. Their environment has
 * only what they need, so that nothing of the caller's reaches Slurm's records.
 */
#pragma once

#include "base/id.h"

enum {
    SLURM_LIST_MS = 2000, /* for squeue, where a person waits for a list */
    SLURM_CALL_MS = 20000, /* for the others, and for squeue before a submission */
    SLURM_OUTPUT_MAX = 16 << 20, /* bytes of squeue */
    SLURM_JOBS_MAX = 20000, /* jobs of sessions; more are left out */
    SLURM_REASON_MAX = 256, /* bytes */
    SLURM_NODE_MAX = 64, /* bytes */
    SLURM_CLUSTER_MAX = 64,
};

/* What has become of a job. */
enum slurm_state {
    SLURM_UNKNOWN, /* Slurm was not asked yet, or uses another word */
    SLURM_PENDING,
    SLURM_HELD, /* pending until somebody releases it */
    SLURM_REQUEUED, /* pending, after it ran */
    SLURM_STARTING,
    SLURM_RUNNING,
    SLURM_SUSPENDED,
    SLURM_ENDING,
    SLURM_ENDED,
    SLURM_CANCELLED,
    SLURM_FAILED,
    SLURM_TIMED_OUT,
    SLURM_NO_MEMORY,
    SLURM_NODE_FAILED,
    SLURM_PREEMPTED,
    SLURM_GONE, /* Slurm does not know it any more */
    SLURM_STATE_COUNT
};

struct slurm_job {
    char id[ID_TEXT]; /* of the session */
    uint64_t number; /* of the job */
    enum slurm_state state;
    unsigned restarts;
    int exit_code; /* of a job that has ended; 128 + signal */
    char node[SLURM_NODE_MAX]; /* "" if it has none */
    char reason[SLURM_REASON_MAX]; /* Slurm's word, such as "Priority"; "" if there is none */
};

/* Returns the word for a state, as tables and JSON have it: "pending", "out of memory". */
const char *slurm_state_name(enum slurm_state state);
/* The reverse; returns false for an unknown word. */
bool slurm_state_parse(const char *word, enum slurm_state *ret);
/* Returns true if a job in this state has begun and not ended, or will begin. */
bool slurm_is_live(enum slurm_state state);
/* Returns true if the job ended in another way than by itself or by a person. */
bool slurm_has_failed(enum slurm_state state);

/* Parses what squeue prints. Of several jobs of one session, the live one counts, else the newest.
 * *ret is sorted by session id; the caller frees it. */
void slurm_parse_jobs(const char *text, size_t len, struct slurm_job **ret, size_t *ret_count);
/* Returns the job of a session in such an array, or NULL. */
const struct slurm_job *slurm_find(const struct slurm_job *jobs, size_t count, const char *id);
/* Parses what `sbatch --parsable` prints; returns false for anything else. *cluster is the name
 * that follows the number, "" if there is none. */
bool slurm_parse_number(const char *text, uint64_t *ret, char cluster[SLURM_CLUSTER_MAX]);

/* Asks for all jobs of this user that belong to sessions. Fails with MAS_TIMEOUT if Slurm does not
 * answer in time. `but` is a job that is left out (0: none). The caller frees *ret. */
int slurm_jobs(int timeout_ms, uint64_t but, struct slurm_job **ret, size_t *ret_count,
               struct err *err);

struct slurm_submission {
    const char *id; /* of the session */
    const char *partition;
    const char *output; /* path of the job's output */
    const char *script;
    const char *const *argv; /* of the script, NULL-terminated */
    char *const *options; /* more options of sbatch, NULL-terminated; NULL: none */
};
/* Submits a job. It begins only when no other job of the session runs. Fails with MAS_TIMEOUT if
 * there is no answer, so that there may be a job; with MAS_FAILED if Slurm refuses it, or gave it
 * to a cluster whose jobs slurm_jobs() does not have; such a job is cancelled. */
int slurm_submit(const struct slurm_submission *submission, uint64_t *ret, struct err *err);

/* Ends a job, or takes it out of the queue. A job that has ended, or that Slurm does not know any
 * more, is no error. */
int slurm_cancel(uint64_t number, struct err *err);
/* Puts a running job back into the queue, where it waits for about two minutes. */
int slurm_requeue(uint64_t number, struct err *err);
/* Returns the number of the job that this process is part of; 0: none. */
uint64_t slurm_own_job(void);
/* Returns how often that job was put back into the queue before it began this time. */
unsigned slurm_own_restarts(void);
