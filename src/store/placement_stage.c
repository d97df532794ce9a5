/*
 * What is missing is looked up without a lock, and copied without one; only the directory for it is
 * made under the metadata lock, when the first part needs it. So another command may come first:
 * placement_stage_check() looks again, and a rename never replaces anything. `placed` counts what
 * is in place, and undoing takes that many back, the last one first.
 */

#include "store/placement_stage.h"

#include "os/file.h"
#include "os/path.h"
#include "store/workspace.h"

int placement_root_has(const struct root *root, const char *part, struct err *err)
{
    struct stat st;
    _cleanup_close_ int fd = path_open_beneath(root->fd, part, PATH_PLACE);

    if (fd != -1 || errno == ENOENT)
        return fd != -1;
    int saved = errno;
    if (fstatat(root->fd, part, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode))
        return err_set(err, MAS_FAILED, "cannot use '%s/%s': it is %s", root->path, part,
                       path_type_name(st.st_mode));
    errno = saved;
    return err_errno(err, "cannot use '%s/%s'", root->path, part);
}

int placement_missing(const struct root *root, enum mode mode, const struct team *team, char ***ret,
                      struct err *err)
{
    _cleanup_strv_ char **missing = NULL;
    bool is_shared = placement_is_shared(mode);
    int unit = is_shared ? placement_root_has(root, WORKSPACE_UNIT, err) : 0;
    int workflows =
        is_shared && unit != -1 ? placement_root_has(root, WORKSPACE_WORKFLOWS, err) : 0;

    if (unit == -1 || workflows == -1)
        return -1;
    if (unit == 0)
        strv_push(&missing, WORKSPACE_UNIT);
    for (size_t i = 0; unit == 1 && i < team->agent_count; i++) {
        _cleanup_free_ char *part = mem_printf("%s/%s", WORKSPACE_UNIT, team->agents[i].id);
        int there = placement_root_has(root, part, err);
        if (there == -1)
            return -1;
        if (there == 0)
            strv_push(&missing, part);
    }
    if (workflows == 0)
        strv_push(&missing, WORKSPACE_WORKFLOWS);
    *ret = TAKE_PTR(missing);
    return 0;
}

static void staging_name(const struct placement_stage *stage,
                         char buf[sizeof STAGING_PREFIX + ID_TEXT])
{
    memcpy(buf, STAGING_PREFIX, sizeof STAGING_PREFIX - 1);
    memcpy(buf + sizeof STAGING_PREFIX - 1, stage->id, ID_TEXT);
}

/* Creates and locks the directory in which the parts are built, under the metadata lock, so that a
 * sweep never sees it unlocked. */
static int open_staging(const struct root *root, struct placement_stage *stage, struct err *err)
{
    char name[sizeof STAGING_PREFIX + ID_TEXT];
    _cleanup_close_ int lock = -1;

    if (stage->dir != -1)
        return 0;
    if (id_make(stage->id, err) == -1 || root_lock(root, &lock, err) == -1)
        return -1;
    staging_name(stage, name);
    stage->root = root->fd;
    if (mkdirat(root->fd, name, 0700) == -1)
        return err_errno(err, "cannot create '%s/%s'", root->path, name);
    stage->dir = path_open_dir(root->fd, name);
    if (stage->dir == -1) {
        (void)err_errno(err, "cannot open '%s/%s'", root->path, name);
        (void)unlinkat(root->fd, name, AT_REMOVEDIR);
        return -1;
    }
    return workspace_lock(stage->dir, LOCK_TRY, "new", &stage->lock, err);
}

/* Copies one directory of the template; if the template has none, creates an empty one. */
static int copy_part(const struct root *root, const struct template *tmpl, const char *part,
                     tree_tick *tick, void *arg, struct placement_stage *stage, struct err *err)
{
    _cleanup_free_ char *name = mem_printf("%s/%s", tmpl->path, part);

    if (open_staging(root, stage, err) == -1)
        return -1;
    if (strchr(part, '/') != NULL && mkdirat(stage->dir, WORKSPACE_UNIT, 0700) == -1 &&
        errno != EEXIST)
        return err_errno(err, "cannot create '%s'", WORKSPACE_UNIT);
    if (mkdirat(stage->dir, part, 0700) == -1)
        return err_errno(err, "cannot create '%s'", part);
    _cleanup_close_ int to = path_open_beneath(stage->dir, part, O_RDONLY | O_DIRECTORY);
    _cleanup_close_ int from = path_open_beneath(tmpl->fd, part, O_RDONLY | O_DIRECTORY);
    if (from == -1 && errno != ENOENT)
        return err_errno(err, "cannot open '%s'", name);
    if (to == -1)
        return err_errno(err, "cannot open '%s'", part);
    if (from != -1 && tree_copy(from, to, name, tick, arg, err) == -1)
        return -1;
    if (fchmod(to, 0755) == -1)
        return err_errno(err, "cannot set the mode of '%s'", part);
    strv_push(&stage->paths, part);
    return 0;
}

int placement_set_modes(int dir, const struct team *team, struct err *err)
{
    for (size_t i = 0; i < team->agent_count; i++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", WORKSPACE_UNIT, team->agents[i].id);
        if (fchmodat(dir, path, 0755, 0) == -1)
            return err_errno(err, "cannot set the mode of '%s'", path);
    }
    return 0;
}

int placement_stage(const struct root *root, const struct template *tmpl, tree_tick *tick,
                    void *arg, struct placement_stage *ret, struct err *err)
{
    _cleanup_strv_ char **missing = NULL;

    if (placement_missing(root, MODE_LEGACY, &tmpl->team, &missing, err) == -1)
        return -1;
    for (char **part = missing; part != NULL && *part != NULL; part++)
        if (copy_part(root, tmpl, *part, tick, arg, ret, err) == -1 ||
            (strcmp(*part, WORKSPACE_UNIT) == 0 &&
             placement_set_modes(ret->dir, &tmpl->team, err) == -1))
            return -1;
    if (ret->dir != -1 && file_sync_all(ret->dir) == -1)
        return err_errno(err, "cannot sync '%s' and '%s'", WORKSPACE_UNIT, WORKSPACE_WORKFLOWS);
    return 0;
}

int placement_stage_check(const struct root *root, const struct session *session,
                          const struct placement_stage *stage, struct err *err)
{
    if (!placement_is_shared(session->mode))
        return 0;
    bool made = stage->paths != NULL && strcmp(stage->paths[0], WORKSPACE_UNIT) == 0;
    int there =
        made ? session->migrating == MIGRATING_NO : placement_root_has(root, WORKSPACE_UNIT, err);

    if (there != 0)
        return there == 1 ? 0 : -1;
    return err_set(err, MAS_CONFLICT,
                   "cannot create session '%s': another command has just moved '%s/%s'",
                   session->id, root->path, WORKSPACE_UNIT);
}

/* Returns the directory that a part goes into, and its name there. -1 with errno. */
static int open_place(int root, const char *part, const char **ret_name)
{
    const char *slash = strchr(part, '/');
    _cleanup_free_ char *dir =
        slash != NULL ? mem_dupn(part, (size_t)(slash - part)) : mem_dup(".");

    *ret_name = slash != NULL ? slash + 1 : part;
    return path_open_beneath(root, dir, O_RDONLY | O_DIRECTORY);
}

int placement_stage_place(struct placement_stage *stage, struct err *err)
{
    for (char **part = stage->paths; part != NULL && *part != NULL; part++) {
        const char *name;
        _cleanup_close_ int to = open_place(stage->root, *part, &name);
        if (to == -1 || path_rename_new(stage->dir, *part, to, name) == -1) {
            if (errno == EEXIST)
                return err_set(err, MAS_CONFLICT,
                               "cannot create '%s': another command has just created it", *part);
            return err_errno(err, "cannot put '%s' in place", *part);
        }
        stage->placed++;
        if (file_sync_dir(to, err) == -1)
            return -1;
    }
    return 0;
}

void placement_stage_undo(struct placement_stage *stage)
{
    while (stage->placed > 0) {
        const char *part = stage->paths[--stage->placed];
        const char *name;
        _cleanup_close_ int from = open_place(stage->root, part, &name);
        if (from != -1)
            (void)path_rename_new(from, name, stage->dir, part);
    }
}

void placement_stage_release(struct placement_stage *stage)
{
    char name[sizeof STAGING_PREFIX + ID_TEXT];
    struct err ignored = ERR_INIT;

    if (stage->dir != -1) {
        staging_name(stage, name);
        (void)tree_remove(stage->root, name, &ignored);
    }
    fd_closep(&stage->dir);
    fd_closep(&stage->lock);
    strv_free(stage->paths);
    *stage = (struct placement_stage)PLACEMENT_STAGE_INIT;
}
