#include "cli/all_hosts_jobs.h"

const char *fleet_job_label(const struct batch_job *job)
{
    return job->name[0] != '\0' ? job->name : job->id;
}

/* Adds a job to those that are asked, if its team is up. Returns how far it is: JOB_ENDS, too, if
 * there is no record of it any more. */
static enum job_phase add_job(const struct remote *remote, const char *store,
                              const struct batch_job *job, struct fleet_jobs *to)
{
    struct fleet_job added = {.node = *remote};
    enum job_phase phase = JOB_ENDS;
    struct err ignored = ERR_INIT;

    if (jobs_record(store, job, &added.record, &phase, &ignored) == -1)
        return JOB_ENDS;
    if (phase != JOB_IS_UP) {
        job_free(&added.record);
        return phase;
    }
    added.node.root = added.record.root;
    (void)snprintf(added.number, sizeof added.number, "%" PRIu64, job->number);
    to->list = mem_room(to->list, to->count, sizeof *to->list);
    to->list[to->count++] = added;
    return phase;
}

static void add_partition(const struct remote *remote, const char *store, size_t room,
                          struct fleet_jobs *to)
{
    struct fleet_partition part = {.remote = remote};
    _cleanup_jobs_ struct jobs jobs = JOBS_INIT;
    struct err why = ERR_INIT;

    if (jobs_read(store, false, &jobs, &why) == -1)
        part.why = mem_dup(why.text);
    else if (jobs.why[0] != '\0')
        part.why = mem_dup(jobs.why);
    for (size_t i = 0; i < jobs.count; i++) {
        const struct batch_job *job = &jobs.list[i];
        if (job->state != SLURM_RUNNING || strcmp(job->host, remote->name) != 0)
            continue;
        if (part.why == NULL && to->count < room) {
            enum job_phase phase = add_job(remote, store, job, to);
            part.running += phase == JOB_IS_UP;
            part.asked += phase == JOB_IS_UP;
            part.begun += phase == JOB_BEGINS;
            continue;
        }
        part.running++;
        if (part.next == NULL)
            part.next = mem_dup(fleet_job_label(job));
    }
    if (part.why == NULL && part.next == NULL && part.begun == 0)
        return;
    to->partitions = mem_room(to->partitions, to->partition_count, sizeof *to->partitions);
    to->partitions[to->partition_count++] = part;
}

void fleet_jobs_find(const struct config *config, size_t room, char *const *words, int timeout_ms,
                     struct fleet_jobs *ret)
{
    *ret = (struct fleet_jobs)FLEET_JOBS_INIT;
    room = room < FLEET_JOBS_MAX ? room : FLEET_JOBS_MAX;
    for (size_t i = 0; i < config->remote_count; i++) {
        const struct remote *remote = &config->remotes[i];
        const char *store = remote->via == REMOTE_SLURM ? jobs_store(config, remote) : NULL;
        if (store != NULL)
            add_partition(remote, store, room, ret);
    }
    for (size_t i = 0; i < ret->count; i++) /* the list does not move any more */
        ret->list[i].ask = (struct reach_ask){.command = {.remote = &ret->list[i].node,
                                                          .job = ret->list[i].number,
                                                          .words = words,
                                                          .greet = true},
                                              .output_max = FLEET_JOB_ANSWER_MAX,
                                              .timeout_ms = timeout_ms};
}

void fleet_jobs_free(struct fleet_jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++) {
        job_free(&jobs->list[i].record);
        reach_ask_free(&jobs->list[i].ask);
    }
    for (size_t i = 0; i < jobs->partition_count; i++) {
        free(jobs->partitions[i].why);
        free(jobs->partitions[i].next);
    }
    free(jobs->list);
    free(jobs->partitions);
    *jobs = (struct fleet_jobs)FLEET_JOBS_INIT;
}
