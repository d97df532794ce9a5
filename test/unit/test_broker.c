#include "unit.h"

#include "os/sock.h"
#include "protocol/broker.h"

#include <sys/socket.h>

/* Parses a request from the text of its head and a body. */
static int parse(const char *text, const char *body, size_t len, char ***ret, struct err *err)
{
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_str_ struct str bytes = STR_INIT;
    struct frames frames = {.at = 0};
    struct frame frame;
    bool colour = false;

    str_add(&head, text);
    frame_add(&bytes, &head, body, len);
    frames_feed(&frames, bytes.data, bytes.len);
    CHECK_INT(frames_next(&frames, &frame, err), 1);
    int rc = broker_parse_request(&frame, ret, &colour, err);
    frame_free(&frame);
    frames_free(&frames);
    return rc;
}

TEST(words_arrive_as_they_are)
{
    char *const words[] = {(char[]){"send"}, (char[]){""}, (char[]){"a\xff\n b"}, NULL};
    _cleanup_str_ struct str bytes = STR_INIT;
    _cleanup_strv_ char **argv = NULL;
    struct frames frames = {.at = 0};
    struct frame frame;
    struct err err = ERR_INIT;
    bool colour = false;

    REQUIRE(broker_put_request(words, true, &bytes, &err) == 0);
    frames_feed(&frames, bytes.data, bytes.len);
    REQUIRE(frames_next(&frames, &frame, &err) == 1);
    REQUIRE(broker_parse_request(&frame, &argv, &colour, &err) == 0);
    CHECK(colour);
    CHECK_INT(strv_len(argv), 3);
    CHECK_STR(argv[0], "send");
    CHECK_STR(argv[1], "");
    CHECK_STR(argv[2], "a\xff\n b");
    frame_free(&frame);
    frames_free(&frames);
}

TEST(what_is_no_command_is_refused)
{
    static const struct {
        const char *head, *body;
        size_t len;
        int code;
    } cases[] = {
        {"{}", "x\0", 2, MAS_USAGE},
        {"{\"do\":\"send\",\"words\":1}", "x\0", 2, MAS_USAGE},
        {"{\"do\":\"run\"}", "x\0", 2, MAS_DAMAGED},
        {"{\"do\":\"run\",\"words\":1}", NULL, 0, MAS_DAMAGED},
        {"{\"do\":\"run\",\"words\":1}", "", 0, MAS_DAMAGED},
        {"{\"do\":\"run\",\"words\":0}", "x\0", 2, MAS_DAMAGED},
        {"{\"do\":\"run\",\"words\":-1}", "x\0", 2, MAS_DAMAGED},
        {"{\"do\":\"run\",\"words\":1}", "x", 1, MAS_DAMAGED},
        {"{\"do\":\"run\",\"words\":1}", "x\0y\0", 4, MAS_DAMAGED},
        {"{\"do\":\"run\",\"words\":3}", "x\0y\0", 4, MAS_DAMAGED},
        {"{\"do\":\"run\",\"words\":1025}", "x\0", 2, MAS_USAGE},
        {"{\"do\":\"run\",\"words\":\"1\"}", "x\0", 2, MAS_DAMAGED},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        char **argv = NULL;
        CHECK_INT(parse(cases[i].head, cases[i].body, cases[i].len, &argv, &err), -1);
        CHECK_INT(err.code, cases[i].code);
        CHECK(argv == NULL);
    }
}

TEST(what_is_too_large_is_not_sent)
{
    char word[] = "w";
    char *many[BROKER_WORDS_MAX + 2];
    _cleanup_free_ char *large = mem_alloc(BROKER_BYTES_MAX + 1);
    _cleanup_str_ struct str bytes = STR_INIT;
    struct err err = ERR_INIT;

    for (size_t i = 0; i <= BROKER_WORDS_MAX; i++)
        many[i] = word;
    many[BROKER_WORDS_MAX + 1] = NULL;
    CHECK_INT(broker_put_request(many, false, &bytes, &err), -1);
    many[BROKER_WORDS_MAX] = NULL;
    CHECK_INT(broker_put_request(many, false, &bytes, &err), 0);
    memset(large, 'x', BROKER_BYTES_MAX);
    CHECK_INT(broker_put_request((char *[]){large, NULL}, false, &bytes, &err), -1);
    CHECK_INT(err.code, MAS_USAGE);
    large[BROKER_BYTES_MAX - 1] = '\0';
    CHECK_INT(broker_put_request((char *[]){large, NULL}, false, &bytes, &err), 0);
}

/* Parses an answer from what was written. */
static int read_answer(const struct str *bytes, int *ret_code, struct err *err)
{
    struct frames frames = {.at = 0};
    struct frame frame;

    frames_feed(&frames, bytes->data, bytes->len);
    CHECK_INT(frames_next(&frames, &frame, err), 1);
    int rc = broker_parse_answer(&frame, ret_code, err);
    frame_free(&frame);
    frames_free(&frames);
    return rc;
}

TEST(answers_say_how_it_ended)
{
    struct err err = ERR_INIT, why = ERR_INIT;
    int code = -1;

    for (int i = 0; i <= 255; i++) {
        _cleanup_str_ struct str bytes = STR_INIT;
        broker_put_exit(i, &bytes);
        REQUIRE(read_answer(&bytes, &code, &err) == 0);
        CHECK_INT(code, i);
    }
    static const int none[] = {-1, 256, 4711};
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        _cleanup_str_ struct str strange = STR_INIT;
        broker_put_exit(none[i], &strange);
        REQUIRE(read_answer(&strange, &code, &err) == 0);
        CHECK_INT(code, MAS_FAILED);
    }
    _cleanup_str_ struct str refused = STR_INIT;
    (void)err_set(&why, MAS_CONFLICT, "cannot run it");
    (void)err_hint(&why, "wait");
    broker_put_refusal(&why, &refused);
    CHECK_INT(read_answer(&refused, &code, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK_STR(err.text, "cannot run it");
    CHECK_STR(err.hint, "wait");
}

TEST(descriptors_come_with_the_first_byte)
{
    int pair[2], fds[SOCK_FILES_MAX];
    int three[] = {0, 1, 2};
    int nine[9] = {0};
    char buf[16];
    size_t count = 0;

    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    REQUIRE(sock_send_files(pair[0], "hello", 5, three, 3) == 0);
    CHECK_INT(sock_receive_files(pair[1], buf, 2, fds, 3, &count), 2);
    CHECK_INT(count, 3);
    for (size_t i = 0; i < count; i++) {
        CHECK((fcntl(fds[i], F_GETFD) & FD_CLOEXEC) != 0);
        (void)close(fds[i]);
    }
    CHECK_INT(sock_receive_files(pair[1], buf, sizeof buf, fds, 3, &count), 3);
    CHECK_INT(count, 0);
    CHECK_INT(sock_receive_files(pair[1], buf, sizeof buf, fds, 3, &count), -1);
    CHECK_INT(errno, EAGAIN);
    /* more than there is room for: none stays open */
    int next = dup(0);
    (void)close(next);
    for (size_t some = 1; some <= SOCK_FILES_MAX; some++) {
        REQUIRE(sock_send_files(pair[0], "x", 1, nine, some) == 0);
        CHECK_INT(sock_receive_files(pair[1], buf, sizeof buf, fds, 0, &count), -1);
        CHECK_INT(errno, EMSGSIZE);
        CHECK_INT(count, 0);
    }
    int after = dup(0);
    CHECK_INT(after, next);
    (void)close(after);
    (void)close(pair[0]);
    CHECK_INT(sock_receive_files(pair[1], buf, sizeof buf, fds, 3, &count), 0);
    (void)close(pair[1]);
}
