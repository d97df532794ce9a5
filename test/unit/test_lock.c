#include "place.h"

#include "gap.h"

#include "base/time.h"
#include "os/thread.h"

#include <stdatomic.h>
#include <sys/time.h>

static int lock(const struct place *place, int wait_ms, int *ret_fd, struct err *err)
{
    return file_lock(place->dir, "lock", wait_ms, "test", ret_fd, err);
}

TEST(a_try_ends_at_once_and_names_the_holder)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int held = -1, fd = -1;
    struct err err = ERR_INIT;
    char want[64];

    REQUIRE(lock(&place, LOCK_TRY, &held, &err) == 0);
    CHECK_INT(err.code, MAS_OK); /* it also created the file */
    CHECK_STR(err.text, "");
    CHECK_INT(lock(&place, LOCK_TRY, &fd, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    (void)snprintf(want, sizeof want, "pid %ld (test) holds the lock", (long)getpid());
    CHECK_STR(err.text, want);
    fd_closep(&held);
    CHECK_INT(lock(&place, LOCK_TRY, &fd, &err), 0);
}

struct waiter {
    const struct place *place;
    int wait_ms;
    int rc;
    int code;
    int64_t waited;
    atomic_bool ended;
    pthread_t thread;
};

/* Without signals, as the threads of mas-serve. */
static void *wait_for_it(void *arg)
{
    struct waiter *waiter = arg;
    _cleanup_close_ int fd = -1;
    struct err err = ERR_INIT;
    int64_t start = time_monotonic_ms();

    waiter->rc = lock(waiter->place, waiter->wait_ms, &fd, &err);
    waiter->code = err.code;
    waiter->waited = time_monotonic_ms() - start;
    atomic_store(&waiter->ended, true);
    return NULL;
}

static bool within(const struct waiter *waiter, int64_t ms)
{
    for (int64_t end = time_monotonic_ms() + ms; !atomic_load(&waiter->ended);) {
        if (time_monotonic_ms() > end)
            return false;
        (void)usleep(1000);
    }
    return true;
}

TEST(waits_of_threads_end_when_they_said)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int held = -1;
    struct waiter waiters[] = {{.place = &place, .wait_ms = 50}, {.place = &place, .wait_ms = 200}};
    struct err err = ERR_INIT;

    REQUIRE(lock(&place, LOCK_TRY, &held, &err) == 0);
    for (size_t i = 0; i < ARRAY_LEN(waiters); i++)
        REQUIRE(thread_start(&waiters[i].thread, wait_for_it, &waiters[i]));
    for (size_t i = 0; i < ARRAY_LEN(waiters); i++)
        CHECK(within(&waiters[i], 10000));
    fd_closep(&held); /* ends also those that wait too long */
    for (size_t i = 0; i < ARRAY_LEN(waiters); i++) {
        (void)pthread_join(waiters[i].thread, NULL);
        CHECK_INT(waiters[i].rc, -1);
        CHECK_INT(waiters[i].code, MAS_TIMEOUT);
        CHECK(waiters[i].waited >= waiters[i].wait_ms);
    }
}

TEST(a_wait_ends_with_the_lock)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int held = -1;
    struct waiter waiter = {.place = &place, .wait_ms = 20000};
    struct err err = ERR_INIT;

    REQUIRE(lock(&place, LOCK_TRY, &held, &err) == 0);
    REQUIRE(thread_start(&waiter.thread, wait_for_it, &waiter));
    CHECK(!within(&waiter, 20));
    fd_closep(&held);
    (void)pthread_join(waiter.thread, NULL);
    CHECK_INT(waiter.rc, 0);
}

static atomic_int alarms;

static void on_alarm(int sig)
{
    (void)sig;
    (void)atomic_fetch_add(&alarms, 1);
}

/* The timer and the signal of a process belong to who uses it. */
TEST(a_wait_leaves_timer_and_signal_alone)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int held = -1, fd = -1;
    struct sigaction act = {.sa_handler = on_alarm}, now;
    const struct itimerval timer = {.it_value = {.tv_sec = 100}};
    struct itimerval left;
    struct err err = ERR_INIT;

    REQUIRE(lock(&place, LOCK_TRY, &held, &err) == 0);
    REQUIRE(sigaction(SIGALRM, &act, NULL) == 0 && setitimer(ITIMER_REAL, &timer, NULL) == 0);
    CHECK_INT(lock(&place, 30, &fd, &err), -1);
    CHECK_INT(err.code, MAS_TIMEOUT);
    CHECK(getitimer(ITIMER_REAL, &left) == 0 && left.it_value.tv_sec > 50);
    CHECK(sigaction(SIGALRM, NULL, &now) == 0 && now.sa_handler == on_alarm);
    CHECK_INT(alarms, 0);
    (void)alarm(0);
}

/* As a session that is removed and made anew. */
static void replace_the_file(void *arg)
{
    const struct place *place = arg;
    struct err err = ERR_INIT;

    CHECK_INT(unlinkat(place->dir, "lock", 0), 0);
    CHECK_INT(file_create(place->dir, "lock", "", 0, 0600, &err), 0);
}

TEST(a_lock_on_a_removed_file_does_not_count)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int fd = -1;
    struct err err = ERR_INIT;

    gap_before("flock", replace_the_file, &place);
    REQUIRE(lock(&place, LOCK_TRY, &fd, &err) == 0);
    CHECK(file_is_named(place.dir, "lock", fd, NULL));
    CHECK(file_is_locked(place.dir, "lock"));
}
