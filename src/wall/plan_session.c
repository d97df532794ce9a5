/*
 * The part of wall/plan.h for what an agent has in its session, and of the user's home. What a
 * session has is opened beneath its workspace, and what it need not have may be missing. The home
 * is empty but for what the preset names. What the preset adds to a file of the user is merged in
 * memory; if that file is no strict JSON it goes in as it is, and the plan says what is lacking
 * then.
 */

#include "base/env.h"
#include "base/json.h"
#include "code/repo.h"
#include "os/file.h"
#include "os/path.h"
#include "store/workspace.h"
#include "wall/plan_internal.h"

enum { COPY_MAX = 16 << 20 };

/* Adds a part of the workspace, or of the root in legacy mode, at its own path. */
static int add_part(struct wall_plan *plan, const struct wall_subject *subject, const char *part,
                    enum wall_mount_kind kind, struct err *err)
{
    _cleanup_free_ char *path = placement_path(subject->root, subject->id, subject->mode, part);
    int fd = placement_open(subject->root, subject->dir, subject->mode, part);

    if (fd == -1)
        return err_errno(err, "cannot open '%s'", path);
    wall_plan_mount(plan, kind, path, NULL, fd);
    return 0;
}

/* Adds something in the workspace itself. What is missing is left out, unless it must be there. */
static int add_own(struct wall_plan *plan, const struct wall_subject *subject, const char *part,
                   enum wall_mount_kind kind, bool must, struct err *err)
{
    _cleanup_free_ char *path = workspace_path(subject->root, subject->id, part);
    int fd = path_open_beneath(subject->dir, part, O_PATH);

    if (fd == -1)
        return must ? err_errno(err, "cannot open '%s'", path) : 0;
    wall_plan_mount(plan, kind, path, NULL, fd);
    return 0;
}

/* Adds the repository of the agent, or the view, and what they borrow their objects from. */
static int add_code(struct wall_plan *plan, const struct wall_subject *subject, struct err *err)
{
    const char *name = repo_dir_of(subject->team, subject->agent);
    bool writes = subject->agent->code == AGENT_CODE_WORKTREE;

    if (name == NULL)
        return 0;
    _cleanup_free_ char *tree = mem_printf(CODE_DIR "/%s", name);
    if (add_own(plan, subject, CODE_GIT, WALL_MOUNT_READ, true, err) == -1 ||
        add_own(plan, subject, CODE_DIR "/" CODE_VIEW, WALL_MOUNT_READ, false, err) == -1)
        return -1;
    return writes ? add_own(plan, subject, tree, WALL_MOUNT_WRITE, true, err) : 0;
}

int plan_add_session(struct wall_plan *plan, const struct wall_subject *subject, struct err *err)
{
    _cleanup_free_ char *unit = subject->agent->team_units
                                    ? mem_dup(WORKSPACE_UNIT)
                                    : mem_printf(WORKSPACE_UNIT "/%s", subject->agent->id);
    _cleanup_free_ char *role =
        mem_printf(WORKSPACE_RUN "/%s" WORKSPACE_HOST_ROLE, subject->agent->id);
    _cleanup_free_ char *broker =
        mem_printf(WORKSPACE_RUN "/%s" WORKSPACE_HOST_AGENT, subject->agent->id);

    if (add_part(plan, subject, unit, WALL_MOUNT_WRITE, err) == -1 ||
        add_part(plan, subject, WORKSPACE_WORKFLOWS, WALL_MOUNT_READ, err) == -1 ||
        add_own(plan, subject, role, WALL_MOUNT_READ, false, err) == -1 ||
        add_own(plan, subject, broker, WALL_MOUNT_READ, false, err) == -1 ||
        add_code(plan, subject, err) == -1)
        return -1;
    _cleanup_free_ char *exe = path_exe();
    plan_add_program(plan, subject, exe, false); /* the commands of mas go to the agent's host */
    if (subject->enter == NULL || !preset_tells(subject->preset))
        return 0;
    _cleanup_free_ char *told = plan_beside(subject->enter, "mas-told");
    plan_add_program(plan, subject, told, false); /* and so does what the hooks tell */
    return 0;
}

/* ---- the home */

static int open_user_file(struct wall_plan *plan, const char *path)
{
    struct stat st;
    int fd = plan_open(plan, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);

    if (fd == -1 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= COPY_MAX))
        return fd;
    (void)close(fd);
    return -1;
}

/* Returns what the preset adds to this file, which the caller frees; NULL: nothing. */
static char *read_added(const struct wall_subject *subject, const char *name)
{
    _cleanup_free_ char *path =
        mem_printf(WORKSPACE_RUN "/%s" WORKSPACE_HOST_ROLE "/" WORKSPACE_ROLE_HOME "/%s",
                   subject->agent->id, name);
    _cleanup_close_ int fd = path_open_beneath(subject->dir, path, O_RDONLY | O_NOCTTY);
    struct err ignored = ERR_INIT;
    char *text = NULL;
    size_t len = 0;

    if (fd != -1)
        (void)file_read_stream(fd, path, JSON_MERGED_MAX, &text, &len, &ignored);
    return text;
}

/* Returns a file in memory of what is added and what the user has, which is closed; or the user's
 * own file, if that is no JSON object. */
static int add_to_file(struct wall_plan *plan, int users, const char *name, const char *added)
{
    _cleanup_close_ int own = users;
    _cleanup_free_ char *old = NULL;
    _cleanup_str_ struct str merged = STR_INIT;
    struct err err = ERR_INIT;
    size_t len = 0;

    if (own != -1 && (file_read_stream(own, name, JSON_MERGED_MAX, &old, &len, &err) == -1 ||
                      lseek(own, 0, SEEK_SET) == -1 || !json_merge(added, old, &merged))) {
        _cleanup_free_ char *words =
            mem_printf("its program may not tell what it does, or ask again whether its directory "
                       "is to be trusted: %s is no strict JSON",
                       name);
        plan_lack_too(plan, words);
        return TAKE_FD(own);
    }
    const char *text = own != -1 ? merged.data : added;
    int fd = file_in_memory("added");
    if (fd == -1 || (file_write_all(fd, text, strlen(text)) == 0 && lseek(fd, 0, SEEK_SET) == 0))
        return fd;
    (void)close(fd);
    return -1;
}

int plan_open_copied(struct wall_plan *plan, const struct wall_subject *subject, const char *name,
                     const char *path)
{
    _cleanup_free_ char *added = read_added(subject, name);
    int fd = open_user_file(plan, path);

    return added != NULL ? add_to_file(plan, fd, name, added) : fd;
}

int plan_add_home(struct wall_plan *plan, const struct wall_subject *subject, struct err *err)
{
    const struct wall_options *options = &subject->preset->wall;

    if (plan->home == NULL)
        return 0;
    if (!wall_plan_has(plan, plan->home)) {
        wall_plan_mount(plan, WALL_MOUNT_EMPTY, plan->home, NULL, -1);
        plan_add_login(plan, subject);
    }
    for (size_t i = 0; i < options->home_count; i++) {
        const struct wall_home *home = &options->home[i];
        _cleanup_free_ char *path = mem_printf("%s/%s", plan->home, home->path);
        enum wall_mount_kind kind = home->kind == WALL_HOME_READ   ? WALL_MOUNT_READ
                                    : home->kind == WALL_HOME_COPY ? WALL_MOUNT_COPY
                                                                   : WALL_MOUNT_WRITE;
        int fd = home->kind == WALL_HOME_OWN    ? plan_open_own(subject, home->path)
                 : home->kind == WALL_HOME_COPY ? plan_open_copied(plan, subject, home->path, path)
                                                : plan_open(plan, path, O_PATH);
        if (fd == -1 && home->kind == WALL_HOME_OWN)
            return err_errno(err, "cannot make '" WORKSPACE_HOME "/%s/%s'", subject->agent->id,
                             home->path);
        if (fd != -1)
            wall_plan_mount(plan, kind, path, NULL, fd);
    }
    return 0;
}
