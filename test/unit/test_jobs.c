/* The jobs of a store: their records, what Slurm says of them, and how long that counts. */
#include "place.h"

#include "base/time.h"
#include "fleet/jobs.h"
#include "fleet/reach_internal.h"

#include <sys/wait.h>

#define ID(digit) "550e8400-e29b-41d4-a716-44665544000" #digit

/* A store, and a squeue of its own, which prints a file and counts how often it was asked. */
struct cluster {
    struct place place;
    char *store;
    char *path; /* of the process before */
};

static void cluster_free(struct cluster *cluster)
{
    (void)setenv("PATH", cluster->path, 1);
    free(cluster->path);
    free(cluster->store);
    place_free(&cluster->place);
}
#define _cleanup_cluster_ __attribute__((cleanup(cluster_free)))

static void slurm_says(const struct cluster *cluster, const char *text)
{
    CHECK(place_put(cluster->place.dir, "says", text));
}

static struct cluster cluster_make(void)
{
    struct cluster cluster = {.place = place_make(), .path = mem_dup(getenv("PATH"))};
    _cleanup_free_ char *path = mem_printf("%s:%s", cluster.place.path, cluster.path);

    cluster.store = mem_printf("%s/deep/store", cluster.place.path);
    CHECK(place_put(cluster.place.dir, "squeue",
                    "#!/bin/sh\necho x >>\"${0%/*}/asked\"\nread -r rc <\"${0%/*}/rc\"\n"
                    "cat \"${0%/*}/says\"\nexit \"$rc\"\n"));
    CHECK_INT(fchmodat(cluster.place.dir, "squeue", 0700, 0), 0);
    CHECK(place_put(cluster.place.dir, "rc", "0\n"));
    slurm_says(&cluster, "");
    (void)setenv("PATH", path, 1);
    return cluster;
}

/* How often Slurm was asked since the last time. */
static size_t asked(const struct cluster *cluster)
{
    _cleanup_free_ char *text = NULL;
    struct err err = ERR_INIT;
    size_t len = 0;

    (void)file_read_if_there(cluster->place.dir, "asked", 4096, &text, &len, &err);
    (void)unlinkat(cluster->place.dir, "asked", 0);
    return len / strlen("x\n");
}

static int put_job(const struct cluster *cluster, const char *id, const char *name, uint64_t number,
                   time_t submitted)
{
    struct batch_job job = {.host = (char[]){"gpu"},
                            .name = (char *)(uintptr_t)name,
                            .template = (char[]){"tp"},
                            .submitted = submitted,
                            .number = number,
                            .command = (char[]){"--x 'a b'"}};
    struct err err = ERR_INIT;

    memcpy(job.id, id, ID_TEXT);
    int dir = job_open_dir(cluster->store, id, true, &err);
    CHECK(dir != -1);
    WELL(job_save(dir, &job, &err));
    return dir;
}

/* The jobs as lines: name, number, state and reason, node, exit code, restarts. */
static void check_jobs(const struct cluster *cluster, bool now, size_t times, const char *want)
{
    _cleanup_jobs_ struct jobs jobs = JOBS_INIT;
    _cleanup_str_ struct str got = STR_INIT;
    struct err err = ERR_INIT;

    WELL(jobs_read(cluster->store, now, &jobs, &err));
    for (size_t i = 0; i < jobs.count; i++) {
        const struct batch_job *job = &jobs.list[i];
        str_addf(&got, "%s %d ", job->name, (int)job->number);
        job_put_state(job, &got);
        str_addf(&got, " [%s] %d %u;", job->node, job->exit_code, job->restarts);
    }
    str_add(&got, jobs.why);
    CHECK_STR(got.data, want);
    CHECK_INT(asked(cluster), times);
}

/* Nobody asks again while the answer is recent; whatever changes the jobs lets the next one ask. */
TEST(slurm_is_asked_once_until_something_changes)
{
    _cleanup_cluster_ struct cluster cluster = cluster_make();
    struct err err = ERR_INIT;

    check_jobs(&cluster, false, 0, ""); /* there is no store */
    CHECK(access(cluster.store, F_OK) == -1);
    (void)close(put_job(&cluster, ID(2), "two", 12, 1000));
    (void)close(put_job(&cluster, ID(1), "one", 11, 1000));
    slurm_says(&cluster,
               "11|PENDING|0|0||mas:" ID(1) "|Priority\n"
                                            "12|RUNNING|2|0|n1|mas:" ID(
                                                2) "|None\n"
                                                   "13|RUNNING|0|0|n1|mas:" ID(3) "|None\n");
    check_jobs(&cluster, false, 1, "one 11 pending: Priority [] 0 0;two 12 running [n1] 0 2;");
    slurm_says(&cluster, "11|RUNNING|0|0|n2|mas:" ID(1) "|None\n");
    check_jobs(&cluster, false, 0, "one 11 pending: Priority [] 0 0;two 12 running [n1] 0 2;");
    check_jobs(&cluster, true, 1,
               "one 11 running [n2] 0 0;"
               "two 12 gone: it did not start, or was killed before it could say so [] 0 0;");
    jobs_forget(cluster.store);
    slurm_says(&cluster,
               "11|RUNNING|0|0|n3|mas:" ID(1) "|None\n"
                                              "14|RUNNING|0|0|n1|mas:" ID(
                                                  2) "|None\n"
                                                     "15|RUNNING|0|0|n1|mas:" ID(3) "|None\n");
    check_jobs(&cluster, false, 1, "one 11 running [n3] 0 0;two 14 running [n1] 0 0;");
    check_jobs(&cluster, false, 0, "one 11 running [n3] 0 0;two 14 running [n1] 0 0;");
    (void)close(put_job(&cluster, ID(3), "three", 0, time(NULL)));
    check_jobs(&cluster, false, 1,
               "one 11 running [n3] 0 0;two 14 running [n1] 0 0;three 15 running [n1] 0 0;");
    _cleanup_close_ int store = open(cluster.store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    WELL(tree_remove(store, ID(1), &err));
    check_jobs(&cluster, false, 1, "two 14 running [n1] 0 0;three 15 running [n1] 0 0;");
}

/* A Slurm that does not answer changes nothing; what has ended stays so when it is forgotten. */
TEST(what_was_known_last_counts_while_slurm_says_nothing)
{
    _cleanup_cluster_ struct cluster cluster = cluster_make();

    (void)close(put_job(&cluster, ID(1), "one", 11, 1000));
    (void)close(put_job(&cluster, ID(2), "two", 12, 1000));
    slurm_says(&cluster, "11|FAILED|1|768||mas:" ID(1) "|NonZeroExitCode\n"
                                                       "12|RUNNING|0|0|n1|mas:" ID(2) "|None\n");
    check_jobs(&cluster, false, 1,
               "one 11 failed (exit code 3): NonZeroExitCode [] 3 1;two 12 running [n1] 0 0;");
    CHECK(place_put(cluster.place.dir, "rc", "1\n"));
    check_jobs(&cluster, true, 1,
               "one 11 failed (exit code 3): NonZeroExitCode [] 3 1;two 12 running [n1] 0 0;"
               "cannot ask Slurm for its jobs: squeue: it failed");
    CHECK(place_put(cluster.place.dir, "rc", "0\n"));
    slurm_says(&cluster, "12|RUNNING|0|0|n1|mas:" ID(2) "|None\n");
    check_jobs(&cluster, true, 1,
               "one 11 failed (exit code 3): NonZeroExitCode [] 3 1;two 12 running [n1] 0 0;");
}

/* Of a job that Slurm does not know any more tells what it has written itself. */
TEST(a_job_that_is_gone_says_how_it_ended)
{
    static const struct {
        uint64_t number; /* in the record */
        time_t age;
        struct job_run run; /* number 0: it has written nothing */
        const char *want;
    } cases[] = {
        {11, 0, {.number = 0}, "gone: it did not start, or was killed before it could say so []"},
        {11,
         0,
         {.number = 11, .node = "n1", .started = 5, .ended = 9, .how = "idle"},
         "ended: idle [n1]"},
        {11,
         0,
         {.number = 11, .node = "n1", .started = 5},
         "gone: it was killed, or its node went down [n1]"},
        {11,
         0,
         {.number = 10, .node = "n1", .started = 5, .ended = 9, .how = "idle"},
         "gone: it did not start, or was killed before it could say so []"},
        {0, 0, {.number = 0}, "submitted []"}, /* it may come yet */
        {0, 500, {.number = 0}, "gone: Slurm knows no job of it []"},
        {0,
         500,
         {.number = 9, .node = "n1", .started = 5, .ended = 9, .how = "stopped"},
         "ended: stopped [n1]"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_cluster_ struct cluster cluster = cluster_make();
        struct err err = ERR_INIT;
        _cleanup_close_ int dir =
            put_job(&cluster, ID(1), "one", cases[i].number, time(NULL) - cases[i].age);
        if (cases[i].run.number != 0)
            WELL(job_run_save(dir, &cases[i].run, &err));
        _cleanup_free_ char *want =
            mem_printf("one %d %s 0 0;", (int)cases[i].number, cases[i].want);
        check_jobs(&cluster, false, 1, want);
    }
}

TEST(an_answer_that_is_damaged_is_asked_for_again)
{
    static const char *const heads[] = {"",
                                        "x",
                                        "MASJOBS1\t",
                                        "MASJOBS2\t1\t1\t1\t\t\n",
                                        "MASJOBS1\t1\t1\t1\t\tx\n",
                                        "MASJOBS1\t-1\t1\t1\t\t\n",
                                        "MASJOBS1\t99999999999\t1\t1\t\t\nx\n"};
    _cleanup_cluster_ struct cluster cluster = cluster_make();

    (void)close(put_job(&cluster, ID(1), "one", 11, 1000));
    slurm_says(&cluster, "11|RUNNING|0|0|n2|mas:" ID(1) "|None\n");
    check_jobs(&cluster, false, 1, "one 11 running [n2] 0 0;");
    _cleanup_free_ char *name = mem_printf("%s/" JOBS_DIR, cluster.store);
    _cleanup_close_ int dir = path_open_dir(AT_FDCWD, name);
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        CHECK(place_put(dir, JOBS_FILE, heads[i]));
        check_jobs(&cluster, false, 1, "one 11 running [n2] 0 0;");
        check_jobs(&cluster, false, 0, "one 11 running [n2] 0 0;");
    }
}

TEST(the_job_that_is_meant_is_found)
{
    struct batch_job list[] = {
        {.id = ID(1), .name = (char[]){"shop"}, .state = SLURM_ENDED},
        {.id = ID(2), .name = (char[]){"shop"}, .state = SLURM_RUNNING},
        {.id = ID(3), .name = (char[]){"twice"}, .state = SLURM_RUNNING},
        {.id = ID(4), .name = (char[]){"twice"}, .state = SLURM_PENDING},
        {.id = "650e8400-e29b-41d4-a716-446655440000", .name = (char[]){""}, .state = SLURM_ENDED},
        {.id = "750e8400-e29b-41d4-a716-446655440000", .name = (char[]){"650e"}},
    };
    const struct jobs jobs = {.list = list, .count = ARRAY_LEN(list)};
    static const struct {
        const char *text;
        int found, code;
    } cases[] = {
        {ID(1), 0, 0},
        {"shop", 1, 0},
        {"twice", -1, MAS_CONFLICT},
        {"550e", -1, MAS_CONFLICT},
        {"650e", 5, 0},
        {"650E8", 4, 0},
        {"750", -1, MAS_NOT_FOUND},
        {"", -1, MAS_NOT_FOUND},
        {"sho", -1, MAS_NOT_FOUND},
        {"750e8400e", -1, MAS_NOT_FOUND},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct batch_job *job = NULL;
        struct err err = ERR_INIT;
        int rc = jobs_select(&jobs, cases[i].text, &job, &err);
        if (!CHECK_INT(rc == 0 ? job - list : -1, cases[i].found) ||
            !CHECK_INT(err.code, cases[i].code))
            unit_print_str("text", cases[i].text);
    }
}

TEST(a_record_is_of_this_session_and_of_nobody_else)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"SESSION_ID='" ID(2) "'\nSUBMITTED_AT='2025-12-18T08:00:00Z'\nJOB=1\n",
         "it is about another session"},
        {"SESSION_ID='" ID(1) "'\nSUBMITTED_AT=today\nJOB=1\n", "SUBMITTED_AT is not a time"},
        {"SESSION_ID='" ID(1) "'\nSUBMITTED_AT='2025-12-18T08:00:00Z'\n", "JOB is not a number"},
        {"SESSION_ID='" ID(1) "'\nSUBMITTED_AT='2025-12-18T08:00:00Z'\nJOB=4294967296\n",
         "JOB is not a number"},
        {"half", "line 1 does not end in a newline"},
    };
    _cleanup_cluster_ struct cluster cluster = cluster_make();
    _cleanup_job_ struct batch_job job = JOB_INIT;
    struct err err = ERR_INIT;
    struct job_run run = {.number = 7}, again = {.number = 0};

    _cleanup_close_ int dir = put_job(&cluster, ID(1), "one", 11, 1000);
    MUST(job_load(dir, ID(1), &job, &err));
    CHECK(job.number == 11 && job.submitted == 1000);
    CHECK_STR(job.command, "--x 'a b'");
    CHECK_STR(job.host, "gpu");
    CHECK_STR(job.node, "");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_job_ struct batch_job bad = JOB_INIT;
        CHECK(place_put(dir, JOB_FILE, cases[i].text));
        err = (struct err)ERR_INIT;
        CHECK_INT(job_load(dir, ID(1), &bad, &err), -1);
        CHECK(strstr(err.text, cases[i].why) != NULL);
    }
    /* how far a job is depends on which run of it has written */
    CHECK(!job_run_load(dir, &again));
    CHECK_INT(job_phase(dir, &job), JOB_BEGINS);
    static const struct {
        uint64_t number, restarts;
        time_t ended;
        enum job_phase want;
    } runs[] = {{11, 2, 0, JOB_IS_UP},  {11, 2, 9, JOB_ENDS},  {11, 1, 9, JOB_BEGINS},
                {10, 5, 9, JOB_BEGINS}, {12, 0, 0, JOB_IS_UP}, {11, 3, 0, JOB_IS_UP}};
    job.restarts = 2;
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        run = (struct job_run){.number = runs[i].number,
                               .restarts = runs[i].restarts,
                               .node = "n1",
                               .started = 5,
                               .ended = runs[i].ended,
                               .how = "x"};
        WELL(job_run_save(dir, &run, &err));
        CHECK(job_run_load(dir, &again) && again.number == run.number);
        CHECK_INT(job_phase(dir, &job), runs[i].want);
    }
    /* a store, or a record, that others could write is not used */
    static const char *const parts[] = {"", "/" ID(1)};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        _cleanup_free_ char *path = mem_printf("%s%s", cluster.store, parts[i]);
        CHECK_INT(chmod(path, 0720), 0);
        CHECK_INT(job_open_dir(cluster.store, ID(1), false, &err), -1);
        CHECK(strstr(err.text, "others may write to it") != NULL);
        CHECK_INT(chmod(path, 0700), 0);
    }
    CHECK_INT(job_open_dir(cluster.store, ID(2), false, &err), -1);
    CHECK_INT(err.number, ENOENT);
}

TEST(a_job_is_told_to_programs)
{
    struct batch_job job = {.id = ID(1),
                            .host = (char[]){"gpu"},
                            .name = (char[]){""},
                            .template = (char[]){"tp"},
                            .submitted = 86400,
                            .node = (char[]){""},
                            .reason = (char[]){""}};

    char name[] = "n", reason[] = "r", node[] = "n1";

    for (int i = 0; i < 2; i++) {
        _cleanup_str_ struct str text = STR_INIT;
        struct json_out out = {.to = &text};
        json_open(&out, NULL, '{');
        job_put_json(&job, &out);
        json_close(&out, '}');
        CHECK_STR(
            text.data,
            i == 0 ? "{\"sessionId\":\"" ID(
                         1) "\",\"name\":null,\"template\":\"tp\","
                            "\"host\":\"gpu\",\"submittedAt\":\"1970-01-02T00:00:00Z\","
                            "\"state\":\"submitted\",\"reason\":null,\"node\":null,\"restarts\":0}"
                   : "{\"sessionId\":\"" ID(
                         1) "\",\"name\":\"n\",\"template\":\"tp\","
                            "\"host\":\"gpu\",\"submittedAt\":\"1970-01-02T00:00:00Z\",\"job\":7,"
                            "\"state\":\"failed\",\"reason\":\"r\",\"node\":\"n1\","
                            "\"restarts\":2,\"exitCode\":3}");
        job.name = name;
        job.number = 7;
        job.state = SLURM_FAILED;
        job.reason = reason;
        job.node = node;
        job.restarts = 2;
        job.exit_code = 3;
    }
}

TEST(the_last_words_of_ssh_are_what_went_wrong)
{
    static const struct {
        const char *said, *want;
    } cases[] = {{"", NULL},
                 {"\r\n . \n", NULL},
                 {"ssh: ", "ssh:"},
                 {"ssh: x", "x"},
                 {"one\ntwo.\r\n", "two"},
                 {"one\nssh: connect to host x: refused\r\n\n", "connect to host x: refused"},
                 {"ssh: one\nno ssh: two", "no ssh: two"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *words = reach_last_words(cases[i].said, strlen(cases[i].said));
        CHECK_STR(words, cases[i].want);
    }
}
