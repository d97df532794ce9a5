/* The part of host/supervisor.h for the processes of the tree: signals to them, their end, and what
 * the end of one means. */
#include "host/supervisor_internal.h"
#include "model/network.h"
#include "os/proc.h"

#include <sys/socket.h>
#include <sys/wait.h>

enum {
    KILL_LOOKS = 20, /* for new processes, in each round */
    FREEZE_MS = 200, /* for a cgroup to stop all its processes */
};

void supervision_tell(struct supervision *self, const struct supervisor_report *report)
{
    if (self->host != -1)
        (void)!send(self->host, report, sizeof *report, MSG_NOSIGNAL);
}

static void add_names(struct supervision *self, const struct proc_id *ids, size_t count)
{
    char *names = self->report.names;
    char name[PROC_NAME_TEXT];

    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(names);
        int added = snprintf(names + len, SUPERVISOR_NAMES_MAX - len, "%s%s(%ld)",
                             len > 0 ? " " : "", proc_name(ids[i].pid, name), (long)ids[i].pid);
        if (added >= (int)(SUPERVISOR_NAMES_MAX - len)) {
            names[len] = '\0'; /* rather none than a part of one */
            break;
        }
    }
}

size_t supervision_list(const struct supervision *self, struct proc_id **ret)
{
    size_t count = proc_descendants(NULL, 0, ret);
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if ((*ret)[i].pid != self->order.spare)
            (*ret)[kept++] = (*ret)[i];
    return kept;
}

size_t supervision_signal(struct supervision *self, int sig, bool with_names)
{
    struct proc_id *ids = NULL;
    size_t count = supervision_list(self, &ids);

    if (with_names)
        add_names(self, ids, count);
    for (size_t i = 0; i < count; i++) {
        proc_signal(&ids[i], sig);
        if (sig != SIGKILL)
            proc_signal(&ids[i], SIGCONT); /* a stopped process handles no other signal */
    }
    free(ids);
    return count;
}

/* Returns true if everything in the cgroup is of the tree: nothing there is spared. */
static bool group_is_all_ours(const struct supervision *self)
{
    struct proc_id *ids = NULL;
    pid_t *pids = NULL;
    size_t count = supervision_list(self, &ids);
    size_t in_group = cgroup_pids(self->part.dir, &pids);
    bool ours = in_group > 0;

    for (size_t i = 0; i < in_group && ours; i++) {
        ours = false;
        for (size_t j = 0; j < count && !ours; j++)
            ours = ids[j].pid == pids[i];
    }
    free(ids);
    free(pids);
    return ours;
}

size_t supervision_kill(struct supervision *self)
{
    bool first = self->rounds == 0;
    size_t count;

    if (self->part.dir != -1)
        (void)cgroup_freeze(self->part.dir, true, FREEZE_MS);
    bool all_ours = self->part.dir != -1 && group_is_all_ours(self);
    count = supervision_signal(self, SIGKILL, first);
    if (all_ours)
        (void)cgroup_kill(self->part.dir);
    if (self->part.dir != -1)
        (void)cgroup_freeze(self->part.dir, false, 0);
    /* a process that forks and exits at once is caught only by looking again at once */
    for (int i = 0; i < KILL_LOOKS && supervision_signal(self, SIGKILL, false) > 0; i++)
        ;
    return count;
}

pid_t supervision_reap(struct supervision *self, int *ret_status)
{
    siginfo_t info = {.si_pid = 0};
    char name[PROC_NAME_TEXT];

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == -1 || info.si_pid == 0)
        return waitpid(-1, ret_status, WNOHANG);
    if (info.si_code != CLD_EXITED) {
        /* A spare is a child of this process from the end of its guard on, and may end before it
         * has become the guard. */
        proc_name(info.si_pid, name);
        if (strcmp(name, NETWORK_GUARD_NAME) == 0 || strcmp(name, NETWORK_SPARE_NAME) == 0)
            self->guard_fell = true;
    }
    return waitpid(info.si_pid, ret_status, WNOHANG);
}

void supervision_look_for_guard(struct supervision *self)
{
    struct proc_id *ids = NULL;
    bool is_there = false;
    char name[PROC_NAME_TEXT];

    if (!self->guard_fell)
        return;
    self->guard_fell = false;
    if (self->agent == 0 || self->step != STEP_NONE)
        return;
    size_t count = proc_descendants(NULL, 0, &ids);
    for (size_t i = 0; i < count && !is_there; i++) {
        (void)proc_name(ids[i].pid, name);
        is_there = strcmp(name, NETWORK_SPARE_NAME) == 0 || strcmp(name, NETWORK_GUARD_NAME) == 0;
    }
    free(ids);
    if (!is_there)
        supervision_tell(self, &(struct supervisor_report){.news = SUPERVISOR_NETWORK_LOST});
}
