#include "place.h"

#include "gap.h"

#include "base/time.h"
#include "os/log.h"

#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* The text of a file; "-" where there is none. The caller frees. */
static char *text_of(const struct place *place, const char *name)
{
    struct err err = ERR_INIT;
    char *text = NULL;
    size_t len = 0;

    return file_read(place->dir, name, 1 << 24, &text, &len, &err) == 0 ? text : mem_dup("-");
}

static void check_text(const struct place *place, const char *name, const char *want)
{
    _cleanup_free_ char *text = text_of(place, name);
    CHECK_STR(text, want);
}

static struct log opened(const struct place *place, off_t size, int keep, bool with_times)
{
    struct log log = LOG_INIT;
    struct err err = ERR_INIT;

    CHECK_INT(
        log_open(&log, place->dir, "a.log", (struct log_limits){size, keep}, with_times, &err), 0);
    return log;
}

static bool put(struct log *log, const char *text)
{
    return log_write(log, text, strlen(text));
}

TEST(appends_what_is_written)
{
    _cleanup_place_ struct place place = place_make();
    struct log log = opened(&place, 1000, 2, false);
    struct stat st;

    CHECK(put(&log, "one\n"));
    CHECK(put(&log, ""));
    log_close(&log);
    log = opened(&place, 1000, 2, false);
    CHECK(put(&log, "two\n"));
    CHECK_INT(log.lost, 0);
    log_close(&log);
    check_text(&place, "a.log", "one\ntwo\n");
    CHECK_INT(fstatat(place.dir, "a.log", &st, 0), 0);
    CHECK_INT(st.st_mode & 07777, 0600);
}

TEST(rotates_before_it_grows_beyond)
{
    _cleanup_place_ struct place place = place_make();
    struct log log = opened(&place, 10, 2, false);

    CHECK(put(&log, "1234567890"));
    check_text(&place, "a.log.1", "-");
    CHECK(put(&log, "a"));
    CHECK(put(&log, "bcdefghijk"));
    CHECK(put(&log, "l"));
    log_close(&log);
    check_text(&place, "a.log", "l");
    check_text(&place, "a.log.1", "bcdefghijk");
    check_text(&place, "a.log.2", "a");
    check_text(&place, "a.log.3", "-");
}

TEST(cuts_what_is_larger_than_the_limit)
{
    _cleanup_place_ struct place place = place_make();
    struct log log = opened(&place, 4, 5, false);

    CHECK(put(&log, "123456789"));
    log_close(&log);
    check_text(&place, "a.log.2", "1234");
    check_text(&place, "a.log.1", "5678");
    check_text(&place, "a.log", "9");
}

TEST(keeps_none_if_told_so_and_drops_those_beyond_the_limit)
{
    _cleanup_place_ struct place place = place_make();
    struct log log = opened(&place, 4, 4, false);

    CHECK(put(&log, "1111222233334444"));
    log_close(&log);
    check_text(&place, "a.log.3", "1111");
    log = opened(&place, 4, 1, false);
    CHECK(put(&log, "5555"));
    log_close(&log);
    check_text(&place, "a.log.1", "4444");
    check_text(&place, "a.log.2", "-");
    check_text(&place, "a.log.3", "-");
    log = opened(&place, 4, 0, false);
    CHECK(put(&log, "6666"));
    log_close(&log);
    check_text(&place, "a.log", "6666");
    check_text(&place, "a.log.1", "-");
}

TEST(notes_times_at_most_once_a_second)
{
    _cleanup_place_ struct place place = place_make();
    int64_t before = time_epoch_ms();
    struct log log = opened(&place, 100, 2, true);
    char *end = NULL;

    for (int i = 0; i < 5; i++)
        CHECK(put(&log, "text\n"));
    log.last_ms -= LOG_TIMES_EVERY_MS; /* as if a second had passed */
    CHECK(put(&log, "text\n"));
    log_close(&log);
    _cleanup_free_ char *text = text_of(&place, "a.log.times");
    long long first = strtoll(text, &end, 10);
    CHECK(first >= before && first <= time_epoch_ms());
    CHECK(str_starts(end, " 0\n"));
    long long second = strtoll(end + 3, &end, 10);
    CHECK(second >= first || time_epoch_ms() - before >= LOG_TIMES_EVERY_MS);
    CHECK_STR(end, " 25\n");
}

/* Otherwise no line would have a time until the clock is where it was. */
TEST(notes_times_of_a_clock_that_was_set_back)
{
    _cleanup_place_ struct place place = place_make();
    struct log log = opened(&place, 100, 2, true);

    CHECK(put(&log, "text\n"));
    log.last_ms += 3600 * 1000;
    CHECK(put(&log, "text\n"));
    CHECK(put(&log, "text\n"));
    log_close(&log);
    _cleanup_free_ char *text = text_of(&place, "a.log.times");
    const char *second = strchr(text, '\n');
    CHECK(second != NULL && str_ends(text, " 5\n") && strchr(second + 1, '\n')[1] == '\0');
}

TEST(times_rotate_with_their_log)
{
    _cleanup_place_ struct place place = place_make();
    struct log log = opened(&place, 100, 1, true);
    struct stat st;

    CHECK(put(&log, "text"));
    for (int i = 0; i < 24; i++)
        CHECK(put(&log, "more"));
    CHECK(put(&log, "next"));
    log_close(&log);
    _cleanup_free_ char *old = text_of(&place, "a.log.1.times");
    CHECK(strstr(old, " 0\n") != NULL);
    _cleanup_free_ char *now = text_of(&place, "a.log.times");
    CHECK(strstr(now, " 0\n") != NULL && strchr(now, '\n')[1] == '\0');
    CHECK(fstatat(place.dir, "a.log.2.times", &st, 0) == -1);
}

TEST(times_of_bytes_that_are_gone_go_too)
{
    _cleanup_place_ struct place place = place_make();
    struct log log = opened(&place, 100, 1, true);

    CHECK(put(&log, "text"));
    log.last_ms = 0;
    CHECK(put(&log, "text"));
    int fd = openat(place.dir, "a.log", O_WRONLY | O_TRUNC | O_CLOEXEC);
    CHECK(fd != -1);
    (void)close(fd);
    CHECK(put(&log, "new"));
    log_close(&log);
    check_text(&place, "a.log", "new");
    _cleanup_free_ char *times = text_of(&place, "a.log.times");
    CHECK(strstr(times, " 0\n") != NULL && strchr(times, '\n')[1] == '\0');
}

TEST(times_have_a_limit_too)
{
    _cleanup_place_ struct place place = place_make();
    struct log log = opened(&place, 200, 1, true);

    for (int i = 0; i < 20; i++) {
        log.last_ms = 0;
        CHECK(put(&log, "x"));
        CHECK(log.times_size <= 200);
    }
    log_close(&log);
    _cleanup_free_ char *old = text_of(&place, "a.log.1");
    CHECK(strlen(old) >= 4 && strlen(old) < 10);
}

TEST(goes_on_in_a_new_file_if_the_old_one_is_gone)
{
    _cleanup_place_ struct place place = place_make();
    struct log log = opened(&place, 100, 1, false);

    CHECK(put(&log, "one"));
    CHECK_INT(unlinkat(place.dir, "a.log", 0), 0);
    CHECK(put(&log, "two"));
    check_text(&place, "a.log", "two");
    CHECK_INT(renameat(place.dir, "a.log", place.dir, "other"), 0);
    CHECK(put(&log, "three"));
    check_text(&place, "a.log", "three");
    log_close(&log);
}

TEST(counts_what_a_full_disk_takes_and_tries_again)
{
    _cleanup_place_ struct place place = place_make();
    struct log log = opened(&place, 1 << 20, 1, true);
    struct rlimit was;
    struct rlimit low;

    (void)signal(SIGXFSZ, SIG_IGN);
    REQUIRE(getrlimit(RLIMIT_FSIZE, &was) == 0);
    low = was;
    low.rlim_cur = 10;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &low) == 0);
    bool first = put(&log, "123456");
    bool second = put(&log, "789012");
    bool third = put(&log, "345");
    REQUIRE(setrlimit(RLIMIT_FSIZE, &was) == 0);
    CHECK(first && !second && !third);
    CHECK_INT(log.lost, 5);
    CHECK(put(&log, "more"));
    CHECK_INT(log.lost, 5);
    log_close(&log);
    check_text(&place, "a.log", "1234567890more");
}

/* With SIGXFSZ as it is: reaching the limit would end the program. */
TEST(rotates_before_a_limit_on_files)
{
    _cleanup_place_ struct place place = place_make();
    struct rlimit was;
    struct rlimit low;

    (void)signal(SIGXFSZ, SIG_DFL);
    REQUIRE(getrlimit(RLIMIT_FSIZE, &was) == 0);
    low = was;
    low.rlim_cur = 300;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &low) == 0);
    struct log log = opened(&place, 1 << 20, 2, true);
    bool all = true;
    for (int i = 0; i < 100; i++)
        all = put(&log, "0123456789") && all;
    log_close(&log);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &was) == 0);
    CHECK(all);
    _cleanup_free_ char *old = text_of(&place, "a.log.2");
    CHECK_INT(strlen(old), 100);
}

TEST(follows_no_link_and_writes_to_no_directory_fifo_or_device)
{
    _cleanup_place_ struct place place = place_make();
    struct log log = LOG_INIT;

    CHECK_INT(symlinkat("victim", place.dir, "a.log"), 0);
    log = opened(&place, 100, 1, true);
    CHECK(!put(&log, "text"));
    CHECK_INT(log.lost, 4);
    check_text(&place, "victim", "-");
    CHECK_INT(unlinkat(place.dir, "a.log", 0), 0);
    CHECK_INT(mkdirat(place.dir, "a.log", 0700), 0);
    CHECK(!put(&log, "text"));
    CHECK_INT(unlinkat(place.dir, "a.log", AT_REMOVEDIR), 0);
    CHECK_INT(mkfifoat(place.dir, "a.log", 0600), 0);
    CHECK(!put(&log, "text"));
    int reader = openat(place.dir, "a.log", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    CHECK(!put(&log, "text"));
    CHECK_INT(log.lost, 16);
    (void)close(reader);
    CHECK_INT(unlinkat(place.dir, "a.log", 0), 0);
    CHECK(put(&log, "text"));
    log_close(&log);
    check_text(&place, "a.log", "text");
}

TEST(times_that_cannot_be_written_lose_nothing)
{
    _cleanup_place_ struct place place = place_make();
    struct log log = LOG_INIT;

    CHECK_INT(symlinkat("victim", place.dir, "a.log.times"), 0);
    log = opened(&place, 100, 1, true);
    CHECK(put(&log, "text"));
    CHECK_INT(log.lost, 0);
    log_close(&log);
    check_text(&place, "victim", "-");
}

TEST(a_log_that_cannot_be_rotated_has_a_limit_all_the_same)
{
    _cleanup_place_ struct place place = place_make();
    struct log log = opened(&place, 10, 1, false);

    CHECK_INT(mkdirat(place.dir, "a.log.1", 0700), 0);
    CHECK(put(&log, "12345678"));
    CHECK(put(&log, "12345678"));
    CHECK(put(&log, "12345678"));
    CHECK(!put(&log, "12345678"));
    CHECK_INT(log.lost, 8);
    CHECK_INT(unlinkat(place.dir, "a.log.1", AT_REMOVEDIR), 0);
    CHECK(put(&log, "12345678"));
    log_close(&log);
    check_text(&place, "a.log", "12345678");
}

TEST(waits_for_nobody_who_holds_a_lock_on_it)
{
    _cleanup_place_ struct place place = place_make();
    struct log log = opened(&place, 10, 1, false);

    CHECK(put(&log, "12345678"));
    _cleanup_close_ int other = openat(place.dir, "a.log", O_RDONLY | O_CLOEXEC);
    CHECK_INT(flock(other, LOCK_EX), 0);
    CHECK(put(&log, "9012"));
    check_text(&place, "a.log", "123456789012");
    CHECK_INT(flock(other, LOCK_UN), 0);
    CHECK(put(&log, "new"));
    log_close(&log);
    check_text(&place, "a.log", "new");
}

/* Rotated on the way, but large enough that a writer that is held up in it costs no line. */
enum { LINES_SIZE = 20000 };

/* One of several writers: numbered lines of 16 bytes. */
static void write_lines(int dir, int writer)
{
    char line[32];

    for (int i = 0; i < 500; i++) {
        (void)snprintf(line, sizeof line, "%03d line %06d\n", writer, i);
        log_line(dir, "a.log", (struct log_limits){LINES_SIZE, 100}, line);
    }
    _exit(0);
}

TEST(lines_of_many_writers_are_all_there_and_whole)
{
    _cleanup_place_ struct place place = place_make();
    bool seen[4][500] = {{false}};
    size_t lines = 0;

    for (int writer = 0; writer < 4; writer++) {
        pid_t pid = fork();
        REQUIRE(pid != -1);
        if (pid == 0)
            write_lines(place.dir, writer);
    }
    while (wait(NULL) > 0)
        continue;
    for (int n = 0; n <= 100; n++) {
        _cleanup_free_ char *name = n == 0 ? mem_dup("a.log") : mem_printf("a.log.%d", n);
        _cleanup_free_ char *text = text_of(&place, name);
        if (strcmp(text, "-") == 0)
            continue;
        CHECK(strlen(text) <= 2 * (size_t)LINES_SIZE && strlen(text) % 16 == 0);
        for (const char *p = text; *p != '\0'; p += 16, lines++) {
            long writer = strtol(p, NULL, 10);
            long i = strtol(p + 9, NULL, 10);
            REQUIRE(p[15] == '\n' && writer >= 0 && writer < 4 && i >= 0 && i < 500);
            CHECK(!seen[writer][i]);
            seen[writer][i] = true;
        }
    }
    CHECK_INT(lines, 2000);
}

TEST(a_name_that_is_too_long_is_refused)
{
    _cleanup_place_ struct place place = place_make();
    struct log log = LOG_INIT;
    struct err err = ERR_INIT;
    char name[LOG_NAME_MAX + 1];

    memset(name, 'x', sizeof name);
    name[LOG_NAME_MAX] = '\0';
    CHECK_INT(log_open(&log, place.dir, name, (struct log_limits){10, 1}, false, &err), -1);
    name[LOG_NAME_MAX - 1] = '\0';
    CHECK_INT(log_open(&log, place.dir, name, (struct log_limits){10, 1}, false, &err), 0);
    log_close(&log);
}

static void let_it_rotate(void *arg)
{
    CHECK(put(arg, "2"));
}

TEST(another_who_rotates_first_is_not_rotated_away)
{
    _cleanup_place_ struct place place = place_make();
    struct log log = opened(&place, 10, 2, false);
    struct log other = opened(&place, 10, 2, false);

    CHECK(put(&log, "1234567890"));
    gap_before("flock", let_it_rotate, &other);
    CHECK(put(&log, "3"));
    log_close(&log);
    log_close(&other);
    check_text(&place, "a.log", "23");
    check_text(&place, "a.log.1", "1234567890");
    check_text(&place, "a.log.2", "-");
}
