#include "store/legacy_stage.h"

#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "store/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int legacy_has(const struct root *root, const char *part, struct err *err)
{
    struct stat st;
    _cleanup_close_ int fd = path_open_beneath(root->fd, part, O_PATH | O_DIRECTORY);

    if (fd != -1 || errno == ENOENT)
        return fd != -1;
    int saved = errno;
    if (fstatat(root->fd, part, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode))
        return err_set(err, MAS_FAILED, "cannot use '%s/%s': it is %s", root->path, part,
                       path_type_name(st.st_mode));
    errno = saved;
    return err_errno(err, "cannot use '%s/%s'", root->path, part);
}

static void staging_name(const struct legacy_parts *parts,
                         char buf[sizeof STAGING_PREFIX + ID_TEXT])
{
    memcpy(buf, STAGING_PREFIX, sizeof STAGING_PREFIX - 1);
    memcpy(buf + sizeof STAGING_PREFIX - 1, parts->id, ID_TEXT);
}

/* Creates and locks the directory in which the parts are built, under the metadata lock, so that a
 * sweep never sees it unlocked. */
static int open_staging(const struct root *root, struct legacy_parts *parts, struct err *err)
{
    char name[sizeof STAGING_PREFIX + ID_TEXT];
    _cleanup_close_ int lock = -1;

    if (parts->dir != -1)
        return 0;
    if (id_make(parts->id, err) == -1 || root_lock(root, &lock, err) == -1)
        return -1;
    staging_name(parts, name);
    parts->root = root->fd;
    if (mkdirat(root->fd, name, 0700) == -1)
        return err_errno(err, "cannot make '%s/%s'", root->path, name);
    parts->dir = path_open_dir(root->fd, name);
    if (parts->dir == -1) {
        (void)err_errno(err, "cannot open '%s/%s'", root->path, name);
        (void)unlinkat(root->fd, name, AT_REMOVEDIR);
        return -1;
    }
    return workspace_lock(parts->dir, LOCK_TRY, "new", &parts->lock, err);
}

/* Copies one directory of the template; if the template has none, creates an empty one. */
static int copy_part(const struct root *root, const struct template *tmpl, const char *part,
                     tree_tick *tick, void *arg, struct legacy_parts *parts, struct err *err)
{
    _cleanup_free_ char *name = mem_printf("%s/%s", tmpl->path, part);

    if (open_staging(root, parts, err) == -1)
        return -1;
    if (strchr(part, '/') != NULL && mkdirat(parts->dir, WORKSPACE_UNIT, 0700) == -1 &&
        errno != EEXIST)
        return err_errno(err, "cannot make '%s'", WORKSPACE_UNIT);
    if (mkdirat(parts->dir, part, 0700) == -1)
        return err_errno(err, "cannot make '%s'", part);
    _cleanup_close_ int to = path_open_beneath(parts->dir, part, O_RDONLY | O_DIRECTORY);
    _cleanup_close_ int from = path_open_beneath(tmpl->fd, part, O_RDONLY | O_DIRECTORY);
    if (from == -1 && errno != ENOENT)
        return err_errno(err, "cannot open '%s'", name);
    if (to == -1)
        return err_errno(err, "cannot open '%s'", part);
    if (from != -1 && tree_copy(from, to, name, tick, arg, err) == -1)
        return -1;
    if (fchmod(to, 0755) == -1)
        return err_errno(err, "cannot set the mode of '%s'", part);
    strv_push(&parts->paths, part);
    return 0;
}

int legacy_stage(const struct root *root, const struct template *tmpl, tree_tick *tick, void *arg,
                 struct legacy_parts *ret, struct err *err)
{
    int unit = legacy_has(root, WORKSPACE_UNIT, err);
    int workflows = unit != -1 ? legacy_has(root, WORKSPACE_WORKFLOWS, err) : -1;

    if (workflows == -1 ||
        (unit == 0 && copy_part(root, tmpl, WORKSPACE_UNIT, tick, arg, ret, err) == -1))
        return -1;
    for (size_t i = 0; i < tmpl->team.agent_count; i++) {
        _cleanup_free_ char *part = mem_printf("%s/%s", WORKSPACE_UNIT, tmpl->team.agents[i].id);
        int there = unit == 1 ? legacy_has(root, part, err) : 1;
        if (there == -1 || (there == 0 && copy_part(root, tmpl, part, tick, arg, ret, err) == -1))
            return -1;
        if (unit == 0 && fchmodat(ret->dir, part, 0755, 0) == -1)
            return err_errno(err, "cannot set the mode of '%s'", part);
    }
    if (workflows == 0 && copy_part(root, tmpl, WORKSPACE_WORKFLOWS, tick, arg, ret, err) == -1)
        return -1;
    if (ret->dir != -1 && syncfs(ret->dir) == -1)
        return err_errno(err, "cannot make '%s' and '%s' durable", WORKSPACE_UNIT,
                         WORKSPACE_WORKFLOWS);
    return 0;
}

int legacy_check_unit(const struct root *root, const struct session *session,
                      const struct legacy_parts *parts, struct err *err)
{
    bool made = parts->paths != NULL && strcmp(parts->paths[0], WORKSPACE_UNIT) == 0;
    int there = made ? session->migrating == MIGRATING_NO : legacy_has(root, WORKSPACE_UNIT, err);

    if (there != 0)
        return there == 1 ? 0 : -1;
    return err_set(err, MAS_CONFLICT, "cannot make session '%s': '%s/%s' was moved just now",
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

int legacy_place(struct legacy_parts *parts, struct err *err)
{
    for (char **part = parts->paths; part != NULL && *part != NULL; part++) {
        const char *name;
        _cleanup_close_ int to = open_place(parts->root, *part, &name);
        if (to == -1 || renameat2(parts->dir, *part, to, name, RENAME_NOREPLACE) == -1) {
            if (errno == EEXIST)
                return err_set(err, MAS_CONFLICT, "cannot make '%s': it was made just now", *part);
            return err_errno(err, "cannot put '%s' in place", *part);
        }
        parts->placed++;
        if (file_sync_dir(to, err) == -1)
            return -1;
    }
    return 0;
}

void legacy_undo(struct legacy_parts *parts)
{
    while (parts->placed > 0) {
        const char *part = parts->paths[--parts->placed];
        const char *name;
        _cleanup_close_ int from = open_place(parts->root, part, &name);
        if (from != -1)
            (void)renameat2(from, name, parts->dir, part, RENAME_NOREPLACE);
    }
}

void legacy_release(struct legacy_parts *parts)
{
    char name[sizeof STAGING_PREFIX + ID_TEXT];
    struct err ignored = ERR_INIT;

    if (parts->dir != -1) {
        staging_name(parts, name);
        (void)tree_remove(parts->root, name, &ignored);
    }
    fd_closep(&parts->dir);
    fd_closep(&parts->lock);
    strv_free(parts->paths);
    *parts = (struct legacy_parts)LEGACY_PARTS_INIT;
}
