/*
 * Servers are asked in their order, and while one answers the next SERVERS_AT_ONCE have begun. That
 * a server is gone is seen at its socket, without a process. vouch_check() reads the machine's list
 * of sockets once for all candidates; a server of which it does not see everything is left to tmux.
 */

#include "client/servers.h"

#include "os/proc.h"
#include "os/sock.h"
#include "store/workspace.h"
#include "tmux/tmux.h"

enum { SERVERS_AT_ONCE = 32 };

/* Drops the sessions of other roots. */
static void keep_ours(const struct root *root, struct tmux_server *server)
{
    size_t kept = 0;
    for (size_t i = 0; i < server->count; i++) {
        if (workspace_is_ours(root, server->sessions[i].id, server->sessions[i].root)) {
            server->sessions[kept++] = server->sessions[i];
        } else {
            free(server->sessions[i].name);
            free(server->sessions[i].root);
        }
    }
    server->count = kept;
}

void servers_begin(struct tmux_server *server)
{
    pid_t pid;

    if (server->begun)
        return;
    server->begun = true;
    if (tmux_is_alive(server->socket, &pid, &server->failure) == 1)
        server->asking = tmux_list_start(server->socket, pid, server->panes_of, &server->proc,
                                         &server->failure) == 0;
}

/* With root NULL, only waits for the end of the process. */
static void collect(const struct root *root, struct tmux_server *server)
{
    if (!server->asking)
        return;
    server->asking = false;
    if (tmux_list_finish(&server->proc, server->panes_of, &server->sessions, &server->count,
                         &server->failure) == 0 &&
        root != NULL)
        keep_ours(root, server);
}

void servers_ask(const struct root *root, struct servers *servers)
{
    for (size_t i = 0; i < servers->count; i++) {
        for (size_t j = i; j < servers->count && j < i + SERVERS_AT_ONCE; j++)
            servers_begin(&servers->list[j]);
        collect(root, &servers->list[i]);
    }
}

struct tmux_server *servers_find(const struct servers *servers, const char *socket)
{
    for (size_t i = 0; i < servers->count; i++)
        if (strcmp(servers->list[i].socket, socket) == 0)
            return &servers->list[i];
    return NULL;
}

void servers_add(struct servers *servers, const char *socket)
{
    struct tmux_server *server = servers_find(servers, socket);

    if (server != NULL) {
        server->users++;
        return;
    }
    servers->list = mem_grow(servers->list, servers->count + 1, sizeof *servers->list);
    servers->list[servers->count++] = (struct tmux_server){.socket = mem_dup(socket), .users = 1};
}

void servers_add_own(struct servers *servers, const char *tmux_name)
{
    char *socket = NULL;
    if (tmux_own_socket(tmux_name, &socket) && access(socket, F_OK) == 0)
        servers_add(servers, socket);
    free(socket);
}

const struct err *servers_failure(const struct servers *servers, const char *socket)
{
    for (size_t i = 0; i < servers->count; i++)
        if (servers->list[i].failure.code != MAS_OK &&
            (socket == NULL || strcmp(socket, servers->list[i].socket) == 0))
            return &servers->list[i].failure;
    return NULL;
}

size_t servers_live(const struct servers *servers)
{
    size_t live = 0;

    for (size_t i = 0; i < servers->count; i++)
        live += servers->list[i].count;
    return live;
}

void servers_free(struct servers *servers)
{
    for (size_t i = 0; i < servers->count; i++) {
        collect(NULL, &servers->list[i]);
        tmux_sessions_free(servers->list[i].sessions, servers->list[i].count);
        free(servers->list[i].socket);
    }
    free(servers->list);
    *servers = (struct servers){.list = NULL};
}

/* ---- servers that need not be asked */

/* The candidates, sorted by socket. */
struct to_vouch {
    struct vouch **list;
    size_t count;
};

static int compare(const void *a, const void *b)
{
    const struct vouch *const *x = a;
    const struct vouch *const *y = b;
    return strcmp((*x)->socket, (*y)->socket);
}

static int compare_path(const void *path, const void *vouch)
{
    const struct vouch *const *at = vouch;
    return strcmp(path, (*at)->socket);
}

static void on_seen(const char *path, bool listens, ino_t inode, void *arg)
{
    const struct to_vouch *all = arg;
    struct vouch *const *at =
        bsearch(path, all->list, all->count, sizeof(struct vouch *), compare_path);

    (void)inode;
    if (at != NULL)
        *(listens ? &(*at)->listens : &(*at)->busy) = true;
}

/* Returns true if all hosts of the team have told the same of their panes. */
static bool is_whole(const struct agent_counts *counts)
{
    return counts->pane.server != 0 && counts->told == (size_t)counts->pane.agents;
}

void vouch_check(struct vouch *list, size_t count)
{
    struct vouch **sorted = mem_alloc((count + 1) * sizeof *sorted);
    struct to_vouch all = {.list = sorted};
    struct err ignored = ERR_INIT;

    for (size_t i = 0; i < count; i++)
        if (is_whole(list[i].counts) && !tmux_socket_is_gone(list[i].socket))
            sorted[all.count++] = &list[i];
    qsort(sorted, all.count, sizeof(struct vouch *), compare);
    if (all.count > 0 && sock_each(on_seen, &all, &ignored) == 0)
        for (size_t i = 0; i < all.count; i++) {
            const struct agent_pane *pane = &sorted[i]->counts->pane;
            sorted[i]->good = sorted[i]->listens && !sorted[i]->busy &&
                              proc_count_children(pane->server) == pane->agents;
        }
    free(sorted);
}
