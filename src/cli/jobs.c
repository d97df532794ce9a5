/*
 * The stores that the settings name are read one by one; one that cannot be read, or a Slurm that
 * does not answer, is a warning, and the rest is shown. A job is looked for only when no session
 * has been found, so that it never hides one. What is to be done with a job is checked here and
 * done by fleet/.
 */

#include "cli/jobs.h"

#include "base/number.h"
#include "base/time.h"
#include "cli/brokered.h"
#include "cli/print.h"
#include "cli/table.h"
#include "fleet/submit.h"
#include "os/path.h"

enum { OUTPUT_MAX = 1 << 20 }; /* bytes of a job's output that are shown: the last ones */

void all_jobs_read(const struct call *call, struct all_jobs *ret)
{
    _cleanup_strv_ char **stores = jobs_stores(&call->config);

    for (char **store = stores; store != NULL && *store != NULL; store++) {
        struct err why = ERR_INIT;
        struct jobs jobs = JOBS_INIT;
        if (jobs_read(*store, false, &jobs, &why) == -1) {
            err_warn("the jobs are not shown: %s", why.text);
            continue;
        }
        if (jobs.why[0] != '\0' && jobs.answered == 0)
            err_warn("%s", jobs.why);
        else if (jobs.why[0] != '\0')
            err_warn("%s; the jobs are shown as they were %lld s ago", jobs.why,
                     (long long)(time(NULL) - jobs.answered));
        ret->stores = mem_room(ret->stores, ret->count, sizeof *ret->stores);
        ret->stores[ret->count++] = (struct stored_jobs){.store = mem_dup(*store), .jobs = jobs};
    }
}

void all_jobs_free(struct all_jobs *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->stores[i].store);
        jobs_free(&all->stores[i].jobs);
    }
    free(all->stores);
    *all = (struct all_jobs)ALL_JOBS_INIT;
}

/* ---- mas list */

/* Returns true if `mas list` with these options shows the job. */
static bool all_jobs_wants(const struct call *call, const struct batch_job *job)
{
    bool active = call_opt(call, "active") != NULL;
    bool stopped = call_opt(call, "stopped") != NULL;
    bool error = call_opt(call, "error") != NULL;
    bool failed = slurm_has_failed(job->state) || job->state == SLURM_GONE;

    if (!active && !stopped && !error)
        return true;
    return (active && slurm_is_live(job->state)) || (error && failed) ||
           (stopped && !failed && !slurm_is_live(job->state));
}

static const char *colour_of_job(const struct batch_job *job)
{
    if (slurm_has_failed(job->state))
        return colour(TINT_BAD);
    return job->state == SLURM_RUNNING ? colour(TINT_GOOD) : NULL;
}

static void add_job(const struct batch_job *job, time_t now, struct table *table)
{
    _cleanup_str_ struct str state = STR_INIT;
    _cleanup_free_ char *session = session_tmux_name(job->id, session_name_digits[0]);
    char number[24] = "-";
    char age[24];

    if (job->number != 0)
        (void)snprintf(number, sizeof number, "%" PRIu64, job->number);
    time_age(job->submitted, now, age);
    job_put_state(job, &state);
    table_add(table, session, NULL);
    table_add(table, job->name[0] != '\0' ? job->name : "-", NULL);
    table_add(table, job->host, NULL);
    table_add(table, number, NULL);
    table_add(table, age, NULL);
    table_add(table, job->node[0] != '\0' ? job->node : "-", NULL);
    table_add(table, state.data, colour_of_job(job));
}

bool all_jobs_print(const struct call *call, const struct all_jobs *all, bool more)
{
    static const char *const heads[] = {"SESSION", "NAME", "HOST", "JOB", "AGE", "NODE", "STATE"};
    static const char *const spare[] = {"NODE", "AGE", NULL};
    struct table table = {.columns = ARRAY_LEN(heads), .spare = spare};
    time_t now = time(NULL);

    table_heads(&table, heads);
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < all->stores[i].jobs.count; k++)
            if (all_jobs_wants(call, &all->stores[i].jobs.list[k]))
                add_job(&all->stores[i].jobs.list[k], now, &table);
    bool any = table.count > table.columns;
    if (any && more)
        (void)putchar('\n');
    if (any)
        table_print(&table);
    table_free(&table);
    return any;
}

void all_jobs_print_ids(const struct call *call, const struct all_jobs *all)
{
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < all->stores[i].jobs.count; k++)
            if (all_jobs_wants(call, &all->stores[i].jobs.list[k]))
                printf("%s\n", all->stores[i].jobs.list[k].id);
}

void all_jobs_put_json(const struct call *call, const struct all_jobs *all, bool always,
                       struct json_out *out)
{
    if (all->count == 0 && !always)
        return;
    json_open(out, "jobs", '[');
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < all->stores[i].jobs.count; k++) {
            const struct batch_job *job = &all->stores[i].jobs.list[k];
            if (!all_jobs_wants(call, job))
                continue;
            json_open(out, NULL, '{');
            job_put_json(job, out);
            json_close(out, '}');
        }
    json_close(out, ']');
}

/* ---- one job */

/* After `text` was found to name no session of this root (*err says so): finds the job that it
 * names. Returns NULL, and leaves *err as it is, if there is none; if there are several, sets it.
 * The job and *ret_store belong to *all, which this function fills. */
static const struct batch_job *all_jobs_find(const struct call *call, const char *text,
                                             struct all_jobs *all, const char **ret_store,
                                             struct err *err)
{
    const struct batch_job *found = NULL;

    if (err->code != MAS_NOT_FOUND || text == NULL)
        return NULL;
    all_jobs_read(call, all);
    for (size_t i = 0; i < all->count; i++) {
        const struct batch_job *job = NULL;
        struct err why = ERR_INIT;
        int rc = jobs_select(&all->stores[i].jobs, text, &job, &why);
        if (rc == -1 && why.code == MAS_CONFLICT) {
            *err = why;
            return NULL;
        }
        if (rc == 0 && found != NULL) {
            (void)err_set(err, MAS_CONFLICT, "cannot find session '%s': jobs of %s and %s match",
                          text, found->host, job->host);
            (void)err_hint(err, "name the host: %s:%s or %s:%s", found->host, text, job->host,
                           text);
            return NULL;
        }
        if (rc == 0) {
            found = job;
            *ret_store = all->stores[i].store;
        }
    }
    return found;
}

int all_jobs_act(const struct call *call, const char *text, struct err *err)
{
    const struct cmd_job *way = call->cmd->job;
    _cleanup_all_jobs_ struct all_jobs jobs = ALL_JOBS_INIT;
    const char *store = NULL;
    const struct batch_job *job =
        way != NULL && way->act != NULL ? all_jobs_find(call, text, &jobs, &store, err) : NULL;

    if (job == NULL)
        return -1;
    *err = (struct err)ERR_INIT;
    return way->act(call, store, job, err);
}

int all_jobs_hint(const struct call *call, const char *text, struct err *err)
{
    _cleanup_strv_ char **stores = brokered_is_agent() ? NULL : jobs_stores(&call->config);

    for (char **store = stores; store != NULL && *store != NULL; store++) {
        _cleanup_jobs_ struct jobs jobs = JOBS_INIT;
        const struct batch_job *job = NULL;
        struct err ignored = ERR_INIT;
        if (jobs_read(*store, false, &jobs, &ignored) == -1 ||
            jobs_select(&jobs, text, &job, &ignored) == -1)
            continue;
        if (call->cmd->job != NULL && call->cmd->job->act == NULL)
            return err_hint(err,
                            "it is a job on host '%s', and jobs are not moved; when it has ended, "
                            "restore a save: %s/%s",
                            job->host, *store, job->id);
        return err_hint(err, "it is a job on host '%s': mas %s %s:%s", job->host, call->cmd->name,
                        job->host, text);
    }
    return -1;
}

static const char *label_of(const struct batch_job *job)
{
    return job->name[0] != '\0' ? job->name : job->id;
}

int job_show(const struct call *call, const char *store, const struct batch_job *job,
             struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str state = STR_INIT;
    struct json_out out = {.to = &text};
    struct table table = {.columns = 2};
    char number[24] = "";
    char chain[48] = "";
    char when[TIME_TEXT];

    (void)err;
    if (call->json) {
        json_open(&out, NULL, '{');
        job_put_json(job, &out);
        json_put(&out, "store", store);
        json_close(&out, '}');
        print_line(&text);
        return 0;
    }
    if (job->number != 0)
        (void)snprintf(number, sizeof number, "%" PRIu64, job->number);
    if (job->chain != 0)
        (void)snprintf(chain, sizeof chain, "job %" PRIu64 " of %" PRIu64, job->link, job->chain);
    time_format(job->submitted, when);
    job_put_state(job, &state);
    str_addf(&text, "%s/%s", store, job->id);
    const char *const fields[][2] = {
        {"session", job->id}, {"name", job->name}, {"template", job->template},
        {"host", job->host},  {"job", number},     {"state", state.data},
        {"node", job->node},  {"chain", chain},    {"submitted", when},
        {"saves", text.data},
    };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (fields[i][1][0] == '\0')
            continue;
        table_add(&table, fields[i][0], colour_dim());
        table_add(&table, fields[i][1], NULL);
    }
    table_print(&table);
    table_free(&table);
    return 0;
}

int job_stop(const struct call *call, const char *store, const struct batch_job *job,
             struct err *err)
{
    bool lives = slurm_is_live(job->state);

    if (submit_cancel(store, job, false, err) == -1)
        return -1;
    if (!call->quiet)
        printf("%s %s\n", label_of(job), lives ? "cancelled" : "has ended already");
    return 0;
}

int job_remove(const struct call *call, const char *store, const struct batch_job *job,
               struct err *err)
{
    bool runs = job->state == SLURM_RUNNING || job->state == SLURM_SUSPENDED ||
                job->state == SLURM_STARTING || job->state == SLURM_ENDING;

    if (runs && (job->state == SLURM_ENDING || call_opt(call, "force") == NULL)) {
        (void)err_set(err, MAS_CONFLICT, "cannot remove '%s': its job %" PRIu64 " is %s",
                      label_of(job), job->number, slurm_state_name(job->state));
        return job->state == SLURM_ENDING
                   ? err_hint(err, "wait until it has ended: mas list")
                   : err_hint(err, "stop it first: mas stop %s", label_of(job));
    }
    if (runs) {
        (void)err_set(err, MAS_CONFLICT, "cannot remove '%s': its job %" PRIu64 " has to save it",
                      label_of(job), job->number);
        return err_hint(err, "stop it, and remove it when it has ended: mas stop %s",
                        label_of(job));
    }
    if (submit_cancel(store, job, true, err) == -1)
        return -1;
    if (!call->quiet)
        printf("%s removed\n", label_of(job));
    return 0;
}

/* Reads the end of the job's output. */
static int read_output(const char *store, const struct batch_job *job, char **ret, size_t *ret_len,
                       struct err *err)
{
    _cleanup_close_ int dir = job_open_dir(store, job->id, false, err);
    if (dir == -1)
        return -1;
    _cleanup_close_ int fd =
        openat(dir, JOB_OUTPUT, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char *bytes = mem_alloc(OUTPUT_MAX + 1);
    off_t end = fd == -1 ? 0 : lseek(fd, 0, SEEK_END);
    off_t from = end > OUTPUT_MAX ? end - OUTPUT_MAX : 0;
    ssize_t n = fd == -1 ? 0 : pread(fd, bytes, OUTPUT_MAX, from);

    *ret = bytes;
    *ret_len = n > 0 ? (size_t)n : 0;
    return 0;
}

/* Returns where the last `lines` lines of a text begin. */
static size_t last_lines(const char *text, size_t len, uint64_t lines)
{
    size_t at = len;

    if (lines == 0)
        return len;
    for (at = len > 0 ? len - 1 : 0; at > 0; at--)
        if (text[at - 1] == '\n' && --lines == 0)
            break;
    return at;
}

int job_print_logs(const struct call *call, const char *store, const struct batch_job *job,
                   struct err *err)
{
    _cleanup_free_ char *bytes = NULL;
    _cleanup_str_ struct str state = STR_INIT;
    const char *lines = call_opt(call, "lines");
    uint64_t wanted = UINT64_MAX;
    size_t len = 0;

    if (call_opt(call, "follow") != NULL || call_opt(call, "since") != NULL || call->json)
        return err_set(err, MAS_USAGE,
                       "cannot use --follow, --since or --json with the output of a job");
    if (lines != NULL && strcmp(lines, "all") != 0 &&
        !number_parse_count(lines, UINT32_MAX, &wanted))
        return call_bad_value(call, "lines", "a number of lines, or all", err);
    if (read_output(store, job, &bytes, &len, err) == -1)
        return -1;
    for (size_t at = last_lines(bytes, len, wanted); at < len;) {
        _cleanup_str_ struct str line = STR_INIT;
        const char *newline = memchr(bytes + at, '\n', len - at);
        size_t size = newline != NULL ? (size_t)(newline - bytes) - at : len - at;
        str_add_line(&line, bytes + at, size);
        print_line(&line);
        at += size + 1;
    }
    job_put_state(job, &state);
    (void)fflush(stdout);
    if (job->number != 0)
        err_warn("job %" PRIu64 " of session '%s' is %s", job->number, label_of(job), state.data);
    else
        err_warn("session '%s' is %s", label_of(job), state.data);
    if (len == 0 && slurm_has_failed(job->state))
        err_warn("it has printed nothing; look whether its node has the store '%s'", store);
    return 0;
}
