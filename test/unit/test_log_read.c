#include "unit.h"

#include "os/log_read.h"
#include "os/path.h"
#include "os/tree.h"

/* A directory of its own for each test, and a log that is read there. */
struct place {
    char path[64];
    int dir;
    struct log_reader reader;
    off_t at;
};

static void place_free(struct place *place)
{
    struct err err = ERR_INIT;

    log_reader_close(&place->reader);
    fd_closep(&place->dir);
    _cleanup_close_ int tmp = path_open_dir(AT_FDCWD, "/tmp");
    CHECK_INT(tree_remove(tmp, place->path + strlen("/tmp/"), &err), 0);
}
#define _cleanup_place_ __attribute__((cleanup(place_free)))

static struct place place_make(void)
{
    struct place place = {.path = "/tmp/mas-test-log-XXXXXX", .reader = LOG_READER_INIT};

    CHECK(mkdtemp(place.path) != NULL);
    place.dir = path_open_dir(AT_FDCWD, place.path);
    return place;
}

static void put(const struct place *place, const char *name, const char *text)
{
    _cleanup_close_ int fd =
        openat(place->dir, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

/* Sets when a file was written last, in seconds. */
static void touch(const struct place *place, const char *name, time_t when)
{
    struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
    CHECK_INT(utimensat(place->dir, name, times, 0), 0);
}

static void shift(const struct place *place)
{
    (void)renameat(place->dir, "a.log.2", place->dir, "a.log.3");
    (void)renameat(place->dir, "a.log.1", place->dir, "a.log.2");
    CHECK_INT(renameat(place->dir, "a.log", place->dir, "a.log.1"), 0);
}

static void begin(struct place *place)
{
    struct err err = ERR_INIT;

    CHECK_INT(log_reader_open(&place->reader, place->dir, "a.log", &err), 0);
    place->at = log_reader_start(&place->reader);
}

/* All that is there to be read now must be this. */
static void check_rest(struct place *place, size_t step, const char *want)
{
    _cleanup_str_ struct str got = STR_INIT;
    struct err err = ERR_INIT;
    char buf[64];
    ssize_t n;

    while ((n = log_read(&place->reader, &place->at, buf, step, &err)) > 0)
        str_addn(&got, buf, (size_t)n);
    CHECK_INT(n, 0);
    CHECK_STR(str_text(&got), want);
    CHECK_INT(place->at, log_reader_end(&place->reader));
}

static void check_more(struct place *place, const char *want)
{
    struct err err = ERR_INIT;
    CHECK_INT(log_reader_refresh(&place->reader, &err), 0);
    check_rest(place, 64, want);
}

TEST(reads_all_parts_oldest_first)
{
    for (size_t step = 1; step < 8; step += 3) {
        _cleanup_place_ struct place place = place_make();
        put(&place, "a.log.2", "one ");
        put(&place, "a.log.1", "two ");
        put(&place, "a.log", "three");
        put(&place, "a.log.5", "not reached");
        begin(&place);
        CHECK_INT(log_reader_end(&place.reader), 13);
        check_rest(&place, step, "one two three");
        place.at = 3;
        check_rest(&place, step, " two three");
    }
}

TEST(a_log_that_is_missing_is_empty)
{
    _cleanup_place_ struct place place = place_make();

    begin(&place);
    check_rest(&place, 8, "");
    check_more(&place, "");
    put(&place, "a.log", "one");
    check_more(&place, "one");
}

TEST(goes_on_where_it_was)
{
    _cleanup_place_ struct place place = place_make();

    put(&place, "a.log.1", "one ");
    put(&place, "a.log", "two ");
    begin(&place);
    check_rest(&place, 8, "one two ");
    put(&place, "a.log", "three ");
    check_more(&place, "three ");
    check_more(&place, "");
}

TEST(goes_on_after_rotations)
{
    _cleanup_place_ struct place place = place_make();

    put(&place, "a.log", "one ");
    begin(&place);
    check_rest(&place, 8, "one ");
    put(&place, "a.log", "two ");
    shift(&place);
    check_more(&place, "two ");
    put(&place, "a.log", "three ");
    check_more(&place, "three ");
    put(&place, "a.log", "four ");
    shift(&place);
    put(&place, "a.log", "five ");
    shift(&place);
    put(&place, "a.log", "six ");
    check_more(&place, "four five six ");
}

TEST(goes_on_although_its_part_is_gone)
{
    _cleanup_place_ struct place place = place_make();

    put(&place, "a.log", "one ");
    touch(&place, "a.log", 1000);
    begin(&place);
    check_rest(&place, 8, "one ");
    CHECK_INT(unlinkat(place.dir, "a.log", 0), 0);
    put(&place, "a.log.1", "two ");
    put(&place, "a.log", "three ");
    check_more(&place, "two three ");
}

TEST(tells_nothing_twice_if_the_log_is_removed)
{
    _cleanup_place_ struct place place = place_make();

    put(&place, "a.log.1", "one ");
    touch(&place, "a.log.1", 1000);
    put(&place, "a.log", "two ");
    begin(&place);
    check_rest(&place, 8, "one two ");
    CHECK_INT(unlinkat(place.dir, "a.log", 0), 0);
    check_more(&place, "");
    put(&place, "a.log", "three ");
    check_more(&place, "three ");
}

TEST(a_log_that_was_cut_is_read_anew)
{
    _cleanup_place_ struct place place = place_make();

    put(&place, "a.log", "one two three ");
    begin(&place);
    check_rest(&place, 8, "one two three ");
    CHECK_INT(close(openat(place.dir, "a.log", O_WRONLY | O_TRUNC | O_CLOEXEC)), 0);
    put(&place, "a.log", "four ");
    check_more(&place, "four ");
    put(&place, "a.log", "five ");
    check_more(&place, "five ");
}

TEST(bytes_that_go_while_it_reads_are_passed_over)
{
    _cleanup_place_ struct place place = place_make();

    put(&place, "a.log.2", "one ");
    put(&place, "a.log.1", "two ");
    put(&place, "a.log", "three ");
    begin(&place);
    CHECK_INT(unlinkat(place.dir, "a.log.2", 0), 0);
    shift(&place);
    check_rest(&place, 8, "two three ");
}

TEST(rotation_while_it_reads_changes_nothing)
{
    _cleanup_place_ struct place place = place_make();
    struct err err = ERR_INIT;
    char c;

    put(&place, "a.log.1", "one ");
    put(&place, "a.log", "two ");
    begin(&place);
    CHECK_INT(log_read(&place.reader, &place.at, &c, 1, &err), 1);
    shift(&place);
    put(&place, "a.log", "three ");
    check_rest(&place, 1, "ne two ");
    check_more(&place, "three ");
}

TEST(a_moment_in_a_rotation_hides_nothing)
{
    _cleanup_place_ struct place place = place_make();

    put(&place, "a.log.1", "one ");
    put(&place, "a.log", "two ");
    CHECK_INT(renameat(place.dir, "a.log.1", place.dir, "a.log.2"), 0);
    begin(&place);
    check_rest(&place, 8, "one two ");
    CHECK_INT(renameat(place.dir, "a.log", place.dir, "a.log.1"), 0);
    log_reader_close(&place.reader);
    begin(&place);
    check_rest(&place, 8, "one two ");
}

TEST(finds_what_was_written_since)
{
    _cleanup_place_ struct place place = place_make();

    put(&place, "a.log.1", "0123456789");
    put(&place, "a.log.1.times", "100000 0\n150000 5\n");
    touch(&place, "a.log.1", 150);
    put(&place, "a.log", "abcdefghij");
    put(&place, "a.log.times", "200000 0\nnonsense\n205000 4\n 206000 5\n207000 x\n210000 8\n");
    touch(&place, "a.log", 210);
    begin(&place);
    CHECK_INT(log_reader_since(&place.reader, 0), 0);
    CHECK_INT(log_reader_since(&place.reader, 99000), 0);
    CHECK_INT(log_reader_since(&place.reader, 101000), 5);
    CHECK_INT(log_reader_since(&place.reader, 150000), 5);
    CHECK_INT(log_reader_since(&place.reader, 150001), 10);
    CHECK_INT(log_reader_since(&place.reader, 204000), 14);
    CHECK_INT(log_reader_since(&place.reader, 205999), 14);
    CHECK_INT(log_reader_since(&place.reader, 206000), 18);
    CHECK_INT(log_reader_since(&place.reader, 210000), 18);
    CHECK_INT(log_reader_since(&place.reader, 210001), 20);
}

TEST(without_times_a_part_counts_whole)
{
    _cleanup_place_ struct place place = place_make();

    put(&place, "a.log.1", "0123456789");
    touch(&place, "a.log.1", 150);
    put(&place, "a.log", "abcdefghij");
    put(&place, "a.log.times", "99999999999999999999 3\n1 999\n");
    touch(&place, "a.log", 210);
    begin(&place);
    CHECK_INT(log_reader_since(&place.reader, 150000), 0);
    CHECK_INT(log_reader_since(&place.reader, 151000), 20);
    CHECK_INT(unlinkat(place.dir, "a.log.times", 0), 0);
    CHECK_INT(log_reader_since(&place.reader, 151000), 10);
    CHECK_INT(symlinkat("a.log.1", place.dir, "a.log.times"), 0);
    CHECK_INT(log_reader_since(&place.reader, 151000), 10);
    CHECK_INT(unlinkat(place.dir, "a.log.times", 0), 0);
    CHECK_INT(mkfifoat(place.dir, "a.log.times", 0600), 0);
    CHECK_INT(log_reader_since(&place.reader, 151000), 10);
}

TEST(what_is_no_file_is_refused_by_its_kind)
{
    _cleanup_place_ struct place place = place_make();
    struct err err = ERR_INIT;

    put(&place, "victim", "secret");
    CHECK_INT(symlinkat("victim", place.dir, "a.log"), 0);
    CHECK_INT(log_reader_open(&place.reader, place.dir, "a.log", &err), -1);
    CHECK_STR(err.text, "cannot read log 'a.log': it is a symbolic link");
    CHECK_INT(unlinkat(place.dir, "a.log", 0), 0);
    CHECK_INT(mkfifoat(place.dir, "a.log", 0600), 0);
    CHECK_INT(log_reader_open(&place.reader, place.dir, "a.log", &err), -1);
    CHECK_STR(err.text, "cannot read log 'a.log': it is a FIFO");
    CHECK_INT(unlinkat(place.dir, "a.log", 0), 0);
    CHECK_INT(mkdirat(place.dir, "a.log", 0700), 0);
    CHECK_INT(log_reader_open(&place.reader, place.dir, "a.log", &err), -1);
    CHECK_STR(err.text, "cannot read log 'a.log': it is a directory");
}

TEST(an_old_part_that_is_no_file_is_left_out)
{
    _cleanup_place_ struct place place = place_make();

    put(&place, "a.log", "one");
    CHECK_INT(symlinkat("a.log", place.dir, "a.log.1"), 0);
    put(&place, "a.log.2", "two ");
    begin(&place);
    check_rest(&place, 8, "two one");
}

TEST(a_part_replaced_while_it_reads_is_not_followed)
{
    _cleanup_place_ struct place place = place_make();

    put(&place, "victim", "secret");
    put(&place, "a.log", "one");
    begin(&place);
    CHECK_INT(unlinkat(place.dir, "a.log", 0), 0);
    CHECK_INT(symlinkat("victim", place.dir, "a.log"), 0);
    check_rest(&place, 8, "");
}
