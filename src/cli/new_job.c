#include "cli/new_job.h"

#include "base/number.h"
#include "base/time.h"
#include "cli/print.h"
#include "fleet/jobs.h"
#include "fleet/submit.h"

enum { COUNT_MAX = 65536, IDLE_MIN_MS = 1000 };
#define MEMORY_MAX (UINT64_C(1) << 50)

/* the first names the host, the others are about the job */
static const char *const names[] = {"host", "cpus", "mem", "gpus", "time", "idle", "chain"};

bool new_job_wanted(const struct call *call)
{
    bool wanted = false;

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        wanted = wanted || call_opt(call, names[i]) != NULL;
    return wanted;
}

int new_job_refuse(const struct call *call, struct err *err)
{
    for (size_t i = 1; i < ARRAY_LEN(names); i++)
        if (call_opt(call, names[i]) != NULL)
            return err_set(err, MAS_USAGE,
                           "cannot use --%s with --host %s: Slurm does not place sessions there",
                           names[i], call_opt(call, names[0]));
    return 0;
}

static int read_count(const struct call *call, const char *name, uint64_t *ret, struct err *err)
{
    const char *text = call_opt(call, name);

    if (text != NULL && (!number_parse_count(text, COUNT_MAX, ret) || *ret == 0))
        return call_bad_value(call, name, "a number from 1 to 65536", err);
    return 0;
}

static int read_size(const struct call *call, struct submit_size *ret, struct err *err)
{
    const char *memory = call_opt(call, "mem");
    const char *limit = call_opt(call, "time");
    const char *idle = call_opt(call, "idle");
    time_t seconds = 0;
    int ms = 0;

    if (read_count(call, "cpus", &ret->cpus, err) == -1 ||
        read_count(call, "chain", &ret->chain, err) == -1 ||
        read_count(call, "gpus", &ret->gpus, err) == -1)
        return -1;
    if (memory != NULL &&
        (!number_parse_size(memory, MEMORY_MAX, &ret->memory) || ret->memory < UINT64_C(1) << 20))
        return call_bad_value(call, "mem", "a size from 1M, such as 16G", err);
    if (limit != NULL && (!time_parse_age(limit, &seconds) || seconds < 60))
        return call_bad_value(call, "time", "a time from 1m, such as 90m or 2d", err);
    if (idle != NULL && (!time_parse_duration(idle, &ms) || ms < IDLE_MIN_MS))
        return call_bad_value(call, "idle", "a time from 1s, such as 30m", err);
    ret->time_s = (uint64_t)seconds;
    ret->idle = idle;
    return 0;
}

/* Fails unless the options make a job. */
static int check(const struct call *call, const struct remote **ret, const char **ret_store,
                 struct err *err)
{
    const char *host = call_opt(call, "host");

    if (host == NULL)
        return err_set(err, MAS_USAGE,
                       "cannot use --cpus, --mem, --gpus, --time, --idle or --chain "
                       "without --host");
    if (call_opt(call, "attach") != NULL || call_opt(call, "no-start") != NULL ||
        call_opt(call, "mode") != NULL)
        return err_set(err, MAS_USAGE, "cannot use --attach, --no-start or --mode with --host");
    if (config_need_remote(&call->config, host, ret, err) == -1)
        return -1;
    *ret_store = jobs_store(&call->config, *ret);
    if (*ret_store != NULL)
        return 0;
    (void)err_set(err, MAS_FAILED, "cannot submit to host '%s': it has no store", host);
    return err_hint(
        err, "name a directory on a disk that its nodes share: store = DIR in [host %s]", host);
}

static void print_submitted(const struct call *call, const struct batch_job *job, bool was)
{
    _cleanup_str_ struct str line = STR_INIT;
    struct json_out out = {.to = &line};

    if (call->quiet) {
        str_add(&line, job->id);
    } else if (call->json) {
        json_open(&out, NULL, '{');
        job_put_json(job, &out);
        json_close(&out, '}');
    } else {
        str_addf(&line, "%s  job %" PRIu64 " on %s%s\nlook: mas list", job->id, job->number,
                 job->host, was ? ", submitted before" : "");
    }
    print_line(&line);
}

int new_job(struct call *call, const struct life_options *options, struct new_given *given,
            struct err *err)
{
    _cleanup_job_ struct batch_job job = JOB_INIT;
    struct life life = {
        .root = &call->root, .config = &call->config, .setup = &given->setup, .wall = given->wall};
    struct life_options with = *options;
    struct submit submit = {.options = &with};
    char id[ID_TEXT];
    bool was = false;

    if (check(call, &submit.remote, &submit.store, err) == -1 ||
        read_size(call, &submit.size, err) == -1)
        return -1;
    if (with.id == NULL && id_make(id, err) == -1)
        return -1;
    with.id = with.id != NULL ? with.id : id;
    if (!id_is_valid(with.id))
        return err_set(err, MAS_USAGE, "cannot use id '%s': it is not a version 4 UUID", with.id);
    progress_begin(&life, "submitting", call->quiet);
    int rc = submit_new(&life, &submit, &job, &was, err);
    progress_end();
    if (rc == -1)
        return -1;
    print_submitted(call, &job, was);
    return 0;
}
