#include "unit.h"

#include "os/file.h"
#include "os/transcript.h"

/* A file, and a reader of it that joins what it takes by '|'. */
struct place {
    int fd;
    struct transcript transcript;
    struct str taken;
};

static void open_place(struct place *place)
{
    *place = (struct place){.fd = file_in_memory("transcript")};
    REQUIRE(place->fd != -1);
}

static void close_place(struct place *place)
{
    (void)close(place->fd);
    str_free(&place->taken);
}

static void take(const char *line, size_t len, void *arg)
{
    struct str *to = arg;

    if (line[0] == '\0') /* of put_long() */
        str_add(to, "long");
    else
        str_addn(to, line, len);
    str_addc(to, '|');
}

/* Writes at the end, or with `anew` instead of what was there. */
static void put(struct place *place, bool anew, const char *text)
{
    if (anew)
        REQUIRE(ftruncate(place->fd, 0) == 0);
    REQUIRE(lseek(place->fd, 0, SEEK_END) != -1);
    REQUIRE(file_write_all(place->fd, text, strlen(text)) == 0);
}

/* Returns what is taken now, until the next call. */
static const char *look(struct place *place, enum transcript_found found)
{
    str_clear(&place->taken);
    place->transcript.seen.mtime_ns = -1; /* a test writes twice in a tick of the clock */
    CHECK_INT(transcript_look(&place->transcript, place->fd), found);
    if (found == TRANSCRIPT_NEW)
        while (transcript_read(&place->transcript, place->fd, take, &place->taken))
            CHECK_INT(transcript_look(&place->transcript, place->fd), TRANSCRIPT_NEW);
    return str_text(&place->taken);
}

TEST(whole_lines_are_taken_once_as_they_come)
{
    struct place place;

    open_place(&place);
    CHECK_STR(look(&place, TRANSCRIPT_SAME), "");
    put(&place, false, "one\ntwo\n\nthr");
    CHECK_STR(look(&place, TRANSCRIPT_NEW), "one|two|");
    CHECK_STR(look(&place, TRANSCRIPT_NEW), ""); /* a part of a line is left */
    put(&place, false, "ee\nfour\n");
    CHECK_STR(look(&place, TRANSCRIPT_NEW), "three|four|");
    CHECK_STR(look(&place, TRANSCRIPT_SAME), "");
    CHECK_INT(place.transcript.too_long, 0);
    close_place(&place);
}

TEST(of_another_file_nothing_is_taken_but_what_comes_then)
{
    struct place place;
    int64_t offset, tail;

    open_place(&place);
    put(&place, false, "one\ntwo\n");
    CHECK_STR(look(&place, TRANSCRIPT_NEW), "one|two|");
    put(&place, true, "ones\n"); /* shorter */
    CHECK_STR(look(&place, TRANSCRIPT_REPLACED), "");
    put(&place, false, "more\n");
    CHECK_STR(look(&place, TRANSCRIPT_NEW), "more|");
    put(&place, true, "eight\nnine\nten\n"); /* longer, with other bytes there */
    CHECK_STR(look(&place, TRANSCRIPT_REPLACED), "");
    put(&place, false, "last\n");
    CHECK_STR(look(&place, TRANSCRIPT_NEW), "last|");
    /* another reader goes on from there */
    offset = place.transcript.offset;
    tail = place.transcript.tail;
    place.transcript = (struct transcript){.offset = offset, .tail = tail};
    put(&place, false, "new\n");
    CHECK_STR(look(&place, TRANSCRIPT_NEW), "new|");
    close_place(&place);
}

TEST(of_another_file_the_last_line_can_be_taken_if_it_is_whole)
{
    static const struct {
        const char *text, *last, *next;
    } cases[] = {{"ones\ntwos\n", "twos|", "more|"},
                 {"a line\n", "a line|", "more|"},
                 {"ones\nhal", "", "halmore|"},
                 {"", "", "more|"}};
    struct place place;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        open_place(&place);
        put(&place, false, "of the first file\n");
        (void)look(&place, TRANSCRIPT_NEW);
        put(&place, true, cases[i].text);
        (void)look(&place, TRANSCRIPT_REPLACED);
        CHECK(transcript_skip_to_last(&place.transcript, place.fd) == (cases[i].text[0] != '\0'));
        str_clear(&place.taken);
        (void)transcript_read(&place.transcript, place.fd, take, &place.taken);
        CHECK_STR(str_text(&place.taken), cases[i].last);
        put(&place, false, "more\n");
        CHECK_STR(look(&place, TRANSCRIPT_NEW), cases[i].next);
        close_place(&place);
    }
}

TEST(a_file_that_grows_behind_the_look_is_read_at_the_next_one)
{
    struct place place;

    open_place(&place);
    put(&place, false, "of the first file\n");
    (void)look(&place, TRANSCRIPT_NEW);
    put(&place, true, "anew\n");
    CHECK(transcript_look(&place.transcript, place.fd) == TRANSCRIPT_REPLACED);
    put(&place, false, "and a line that is not whole");
    str_clear(&place.taken);
    CHECK(!transcript_read(&place.transcript, place.fd, take, &place.taken));
    CHECK(transcript_skip_to_last(&place.transcript, place.fd));
    CHECK(!transcript_read(&place.transcript, place.fd, take, &place.taken));
    CHECK_STR(str_text(&place.taken), "anew|");
    put(&place, false, "\n");
    CHECK_STR(look(&place, TRANSCRIPT_NEW), "and a line that is not whole|");
    close_place(&place);
}

/* Writes a line of so many bytes. */
static void put_long(struct place *place, off_t len)
{
    struct stat st;

    REQUIRE(fstat(place->fd, &st) == 0);
    REQUIRE(ftruncate(place->fd, st.st_size + len) == 0);
    put(place, false, "\n");
}

TEST(a_line_that_is_too_long_is_passed_over)
{
    static const off_t lengths[] = {TRANSCRIPT_LINE_MAX - 1, TRANSCRIPT_LINE_MAX,
                                    TRANSCRIPT_LINE_MAX + 1, (off_t)2 << 30};

    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        struct place place;
        open_place(&place);
        put(&place, false, "one\n");
        put_long(&place, lengths[i]);
        put(&place, false, "two\n");
        CHECK_STR(look(&place, TRANSCRIPT_NEW), i == 0 ? "one|long|two|" : "one|two|");
        CHECK_INT(place.transcript.too_long, i == 0 ? 0 : 1);
        close_place(&place);
    }
}

/* What is known of such a line is only where it begins: the next reader begins there. */
TEST(a_long_line_that_still_grows_is_passed_over_once_it_ends)
{
    struct place place;

    open_place(&place);
    put(&place, false, "one\n");
    REQUIRE(ftruncate(place.fd, 4 + TRANSCRIPT_LINE_MAX + 5) == 0);
    CHECK_STR(look(&place, TRANSCRIPT_NEW), "one|");
    CHECK_INT(place.transcript.offset, 4);
    CHECK_STR(look(&place, TRANSCRIPT_SAME), "");
    put(&place, false, "rest\ntwo\n");
    CHECK_STR(look(&place, TRANSCRIPT_NEW), "two|");
    CHECK_INT(place.transcript.too_long, 1);
    close_place(&place);
}
