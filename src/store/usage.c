/*
 * A meter (os/tree.h) counts each file once; what a part takes is the difference of the meter's
 * total before and after it was walked over, so what several parts share counts for the first. Two
 * threads take one session after another; each finished one is added to the total under a lock.
 * Limits come last: nothing is measured where none is set.
 */

#include "store/usage.h"

#include "base/number.h"
#include "os/path.h"
#include "os/thread.h"
#include "store/placement.h"
#include "store/placement_stage.h"
#include "store/workspace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/statvfs.h>

#define MEMORY_FILES WORKSPACE_MEMORY /* and files named after it: memory.db-wal */

/* One session being measured. */
struct measure {
    struct tree_meter *meter;
    struct tree_size last; /* the meter's total before the current part */
    uint64_t unread; /* directories that could not be measured */
    struct usage *usage;
};

/* The sessions of one call, shared by two threads. */
struct measures {
    const struct root *root;
    const struct usage_options *options;
    size_t count;
    struct usage *usages;
    atomic_size_t next;
    pthread_mutex_t lock; /* protects the total */
    struct tree_meter *total; /* NULL: not requested */
};

/* Adds to a part what was measured since the previous one. */
static void add_to(struct measure *m, struct tree_size *part)
{
    struct tree_size now;

    tree_meter_read(m->meter, &now);
    part->files += now.files - m->last.files;
    part->apparent += now.apparent - m->last.apparent;
    part->real += now.real - m->last.real;
    part->skipped += now.skipped - m->last.skipped;
    m->last = now;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns the sorted names in a directory, to be released with strv_free(); NULL if it cannot be
 * read. */
static char **list(int dir)
{
    struct err ignored = ERR_INIT;
    char **names = NULL;

    if (path_list(dir, &names, &ignored) == -1)
        return NULL;
    qsort(names, strv_len(names), sizeof *names, compare_names);
    return names;
}

/* Measures unit/: one unit for each directory in it. */
static void measure_units(struct measure *m, int dir, bool common)
{
    struct usage *usage = m->usage;
    _cleanup_strv_ char **names = list(dir);

    tree_measure_alone(m->meter, dir, common);
    m->unread += names == NULL;
    for (char **name = names; name != NULL && *name != NULL; name++) {
        add_to(m, &usage->parts[USAGE_OTHER]);
        if (!S_ISDIR(tree_measure(m->meter, dir, *name, common)))
            continue;
        usage->units = mem_room(usage->units, usage->unit_count, sizeof *usage->units);
        usage->units[usage->unit_count] = (struct usage_unit){.agent = mem_dup(*name)};
        add_to(m, &usage->units[usage->unit_count++].size);
    }
    add_to(m, &usage->parts[USAGE_OTHER]);
}

static enum usage_part part_of(const char *name)
{
    return strcmp(name, WORKSPACE_WORKFLOWS) == 0 ? USAGE_WORKFLOWS
           : strcmp(name, WORKSPACE_LOGS) == 0    ? USAGE_LOGS
           : str_starts(name, MEMORY_FILES)       ? USAGE_MEMORY
           : strcmp(name, WORKSPACE_CODE) == 0 || strcmp(name, WORKSPACE_CODE_GIT) == 0
               ? USAGE_CODE
               : USAGE_OTHER;
}

static void measure_entry(struct measure *m, int dir, const char *name)
{
    if (strcmp(name, WORKSPACE_UNIT) == 0) {
        _cleanup_close_ int unit = path_open_dir(dir, name);
        if (unit != -1) {
            measure_units(m, unit, false);
            return;
        }
    }
    (void)tree_measure(m->meter, dir, name, false);
    add_to(m, &m->usage->parts[part_of(name)]);
}

/* Measures the directories of a session that are in the root and outlive it. */
static void measure_shared(struct measure *m, const struct root *root, int dir, enum mode mode)
{
    _cleanup_close_ int unit = placement_open(root, dir, mode, WORKSPACE_UNIT);
    _cleanup_close_ int workflows = placement_open(root, dir, mode, WORKSPACE_WORKFLOWS);

    if (unit != -1)
        measure_units(m, unit, true);
    if (workflows != -1)
        (void)tree_measure(m->meter, workflows, ".", true);
    add_to(m, &m->usage->parts[USAGE_WORKFLOWS]);
}

static void measure_session(struct measures *all, size_t i)
{
    const struct usage_options *options = &all->options[i];
    _cleanup_meter_ struct tree_meter *meter = tree_meter_new();
    struct usage *usage = &all->usages[i];
    struct measure m = {.meter = meter, .usage = usage};
    _cleanup_close_ int dir = workspace_open(all->root, options->id);
    bool gone = dir == -1 && errno == ENOENT; /* removed since it was listed */
    _cleanup_strv_ char **names = dir != -1 ? list(dir) : NULL;

    *usage = (struct usage)USAGE_INIT;
    m.unread += names == NULL && !gone;
    if (dir != -1)
        tree_measure_alone(meter, dir, false);
    add_to(&m, &usage->parts[USAGE_OTHER]);
    for (char **name = names; name != NULL && *name != NULL; name++)
        measure_entry(&m, dir, *name);
    if (placement_is_shared(options->mode))
        measure_shared(&m, all->root, dir, options->mode);
    usage->all = m.last;
    usage->all.skipped += m.unread;
    usage->own = tree_meter_own(meter);
    if (all->total == NULL)
        return;
    (void)pthread_mutex_lock(&all->lock);
    tree_meter_add(all->total, meter);
    (void)pthread_mutex_unlock(&all->lock);
}

static void *measure_some(void *arg)
{
    struct measures *all = arg;
    size_t i;

    while ((i = atomic_fetch_add(&all->next, 1)) < all->count)
        measure_session(all, i);
    return NULL;
}

static void *helper_main(void *arg)
{
    thread_own_descriptors();
    return measure_some(arg);
}

void usage_measure(const struct root *root, const struct usage_options *options, size_t count,
                   struct usage *ret, struct usage *ret_total)
{
    struct measures all = {.root = root, .options = options, .count = count, .usages = ret};
    _cleanup_meter_ struct tree_meter *total = ret_total != NULL ? tree_meter_new() : NULL;
    pthread_t thread;

    all.total = total;
    (void)pthread_mutex_init(&all.lock, NULL);
    bool helped = count > 1 && thread_start(&thread, helper_main, &all);
    (void)measure_some(&all);
    if (helped)
        (void)pthread_join(thread, NULL);
    (void)pthread_mutex_destroy(&all.lock);
    if (ret_total == NULL)
        return;
    *ret_total = (struct usage)USAGE_INIT;
    tree_meter_read(total, &ret_total->all);
    ret_total->own = tree_meter_own(total);
    ret_total->all.skipped = 0;
    for (size_t i = 0; i < count; i++)
        ret_total->all.skipped += ret[i].all.skipped;
}

void usage_free(struct usage *usage)
{
    for (size_t i = 0; i < usage->unit_count; i++)
        free(usage->units[i].agent);
    free(usage->units);
    *usage = (struct usage)USAGE_INIT;
}

/* ---- agents */

enum { PARTS_OF_AGENTS = 3 }; /* directories in a session with one for each agent */

/* Opens the directory with the directories of the agents. */
static int open_part(const struct root *root, int dir, enum mode mode, const char *part)
{
    if (strcmp(part, WORKSPACE_UNIT) == 0 && placement_is_shared(mode))
        return placement_open(root, dir, mode, part);
    return path_open_dir(dir, part);
}

static void measure_agent(struct usage_agent *agent, const int parts[PARTS_OF_AGENTS],
                          struct tree_meter *all)
{
    _cleanup_meter_ struct tree_meter *meter = tree_meter_new();
    struct tree_size size;

    for (size_t i = 0; i < PARTS_OF_AGENTS; i++)
        if (parts[i] != -1)
            (void)tree_measure(meter, parts[i], agent->id, false);
    tree_meter_read(meter, &size);
    agent->used = size.real;
    tree_meter_add(all, meter);
}

static bool is_agent(const struct usage_agent *agents, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(agents[i].id, name) == 0)
            return true;
    return false;
}

/* Adds what is in the directory but is no agent's. */
static void measure_rest(struct tree_meter *all, int dir, const struct usage_agent *agents,
                         size_t count)
{
    _cleanup_strv_ char **names = list(dir);

    tree_measure_alone(all, dir, false);
    for (char **name = names; name != NULL && *name != NULL; name++)
        if (!is_agent(agents, count, *name))
            (void)tree_measure(all, dir, *name, false);
}

static bool is_part_of_agents(const char *const *names, const char *name)
{
    for (size_t i = 0; i < PARTS_OF_AGENTS; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

void usage_measure_agents(const struct root *root, int dir, enum mode mode,
                          struct usage_agent *agents, size_t count, uint64_t *ret_session)
{
    static const char *const names[PARTS_OF_AGENTS] = {WORKSPACE_UNIT, WORKSPACE_CODE,
                                                       WORKSPACE_HOME};
    _cleanup_meter_ struct tree_meter *all = tree_meter_new();
    _cleanup_strv_ char **entries = list(dir);
    _cleanup_close_ int unit = open_part(root, dir, mode, names[0]);
    _cleanup_close_ int code = open_part(root, dir, mode, names[1]);
    _cleanup_close_ int home = open_part(root, dir, mode, names[2]);
    const int parts[PARTS_OF_AGENTS] = {unit, code, home};
    struct tree_size size;

    for (size_t i = 0; i < count; i++)
        measure_agent(&agents[i], parts, all);
    for (size_t i = 0; i < PARTS_OF_AGENTS; i++)
        if (parts[i] != -1)
            measure_rest(all, parts[i], agents, count);
    for (char **entry = entries; entry != NULL && *entry != NULL; entry++)
        if (!is_part_of_agents(names, *entry))
            (void)tree_measure(all, dir, *entry, false);
    tree_meter_read(all, &size);
    *ret_session = size.real;
}

/* ---- limits */

char *usage_over(uint64_t limit, const struct usage *usage)
{
    char texts[2][NUMBER_SIZE_TEXT];

    if (limit == 0 || usage->all.real <= limit)
        return NULL;
    number_format_size(usage->all.real, texts[0]);
    number_format_size(limit, texts[1]);
    return mem_printf("uses %s on disk, more than limits.session (%s)", texts[0], texts[1]);
}

/* Returns how many bytes are free for this user on the file system of sessions/. */
static int ask_room(const struct root *root, uint64_t *ret, struct err *err)
{
    struct statvfs fs;

    if (fstatvfs(root->sessions, &fs) == -1)
        return err_errno(err, "cannot get the free space of '%s/%s'", root->path, ROOT_SESSIONS);
    *ret = (uint64_t)fs.f_bavail * fs.f_frsize;
    return 0;
}

/* Measures the sessions that have a limit. */
static void find_large(const struct root *root, const struct config *config,
                       const struct usage_options *options, size_t count, usage_finding *each,
                       void *arg)
{
    struct usage_options *limited = mem_alloc((count + 1) * sizeof *limited);
    uint64_t *limits = mem_alloc((count + 1) * sizeof *limits);
    struct usage *usages = mem_alloc((count + 1) * sizeof *usages);
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        _cleanup_close_ int dir = workspace_open(root, options[i].id);
        limits[found] =
            (uint64_t)session_limits_look(dir, config, NULL, NULL).of[LIMIT_SESSION].amount;
        if (limits[found] != 0)
            limited[found++] = options[i];
    }
    if (found > 0)
        usage_measure(root, limited, found, usages, NULL);
    for (size_t i = 0; i < found; i++) {
        _cleanup_free_ char *what = usage_over(limits[i], &usages[i]);
        if (what != NULL)
            each(limited[i].id, what, arg);
        usage_free(&usages[i]);
    }
    free(usages);
    free(limits);
    free(limited);
}

void usage_find_over(const struct root *root, const struct config *config,
                     const struct usage_options *options, size_t count, usage_finding *each,
                     void *arg)
{
    uint64_t floor = config_bytes(config, SETTING_LIMIT_FREE);
    struct err err = ERR_INIT;
    char texts[2][NUMBER_SIZE_TEXT];
    uint64_t room = 0;

    find_large(root, config, options, count, each, arg);
    if (floor == 0)
        return;
    if (ask_room(root, &room, &err) == -1) {
        each(ROOT_SESSIONS, err.text, arg);
    } else if (room < floor) {
        number_format_size(room, texts[0]);
        number_format_size(floor, texts[1]);
        _cleanup_free_ char *what = mem_printf(
            "its file system has %s free, less than limits.free (%s)", texts[0], texts[1]);
        each(ROOT_SESSIONS, what, arg);
    }
}

int usage_check_room(const struct root *root, const struct config *config, uint64_t bytes,
                     struct err *err)
{
    uint64_t floor = config_bytes(config, SETTING_LIMIT_FREE);
    uint64_t room = 0;
    char texts[3][NUMBER_SIZE_TEXT];

    if (floor == 0)
        return 0;
    if (ask_room(root, &room, err) == -1)
        return -1;
    if (room >= floor && room - floor >= bytes)
        return 0;
    number_format_size(bytes, texts[0]);
    number_format_size(room, texts[1]);
    number_format_size(floor, texts[2]);
    (void)err_set(
        err, MAS_FAILED,
        "cannot write %s below '%s/%s': %s is free, of which limits.free (%s) reserves %s",
        texts[0], root->path, ROOT_SESSIONS, texts[1], config->settings[SETTING_LIMIT_FREE].origin,
        texts[2]);
    return err_hint(err,
                    "see what uses the space with: mas du; remove old sessions with: mas clean");
}

/* Measures what a session of this mode copies from the template. */
static int measure_template(const struct root *root, const struct template *tmpl, enum mode mode,
                            struct tree_size *ret, struct err *err)
{
    _cleanup_meter_ struct tree_meter *meter = tree_meter_new();
    _cleanup_strv_ char **missing = NULL;

    if (placement_missing(root, mode, &tmpl->team, &missing, err) == -1)
        return -1;
    for (char **part = missing; part != NULL && *part != NULL; part++)
        (void)tree_measure(meter, tmpl->fd, *part, false);
    tree_meter_read(meter, ret);
    return 0;
}

int usage_check_new(const struct root *root, const struct config *config,
                    const struct template *tmpl, enum mode mode,
                    const struct session_limits *limits, struct err *err)
{
    uint64_t limit =
        (uint64_t)session_limits_hold(limits, config, NULL, NULL).of[LIMIT_SESSION].amount;
    const char *from = limits != NULL && limits->all.of[LIMIT_SESSION] != 0
                           ? "--limit"
                           : config->settings[SETTING_LIMIT_SESSION].origin;
    struct tree_size size;
    char texts[2][NUMBER_SIZE_TEXT];

    if (limit == 0 && config_bytes(config, SETTING_LIMIT_FREE) == 0)
        return 0;
    if (measure_template(root, tmpl, mode, &size, err) == -1)
        return -1;
    if (limit == 0 || size.real <= limit)
        return usage_check_room(root, config, size.real, err);
    number_format_size(size.real, texts[0]);
    number_format_size(limit, texts[1]);
    return err_set(err, MAS_FAILED,
                   "cannot use template '%s': it needs %s, but limits.session (%s) allows only %s",
                   tmpl->name, texts[0], from, texts[1]);
}
