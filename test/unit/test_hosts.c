#include "unit.h"

#include "base/time.h"
#include "client/hosts.h"
#include "os/file.h"
#include "os/path.h"
#include "os/sock.h"
#include "os/tree.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

static char place[64]; /* the directory of the sockets */
static int run = -1;
static pid_t servers[8];
static size_t server_count;

static void make_place(void)
{
    (void)snprintf(place, sizeof place, "/tmp/mas-unit-XXXXXX");
    if (mkdtemp(place) != NULL)
        run = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    server_count = 0;
}

static void drop_place(void)
{
    struct err err = ERR_INIT;
    for (size_t i = 0; i < server_count; i++) {
        (void)kill(servers[i], SIGKILL);
        (void)waitpid(servers[i], NULL, 0);
    }
    (void)close(run);
    int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)tree_remove(tmp, place + strlen("/tmp/"), &err);
    (void)close(tmp);
}

/* Reads a whole request; its body's length. */
static size_t read_request(int fd)
{
    struct frames frames = {.at = 0};
    struct frame frame;
    struct err err = ERR_INIT;
    char chunk[65536];
    size_t len = 0;

    for (;;) {
        struct pollfd in = {.fd = fd, .events = POLLIN};
        (void)poll(&in, 1, -1);
        ssize_t n = recv(fd, chunk, sizeof chunk, 0);
        if (n <= 0)
            break;
        frames_feed(&frames, chunk, (size_t)n);
        if (frames_next(&frames, &frame, &err) == 1) {
            len = frame.body_len;
            frame_free(&frame);
            break;
        }
    }
    frames_free(&frames);
    return len;
}

/* A process that listens for an agent and answers each request with this text
 * (NULL: with the length of its body), at once or after
 * having read it all, then holds the line or hangs up. */
static void serve(const char *agent, const char *answer, bool reads, bool hangs_up)
{
    struct err err = ERR_INIT;
    char name[64];
    (void)snprintf(name, sizeof name, "%s.sock", agent);
    int listener = sock_listen(run, name, &err);
    pid_t pid = listener != -1 ? fork() : -1;
    if (pid != 0) {
        (void)close(listener);
        servers[server_count++] = pid;
        return;
    }
    for (;;) {
        struct pollfd in = {.fd = listener, .events = POLLIN};
        pid_t peer;
        (void)poll(&in, 1, -1);
        int fd = sock_accept(listener, &peer);
        if (fd == -1)
            continue;
        size_t len = reads ? read_request(fd) : 0;
        _cleanup_free_ char *text =
            answer != NULL ? mem_dup(answer) : mem_printf("{\"ok\":true,\"n\":%zu}\n", len);
        (void)!write(fd, text, strlen(text));
        if (hangs_up)
            (void)close(fd);
    }
}

#define STATUS "{\"do\":\"status\"}"

static bool keep_state(struct host_call *call, const struct frame *reply, void *arg)
{
    int *frames = arg;
    (*frames)++;
    call->arg = mem_dup(json_get_text(reply->head, "state"));
    return true;
}

TEST(one_answer_each)
{
    make_place();
    serve("a", "{\"ok\":true,\"state\":\"idle\"}\n", true, false);
    serve("b", "{\"ok\":true,\"state\":\"working\"}\n", true, true);
    serve("mute", "", true, false);
    serve("gone", "", true, true);
    serve("mad", "hello\n", true, false);
    struct host_call calls[] = {{.run = run, .agent = "a"},    {.run = run, .agent = "b"},
                                {.run = run, .agent = "mute"}, {.run = run, .agent = "gone"},
                                {.run = run, .agent = "mad"},  {.run = run, .agent = "none"}};
    int frames = 0;
    int64_t start = time_monotonic_ms();
    hosts_start(calls, 6, STATUS, NULL, 0);
    hosts_finish(calls, 6, HOSTS_ANSWER_MS, keep_state, &frames);
    int64_t took = time_monotonic_ms() - start;
    CHECK(took >= HOSTS_ANSWER_MS && took < HOSTS_ANSWER_MS + 1000);
    CHECK_INT(frames, 2);
    CHECK_INT(calls[0].answer, HOST_ANSWERED);
    CHECK_STR(calls[0].arg, "idle");
    CHECK_INT(calls[1].answer, HOST_ANSWERED);
    CHECK_STR(calls[1].arg, "working");
    CHECK_INT(calls[2].answer, HOST_LATE);
    CHECK_INT(calls[3].answer, HOST_BROKEN);
    CHECK_STR(calls[3].err.text, "its host closed the connection");
    CHECK_INT(calls[4].answer, HOST_BROKEN);
    CHECK_STR(calls[4].err.text, "its host sent an invalid answer");
    CHECK_INT(calls[5].answer, HOST_ABSENT);
    free(calls[0].arg);
    free(calls[1].arg);
    drop_place();
}

static bool until_idle(struct host_call *call, const struct frame *reply, void *arg)
{
    int *frames = arg;
    (void)call;
    (*frames)++;
    return strcmp(json_get_text(reply->head, "state"), "idle") == 0;
}

TEST(each_session_answers_until_it_is_enough)
{
    make_place();
    serve("a", "{\"state\":\"working\"}\n{\"state\":\"idle\"}\n{\"state\":\"asleep\"}\n", true,
          false);
    struct host_call call = {.run = run, .agent = "a"};
    int frames = 0;
    hosts_start(&call, 1, STATUS, NULL, 0);
    hosts_finish(&call, 1, -1, until_idle, &frames);
    CHECK_INT(frames, 2);
    CHECK_INT(call.answer, HOST_ANSWERED);
    drop_place();
}

static bool keep_number(struct host_call *call, const struct frame *reply, void *arg)
{
    (void)call;
    *(int64_t *)arg = json_int(json_get(reply->head, "n"), -1);
    return true;
}

TEST(a_large_body_arrives)
{
    make_place();
    serve("a", NULL, true, false);
    struct host_call call = {.run = run, .agent = "a"};
    char *body = mem_alloc(FRAME_BODY_MAX);
    int64_t n = 0;
    hosts_start(&call, 1, STATUS, body, FRAME_BODY_MAX);
    hosts_finish(&call, 1, 10000, keep_number, &n);
    CHECK_INT(call.answer, HOST_ANSWERED);
    CHECK_INT(n, FRAME_BODY_MAX);
    free(body);
    drop_place();
}

TEST(a_refusal_before_the_end_of_the_request_is_read)
{
    make_place();
    serve("a", "{\"ok\":false,\"code\":4,\"n\":7}\n", false, false);
    struct host_call call = {.run = run, .agent = "a"};
    char *body = mem_alloc(FRAME_BODY_MAX);
    int64_t n = 0;
    hosts_start(&call, 1, STATUS, body, FRAME_BODY_MAX);
    hosts_finish(&call, 1, 10000, keep_number, &n);
    CHECK_INT(call.answer, HOST_ANSWERED);
    CHECK_INT(n, 7);
    free(body);
    drop_place();
}

TEST(a_call_that_is_made_again_leaves_the_others_their_request)
{
    make_place();
    serve("a", NULL, true, false);
    struct host_call calls[] = {{.run = run, .agent = "none"}, {.run = run, .agent = "a"}};
    char *body = mem_alloc(FRAME_BODY_MAX);
    int64_t n = 0;
    hosts_start(calls, 2, STATUS, body, FRAME_BODY_MAX);
    CHECK_INT(calls[0].answer, HOST_ABSENT);
    hosts_start(calls, 1, STATUS, NULL, 0);
    CHECK_INT(calls[0].answer, HOST_ABSENT);
    CHECK_INT(calls[1].answer, HOST_PENDING);
    hosts_finish(calls, 2, 10000, keep_number, &n);
    CHECK_INT(calls[1].answer, HOST_ANSWERED);
    CHECK_INT(n, FRAME_BODY_MAX);
    free(body);
    drop_place();
}

TEST(many_wait_for_descriptors)
{
    enum { MANY = 100 };
    make_place();
    serve("a", "{\"state\":\"idle\"}\n", true, true);
    struct rlimit was;
    struct host_call *calls = mem_alloc(MANY * sizeof *calls);
    for (size_t i = 0; i < MANY; i++)
        calls[i] = (struct host_call){.run = run, .agent = "a"};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &was) == 0);
    struct rlimit few = {.rlim_cur = 24, .rlim_max = was.rlim_max};
    int frames = 0;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
    hosts_start(calls, MANY, STATUS, NULL, 0);
    struct rlimit now;
    (void)getrlimit(RLIMIT_NOFILE, &now);
    CHECK(now.rlim_cur > MANY); /* raised */
    hosts_finish(calls, MANY, 10000, until_idle, &frames);
    CHECK_INT(frames, MANY);
    pid_t child = fork(); /* a hard limit cannot be taken back */
    if (child == 0) {
        few.rlim_max = 24;
        (void)setrlimit(RLIMIT_NOFILE, &few);
        frames = 0;
        hosts_start(calls, MANY, STATUS, NULL, 0);
        hosts_finish(calls, MANY, 10000, until_idle, &frames);
        _exit(frames == MANY ? 0 : 1);
    }
    int status = -1;
    (void)waitpid(child, &status, 0);
    CHECK_INT(status, 0);
    (void)setrlimit(RLIMIT_NOFILE, &was);
    free(calls);
    drop_place();
}

TEST(a_call_waits_for_a_host_whose_queue_is_full)
{
    struct host_call call = {.run = -1, .agent = "busy"};
    struct err err = ERR_INIT;
    int others[16], count = 0, frames = 0;
    pid_t peer;

    make_place();
    call.run = run;
    int listener = sock_listen(run, "busy.sock", &err);
    REQUIRE(listener != -1 && listen(listener, 0) == 0);
    while (count < 16 && (others[count] = sock_connect(run, "busy.sock")) != -1)
        count++;
    REQUIRE(count > 0 && count < 16);
    hosts_start(&call, 1, STATUS, NULL, 0);
    CHECK_INT(hosts_step(&call, 1, 0, keep_state, &frames), 1);
    while (count > 0) {
        (void)close(sock_accept(listener, &peer));
        (void)close(others[--count]);
    }
    CHECK_INT(hosts_step(&call, 1, 0, keep_state, &frames), 1);
    int fd = sock_accept(listener, &peer);
    static const char answer[] = "{\"ok\":true,\"state\":\"idle\"}\n";
    CHECK(write(fd, answer, strlen(answer)) == (ssize_t)strlen(answer));
    hosts_finish(&call, 1, HOSTS_ANSWER_MS, keep_state, &frames);
    CHECK_INT(call.answer, HOST_ANSWERED);
    CHECK_STR(call.arg, "idle");
    free(call.arg);
    (void)close(fd);
    (void)close(listener);
    drop_place();
}

TEST(refusals_become_errors)
{
    static const struct {
        const char *text;
        int rc, code;
        const char *why, *hint;
    } cases[] = {
        {"{\"ok\":true}", 0, 0, "", ""},
        {"{\"ok\":false,\"code\":4,\"why\":\"w\",\"hint\":\"h\"}", -1, 4, "w", "h"},
        {"{\"ok\":false,\"code\":0,\"why\":\"%s\"}", -1, 1, "%s", ""},
        {"{\"ok\":false,\"code\":1,\"why\":\"w\"}", -1, 1, "w", ""},
        {"{\"ok\":false,\"code\":7,\"why\":\"w\"}", -1, MAS_TIMEOUT, "w", ""}, /* the last */
        {"{\"ok\":false,\"code\":8,\"why\":\"w\"}", -1, 1, "w", ""},
        {"{\"ok\":false,\"code\":-1,\"why\":\"w\"}", -1, 1, "w", ""},
        {"{\"ok\":false,\"code\":99}", -1, 1, "its host refused the request without a reason", ""},
        {"{}", -1, 1, "its host refused the request without a reason", ""},
        {"{\"ok\":\"true\"}", -1, 1, "its host refused the request without a reason", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json *json = NULL;
        struct err err = ERR_INIT;
        REQUIRE(json_parse(cases[i].text, strlen(cases[i].text), 1000, &json, &err) == 0);
        CHECK_INT(hosts_reply_error(json, &err), cases[i].rc);
        CHECK_INT(err.code, cases[i].code);
        CHECK_STR(err.text, cases[i].why);
        CHECK_STR(err.hint, cases[i].hint);
        json_free(json);
    }
}

struct heard {
    char text[128]; /* the numbers of what was asked, "-" for events */
    size_t count; /* of what was wanted */
};

static bool note_asked(const struct frame *frame, const int64_t *asked, void *arg)
{
    struct heard *heard = arg;
    size_t len = strlen(heard->text);

    (void)frame;
    if (asked != NULL)
        (void)snprintf(heard->text + len, sizeof heard->text - len, "%d ", (int)*asked);
    else
        (void)snprintf(heard->text + len, sizeof heard->text - len, "- ");
    return --heard->count == 0;
}

/* As many as may wait, and one more; each answer is for the oldest, also with events between. */
TEST(answers_on_one_connection_belong_to_what_was_asked_first)
{
    struct host_connection connection = HOST_CONNECTION_INIT;
    _cleanup_str_ struct str answers = STR_INIT;
    struct heard heard = {.count = 6};
    struct err err = ERR_INIT;
    int pair[2];

    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    connection.conn.fd = pair[0];
    for (int i = 1; i <= HOST_ASKED_MAX; i++)
        CHECK(host_connection_ask(&connection, i, "{}", NULL, 0));
    CHECK(!host_connection_ask(&connection, HOST_ASKED_MAX + 1, "{}", NULL, 0));
    for (int i = 0; i < 6; i++) {
        _cleanup_str_ struct str head = STR_INIT;
        str_add(&head, i == 0 || i == 3 ? "{\"event\":\"x\"}" : "{\"ok\":true}");
        frame_add(&answers, &head, NULL, 0);
    }
    CHECK(file_write_all(pair[1], answers.data, answers.len) == 0);
    CHECK_INT(host_connection_turn(&connection, POLLIN, note_asked, &heard, &err), HOST_ANSWERED);
    CHECK_STR(heard.text, "- 1 2 - 3 4 ");
    for (int i = 0; i < 4; i++) /* there is room again for as many */
        CHECK(host_connection_ask(&connection, 1000 + i, "{}", NULL, 0));
    CHECK(!host_connection_ask(&connection, 2000, "{}", NULL, 0));
    host_connection_close(&connection);
    (void)close(pair[1]);
}
