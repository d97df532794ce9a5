/*
 * A look freezes the group, then goes through the tree level by level, and waits until one is
 * stopped before it signals the next. Looks follow each other until one finds nothing new; from
 * then on there is one now and then. Processes are remembered with their start times, so that
 * SIGCONT reaches only those that this has stopped.
 */

#include "host/pause.h"

#include "base/time.h"
#include "os/loop.h"
#include "wall/cgroup.h"

enum {
    LOOKS_MAX = 20, /* in a row, for a tree that forks while it is being stopped */
    LEVELS_MS = 100, /* for all parents to be stopped, before their children are */
    NAP_MS = 1,
    FREEZE_MS = 200,
    SOON_MS = 100,
    LATER_MS = 5000, /* between two looks at a tree that stays stopped */
    QUIET_LOOKS = 3, /* which show that it does */
};

static int compare_ids(const void *a, const void *b)
{
    const struct proc_id *x = a;
    const struct proc_id *y = b;

    if (x->pid != y->pid)
        return (x->pid > y->pid) - (x->pid < y->pid);
    return (x->start > y->start) - (x->start < y->start);
}

static bool is_ours(const struct pause *pause, const struct proc_id *id)
{
    return pause->count > 0 &&
           bsearch(id, pause->stopped, pause->count, sizeof *id, compare_ids) != NULL;
}

/* Waits until these processes are stopped; one that the kernel holds up is left behind. */
static void await(const struct proc_in_tree *level, size_t count, int64_t deadline)
{
    for (size_t i = 0; i < count; i++)
        while (!level[i].stopped && !proc_is_stopped(&level[i].id) &&
               time_monotonic_ms() < deadline)
            (void)loop_wait_for(-1, 0, NAP_MS);
}

/* A process of a look. */
struct stopping {
    struct pause *pause;
    pid_t *frozen; /* sorted */
    size_t frozen_count;
    size_t fresh, again; /* stopped for the first time, and once more */
};

static int compare_pids(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a;
    pid_t y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

static bool is_frozen(const struct stopping *look, pid_t pid)
{
    return look->frozen_count > 0 &&
           bsearch(&pid, look->frozen, look->frozen_count, sizeof pid, compare_pids) != NULL;
}

static void stop_one(struct stopping *look, const struct proc_id *id)
{
    struct pause *pause = look->pause;

    proc_signal(id, SIGSTOP);
    if (is_ours(pause, id)) {
        look->again++;
        return;
    }
    pause->stopped = mem_room(pause->stopped, pause->count + look->fresh, sizeof *pause->stopped);
    pause->stopped[pause->count + look->fresh++] = *id; /* counted later: `count` are sorted */
}

/* Freezes the group, and stops what of the tree is not in it. */
static void look_once(struct stopping *look)
{
    struct pause *pause = look->pause;
    struct proc_in_tree *tree = NULL;
    int64_t deadline = time_monotonic_ms() + LEVELS_MS;
    size_t level = 0;

    look->fresh = look->again = 0;
    if (pause->group != -1 && cgroup_freeze(pause->group, true, FREEZE_MS)) {
        look->frozen_count = cgroup_pids(pause->group, &look->frozen);
        qsort(look->frozen, look->frozen_count, sizeof *look->frozen, compare_pids);
    }
    size_t count = proc_tree(&tree);
    for (size_t i = 0; i < count; i++) {
        tree[i].stopped = tree[i].stopped || is_frozen(look, tree[i].id.pid);
        if (tree[i].depth != tree[level].depth) {
            await(&tree[level], i - level, deadline);
            level = i;
        }
        if (!tree[i].stopped)
            stop_one(look, &tree[i].id);
    }
    free(tree);
    free(look->frozen);
    look->frozen = NULL;
    look->frozen_count = 0;
    pause->count += look->fresh;
    if (look->fresh > 0)
        qsort(pause->stopped, pause->count, sizeof *pause->stopped, compare_ids);
}

/* Looks until nothing new is found. */
static void stop_all(struct pause *pause)
{
    struct stopping look = {.pause = pause};
    bool found = false;

    for (int i = 0; i < LOOKS_MAX && (i == 0 || look.fresh > 0); i++) {
        look_once(&look);
        found = found || look.fresh > 0 || look.again > 0;
    }
    pause->quiet = found ? 0 : pause->quiet + 1;
    pause->due = time_monotonic_ms() + (pause->quiet < QUIET_LOOKS ? SOON_MS : LATER_MS);
}

void pause_begin(struct pause *pause)
{
    if (pause->on)
        return;
    pause->on = true;
    pause->quiet = 0;
    stop_all(pause);
}

int64_t pause_tick(struct pause *pause, int64_t now)
{
    if (!pause->on)
        return -1;
    if (now >= pause->due)
        stop_all(pause);
    return pause->due;
}

void pause_end(struct pause *pause)
{
    struct proc_in_tree *tree = NULL;

    if (!pause->on)
        return;
    if (pause->group != -1)
        (void)cgroup_freeze(pause->group, false, 0);
    for (size_t i = proc_tree(&tree); i > 0; i--)
        if (is_ours(pause, &tree[i - 1].id))
            proc_signal(&tree[i - 1].id, SIGCONT);
    free(tree);
    free(pause->stopped);
    *pause = (struct pause){.group = pause->group};
}
