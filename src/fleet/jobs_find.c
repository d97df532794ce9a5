/*
 * Which job of a session is meant. A word is tried as an id, as a name, as a tmux name and as the
 * beginning of an id, and the first that finds any decides; of several with one name, the one that
 * is live. What Slurm said last is enough for a team that is up; before a job is said to be
 * anything else, Slurm is asked.
 */

#include "fleet/jobs.h"

#include "model/remote.h"
#include "store/session.h"

#include <strings.h>

enum { CANDIDATES = 8 }; /* in a hint */

/* By what a word may mean a session, the best first. */
enum job_match { BY_ID, BY_NAME, BY_TMUX_NAME, BY_BEGINNING, MATCH_COUNT };

static bool matches(const struct batch_job *job, const char *text, enum job_match match)
{
    switch (match) {
    case BY_ID:
        return strcmp(job->id, text) == 0;
    case BY_NAME:
        return strcmp(job->name, text) == 0;
    case BY_TMUX_NAME: { /* which lists show */
        _cleanup_free_ char *name = session_tmux_name(job->id, session_name_digits[0]);
        return strcmp(name, text) == 0;
    }
    case BY_BEGINNING:
    case MATCH_COUNT:
    default:
        return id_could_begin(text) && strncasecmp(job->id, text, strlen(text)) == 0;
    }
}

/* The jobs that match. */
struct matches {
    const struct batch_job *any, *live; /* the last one of each; NULL: none */
    size_t count, lives;
    struct str candidates; /* the first ones, for a hint */
};

static void find_matches(const struct jobs *jobs, const char *text, enum job_match match,
                         struct matches *ret)
{
    for (size_t i = 0; i < jobs->count; i++) {
        const struct batch_job *job = &jobs->list[i];
        if (!matches(job, text, match))
            continue;
        ret->any = job;
        if (slurm_is_live(job->state)) {
            ret->live = job;
            ret->lives++;
        }
        if (ret->count++ < CANDIDATES)
            str_addf(&ret->candidates, "%s%s (%s)", ret->count > 1 ? ", " : "", job->id,
                     slurm_state_name(job->state));
    }
}

static int fail_several(const char *text, const struct matches *found, struct err *err)
{
    (void)err_set(err, MAS_CONFLICT, "cannot find session '%s': %zu jobs match", text,
                  found->count);
    return err_hint(err, "candidates: %s%s", found->candidates.data,
                    found->count > CANDIDATES ? ", ..." : "");
}

int jobs_select(const struct jobs *jobs, const char *text, const struct batch_job **ret,
                struct err *err)
{
    for (enum job_match match = BY_ID; text[0] != '\0' && match < MATCH_COUNT; match++) {
        struct matches found = {.candidates = STR_INIT};
        find_matches(jobs, text, match, &found);
        *ret = found.count == 1                       ? found.any
               : match == BY_NAME && found.lives == 1 ? found.live
                                                      : NULL;
        int rc = *ret == NULL && found.count > 1 ? fail_several(text, &found, err) : 0;
        str_free(&found.candidates);
        if (*ret != NULL || rc == -1)
            return rc;
    }
    (void)err_set(err, MAS_NOT_FOUND, "there is no job of a session '%s'", text);
    return err_hint(err, "list the jobs with: mas list --jobs");
}

/* Finds the job and its record. `now` as for jobs_read(). *ret_now tells whether Slurm was asked.
 */
static int find_record(const char *store, const struct remote *remote, const char *session,
                       bool now, struct batch_job *ret, enum job_phase *ret_phase, bool *ret_now,
                       struct err *err)
{
    _cleanup_jobs_ struct jobs jobs = JOBS_INIT;
    const struct batch_job *job = NULL;

    if (jobs_read(store, now, &jobs, err) == -1 || jobs_select(&jobs, session, &job, err) == -1)
        return -1;
    if (strcmp(job->host, remote->name) != 0)
        return err_set(err, MAS_NOT_FOUND, "there is no session '%s' on host '%s': it is on '%s'",
                       session, remote->name, job->host);
    if (jobs_record(store, job, ret, ret_phase, err) == -1)
        return -1;
    *ret_now = now || jobs.asked == time(NULL);
    return 0;
}

int job_find(const struct config *config, const struct remote *remote, const char *session,
             struct batch_job *ret, bool *ret_up, struct err *err)
{
    _cleanup_job_ struct batch_job job = JOB_INIT;
    const char *store = jobs_store(config, remote);
    enum job_phase phase = JOB_BEGINS;
    bool asked = false;
    bool up = false;

    if (store == NULL) {
        (void)err_set(err, MAS_FAILED, "cannot use host '%s': it has no store", remote->name);
        return err_hint(err, "name a directory on a shared disk: store = DIR in [host %s]",
                        remote->name);
    }
    for (bool now = false; !up && !asked; now = true) {
        job_free(&job);
        if (find_record(store, remote, session, now, &job, &phase, &asked, err) == -1)
            return -1;
        up = job.state == SLURM_RUNNING && phase == JOB_IS_UP;
    }
    if (job.state == SLURM_RUNNING && phase == JOB_ENDS)
        job.state = SLURM_ENDING;
    *ret_up = up;
    *ret = job;
    job = (struct batch_job)JOB_INIT;
    return 0;
}

int job_fail(const struct batch_job *job, const char *session, struct err *err)
{
    _cleanup_str_ struct str state = STR_INIT;
    char number[32] = "";

    if (job->state == SLURM_RUNNING) {
        (void)err_set(err, MAS_CONFLICT,
                      "session '%s' does not run yet: its job %" PRIu64
                      " has begun, and its team is not up",
                      session, job->number);
        return err_hint(err, "wait for it; what it does now: mas logs %s  (all jobs: mas list)",
                        session);
    }
    if (job->number != 0)
        (void)snprintf(number, sizeof number, "s job %" PRIu64, job->number);
    job_put_state(job, &state);
    (void)err_set(err, MAS_CONFLICT, "session '%s' does not run: it%s is %s", session, number,
                  state.data);
    if (!slurm_is_live(job->state) && job->state != SLURM_ENDING)
        return err_hint(err, "run it again from its newest save with: mas new --host %s --id %s",
                        job->host, job->id);
    return err_hint(err, "these work on it in any state: mas show, logs, stop and rm %s", session);
}
