/*
 * jobs_read() first lets a child touch the disk, which may hang. Then it reads the cache; if that
 * is too old, or sessions have come or gone since, it takes the lock, so that one of several asks
 * for all, and looks again. Then it joins the records, what squeue says and what was known last.
 * A cache that is lost costs one more question, and the ends of jobs that Slurm has forgotten.
 */

#include "fleet/jobs.h"

#include "base/number.h"
#include "base/time.h"
#include "model/remote.h"
#include "model/setting.h"
#include "os/file.h"
#include "os/loop.h"
#include "os/path.h"
#include "os/proc.h"

/*
 * The file of a store. The first line is the header: its mark, when Slurm was asked and when it
 * answered, the time of the store's last change, and why Slurm did not answer. Each other line is a
 * job. Fields end with a tab.
 */
#define MARK "MASJOBS2"
#define ASKED_FORMAT "%020" PRId64 /* of a fixed width, so that jobs_forget() can write over it */

enum {
    HEADER_FIELDS = 6, /* each ends in a tab, so the last one is empty */
    JOB_FIELDS = 14,
    EMPTY_S = 60,
};

/* ---- the cache */

static void put(struct str *to, const char *text)
{
    str_add(to, text);
    str_addc(to, '\t');
}

static void put_number(struct str *to, int64_t number)
{
    str_addf(to, "%" PRId64 "\t", number);
}

static void format(const struct jobs *jobs, int64_t stamp, struct str *to)
{
    str_addf(to, MARK "\t" ASKED_FORMAT "\t", (int64_t)jobs->asked);
    put_number(to, jobs->answered);
    put_number(to, stamp);
    put(to, jobs->why);
    for (size_t i = 0; i < jobs->count; i++) {
        const struct batch_job *job = &jobs->list[i];
        str_addc(to, '\n');
        put(to, job->id);
        put(to, job->host);
        put(to, job->name);
        put(to, job->template);
        put_number(to, job->submitted);
        put_number(to, (int64_t)job->number);
        put(to, slurm_state_name(job->state));
        put_number(to, job->restarts);
        put_number(to, job->exit_code);
        put_number(to, (int64_t)job->chain);
        put_number(to, (int64_t)job->link);
        put(to, job->node);
        put(to, job->reason);
    }
    str_addc(to, '\n');
}

static bool parse_job(char *line, struct batch_job *ret)
{
    char *fields[JOB_FIELDS];
    uint64_t when = 0;
    uint64_t number = 0;
    uint64_t restarts = 0;
    uint64_t code = 0;
    uint64_t chain = 0;
    uint64_t link = 0;
    enum slurm_state state = SLURM_UNKNOWN;

    if (!str_fields(line, '\t', fields, JOB_FIELDS) || fields[JOB_FIELDS - 1][0] != '\0' ||
        !id_is_valid(fields[0]) || !number_parse_count(fields[4], INT64_MAX, &when) ||
        !number_parse_count(fields[5], UINT32_MAX, &number) ||
        !slurm_state_parse(fields[6], &state) ||
        !number_parse_count(fields[7], UINT32_MAX, &restarts) ||
        !number_parse_count(fields[8], 255, &code) ||
        !number_parse_count(fields[9], UINT32_MAX, &chain) ||
        !number_parse_count(fields[10], UINT32_MAX, &link))
        return false;
    *ret = (struct batch_job){
        .host = mem_dup(fields[1]),
        .name = mem_dup(fields[2]),
        .template = mem_dup(fields[3]),
        .submitted = (time_t)when,
        .number = number,
        .state = state,
        .restarts = (unsigned)restarts,
        .exit_code = (int)code,
        .chain = chain,
        .link = link,
        .node = mem_dup(fields[11]),
        .reason = mem_dup(fields[12]),
    };
    memcpy(ret->id, fields[0], ID_TEXT);
    return true;
}

static bool parse_header(char *line, struct jobs *ret, int64_t *ret_stamp)
{
    char *fields[HEADER_FIELDS];
    uint64_t asked = 0;
    uint64_t answered = 0;
    uint64_t stamp = 0;

    if (!str_fields(line, '\t', fields, HEADER_FIELDS) || fields[HEADER_FIELDS - 1][0] != '\0' ||
        strcmp(fields[0], MARK) != 0 || !number_parse_count(fields[1], INT64_MAX, &asked) ||
        !number_parse_count(fields[2], INT64_MAX, &answered) ||
        !number_parse_count(fields[3], INT64_MAX, &stamp))
        return false;
    ret->asked = (time_t)asked;
    ret->answered = (time_t)answered;
    ret->why = mem_dup(fields[4]);
    *ret_stamp = (int64_t)stamp;
    return true;
}

/* Parses the file. One that is not as mas writes it counts as missing. */
static bool parse(char *text, struct jobs *ret, int64_t *ret_stamp)
{
    struct jobs jobs = JOBS_INIT;
    char *newline = strchr(text, '\n');

    if (newline != NULL)
        *newline = '\0';
    if (newline == NULL || !parse_header(text, &jobs, ret_stamp))
        return false;
    for (char *line = newline + 1; *line != '\0'; line = newline + 1) {
        newline = strchr(line, '\n');
        if (newline != NULL)
            *newline = '\0';
        jobs.list = mem_room(jobs.list, jobs.count, sizeof *jobs.list);
        if (newline == NULL || !parse_job(line, &jobs.list[jobs.count])) {
            jobs_free(&jobs);
            return false;
        }
        jobs.count++;
    }
    *ret = jobs;
    return true;
}

/* A store, and its directory for the answer of Slurm; -1: it has none. */
struct place {
    int store, cache;
};

static void place_close(struct place *place)
{
    fd_closep(&place->store);
    fd_closep(&place->cache);
}
#define _cleanup_place_ __attribute__((cleanup(place_close)))

/* Returns -1 with errno if there is no such store. */
static int place_open(const char *store, struct place *ret)
{
    ret->store = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret->store == -1)
        return -1;
    (void)mkdirat(ret->store, JOBS_DIR, 0700);
    ret->cache = path_open_dir(ret->store, JOBS_DIR);
    return 0;
}

/* Reads what jobs_read() does, in a process that may hang. */
static int touch(void *arg)
{
    _cleanup_place_ struct place place = {-1, -1};
    struct err ignored = ERR_INIT;
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (place_open(arg, &place) == 0)
        (void)file_read(place.cache, JOBS_FILE, JOBS_FILE_MAX, &text, &len, &ignored);
    return 0;
}

int jobs_check_store(const char *store, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;
    struct proc proc;
    const struct proc_spec spec = {.file = "the store",
                                   .go_on = touch,
                                   .arg = (void *)(uintptr_t)store,
                                   .cwd = -1,
                                   .timeout_ms = 2 * JOBS_DISK_MS,
                                   .bound = true};

    if (proc_start(&spec, &proc, err) == -1)
        return -1;
    bool answers = loop_wait_for(proc.end_fd, POLLIN, JOBS_DISK_MS) > 0;
    if (answers)
        (void)proc_finish(&proc, &result, &ignored);
    else
        proc_leave(&proc);
    if (answers)
        return 0;
    return err_set(err, MAS_UNREACHED, "cannot use the store '%s': its disk does not answer",
                   store);
}

static bool load(const struct place *place, struct jobs *ret, int64_t *ret_stamp)
{
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    return file_read(place->cache, JOBS_FILE, JOBS_FILE_MAX, &text, &len, &ignored) == 0 &&
           strlen(text) == len && parse(text, ret, ret_stamp);
}

/* Returns a number that changes when a session is added to the store or removed from it. */
static int64_t stamp_of(int store)
{
    struct stat st;

    return fstat(store, &st) == -1 ? 0
                                   : (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

void jobs_forget(const char *store)
{
    _cleanup_place_ struct place place = {-1, -1};
    struct err ignored = ERR_INIT;
    char never[24];

    if (place_open(store, &place) == -1)
        return;
    _cleanup_close_ int fd = file_open_own(place.cache, JOBS_FILE, O_WRONLY, &ignored);
    int len = snprintf(never, sizeof never, ASKED_FORMAT, (int64_t)0);
    if (fd != -1)
        (void)pwrite(fd, never, (size_t)len, (off_t)strlen(MARK "\t"));
}

void jobs_free(struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++)
        job_free(&jobs->list[i]);
    free(jobs->list);
    free(jobs->why);
    *jobs = (struct jobs)JOBS_INIT;
}

/* ---- asking Slurm */

static int compare(const void *one, const void *other)
{
    return strcmp(((const struct batch_job *)one)->id, ((const struct batch_job *)other)->id);
}

/* Reads the records of a store. What cannot be read has no job. */
static int read_records(int store, struct jobs *jobs, struct err *err)
{
    _cleanup_strv_ char **names = NULL;

    if (path_list(store, &names, err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++) {
        struct err ignored = ERR_INIT;
        _cleanup_close_ int dir = id_is_valid(*name) ? path_open_dir(store, *name) : -1;
        if (dir == -1)
            continue;
        jobs->list = mem_room(jobs->list, jobs->count, sizeof *jobs->list);
        jobs->count += job_load(dir, *name, &jobs->list[jobs->count], &ignored) == 0;
    }
    if (jobs->count > 0)
        qsort(jobs->list, jobs->count, sizeof *jobs->list, compare);
    return 0;
}

static const struct batch_job *find(const struct jobs *jobs, const char *id)
{
    struct batch_job key = JOB_INIT;

    (void)snprintf(key.id, sizeof key.id, "%s", id);
    return jobs->count == 0 ? NULL
                            : bsearch(&key, jobs->list, jobs->count, sizeof *jobs->list, compare);
}

static void set_state(struct batch_job *job, enum slurm_state state, const char *node,
                      const char *reason)
{
    char *old[] = {job->node, job->reason};

    job->state = state;
    job->node = mem_dup(node);
    job->reason = mem_dup(reason);
    free(old[0]);
    free(old[1]);
}

static void keep_last(struct batch_job *job, const struct batch_job *last)
{
    job->restarts = last->restarts;
    job->exit_code = last->exit_code;
    set_state(job, last->state, last->node, last->reason);
}

/* Sets what is known of a job that Slurm does not know any more. */
static void set_gone(int store, struct batch_job *job)
{
    _cleanup_close_ int dir = path_open_dir(store, job->id);
    struct job_run run;

    if (dir == -1 || !job_run_load(dir, &run) || (run.number != job->number && job->number != 0))
        set_state(job, SLURM_GONE, "",
                  job->number == 0 ? "Slurm knows no job of it"
                                   : "it did not start, or was killed before it could say so");
    else if (run.ended != 0)
        set_state(job, SLURM_ENDED, run.node, run.how);
    else
        set_state(job, SLURM_GONE, run.node, "it was killed, or its node went down");
}

/* Returns how the job has ended in the words of its run, "" if they are not there. */
static void read_how(int store, const struct batch_job *job, struct job_run *ret)
{
    _cleanup_close_ int dir = path_open_dir(store, job->id);

    if (dir == -1 || !job_run_load(dir, ret) || ret->number != job->number)
        ret->how[0] = '\0';
}

/* Joins records, Slurm's answer (`asked` NULL: none) and what was known before. */
static void join(int store, struct jobs *jobs, const struct jobs *last,
                 const struct slurm_job *asked, size_t count)
{
    time_t now = time(NULL);

    for (size_t i = 0; i < jobs->count; i++) {
        struct batch_job *job = &jobs->list[i];
        const struct slurm_job *found = slurm_find(asked, count, job->id);
        const struct batch_job *known = find(last, job->id);
        bool is_same = known != NULL && known->number == job->number;
        if (found != NULL && (job->number == 0 || found->number >= job->number)) {
            job->number = found->number;
            job->restarts = found->restarts;
            job->exit_code = found->exit_code;
            struct job_run run = {.how = ""};
            if (found->state == SLURM_ENDED && found->reason[0] == '\0')
                read_how(store, job, &run);
            set_state(job, found->state, found->node, run.how[0] != '\0' ? run.how : found->reason);
        } else if (is_same && (asked == NULL || !slurm_is_live(known->state))) {
            keep_last(job, known);
        } else if (asked != NULL && (job->number != 0 || now - job->submitted > EMPTY_S)) {
            set_gone(store, job);
        }
    }
}

/* Asks Slurm, and writes the answer to the cache. */
static int refresh(const struct place *place, const struct jobs *last, struct jobs *ret,
                   struct err *err)
{
    _cleanup_jobs_ struct jobs jobs = JOBS_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_free_ struct slurm_job *asked = NULL;
    static const struct slurm_job none;
    size_t count = 0;
    struct err why = ERR_INIT;
    int64_t stamp = stamp_of(place->store);

    if (read_records(place->store, &jobs, err) == -1)
        return -1;
    bool answered = jobs.count == 0 || slurm_jobs(SLURM_LIST_MS, 0, &asked, &count, &why) == 0;
    join(place->store, &jobs, last, answered && asked == NULL ? &none : asked, count);
    jobs.asked = time(NULL);
    jobs.answered = answered ? jobs.asked : last->answered;
    if (!answered)
        str_add_visible(&text, why.text, strlen(why.text));
    jobs.why = mem_dup(str_text(&text));
    str_clear(&text);
    format(&jobs, stamp, &text);
    why = (struct err)ERR_INIT;
    (void)file_replace(place->cache, JOBS_FILE, text.data, text.len, 0600,
                       &why); /* it is a cache */
    *ret = jobs;
    jobs = (struct jobs)JOBS_INIT;
    return 0;
}

/* Returns true if the cache is recent and has all sessions. */
static bool is_fresh(int store, const struct jobs *jobs, int64_t stamp)
{
    time_t now = time(NULL);

    return jobs->asked <= now && now - jobs->asked < JOBS_ASK_S && stamp == stamp_of(store);
}

int jobs_read(const char *store, bool now, struct jobs *ret, struct err *err)
{
    _cleanup_jobs_ struct jobs last = JOBS_INIT;
    struct err ignored = ERR_INIT;
    int64_t stamp = 0;
    _cleanup_close_ int lock = -1;
    _cleanup_place_ struct place place = {-1, -1};

    if (jobs_check_store(store, err) == -1)
        return -1;
    int there = place_open(store, &place);
    if (there == -1 && errno == ENOENT) {
        *ret = (struct jobs){.why = mem_dup("")};
        return 0;
    }
    if (there == -1)
        return err_errno(err, "cannot open the store '%s'", store);
    bool has = load(&place, &last, &stamp);
    if (!has || now || !is_fresh(place.store, &last, stamp)) {
        /* another process may ask at this moment; then its answer is enough */
        if (file_lock(place.cache, JOBS_LOCK, SLURM_LIST_MS, "list", &lock, &ignored) == 0) {
            jobs_free(&last);
            has = load(&place, &last, &stamp);
        }
        if (!has || now || !is_fresh(place.store, &last, stamp))
            return refresh(&place, &last, ret, err) == 0
                       ? 0
                       : err_wrap(err, "cannot read the store '%s'", store);
    }
    *ret = last;
    last = (struct jobs)JOBS_INIT;
    return 0;
}

/* ---- using them */

const char *jobs_store(const struct config *config, const struct remote *remote)
{
    const char *store =
        remote->store[0] != '\0' ? remote->store : config_text(config, SETTING_FLEET_STORE);

    return store[0] != '\0' ? store : NULL;
}

char **jobs_stores(const struct config *config)
{
    char **stores = NULL;

    for (size_t i = 0; i < config->remote_count; i++) {
        const struct remote *remote = &config->remotes[i];
        const char *store = remote->via == REMOTE_SLURM ? jobs_store(config, remote) : NULL;
        bool known = store == NULL;
        for (size_t k = 0; !known && stores != NULL && stores[k] != NULL; k++)
            known = strcmp(stores[k], store) == 0;
        if (!known)
            strv_push(&stores, store);
    }
    return stores;
}

int jobs_record(const char *store, const struct batch_job *job, struct batch_job *ret,
                enum job_phase *ret_phase, struct err *err)
{
    _cleanup_close_ int dir = job_open_dir(store, job->id, false, err);

    if (dir == -1 || job_load(dir, job->id, ret, err) == -1)
        return -1;
    ret->number = job->number;
    keep_last(ret, job);
    *ret_phase = job_phase(dir, job);
    return 0;
}
