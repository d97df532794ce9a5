#include "host/bounds.h"

#include "wall/scope.h"

enum {
    OOM_WORKER = 400, /* how much sooner than mas itself the kernel ends them for memory */
    OOM_MANAGER = 200,
    OOM_META = 100,
};

static int oom_score(const struct agent *agent)
{
    static const int scores[RANK_COUNT] = {
        [RANK_META] = OOM_META, [RANK_MANAGER] = OOM_MANAGER, [RANK_WORKER] = OOM_WORKER};

    return scores[agent->rank];
}

void resources_set_bounds(struct host_resources *resources)
{
    const struct cgroup_limits *limits = &resources->limits;
    uint64_t tasks = limits->processes != 0 ? proc_count_tasks() : 0;

    resources->bounds.data = limits->memory;
    /* the kernel counts all tasks of the user, not those of the agent */
    resources->bounds.tasks = tasks != 0 ? tasks + limits->processes : 0;
    resources->bounds.group_holds_memory = (resources->group.holds & CGROUP_MEMORY) != 0;
    resources->bounds.group_holds_tasks = (resources->group.holds & CGROUP_PROCESSES) != 0;
}

/* Opens the group in which that of the agent can be. Systemd is asked only for an agent with
 * limits: it takes a program and some milliseconds. */
static int find_parent(struct host_resources *resources, const char *setting, const char *session,
                       const char *name, struct err *err)
{

    if (cgroup_find(setting, &resources->parent, err) == 0)
        return 0;
    if (strcmp(setting, "auto") != 0 || cgroup_asked(&resources->limits) == 0)
        return -1;
    *err = (struct err)ERR_INIT;
    _cleanup_free_ char *unit = mem_printf("mas-%s-%s-%ld.scope", session, name, (long)getpid());
    _cleanup_free_ char *words = mem_printf("agent %s of mas session %s", name, session);
    return scope_make(unit, words, getenv("PATH"), &resources->parent, err);
}

void resources_read(struct host_resources *resources, int dir, const struct config *config,
                    const struct agent *agent, const struct preset *preset)
{
    resources->held = session_limits_look(dir, config, agent, preset);
    resources->bounds.oom_score = oom_score(agent);
    resources->limits = cgroup_limits_of(&resources->held);
}

void resources_make_group(struct host_resources *resources, const struct config *config,
                          const char *session, const char *name)
{
    const char *setting = config_text(config, SETTING_LIMIT_CGROUP);
    struct err err = ERR_INIT;

    free(resources->why);
    resources->why = NULL;
    if (find_parent(resources, setting, session, name, &err) == 0 &&
        cgroup_make(resources->parent, session, name, &resources->limits, &resources->group,
                    &err) == 0) {
        resources->bounds.group = resources->group.dir;
        return;
    }
    fd_closep(&resources->parent);
    resources->why = mem_dup(err.text);
}

void resources_drop_group(struct host_resources *resources, const char *session, const char *name)
{
    if (resources->group.dir != -1)
        cgroup_drop(&resources->group, resources->parent, session, name);
    fd_closep(&resources->parent);
    free(resources->why);
    resources->why = NULL;
}

/* Returns the limits that were asked for and that no group holds; bits. */
static unsigned lacking(const struct host_resources *resources)
{
    unsigned asked = cgroup_asked(&resources->limits);

    return resources->refused ? asked : asked & ~resources->group.holds;
}

char *resources_lack(const struct host_resources *resources)
{
    unsigned lacks = lacking(resources);

    return lacks == 0 ? NULL
                      : mem_printf("limits.%s: %s", cgroup_limit_name(lacks),
                                   resources->why != NULL ? resources->why
                                                          : "the cgroup does not hold it");
}
