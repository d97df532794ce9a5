/*
 * What holds the memory, the CPUs and the processes of an agent: the limits, the cgroup, and the
 * bounds that its programs are started with. The host keeps one for as long as it runs, see
 * resources.c; a program of the agent that its host does not start gets another:
 *
 *     struct host_resources resources = HOST_RESOURCES_INIT;
 *     resources_read(&resources, dir, config, agent, preset);
 *     resources_make_group(&resources, config, session, name);
 *     resources_set_bounds(&resources);
 *     ... start it with &resources.bounds ...
 *     resources_drop_group(&resources, session, name);
 */
#pragma once

#include "model/agent_status.h"
#include "model/team/team.h"
#include "os/proc.h"
#include "store/config.h"
#include "store/limits/session_limits.h"
#include "wall/cgroup.h"

struct host_resources {
    struct limits_held held; /* the limits, and where they come from */
    struct cgroup_limits limits; /* those of them that a group can hold */
    int parent; /* where its group is; -1 */
    struct cgroup group;
    char *why; /* why no group holds them; NULL: one does */
    bool entered; /* the agent is in the group */
    bool refused; /* it may not be moved there */
    struct proc_bounds bounds; /* for all programs of the agent */
    int64_t oom_kills; /* before this run of the agent */
    struct agent_resources usage; /* at the time `measured` */
    int64_t measured, pause, due; /* 0: never */
};

#define HOST_RESOURCES_INIT                                                                        \
    {                                                                                              \
        .parent = -1, .group = CGROUP_INIT, .bounds = PROC_BOUNDS_INIT                             \
    }

/* Finds out which limits hold for an agent of the session open at `dir`. */
void resources_read(struct host_resources *resources, int dir, const struct config *config,
                    const struct agent *agent, const struct preset *preset);
/* Makes the group `name` of a session, with these limits, or says in resources->why what it lacks.
 */
void resources_make_group(struct host_resources *resources, const struct config *config,
                          const char *session, const char *name);
/* Removes the group, if nothing runs in it, and releases what resources_make_group() has made. */
void resources_drop_group(struct host_resources *resources, const char *session, const char *name);
/* Sets what holds a program beside its group, or if it is in none. */
void resources_set_bounds(struct host_resources *resources);
/* Returns why the group does not hold a limit that was asked for, as "limits.memory: ..."; NULL: it
 * holds all of them. The caller frees it. */
char *resources_lack(const struct host_resources *resources);
