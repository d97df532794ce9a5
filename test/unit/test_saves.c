#include "root.h"

#include "fleet/saves.h"

#include <stdio.h>

/* A place with a store that has a directory for session ID(0). */
struct with_store {
    struct place place;
    char *store;
    int dir;
};

static void store_free(struct with_store *with)
{
    fd_closep(&with->dir);
    free(with->store);
    place_free(&with->place);
}

static struct with_store store_make(void)
{
    struct with_store with = {.place = place_make()};

    with.store = mem_printf("%s/store", with.place.path);
    CHECK(mkdirat(with.place.dir, "store", 0700) == 0 &&
          mkdirat(with.place.dir, "store/" ID(0), 0700) == 0);
    with.dir = openat(with.place.dir, "store/" ID(0), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return with;
}
#define WITH_STORE                                                                                 \
    __attribute__((cleanup(store_free))) struct with_store with = store_make();                    \
    REQUIRE(with.dir != -1)

static void sorts_by_epoch_then_time(void)
{
    static const char *const sorted[] = {
        "save-10-20250101T000000Z.tar.zst", "save-9-20261231T235959Z.tar.zst",
        "save-9-20251231T235959Z.tar.zst",  "save-9-20251231T235958Z.tar.zst",
        "save-0-20270101T000000Z.tar.zst",
    };
    struct save list[SAVES_LISTED];
    struct err err = ERR_INIT;
    size_t count = 0;

    WITH_STORE;
    for (size_t i = 0; i < ARRAY_LEN(sorted); i++)
        CHECK(place_put(with.dir, sorted[(i * 3) % ARRAY_LEN(sorted)], "x"));
    MUST(saves_list(with.store, ID(0), list, &count, &err));
    CHECK_INT(count, ARRAY_LEN(sorted));
    for (size_t i = 0; i < count && i < ARRAY_LEN(sorted); i++)
        CHECK_STR(list[i].name, sorted[i]);
    CHECK_INT(list[0].epoch, 10);
    CHECK_INT(list[0].when, 1735689600);
}

static void ignores_every_other_name(void)
{
    static const char *const others[] = {
        "save-1-20250101T000000Z.tar.zst.new",
        "save-1-20250101T000000Z.tar",
        "save-01-20250101T000000Z.tar.zst",
        "save--20250101T000000Z.tar.zst",
        "save-+1-20250101T000000Z.tar.zst",
        "save-1-20250230T000000Z.tar.zst",
        "save-1-20250101T240000Z.tar.zst",
        "save-1-2025010100000000Z.tar.zst",
        "save-18446744073709551616-20250101T000000Z.tar.zst",
        "save-1-20250101T000000Z\n.tar.zst",
        "save-1\n-20250101T000000Z.tar.zst",
        "save-99999999999999999999999999999999999999999999999999-20250101T000000Z.tar.zst",
        "lease",
        "job",
    };
    struct save list[SAVES_LISTED];
    struct err err = ERR_INIT;
    size_t count = 1;

    WITH_STORE;
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        CHECK(place_put(with.dir, others[i], "x"));
    CHECK(mkdirat(with.dir, "save-2-20250101T000000Z.tar.zst", 0700) == 0);
    CHECK(symlinkat("lease", with.dir, "save-3-20250101T000000Z.tar.zst") == 0);
    CHECK(mkfifoat(with.dir, "save-4-20250101T000000Z.tar.zst", 0600) == 0);
    MUST(saves_list(with.store, ID(0), list, &count, &err));
    CHECK_INT(count, 0);
}

static void lists_the_newest_of_many(void)
{
    struct save list[SAVES_LISTED];
    struct err err = ERR_INIT;
    size_t count = 0;

    WITH_STORE;
    for (int i = 0; i < 100; i++) {
        char name[SAVES_NAME];
        (void)snprintf(name, sizeof name, "save-%d-20250101T000000Z.tar.zst", (i * 37) % 100);
        CHECK(place_put(with.dir, name, "x"));
    }
    MUST(saves_list(with.store, ID(0), list, &count, &err));
    CHECK_INT(count, SAVES_LISTED);
    for (size_t i = 0; i < count; i++)
        CHECK_INT(list[i].epoch, 99 - i);
}

static void tells_no_saves_from_no_store(void)
{
    struct save list[SAVES_LISTED];
    struct err err = ERR_INIT;
    size_t count = 1;

    WITH_STORE;
    MUST(saves_list(with.store, ID(1), list, &count, &err));
    CHECK_INT(count, 0);
    CHECK_INT(saves_list("/nowhere", ID(0), list, &count, &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
}

static void says_that_there_is_none(void)
{
    struct root root = {.fd = -1};
    struct config config = {.env_count = 0};
    struct session session = SESSION_INIT;
    struct life life = {.root = &root, .config = &config};
    _cleanup_strv_ char **passed = NULL;
    struct err err = ERR_INIT;

    WITH_STORE;
    REQUIRE(root_make(&with.place, &root));
    CHECK_INT(saves_restore(&life, with.store, ID(0), &session, &passed, &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
    root_close(&root);
}

static const struct unit_test tests[] = {
    TEST(sorts_by_epoch_then_time), TEST(ignores_every_other_name),
    TEST(lists_the_newest_of_many), TEST(tells_no_saves_from_no_store),
    TEST(says_that_there_is_none),
};

int main(void)
{
    return UNIT_RUN(tests);
}
