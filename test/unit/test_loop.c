#include "os/loop.h"

#include "base/time.h"
#include "os/thread.h"

#include "unit.h"

#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

static int event(unsigned value)
{
    return eventfd(value, EFD_CLOEXEC | EFD_NONBLOCK);
}

TEST(tells_which_descriptors_are_ready)
{
    struct loop loop = LOOP_INIT;
    _cleanup_close_ int ready = event(1);
    _cleanup_close_ int quiet = event(0);

    loop_begin(&loop);
    loop_want(&loop, quiet, POLLIN);
    loop_want(&loop, -1, POLLIN);
    loop_want(&loop, ready, POLLIN);
    CHECK_INT(loop_wait(&loop, -1), 1);
    CHECK_INT(loop_got(&loop, ready), POLLIN);
    CHECK_INT(loop_got(&loop, ready), POLLIN); /* asked again */
    CHECK_INT(loop_got(&loop, quiet), 0);
    CHECK_INT(loop_got(&loop, -1), 0);
    CHECK_INT(loop_got(&loop, 1000), 0);
    loop_free(&loop);
}

TEST(forgets_the_turn_before)
{
    struct loop loop = LOOP_INIT;
    _cleanup_close_ int ready = event(1);

    loop_begin(&loop);
    CHECK_INT(loop_got(&loop, ready), 0);
    loop_want(&loop, ready, POLLIN);
    CHECK_INT(loop_wait(&loop, -1), 1);
    loop_begin(&loop);
    CHECK_INT(loop_got(&loop, ready), 0);
    CHECK_INT(loop_wait(&loop, time_monotonic_ms()), 0);
    loop_want(&loop, ready, POLLOUT);
    CHECK_INT(loop_wait(&loop, -1), 1);
    CHECK_INT(loop_got(&loop, ready), POLLOUT);
    loop_free(&loop);
}

TEST(one_descriptor_stands_for_many)
{
    struct loop loop = LOOP_INIT;
    struct loop_event got[3];
    _cleanup_close_ int many = loop_many_open();
    _cleanup_close_ int a = event(1);
    _cleanup_close_ int quiet = event(0);
    _cleanup_close_ int b = event(1);

    CHECK(loop_many_add(many, a, &a) && loop_many_add(many, quiet, &quiet) &&
          loop_many_add(many, b, &b));
    CHECK(!loop_many_add(many, -1, NULL));
    loop_want(&loop, many, POLLIN);
    CHECK_INT(loop_wait(&loop, -1), 1);
    CHECK_INT(loop_got(&loop, many), POLLIN);
    CHECK_INT(loop_many_got(many, got, 1), 1);
    REQUIRE(loop_many_got(many, got, ARRAY_LEN(got)) == 2);
    CHECK(got[0].arg != got[1].arg && got[0].arg != &quiet && got[1].arg != &quiet);
    CHECK_INT(got[0].events, POLLIN);
    loop_many_remove(many, a);
    REQUIRE(loop_many_got(many, got, ARRAY_LEN(got)) == 1);
    CHECK(got[0].arg == &b);
    loop_many_remove(many, b);
    CHECK_INT(loop_many_got(many, got, ARRAY_LEN(got)), 0);
    loop_free(&loop);
}

TEST(holds_many_descriptors)
{
    enum { MANY = 300 };
    struct loop loop = LOOP_INIT;
    int fds[MANY];

    loop_begin(&loop);
    for (int i = 0; i < MANY; i++) {
        fds[i] = event(i % 3 == 0);
        loop_want(&loop, fds[i], POLLIN);
    }
    CHECK_INT(loop_wait(&loop, -1), MANY / 3);
    for (int i = 0; i < MANY; i++)
        CHECK_INT(loop_got(&loop, fds[i]), i % 3 == 0 ? POLLIN : 0);
    for (int i = MANY; i-- > 0;)
        CHECK_INT(loop_got(&loop, fds[i]), i % 3 == 0 ? POLLIN : 0);
    for (int i = 0; i < MANY; i++)
        (void)close(fds[i]);
    loop_free(&loop);
}

TEST(ends_at_the_time)
{
    struct loop loop = LOOP_INIT;
    _cleanup_close_ int quiet = event(0);
    int64_t until = time_monotonic_ms() + 30;

    loop_begin(&loop);
    loop_want(&loop, quiet, POLLIN);
    while (time_monotonic_ms() < until)
        CHECK_INT(loop_wait(&loop, until), 0);
    CHECK_INT(loop_wait(&loop, until), 0); /* a time that is over */
    CHECK_INT(loop_got(&loop, quiet), 0);
    loop_free(&loop);
}

static void ignore(int signal)
{
    (void)signal;
}

/* Sends SIGALRM to this process soon, and again until it is stopped. */
static void alarm_often(bool on)
{
    const struct itimerval soon = {.it_value.tv_usec = 10000, .it_interval.tv_usec = 10000};
    const struct itimerval never = {.it_value.tv_usec = 0};
    struct sigaction action = {.sa_handler = ignore};

    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, on ? &soon : &never, NULL);
}

TEST(ends_a_turn_at_a_signal)
{
    struct loop loop = LOOP_INIT;
    _cleanup_close_ int quiet = event(0);

    alarm_often(true);
    loop_begin(&loop);
    loop_want(&loop, quiet, POLLIN);
    CHECK_INT(loop_wait(&loop, -1), 0);
    CHECK_INT(loop_got(&loop, quiet), 0);
    alarm_often(false);
    loop_free(&loop);
}

TEST(waits_for_one_in_spite_of_signals)
{
    _cleanup_close_ int ready = event(1);
    _cleanup_close_ int quiet = event(0);
    int64_t start = time_monotonic_ms();

    alarm_often(true);
    CHECK_INT(loop_wait_for(ready, POLLIN, -1), POLLIN);
    CHECK_INT(loop_wait_for(quiet, POLLIN, 50), 0);
    CHECK(time_monotonic_ms() - start >= 50);
    CHECK_INT(loop_wait_for(-1, 0, 50), 0);
    CHECK(time_monotonic_ms() - start >= 100);
    alarm_often(false);
}

TEST(waits_by_a_clock_that_does_not_sleep)
{
    _cleanup_close_ int bell = bell_open();
    int64_t begin = time_monotonic_ms();

    alarm_often(true);
    CHECK_INT(loop_wait_awake(bell, POLLIN, 50), 0);
    alarm_often(false);
    CHECK(time_monotonic_ms() - begin >= 49); /* another clock */
    CHECK_INT(loop_wait_awake(bell, POLLIN, 0), 0);
    bell_ring(bell);
    bell_ring(bell);
    CHECK_INT(loop_wait_awake(bell, POLLIN, INT_MAX), POLLIN);
    bell_silence(bell);
    CHECK_INT(loop_wait_awake(bell, POLLIN, 0), 0);
}

TEST(tells_of_ends_and_closed_descriptors)
{
    struct loop loop = LOOP_INIT;
    int ends[2];

    REQUIRE(pipe(ends) == 0);
    (void)close(ends[1]);
    loop_begin(&loop);
    loop_want(&loop, ends[0], 0);
    CHECK_INT(loop_wait(&loop, -1), 1);
    CHECK_INT(loop_got(&loop, ends[0]), POLLHUP);
    (void)close(ends[0]);
    CHECK_INT(loop_wait_for(ends[0], POLLIN, -1), POLLNVAL);
    loop_free(&loop);
}

/* A process that waits for good, and ends with this output, whose other end is closed then. Returns
 * the signal that ended it; 0: none within this time. */
static int ends_with(int output, int *other, void (*handler)(int), int wait_ms)
{
    int told[2];
    int status = 0;
    char byte;

    CHECK(pipe2(told, O_CLOEXEC) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)signal(SIGPIPE, SIG_IGN); /* what some programs leave to those that they start */
        fd_closep(other);
        loop_end_with(output);
        if (handler != SIG_DFL) {
            (void)signal(SIGPIPE, handler);
            (void)signal(SIGHUP, handler);
        }
        (void)!write(told[1], "", 1);
        _exit(loop_wait_for(-1, 0, wait_ms) == 0 ? 7 : 1);
    }
    CHECK(read(told[0], &byte, 1) == 1);
    fd_closep(other);
    CHECK(waitpid(pid, &status, 0) == pid);
    (void)close(told[0]);
    (void)close(told[1]);
    if (!WIFSIGNALED(status))
        CHECK_INT(WEXITSTATUS(status), 7);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(a_process_ends_with_its_output)
{
    enum { SOON_MS = 50, NEVER_MS = 60000 };
    int pipe_of[2], pair[2], file = open("/dev/null", O_WRONLY | O_CLOEXEC);

    REQUIRE(pipe2(pipe_of, O_CLOEXEC) == 0);
    CHECK_INT(ends_with(pipe_of[1], &pipe_of[0], SIG_DFL, NEVER_MS), SIGPIPE);
    (void)close(pipe_of[1]);
    REQUIRE(pipe2(pipe_of, O_CLOEXEC) == 0); /* that it only reads from */
    CHECK_INT(ends_with(pipe_of[0], &pipe_of[1], SIG_DFL, SOON_MS), 0);
    (void)close(pipe_of[0]);
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    CHECK_INT(ends_with(pair[1], &pair[0], SIG_DFL, NEVER_MS), SIGPIPE);
    (void)close(pair[1]);
    REQUIRE(pipe2(pipe_of, O_CLOEXEC) == 0);
    CHECK_INT(ends_with(pipe_of[1], &pipe_of[0], ignore, SOON_MS), 0);
    (void)close(pipe_of[1]);
    int none = -1;
    CHECK_INT(ends_with(file, &none, SIG_DFL, SOON_MS), 0);
    (void)close(file);
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(master != -1 && grantpt(master) == 0 && unlockpt(master) == 0);
    int terminal = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK_INT(ends_with(terminal, &master, SIG_DFL, NEVER_MS), SIGHUP);
    (void)close(terminal);
}
