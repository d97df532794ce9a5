#include "place.h"

#include "gap.h"

#include <sys/resource.h>

/* Reads a file that cannot be read and returns the number of the error. */
static int read_number(const struct place *place, const char *name, bool *ret_is_wrong)
{
    _cleanup_free_ char *text = NULL;
    struct err err = ERR_INIT;
    size_t len = 0;

    errno = EIO; /* says nothing */
    CHECK_INT(file_read(place->dir, name, 4, &text, &len, &err), -1);
    *ret_is_wrong = file_is_wrong(&err);
    return err.number;
}

TEST(a_file_that_cannot_be_read_says_why)
{
    _cleanup_place_ struct place place = place_make();
    struct err err = ERR_INIT;
    bool is_wrong = false;

    REQUIRE(file_create(place.dir, "large", "12345", 5, 0600, &err) == 0);
    REQUIRE(mkdirat(place.dir, "dir", 0700) == 0);
    REQUIRE(symlinkat("large", place.dir, "link") == 0);
    CHECK_INT(read_number(&place, "missing", &is_wrong), ENOENT);
    CHECK(is_wrong);
    CHECK_INT(read_number(&place, "large", &is_wrong), EFBIG);
    CHECK(is_wrong);
    CHECK_INT(read_number(&place, "dir", &is_wrong), EINVAL);
    CHECK(is_wrong);
    CHECK_INT(read_number(&place, "link", &is_wrong), ELOOP);
    CHECK(is_wrong);
    fd_closep(&place.dir);
    CHECK_INT(read_number(&place, "large", &is_wrong), EBADF);
    CHECK(!is_wrong);
}

TEST(a_stream_that_is_too_long_says_so)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_free_ char *text = NULL;
    struct err err = ERR_INIT;
    size_t len = 0;

    REQUIRE(file_create(place.dir, "large", "12345", 5, 0600, &err) == 0);
    _cleanup_close_ int fd = openat(place.dir, "large", O_RDONLY | O_CLOEXEC);
    CHECK_INT(file_read_stream(fd, "large", 4, &text, &len, &err), -1);
    CHECK_INT(err.number, EFBIG);
}

TEST(a_file_is_created_once)
{
    _cleanup_place_ struct place place = place_make();
    struct err err = ERR_INIT;

    CHECK_INT(file_create(place.dir, "x", "1", 1, 0600, &err), 0);
    CHECK_INT(file_create(place.dir, "x", "2", 1, 0600, &err), -1);
    CHECK_INT(err.number, EEXIST);
}

TEST(a_file_of_others_is_not_opened_as_ours)
{
    static const struct {
        const char *name;
        int number;
    } cases[] = {{"link", ELOOP}, {"second", EMLINK}, {"pipe", EINVAL}};
    _cleanup_place_ struct place place = place_make();
    struct err err = ERR_INIT;

    REQUIRE(file_create(place.dir, "first", "1", 1, 0600, &err) == 0);
    REQUIRE(linkat(place.dir, "first", place.dir, "second", 0) == 0);
    REQUIRE(symlinkat("first", place.dir, "link") == 0);
    REQUIRE(mkfifoat(place.dir, "pipe", 0600) == 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_INT(file_open_own(place.dir, cases[i].name, O_RDWR, &err), -1);
        CHECK_INT(err.number, cases[i].number);
        CHECK(file_is_no_own(&err));
    }
    CHECK_INT(file_open_own(place.dir, "missing", O_RDWR, &err), -1);
    CHECK_INT(err.number, ENOENT);
    CHECK(!file_is_no_own(&err));
}

TEST(a_limit_is_what_may_be_read)
{
    _cleanup_place_ struct place place = place_make();
    struct err err = ERR_INIT;
    size_t len = 0;

    REQUIRE(file_create(place.dir, "x", "12345", 5, 0600, &err) == 0);
    for (size_t max = 4; max <= 6; max++) {
        _cleanup_free_ char *text = NULL;
        _cleanup_free_ char *stream = NULL;
        _cleanup_close_ int fd = openat(place.dir, "x", O_RDONLY | O_CLOEXEC);
        CHECK_INT(file_read(place.dir, "x", max, &text, &len, &err), max < 5 ? -1 : 0);
        CHECK_INT(file_read_stream(fd, "x", max, &stream, &len, &err), max < 5 ? -1 : 0);
        CHECK_STR(text, max < 5 ? NULL : "12345");
        CHECK_STR(stream, max < 5 ? NULL : "12345");
    }
}

TEST(replaces_durably_and_in_order)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_free_ char *text = NULL;
    struct err err = ERR_INIT;
    struct stat st;
    size_t len = 0;

    /* what a killed writer has left is in nobody's way */
    REQUIRE(file_create(place.dir, "x.new", "half", 4, 0644, &err) == 0);
    trace_begin();
    CHECK_INT(file_replace(place.dir, "x", "one", 3, 0600, &err), 0);
    CHECK_STR(trace_end(), "unlink x.new, fsync x.new, rename x, fsync DIR");
    CHECK_INT(file_read(place.dir, "x", 10, &text, &len, &err), 0);
    CHECK_STR(text, "one");
    CHECK(fstatat(place.dir, "x", &st, 0) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(faccessat(place.dir, "x.new", F_OK, 0) == -1);
}

TEST(what_is_not_written_whole_is_not_there)
{
    _cleanup_place_ struct place place = place_make();
    const struct rlimit limit = {.rlim_cur = 2, .rlim_max = RLIM_INFINITY};
    struct rlimit before;
    struct err err = ERR_INIT;

    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK_INT(file_create(place.dir, "x", "12345", 5, 0600, &err), -1);
    CHECK_INT(file_replace(place.dir, "y", "12345", 5, 0600, &err), -1);
    (void)setrlimit(RLIMIT_FSIZE, &before);
    CHECK(faccessat(place.dir, "x", F_OK, 0) == -1);
    CHECK(faccessat(place.dir, "y", F_OK, 0) == -1);
    CHECK(faccessat(place.dir, "y.new", F_OK, 0) == -1);
}

TEST(what_need_not_be_there_is_no_error)
{
    _cleanup_place_ struct place place = place_make();
    struct err err = ERR_INIT;
    char *text = NULL;
    size_t len = 7;

    CHECK_INT(file_read_if_there(place.dir, "missing", 10, &text, &len, &err), 0);
    CHECK(text == NULL);
    CHECK(place_put(place.dir, "file", "0123456789"));
    CHECK_INT(file_read_if_there(place.dir, "file", 9, &text, &len, &err), -1);
    CHECK_INT(err.number, EFBIG);
    CHECK_INT(file_read_if_there(place.dir, "file", 10, &text, &len, &err), 1);
    CHECK_STR(text, "0123456789");
    CHECK_INT(len, 10);
    free(text);
    CHECK_INT(symlinkat("missing", place.dir, "link"), 0);
    CHECK_INT(file_read_if_there(place.dir, "link", 10, &text, &len, &err), -1);
}

TEST(a_file_in_memory_is_empty_and_has_no_name)
{
    _cleanup_close_ int fd = file_in_memory("test");
    struct stat st;
    char text[8] = "";

    REQUIRE(fd != -1 && fstat(fd, &st) == 0);
    CHECK(S_ISREG(st.st_mode) && st.st_size == 0 && st.st_nlink == 0);
    CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
    CHECK_INT(file_write_all(fd, "abc", 3), 0);
    CHECK(pread(fd, text, sizeof text, 0) == 3 && strcmp(text, "abc") == 0);
}

TEST(as_much_as_possible_is_written)
{
    enum { MORE = 1 << 20 };
    _cleanup_free_ char *bytes = mem_alloc(MORE);
    _cleanup_close_ int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    int ends[2];

    REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    size_t n = file_write_most(ends[1], bytes, MORE);
    CHECK(n > 0 && n < MORE && errno == EAGAIN);
    CHECK(file_write_all(ends[1], bytes, MORE) == -1 && errno == EAGAIN);
    fd_closep(&ends[0]);
    fd_closep(&ends[1]);
    CHECK(file_write_most(full, "a", 1) == 0 && errno == ENOSPC);
    CHECK(file_write_all(full, "a", 1) == -1 && errno == ENOSPC);
    CHECK(file_write_most(full, "", 0) == 0 && file_write_all(full, "", 0) == 0);
}

TEST(the_umask_is_read_and_stays)
{
    mode_t was = umask(0135);

    CHECK_INT(file_umask(), 035); /* not of what the owner may */
    CHECK_INT(umask(was), 0135);
}
