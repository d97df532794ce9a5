/*
 * The part of os/proc.h that finds the processes below one. /proc is read once, and the descendants
 * are marked from parent to child until no more are found. A tmux server that was started in a team
 * is not of the team, nor is what runs in it.
 */
#include "os/proc_internal.h"

#include <dirent.h>

/* A process and its parent. */
struct kin {
    pid_t pid, parent;
    uint64_t start;
    char state; /* as in /proc/<pid>/stat */
    int depth; /* below the process in question */
    bool below; /* a descendant of it */
    bool out; /* left out, with all its descendants */
};

static struct kin *list_kin(size_t *ret_count)
{
    struct kin *kin = NULL;
    const struct dirent *d;
    size_t count = 0;
    DIR *dir = opendir("/proc");

    while (dir != NULL && (d = readdir(dir)) != NULL) {
        struct proc_stat line;
        pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);
        if (pid <= 0 || proc_read_stat(pid, &line) != 1 || line.state == 'Z' || line.state == 'X')
            continue;
        kin = mem_room(kin, count, sizeof *kin);
        kin[count++] = (struct kin){.pid = pid,
                                    .parent = line.parent,
                                    .start = line.start,
                                    .state = line.state,
                                    .out = str_starts(line.comm, "tmux: server")};
    }
    if (dir != NULL)
        (void)closedir(dir);
    *ret_count = count;
    return kin;
}

/* Marks the children of marked processes; returns true if any were new. */
static bool spread(struct kin *kin, size_t count)
{
    bool more = false;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; kin[i].below && j < count; j++)
            if (kin[j].parent == kin[i].pid && !kin[j].below) {
                kin[j].below = true;
                kin[j].depth = kin[i].depth + 1;
                kin[j].out = kin[j].out || kin[i].out;
                more = true;
            }
    return more;
}

static bool is_one_of(pid_t pid, const pid_t *pids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

static size_t list_below(pid_t top, const pid_t *spared, size_t spared_count, struct proc_id **ret)
{
    size_t count = 0;
    size_t found = 0;
    struct kin *kin = list_kin(&count);
    struct proc_id *ids = mem_alloc((count + 1) * sizeof *ids);

    for (size_t i = 0; i < count; i++) {
        kin[i].below = kin[i].parent == top;
        kin[i].out = kin[i].out || is_one_of(kin[i].pid, spared, spared_count);
    }
    while (spread(kin, count))
        ;
    for (size_t i = 0; i < count; i++)
        if (kin[i].below && !kin[i].out)
            ids[found++] = (struct proc_id){.pid = kin[i].pid, .start = kin[i].start};
    free(kin);
    *ret = ids;
    return found;
}

static int compare_depths(const void *a, const void *b)
{
    const struct kin *x = a;
    const struct kin *y = b;
    return x->depth != y->depth ? x->depth - y->depth : (x->pid > y->pid) - (x->pid < y->pid);
}

size_t proc_tree(struct proc_in_tree **ret)
{
    size_t count = 0;
    size_t found = 0;
    struct kin *kin = list_kin(&count);
    struct proc_in_tree *tree = mem_alloc((count + 1) * sizeof *tree);
    pid_t top = getpid();

    for (size_t i = 0; i < count; i++)
        kin[i].below = kin[i].parent == top;
    while (spread(kin, count))
        ;
    qsort(kin, count, sizeof *kin, compare_depths);
    for (size_t i = 0; i < count; i++)
        if (kin[i].below)
            tree[found++] =
                (struct proc_in_tree){.id = {.pid = kin[i].pid, .start = kin[i].start},
                                      .depth = kin[i].depth,
                                      .stopped = kin[i].state == 'T' || kin[i].state == 't'};
    free(kin);
    *ret = tree;
    return found;
}

size_t proc_descendants(const pid_t *spared, size_t count, struct proc_id **ret)
{
    return list_below(getpid(), spared, count, ret);
}

size_t proc_descendants_of(pid_t pid, struct proc_id **ret)
{
    return list_below(pid, NULL, 0, ret);
}
