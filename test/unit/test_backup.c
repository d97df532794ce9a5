/* A copy of the memory.db of a session that runs. */
#include "store.h"

#include "memory/backup.h"
#include "memory/db.h"

static size_t count_copies(int run)
{
    _cleanup_strv_ char **names = NULL;
    struct err err = ERR_INIT;
    size_t count = 0;

    WELL(path_list(run, &names, &err));
    for (char **name = names; name != NULL && *name != NULL; name++)
        count += str_starts(*name, ".copy-");
    return count;
}

/* A directory run/ in the place. */
static int make_run(const struct place *place)
{
    CHECK_INT(mkdirat(place->dir, WORKSPACE_RUN, 0700), 0);
    return path_open_dir(place->dir, WORKSPACE_RUN);
}

static void age(int run, const char *name, int seconds)
{
    const struct timespec then[2] = {{.tv_sec = time(NULL) - seconds},
                                     {.tv_sec = time(NULL) - seconds}};

    REQUIRE(place_put(run, name, "x"));
    CHECK_INT(utimensat(run, name, then, AT_SYMLINK_NOFOLLOW), 0);
}

TEST(it_is_whole_and_has_no_name)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int run = make_run(&place);
    _cleanup_close_ int fd = -1;
    struct err err = ERR_INIT;
    int64_t size = -1;
    struct stat st;

    struct store *store = opened(&place, "00");
    (void)turn(store, query_of(store), "a question", "an answer");
    MUST(memory_backup(place.dir, NULL, NULL, &fd, &size, &err));
    store_close(store);
    CHECK_INT(count_copies(run), 0);
    REQUIRE(fstat(fd, &st) == 0);
    CHECK_INT(st.st_nlink, 0);
    CHECK_INT(st.st_mode & 07777, 0600);
    CHECK_INT(size, st.st_size);
    CHECK(size > 0);
    /* what is in it can be read as a store */
    _cleanup_place_ struct place other = place_make();
    _cleanup_free_ char *bytes = mem_alloc((size_t)size);
    REQUIRE(pread(fd, bytes, (size_t)size, 0) == size);
    REQUIRE(place_write(other.dir, WORKSPACE_MEMORY, bytes, (size_t)size));
    struct store *copy = opened(&other, NULL);
    check_rows(copy, &(struct store_filter){.agent = NULL},
               "00 user done a question\n00 agent done an answer\n");
    store_close(copy);
}

TEST(without_a_store_it_is_empty)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int run = make_run(&place);
    _cleanup_close_ int fd = -1;
    struct err err = ERR_INIT;
    int64_t size = -1;

    MUST(memory_backup(place.dir, NULL, NULL, &fd, &size, &err));
    CHECK(fd != -1);
    CHECK_INT(size, 0);
    CHECK_INT(count_copies(run), 0);
}

TEST(what_kills_left_is_removed_when_it_is_old)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int run = make_run(&place);
    _cleanup_close_ int fd = -1;
    struct err err = ERR_INIT;
    int64_t size = -1;
    struct stat st;

    age(run, ".copy-old", 120);
    age(run, ".copy-older", 3600);
    age(run, ".copy-new", 5); /* it may be in use */
    age(run, "copy-old", 3600); /* no copy */
    MUST(memory_backup(place.dir, NULL, NULL, &fd, &size, &err));
    CHECK_INT(fstatat(run, ".copy-old", &st, 0), -1);
    CHECK_INT(fstatat(run, ".copy-older", &st, 0), -1);
    CHECK_INT(fstatat(run, ".copy-new", &st, 0), 0);
    CHECK_INT(fstatat(run, "copy-old", &st, 0), 0);
}

TEST(a_damaged_store_is_said_to_be_so)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int run = make_run(&place);
    _cleanup_close_ int fd = -1;
    struct err err = ERR_INIT;
    int64_t size = -1;

    REQUIRE(place_put(place.dir, WORKSPACE_MEMORY, "this is no database, whatever its name says"));
    CHECK_INT(memory_backup(place.dir, NULL, NULL, &fd, &size, &err), -1);
    CHECK_INT(err.code, MAS_DAMAGED);
    CHECK(fd != -1);
    CHECK_INT(count_copies(run), 0);
}

static int ticks;

static bool stop(size_t files, uint64_t bytes, void *arg)
{
    (void)files;
    CHECK(bytes > 0);
    ticks++;
    return *(bool *)arg;
}

TEST(a_tick_can_stop_it)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int run = make_run(&place);
    _cleanup_free_ char *text = mem_alloc(8 << 20);

    memset(text, 'x', (8 << 20) - 1);
    text[(8 << 20) - 1] = '\0';
    struct store *store = opened(&place, "00");
    (void)add(store, query_of(store), ROLE_USER, MESSAGE_DONE, text, 0);
    store_close(store);
    for (int stops = 0; stops < 2; stops++) {
        _cleanup_close_ int fd = -1;
        struct err err = ERR_INIT;
        int64_t size = -1;
        bool arg = stops != 0;
        ticks = 0;
        CHECK_INT(memory_backup(place.dir, stop, &arg, &fd, &size, &err), stops ? -1 : 0);
        CHECK_STR(err.text, stops ? "interrupted" : "");
        CHECK_INT(ticks > 1, !stops);
        CHECK(ticks >= 1);
        CHECK_INT(count_copies(run), 0);
    }
}
