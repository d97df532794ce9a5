#include "serve/follow.h"

#include "base/path.h"
#include "base/sock.h"
#include "core/hosts.h"
#include "core/workspace.h"
#include "serve/events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct watched {
    struct watched *next, **at;
    struct follow *follow;
    char id[ID_TEXT];
    char agent[TEAM_WORD_MAX + 1];
    int fd;
    struct frames frames;
    bool quiet; /* the next state is no news */
    enum agent_state state; /* that was told last */
    bool known;
};

struct follow {
    struct events *events;
    int epoll;
    struct watched *all;
    size_t count;
};

struct follow *follow_make(struct events *events, int epoll)
{
    struct follow *follow = mem_alloc(sizeof *follow);
    follow->events = events;
    follow->epoll = epoll;
    return follow;
}

static void drop(struct watched *watched)
{
    *watched->at = watched->next;
    if (watched->next != NULL)
        watched->next->at = watched->at;
    watched->follow->count--;
    fd_closep(&watched->fd);
    frames_free(&watched->frames);
    free(watched);
}

void follow_end(struct follow *follow)
{
    while (follow->all != NULL)
        drop(follow->all);
}

void follow_free(struct follow *follow)
{
    follow_end(follow);
    free(follow);
}

static bool is_watched(const struct follow *follow, const char *id, const char *agent)
{
    for (const struct watched *at = follow->all; at != NULL; at = at->next)
        if (strcmp(at->agent, agent) == 0 && memcmp(at->id, id, ID_TEXT) == 0)
            return true;
    return false;
}

/* One that cannot be connected to now is found again by the next survey. */
static void add(struct follow *follow, int run, const char *id, const char *agent, bool quiet)
{
    _cleanup_free_ char *name = mem_printf("%s%s", agent, HOSTS_SOCKET);
    static const char request[] = "{\"do\":\"watch\"}\n";
    _cleanup_close_ int fd = -1;

    if (follow->count >= FOLLOW_MAX || !str_is_word(agent, TEAM_WORD_MAX) ||
        is_watched(follow, id, agent))
        return;
    fd = sock_connect(run, name);
    if (fd == -1 || send(fd, request, sizeof request - 1, MSG_NOSIGNAL | MSG_DONTWAIT) !=
                        (ssize_t)sizeof request - 1)
        return;
    struct watched *watched = mem_alloc(sizeof *watched);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = watched};
    if (epoll_ctl(follow->epoll, EPOLL_CTL_ADD, fd, &event) == -1) {
        free(watched);
        return;
    }
    memcpy(watched->id, id, ID_TEXT);
    memcpy(watched->agent, agent, strlen(agent) + 1);
    watched->follow = follow;
    watched->quiet = quiet;
    watched->fd = fd;
    fd = -1;
    watched->next = follow->all;
    watched->at = &follow->all;
    if (follow->all != NULL)
        follow->all->at = &watched->next;
    follow->all = watched;
    follow->count++;
}

void follow_update(struct follow *follow, const struct root *root, const struct survey *survey,
                   bool quiet)
{
    for (size_t i = 0; i < survey->count; i++) {
        const struct view *view = &survey->views[i];
        if (view->live == NULL || view->row.missing)
            continue;
        _cleanup_close_ int dir = workspace_open(root, view->row.id);
        _cleanup_close_ int run = dir == -1 ? -1 : path_open_dir(dir, WORKSPACE_RUN);
        _cleanup_strv_ char **agents = run == -1 ? NULL : hosts_list(run, HOSTS_SOCKET);
        for (char **agent = agents; agent != NULL && *agent != NULL; agent++)
            add(follow, run, view->row.id, *agent, quiet);
    }
}

static void take(struct watched *watched, const struct frame *frame)
{
    struct agent_status status;
    struct err ignored = ERR_INIT;
    _cleanup_str_ struct str body = STR_INIT;
    struct json_out out = {.to = &body};

    if (agent_status_parse(frame->head, &status, &ignored) == -1)
        return;
    bool news = !watched->quiet && (!watched->known || status.state != watched->state);
    watched->quiet = false;
    watched->known = true;
    watched->state = status.state;
    if (news) {
        json_open(&out, NULL, '{');
        json_put(&out, "sessionId", watched->id);
        json_put(&out, "agent", watched->agent);
        agent_status_put(&status, &out);
        json_close(&out, '}');
        events_add(watched->follow->events, "agent.state", &body);
    }
    agent_status_free(&status);
}

void follow_turn(struct follow *follow, void *ready)
{
    struct watched *watched = ready;
    struct err ignored = ERR_INIT;
    struct frame frame;
    char buf[16384];
    int rc;

    (void)follow;
    ssize_t n = recv(watched->fd, buf, sizeof buf, MSG_DONTWAIT);
    if (n == -1 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        drop(watched);
        return;
    }
    frames_feed(&watched->frames, buf, (size_t)n);
    while ((rc = frames_take(&watched->frames, &frame, &ignored)) == 1) {
        take(watched, &frame);
        frame_free(&frame);
    }
    if (rc == -1)
        drop(watched);
}
