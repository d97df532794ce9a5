#include "os/loop.h"

#include "base/time.h"

#include "unit.h"

#include <sys/eventfd.h>
#include <sys/time.h>

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
