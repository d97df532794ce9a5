#include "client/vouch.h"

#include "base/proc.h"
#include "base/sock.h"
#include "tmux/tmux.h"

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
