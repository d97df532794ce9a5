/*
 * A connection makes one request, unless it listens, and is served without ever waiting for it.
 * What a client does not read is kept up to a limit; when all places are taken, one that does not
 * ask or read makes room. A watcher gets the newest status once it has read the one before, not
 * every change. The first frames of a host are kept for a while, for clients that come with its
 * start.
 */

#include "host/server.h"

#include "base/time.h"
#include "client/hosts.h"
#include "host/backend.h"
#include "os/sock.h"
#include "protocol/host.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum {
    UNREAD_MAX = 1 << 20, /* bytes; a watcher that has left more unread gets no messages */
    ANSWERS_MAX = 2 * HOST_BACKLOG, /* bytes that a client that goes on asking may leave unread */
    EARLY_MS = 10000, /* how long the first frames are kept */
    EARLY_MAX = 512 * 1024, /* bytes */
    EARLY_BODIES =
        EARLY_MAX / 2, /* bytes up to which texts are kept, so that other events have room */
};

int server_open(struct host *host, struct err *err)
{
    char name[TEAM_WORD_MAX + 8];
    (void)snprintf(name, sizeof name, "%s" WORKSPACE_HOST_SOCKET, host->agent->id);
    host->server.early_until = time_monotonic_ms() + EARLY_MS;
    host->server.listener = sock_listen(host->run, name, err);
    return host->server.listener == -1 ? -1 : 0;
}

static void client_free(struct client *client)
{
    conn_close(&client->conn);
    free(client->stranger);
}

static void drop(struct host_server *server, size_t index)
{
    client_free(&server->clients[index]);
    server->clients[index] = server->clients[--server->count];
}

/* Drops a client that has gone by itself; what the host hangs up is not abandoned. */
static void end_client(struct host *host, size_t index)
{
    const struct client *client = &host->server.clients[index];
    bool holds = client->kind == CLIENT_ASKS && client->holds;
    int64_t prompt = client->prompt;

    drop(&host->server, index);
    if (holds)
        host->backend->abandoned(host, prompt);
}

static void forget_early(struct host_server *server)
{
    for (size_t i = 0; i < SERVER_AUDIENCE_COUNT; i++)
        str_free(&server->early[i]);
    server->early_until = 0;
}

int64_t server_tick(struct host *host, int64_t now)
{
    struct host_server *server = &host->server;

    if (server->early_until != 0 && now >= server->early_until)
        forget_early(server);
    return server->early[SERVER_WATCHERS].len + server->early[SERVER_LISTENERS].len > 0
               ? server->early_until
               : -1;
}

void server_keep_early(struct host *host, enum server_audience audience, const struct str *head,
                       const char *body, size_t len)
{
    struct str *kept = &host->server.early[audience];
    size_t room = kept->len < EARLY_BODIES ? EARLY_BODIES - kept->len : 0;

    if (host->server.early_until != 0 && kept->len + head->len < EARLY_MAX)
        frame_add(kept, head, body, str_cut(body, len, room));
}

void server_tell_early(const struct host *host, struct client *client,
                       enum server_audience audience)
{
    const struct str *kept = &host->server.early[audience];

    if (time_monotonic_ms() < host->server.early_until)
        str_addn(&client->conn.out, str_text(kept), kept->len);
}

void server_close(struct host *host)
{
    forget_early(&host->server);
    while (host->server.count > 0)
        drop(&host->server, 0);
    fd_closep(&host->server.listener);
}

void server_want(const struct host *host, struct loop *loop)
{
    const struct host_server *server = &host->server;

    loop_want(loop, server->listener, POLLIN);
    for (size_t i = 0; i < server->count; i++) {
        const struct client *client = &server->clients[i];
        short events = conn_unsent(&client->conn) > 0 ? POLLOUT : 0;
        if (!client->done)
            events |= POLLIN;
        loop_want(loop, client->conn.fd, events);
    }
}

bool server_is_watched(const struct host *host)
{
    for (size_t i = 0; i < host->server.count; i++)
        if (host->server.clients[i].kind == CLIENT_WATCHES)
            return true;
    return false;
}

void server_mark_dirty(struct host *host)
{
    for (size_t i = 0; i < host->server.count; i++)
        host->server.clients[i].dirty = true;
}

void server_answer(struct client *client, const struct str *head)
{
    conn_add(&client->conn, head, NULL, 0);
}

void server_open_answer(const struct host *host, struct str *head, struct json_out *out)
{
    *out = (struct json_out){.to = head};
    json_open(out, NULL, '{');
    json_put_bool(out, "ok", true);
    json_put(out, "agent", host->agent->id);
}

/* Returns true if it stays for events. */
static bool gets_events(const struct client *client)
{
    return client->kind == CLIENT_WATCHES || client->kind == CLIENT_ASKS ||
           client->kind == CLIENT_LISTENS;
}

void server_close_answer(struct client *client, struct str *head, struct json_out *out)
{
    json_close(out, '}');
    server_answer(client, head);
    if (!gets_events(client))
        client->kind = CLIENT_LEAVES;
}

void server_answer_outcome(const struct host *host, struct client *client, const char *outcome,
                           const char *why, bool stays)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;

    server_open_answer(host, &head, &out);
    json_put(&out, "outcome", outcome);
    if (why != NULL)
        json_put(&out, "why", why);
    server_close_answer(client, &head, &out);
    client->kind = stays ? CLIENT_WATCHES : CLIENT_LEAVES;
    client->dirty = stays;
}

/* Returns true if a client has not read what was sent to it. */
static bool is_deaf(const struct client *client)
{
    int unread = 0;
    return conn_unsent(&client->conn) > 0 ||
           (ioctl(client->conn.fd, SIOCOUTQ, &unread) == 0 && unread > 0);
}

bool server_lets_watch(struct host *host)
{
    struct host_server *server = &host->server;
    struct client *deaf = NULL;
    size_t watchers = 0;

    for (size_t i = 0; i < server->count; i++) {
        struct client *client = &server->clients[i];
        if (!gets_events(client))
            continue;
        watchers++;
        if (is_deaf(client))
            deaf = client;
    }
    if (watchers < SERVER_WATCHERS_MAX)
        return true;
    if (deaf == NULL)
        return false;
    (void)shutdown(deaf->conn.fd, SHUT_RDWR); /* server_serve() drops it then */
    deaf->kind = CLIENT_LEAVES;
    return true;
}

/* Drops a client that does not ask or does not read, if there is no room for one more. Returns
 * false if there is no such client. */
static bool make_room(struct host_server *server)
{
    if (server->count < SERVER_CLIENTS_MAX)
        return true;
    for (size_t i = 0; i < server->count; i++)
        if (server->clients[i].kind == CLIENT_NEW || is_deaf(&server->clients[i])) {
            drop(server, i);
            return true;
        }
    return false;
}

/* Writes what the client is to get. Returns false if the connection has to end. */
static bool write_out(struct client *client)
{
    return conn_write(&client->conn) &&
           (conn_unsent(&client->conn) > 0 || client->kind != CLIENT_LEAVES);
}

void server_refuse(struct client *client, const struct err *err)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_open(&out, NULL, '{');
    json_put_all(&out, JB("ok", false), JI("code", err->code), JT("why", err->text));
    if (err->hint[0] != '\0')
        json_put(&out, "hint", err->hint);
    json_close(&out, '}');
    server_answer(client, &head);
    if (client->kind != CLIENT_LISTENS)
        client->kind = CLIENT_LEAVES;
}

void server_hang_up(struct client *client)
{
    (void)shutdown(client->conn.fd, SHUT_RDWR); /* server_serve() drops it then */
    client->kind = CLIENT_LEAVES;
    conn_discard(&client->conn);
}

void server_tell_message(struct host *host, const char *from, const char *text, size_t len)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_put_all(&out, JO(NULL), JT("event", "prompt"), JT("from", from), JOE);
    for (size_t i = 0; i < host->server.count; i++) {
        struct client *client = &host->server.clients[i];
        if (client->kind == CLIENT_WATCHES && client->messages &&
            conn_unsent(&client->conn) <= UNREAD_MAX)
            conn_add(&client->conn, &head, text, len);
    }
    server_keep_early(host, SERVER_WATCHERS, &head, text, len);
}

struct client *server_asker(struct host *host, int64_t prompt)
{
    for (size_t i = 0; i < host->server.count; i++) {
        struct client *client = &host->server.clients[i];
        if (client->kind == CLIENT_ASKS && client->prompt == prompt)
            return client;
    }
    return NULL;
}

void server_release_asker(struct host *host, int64_t prompt)
{
    struct client *client = server_asker(host, prompt);

    if (client != NULL)
        client->kind = CLIENT_LEAVES;
}

/* Answers the request of a connection. Only a listener may make more than one. */
static void handle_frame(struct host *host, struct client *client, server_handle *handle)
{
    struct frame frame = {.head = NULL};
    struct err err = ERR_INIT;

    do {
        int got = conn_next(&client->conn, &frame, &err);
        if (got == -1) {
            server_refuse(client, &err);
            client->kind = CLIENT_LEAVES;
        }
        if (got != 1)
            return;
        handle(host, client, &frame);
        frame_free(&frame);
        if (conn_unsent(&client->conn) > ANSWERS_MAX)
            server_hang_up(client);
    } while (client->kind == CLIENT_LISTENS);
    frames_free(&client->conn.in);
}

/* Reads what a client writes. Returns false if the connection has to end. */
static bool read_in(struct host *host, struct client *client, server_handle *handle)
{
    for (;;) {
        switch (conn_read(&client->conn)) {
        case CONN_NOTHING:
            return true;
        case CONN_GONE:
            return false;
        case CONN_END:
            client->done = true;
            return client->kind != CLIENT_NEW;
        case CONN_DATA:
            break;
        }
        if (client->kind != CLIENT_NEW && client->kind != CLIENT_LISTENS)
            return false; /* it writes more than its one request */
        handle_frame(host, client, handle);
        if (client->kind != CLIENT_NEW && client->kind != CLIENT_LISTENS)
            return true;
    }
}

/* Accepts one connection, and reads its request at once, which mostly is there. A further
 * connection waits for the next turn of the loop: that costs less than a look whether there is one.
 */
static void accept_one(struct host *host, server_handle *handle)
{
    struct host_server *server = &host->server;
    struct proc_id peer = {.pid = 0};
    pid_t pid = 0;
    int fd = sock_accept(server->listener, &pid);

    if (fd == -1)
        return;
    if (!make_room(server)) {
        (void)close(fd);
        return;
    }
    /* a process that has ended by now gets no start time, so that no other process is taken for it
     */
    if (!proc_identify(pid, &peer))
        peer.pid = pid;
    server->clients[server->count++] = (struct client){.conn = {.fd = fd}, .peer = peer};
    if (!read_in(host, &server->clients[server->count - 1], handle))
        drop(server, server->count - 1);
}

void server_serve(struct host *host, struct loop *loop, server_handle *handle)
{
    struct host_server *server = &host->server;

    for (size_t i = server->count;
         i-- > 0;) { /* from the end, because drop() moves the last client */
        struct client *client = &server->clients[i];
        short events = loop_got(loop, client->conn.fd);
        bool stays = true;
        if ((events & POLLIN) != 0)
            stays = read_in(host, client, handle);
        else if ((events & (POLLHUP | POLLERR)) != 0)
            stays = false;
        else if ((events & POLLOUT) != 0)
            stays = write_out(client);
        if (!stays)
            end_client(host, i);
    }
    if (loop_got(loop, server->listener) != 0)
        accept_one(host, handle);
}

void server_flush(struct host *host, server_put *put_status)
{
    struct host_server *server = &host->server;

    for (size_t i = server->count; i-- > 0;) {
        struct client *client = &server->clients[i];
        bool stays = conn_unsent(&client->conn) == 0 || write_out(client);
        if (stays && client->kind == CLIENT_WATCHES && client->dirty &&
            conn_unsent(&client->conn) == 0) {
            _cleanup_str_ struct str head = STR_INIT;
            put_status(host, &head);
            server_answer(client, &head);
            client->dirty = false;
            stays = write_out(client);
        }
        if (!stays)
            end_client(host, i);
    }
}
