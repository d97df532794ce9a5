/*
 * The gate of mas-network, in a child: what it connects to, what it answers, and what it carries.
 * Its clients connect to a socket of the loopback, as they do in a namespace.
 */
#include "network/network.h"

#include "place.h"

#include "os/loop.h"
#include "os/proc.h"

#include <arpa/inet.h>
#include <sys/wait.h>

enum { LONG_MS = 60000, NOT_YET_MS = 50 };

struct gate {
    struct place place;
    pid_t pid;
    struct sockaddr_in at; /* where it listens */
    int server; /* listens at the port that the list names */
    int port;
    int closed; /* a port that the list names and where nobody listens */
};

/* Makes a socket of the loopback; backlog -1: one that does not listen. */
static int make_socket(int backlog, struct sockaddr_in *ret)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof *ret;

    *ret = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    CHECK(fd != -1 && bind(fd, (struct sockaddr *)ret, sizeof *ret) == 0);
    CHECK(backlog == -1 || listen(fd, backlog) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)ret, &len) == 0);
    return fd;
}

static struct gate gate_make(void)
{
    struct gate gate = {.place = place_make()};
    struct sockaddr_in at;
    struct err err = ERR_INIT;
    struct network network = NETWORK_INIT;

    gate.server = make_socket(8, &at);
    gate.port = ntohs(at.sin_port);
    int closed = make_socket(-1, &at); /* bound, so that nobody else gets the port */
    gate.closed = ntohs(at.sin_port);
    int listener = make_socket(NETWORK_BACKLOG, &gate.at);
    _cleanup_free_ char *list =
        mem_printf("127.0.0.1:%d localhost:%d 127.0.0.1:%d", gate.port, gate.port, gate.closed);
    WELL(network_parse(list, &network, &err));
    gate.pid = proc_fork();
    if (gate.pid == 0) {
        const struct network_log log = {.dir = gate.place.dir, .name = "log"};
        proc_end_with_parent(SIGKILL);
        network_gate(listener, &network, &log);
    }
    network_free(&network);
    (void)close(listener);
    (void)closed; /* until the test ends */
    return gate;
}

static void gate_free(struct gate *gate)
{
    (void)kill(gate->pid, SIGKILL);
    CHECK(waitpid(gate->pid, NULL, 0) == gate->pid);
    (void)close(gate->server);
    place_free(&gate->place);
}
#define _cleanup_gate_ __attribute__((cleanup(gate_free)))

static bool waits(int fd)
{
    return loop_wait_for(fd, POLLIN, LONG_MS) > 0;
}

/* Reads as many bytes, or up to the end. Returns their number. */
static size_t read_some(int fd, void *buf, size_t len)
{
    size_t have = 0;
    ssize_t n = 1;

    while (have < len && n > 0 && waits(fd)) {
        n = read(fd, (char *)buf + have, len - have);
        have += n > 0 ? (size_t)n : 0;
    }
    return have;
}

static int visit(const struct gate *gate)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(connect(fd, (const struct sockaddr *)&gate->at, sizeof gate->at) == 0);
    return fd;
}

/* Greets, and asks for a host by its name. Returns the gate's answer; -1: none came. */
static int ask(int fd, const char *host, int port, const char *more)
{
    unsigned char buf[300] = {5, 1, 0};
    size_t len = strlen(host);

    CHECK(write(fd, buf, 3) == 3);
    if (read_some(fd, buf, 2) != 2 || !CHECK(memcmp(buf, "\5", 2) == 0))
        return -1;
    memcpy(buf, "\5\1\0\3", 4);
    buf[4] = (unsigned char)len;
    memcpy(buf + 5, host, len);
    buf[5 + len] = (unsigned char)(port >> 8);
    buf[6 + len] = (unsigned char)(port & 255);
    len += 7;
    memcpy(buf + len, more, strlen(more));
    len += strlen(more);
    CHECK(write(fd, buf, len) == (ssize_t)len);
    return read_some(fd, buf, 10) == 10 && buf[0] == 5 ? buf[1] : -1;
}

static bool log_says(const struct gate *gate, const char *what)
{
    _cleanup_free_ char *text = NULL;
    struct err err = ERR_INIT;
    size_t len = 0;

    if (file_read(gate->place.dir, "log", 1 << 20, &text, &len, &err) == -1)
        return false;
    if (strstr(text, what) == NULL)
        printf("# %s\n", text);
    return strstr(text, what) != NULL;
}

enum { DONE = 0, FAILED = 1, REFUSED = 2, UNREACHABLE = 4 };

TEST(it_reaches_what_is_named_and_says_why_not)
{
    _cleanup_gate_ struct gate gate = gate_make();
    const struct {
        const char *host;
        int port, answer;
        const char *more, *log; /* %d: the port */
    } rows[] = {
        {"127.0.0.1", gate.port, DONE, "", "allowed 127.0.0.1:%d at 127.0.0.1"},
        {"localhost", gate.port, DONE, "", "allowed localhost:%d at "},
        {"127.0.0.1", gate.closed, UNREACHABLE, "", "failed 127.0.0.1:%d: Connection refused"},
        {"localhost", gate.closed, REFUSED, "", "refused localhost:%d: it is not in the list"},
        {"127.0.0.2", gate.port, REFUSED, "", "refused 127.0.0.2:%d: it is not in the list"},
        {"a b", gate.port, REFUSED, "", "refused a b:%d: this is no host"},
        {"127.0.0.1", gate.port, FAILED, "early", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int fd = visit(&gate);
        if (!CHECK_INT(ask(fd, rows[i].host, rows[i].port, rows[i].more), rows[i].answer))
            printf("# %s:%d\n", rows[i].host, rows[i].port);
        char byte;
        if (rows[i].answer != DONE) /* and nothing more */
            CHECK_INT(read_some(fd, &byte, 1), 0);
        (void)close(fd);
        _cleanup_str_ struct str want = STR_INIT;
        const char *number = rows[i].log != NULL ? strstr(rows[i].log, "%d") : NULL;
        if (number == NULL)
            continue;
        str_addf(&want, "%.*s%d%s", (int)(number - rows[i].log), rows[i].log, rows[i].port,
                 number + 2);
        CHECK(log_says(&gate, str_text(&want)));
    }
}

TEST(who_does_not_speak_it_is_let_go)
{
    static const char *const bad[] = {"GET / HTTP/1.1\r\n\r\n", "\4\1\1", "\5\1\2"};
    _cleanup_gate_ struct gate gate = gate_make();
    unsigned char buf[16];

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        int fd = visit(&gate);
        CHECK(write(fd, bad[i], strlen(bad[i])) > 0);
        size_t n = read_some(fd, buf, sizeof buf); /* up to the end */
        CHECK(n == 0 || (n >= 2 && buf[1] != DONE));
        (void)close(fd);
    }
    int fd = visit(&gate); /* and ends before it has asked */
    CHECK(write(fd, "\5\1", 2) == 2 && shutdown(fd, SHUT_WR) == 0);
    CHECK(read_some(fd, buf, sizeof buf) == 10 && buf[1] == FAILED);
    (void)close(fd);
    fd = visit(&gate); /* a greeting in two parts, with another way to log in */
    CHECK(write(fd, "\5\2\2", 3) == 3);
    CHECK_INT(loop_wait_for(fd, POLLIN, NOT_YET_MS), 0);
    CHECK(write(fd, "", 1) == 1);
    CHECK(read_some(fd, buf, 2) == 2 && buf[0] == 5 && buf[1] == 0);
    (void)close(fd);
}

/* A greeting byte by byte, and then more than a buffer of the gate holds in both directions, while
 * the other end does not read yet. */
TEST(it_carries_all_in_both_directions_and_each_end)
{
    enum { MUCH = 1 << 20 };
    static char sent[MUCH], got[MUCH];
    _cleanup_gate_ struct gate gate = gate_make();
    int client = visit(&gate);
    int small = 1 << 16;

    CHECK(setsockopt(gate.server, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0 &&
          setsockopt(client, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (char)(i * 7 + i / 1000);
    REQUIRE(ask(client, "127.0.0.1", gate.port, "") == DONE);
    REQUIRE(waits(gate.server));
    int server = accept4(gate.server, NULL, NULL, SOCK_CLOEXEC);
    REQUIRE(server != -1);
    for (int way = 0; way < 2; way++) {
        int from = way == 0 ? client : server;
        int to = way == 0 ? server : client;
        pid_t writer = proc_fork();
        if (writer == 0) {
            size_t at = 0;
            for (ssize_t n = 1; n > 0 && at<sizeof sent; at += n> 0 ? (size_t)n : 0)
                n = write(from, sent + at, sizeof sent - at);
            _exit(at == sizeof sent ? 0 : 1);
        }
        memset(got, 0, sizeof got);
        CHECK(loop_wait_for(-1, 0, NOT_YET_MS) == 0);
        CHECK_INT(read_some(to, got, sizeof got), sizeof got);
        CHECK(memcmp(got, sent, sizeof got) == 0);
        int status = -1;
        CHECK(waitpid(writer, &status, 0) == writer && status == 0);
        /* the end of one way, while the other goes on */
        CHECK(shutdown(from, SHUT_WR) == 0);
        CHECK(waits(to) && read(to, got, 1) == 0);
    }
    (void)close(client);
    (void)close(server);
    client = visit(&gate);
    REQUIRE(ask(client, "127.0.0.1", gate.port, "") == DONE);
    REQUIRE(waits(gate.server));
    server = accept4(gate.server, NULL, NULL, SOCK_CLOEXEC);
    REQUIRE(server != -1);
    const struct linger now = {.l_onoff = 1}; /* a close that resets */
    CHECK(setsockopt(client, SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0);
    (void)close(client);
    CHECK(waits(server) && read(server, got, 1) <= 0);
    (void)close(server);
}

/* The next one waits until a connection ends. */
TEST(it_holds_128_connections_and_then_the_next)
{
    enum { MOST = 128 };
    _cleanup_gate_ struct gate gate = gate_make();
    int clients[MOST];
    unsigned char buf[2];

    for (int i = 0; i < MOST; i++) {
        clients[i] = visit(&gate);
        CHECK(write(clients[i], "\5\1", 3) == 3);
        CHECK(read_some(clients[i], buf, 2) == 2);
    }
    int next = visit(&gate);
    CHECK(write(next, "\5\1", 3) == 3);
    CHECK_INT(loop_wait_for(next, POLLIN, NOT_YET_MS), 0);
    (void)close(clients[0]);
    CHECK(read_some(next, buf, 2) == 2);
    (void)close(next);
    for (int i = 1; i < MOST; i++)
        (void)close(clients[i]);
}
