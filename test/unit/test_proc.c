/* How long a program may take that works with another process, whose end is known, and which
 * processes are below another one. */
#include "os/proc.h"
#include "unit.h"

#include <sys/wait.h>

/* A busy machine gives the partner some CPU within LONG_MS. */
enum { SHORT_MS = 300, LONG_MS = 2500 };

static pid_t partner;

static pid_t find_partner(const char *arg)
{
    (void)arg;
    return partner;
}

/* A process that uses CPU, or one that waits. */
static pid_t make_partner(bool busy)
{
    pid_t pid = proc_fork();
    if (pid != 0)
        return pid;
    for (;;)
        if (!busy || getppid() == 0) /* a system call, so that no compiler leaves the loop out */
            (void)pause();
}

/* The code with which a shell script ends that may do nothing for short_ms. */
static int code_of(const char *script, int short_ms, int most_ms)
{
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)script, NULL};
    const struct proc_spec spec = {
        .file = "/bin/sh", .argv = argv, .cwd = -1, .output_max = 4096, .timeout_ms = short_ms};
    struct proc_result result = PROC_RESULT_INIT;
    struct err err = ERR_INIT;
    struct proc proc;

    if (proc_start(&spec, &proc, &err) == -1)
        return -1;
    if (most_ms > 0)
        proc_be_patient(&proc, most_ms, partner, find_partner, NULL);
    int rc = proc_finish(&proc, &result, &err);
    proc_result_free(&result);
    return rc == -1 ? err.code : result.status;
}

static const char slow[] = "exec sleep 1";
static const char talks[] = "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.3; done";

static void end_partner(void)
{
    (void)kill(partner, SIGKILL);
    (void)waitpid(partner, NULL, 0);
}

TEST(a_program_that_does_nothing_runs_out_of_time)
{
    partner = make_partner(false);
    CHECK_INT(code_of("exit 3", SHORT_MS, 0), 3);
    CHECK_INT(code_of(slow, SHORT_MS, 0), MAS_TIMEOUT);
    CHECK_INT(code_of(talks, SHORT_MS, 0), MAS_TIMEOUT);
    CHECK_INT(code_of(slow, SHORT_MS, 60000), MAS_TIMEOUT);
    end_partner();
    CHECK_INT(code_of(slow, SHORT_MS, 60000), MAS_TIMEOUT);
}

TEST(a_program_that_prints_has_time)
{
    partner = make_partner(false);
    CHECK_INT(code_of(talks, 1500, 60000), 0);
    end_partner();
}

TEST(a_program_whose_partner_works_has_time_but_not_for_ever)
{
    partner = make_partner(true);
    CHECK_INT(code_of("exec sleep 4", LONG_MS, 60000), 0);
    CHECK_INT(code_of("exec sleep 100", SHORT_MS, LONG_MS), MAS_TIMEOUT);
    end_partner();
}

TEST(an_end_that_somebody_else_has_reaped_is_not_lost)
{
    const char *argv[] = {"sh", "-c", "exit 3", NULL};
    const struct proc_spec spec = {.file = "/bin/sh",
                                   .argv = (char *const *)(uintptr_t)argv,
                                   .cwd = -1,
                                   .output_max = 100,
                                   .timeout_ms = 60000};
    struct proc_result result = PROC_RESULT_INIT;
    struct err err = ERR_INIT;
    struct proc proc;
    int status = -1;

    REQUIRE(proc_start(&spec, &proc, &err) == 0);
    pid_t pid = waitpid(-1, &status, 0);
    CHECK(!proc_take_end(&proc, pid + 1, 0));
    CHECK(proc_take_end(&proc, pid, status));
    CHECK(!proc_take_end(&proc, pid, 0)); /* the number is another process's by now */
    REQUIRE(proc_finish(&proc, &result, &err) == 0);
    CHECK_INT(result.status, 3);
    CHECK(!proc_take_end(&proc, pid, status));
    proc_result_free(&result);
}

TEST(a_program_has_no_signal_blocked_and_this_process_keeps_its_mask)
{
    const char *argv[] = {"grep", "SigBlk", "/proc/self/status", NULL};
    const struct proc_spec spec = {.file = "/bin/grep",
                                   .argv = (char *const *)(uintptr_t)argv,
                                   .cwd = -1,
                                   .output_max = 100,
                                   .timeout_ms = 60000};
    struct proc_spec missing = spec;
    sigset_t mine, was;

    missing.file = "/bin/none";
    (void)sigemptyset(&mine);
    (void)sigaddset(&mine, SIGUSR1);
    (void)sigprocmask(SIG_SETMASK, &mine, &was);
    const struct proc_spec *const specs[] = {&missing, &spec};
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
        struct err err = ERR_INIT;
        sigset_t now;
        REQUIRE(proc_capture(specs[i], &result, &err) == 0);
        CHECK_INT(result.status, specs[i] == &missing ? 127 : 0);
        CHECK_STR(str_text(&result.out), specs[i] == &missing ? "" : "SigBlk:\t0000000000000000\n");
        (void)sigprocmask(SIG_BLOCK, NULL, &now);
        CHECK(sigismember(&now, SIGUSR1) == 1 && sigismember(&now, SIGUSR2) == 0);
    }
    (void)sigprocmask(SIG_SETMASK, &was, NULL);
}

TEST(of_a_tail_only_the_end_is_kept_and_an_endless_one_ends_in_time)
{
    static const struct {
        const char *script, *want; /* NULL: it does not end in time */
    } cases[] = {{"printf abc", "abc"},
                 {"printf 0123456789abcdef", "6789abcdef"},
                 {"head -c 50000000 /dev/zero; printf 0123456789", "0123456789"},
                 {"exec yes", NULL}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *argv[] = {"sh", "-c", cases[i].script, NULL};
        const struct proc_spec spec = {.file = "/bin/sh",
                                       .argv = (char *const *)(uintptr_t)argv,
                                       .cwd = -1,
                                       .output_max = 10,
                                       .tail = true,
                                       .timeout_ms = cases[i].want == NULL ? SHORT_MS : 60000};
        _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
        struct err err = ERR_INIT;
        CHECK_INT(proc_capture(&spec, &result, &err), cases[i].want == NULL ? -1 : 0);
        CHECK_INT(err.code, cases[i].want == NULL ? MAS_TIMEOUT : MAS_OK);
        if (cases[i].want != NULL)
            CHECK_STR(str_text(&result.out), cases[i].want);
        CHECK(result.out.cap < 4 << 20);
    }
}

/* A child whose own child waits, too. *ret_below is that one. */
static pid_t make_pair(pid_t *ret_below)
{
    int told[2];

    if (pipe(told) == -1)
        return -1;
    pid_t pid = proc_fork();
    if (pid == 0) {
        pid_t below = make_partner(false);
        (void)!write(told[1], &below, sizeof below);
        for (;;)
            (void)pause();
    }
    if (read(told[0], ret_below, sizeof *ret_below) != (ssize_t)sizeof *ret_below)
        *ret_below = -1;
    (void)close(told[0]);
    (void)close(told[1]);
    return pid;
}

/* The descendants of this process without these. */
static size_t without(const pid_t *spared, size_t count, pid_t ret[4])
{
    struct proc_id *ids = NULL;
    size_t found = proc_descendants(spared, count, &ids);

    for (size_t i = 0; i < 4; i++)
        ret[i] = i < found ? ids[i].pid : 0;
    free(ids);
    return found;
}

static bool has(const pid_t pids[4], pid_t pid)
{
    return pids[0] == pid || pids[1] == pid || pids[2] == pid || pids[3] == pid;
}

TEST(what_is_spared_is_left_out_with_all_that_is_below_it)
{
    pid_t below[2];
    pid_t found[4];
    const pid_t top[2] = {make_pair(&below[0]), make_pair(&below[1])};

    CHECK_INT(without(NULL, 0, found), 4);
    CHECK_INT(without((const pid_t[]){0, top[0]}, 2, found), 2);
    CHECK(has(found, top[1]) && has(found, below[1]));
    CHECK_INT(without(&below[0], 1, found), 3);
    CHECK(has(found, top[0]) && !has(found, below[0]));
    CHECK_INT(without(top, 2, found), 0);
    for (size_t i = 0; i < 2; i++) {
        (void)kill(below[i], SIGKILL);
        (void)kill(top[i], SIGKILL);
        (void)waitpid(top[i], NULL, 0);
    }
}

TEST(how_a_process_ended_is_one_number)
{
    for (int code = 0; code <= 255; code += 51) {
        CHECK_INT(proc_exit_code(code << 8), code);
        CHECK_INT(proc_end_signal(code << 8), 0);
    }
    CHECK_INT(proc_exit_code(SIGKILL), 128 + SIGKILL);
    CHECK_INT(proc_exit_code(SIGSEGV | 0x80), 128 + SIGSEGV); /* with a core */
    CHECK_INT(proc_end_signal(SIGSEGV | 0x80), SIGSEGV);
    CHECK_INT(proc_signal_of(128), 0);
    CHECK_INT(proc_signal_of(129), 1);
    CHECK_INT(proc_signal_of(128 + NSIG), 0);
    CHECK_INT(proc_signal_of(1), 0);
    CHECK_INT(proc_await(getpid(), NULL), -1);
    CHECK_INT(errno, ECHILD);
}
