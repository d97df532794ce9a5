/* The entry of an agent in the register of who waits, and the reserve for a full disk. */
#include "root.h"

#include "host/state.h"
#include "store/limits/waiting.h"
#include "store/reserve.h"

static const struct agent agent = {.id = (char *)(uintptr_t) "solo"};

static struct host host_of(const struct root *root)
{
    struct host host = {.root = *root, .agent = &agent};

    memcpy(host.session.id, ID(1), ID_TEXT);
    return host;
}

/* When the agent waits for a person since, as the register says; 0: it does not. */
static int64_t since(const struct root *root)
{
    _cleanup_waiting_ struct waiting_list list = {.count = 0};

    waiting_read(root, &list);
    for (size_t i = 0; i < list.count; i++)
        if (strcmp(list.entries[i].session, ID(1)) == 0 &&
            strcmp(list.entries[i].agent, "solo") == 0)
            return list.entries[i].since_ms;
    return 0;
}

TEST(a_register_that_another_writes_is_written_a_little_later)
{
    A_ROOT;
    struct host host = host_of(&root);
    int lock = -1;

    WELL(waiting_set(&root, ID(2), "solo", 7, LOCK_TRY, &err));
    host.attention.class = ATTENTION_NEEDED;
    host.told.since_ms = 5;
    MUST(file_lock(root.sessions, WAITING_LOCK, LOCK_TRY, "test", &lock, &err));
    int64_t due = register_tick(&host, 1000);
    CHECK(due > 1000);
    CHECK_INT(since(&root), 0);
    fd_closep(&lock);
    CHECK_INT(register_tick(&host, due - 1), due); /* not before that */
    CHECK_INT(since(&root), 0);
    CHECK_INT(register_tick(&host, due), -1);
    CHECK_INT(since(&root), 5);
}

TEST(the_register_says_since_when_a_person_is_needed)
{
    static const struct {
        enum attention class;
        bool leaving;
        int64_t since;
    } cases[] = {
        {ATTENTION_NEEDED, false, 5}, {ATTENTION_FAILED, false, 6},  {ATTENTION_DONE, false, 0},
        {ATTENTION_FAILED, false, 6}, {ATTENTION_WORKING, false, 0}, {ATTENTION_NEEDED, false, 5},
        {ATTENTION_IDLE, false, 0},   {ATTENTION_FAILED, false, 6},  {ATTENTION_FAILED, true, 0}};
    A_ROOT;
    struct host host = host_of(&root);

    host.told.since_ms = 5;
    host.attention.done_ms = 6;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        host.attention.class = cases[i].class;
        host.leaving = cases[i].leaving;
        CHECK_INT(register_tick(&host, 0), -1);
        CHECK_INT(since(&root), cases[i].since);
    }
}

/* The entry of a host that was killed is the next one's, and goes with it; others stay. */
TEST(the_next_host_takes_over_the_entry)
{
    A_ROOT;
    struct host host = host_of(&root);

    WELL(waiting_set(&root, ID(2), "solo", 4, LOCK_TRY, &err));
    WELL(waiting_set(&root, ID(1), "solo", 5, LOCK_TRY, &err));
    WELL(waiting_set(&root, ID(1), "other", 6, LOCK_TRY, &err));
    register_open(&host);
    CHECK_INT(host.entry.since_ms, 5);
    host.attention.class = ATTENTION_IDLE;
    CHECK_INT(register_tick(&host, 0), -1);
    CHECK_INT(since(&root), 0);
    host.attention.class = ATTENTION_NEEDED;
    host.told.since_ms = 9;
    CHECK_INT(register_tick(&host, 0), -1);
    register_close(&host);
    CHECK_INT(since(&root), 0);
    _cleanup_waiting_ struct waiting_list list = {.count = 0};
    waiting_read(&root, &list);
    CHECK_INT(list.count, 2);
}

/* ---- the reserve */

static off_t size_of(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_size : -1;
}

TEST(a_reserve_is_given_once_for_what_it_is_and_only_if_the_disk_is_full)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int run = path_make_dir(place.dir, WORKSPACE_RUN, 0700);
    struct err full = ERR_INIT, other = ERR_INIT, quota = ERR_INIT;

    errno = ENOSPC;
    (void)err_errno(&full, "x");
    errno = EDQUOT;
    (void)err_errno(&quota, "x");
    errno = EIO;
    (void)err_errno(&other, "x");
    CHECK(!reserve_give(place.dir, RESERVE_RECORD, &full)); /* none is there yet */
    reserve_make(place.dir);
    if (size_of(run, "reserve") == -1)
        UNIT_SKIP("the disk has no room for a reserve");
    CHECK_INT(size_of(run, "reserve"), RESERVE_SIZE);
    CHECK_INT(size_of(run, "reserve.memory"), RESERVE_SIZE);
    CHECK(!reserve_give(place.dir, RESERVE_RECORD, &other));
    _cleanup_close_ int held = openat(run, "reserve", O_RDONLY | O_CLOEXEC);
    struct stat st;
    CHECK(reserve_give(place.dir, RESERVE_RECORD, &full));
    CHECK(fstat(held, &st) == 0 && st.st_size == 0); /* whoever has it open keeps nothing */
    CHECK(!reserve_give(place.dir, RESERVE_RECORD, &full));
    CHECK_INT(size_of(run, "reserve"), -1);
    CHECK_INT(size_of(run, "reserve.memory"), RESERVE_SIZE);
    CHECK(reserve_give(place.dir, RESERVE_MEMORY, &quota));

    /* one that a kill has left too small is made again, and counts as none */
    CHECK(place_put(run, "reserve", "short"));
    CHECK(!reserve_give(place.dir, RESERVE_RECORD, &full));
    reserve_make(place.dir);
    CHECK_INT(size_of(run, "reserve"), RESERVE_SIZE);
    CHECK_INT(size_of(run, "reserve.memory"), RESERVE_SIZE);
    reserve_drop(place.dir);
    CHECK_INT(size_of(run, "reserve"), -1);
    CHECK_INT(size_of(run, "reserve.memory"), -1);
    CHECK(reserve_is_name("reserve") && reserve_is_name("reserve.memory"));
    CHECK(!reserve_is_name("reserve.memor") && !reserve_is_name("reserves"));
}
