/* The pool of mas-serve: what one session gets of it, and what it leaves to others. */
#include "serve/work.h"
#include "unit.h"

#include <poll.h>
#include <semaphore.h>

enum { THREADS = 24, PLACES = 768, SESSIONS = 12, EACH = 40, FOREVER_MS = 60000 };

static sem_t begun; /* jobs that have begun */
static sem_t let_go; /* jobs that may end */

struct test_job {
    struct job job;
    bool done;
};

static void run_silent(struct job *job)
{
    (void)job;
    (void)sem_post(&begun);
    while (sem_wait(&let_go) == -1)
        ;
}

static void run_healthy(struct job *job)
{
    (void)job;
}

static void on_done(struct job *job)
{
    ((struct test_job *)(void *)job)->done = true;
}

static void wait_begun(int count)
{
    while (count > 0)
        count -= sem_wait(&begun) == 0;
}

/* Collects until the job is done. Returns false if nothing ends for a long time. */
static bool finish(struct pool *pool, const struct test_job *job)
{
    struct pollfd poll_fd = {.fd = pool_fd(pool), .events = POLLIN};

    while (!job->done) {
        if (poll(&poll_fd, 1, FOREVER_MS) != 1)
            return false;
        pool_collect(pool);
    }
    return true;
}

static const char *name_of(int session)
{
    static char name[2] = "A";

    name[0] = (char)('A' + session);
    return name;
}

TEST(silent_sessions_leave_threads_to_others)
{
    static const int running[SESSIONS + 1] = {0, 4, 8, 11, 13, 15, 16, 17, 18, 19, 20, 21, 22};
    struct test_job *jobs = calloc((size_t)SESSIONS * EACH, sizeof *jobs);
    struct err err = ERR_INIT;
    struct pool *pool = NULL;

    REQUIRE(jobs != NULL && sem_init(&begun, 0, 0) == 0 && sem_init(&let_go, 0, 0) == 0);
    REQUIRE(pool_make(THREADS, PLACES, &pool, &err) == 0);
    for (int i = 0; i < SESSIONS; i++) {
        struct test_job healthy = {.job = {.run = run_healthy, .done = on_done}};
        for (int j = 0; j < EACH; j++) {
            struct test_job *job = &jobs[i * EACH + j];
            *job = (struct test_job){.job = {.run = run_silent, .done = on_done}};
            CHECK(pool_add(pool, name_of(i), &job->job) || (i >= 7 && j > 0));
        }
        wait_begun(running[i + 1] - running[i]);
        REQUIRE(pool_add(pool, "healthy", &healthy.job));
        CHECK(finish(pool, &healthy));
    }
    int more = -1;
    CHECK(sem_getvalue(&begun, &more) == 0 && more == 0);
    for (int i = 0; i < SESSIONS * EACH; i++)
        (void)sem_post(&let_go);
    for (int i = 0; i < SESSIONS * EACH; i++)
        CHECK(jobs[i].job.share == NULL || finish(pool, &jobs[i]));
    CHECK_INT((int)pool_busy(pool), 0);
    pool_free(pool);
    free(jobs);
}

TEST(a_session_gets_part_of_the_places_that_are_free)
{
    struct err err = ERR_INIT;
    struct pool *pool = NULL;
    struct share *held[PLACES];
    size_t count = 0;

    REQUIRE(pool_make(1, PLACES, &pool, &err) == 0);
    for (int i = 0; i < 2 * SESSIONS; i++) {
        while ((held[count] = pool_hold(pool, name_of(i))) != NULL)
            count++;
        if (i == 0)
            CHECK_INT((int)count, 153);
        if (i == 1)
            CHECK_INT((int)count, 153 + 123);
        /* there is room for another one, which gets a quarter of it, too */
        CHECK(pool_has_place(pool));
    }
    /* each that comes gets one, as long as there is any; what is of no session all the rest */
    while ((held[count] = pool_hold(pool, "")) != NULL && count < PLACES - 2)
        count++;
    held[++count] = pool_hold(pool, "other");
    CHECK(held[count] != NULL && pool_hold(pool, "another") == NULL);
    for (size_t i = 0; i <= count; i++)
        pool_leave(pool, held[i]);
    CHECK_INT((int)pool_busy(pool), 0);
    pool_free(pool);
}

TEST(another_runs_when_one_ends)
{
    struct test_job jobs[2][EACH];
    struct err err = ERR_INIT;
    struct pool *pool = NULL;

    REQUIRE(sem_init(&begun, 0, 0) == 0 && sem_init(&let_go, 0, 0) == 0);
    REQUIRE(pool_make(THREADS, PLACES, &pool, &err) == 0);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < EACH; j++) {
            jobs[i][j] = (struct test_job){.job = {.run = run_silent, .done = on_done}};
            REQUIRE(pool_add(pool, name_of(i), &jobs[i][j].job));
        }
        wait_begun(4);
    }
    for (int i = 0; i < 2 * EACH; i++) {
        (void)sem_post(&let_go);
        if (i < EACH - 4) /* jobs of both wait */
            wait_begun(1);
    }
    for (int i = 0; i < 2 * EACH; i++)
        CHECK(finish(pool, &jobs[i / EACH][i % EACH]));
    pool_free(pool);
}
