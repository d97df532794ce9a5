/* The part of session/migrate.h that moves directories.
 *
 * With rename, a directory is either in the root or in the workspace. For another file system, mas
 * renames it from the root to <root>/.migrate-<id>/, copies it from there to .migrate in the
 * workspace, renames the copy when it is on disk, and then removes the original. So a directory
 * under its name in the workspace is always complete, and one that is both in the root and in the
 * workspace was put there by someone else. */
#include "base/file.h"
#include "base/path.h"
#include "base/tree.h"
#include "session/life_internal.h"
#include "store/placement.h"
#include "store/placement_stage.h"

#include <sys/syscall.h>

#define COPY ".migrate" /* in the workspace */

const char *const life_part_names[PARTS] = {WORKSPACE_UNIT, WORKSPACE_WORKFLOWS};

struct mover {
    const struct life *life;
    int dir; /* the workspace */
    char aside[sizeof MIGRATE_PREFIX + ID_TEXT];
};

static void mover_init(struct mover *mover, const struct life *life, int dir, const char *id)
{
    *mover = (struct mover){.life = life, .dir = dir};
    (void)snprintf(mover->aside, sizeof mover->aside, MIGRATE_PREFIX "%s", id);
}

static bool is_there(int at, const char *name)
{
    return faccessat(at, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_aside(const struct mover *mover, const char *part)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", mover->aside, part);
    return is_there(mover->life->root->fd, path);
}

/* Checks for visible obstacles to renaming it. */
static int check_part(const struct mover *mover, const char *part, struct err *err)
{
    const struct root *root = mover->life->root;
    struct statx st;

    if (is_there(mover->dir, part)) {
        (void)err_set(err, MAS_CONFLICT,
                      "cannot move '%s/%s': the session's workspace has a '%s' already", root->path,
                      part, part);
        return err_hint(err, "move that aside first: %s/sessions/%s/%s", root->path,
                        mover->aside + strlen(MIGRATE_PREFIX), part);
    }
    if (is_aside(mover, part))
        return err_set(err, MAS_CONFLICT, "cannot move '%s/%s': '%s/%s/%s' must move there first",
                       root->path, part, root->path, mover->aside, part);
    if (syscall(SYS_statx, root->fd, part, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) == 0 &&
        (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
        return err_set(err, MAS_FAILED, "cannot move '%s/%s': it is a mount point", root->path,
                       part);
    if (faccessat(root->fd, ".", W_OK, AT_EACCESS) == -1)
        return err_errno(err, "cannot move '%s/%s'", root->path, part);
    return 0;
}

int life_find_parts(const struct life *life, int dir, const char *id, struct life_part ret[PARTS],
                    struct err *err)
{
    struct mover mover;

    mover_init(&mover, life, dir, id);
    for (size_t i = 0; i < PARTS; i++) {
        int in_root = placement_root_has(life->root, life_part_names[i], err);
        if (in_root == -1 || (in_root == 1 && check_part(&mover, life_part_names[i], err) == -1))
            return -1;
        ret[i].there = in_root == 1 || is_aside(&mover, life_part_names[i]);
    }
    return 0;
}

/* Copies the set-aside directory into the workspace, completely or not at all. */
static int copy_across(const struct mover *mover, int aside, const char *part, struct err *err)
{
    struct stat st;
    _cleanup_free_ char *name = mem_printf("%s/%s", mover->aside, part);
    _cleanup_close_ int from = path_open_dir(aside, part);

    if (tree_remove(mover->dir, COPY, err) == -1)
        return -1;
    if (from == -1 || fstat(from, &st) == -1 || mkdirat(mover->dir, COPY, 0700) == -1)
        return err_errno(err, "cannot copy '%s'", name);
    _cleanup_close_ int to = path_open_dir(mover->dir, COPY);
    if (to == -1)
        return err_errno(err, "cannot copy '%s'", name);
    if (tree_copy(from, to, name, mover->life->tick, mover->life->tick_arg, err) == -1)
        return -1;
    if (fchmod(to, st.st_mode & 0777) == -1 || syncfs(to) == -1 ||
        path_rename_new(mover->dir, COPY, mover->dir, part) == -1)
        return err_errno(err, "cannot copy '%s'", name);
    return file_sync_dir(mover->dir, err);
}

/* Moves a part to another file system. */
static int move_across(const struct mover *mover, const char *part, struct err *err)
{
    const struct root *root = mover->life->root;
    struct err ignored = ERR_INIT;

    if (mkdirat(root->fd, mover->aside, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot create '%s/%s'", root->path, mover->aside);
    _cleanup_close_ int aside = path_open_dir(root->fd, mover->aside);
    if (aside == -1)
        return err_errno(err, "cannot open '%s/%s'", root->path, mover->aside);
    if (!is_there(aside, part) && path_rename_new(root->fd, part, aside, part) == -1) {
        (void)err_errno(err, "cannot move '%s/%s'", root->path, part);
        (void)unlinkat(root->fd, mover->aside, AT_REMOVEDIR);
        return -1;
    }
    if (!is_there(mover->dir, part) &&
        (file_sync_dir(aside, err) == -1 || file_sync_dir(root->fd, err) == -1 ||
         copy_across(mover, aside, part, err) == -1)) {
        (void)tree_remove(mover->dir, COPY, &ignored);
        if (!is_there(mover->dir, part))
            (void)path_rename_new(aside, part, root->fd, part);
        (void)unlinkat(root->fd, mover->aside, AT_REMOVEDIR);
        return -1;
    }
    if (tree_remove(aside, part, err) == -1)
        return -1;
    (void)unlinkat(root->fd, mover->aside, AT_REMOVEDIR); /* fails until the last part is moved */
    return 0;
}

static int move_part(const struct mover *mover, const char *part, struct err *err)
{
    const struct root *root = mover->life->root;

    if (is_aside(mover, part))
        return move_across(mover, part, err);
    if (!is_there(root->fd, part))
        return 0;
    if (path_rename_new(root->fd, part, mover->dir, part) == -1) {
        if (errno == EXDEV)
            return move_across(mover, part, err);
        return err_errno(err, "cannot move '%s/%s'", root->path, part);
    }
    return file_sync_dir(mover->dir, err) == -1 || file_sync_dir(root->fd, err) == -1 ? -1 : 0;
}

int life_move_parts(const struct life *life, int dir, const char *id, struct err *err)
{
    struct mover mover;

    mover_init(&mover, life, dir, id);
    for (size_t i = 0; i < PARTS; i++)
        if (move_part(&mover, life_part_names[i], err) == -1)
            return -1;
    for (size_t i = 0; i < PARTS; i++)
        if (fchmodat(dir, life_part_names[i], 0755, 0) == -1 && errno != ENOENT)
            return err_errno(err, "cannot set the mode of '%s'", life_part_names[i]);
    if (unlinkat(life->root->fd, mover.aside, AT_REMOVEDIR) == -1 && errno != ENOENT)
        return err_errno(err, "cannot remove '%s/%s'", life->root->path, mover.aside);
    return 0;
}

void life_move_back(const struct life *life, int dir)
{
    struct err ignored = ERR_INIT;

    for (size_t i = 0; i < PARTS; i++)
        (void)path_rename_new(dir, life_part_names[i], life->root->fd, life_part_names[i]);
    (void)file_sync_dir(life->root->fd, &ignored);
}

bool life_is_half_moved(const struct life *life, int dir, const struct session *session)
{
    struct mover mover;

    if (!placement_is_shared(session->mode) || session->migrating == MIGRATING_NO)
        return false;
    mover_init(&mover, life, dir, session->id);
    bool moved = is_there(life->root->fd, mover.aside);
    for (size_t i = 0; i < PARTS; i++)
        moved = moved || is_there(dir, life_part_names[i]);
    return moved;
}

int life_migrate_first(const struct life *life, const char *what, const char *id, struct err *err)
{
    const struct session_label label = session_label(life->root, id);

    (void)err_set(err, MAS_CONFLICT, "cannot %s session '%s': its migration was interrupted", what,
                  label.text);
    return err_hint(err, "continue it with: mas migrate %s", label.text);
}
