/*
 * Both files lie on a disk that machines share, so nothing in them is read before their directories
 * are known to be this user's alone. They are replaced as a whole: a kill leaves the old or the new
 * one. A record with a fault is an error, since a job would be submitted from it; a `run` with one
 * counts as missing.
 */

#include "fleet/job.h"

#include "base/file.h"
#include "base/kv.h"
#include "base/path.h"
#include "base/time.h"
#include "model/setting.h"
#include "store/lease.h"

/* Fails if somebody else could change what is in a directory. */
static int check_owner(int dir, const char *path, struct err *err)
{
    struct stat st;

    if (fstat(dir, &st) == -1)
        return err_errno(err, "cannot use '%s'", path);
    if (st.st_uid != geteuid())
        return err_set(err, MAS_FAILED, "cannot use '%s': it belongs to another user", path);
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return err_set(err, MAS_FAILED, "cannot use '%s': others may write to it", path);
    return 0;
}

int job_open_dir(const char *store, const char *id, bool make, struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", store, id);

    if (make && access(store, F_OK) == -1) {
        _cleanup_free_ char *parent = mem_dup(store);
        char *slash = strrchr(parent, '/');
        if (slash != NULL && slash != parent)
            *slash = '\0';
        if (path_make_dirs(parent, err) == -1)
            return -1;
        if (mkdir(store, 0700) == -1 && errno != EEXIST)
            return err_errno(err, "cannot create the store '%s'", store);
    }
    _cleanup_close_ int top = lease_open_store(store, err);
    if (top == -1)
        return -1;
    if (check_owner(top, store, err) == -1)
        return -1;
    if (make && mkdirat(top, id, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot create '%s'", path);
    int dir = path_open_dir(top, id);
    if (dir == -1)
        return err_errno(err, "cannot open '%s'", path);
    if (check_owner(dir, path, err) == 0)
        return dir;
    (void)close(dir);
    return -1;
}

static char *text_of(const struct kv *kv, const char *key)
{
    const char *text = kv_get(kv, key);
    return mem_dup(text != NULL ? text : "");
}

static int parse(const char *id, const struct kv *kv, struct batch_job *ret, struct err *err)
{
    const char *own = kv_get(kv, "SESSION_ID");
    const char *when = kv_get(kv, "SUBMITTED_AT");
    const char *number = kv_get(kv, "JOB");
    struct batch_job job = JOB_INIT;

    if (own == NULL || strcmp(own, id) != 0)
        return err_set(err, MAS_DAMAGED, "it is about another session");
    if (when == NULL || !time_parse(when, &job.submitted))
        return err_set(err, MAS_DAMAGED, "SUBMITTED_AT is not a time");
    if (number == NULL || !setting_parse_count(number, UINT32_MAX, &job.number))
        return err_set(err, MAS_DAMAGED, "JOB is not a number");
    (void)snprintf(job.id, sizeof job.id, "%s", id);
    job.host = text_of(kv, "HOST");
    job.name = text_of(kv, "NAME");
    job.template = text_of(kv, "TEMPLATE");
    job.partition = text_of(kv, "PARTITION");
    job.script = text_of(kv, "SCRIPT");
    job.root = text_of(kv, "ROOT");
    job.command = text_of(kv, "COMMAND");
    job.options = text_of(kv, "OPTIONS");
    job.node = mem_dup("");
    job.reason = mem_dup("");
    *ret = job;
    return 0;
}

/* Reads a file in shell format. */
static int load(int dir, const char *name, struct kv *ret, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (file_read(dir, name, KV_FILE_MAX, &text, &len, err) == -1)
        return -1;
    return kv_parse(text, len, ret, err) == -1 ? err_wrap(err, "cannot read '%s'", name) : 0;
}

int job_load(int dir, const char *id, struct batch_job *ret, struct err *err)
{
    struct kv kv = {.count = 0};

    if (load(dir, JOB_FILE, &kv, err) == -1)
        return -1;
    int rc = parse(id, &kv, ret, err);
    kv_free(&kv);
    return rc == 0 ? 0 : err_wrap(err, "cannot read the record of job '%s'", id);
}

int job_save(int dir, const struct batch_job *job, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    char when[TIME_TEXT];
    char number[24];

    time_format(job->submitted, when);
    (void)snprintf(number, sizeof number, "%" PRIu64, job->number);
    kv_add(&text, "SESSION_ID", job->id);
    kv_add(&text, "HOST", job->host);
    kv_add(&text, "NAME", job->name);
    kv_add(&text, "TEMPLATE", job->template);
    kv_add(&text, "SUBMITTED_AT", when);
    kv_add(&text, "JOB", number);
    kv_add(&text, "PARTITION", job->partition);
    kv_add(&text, "SCRIPT", job->script);
    kv_add(&text, "ROOT", job->root);
    kv_add(&text, "COMMAND", job->command);
    kv_add(&text, "OPTIONS", job->options);
    return file_replace(dir, JOB_FILE, text.data, text.len, 0600, err);
}

void job_free(struct batch_job *job)
{
    char *const texts[] = {job->host,      job->name,   job->template, job->node,    job->reason,
                           job->partition, job->script, job->root,     job->command, job->options};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        free(texts[i]);
    *job = (struct batch_job)JOB_INIT;
}

int job_run_save(int dir, const struct job_run *run, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    char when[TIME_TEXT];
    char number[24];

    (void)snprintf(number, sizeof number, "%" PRIu64, run->number);
    kv_add(&text, "JOB", number);
    (void)snprintf(number, sizeof number, "%u", run->restarts);
    kv_add(&text, "RESTARTS", number);
    kv_add(&text, "NODE", run->node);
    time_format(run->started, when);
    kv_add(&text, "STARTED_AT", when);
    if (run->ended != 0) {
        time_format(run->ended, when);
        kv_add(&text, "ENDED_AT", when);
        kv_add(&text, "HOW", run->how);
    }
    return file_replace(dir, JOB_RUN, text.data, text.len, 0600, err);
}

bool job_run_load(int dir, struct job_run *ret)
{
    struct kv kv = {.count = 0};
    struct err ignored = ERR_INIT;
    struct job_run run = {.number = 0};
    uint64_t restarts = 0;

    if (load(dir, JOB_RUN, &kv, &ignored) == -1)
        return false;
    const char *number = kv_get(&kv, "JOB");
    const char *again = kv_get(&kv, "RESTARTS");
    const char *started = kv_get(&kv, "STARTED_AT");
    const char *ended = kv_get(&kv, "ENDED_AT");
    const char *node = kv_get(&kv, "NODE");
    const char *how = kv_get(&kv, "HOW");
    bool whole = number != NULL && setting_parse_count(number, UINT32_MAX, &run.number) &&
                 again != NULL && setting_parse_count(again, UINT32_MAX, &restarts) &&
                 started != NULL && time_parse(started, &run.started) &&
                 (ended == NULL || time_parse(ended, &run.ended));
    run.restarts = (unsigned)restarts;
    (void)snprintf(run.node, sizeof run.node, "%s", node != NULL ? node : "");
    (void)snprintf(run.how, sizeof run.how, "%s", how != NULL ? how : "");
    kv_free(&kv);
    if (whole)
        *ret = run;
    return whole;
}

enum job_phase job_phase(int dir, const struct batch_job *job)
{
    struct job_run run;

    /* what Slurm has said may be older than what the job has written */
    if (!job_run_load(dir, &run) || run.number < job->number ||
        (run.number == job->number && run.restarts < job->restarts))
        return JOB_BEGINS;
    return run.ended == 0 ? JOB_IS_UP : JOB_ENDS;
}

void job_put_state(const struct batch_job *job, struct str *to)
{
    str_add(to, slurm_state_name(job->state));
    if (job->state == SLURM_FAILED && job->exit_code != 0)
        str_addf(to, " (exit code %d)", job->exit_code);
    if (job->reason[0] != '\0')
        str_addf(to, ": %s", job->reason);
}

void job_put_json(const struct batch_job *job, struct json_out *out)
{
    char when[TIME_TEXT];

    time_format(job->submitted, when);
    json_put_all(out, JT("sessionId", job->id), JT("name", job->name[0] != '\0' ? job->name : NULL),
                 JT("template", job->template), JT("host", job->host), JT("submittedAt", when));
    if (job->number != 0)
        json_put_int(out, "job", (int64_t)job->number);
    json_put_all(out, JT("state", slurm_state_name(job->state)),
                 JT("reason", job->reason[0] != '\0' ? job->reason : NULL),
                 JT("node", job->node[0] != '\0' ? job->node : NULL),
                 JI("restarts", job->restarts));
    if (job->exit_code != 0)
        json_put_int(out, "exitCode", job->exit_code);
}
