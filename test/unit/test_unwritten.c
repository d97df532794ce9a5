/* Writes of a host that wait for room on the disk. */
#include "place.h"

#include "host/backend.h"
#include "host/state.h"
#include "host/unwritten.h"

static char written[256]; /* the names of the writes, in their order */
static const char *fails; /* the name of the first write that fails; NULL: none */
static int why; /* the code of its error */
static int64_t next_number = 100;

static int write_one(struct store *store, struct unwritten_write *write, struct err *err)
{
    (void)store;
    if (fails != NULL && strcmp(write->text[0], fails) == 0)
        return err_set(err, why, "no room");
    if (write->adds)
        write->number = next_number++;
    size_t len = strlen(written);
    (void)snprintf(written + len, sizeof written - len, "%s%s=%d", len > 0 ? " " : "",
                   write->text[0], (int)write->number);
    return 0;
}

static void say(struct host *host, const char *words)
{
    (void)host;
    (void)words;
}

static const struct backend backend = {.say = say};
static const struct agent agent = {.id = (char *)(uintptr_t) "solo"};
static struct store *const some_store = (struct store *)&backend; /* nothing looks into it */

static struct host host_make(const struct place *place)
{
    struct host host = {
        .dir = place->dir, .agent = &agent, .config = CONFIG_INIT, .backend = &backend};
    struct err err = ERR_INIT;

    WELL(config_load(NULL, false, &host.config, NULL, &err));
    written[0] = '\0';
    fails = NULL;
    next_number = 100;
    return host;
}

static void host_free(struct host *host)
{
    unwritten_drop(host);
    config_free(&host->config);
}
#define _cleanup_host_ __attribute__((cleanup(host_free)))

static int64_t put(struct host *host, const char *name, bool adds, int64_t number)
{
    struct err err = ERR_INIT;
    const struct unwritten_write write = {
        .run = write_one, .adds = adds, .number = number, .text = {name}, .len = strlen(name)};

    return unwritten_write(host, some_store, &write, &err);
}

static bool flush(struct host *host)
{
    struct err err = ERR_INIT;

    return WELL(unwritten_flush(host, some_store, &err)) && !unwritten_holds(host);
}

/* Wherever the disk is full again, nothing is written twice, left out, or too early. */
TEST(a_disk_that_stays_full_loses_no_write)
{
    static const char *const names[] = {"a", "b", "c"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        _cleanup_place_ struct place place = place_make();
        _cleanup_host_ struct host host = host_make(&place);
        why = MAS_FAILED;
        fails = "a";
        int64_t number = put(&host, "a", true, 0);
        CHECK(number < 0);
        CHECK_INT(put(&host, "b", false, number), number);
        CHECK(put(&host, "c", true, 0) < number);
        CHECK_STR(written, "");
        for (int again = 0; again < 3; again++) {
            fails = names[i];
            CHECK(!flush(&host));
        }
        fails = NULL;
        CHECK(flush(&host));
        CHECK_STR(written, "a=100 b=100 c=101");
        /* who has the number from before still means the message */
        (void)put(&host, "d", false, number);
        CHECK_STR(written, "a=100 b=100 c=101 d=100");
    }
}

/* Another try would never mend it, and those behind it would wait for ever. */
TEST(a_write_that_is_wrong_is_dropped_and_the_others_go_on)
{
    static const char *const names[] = {"a", "b", "c"};
    static const char *const left[] = {"b=0 c=0", "a=0 c=0", "a=0 b=0"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        _cleanup_place_ struct place place = place_make();
        _cleanup_host_ struct host host = host_make(&place);
        why = MAS_FAILED;
        fails = "a";
        for (size_t j = 0; j < ARRAY_LEN(names); j++)
            CHECK_INT(put(&host, names[j], false, 0), 0);
        why = MAS_NOT_FOUND;
        fails = names[i];
        CHECK(flush(&host));
        CHECK_STR(written, left[i]);
    }
}

static int tried;

static bool tries_in_vain(struct host *host)
{
    (void)host;
    tried++;
    return false;
}

static bool tries_well(struct host *host)
{
    (void)host;
    tried++;
    return true;
}

/* The status says so as long as anything is left, of whichever kind. */
TEST(the_status_says_so_until_all_is_written)
{
    static unwritten_try *const cases[][3] = {{tries_in_vain, tries_well, tries_well},
                                              {tries_well, tries_in_vain, tries_well},
                                              {tries_well, tries_well, tries_in_vain}};
    static unwritten_try *const good[] = {tries_well, tries_well, tries_well};
    struct err err = ERR_INIT;

    (void)err_set(&err, MAS_FAILED, "no room");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_place_ struct place place = place_make();
        _cleanup_host_ struct host host = host_make(&place);
        unwritten_note(&host, &err);
        int64_t now = host.unwritten.again;
        CHECK_INT(unwritten_tick(&host, cases[i], 3, now - 1), now);
        tried = 0;
        CHECK(unwritten_tick(&host, cases[i], 3, now) > now);
        CHECK_INT(tried, 3);
        CHECK_STR(host.unwritten.why, "not written: no room");
        CHECK_INT(unwritten_tick(&host, good, 3, host.unwritten.again), -1);
        CHECK_STR(host.unwritten.why, "");
    }
}
