/*
 * The part of wall/plan.h for a machine on which bubblewrap cannot work, so that Landlock alone
 * holds the files. Nothing can be shown in another place then: the agent's home is a directory of
 * its session, with links to what its preset names of the user's home.
 */
#include "base/env.h"
#include "os/file.h"
#include "os/path.h"
#include "store/workspace.h"
#include "wall/plan_internal.h"

#include <libgen.h>

/* Makes a copy of the file `in`, or a link to `from`, in place of what an earlier start has made.
 */
static int put(int dir, const char *name, const char *from, bool copies, int in)
{
    (void)unlinkat(dir, name, 0);
    if (!copies)
        return symlinkat(from, dir, name) == 0 || errno == EEXIST ? 0 : -1;
    return plan_copy_file(dir, name, in);
}

/* Adds one entry of a preset's wall.home. */
static int add_entry(struct wall_plan *plan, const struct wall_subject *subject,
                     const struct wall_home *home, struct err *err)
{
    _cleanup_free_ char *from = mem_printf("%s/%s", plan->user_home, home->path);
    _cleanup_free_ char *above = mem_dup(home->path);
    _cleanup_free_ char *base = mem_dup(home->path);
    char *slash = strrchr(above, '/');
    bool copies = home->kind == WALL_HOME_COPY;
    _cleanup_close_ int fd = home->kind == WALL_HOME_OWN ? -1
                             : copies ? plan_open_copied(plan, subject, home->path, from)
                                      : plan_open(plan, from, O_PATH);

    if (home->kind != WALL_HOME_OWN && fd == -1)
        return 0;
    if (home->kind != WALL_HOME_OWN && slash != NULL)
        *slash = '\0';
    _cleanup_close_ int dir =
        plan_open_own(subject, home->kind == WALL_HOME_OWN || slash != NULL ? above : "");
    if (dir == -1 ||
        (home->kind != WALL_HOME_OWN && put(dir, basename(base), from, copies, fd) == -1))
        return err_errno(err, "cannot make '" WORKSPACE_HOME "/%s/%s'", subject->agent->id,
                         home->path);
    if (home->kind == WALL_HOME_WRITE || home->kind == WALL_HOME_READ)
        wall_plan_mount(plan, home->kind == WALL_HOME_READ ? WALL_MOUNT_READ : WALL_MOUNT_WRITE,
                        from, NULL, TAKE_FD(fd));
    return 0;
}

int plan_add_home_alone(struct wall_plan *plan, const struct wall_subject *subject, struct err *err)
{
    const struct wall_options *options = &subject->preset->wall;
    _cleanup_free_ char *part = mem_printf(WORKSPACE_HOME "/%s", subject->agent->id);
    _cleanup_close_ int tmp = plan_open_own(subject, WORKSPACE_HOME_TMP);
    int fd = plan_open_own(subject, "");

    if (tmp == -1 || fd == -1) {
        (void)err_errno(err, "cannot make '%s'", part);
        fd_closep(&fd);
        return -1;
    }
    plan_put_login(fd, subject);
    plan->user_home = plan->home;
    plan->home = workspace_path(subject->root, subject->id, part);
    wall_plan_mount(plan, WALL_MOUNT_WRITE, plan->home, NULL, fd);
    for (size_t i = 0; i < options->home_count && plan->user_home != NULL; i++)
        if (add_entry(plan, subject, &options->home[i], err) == -1)
            return -1;
    return 0;
}

/* Returns true if one path is the other or a directory above it. */
static bool is_related(const char *a, const char *b)
{
    size_t len = strlen(a), other = strlen(b);
    const char *longer = len < other ? b : a;

    len = len < other ? len : other;
    return strncmp(a, b, len) == 0 && (longer[len] == '\0' || longer[len] == '/');
}

/* Returns the part of the agent's home that a value names, NULL if it names none. A list of paths,
 * such as PATH, names where programs are. */
static const char *find_part(const struct wall_plan *plan, const struct wall_options *options,
                             const char *value)
{
    size_t len = strlen(plan->user_home);

    if (strncmp(value, plan->user_home, len) != 0 || value[len] != '/' ||
        strchr(value, ':') != NULL)
        return NULL;
    for (size_t i = 0; i < options->home_count; i++)
        if (is_related(value + len + 1, options->home[i].path))
            return value + len + 1;
    return NULL;
}

void plan_set_home_alone(struct wall_plan *plan, const struct wall_subject *subject)
{
    static const char *const others[] = {"TMP", "TEMP", "TEMPDIR"};
    _cleanup_free_ char *tmp = mem_printf("%s/" WORKSPACE_HOME_TMP, plan->home);

    for (char **e = plan->env; plan->user_home != NULL && e != NULL && *e != NULL; e++) {
        const char *value = strchr(*e, '=');
        const char *part =
            value != NULL ? find_part(plan, &subject->preset->wall, value + 1) : NULL;
        if (part == NULL)
            continue;
        char *moved = mem_printf("%.*s=%s/%s", (int)(value - *e), *e, plan->home, part);
        free(*e);
        *e = moved;
    }
    env_put(&plan->env, "HOME", plan->home);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        const char *value = env_get(plan->env, others[i]);
        if (value != NULL && !wall_plan_has(plan, value)) /* as in the case of /tmp itself */
            env_drop(plan->env, others[i]);
    }
    env_put(&plan->env, "TMPDIR", tmp);
}
