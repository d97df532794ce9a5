#define UNIT_OWN_MAIN
#include "unit.h"

#include "fleet/slurm.h"
#include "os/file.h"

#define A "550e8400-e29b-41d4-a716-446655440000"
#define B "650e8400-e29b-41d4-a716-446655440000"

struct parsed {
    struct slurm_job *jobs;
    size_t count;
};

static struct parsed parse(const char *text)
{
    struct parsed ret = {.count = 0};

    slurm_parse_jobs(text, strlen(text), &ret.jobs, &ret.count);
    return ret;
}

/* The state of the only job in a text; "none" if there is none. */
static const char *state(const char *text)
{
    struct parsed got = parse(text);
    const char *ret = got.count == 1 ? slurm_state_name(got.jobs[0].state) : "none";

    free(got.jobs);
    return ret;
}

TEST(reads_each_field_of_a_job)
{
    struct parsed got = parse("12|RUNNING|2|0|n1|mas:" A "|None\n");

    REQUIRE(got.count == 1);
    CHECK_STR(got.jobs[0].id, A);
    CHECK_INT(got.jobs[0].number, 12);
    CHECK_INT(got.jobs[0].restarts, 2);
    CHECK_STR(got.jobs[0].node, "n1");
    CHECK_STR(got.jobs[0].reason, "");
    free(got.jobs);
}

/* Lines as squeue of Slurm 22.05 prints them. */
TEST(tells_each_state)
{
    CHECK_STR(state("1|PENDING|0|0|n/a|mas:" A "|Resources\n"), "pending");
    CHECK_STR(state("1|PENDING|0|0|n/a|mas:" A "|JobHeldUser\n"), "held");
    CHECK_STR(state("1|PENDING|0|0|n/a|mas:" A "|JobHeldAdmin\n"), "held");
    CHECK_STR(state("1|PENDING|1|0|n/a|mas:" A "|BeginTime\n"), "requeued");
    CHECK_STR(state("1|REQUEUE_HOLD|1|0|n/a|mas:" A "|x\n"), "held");
    CHECK_STR(state("1|COMPLETING|0|0|n1|mas:" A "|None\n"), "ending");
    CHECK_STR(state("1|COMPLETED|0|0|n1|mas:" A "|None\n"), "ended");
    CHECK_STR(state("1|CANCELLED|0|0|n1|mas:" A "|None\n"), "cancelled");
    CHECK_STR(state("1|FAILED|0|768|n1|mas:" A "|NonZeroExitCode\n"), "failed");
    CHECK_STR(state("1|TIMEOUT|0|0|n1|mas:" A "|TimeLimit\n"), "timed out");
    CHECK_STR(state("1|OUT_OF_MEMORY|0|125|n1|mas:" A "|OutOfMemory\n"), "out of memory");
    CHECK_STR(state("1|NODE_FAIL|0|1|n1|mas:" A "|NodeDown\n"), "node failed");
    CHECK_STR(state("1|PREEMPTED|0|0|n1|mas:" A "|None\n"), "preempted");
    CHECK_STR(state("1|NEVER_HEARD|0|0|n1|mas:" A "|None\n"), "submitted");
}

TEST(tells_exit_codes_and_signals)
{
    struct parsed code = parse("1|FAILED|0|768|n1|mas:" A "|NonZeroExitCode\n");
    struct parsed signal = parse("1|FAILED|0|9|n1|mas:" A "|RaisedSignal:9(Killed)\n");

    REQUIRE(code.count == 1 && signal.count == 1);
    CHECK_INT(code.jobs[0].exit_code, 3);
    CHECK_INT(signal.jobs[0].exit_code, 128 + 9);
    free(code.jobs);
    free(signal.jobs);
}

TEST(keeps_a_reason_with_any_characters)
{
    struct parsed got = parse("1|PENDING|0|0|n/a|mas:" A "|Nodes a|b, (down) 100%\n");

    REQUIRE(got.count == 1);
    CHECK_STR(got.jobs[0].reason, "Nodes a|b, (down) 100%");
    free(got.jobs);
}

TEST(leaves_out_what_is_not_about_a_session)
{
    static const char *const lines[] = {
        "",
        "\n",
        "1|RUNNING|0|0|n1|(null)|None\n",
        "1|RUNNING|0|0|n1|my own comment|with|bars\n",
        "1|RUNNING|0|0|n1|mas:" A "x|None\n",
        "1|RUNNING|0|0|n1|mas:" A "\n",
        "1|RUNNING|0|0|n1|mas:550E8400-E29B-41D4-A716-446655440000|None\n",
        "1|RUNNING|0|0|n1|mas:../../../etc/passwd|None\n",
        "1|RUNNING|0|0|n1| mas:" A "|None\n",
        "0|RUNNING|0|0|n1|mas:" A "|None\n",
        "-1|RUNNING|0|0|n1|mas:" A "|None\n",
        "1_2|RUNNING|0|0|n1|mas:" A "|None\n",
        "99999999999|RUNNING|0|0|n1|mas:" A "|None\n",
        "1|RUNNING|x|0|n1|mas:" A "|None\n",
        "1|RUNNING|0||n1|mas:" A "|None\n",
        "1|RUNNING|0|0|n1|mas:" A "|a\tb\n",
        "1|RUNNING|0|0|n1|mas:" A "|a\033[2Jb\n",
        "1|RUNNING|0|0|n1|mas:" A "|\xff\n",
        "squeue: error: Unable to contact slurm controller\n",
        "1|RUNNING|0|0|n1\n|mas:" A "|None\n",
    };

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct parsed got = parse(lines[i]);
        CHECK_INT(got.count, 0);
        free(got.jobs);
    }
    static const char with_nul[] = "1|RUNNING|0|0|n1|mas:" A "|a\0b\n";
    struct parsed got = {.count = 1};
    slurm_parse_jobs(with_nul, sizeof with_nul - 1, &got.jobs, &got.count);
    CHECK_INT(got.count, 0);
    free(got.jobs);
}

TEST(takes_a_last_line_without_its_newline)
{
    CHECK_STR(state("1|RUNNING|0|0|n1|mas:" A "|None"), "running");
}

TEST(prefers_the_live_job_of_a_session_then_the_newest)
{
    struct parsed live = parse("5|FAILED|0|0|n1|mas:" A "|x\n4|PENDING|0|0|n/a|mas:" A "|x\n"
                               "6|COMPLETED|0|0|n1|mas:" A "|x\n");
    struct parsed dead = parse("5|FAILED|0|0|n1|mas:" A "|x\n6|COMPLETED|0|0|n1|mas:" A "|x\n");

    REQUIRE(live.count == 1 && dead.count == 1);
    CHECK_INT(live.jobs[0].number, 4);
    CHECK_INT(dead.jobs[0].number, 6);
    free(live.jobs);
    free(dead.jobs);
}

TEST(finds_jobs_by_session)
{
    struct parsed got = parse("5|RUNNING|0|0|n1|mas:" B "|x\n4|RUNNING|0|0|n1|mas:" A "|x\n");

    REQUIRE(got.count == 2);
    REQUIRE(slurm_find(got.jobs, got.count, A) != NULL);
    CHECK_INT(slurm_find(got.jobs, got.count, A)->number, 4);
    CHECK_INT(slurm_find(got.jobs, got.count, B)->number, 5);
    CHECK(slurm_find(got.jobs, got.count, "750e8400-e29b-41d4-a716-446655440000") == NULL);
    CHECK(slurm_find(NULL, 0, A) == NULL);
    free(got.jobs);
}

TEST(reads_ten_thousand_jobs_and_stops_at_the_limit)
{
    _cleanup_str_ struct str text = STR_INIT;
    size_t made = SLURM_JOBS_MAX + 100;

    for (size_t i = 0; i < made; i++)
        str_addf(&text, "%zu|PENDING|0|0|n/a|mas:%08zx-e29b-41d4-a716-446655440000|Priority\n",
                 i + 1, made - i);
    struct parsed got = parse(text.data);
    CHECK_INT(got.count, SLURM_JOBS_MAX);
    CHECK(slurm_find(got.jobs, got.count, "00002710-e29b-41d4-a716-446655440000") != NULL);
    free(got.jobs);
}

TEST(reads_the_number_of_a_submitted_job)
{
    static const char long_name[] = "12;0123456789012345678901234567890123456789"
                                    "012345678901234567890123\n";
    static const char *const bad[] = {"",
                                      "\n",
                                      "12",
                                      "12 \n",
                                      "12\n13\n",
                                      "x12\n",
                                      "0\n",
                                      "-1\n",
                                      "12;a\nb",
                                      ";\n",
                                      "99999999999\n",
                                      "1e3\n",
                                      " 12\n",
                                      "12;a",
                                      "12;\n",
                                      "12;a b\n",
                                      "12;-a\n",
                                      "12;a;b\n",
                                      long_name,
                                      "Submitted batch job 12\n"};
    char cluster[SLURM_CLUSTER_MAX] = "x";
    uint64_t number = 0;

    CHECK(slurm_parse_number("12\n", &number, cluster));
    CHECK_INT(number, 12);
    CHECK_STR(cluster, "");
    CHECK(slurm_parse_number("13;cluster\n", &number, cluster));
    CHECK_INT(number, 13);
    CHECK_STR(cluster, "cluster");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!slurm_parse_number(bad[i], &number, cluster));
    CHECK_INT(number, 13);
}

TEST(knows_its_words_for_states)
{
    for (int i = 0; i < SLURM_STATE_COUNT; i++) {
        enum slurm_state state = SLURM_STATE_COUNT;
        CHECK(slurm_state_parse(slurm_state_name((enum slurm_state)i), &state));
        CHECK_INT(state, i);
    }
    CHECK(!slurm_state_parse("", &(enum slurm_state){SLURM_UNKNOWN}));
}

/* ---- programs: fake ones in a directory of their own */

static char *dir;

static void put_program(const char *name, const char *text)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

    (void)file_write_all(fd, text, strlen(text));
    (void)close(fd);
}

TEST(asks_squeue_and_leaves_its_own_job_out)
{
    struct parsed got = {.count = 0};
    struct err err = ERR_INIT;

    put_program("squeue", "#!/bin/sh\necho '5|RUNNING|0|0|n1|mas:" A "|None'\n");
    REQUIRE(slurm_jobs(SLURM_CALL_MS, 5, &got.jobs, &got.count, &err) == 0);
    REQUIRE(got.count == 1);
    CHECK(!slurm_is_live(got.jobs[0].state));
    free(got.jobs);
}

TEST(says_what_squeue_complains_of)
{
    struct parsed got = {.count = 0};
    struct err err = ERR_INIT;

    put_program("squeue", "#!/bin/sh\necho 'squeue: error: no controller' >&2\nexit 1\n");
    CHECK_INT(slurm_jobs(SLURM_CALL_MS, 0, &got.jobs, &got.count, &err), -1);
    CHECK_STR(err.text, "cannot ask Slurm for its jobs: squeue: no controller");
}

TEST(gives_up_on_a_squeue_that_hangs)
{
    struct parsed got = {.count = 0};
    struct err err = ERR_INIT;

    put_program("squeue", "#!/bin/sh\nexec sleep 1000\n");
    CHECK_INT(slurm_jobs(100, 0, &got.jobs, &got.count, &err), -1);
    CHECK_INT(err.code, MAS_TIMEOUT);
}

TEST(passes_nothing_of_the_environment_to_sbatch)
{
    static const char *const args[] = {"/opt/mas", "run", NULL};
    char *options[] = {(char *)"--qos=low", (char *)"--export=ALL", NULL};
    const struct slurm_submission submission = {.id = A,
                                                .partition = "gpu",
                                                .output = "/store/100%/output",
                                                .script = "/share/team.sbatch",
                                                .argv = args,
                                                .options = options};
    _cleanup_free_ char *said = mem_printf("%s/said", dir);
    _cleanup_free_ char *text = NULL;
    struct err err = ERR_INIT;
    uint64_t number = 0;
    size_t len = 0;

    put_program("sbatch",
                "#!/bin/sh\n{ printf '%s\\n' \"$@\"; env; } >\"${0%/*}/said\"\necho 42\n");
    (void)setenv("A_SECRET", "hidden", 1);
    (void)setenv("SBATCH_EXPORT", "ALL", 1);
    REQUIRE(slurm_submit(&submission, &number, &err) == 0);
    CHECK_INT(number, 42);
    REQUIRE(file_read(AT_FDCWD, said, 65536, &text, &len, &err) == 0);
    CHECK(strstr(text, "hidden") == NULL && strstr(text, "SBATCH_EXPORT") == NULL);
    CHECK(strstr(text, "--output=/store/100%%/output\n") != NULL);
    CHECK(strstr(text, "--comment=mas:" A "\n") != NULL);
    CHECK(strstr(text, "--dependency=singleton\n") != NULL);
    CHECK(strstr(text, "\n/share/team.sbatch\n/opt/mas\nrun\n") != NULL);
    /* the last one counts */
    CHECK(strstr(text, "--export=ALL") < strstr(text, "--export=NONE"));
}

/* What sbatch may answer, with what squeue then has, and what becomes of the job. */
TEST(a_submission_ends_in_one_way)
{
    static const char *const args[] = {"run", NULL};
    const struct slurm_submission submission = {
        .id = A, .partition = "p", .output = "/o", .script = "/s", .argv = args};
    static const struct {
        const char *sbatch, *squeue, *scancel;
        int code; /* 0: it is submitted as job 42 */
        const char *why;
    } cases[] = {
        {"echo 42", "exit 1", "exit 1", 0, ""},
        {"echo '42;here'", "echo '42|PENDING|0|0||mas:" A "|None'", "exit 1", 0, ""},
        {"echo '42;far'", "echo '41|PENDING|0|0||mas:" A "|None'", "exit 0", MAS_FAILED,
         "job 42 went to cluster 'far', whose jobs squeue does not show here, and was cancelled: "},
        {"echo '42;far'", ":", "echo no >&2; exit 1", MAS_FAILED,
         "job 42 went to cluster 'far', whose jobs squeue does not show here, and could not be "
         "cancelled: scancel: no: "},
        {"echo '42;far'", "echo lost >&2; exit 1", ":", MAS_FAILED,
         "cannot ask Slurm for its jobs: squeue: lost"},
        {"echo nothing", ":", ":", MAS_TIMEOUT, "sbatch did not say the number of the job"},
        {":", ":", ":", MAS_TIMEOUT, "sbatch did not say the number of the job"},
        {"echo 'sbatch: error: no such partition' >&2; exit 1", ":", ":", MAS_FAILED,
         "sbatch: no such partition"},
        {"echo 'sbatch: error: Socket timed out on send/recv' >&2; exit 1", ":", ":", MAS_TIMEOUT,
         "sbatch: Socket timed out on send/recv"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        _cleanup_free_ char *sbatch = mem_printf("#!/bin/sh\n%s\n", cases[i].sbatch);
        _cleanup_free_ char *squeue = mem_printf("#!/bin/sh\n%s\n", cases[i].squeue);
        _cleanup_free_ char *scancel = mem_printf("#!/bin/sh\n%s\n", cases[i].scancel);
        struct err err = ERR_INIT;
        uint64_t number = 7;
        put_program("sbatch", sbatch);
        put_program("squeue", squeue);
        put_program("scancel", scancel);
        CHECK_INT(slurm_submit(&submission, &number, &err), cases[i].code == 0 ? 0 : -1);
        CHECK_INT(err.code, cases[i].code);
        CHECK_INT(number, cases[i].code == 0 ? 42 : 7);
        if (strncmp(err.text, cases[i].why, strlen(cases[i].why)) != 0)
            CHECK_STR(err.text, cases[i].why);
    }
}

TEST(a_job_is_cancelled_and_put_back)
{
    _cleanup_free_ char *said = mem_printf("%s/said", dir);
    _cleanup_free_ char *text = NULL;
    struct err err = ERR_INIT;
    size_t len = 0;

    put_program("scancel", "#!/bin/sh\necho scancel \"$@\" >\"${0%/*}/said\"\n");
    put_program("scontrol", "#!/bin/sh\necho scontrol \"$@\" >>\"${0%/*}/said\"\n");
    CHECK_INT(slurm_cancel(42, &err), 0);
    CHECK_INT(slurm_requeue(43, &err), 0);
    REQUIRE(file_read(AT_FDCWD, said, 4096, &text, &len, &err) == 0);
    CHECK_STR(text, "scancel --quiet 42\nscontrol requeue 43\n");
    put_program("scancel", "#!/bin/sh\necho 'scancel: error: denied' >&2; exit 1\n");
    put_program("scontrol", "#!/bin/sh\nexit 1\n");
    CHECK_INT(slurm_cancel(42, &err), -1);
    CHECK_STR(err.text, "cannot cancel job 42: scancel: denied");
    CHECK_INT(slurm_requeue(43, &err), -1);
    CHECK_STR(err.text, "cannot requeue job 43: scontrol: it failed");
}

TEST(a_process_knows_its_own_job)
{
    static const struct {
        const char *text;
        uint64_t want;
    } cases[] = {{"42", 42}, {"4294967295", 4294967295}, {"4294967296", 0}, {"", 0}, {"42_7", 0},
                 {"-1", 0}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)setenv("SLURM_JOB_ID", cases[i].text, 1);
        (void)setenv("SLURM_RESTART_COUNT", cases[i].text, 1);
        CHECK_INT(slurm_own_job(), cases[i].want);
        CHECK_INT(slurm_own_restarts(), cases[i].want);
    }
    (void)unsetenv("SLURM_JOB_ID");
    (void)unsetenv("SLURM_RESTART_COUNT");
    CHECK(slurm_own_job() == 0 && slurm_own_restarts() == 0);
    for (int i = 0; i < SLURM_STATE_COUNT; i++) {
        const enum slurm_state state = (enum slurm_state)i;
        const bool failed = state >= SLURM_FAILED && state <= SLURM_PREEMPTED;
        CHECK_INT(slurm_is_live(state), state <= SLURM_SUSPENDED);
        CHECK_INT(slurm_has_failed(state), failed);
    }
}

int main(void)
{
    char name[] = "/tmp/test_slurm.XXXXXX";
    const char *old = getenv("PATH");

    dir = mkdtemp(name);
    _cleanup_free_ char *path = mem_printf("%s:%s", dir, old != NULL ? old : "/usr/bin:/bin");
    (void)setenv("PATH", path, 1);
    int rc = unit_run();
    static const char *const made[] = {"squeue", "sbatch", "scancel", "scontrol", "said"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        _cleanup_free_ char *file = mem_printf("%s/%s", dir, made[i]);
        (void)unlink(file);
    }
    (void)rmdir(dir);
    return rc;
}
