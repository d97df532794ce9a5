#include "unit.h"

#include "os/conn.h"
#include "os/sock.h"

#include <sys/socket.h>

/* A connection, and the socket at its other end. */
struct pair {
    struct conn conn;
    int other;
};

static void pair_free(struct pair *pair)
{
    conn_close(&pair->conn);
    fd_closep(&pair->other);
}
#define _cleanup_pair_ __attribute__((cleanup(pair_free)))

static struct pair pair_make(void)
{
    struct pair pair = {.conn = CONN_INIT};
    int fds[2] = {-1, -1};

    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
    pair.conn.fd = fds[0];
    pair.other = fds[1];
    return pair;
}

static void add(struct conn *conn, const char *head, const char *body, size_t len)
{
    _cleanup_str_ struct str text = STR_INIT;

    str_add(&text, head);
    conn_add(conn, &text, body, len);
}

/* Appends what has come at the other end; false if nothing has. */
static bool take(int fd, struct str *to)
{
    char bytes[4096];
    ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);

    if (n <= 0)
        return false;
    str_addn(to, bytes, (size_t)n);
    return true;
}

TEST(frames_arrive_whole_and_in_order)
{
    _cleanup_pair_ struct pair pair = pair_make();
    _cleanup_str_ struct str got = STR_INIT;
    static const char shared[] = "{\"all\":1}\n";

    add(&pair.conn, "{\"n\":1}", NULL, 0);
    add(&pair.conn, "{}", "body", 4);
    conn_share(&pair.conn, shared, strlen(shared)); /* goes first */
    CHECK_INT(conn_unsent(&pair.conn), strlen(shared) + strlen("{\"n\":1}\n{\"bytes\":4}\nbody"));
    CHECK(conn_write(&pair.conn));
    CHECK_INT(conn_unsent(&pair.conn), 0);
    CHECK(conn_write(&pair.conn)); /* nothing is written twice */
    while (take(pair.other, &got))
        ;
    CHECK_STR(got.data, "{\"all\":1}\n{\"n\":1}\n{\"bytes\":4}\nbody");
}

/* A reader that takes a little at a time gets each byte once, also when the rest is moved, and when
 * more is added in between. */
TEST(what_a_slow_reader_takes_is_whole)
{
    enum { FRAMES = 12, BODY = 100 * 1000, SHARED = 300 * 1000 };
    _cleanup_pair_ struct pair pair = pair_make();
    _cleanup_str_ struct str got = STR_INIT;
    _cleanup_str_ struct str want = STR_INIT;
    _cleanup_free_ char *body = mem_alloc(BODY);
    _cleanup_free_ char *shared = mem_alloc(SHARED);
    int added = 0;

    memset(shared, 's', SHARED);
    str_addn(&want, shared, SHARED);
    conn_share(&pair.conn, shared, SHARED);
    for (int turns = 0; turns < 100000 && (added < FRAMES || conn_unsent(&pair.conn) > 0);
         turns++) {
        if (added < FRAMES && turns % 10 == 0) {
            memset(body, 'a' + added++, BODY);
            add(&pair.conn, "{}", body, BODY);
            str_addf(&want, "{\"bytes\":%d}\n", BODY);
            str_addn(&want, body, BODY);
        }
        CHECK(conn_write(&pair.conn));
        CHECK(conn_unsent(&pair.conn) <= want.len);
        (void)take(pair.other, &got);
    }
    while (take(pair.other, &got))
        ;
    CHECK_INT(got.len, want.len);
    CHECK(got.len == want.len && memcmp(got.data, want.data, want.len) == 0);
}

TEST(a_connection_waits_to_write_only_if_there_is_something)
{
    _cleanup_pair_ struct pair pair = pair_make();
    _cleanup_loop_ struct loop loop = LOOP_INIT;

    for (int i = 0; i < 3; i++) {
        if (i == 1)
            add(&pair.conn, "{}", NULL, 0);
        if (i == 2)
            conn_discard(&pair.conn);
        loop_begin(&loop);
        conn_want(&pair.conn, &loop);
        CHECK_INT(loop_wait(&loop, 0), i == 1);
        CHECK_INT(loop_got(&loop, pair.conn.fd), i == 1 ? POLLOUT : 0);
    }
    conn_share(&pair.conn, "x", 1);
    CHECK_INT(conn_unsent(&pair.conn), 1);
    conn_discard(&pair.conn);
    CHECK_INT(conn_unsent(&pair.conn), 0);
    CHECK(send(pair.other, "{}\n", 3, 0) == 3);
    loop_begin(&loop);
    conn_want(&pair.conn, &loop);
    CHECK_INT(loop_wait(&loop, -1), 1);
    CHECK_INT(loop_got(&loop, pair.conn.fd), POLLIN);
}

TEST(what_comes_is_read_until_the_end)
{
    _cleanup_pair_ struct pair pair = pair_make();
    struct frame frame = {.head = NULL};
    struct err err = ERR_INIT;

    CHECK_INT(conn_read(&pair.conn), CONN_NOTHING);
    CHECK(send(pair.other, "{\"n\":1}\n{\"bytes\":3}\na", 21, 0) == 21);
    CHECK_INT(conn_read(&pair.conn), CONN_DATA);
    CHECK_INT(conn_next(&pair.conn, &frame, &err), 1);
    CHECK_INT(json_int(json_get(frame.head, "n"), 0), 1);
    CHECK(frame.body == NULL);
    frame_free(&frame);
    CHECK_INT(conn_next(&pair.conn, &frame, &err), 0);
    CHECK(send(pair.other, "bc", 2, 0) == 2);
    CHECK_INT(conn_read(&pair.conn), CONN_DATA);
    CHECK_INT(conn_next(&pair.conn, &frame, &err), 1);
    CHECK_STR(frame.body, "abc");
    frame_free(&frame);
    CHECK_INT(conn_next(&pair.conn, &frame, &err), 0);
    CHECK(send(pair.other, "no\n", 3, 0) == 3);
    fd_closep(&pair.other);
    pair.other = -1;
    CHECK_INT(conn_read(&pair.conn), CONN_DATA);
    CHECK_INT(conn_next(&pair.conn, &frame, &err), -1);
    CHECK_INT(conn_read(&pair.conn), CONN_END);
    add(&pair.conn, "{}", NULL, 0);
    CHECK(!conn_write(&pair.conn)); /* and no signal ends the process */
    conn_close(&pair.conn);
    CHECK(pair.conn.fd == -1 && conn_unsent(&pair.conn) == 0);
    CHECK_INT(conn_read(&pair.conn), CONN_GONE);
}
