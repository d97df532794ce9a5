/*
 * Answers of mas-serve that come later, and those that many share: serve/later.h. The loop is the
 * test's own; what is sent is noted.
 */
#include "serve/http.h"
#include "serve/later.h"
#include "serve/server.h"
#include "unit.h"

#include <poll.h>
#include <semaphore.h>

enum { LONG_MS = 60000, THREADS = 16, PLACES = 64 };

#define ID "550e8400-e29b-41d4-a716-446655440000"

static struct str answered; /* the requests, as their verbs, in the order of their answers */

void http_answered(struct request *request)
{
    str_addf(&answered, "%s %d %s\n", request->verb, request->answer.status,
             str_text(&request->answer.body));
    str_free(&request->answer.body);
}

static sem_t begun, let_go;
static int finds; /* how often */
static bool fails;

static int find(const struct request *request, struct str *ret, struct err *err)
{
    (void)sem_post(&begun);
    while (sem_wait(&let_go) == -1)
        ;
    finds++;
    str_addf(ret, "\"%s %d\"", request->verb, finds);
    return fails ? err_set(err, MAS_CONFLICT, "it is not so") : 0;
}

struct world {
    struct server server;
    struct operation operation;
};

static bool world_make(struct world *world)
{
    struct err err = ERR_INIT;

    *world = (struct world){.server = {.shared = shared_make()}};
    finds = 0;
    fails = false;
    str_clear(&answered);
    return CHECK(sem_init(&begun, 0, 0) == 0 && sem_init(&let_go, 0, 0) == 0) &&
           CHECK(pool_make(THREADS, PLACES, &world->server.pool, &err) == 0);
}

static void world_free(struct world *world)
{
    pool_free(world->server.pool);
    shared_free(world->server.shared);
}
#define _cleanup_world_ __attribute__((cleanup(world_free)))

static struct request asks(struct world *world, const char *name, const char *part,
                           const char *query)
{
    struct request request = {.server = &world->server,
                              .operation = &world->operation,
                              .verb = name,
                              .parts = {(char *)(uintptr_t)part},
                              .part_count = 1,
                              .query_count = query != NULL,
                              .id = ID};
    request.queries[0].key = "q";
    request.queries[0].value = query;
    return request;
}

static void wait_begun(void)
{
    while (sem_wait(&begun) == -1)
        ;
}

/* Lets a worker find an answer and collects it. */
static void let_one_go(struct world *world)
{
    struct pollfd poll_fd = {.fd = pool_fd(world->server.pool), .events = POLLIN};

    (void)sem_post(&let_go);
    CHECK(poll(&poll_fd, 1, LONG_MS) == 1);
    pool_collect(world->server.pool);
}

static bool said(const char *want)
{
    bool is = CHECK_STR(str_text(&answered), want);

    str_clear(&answered);
    return is;
}

/* One after the other asks the same while it is worked on; none gets what was found before it
 * came. */
TEST(who_comes_meanwhile_shares_the_next_answer)
{
    _cleanup_world_ struct world world;
    REQUIRE(world_make(&world));
    struct request one = asks(&world, "one", "a", "1"), two = asks(&world, "two", "a", "1"),
                   three = asks(&world, "three", "a", "1"), four = asks(&world, "four", "a", "1");

    CHECK_INT(answer_shared(&one, find, 409), HANDLED_LATER);
    wait_begun();
    CHECK_INT(answer_shared(&two, find, 409), HANDLED_LATER);
    CHECK_INT(answer_shared(&three, find, 409), HANDLED_LATER);
    CHECK_INT(pool_busy(world.server.pool), 3);
    let_one_go(&world);
    said("one 200 \"one 1\"\n");
    wait_begun(); /* for two, and at once */
    CHECK_INT(answer_shared(&four, find, 409), HANDLED_LATER);
    let_one_go(&world);
    said("two 200 \"two 2\"\nthree 200 \"two 2\"\n");
    wait_begun();
    let_one_go(&world);
    said("four 200 \"four 3\"\n");
    CHECK_INT(pool_busy(world.server.pool), 0);
    CHECK(strcmp(two.answer.etag, three.answer.etag) == 0 && two.answer.etag[0] == '"');
    CHECK(strcmp(one.answer.etag, two.answer.etag) != 0);
    /* the question is forgotten: who asks now gets an answer of its own */
    struct request five = asks(&world, "five", "a", "1");
    CHECK_INT(answer_shared(&five, find, 409), HANDLED_LATER);
    wait_begun();
    let_one_go(&world);
    said("five 200 \"five 4\"\n");
}

/* Each differs from the first in the path, or in the queries. */
TEST(who_asks_something_else_has_an_answer_of_its_own)
{
    static const struct {
        const char *part, *query;
    } others[] = {{"b", "1"}, {"a", "2"}, {"a", NULL}, {"a1", ""}};

    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        _cleanup_world_ struct world world;
        REQUIRE(world_make(&world));
        struct request one = asks(&world, "one", "a", "1");
        struct request two = asks(&world, "two", others[i].part, others[i].query);
        CHECK_INT(answer_shared(&one, find, 409), HANDLED_LATER);
        wait_begun();
        CHECK_INT(answer_shared(&two, find, 409), HANDLED_LATER);
        wait_begun(); /* both are worked on */
        let_one_go(&world);
        while (str_text(&answered)[0] == '\0')
            pool_collect(world.server.pool);
        (void)sem_post(&let_go);
        while (pool_busy(world.server.pool) > 0)
            pool_collect(world.server.pool);
        CHECK(strstr(str_text(&answered), "one 200 \"one ") != NULL);
        CHECK(strstr(str_text(&answered), "two 200 \"two ") != NULL);
    }
}

TEST(an_error_is_for_all_who_asked_and_no_longer)
{
    _cleanup_world_ struct world world;
    REQUIRE(world_make(&world));
    struct request one = asks(&world, "one", "a", "1"), two = asks(&world, "two", "a", "1");

    fails = true;
    CHECK_INT(answer_shared(&one, find, 410), HANDLED_LATER);
    wait_begun();
    CHECK_INT(answer_shared(&two, find, 410), HANDLED_LATER);
    let_one_go(&world);
    CHECK(str_starts(str_text(&answered), "one 410 ") &&
          strstr(str_text(&answered), "it is not so") != NULL);
    str_clear(&answered);
    wait_begun();
    fails = false;
    let_one_go(&world);
    said("two 200 \"two 2\"\n");
}

/* Others take all places while one waits for the answer of another. */
TEST(a_server_without_a_place_refuses)
{
    _cleanup_world_ struct world world;
    REQUIRE(world_make(&world));
    struct request one = asks(&world, "one", "a", "1"), two = asks(&world, "two", "a", "1"),
                   three = asks(&world, "three", "a", "1"), four = asks(&world, "four", "b", "1");
    struct share *held[PLACES];
    size_t count = 0;

    CHECK_INT(answer_shared(&one, find, 409), HANDLED_LATER);
    wait_begun();
    CHECK_INT(answer_shared(&two, find, 409), HANDLED_LATER);
    while ((held[count] = pool_hold(world.server.pool, "")) != NULL)
        count++;
    CHECK_INT(count, PLACES - 2);
    CHECK_INT(answer_shared(&three, find, 409), HANDLED_NOW);
    CHECK_INT(three.answer.status, 503);
    CHECK_INT(answer_shared(&four, find, 409), HANDLED_NOW);
    CHECK_INT(four.answer.status, 503);
    CHECK(strstr(str_text(&four.answer.body), "the server is busy") != NULL);
    CHECK_INT(answer_later(&four, NULL), HANDLED_NOW);
    str_free(&three.answer.body);
    str_free(&four.answer.body);
    let_one_go(&world); /* and for the second there is none again */
    CHECK(str_starts(str_text(&answered), "one 200 \"one 1\"\ntwo 503 "));
    CHECK(strstr(str_text(&answered), "the server is busy") != NULL);
    CHECK_INT(finds, 1);
    while (count > 0)
        pool_leave(world.server.pool, held[--count]);
    CHECK_INT(pool_busy(world.server.pool), 0);
    str_clear(&answered);
    CHECK_INT(answer_shared(&three, find, 409),
              HANDLED_LATER); /* it is not forgotten in the list */
    wait_begun();
    let_one_go(&world);
    said("three 200 \"three 2\"\n");
}

/* What one session gets, and what it leaves to others. */
TEST(a_session_with_too_many_requests_is_refused_and_another_is_not)
{
    _cleanup_world_ struct world world;
    REQUIRE(world_make(&world));
    struct request one = asks(&world, "one", "a", "1"), more = asks(&world, "more", "a", "1"),
                   other = asks(&world, "other", "b", "1");
    struct share *held[PLACES];
    size_t count = 0;

    CHECK_INT(answer_shared(&one, find, 409), HANDLED_LATER);
    wait_begun();
    while ((held[count] = pool_hold(world.server.pool, ID)) != NULL)
        count++;
    CHECK_INT(answer_shared(&more, find, 409), HANDLED_NOW);
    CHECK_INT(more.answer.status, 503);
    CHECK(strstr(str_text(&more.answer.body), "too many requests wait for this session") != NULL);
    memset(other.id, 'b', 1);
    CHECK_INT(answer_shared(&other, find, 409), HANDLED_LATER);
    wait_begun();
    (void)sem_post(&let_go);
    let_one_go(&world);
    while (count > 0)
        pool_leave(world.server.pool, held[--count]);
    while (pool_busy(world.server.pool) > 0)
        pool_collect(world.server.pool);
    str_free(&more.answer.body);
}

static void run_alone(struct job *job)
{
    answer_error(later_request(job), 404, "there is none");
}

TEST(one_that_shares_nothing_is_answered_when_its_work_is_done)
{
    _cleanup_world_ struct world world;
    REQUIRE(world_make(&world));
    struct request one = asks(&world, "one", "a", "1");

    CHECK_INT(answer_later(&one, run_alone), HANDLED_LATER);
    let_one_go(&world);
    CHECK(str_starts(str_text(&answered), "one 404 "));
}
