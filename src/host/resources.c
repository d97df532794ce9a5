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
#include "base/time.h"
#include "host/server.h"

enum {
    MEASURE_MS = 5000, /* between two measurements */
    MEASURE_MAX_MS = 80000, /* while nothing changes */
    CHANGE_CPU_MS = 100, /* what counts as a change */
    CHANGE_MEMORY = 16, /* likewise: one part in so many */
};

#define LIMITS_LACK "limits: " /* begins what a report says is missing of them */

static void read_limits(struct host *host)
{
    resources_read(&host->resources, host->dir, &host->config, host->agent, host->preset);
}

bool resources_limit_disk(const struct host *host)
{
    const struct limit_held *of = host->resources.held.of;

    return of[LIMIT_SESSION].amount > 0 || of[LIMIT_AGENT].amount > 0;
}

static void open_group(struct host *host)
{
    resources_make_group(&host->resources, &host->config, host->session.id, host->agent->id);
}

/* Says what holds the limits now that they have changed under an agent that runs. */
static void report_change(struct host *host)
{
    struct host_resources *resources = &host->resources;
    struct wall_report *report = &host->wall.report;
    struct err why = ERR_INIT;

    if (str_starts(report->missing, "limits"))
        report->missing[0] = '\0';
    wall_report_hold(report, WALL_RESOURCES, "");
    if (host->child.phase != CHILD_NONE && !resources->entered) {
        if (cgroup_asked(&resources->limits) != 0)
            (void)snprintf(report->missing, sizeof report->missing,
                           LIMITS_LACK "they hold when the agent starts next");
    } else if (resources_hold(host, report, &why) == -1) {
        (void)snprintf(report->missing, sizeof report->missing, LIMITS_LACK "%.200s", why.text);
    }
}

void resources_limits_changed(struct host *host)
{
    struct host_resources *resources = &host->resources;
    const struct cgroup_limits before = resources->limits;

    read_limits(host);
    server_mark_dirty(host);
    if (before.memory == resources->limits.memory && before.cpus == resources->limits.cpus &&
        before.processes == resources->limits.processes)
        return;
    if (resources->group.dir == -1)
        open_group(host);
    else
        cgroup_limit(&resources->group, &resources->limits);
    report_change(host);
}

void resources_open(struct host *host)
{
    read_limits(host);
    open_group(host);
}

void resources_close(struct host *host)
{
    resources_drop_group(&host->resources, host->session.id, host->agent->id);
}

void resources_begin(struct host *host)
{
    struct host_resources *resources = &host->resources;

    resources_set_bounds(resources);
    resources->oom_kills = cgroup_oom_kills(&resources->group);
    resources->entered = false;
    resources->due = 0;
}

int resources_hold(struct host *host, struct wall_report *report, struct err *err)
{
    struct host_resources *resources = &host->resources;
    unsigned asked = cgroup_asked(&resources->limits);
    bool must = report->level == WALL_REQUIRE && asked != 0;

    resources->bounds.must_enter = must;
    report->asked[WALL_RESOURCES] = asked != 0;
    if (asked == 0)
        return 0;
    _cleanup_free_ char *why = resources_lack(resources);
    wall_report_hold(report, WALL_RESOURCES, why == NULL ? "cgroup" : "rlimits");
    if (why == NULL)
        return 0;
    if (!must) {
        if (report->missing[0] == '\0')
            (void)snprintf(report->missing, sizeof report->missing, "%s", why);
        return 0;
    }
    (void)err_set(err, MAS_FAILED, "cannot put up the wall of agent '%s': %s", host->agent->id,
                  why);
    return err_hint(err, CGROUP_CURE);
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

struct agent_resources resources_usage(const struct host *host)
{
    static const struct agent_resources unknown = {.cpu_ms = -1, .memory = -1, .processes = -1};

    /* what was measured last is not what an agent uses that has ended */
    return host->child.phase == CHILD_RUNS && host->resources.due != 0 ? host->resources.usage
                                                                       : unknown;
}

void resources_measure(struct host *host)
{
    struct host_resources *resources = &host->resources;
    int64_t now = time_monotonic_ms();

    if (host->child.phase != CHILD_RUNS)
        return;
    /* a process that has just begun has no memory yet: that is no figure to keep */
    bool has_figures = resources->due != 0 && resources->usage.memory != 0;
    if (has_figures && resources->measured != 0 && now - resources->measured < MEASURE_MS)
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
