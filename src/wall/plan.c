/*
 * plan_begin() decides what can be told without the agent's files: the level, what holds each part,
 * the network; wall_foresee() is no more than that. plan_files() adds mounts: system, home,
 * session, named paths, programs; the other plan_*.c know which. Then what is there twice goes, and
 * the environment follows, because it depends on what is inside. /tmp and the home that are shared
 * come last.
 */

#include "wall/plan.h"

#include "base/env.h"
#include "os/landlock.h"
#include "os/path.h"
#include "os/tree.h"
#include "store/workspace.h"
#include "wall/plan_internal.h"

struct choice {
    enum wall_source source;
    enum wall_level level;
};

static struct choice choose(const struct config *config, const struct team *team,
                            const struct agent *agent, const struct preset *preset)
{
    const struct choice choices[] = {
        {WALL_BY_SESSION, team->wall},
        {WALL_BY_AGENT, agent->wall},
        {WALL_BY_PRESET, preset->wall.level},
        {WALL_BY_SETTING, (enum wall_level)config_number(config, SETTING_WALL_LEVEL)},
        {WALL_BY_HOME, preset->wall.home_count > 0 ? WALL_TRY : WALL_UNSET},
        {WALL_BY_NOTHING, WALL_OFF},
    };
    size_t first = 0;

    while (choices[first].level == WALL_UNSET)
        first++;
    return choices[first];
}

enum wall_source wall_source_of(const struct config *config, const struct team *team,
                                const struct agent *agent, const struct preset *preset)
{
    return choose(config, team, agent, preset).source;
}

enum wall_level wall_level_of(const struct config *config, const struct team *team,
                              const struct agent *agent, const struct preset *preset)
{
    return choose(config, team, agent, preset).level;
}

void wall_source_describe(const struct config *config, enum wall_source source,
                          const struct preset *preset, struct str *to)
{
    switch (source) {
    case WALL_BY_SESSION:
        str_add(to, "--wall, which the session keeps");
        return;
    case WALL_BY_AGENT:
        str_add(to, "config.json of the session");
        return;
    case WALL_BY_PRESET:
        str_addf(to, "wall.level of preset '%s'", preset->name);
        return;
    case WALL_BY_SETTING:
        str_addf(to, "wall.level, %s", config->settings[SETTING_WALL_LEVEL].origin);
        return;
    case WALL_BY_HOME:
        str_addf(to, "preset '%s' has a wall.home", preset->name);
        return;
    case WALL_BY_NOTHING:
        str_add(to, "nothing asks for walls");
        return;
    }
}

/* ---- mounts */

/* Returns the nearest mount above this one, NULL if there is none. */
static const struct wall_mount *mount_above(const struct wall_plan *plan, size_t i)
{
    const char *path = plan->mounts[i].path;

    while (i-- > 0) {
        size_t len = strlen(plan->mounts[i].path);
        if (strncmp(path, plan->mounts[i].path, len) == 0 && path[len] == '/')
            return &plan->mounts[i];
    }
    return NULL;
}

/* Returns true if what is mounted above shows the very file or directory of this mount. */
static bool shows(const struct wall_mount *above, const struct wall_mount *mount)
{
    const char *below = mount->path + strlen(above->path) + 1;
    _cleanup_close_ int fd = above->fd != -1 ? path_open_beneath(above->fd, below, O_PATH) : -1;
    struct stat a, b;

    return fd != -1 && fstat(fd, &a) == 0 && fstat(mount->fd, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Returns true if a mount above this one shows what it would. A copy in a directory that can be
 * written is the file itself: bubblewrap would write it over that. */
static bool is_covered(const struct wall_plan *plan, size_t i)
{
    const struct wall_mount *mount = &plan->mounts[i];
    const struct wall_mount *above = mount_above(plan, i);

    if (above != NULL && above->kind == WALL_MOUNT_WRITE)
        return (mount->kind == WALL_MOUNT_WRITE || mount->kind == WALL_MOUNT_COPY) &&
               shows(above, mount);
    return (mount->kind == WALL_MOUNT_LINK || mount->kind == WALL_MOUNT_READ) && above != NULL &&
           above->kind == WALL_MOUNT_READ;
}

/* Drops what is in the plan twice. */
static void drop_covered(struct wall_plan *plan)
{
    for (size_t i = plan->count; i-- > 0;)
        if (is_covered(plan, i))
            plan_drop_mount(plan, i);
}

/* ---- the environment */

/* Variables that lead to what is not inside. */
static const char *const outside[] = {"SSH_AUTH_SOCK",   "SSH_AGENT_PID",
                                      "GPG_AGENT_INFO",  "DBUS_SESSION_BUS_ADDRESS",
                                      "DISPLAY",         "WAYLAND_DISPLAY",
                                      "XAUTHORITY",      "ICEAUTHORITY",
                                      "SESSION_MANAGER", "TMUX",
                                      "TMUX_PANE",       "TMUX_TMPDIR",
                                      "BASH_ENV",        "ENV"};
/* And directories: those of the user are left out where nothing is inside, as programs believe in
 * them, mktemp for one; without them these have defaults, which are there or can be made. */
static const char *const directories[] = {
    "TMPDIR",          "TMP",           "TEMP",           "TEMPDIR",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR"};

static bool is_below(const char *path, const char *dir)
{
    size_t len = dir != NULL ? strlen(dir) : 0;
    return len > 0 && strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* Returns true if there is something inside at a path, or below it. What is below a link, such as
 * /var/tmp, has another path. */
static bool is_inside(const struct wall_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct wall_mount *mount = &plan->mounts[i];
        bool is_shown = mount->kind == WALL_MOUNT_READ || mount->kind == WALL_MOUNT_WRITE ||
                        mount->kind == WALL_MOUNT_COPY;
        if (is_below(mount->path, path) || (is_shown && is_below(path, mount->path)))
            return true;
    }
    return false;
}

/* Returns true if the program can use the directory that a variable names. What the preset or the
 * agent says may be made by the program first; of the user's it finds what the plan has. */
static bool is_usable(const struct wall_plan *plan, const char *value, const char *users)
{
    _cleanup_free_ char *dir = mem_dup(value);
    size_t len = strlen(dir);

    while (len > 1 && dir[len - 1] == '/')
        dir[--len] = '\0';
    if (dir[0] != '/')
        return false;
    return is_inside(plan, dir) ||
           ((users == NULL || strcmp(users, value) != 0) &&
            (is_below(dir, plan->home) || is_below(dir, "/tmp") || is_below(dir, "/var/tmp")));
}

static void copy_environment(struct wall_plan *plan, const struct wall_subject *subject)
{
    for (char *const *e = subject->inside_env; e != NULL && *e != NULL; e++)
        strv_push(&plan->env, *e);
    for (size_t i = 0; i < ARRAY_LEN(outside); i++) {
        const char *value = env_get(plan->env, outside[i]);
        if (value != NULL && (value[0] != '/' || !is_inside(plan, value)))
            env_drop(plan->env, outside[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(directories); i++) {
        const char *value = env_get(plan->env, directories[i]);
        const char *users = kv_get(&subject->preset->env, directories[i]) == NULL
                                ? env_get(subject->env, directories[i])
                                : NULL;
        if (value != NULL && !is_usable(plan, value, users))
            env_drop(plan->env, directories[i]);
    }
}

/* ---- the whole */

static void add_paths(struct wall_plan *plan, enum wall_mount_kind kind, char *const *words)
{
    _cleanup_strv_ char **paths = NULL;

    for (; words != NULL && *words != NULL; words++)
        plan_push_path(plan, *words, &paths);
    for (char **path = paths; path != NULL && *path != NULL; path++) {
        int fd = plan_open(plan, *path, O_PATH);
        if (fd != -1)
            wall_plan_mount(plan, kind, *path, NULL, fd);
    }
}

/* Adds the paths that the settings and the preset name. */
static void add_named(struct wall_plan *plan, const struct wall_subject *subject)
{
    _cleanup_strv_ char **reads = str_split_list(config_text(subject->config, SETTING_WALL_READ));
    _cleanup_strv_ char **writes = str_split_list(config_text(subject->config, SETTING_WALL_WRITE));

    add_paths(plan, WALL_MOUNT_READ, reads);
    add_paths(plan, WALL_MOUNT_READ, subject->preset->wall.read);
    add_paths(plan, WALL_MOUNT_WRITE, writes);
    add_paths(plan, WALL_MOUNT_WRITE, subject->preset->wall.write);
}

/* Adds the files that the words of the command name. The program is the first of them. */
static void add_words(struct wall_plan *plan, const struct wall_subject *subject)
{
    for (char *const *word = subject->argv; word != NULL && *word != NULL; word++)
        if ((*word)[0] == '/')
            plan_add_word(plan, subject, *word, 0);
    plan_add_npx(plan, subject);
}

/* Makes /tmp one directory for the agent and the programs that it asks its host for. Not if
 * something else is below it: bubblewrap would make the place for that in a directory in which the
 * agent can put links in its way. */
static void share_tmp(struct wall_plan *plan, const struct wall_subject *subject)
{
    struct wall_mount *tmp = NULL;

    for (size_t i = 0; i < plan->count; i++) {
        struct wall_mount *mount = &plan->mounts[i];
        if (strcmp(mount->path, "/tmp") == 0 && mount->kind == WALL_MOUNT_EMPTY && tmp == NULL)
            tmp = mount;
        else if (is_below(mount->path, "/tmp"))
            return;
    }
    int fd = tmp != NULL ? plan_open_own(subject, WORKSPACE_HOME_TMP) : -1;
    if (fd == -1)
        return;
    (void)fchmod(fd, 01777); /* its parents are for this user alone */
    tmp->kind = WALL_MOUNT_WRITE;
    tmp->fd = fd;
}

void wall_own_clear(int dir, const char *agent)
{
    _cleanup_free_ char *home = mem_printf(WORKSPACE_HOME "/%s", agent);
    _cleanup_close_ int fd = path_open_beneath(dir, home, O_RDONLY | O_DIRECTORY);
    struct err ignored = ERR_INIT;

    if (fd == -1)
        return;
    (void)tree_remove(fd, WORKSPACE_HOME_TMP, &ignored);
    (void)tree_remove(fd, WORKSPACE_HOME_TOP, &ignored);
}

/* Plans the files and processes, which bubblewrap holds. */
static int plan_files(struct wall_plan *plan, const struct wall_subject *subject,
                      char *const *secrets, struct err *err)
{
    const char *home = env_get(subject->env, "HOME");

    plan->enter = mem_dup(subject->enter);
    if (home != NULL && home[0] == '/' && home[1] != '\0')
        plan->home = mem_dup(home);
    plan_find_written(plan, subject);
    plan_add_system(plan, secrets);
    if ((plan->alone ? plan_add_home_alone : plan_add_home)(plan, subject, err) == -1 ||
        plan_add_session(plan, subject, err) == -1)
        return -1;
    add_named(plan, subject);
    plan_add_program(plan, subject, subject->enter, false);
    plan_add_program(plan, subject, subject->program, subject->is_approved);
    if (plan->way.program != NULL) {
        plan_add_program(plan, subject, plan->way.program, false);
        plan_add_program(plan, subject, plan->way.tinyproxy, false);
    }
    add_words(plan, subject);
    plan_tell_left_out(plan);
    drop_covered(plan);
    copy_environment(plan, subject);
    if (plan->alone) {
        plan_set_home_alone(plan, subject);
    } else {
        share_tmp(plan, subject);
        plan_share_home(plan, subject);
    }
    return 0;
}

/* Says what bubblewrap and the kernel hold; the latter mas-wall puts up. */
static void plan_holders(struct wall_plan *plan, const struct wall_probe *probe)
{
    wall_report_hold(&plan->report, WALL_FILES, plan->alone ? "Landlock" : "bubblewrap");
    if (!plan->alone)
        wall_report_hold(&plan->report, WALL_PROCESSES, "bubblewrap");
    if (probe->seccomp)
        wall_report_hold(&plan->report, WALL_CALLS, "seccomp");
    if (probe->landlock >= WALL_LANDLOCK_SCOPES || !plan->alone)
        wall_report_hold(&plan->report, WALL_SIGNALS,
                         probe->landlock >= WALL_LANDLOCK_SCOPES ? "Landlock" : "bubblewrap");
}

/* Plans what does not depend on the agent's files. */
static int plan_begin(struct wall_plan *plan, const struct wall_subject *subject,
                      const struct wall_probe *probe, struct err *err)
{
    struct wall_report *report = &plan->report;
    struct err why = ERR_INIT;

    report->level = wall_level_of(subject->config, subject->team, subject->agent, subject->preset);
    wall_report_hold(report, WALL_NETWORK, "open");
    if (report->level == WALL_OFF)
        return 0;
    report->asked[WALL_FILES] = report->asked[WALL_PROCESSES] = true;
    report->asked[WALL_CALLS] = report->asked[WALL_SIGNALS] = true;
    bool nested = subject->preset->wall.nested || config_yes(subject->config, SETTING_WALL_NESTED);
    plan->bwrap = mem_dup(probe->bwrap);
    plan->landlock = probe->landlock > 0;
    plan->alone = plan->landlock && plan->bwrap == NULL;
    plan->nested = nested && !plan->alone; /* no process mounts under rules for files */
    if (report->level == WALL_REQUIRE && wall_probe_check(probe, subject->agent->id, err) == -1)
        return -1;
    if (wall_probe_lacks(probe, &why) == -1)
        plan_lack(plan, &why);
    if (plan->alone) {
        const char *gaps = landlock_gaps(probe->landlock, probe->seccomp);
        _cleanup_free_ char *less =
            mem_printf("Landlock alone holds no Unix sockets, and no modes of files%s%s%s",
                       gaps[0] == '\0' ? "" : "; in this kernel also no ", gaps,
                       nested ? "; wall.nested needs bubblewrap" : "");
        plan_lack_too(plan, less);
    }
    if (plan->bwrap == NULL && !plan->alone)
        return 0;
    plan_holders(plan, probe);
    return plan_network(plan, subject, err) == 0
               ? 0
               : err_wrap(err, "cannot put up the wall of agent '%s'", subject->agent->id);
}

int wall_plan_make(const struct wall_subject *subject, const struct wall_probe *probe,
                   struct wall_plan *ret, struct err *err)
{
    _cleanup_wall_plan_ struct wall_plan plan = WALL_PLAN_INIT;

    if (plan_begin(&plan, subject, probe, err) == -1)
        return -1;
    if ((plan.bwrap != NULL || plan.alone) && plan_files(&plan, subject, probe->secrets, err) == -1)
        return err_wrap(err, "cannot put up the wall of agent '%s'", subject->agent->id);
    *ret = plan;
    plan = (struct wall_plan)WALL_PLAN_INIT;
    return 0;
}

void wall_foresee(const struct wall_subject *subject, const struct wall_probe *probe,
                  struct wall_report *ret)
{
    _cleanup_wall_plan_ struct wall_plan plan = WALL_PLAN_INIT;
    struct err why = ERR_INIT;

    if (plan_begin(&plan, subject, probe, &why) == -1) {
        plan.report.missing[0] = '\0';
        plan_lack(&plan, &why);
    }
    *ret = plan.report;
}

void wall_plan_free(struct wall_plan *plan)
{
    while (plan->count > 0)
        plan_drop_mount(plan, plan->count - 1);
    free(plan->mounts);
    free(plan->written);
    free(plan->bwrap);
    free(plan->enter);
    free(plan->home);
    free(plan->user_home);
    plan_free_network(plan);
    strv_free(plan->env);
    strv_free(plan->left_out);
    *plan = (struct wall_plan)WALL_PLAN_INIT;
}
