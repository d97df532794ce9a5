#include "client/host_link.h"

#include "base/sock.h"
#include "client/hosts.h"
#include "model/team.h"
#include "store/workspace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { CHUNK = 64 * 1024 };

bool host_link_connect(struct host_link *link, int run, const char *agent)
{
    char name[TEAM_WORD_MAX + sizeof WORKSPACE_HOST_SOCKET];

    (void)snprintf(name, sizeof name, "%s" WORKSPACE_HOST_SOCKET, agent);
    link->fd = sock_connect(run, name);
    return link->fd != -1;
}

void host_link_drop(struct host_link *link)
{
    fd_closep(&link->fd);
    frames_free(&link->frames);
    link->frames = (struct frames){.at = 0};
    str_free(&link->out);
    link->sent = 0;
    link->waiting_count = 0;
}

bool host_link_has_more(const struct host_link *link)
{
    return link->fd != -1 && link->sent < link->out.len;
}

bool host_link_ask(struct host_link *link, struct host_link_asked asked, const struct str *head,
                   const char *body, size_t body_len)
{
    if (link->fd == -1 || link->waiting_count == HOST_LINK_WAITING_MAX)
        return false;
    frame_add(&link->out, head, body, body_len);
    link->waiting[link->waiting_count++] = asked;
    return host_link_write(link);
}

bool host_link_write(struct host_link *link)
{
    while (link->sent < link->out.len) {
        ssize_t n =
            send(link->fd, link->out.data + link->sent, link->out.len - link->sent, MSG_NOSIGNAL);
        if (n == -1)
            return errno == EAGAIN || errno == EINTR;
        link->sent += (size_t)n;
    }
    str_clear(&link->out);
    link->sent = 0;
    return true;
}

bool host_link_read(struct host_link *link)
{
    char chunk[CHUNK];
    ssize_t n = recv(link->fd, chunk, sizeof chunk, 0);

    if (n == -1)
        return errno == EAGAIN || errno == EINTR;
    frames_feed(&link->frames, chunk, (size_t)n);
    return n > 0;
}

int host_link_next(struct host_link *link, struct frame *ret, bool *ret_is_event,
                   struct host_link_asked *ret_asked)
{
    struct err ignored = ERR_INIT;
    int rc = frames_next(&link->frames, ret, &ignored);

    if (rc != 1)
        return rc;
    *ret_is_event = json_get(ret->head, "event") != NULL;
    if (*ret_is_event)
        return 1;
    if (link->waiting_count == 0) {
        frame_free(ret);
        return -1;
    }
    *ret_asked = link->waiting[0];
    link->waiting_count--;
    memmove(link->waiting, link->waiting + 1, link->waiting_count * sizeof *link->waiting);
    return 1;
}
