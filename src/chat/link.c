#include "chat/link.h"

#include "base/sock.h"
#include "core/hosts.h"
#include "core/team.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHUNK = 64 * 1024 };

bool link_connect(struct link *link)
{
    char name[TEAM_WORD_MAX + sizeof HOSTS_SOCKET];

    (void)snprintf(name, sizeof name, "%s" HOSTS_SOCKET, link->agent);
    link->fd = sock_connect(link->run, name);
    return link->fd != -1;
}

void link_restart(const struct link *link)
{
    struct host_call call = {.run = link->run, .agent = link->agent};
    _cleanup_str_ struct str head = STR_INIT;

    str_add(&head, "{\"do\":\"restart\"}");
    hosts_start(&call, 1, &head, NULL, 0);
    hosts_end(&call, 1);
}

void link_drop(struct link *link)
{
    fd_closep(&link->fd);
    link->fd = -1;
    frames_free(&link->frames);
    link->frames = (struct frames){.at = 0};
    str_clear(&link->out);
    link->sent = 0;
    for (size_t i = 0; i < link->waiting_count; i++)
        free(link->bodies[i]);
    link->waiting_count = 0;
}

bool link_has_host(const struct link *link)
{
    return getppid() == link->host;
}

bool link_ask(struct link *link, enum asked what, const struct str *head, const char *body)
{
    if (link->fd == -1 || link->waiting_count == LINK_WAITING_MAX)
        return false;
    frame_add(&link->out, head, body, body != NULL ? strlen(body) : 0);
    link->waiting[link->waiting_count] = what;
    link->bodies[link->waiting_count++] = mem_dup(body);
    return link_write(link);
}

bool link_write(struct link *link)
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

bool link_read(struct link *link)
{
    char chunk[CHUNK];
    ssize_t n = recv(link->fd, chunk, sizeof chunk, 0);

    if (n == -1)
        return errno == EAGAIN || errno == EINTR;
    frames_feed(&link->frames, chunk, (size_t)n);
    return n > 0;
}

int link_take(struct link *link, struct frame *ret, bool *ret_is_event, enum asked *ret_what,
              char **ret_body)
{
    struct err ignored = ERR_INIT;
    int rc = frames_take(&link->frames, ret, &ignored);

    if (rc != 1)
        return rc;
    *ret_is_event = json_get(ret->head, "event") != NULL;
    if (*ret_is_event)
        return 1;
    if (link->waiting_count == 0) {
        frame_free(ret);
        return -1;
    }
    *ret_what = link->waiting[0];
    *ret_body = link->bodies[0];
    link->waiting_count--;
    memmove(link->waiting, link->waiting + 1, link->waiting_count * sizeof *link->waiting);
    memmove(link->bodies, link->bodies + 1, link->waiting_count * sizeof *link->bodies);
    return 1;
}
