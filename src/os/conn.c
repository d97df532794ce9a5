#include "os/conn.h"

#include <sys/socket.h>

enum {
    ROOM = 4096, /* for most requests and answers */
    ROOM_BUSY = 64 * 1024,
    COMPACT = 256 * 1024, /* bytes written that are worth moving the rest for */
};

void conn_close(struct conn *conn)
{
    fd_closep(&conn->fd);
    frames_free(&conn->in);
    str_free(&conn->out);
    *conn = (struct conn)CONN_INIT;
}

void conn_add(struct conn *conn, const struct str *head, const char *body, size_t body_len)
{
    if (conn->sent >= COMPACT) {
        conn->out.len -= conn->sent;
        memmove(conn->out.data, conn->out.data + conn->sent, conn->out.len + 1);
        conn->sent = 0;
    }
    frame_add(&conn->out, head, body, body_len);
}

void conn_share(struct conn *conn, const char *bytes, size_t len)
{
    conn->shared = bytes;
    conn->shared_len = len;
}

size_t conn_unsent(const struct conn *conn)
{
    return conn->shared_len + conn->out.len - conn->sent;
}

void conn_discard(struct conn *conn)
{
    str_clear(&conn->out);
    conn->sent = 0;
    conn->shared_len = 0;
}

void conn_want(const struct conn *conn, struct loop *loop)
{
    loop_want(loop, conn->fd, conn_unsent(conn) > 0 ? POLLIN | POLLOUT : POLLIN);
}

bool conn_write(struct conn *conn)
{
    while (conn_unsent(conn) > 0) {
        bool shared = conn->shared_len > 0;
        const char *from = shared ? conn->shared : conn->out.data + conn->sent;
        size_t len = shared ? conn->shared_len : conn->out.len - conn->sent;
        ssize_t n = send(conn->fd, from, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return errno == EAGAIN;
        if (shared)
            conn_share(conn, from + n, len - (size_t)n);
        else
            conn->sent += (size_t)n;
    }
    conn_discard(conn);
    return true;
}

enum conn_read conn_read(struct conn *conn)
{
    size_t size = conn->busy ? ROOM_BUSY : ROOM;
    char *room = frames_room(&conn->in, size);
    ssize_t n;

    do
        n = recv(conn->fd, room, size, MSG_DONTWAIT);
    while (n == -1 && errno == EINTR);
    if (n == -1)
        return errno == EAGAIN ? CONN_NOTHING : CONN_GONE;
    if (n == 0)
        return CONN_END;
    conn->busy = (size_t)n == size;
    frames_came(&conn->in, (size_t)n);
    return CONN_DATA;
}

int conn_next(struct conn *conn, struct frame *ret, struct err *err)
{
    return frames_next(&conn->in, ret, err);
}
