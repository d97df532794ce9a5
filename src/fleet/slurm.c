/*
 * The upper half parses and runs nothing, the lower half runs the programs. A state is joined from
 * squeue's word, the reason and the count of restarts. The options of mas come after those of the
 * user, because sbatch takes the last; with its name mas-<id>, --dependency=singleton keeps a
 * session from running twice. If it is not known whether sbatch has made a job, the error is
 * MAS_TIMEOUT.
 */

#include "fleet/slurm.h"

#include "base/number.h"
#include "os/path.h"
#include "os/proc.h"

#define CLUSTER_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define COMMENT "mas:"
#define JOB_NAME "mas-"

enum { ANSWER_MAX = 4096, FIELDS = 7 };

/* The fields of squeue that mas asks for. Those of Slurm have no bar; the comment of a session has
 * a fixed length; the reason is the rest of the line. */
#define SQUEUE_FORMAT "JobID:|,State:|,RestartCnt:|,exit_code:|,BatchHost:|,Comment:|,Reason:"

static const struct {
    const char *slurm;
    enum slurm_state state;
} words[] = {
    {"PENDING", SLURM_PENDING},       {"CONFIGURING", SLURM_STARTING},
    {"RUNNING", SLURM_RUNNING},       {"RESIZING", SLURM_RUNNING},
    {"SIGNALING", SLURM_RUNNING},     {"SUSPENDED", SLURM_SUSPENDED},
    {"STOPPED", SLURM_SUSPENDED},     {"COMPLETING", SLURM_ENDING},
    {"STAGE_OUT", SLURM_ENDING},      {"COMPLETED", SLURM_ENDED},
    {"CANCELLED", SLURM_CANCELLED},   {"REVOKED", SLURM_CANCELLED},
    {"FAILED", SLURM_FAILED},         {"BOOT_FAIL", SLURM_NODE_FAILED},
    {"NODE_FAIL", SLURM_NODE_FAILED}, {"TIMEOUT", SLURM_TIMED_OUT},
    {"DEADLINE", SLURM_TIMED_OUT},    {"OUT_OF_MEMORY", SLURM_NO_MEMORY},
    {"PREEMPTED", SLURM_PREEMPTED},   {"REQUEUED", SLURM_REQUEUED},
    {"REQUEUE_FED", SLURM_REQUEUED},  {"REQUEUE_HOLD", SLURM_HELD},
    {"SPECIAL_EXIT", SLURM_HELD},
};

static const struct {
    const char *name;
    bool live, failed;
} states[SLURM_STATE_COUNT] = {
    [SLURM_UNKNOWN] = {"submitted", true, false},
    [SLURM_PENDING] = {"pending", true, false},
    [SLURM_HELD] = {"held", true, false},
    [SLURM_REQUEUED] = {"requeued", true, false},
    [SLURM_STARTING] = {"starting", true, false},
    [SLURM_RUNNING] = {"running", true, false},
    [SLURM_SUSPENDED] = {"suspended", true, false},
    [SLURM_ENDING] = {"ending", false, false},
    [SLURM_ENDED] = {"ended", false, false},
    [SLURM_CANCELLED] = {"cancelled", false, false},
    [SLURM_FAILED] = {"failed", false, true},
    [SLURM_TIMED_OUT] = {"timed out", false, true},
    [SLURM_NO_MEMORY] = {"out of memory", false, true},
    [SLURM_NODE_FAILED] = {"node failed", false, true},
    [SLURM_PREEMPTED] = {"preempted", false, true},
    [SLURM_GONE] = {"gone", false, false},
};

const char *slurm_state_name(enum slurm_state state)
{
    return states[state].name;
}

bool slurm_state_parse(const char *word, enum slurm_state *ret)
{
    for (size_t i = 0; i < SLURM_STATE_COUNT; i++)
        if (strcmp(states[i].name, word) == 0) {
            *ret = (enum slurm_state)i;
            return true;
        }
    return false;
}

bool slurm_is_live(enum slurm_state state)
{
    return states[state].live;
}

bool slurm_has_failed(enum slurm_state state)
{
    return states[state].failed;
}

/* ---- what squeue prints */

/* Returns the state that Slurm's word and the other fields of a job say. */
static enum slurm_state state_of(const char *word, const char *reason, uint64_t restarts)
{
    enum slurm_state state = SLURM_UNKNOWN;

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(words[i].slurm, word) == 0)
            state = words[i].state;
    if (state == SLURM_PENDING && str_starts(reason, "JobHeld"))
        return SLURM_HELD;
    return state == SLURM_PENDING && restarts > 0 ? SLURM_REQUEUED : state;
}

static void copy_word(char *to, size_t size, const char *from)
{
    static const char *const none[] = {"n/a", "None", "N/A", "(null)"};
    size_t len = str_fit(from, size - 1);

    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        len = strcmp(from, none[i]) == 0 ? 0 : len;
    memcpy(to, from, len);
    to[len] = '\0';
}

/* Parses one line; returns false if it is not about a session. */
static bool parse_line(char *line, struct slurm_job *ret)
{
    enum { NUMBER, STATE, RESTARTS, EXIT, NODE, COMMENTED, REASON };
    char *fields[FIELDS];
    uint64_t restarts = 0;
    uint64_t status = 0;
    struct slurm_job job = {.number = 0};

    if (str_has_control(line) || !str_is_utf8(line, strlen(line)) ||
        !str_fields(line, '|', fields, FIELDS) || !str_starts(fields[COMMENTED], COMMENT) ||
        !id_is_valid(fields[COMMENTED] + strlen(COMMENT)) ||
        !number_parse_count(fields[NUMBER], UINT32_MAX, &job.number) || job.number == 0 ||
        !number_parse_count(fields[RESTARTS], UINT32_MAX, &restarts) ||
        !number_parse_count(fields[EXIT], UINT32_MAX, &status))
        return false;
    memcpy(job.id, fields[COMMENTED] + strlen(COMMENT), ID_TEXT);
    job.restarts = (unsigned)restarts;
    /* as wait(2) tells it */
    job.exit_code = (int)((status & 0x7f) != 0 ? 128 + (status & 0x7f) : status >> 8 & 0xff);
    job.state = state_of(fields[STATE], fields[REASON], restarts);
    copy_word(job.node, sizeof job.node, fields[NODE]);
    copy_word(job.reason, sizeof job.reason, fields[REASON]);
    *ret = job;
    return true;
}

/* By session; of one session the job that counts comes first. */
static int compare(const void *one, const void *other)
{
    const struct slurm_job *a = one;
    const struct slurm_job *b = other;
    int order = strcmp(a->id, b->id);

    if (order != 0)
        return order;
    if (slurm_is_live(a->state) != slurm_is_live(b->state))
        return slurm_is_live(a->state) ? -1 : 1;
    return a->number > b->number ? -1 : a->number < b->number;
}

void slurm_parse_jobs(const char *text, size_t len, struct slurm_job **ret, size_t *ret_count)
{
    struct slurm_job *jobs = NULL;
    size_t count = 0;
    size_t kept = 0;
    const char *end = text + len;

    for (const char *line = text; line < end && count < SLURM_JOBS_MAX;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t size = (size_t)((newline != NULL ? newline : end) - line);
        _cleanup_free_ char *copy = mem_dupn(line, size);
        jobs = mem_room(jobs, count, sizeof *jobs);
        count += strlen(copy) == size && parse_line(copy, &jobs[count]);
        line += size + 1;
    }
    if (count > 0)
        qsort(jobs, count, sizeof *jobs, compare);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || strcmp(jobs[kept - 1].id, jobs[i].id) != 0)
            jobs[kept++] = jobs[i];
    *ret = jobs;
    *ret_count = kept;
}

static int compare_id(const void *id, const void *job)
{
    return strcmp(id, ((const struct slurm_job *)job)->id);
}

const struct slurm_job *slurm_find(const struct slurm_job *jobs, size_t count, const char *id)
{
    return count == 0 ? NULL : bsearch(id, jobs, count, sizeof *jobs, compare_id);
}

bool slurm_parse_number(const char *text, uint64_t *ret, char cluster[SLURM_CLUSTER_MAX])
{
    size_t digits = strspn(text, "0123456789");
    _cleanup_free_ char *word = mem_dupn(text, digits);
    const char *rest = text + digits;
    const char *name = *rest == ';' ? rest + 1 : rest;
    size_t len = name != rest ? strspn(name, CLUSTER_LETTERS) : 0;
    uint64_t number = 0;

    if (digits == 0 || strcmp(name + len, "\n") != 0 || len >= SLURM_CLUSTER_MAX ||
        (name != rest && (len == 0 || name[0] == '-')) ||
        !number_parse_count(word, UINT32_MAX, &number) || number == 0)
        return false;
    *ret = number;
    memcpy(cluster, name, len);
    cluster[len] = '\0';
    return true;
}

/* ---- running its programs */

/* Returns true for variables that Slurm's programs get. Some of SBATCH_* would make another kind of
 * job. */
static bool may_pass(const char *entry)
{
    static const char *const names[] = {"PATH=",    "HOME=", "USER=",       "LOGNAME=",
                                        "SBATCH_*", "TZ=",   "SLURM_CONF=", "LD_LIBRARY_PATH="};
    static const char *const not [] = {
        "SBATCH_ARRAY_INX=",   "SBATCH_WAIT", "SBATCH_EXPORT=",  "SBATCH_WRAP",
        "SBATCH_GET_USER_ENV", "SBATCH_TEST", "SBATCH_CLUSTERS="};
    bool passes = false;

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        passes = passes || strncmp(entry, names[i], strcspn(names[i], "*")) == 0;
    for (size_t i = 0; i < ARRAY_LEN(not ); i++)
        passes = passes && !str_starts(entry, not [i]);
    return passes;
}

static char **make_env(void)
{
    char **env = NULL;

    for (char **entry = environ; *entry != NULL; entry++)
        if (may_pass(*entry))
            strv_push(&env, *entry);
    strv_push(&env, "LC_ALL=C");
    return env;
}

/* Returns what a program said last, without its name: "sbatch: error: Invalid partition". */
static char *complaint_of(const char *text)
{
    static const char error[] = "error: ";
    char *copy = mem_dup(text);
    char *last = copy;

    while (last[0] != '\0' && copy[strlen(copy) - 1] == '\n')
        copy[strlen(copy) - 1] = '\0';
    char *newline = strrchr(copy, '\n');
    last = newline != NULL ? newline + 1 : copy;
    char *word = strstr(last, error);
    char *ret = mem_dup(word != NULL ? word + strlen(error) : last);
    free(copy);
    return ret;
}

/* Runs a program of Slurm to its end. *ret has its output, if it exits with 0. */
static int run(const char *name, char *const *argv, size_t max, int timeout_ms,
               struct proc_result *ret, struct err *err)
{
    const char *path = getenv("PATH");
    _cleanup_free_ char *file =
        path_find_program(name, path != NULL ? path : "/usr/local/bin:/usr/bin:/bin", -1);
    _cleanup_strv_ char **env = make_env();
    const struct proc_spec spec = {
        .file = file,
        .argv = argv,
        .envp = env,
        .cwd = -1,
        .output_max = max,
        .timeout_ms = timeout_ms,
        .bound = true,
    };

    if (file == NULL) {
        (void)err_set(err, MAS_FAILED, "there is no program '%s'", name);
        return err_hint(err, "install the client programs of Slurm, or set PATH");
    }
    if (proc_capture(&spec, ret, err) == -1)
        return -1;
    if (ret->status == 0)
        return 0;
    _cleanup_free_ char *why = complaint_of(str_text(&ret->err));
    return err_set(err, MAS_FAILED, "%s: %s", name, why[0] != '\0' ? why : "it failed");
}

int slurm_jobs(int timeout_ms, uint64_t but, struct slurm_job **ret, size_t *ret_count,
               struct err *err)
{
    static const char *const argv[] = {"squeue", "--me", "-h",          "-a", "-t",
                                       "all",    "-O",   SQUEUE_FORMAT, NULL};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    int rc = run("squeue", (char *const *)argv, SLURM_OUTPUT_MAX, timeout_ms, &result, err);
    if (rc == 0) {
        slurm_parse_jobs(str_text(&result.out), result.out.len, ret, ret_count);
        for (size_t i = 0; but != 0 && i < *ret_count; i++)
            if ((*ret)[i].number == but)
                (*ret)[i].state = SLURM_ENDING;
    }
    return rc == 0 ? 0 : err_wrap(err, "cannot ask Slurm for its jobs");
}

/* Appends a path, in which % has a meaning for sbatch. */
static void add_pattern(struct str *to, const char *path)
{
    for (; *path != '\0'; path++)
        str_add(to, *path == '%' ? "%%" : (const char[]){*path, '\0'});
}

static char **make_command(const struct slurm_submission *submission)
{
    _cleanup_str_ struct str output = STR_INIT;
    _cleanup_free_ char *comment = mem_printf("--comment=" COMMENT "%s", submission->id);
    _cleanup_free_ char *name = mem_printf("--job-name=" JOB_NAME "%s", submission->id);
    _cleanup_free_ char *partition = mem_printf("--partition=%s", submission->partition);
    char **argv = NULL;

    str_add(&output, "--output=");
    add_pattern(&output, submission->output);
    strv_push(&argv, "sbatch");
    for (char *const *option = submission->options; option != NULL && *option != NULL; option++)
        strv_push(&argv, *option);
    /* after those of the user, because the last one counts */
    const char *const own[] = {"--parsable",
                               "--export=NONE",
                               "--chdir=/",
                               "--open-mode=append",
                               "--dependency=singleton",
                               comment,
                               name,
                               partition,
                               output.data};
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        strv_push(&argv, own[i]);
    strv_push(&argv, submission->script);
    for (const char *const *arg = submission->argv; *arg != NULL; arg++)
        strv_push(&argv, *arg);
    return argv;
}

/* sbatch has named the cluster of a job: fails if it is not among the jobs that squeue has, as one
 * of this cluster or its federation is, and cancels it. */
static int check_cluster(const char *id, uint64_t number, const char *cluster, struct err *err)
{
    _cleanup_free_ struct slurm_job *jobs = NULL;
    _cleanup_free_ char *there = mem_printf("--clusters=%s", cluster);
    _cleanup_free_ char *text = mem_printf("%" PRIu64, number);
    const char *const argv[] = {"scancel", "--quiet", there, text, NULL};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err why = ERR_INIT;
    size_t count = 0;

    if (slurm_jobs(SLURM_CALL_MS, 0, &jobs, &count, err) == -1)
        return -1;
    const struct slurm_job *job = slurm_find(jobs, count, id);
    if (job != NULL && job->number == number)
        return 0;
    int rc = run("scancel", (char *const *)argv, ANSWER_MAX, SLURM_CALL_MS, &result, &why);
    return err_set(
        err, MAS_FAILED,
        "job %" PRIu64 " went to cluster '%s', whose jobs squeue does not show here, and "
        "%s%s: leave --clusters out of the options of sbatch",
        number, cluster, rc == 0 ? "was cancelled" : "could not be cancelled: ", why.text);
}

int slurm_submit(const struct slurm_submission *submission, uint64_t *ret, struct err *err)
{
    _cleanup_strv_ char **argv = make_command(submission);
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    char cluster[SLURM_CLUSTER_MAX] = "";
    uint64_t number = 0;

    int rc = run("sbatch", argv, ANSWER_MAX, SLURM_CALL_MS, &result, err);
    if (rc == -1 && strstr(err->text, "timed out") != NULL)
        err->code = MAS_TIMEOUT; /* sbatch itself has waited for the answer */
    if (rc == 0 && !slurm_parse_number(str_text(&result.out), &number, cluster))
        rc = err_set(err, MAS_TIMEOUT, "sbatch did not say the number of the job");
    if (rc == 0 && cluster[0] != '\0')
        rc = check_cluster(submission->id, number, cluster, err);
    if (rc == 0)
        *ret = number;
    return rc;
}

/* Runs a program that takes the number of a job and prints nothing. */
static int tell(const char *name, const char *verb, uint64_t number, struct err *err)
{
    _cleanup_free_ char *text = mem_printf("%llu", (unsigned long long)number);
    char *const argv[] = {(char *)name, (char *)verb, text, NULL};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    return run(name, argv, ANSWER_MAX, SLURM_CALL_MS, &result, err);
}

int slurm_cancel(uint64_t number, struct err *err)
{
    /* --quiet: a job that has ended is no error */
    return tell("scancel", "--quiet", number, err) == 0
               ? 0
               : err_wrap(err, "cannot cancel job %llu", (unsigned long long)number);
}

int slurm_requeue(uint64_t number, struct err *err)
{
    return tell("scontrol", "requeue", number, err) == 0
               ? 0
               : err_wrap(err, "cannot requeue job %llu", (unsigned long long)number);
}

uint64_t slurm_own_job(void)
{
    const char *text = getenv("SLURM_JOB_ID");
    uint64_t number = 0;

    return text != NULL && number_parse_count(text, UINT32_MAX, &number) ? number : 0;
}

unsigned slurm_own_restarts(void)
{
    const char *text = getenv("SLURM_RESTART_COUNT");
    uint64_t count = 0;

    return text != NULL && number_parse_count(text, UINT32_MAX, &count) ? (unsigned)count : 0;
}
