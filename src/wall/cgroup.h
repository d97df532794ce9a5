/*
 * Control groups (cgroups) of version 2, which hold the resources of an agent.
 *
 *     cgroup_find(setting, &parent, err)        where mas may make groups
 *     cgroup_make(parent, names, &limits, &group, err)
 *     cgroup_part_make(group.dir, &part)        for one process tree of the agent; the child
 *                                               enters it (struct proc_bounds in os/proc.h)
 *     cgroup_kill(part.dir)                     ends them all, however fast they fork
 *     cgroup_part_drop(&part)
 *     cgroup_drop(&group, parent, names)
 *
 * An agent has the group PARENT/mas-<session>/<agent>, which carries the limits, and below it a
 * group for each process tree that its host starts. A kill leaves empty groups at most: the next
 * host uses them, and `mas stop` and `mas rm` remove them.
 *
 * What these files say comes from the kernel; but the group that a setting names may be any
 * directory, so mas checks that it is a cgroup.
 */
#pragma once

#include "model/limits.h"

/* What a group limits; bits. */
enum cgroup_limit { CGROUP_MEMORY = 1, CGROUP_CPUS = 2, CGROUP_PROCESSES = 4 };

/* What the programs of an agent may use together; 0: no limit. */
struct cgroup_limits {
    uint64_t memory; /* bytes */
    unsigned cpus; /* hundredths of a CPU */
    unsigned processes; /* and threads */
};

struct cgroup {
    int dir; /* -1: none */
    unsigned holds; /* the limits that it holds, of those that were asked for */
};

#define CGROUP_INIT                                                                                \
    {                                                                                              \
        .dir = -1                                                                                  \
    }

/* What the processes of a group have used and use; -1: unknown. */
struct cgroup_usage {
    int64_t cpu_ms, memory, processes;
};

#define CGROUP_CURE "name a cgroup in limits.cgroup, or see: man mas-agents"
#define CGROUP_PREFIX "mas-" /* of the group of a session */

/* Returns those of the limits that hold for an agent. */
struct cgroup_limits cgroup_limits_of(const struct limits_held *held);
/* Returns the limits that are asked for; bits. */
unsigned cgroup_asked(const struct cgroup_limits *limits);

/* Opens the group in which mas may make others: the one at the path `setting`, or with "auto" the
 * nearest group around this process that is delegated to this user. Fails without a hint if there
 * is none, with "no" too. */
int cgroup_find(const char *setting, int *ret_parent, struct err *err);

/* Returns the limits that groups in this one can hold, by its controllers; bits. */
unsigned cgroup_offers(int parent);
/* Returns the name of the first of these limits, as in `limits.memory`. */
const char *cgroup_limit_name(unsigned limits);

/* Returns the path of this process's group in the hierarchy, or NULL. The caller frees it. */
char *cgroup_own_path(void);
/* Moves this process, which is alone in its group, into one below, and opens the one above: only a
 * group without processes can limit others. */
int cgroup_step_down(int *ret_parent, struct err *err);

/* Makes the group of an agent, or takes the one that an earlier host left, without its empty parts,
 * and sets its limits. A limit that the kernel does not take is missing in ret->holds. */
int cgroup_make(int parent, const char *session, const char *agent,
                const struct cgroup_limits *limits, struct cgroup *ret, struct err *err);
/* Sets other limits for a group, also while processes run in it. */
void cgroup_limit(struct cgroup *group, const struct cgroup_limits *limits);
/* Removes the group if nothing runs in it, and that of the session if it was the last. */
void cgroup_drop(struct cgroup *group, int parent, const char *session, const char *agent);

/* Removes the groups of a session, in which nothing runs, from where the setting says: what killed
 * hosts have left. */
void cgroup_forget(const char *setting, const char *session);

/* Returns the ids of the sessions, of any root, whose groups are left where the setting says: no
 * process runs in them, and no host holds them. The caller releases the list with strv_free();
 * NULL: there are none. */
char **cgroup_left(const char *setting);

/* A part of the group of an agent. */
struct cgroup_part {
    int dir; /* -1: none */
    char name[16];
};

/* Makes a part, in which a process tree can run; false if that is not possible. */
bool cgroup_part_make(int group, struct cgroup_part *ret);
/* Removes it if nothing runs in it. */
void cgroup_part_drop(struct cgroup_part *part);
/* Returns true if a process runs in the group or below it. */
bool cgroup_is_used(int dir);
/* Kills all processes of the group and below it; false if the kernel cannot (before 5.14). */
bool cgroup_kill(int dir);
/* Stops all processes of the group, or lets them go on. A stopped process can be killed. Waits for
 * up to `wait_ms` until they have stopped; false if they have not. */
bool cgroup_freeze(int dir, bool stop, int wait_ms);
/* Lists the processes in a part. Returns their number, and the list, which the caller frees. */
size_t cgroup_pids(int part, pid_t **ret);

/* Returns how many processes of the group the kernel has killed because they used too much memory;
 * -1: unknown. */
int64_t cgroup_oom_kills(const struct cgroup *group);
void cgroup_measure(int dir, struct cgroup_usage *ret);
