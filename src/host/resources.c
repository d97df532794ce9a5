/*
 * What holds the memory, the CPUs and the processes of the agent, and what it uses of them.
 *
 * A cgroup does, if mas may make one; else resource limits of the kernel (rlimits), which hold
 * less: each process has the memory for itself, and nothing limits the CPUs. The group exists as
 * long as the host. Figures are measured when somebody asks, and while somebody watches, less and
 * less often as long as they stay as they are.
 */
#include "host/state.h"

#include "base/number.h"
#include "base/str.h"
#include "base/time.h"
#include "wall/scope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEASURE_MS = 5000, /* between two measurements */
    MEASURE_MAX_MS = 80000, /* while nothing changes */
    CHANGE_CPU_MS = 100, /* what counts as a change */
    CHANGE_MEMORY = 16, /* likewise: one part in so many */
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

/* Sets what holds a program beside its group, or if it is in none. */
static void set_rlimits(struct host_resources *resources)
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
static int find_parent(struct host *host, struct err *err)
{
    struct host_resources *resources = &host->resources;
    const char *setting = config_text(&host->config, SETTING_LIMIT_CGROUP);

    if (cgroup_find(setting, &resources->parent, err) == 0)
        return 0;
    if (strcmp(setting, "auto") != 0 || cgroup_asked(&resources->limits) == 0)
        return -1;
    *err = (struct err)ERR_INIT;
    _cleanup_free_ char *unit =
        mem_printf("mas-%s-%s-%ld.scope", host->session.id, host->agent->id, (long)host->pid);
    _cleanup_free_ char *words =
        mem_printf("agent %s of mas session %s", host->agent->id, host->session.id);
    return scope_make(unit, words, getenv("PATH"), &resources->parent, err);
}

void resources_open(struct host *host)
{
    struct host_resources *resources = &host->resources;
    struct config *config = &host->config;
    struct err err = ERR_INIT;

    resources->limits = (struct cgroup_limits){
        .memory = config_bytes(config, SETTING_LIMIT_MEMORY),
        .processes = (unsigned)config_number(config, SETTING_LIMIT_PROCESSES)};
    (void)setting_parse_cpus(config_text(config, SETTING_LIMIT_CPUS), &resources->limits.cpus);
    resources->bounds.oom_score = oom_score(host->agent);
    if (find_parent(host, &err) == 0 &&
        cgroup_make(resources->parent, host->session.id, host->agent->id, &resources->limits,
                    &resources->group, &err) == 0) {
        resources->bounds.group = resources->group.dir;
        return;
    }
    resources->why = mem_dup(err.text);
}

void resources_close(struct host *host)
{
    struct host_resources *resources = &host->resources;

    if (resources->group.dir != -1)
        cgroup_drop(&resources->group, resources->parent, host->session.id, host->agent->id);
    fd_closep(&resources->parent);
    free(resources->why);
    resources->why = NULL;
}

void resources_begin(struct host *host)
{
    struct host_resources *resources = &host->resources;

    set_rlimits(resources);
    resources->oom_kills = cgroup_oom_kills(&resources->group);
    resources->entered = false;
    resources->due = 0;
}

/* Writes why the group does not hold one of these limits. */
static char *why_not(const struct host_resources *resources, unsigned lacks)
{
    const char *name = (lacks & CGROUP_MEMORY) != 0 ? "memory"
                       : (lacks & CGROUP_CPUS) != 0 ? "cpus"
                                                    : "processes";

    return mem_printf("limits.%s: %s", name,
                      resources->why != NULL ? resources->why : "the cgroup does not hold it");
}

int resources_hold(struct host *host, struct wall_report *report, struct err *err)
{
    struct host_resources *resources = &host->resources;
    unsigned asked = cgroup_asked(&resources->limits);
    unsigned lacks = resources->refused ? asked : asked & ~resources->group.holds;
    bool must = report->level == WALL_REQUIRE && asked != 0;

    resources->bounds.must_enter = must;
    report->asked[WALL_RESOURCES] = asked != 0;
    if (asked == 0)
        return 0;
    wall_report_hold(report, WALL_RESOURCES, lacks == 0 ? "cgroup" : "rlimits");
    if (lacks == 0)
        return 0;
    _cleanup_free_ char *why = why_not(resources, lacks);
    if (!must) {
        if (report->missing[0] == '\0')
            (void)snprintf(report->missing, sizeof report->missing, "%s", why);
        return 0;
    }
    (void)err_set(err, MAS_FAILED, "cannot put up the wall of agent '%s': %s", host->agent->id,
                  why);
    return err_hint(err, "name a cgroup in limits.cgroup, or see: man mas-agents");
}

void resources_started(struct host *host, int refused)
{
    struct host_resources *resources = &host->resources;
    struct err ignored = ERR_INIT;

    if (resources->group.dir == -1)
        return;
    resources->entered = refused == 0;
    if (refused == 0 || resources->refused)
        return;
    resources->refused = true;
    resources->why = mem_printf("mas cannot move its agents into a cgroup: %s", strerror(refused));
    (void)resources_hold(host, &host->wall.report, &ignored);
}

bool resources_describe_end(const struct host *host, char *buf, size_t size)
{
    const struct host_resources *resources = &host->resources;
    char memory[NUMBER_SIZE_TEXT];

    if (resources->limits.memory == 0 ||
        cgroup_oom_kills(&resources->group) <= resources->oom_kills)
        return false;
    number_format_size(resources->limits.memory, memory);
    (void)snprintf(buf, size, "it used more than its %s of memory (limits.memory)", memory);
    return true;
}

/* Takes the figures of the group, and from /proc those that it does not have. */
static void measure(struct host *host, struct agent_resources *ret)
{
    const struct host_resources *resources = &host->resources;
    struct cgroup_usage usage = {.cpu_ms = -1, .memory = -1, .processes = -1};
    struct proc_usage tree;

    if (resources->entered)
        cgroup_measure(resources->group.dir, &usage);
    bool complete = usage.cpu_ms != -1 && usage.memory != -1 && usage.processes != -1;
    if (!complete && proc_measure(host->pid, &tree)) {
        usage.cpu_ms = usage.cpu_ms != -1 ? usage.cpu_ms : (int64_t)tree.cpu_ms;
        usage.memory = usage.memory != -1 ? usage.memory : (int64_t)tree.memory;
        usage.processes = usage.processes != -1 ? usage.processes : (int64_t)tree.processes;
    }
    *ret = (struct agent_resources){
        .cpu_ms = usage.cpu_ms, .memory = usage.memory, .processes = usage.processes};
}

/* Returns true if somebody would notice the difference. */
static bool has_changed(const struct agent_resources *a, const struct agent_resources *b)
{
    return llabs(a->cpu_ms - b->cpu_ms) >= CHANGE_CPU_MS || a->processes != b->processes ||
           llabs(a->memory - b->memory) > a->memory / CHANGE_MEMORY;
}

void resources_measure(struct host *host)
{
    struct host_resources *resources = &host->resources;
    int64_t now = time_monotonic_ms();

    if (host->child.phase != CHILD_RUNS) {
        resources->usage = (struct agent_resources){.cpu_ms = -1, .memory = -1, .processes = -1};
        return;
    }
    if (resources->measured != 0 && now - resources->measured < MEASURE_MS && resources->due != 0)
        return;
    measure(host, &resources->usage);
    resources->measured = now;
    resources->due = now + MEASURE_MS;
}

int64_t resources_tick(struct host *host, int64_t now)
{
    struct host_resources *resources = &host->resources;
    struct agent_resources before = resources->usage;

    if (host->child.phase != CHILD_RUNS || !server_is_watched(host))
        return -1;
    if (now < resources->due)
        return resources->due;
    resources_measure(host);
    bool changed = has_changed(&before, &resources->usage);
    int64_t pause = changed ? MEASURE_MS : resources->pause * 2;
    resources->pause = pause < MEASURE_MS       ? MEASURE_MS
                       : pause > MEASURE_MAX_MS ? MEASURE_MAX_MS
                                                : pause;
    resources->due = now + resources->pause;
    if (changed)
        server_mark_dirty(host);
    return resources->due;
}
