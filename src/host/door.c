#include "host/state.h"
#include "host/talk.h"

#include "base/sock.h"
#include "base/str.h"
#include "base/time.h"
#include "client/hosts.h"
#include "protocol/host.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    READ_CHUNK = 64 * 1024,
    UNREAD_MAX =
        1 << 20, /* bytes that a watcher may have left unread and still be told a message */
    ANSWERS_MAX = 2 * TALK_BACKLOG, /* bytes unread of who goes on asking */
    EARLY_MS = 10000,
    EARLY_MAX = 512 * 1024, /* bytes */
    EARLY_BODIES = EARLY_MAX / 2, /* texts are kept until then: ends and requests need room too */
};

int door_open(struct host *host, struct err *err)
{
    char name[TEAM_WORD_MAX + 8];
    (void)snprintf(name, sizeof name, "%s" WORKSPACE_HOST_SOCKET, host->agent->id);
    host->door.early_until = time_monotonic_ms() + EARLY_MS;
    host->door.listener = sock_listen(host->run, name, err);
    return host->door.listener == -1 ? -1 : 0;
}

static void client_free(struct client *client)
{
    (void)close(client->fd);
    free(client->stranger);
    frames_free(&client->frames);
    str_free(&client->out);
}

static void drop(struct door *door, size_t index)
{
    client_free(&door->clients[index]);
    door->clients[index] = door->clients[--door->count];
}

static void forget_early(struct door *door)
{
    for (size_t i = 0; i < DOOR_AUDIENCE_COUNT; i++)
        str_free(&door->early[i]);
    door->early_until = 0;
}

int64_t door_tick(struct host *host, int64_t now)
{
    struct door *door = &host->door;

    if (door->early_until != 0 && now >= door->early_until)
        forget_early(door);
    return door->early[DOOR_WATCHERS].len + door->early[DOOR_LISTENERS].len > 0 ? door->early_until
                                                                                : -1;
}

void door_keep_early(struct host *host, enum door_audience audience, const struct str *head,
                     const char *body, size_t len)
{
    struct str *kept = &host->door.early[audience];
    size_t room = kept->len < EARLY_BODIES ? EARLY_BODIES - kept->len : 0;

    if (host->door.early_until != 0 && kept->len + head->len < EARLY_MAX)
        frame_add(kept, head, body, str_cut(body, len, room));
}

void door_tell_early(const struct host *host, struct client *client, enum door_audience audience)
{
    const struct str *kept = &host->door.early[audience];

    if (time_monotonic_ms() < host->door.early_until)
        str_addn(&client->out, str_text(kept), kept->len);
}

void door_close(struct host *host)
{
    forget_early(&host->door);
    while (host->door.count > 0)
        drop(&host->door, 0);
    fd_closep(&host->door.listener);
}

size_t door_poll(const struct host *host, struct pollfd *fds)
{
    const struct door *door = &host->door;
    size_t n = 0;

    fds[n++] = (struct pollfd){.fd = door->listener, .events = POLLIN};
    for (size_t i = 0; i < door->count; i++) {
        const struct client *client = &door->clients[i];
        short events = client->sent < client->out.len ? POLLOUT : 0;
        if (!client->done)
            events |= POLLIN;
        fds[n++] = (struct pollfd){.fd = client->fd, .events = events};
    }
    return n;
}

void door_answer(struct client *client, const struct str *head)
{
    frame_add(&client->out, head, NULL, 0);
}

/* true if it has been told what it did not read. */
static bool is_deaf(const struct client *client)
{
    int unread = 0;
    return client->out.len > 0 || (ioctl(client->fd, SIOCOUTQ, &unread) == 0 && unread > 0);
}

bool door_lets_watch(struct host *host)
{
    struct door *door = &host->door;
    struct client *deaf = NULL;
    size_t watchers = 0;

    for (size_t i = 0; i < door->count; i++) {
        struct client *client = &door->clients[i];
        if (client->kind != CLIENT_WATCHES && client->kind != CLIENT_ASKS &&
            client->kind != CLIENT_LISTENS)
            continue;
        watchers++;
        if (is_deaf(client))
            deaf = client;
    }
    if (watchers < DOOR_WATCHERS_MAX)
        return true;
    if (deaf == NULL)
        return false;
    (void)shutdown(deaf->fd, SHUT_RDWR); /* it is dropped as one that hung up */
    deaf->kind = CLIENT_LEAVES;
    return true;
}

/* Makes room for one more by turning away one that does not ask, or does not read. */
static bool make_room(struct door *door)
{
    if (door->count < DOOR_CLIENTS_MAX)
        return true;
    for (size_t i = 0; i < door->count; i++)
        if (door->clients[i].kind == CLIENT_NEW || is_deaf(&door->clients[i])) {
            drop(door, i);
            return true;
        }
    return false;
}

/* Writes what it is to get. false: it has hung up. */
static bool write_out(struct client *client)
{
    while (client->sent < client->out.len) {
        ssize_t n = send(client->fd, client->out.data + client->sent,
                         client->out.len - client->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return errno == EAGAIN;
        client->sent += (size_t)n;
    }
    str_clear(&client->out);
    client->sent = 0;
    return client->kind != CLIENT_LEAVES;
}

void door_refuse(struct client *client, const struct err *err)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_open(&out, NULL, '{');
    json_put_bool(&out, "ok", false);
    json_put_int(&out, "code", err->code);
    json_put(&out, "why", err->text);
    if (err->hint[0] != '\0')
        json_put(&out, "hint", err->hint);
    json_close(&out, '}');
    door_answer(client, &head);
    if (client->kind != CLIENT_LISTENS)
        client->kind = CLIENT_LEAVES;
}

void door_hang_up(struct client *client)
{
    (void)shutdown(client->fd, SHUT_RDWR); /* it is dropped as one that hung up */
    client->kind = CLIENT_LEAVES;
    str_clear(&client->out);
    client->sent = 0;
}

void door_tell_message(struct host *host, const char *from, const char *text, size_t len)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_open(&out, NULL, '{');
    json_put(&out, "event", "prompt");
    json_put(&out, "from", from);
    json_close(&out, '}');
    for (size_t i = 0; i < host->door.count; i++) {
        struct client *client = &host->door.clients[i];
        if (client->kind == CLIENT_WATCHES && client->messages && client->out.len <= UNREAD_MAX)
            frame_add(&client->out, &head, text, len);
    }
    door_keep_early(host, DOOR_WATCHERS, &head, text, len);
}

void door_release_askers(struct host *host, int64_t prompt)
{
    for (size_t i = 0; i < host->door.count; i++)
        if (host->door.clients[i].kind == CLIENT_ASKS && host->door.clients[i].prompt == prompt)
            host->door.clients[i].kind = CLIENT_LEAVES;
}

/* Takes the one request of a connection; what comes behind it is not read. A listener may go on
 * asking. */
static void take_frame(struct host *host, struct client *client)
{
    struct frame frame = {.head = NULL};
    struct err err = ERR_INIT;

    do {
        int got = frames_take(&client->frames, &frame, &err);
        if (got == -1) {
            door_refuse(client, &err);
            client->kind = CLIENT_LEAVES;
        }
        if (got != 1)
            return;
        request_take(host, client, &frame);
        frame_free(&frame);
        if (client->out.len - client->sent > ANSWERS_MAX)
            door_hang_up(client);
    } while (client->kind == CLIENT_LISTENS);
    frames_free(&client->frames);
}

/* Reads what a client says. false: it has hung up, or does not stop talking. */
static bool read_in(struct host *host, struct client *client)
{
    static char chunk[READ_CHUNK];

    for (;;) {
        ssize_t n = recv(client->fd, chunk, sizeof chunk, MSG_DONTWAIT);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return errno == EAGAIN;
        if (n == 0) {
            client->done = true;
            return client->kind != CLIENT_NEW;
        }
        if (client->kind != CLIENT_NEW && client->kind != CLIENT_LISTENS)
            return false; /* it has asked, and is to listen now */
        frames_feed(&client->frames, chunk, (size_t)n);
        take_frame(host, client);
        if (client->kind != CLIENT_NEW && client->kind != CLIENT_LISTENS)
            return true;
    }
}

/* Takes a new connection, and at once what it asks: mostly it is there already. The next one is for
 * the next round, which costs less than to ask whether there is one. */
static void accept_one(struct host *host)
{
    struct door *door = &host->door;
    struct proc_id peer = {.pid = 0};
    pid_t pid = 0;
    int fd = sock_accept(door->listener, &pid);

    if (fd == -1)
        return;
    if (!make_room(door)) {
        (void)close(fd);
        return;
    }
    /* a process that has ended by now keeps its number without a start, which is nobody's */
    if (!proc_identify(pid, &peer))
        peer.pid = pid;
    door->clients[door->count++] = (struct client){.fd = fd, .peer = peer};
    if (!read_in(host, &door->clients[door->count - 1]))
        drop(door, door->count - 1);
}

void door_serve(struct host *host, const struct pollfd *fds, size_t count)
{
    struct door *door = &host->door;

    for (size_t i = count; i-- > 1;) { /* from the end: dropping moves the last one */
        struct client *client = &door->clients[i - 1];
        short events = fds[i].revents;
        bool stays = true;
        if ((events & POLLIN) != 0)
            stays = read_in(host, client);
        else if ((events & (POLLHUP | POLLERR)) != 0)
            stays = false;
        else if ((events & POLLOUT) != 0)
            stays = write_out(client);
        if (!stays)
            drop(door, i - 1);
    }
    if (fds[0].revents != 0)
        accept_one(host);
}

void door_flush(struct host *host)
{
    struct door *door = &host->door;

    for (size_t i = door->count; i-- > 0;) {
        struct client *client = &door->clients[i];
        bool stays = client->out.len == 0 || write_out(client);
        if (stays && client->kind == CLIENT_WATCHES && client->dirty && client->out.len == 0) {
            _cleanup_str_ struct str head = STR_INIT;
            request_put_status(host, &head);
            door_answer(client, &head);
            client->dirty = false;
            stays = write_out(client);
        }
        if (!stays)
            drop(door, i);
    }
}
