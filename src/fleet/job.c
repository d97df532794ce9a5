/*
 * Both files lie on a disk that machines share, so nothing in them is read before their directories
 * are known to be this user's alone. They are replaced as a whole: a kill leaves the old or the new
 * one. A record with a fault is an error, since a job would be submitted from it; a `run` with one
 * counts as missing.
 */

#include "fleet/job.h"

#include "base/time.h"
#include "model/member.h"
#include "os/file.h"
#include "os/path.h"
#include "store/lease.h"

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
    if (path_check_mine(top, store, err) == -1)
        return -1;
    if (make && mkdirat(top, id, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot create '%s'", path);
    int dir = path_open_dir(top, id);
    if (dir == -1)
        return err_errno(err, "cannot open '%s'", path);
    if (path_check_mine(dir, path, err) == 0)
        return dir;
    (void)close(dir);
    return -1;
}

static const struct value_type count_type = {VALUE_NUMBER, .max = UINT32_MAX};

#define JOB(key, type, member) MEMBER(key, type, struct batch_job, member)
#define RUN(key, type, member) MEMBER(key, type, struct job_run, member)

static const struct member members[] = {
    {JOB("SESSION_ID", value_chars, id)},
    {JOB("HOST", value_text, host)},
    {JOB("NAME", value_text, name)},
    {JOB("TEMPLATE", value_text, template)},
    {JOB("SUBMITTED_AT", value_time, submitted)},
    {JOB("JOB", count_type, number)},
    {JOB("CHAIN", count_type, chain), .how = MEMBER_SAID},
    {JOB("LINK", count_type, link), .how = MEMBER_SAID},
    {JOB("PARTITION", value_text, partition)},
    {JOB("SCRIPT", value_text, script)},
    {JOB("ROOT", value_text, root)},
    {JOB("COMMAND", value_text, command)},
    {JOB("OPTIONS", value_text, options)},
    MEMBER_END,
};

static const struct member run_members[] = {
    {RUN("JOB", count_type, number), .how = MEMBER_NEEDED},
    {RUN("RESTARTS", count_type, restarts)},
    {RUN("NODE", value_chars, node)},
    {RUN("STARTED_AT", value_time, started), .how = MEMBER_NEEDED},
    {RUN("ENDED_AT", value_time, ended), .how = MEMBER_SAID},
    {RUN("HOW", value_chars, how), .how = MEMBER_SAID},
    MEMBER_END,
};

static int parse(const char *id, const struct kv *kv, struct batch_job *ret, struct err *err)
{
    _cleanup_job_ struct batch_job job = {.submitted = -1, .number = UINT64_MAX};

    members_salvage(members, kv, &job);
    if (strcmp(job.id, id) != 0)
        return err_set(err, MAS_DAMAGED, "it is about another session");
    if (job.submitted == -1)
        return err_set(err, MAS_DAMAGED, "SUBMITTED_AT is not a time");
    if (job.number == UINT64_MAX)
        return err_set(err, MAS_DAMAGED, "JOB is not a number");
    job.node = mem_dup("");
    job.reason = mem_dup("");
    *ret = job;
    job = (struct batch_job)JOB_INIT;
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
    _cleanup_kv_ struct kv kv = {.count = 0};

    if (load(dir, JOB_FILE, &kv, err) == -1)
        return -1;
    int rc = parse(id, &kv, ret, err);
    return rc == 0 ? 0 : err_wrap(err, "cannot read the record of job '%s'", id);
}

int job_save(int dir, const struct batch_job *job, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    members_format(members, job, &text);
    return file_replace(dir, JOB_FILE, text.data, text.len, 0600, err);
}

void job_free(struct batch_job *job)
{
    members_free(members, job);
    free(job->node);
    free(job->reason);
    *job = (struct batch_job)JOB_INIT;
}

int job_run_save(int dir, const struct job_run *run, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    members_format(run_members, run, &text);
    return file_replace(dir, JOB_RUN, text.data, text.len, 0600, err);
}

bool job_run_load(int dir, struct job_run *ret)
{
    _cleanup_kv_ struct kv kv = {.count = 0};
    struct err ignored = ERR_INIT;
    struct job_run run = {.number = 0};

    if (load(dir, JOB_RUN, &kv, &ignored) == -1)
        return false;
    bool whole = members_take(run_members, &kv, &run, &ignored) == 0;
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
    if (job->chain != 0)
        json_put_all(out, JI("chain", (int64_t)job->chain), JI("link", (int64_t)job->link));
    if (job->exit_code != 0)
        json_put_int(out, "exitCode", job->exit_code);
}
