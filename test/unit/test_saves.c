#include "gap.h"
#include "root.h"

#include "fleet/saves.h"
#include "session/helper.h"

static uid_t user_offset; /* this process seems to be another user's */

/* The programs of mas lie two directories above this one. */
char *helper_find(const char *name, struct err *err)
{
    _cleanup_free_ char *dir = path_exe_dir();

    return dir != NULL ? mem_printf("%s/../../%s", dir, name)
                       : (err_errno(err, "cannot find '%s'", name), NULL);
}

uid_t geteuid(void)
{
    return (uid_t)syscall(SYS_geteuid) + user_offset;
}

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

TEST(sorts_by_epoch_then_time)
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

TEST(ignores_every_other_name)
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

TEST(lists_the_newest_of_many)
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

TEST(tells_no_saves_from_no_store)
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

TEST(says_that_there_is_none)
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

TEST(a_directory_of_another_user_is_not_used)
{
    struct save list[SAVES_LISTED];
    struct err err = ERR_INIT;
    size_t count = 0;

    WITH_STORE;
    CHECK(place_put(with.dir, "save-1-20250101T000000Z.tar.zst", "x"));
    user_offset = 1;
    CHECK_INT(saves_list(with.store, ID(0), list, &count, &err), -1);
    user_offset = 0;
    CHECK_INT(err.code, MAS_FAILED);
    CHECK_INT(count, 0);
}

/* ---- a session in a root, and its saves */

struct saved {
    struct with_store store;
    struct root root;
    struct config config;
    struct life life;
};

static void saved_free(struct saved *s)
{
    config_free(&s->config);
    root_close(&s->root);
    store_free(&s->store);
}

static bool saved_make(struct saved *s, uint64_t epoch)
{
    struct err err = ERR_INIT;

    *s = (struct saved){.store = store_make(), .root = ROOT_INIT, .config = CONFIG_INIT};
    s->life = (struct life){.root = &s->root, .config = &s->config};
    if (!CHECK(s->store.dir != -1) || !root_make(&s->store.place, &s->root) ||
        !WELL(config_load(NULL, false, &s->config, NULL, &err)))
        return false;
    _cleanup_session_ struct session session = root_session(ID(0), "t", "one");
    session.epoch = epoch;
    if (!root_save(&s->root, &session))
        return false;
    _cleanup_close_ int dir = workspace_open(&s->root, ID(0));
    return mkdirat(dir, WORKSPACE_UNIT, 0700) == 0 &&
           place_put(dir, WORKSPACE_CONFIG,
                     "{\"windows\":[{\"name\":\"w\",\"agents\":[\"solo\"]}],\"team\":[{\"id\":"
                     "\"solo\",\"role\":\"r\",\"rank\":\"worker\",\"group\":\"g\"}],\"rules\":{}}");
}
#define SAVED(epoch)                                                                               \
    __attribute__((cleanup(saved_free))) struct saved s;                                           \
    REQUIRE(saved_make(&s, epoch))

static int save(const struct saved *s, struct err *err)
{
    struct archive_report report = {.file = NULL};
    int rc = saves_write(&s->life, s->store.store, ID(0), false, &report, err);

    if (rc == 0)
        archive_report_free(&report);
    return rc;
}

static size_t list_saves(const struct saved *s, struct save list[SAVES_LISTED])
{
    struct err err = ERR_INIT;
    size_t count = 0;

    WELL(saves_list(s->store.store, ID(0), list, &count, &err));
    return count;
}

TEST(a_machine_that_lost_the_session_saves_nothing)
{
    struct save list[SAVES_LISTED];
    struct err err = ERR_INIT;

    SAVED(4);
    CHECK(place_put(s.store.dir, "save-3-20990101T000000Z.tar.zst", "x"));
    MUST(save(&s, &err)); /* that of another machine before, whose clock was ahead */
    CHECK_INT(list_saves(&s, list), 2);
    CHECK_INT(list[0].epoch, 4);
    CHECK(list[0].when > 1735689600 && list[0].when <= time(NULL));
    CHECK(place_put(s.store.dir, "save-5-20250101T000000Z.tar.zst", "x"));
    CHECK_INT(save(&s, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK(strstr(err.text, "has taken it over") != NULL);
    CHECK_INT(list_saves(&s, list), 3); /* nothing came, and nothing went */
}

/* After a power cut the directory of a session's first save is there. */
TEST(the_first_save_makes_its_place_for_good)
{
    struct err err = ERR_INIT;

    SAVED(1);
    CHECK(unlinkat(s.store.dir, "../" ID(0), AT_REMOVEDIR) == 0);
    trace_begin();
    MUST(save(&s, &err));
    CHECK(str_starts(trace_end(), "fsync DIR, "));
}

TEST(two_saves_in_one_second_are_two)
{
    struct save list[SAVES_LISTED];
    struct err err = ERR_INIT;
    time_t begun = time(NULL);

    SAVED(1);
    gap_clock(true); /* only what waits goes on */
    for (int i = 0; i < 3; i++)
        MUST(save(&s, &err));
    CHECK_INT(list_saves(&s, list), SAVES_KEPT);
    CHECK(list[0].when >= begun + 2 && list[0].when > list[1].when);
    /* the clock of the machine that has saved before was ahead */
    CHECK(place_put(s.store.dir, "save-1-20990101T000000Z.tar.zst", "x"));
    MUST(save(&s, &err));
    CHECK_INT(list_saves(&s, list), SAVES_KEPT);
    CHECK_STR(list[0].name, "save-1-20990101T000001Z.tar.zst");
    gap_clock(false);
}

static void forget_session(const struct saved *s)
{
    struct err err = ERR_INIT;

    WELL(tree_remove(s->root.sessions, ID(0), &err));
}

static void remove_newest(void *arg)
{
    struct save list[SAVES_LISTED];
    const struct saved *s = arg;

    if (CHECK(list_saves(s, list) > 0))
        CHECK_INT(unlinkat(s->store.dir, list[0].name, 0), 0);
}

TEST(a_save_that_is_damaged_or_goes_is_passed_over)
{
    struct save list[SAVES_LISTED];
    struct err err = ERR_INIT;

    for (int gone = 0; gone < 2; gone++) {
        _cleanup_session_ struct session session = SESSION_INIT;
        _cleanup_strv_ char **passed = NULL;
        SAVED(1);
        MUST(save(&s, &err));
        MUST(save(&s, &err));
        REQUIRE(list_saves(&s, list) == 2);
        forget_session(&s);
        if (gone == 0)
            CHECK(place_put(s.store.dir, list[0].name, "damaged"));
        else
            gap_before_nth("close", 2, remove_newest, &s); /* once they are listed */
        MUST(saves_restore(&s.life, s.store.store, ID(0), &session, &passed, &err));
        CHECK_STR(session.name, "one");
        CHECK_INT(strv_len(passed), 1);
    }
}

TEST(what_another_save_cannot_mend_ends_the_restore)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_strv_ char **passed = NULL;
    struct save list[SAVES_LISTED];
    struct err err = ERR_INIT;

    SAVED(1);
    MUST(save(&s, &err));
    MUST(save(&s, &err));
    REQUIRE(list_saves(&s, list) == 2);
    CHECK_INT(saves_restore(&s.life, s.store.store, ID(0), &session, &passed, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT); /* the session is there */
    CHECK(strstr(err.text, list[0].name) != NULL);
    CHECK_STR(err.hint, "restore it under a new id with --new-id");
}
