#include "unit.h"

#include "base/frame.h"
#include "model/agent_status.h"
#include "os/path.h"
#include "os/sock.h"
#include "os/tree.h"

#include <sys/socket.h>

/* Feeds text and takes one frame. */
static int take(struct frames *frames, const char *text, struct frame *ret)
{
    struct err err = ERR_INIT;
    frames_feed(frames, text, strlen(text));
    int rc = frames_next(frames, ret, &err);
    if (rc == -1)
        CHECK_INT(err.code, MAS_DAMAGED);
    return rc;
}

TEST(reads_what_it_writes)
{
    static const char body[] = "a\0b\n{\"do\":1}\n";
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct frames frames = {.at = 0};
    struct frame frame;
    struct err err = ERR_INIT;

    str_add(&head, "{\"do\":\"send\"}");
    frame_add(&text, &head, body, sizeof body);
    frame_add(&text, &head, NULL, 0);
    frame_add(&text, &head, "", 0);
    str_clear(&head);
    str_add(&head, "{}");
    frame_add(&text, &head, "x", 1);
    frames_feed(&frames, text.data, text.len);
    REQUIRE(frames_next(&frames, &frame, &err) == 1);
    CHECK_STR(json_get_text(frame.head, "do"), "send");
    CHECK_INT(frame.body_len, sizeof body);
    CHECK(memcmp(frame.body, body, sizeof body) == 0);
    frame_free(&frame);
    REQUIRE(frames_next(&frames, &frame, &err) == 1);
    CHECK(frame.body == NULL);
    frame_free(&frame);
    REQUIRE(frames_next(&frames, &frame, &err) == 1);
    CHECK_STR(frame.body, "");
    frame_free(&frame);
    REQUIRE(frames_next(&frames, &frame, &err) == 1);
    CHECK_STR(frame.body, "x");
    frame_free(&frame);
    CHECK_INT(frames_next(&frames, &frame, &err), 0);
    frames_free(&frames);
}

TEST(takes_bytes_as_they_come)
{
    static const char text[] = "{\"bytes\":5}\nhello{\"do\":\"status\"}\n{\"bytes\":1}\n";
    struct frames frames = {.at = 0};
    struct frame frame;
    struct err err = ERR_INIT;
    int taken = 0;

    for (const char *p = text; *p != '\0'; p++) {
        frames_feed(&frames, p, 1);
        int rc = frames_next(&frames, &frame, &err);
        CHECK(rc != -1);
        if (rc != 1)
            continue;
        if (taken++ == 0)
            CHECK_STR(frame.body, "hello");
        else
            CHECK_STR(json_get_text(frame.head, "do"), "status");
        frame_free(&frame);
    }
    CHECK_INT(taken, 2);
    frames_free(&frames); /* with a head that waits for its body */
}

TEST(refuses_what_is_no_frame)
{
    static const char *const bad[] = {
        "\n",
        "[]\n",
        "1\n",
        "{}x\n",
        "{\"a\":1,\"a\":2}\n",
        "{\"bytes\":-1}\n",
        "{\"bytes\":1.5}\n",
        "{\"bytes\":\"5\"}\n",
        "{\"bytes\":null}\n",
        "{\"bytes\":4194305}\n",
        "{\"bytes\":99999999999999999999}\n",
        "GET / HTTP/1.1\r\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct frames frames = {.at = 0};
        struct frame frame;
        if (!CHECK_INT(take(&frames, bad[i], &frame), -1))
            printf("# for %zu\n", i);
        frames_free(&frames);
    }
}

TEST(a_line_without_an_end_is_refused)
{
    struct frames frames = {.at = 0};
    struct frame frame;
    struct err err = ERR_INIT;
    char chunk[4096];
    size_t fed = 0;
    int rc = 0;

    memset(chunk, 'a', sizeof chunk);
    for (; rc == 0 && fed < 4 * (size_t)FRAME_HEAD_MAX; fed += sizeof chunk) {
        frames_feed(&frames, chunk, sizeof chunk);
        rc = frames_next(&frames, &frame, &err);
    }
    CHECK_INT(rc, -1);
    CHECK_INT(fed, FRAME_HEAD_MAX);
    frames_free(&frames);
}

TEST(the_largest_body_fits)
{
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    char *body = mem_alloc(FRAME_BODY_MAX);
    struct frames frames = {.at = 0};
    struct frame frame;
    struct err err = ERR_INIT;

    str_add(&head, "{}");
    frame_add(&text, &head, body, FRAME_BODY_MAX);
    frames_feed(&frames, text.data, text.len);
    REQUIRE(frames_next(&frames, &frame, &err) == 1);
    CHECK_INT(frame.body_len, FRAME_BODY_MAX);
    frame_free(&frame);
    frames_free(&frames);
    free(body);
}

/* A directory whose path is far longer than an address. */
static int deep_directory(char path[512])
{
    (void)snprintf(path, 512, "/tmp/mas-unit-XXXXXX");
    if (mkdtemp(path) == NULL)
        return -1;
    int at = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 10 && at != -1; i++) {
        static const char name[] = "0123456789012345678901234567890123456789";
        int next = mkdirat(at, name, 0700) == 0 ? path_open_dir(at, name) : -1;
        (void)close(at);
        at = next;
    }
    return at;
}

TEST(sockets_are_found_by_name)
{
    char path[512];
    char buf[8];
    struct err err = ERR_INIT;
    struct stat st;
    pid_t peer = 0;

    int dir = deep_directory(path);
    REQUIRE(dir != -1);
    errno = 0;
    CHECK_INT(sock_connect(dir, "a.sock"), -1);
    CHECK_INT(errno, ENOENT);
    int listener = sock_listen(dir, "a.sock", &err);
    REQUIRE(listener != -1);
    CHECK(fstatat(dir, "a.sock", &st, 0) == 0 && (st.st_mode & 07777) == 0600);
    CHECK_INT(sock_accept(listener, &peer), -1);
    CHECK_INT(errno, EAGAIN);
    int client = sock_connect(dir, "a.sock");
    REQUIRE(client != -1);
    int server = sock_accept(listener, &peer);
    REQUIRE(server != -1);
    CHECK_INT(peer, getpid());
    CHECK_INT(send(client, "hello", 5, 0), 5);
    CHECK_INT(recv(server, buf, sizeof buf, 0), 5);
    CHECK_INT(recv(server, buf, sizeof buf, 0), -1);
    CHECK_INT(errno, EAGAIN);
    (void)close(client);
    (void)close(server);

    CHECK_INT(symlinkat("a.sock", dir, "link.sock"), 0);
    CHECK_INT(sock_connect(dir, "link.sock"), -1);
    (void)close(listener);
    CHECK_INT(sock_connect(dir, "a.sock"), -1);
    CHECK_INT(errno, ECONNREFUSED);
    listener = sock_listen(dir, "a.sock", &err); /* in the place of the dead one */
    CHECK(listener != -1);
    (void)close(listener);
    (void)close(dir);
    dir = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK_INT(tree_remove(dir, path + strlen("/tmp/"), &err), 0);
    (void)close(dir);
}

typedef void writer(const struct agent_status *status, struct json_out *out);

static char *written(writer *write, const struct agent_status *status)
{
    struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    write(status, &out);
    json_close(&out, '}');
    return str_steal(&text);
}

TEST(status_survives_the_way)
{
    struct json *json = NULL;
    struct agent_status got = {.pane = ""};
    struct err err = ERR_INIT;
    char title[] = "a \"title\"";
    char note[] = "line\nline";
    const struct agent_status status = {.state = AGENT_CRASHED,
                                        .since_ms = 1700000000123,
                                        .output_ms = 1700000000001,
                                        .restart_ms = 1700000001000,
                                        .until_ms = 1700000002000,
                                        .retry_ms = 1700000003000,
                                        .done_ms = 1700000000500,
                                        .seen_ms = 1700000000600,
                                        .pid = 0,
                                        .host_pid = 77,
                                        .pane = "%12",
                                        .exit_code = -1,
                                        .signal = 9,
                                        .restarts = 3,
                                        .queued = 2,
                                        .log_lost = 1LL << 40,
                                        .title = title,
                                        .note = note};

    _cleanup_free_ char *text = written(agent_status_put, &status);
    REQUIRE(json_parse(text, strlen(text), FRAME_HEAD_MAX, &json, &err) == 0);
    CHECK_STR(json_get_text(json, "since"), "2023-11-14T22:13:20Z");
    REQUIRE(agent_status_parse(json, &got, &err) == 0);
    json_free(json);
    CHECK_INT(got.state, AGENT_CRASHED);
    CHECK_INT(got.since_ms, status.since_ms);
    CHECK_INT(got.output_ms, status.output_ms);
    CHECK_INT(got.restart_ms, status.restart_ms);
    CHECK_INT(got.until_ms, status.until_ms);
    CHECK_INT(got.retry_ms, status.retry_ms);
    CHECK_INT(got.done_ms, status.done_ms);
    CHECK_INT(got.seen_ms, status.seen_ms);
    CHECK_INT(got.pid, 0);
    CHECK_INT(got.host_pid, 77);
    CHECK_STR(got.pane, "%12");
    CHECK_INT(got.exit_code, -1);
    CHECK_INT(got.signal, 9);
    CHECK_INT(got.restarts, 3);
    CHECK_INT(got.queued, 2);
    CHECK_INT(got.log_lost, status.log_lost);
    CHECK_STR(got.title, status.title);
    CHECK_STR(got.note, status.note);
    agent_status_free(&got);
}

/* What a host tells is read as what it is, though it leaves out what says nothing. */
TEST(a_status_that_was_told_is_the_same)
{
    char word[] = "word";
    const struct agent_status all[] = {
        {.state = AGENT_ASLEEP, .exit_code = -1, .pane = "%1"},
        {.state = AGENT_EXITED, .since_ms = 5, .exit_code = 0, .pane = "%1", .title = word},
        {.state = AGENT_IDLE, .exit_code = -1, .pane = "%1", .acp = true},
        {.state = AGENT_WAITING,
         .since_ms = 1700000000123,
         .output_ms = 1,
         .restart_ms = 2,
         .until_ms = 10,
         .retry_ms = 11,
         .done_ms = 12,
         .seen_ms = 13,
         .pid = 3,
         .host_pid = 4,
         .pane = "%12",
         .exit_code = 5,
         .signal = 6,
         .restarts = 7,
         .queued = 8,
         .log_lost = 9,
         .title = word,
         .note = word,
         .acp = true,
         .conversation = "0a0a0a0a-1111-4222-8333-444444444444",
         .continuity = word,
         .permission = word,
         .asks = word,
         .usage = {.context_used = 10,
                   .context_size = 200,
                   .tokens = 1 << 20,
                   .cost = {.micro = 1, .currency = "USD"}}},
    };

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct agent_status got = {.pane = ""};
        struct err err = ERR_INIT;
        struct json *json = NULL;
        _cleanup_free_ char *told = written(agent_status_tell, &all[i]);
        _cleanup_free_ char *wanted = written(agent_status_put, &all[i]);
        REQUIRE(json_parse(told, strlen(told), FRAME_HEAD_MAX, &json, &err) == 0);
        CHECK(strstr(told, "null") == NULL && strstr(told, "\"\"") == NULL);
        REQUIRE(agent_status_parse(json, &got, &err) == 0);
        json_free(json);
        _cleanup_free_ char *shown = written(agent_status_put, &got);
        CHECK_STR(shown, wanted);
        agent_status_free(&got);
    }
}

TEST(a_status_that_is_none_is_refused)
{
    static const char *const bad[] = {"{}", "{\"state\":\"happy\"}", "{\"state\":1}", "[]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct json *json = NULL;
        struct agent_status got = {.pane = ""};
        struct err err = ERR_INIT;
        REQUIRE(json_parse(bad[i], strlen(bad[i]), 100, &json, &err) == 0);
        CHECK_INT(agent_status_parse(json, &got, &err), -1);
        CHECK_INT(err.code, MAS_DAMAGED);
        json_free(json);
    }
}
