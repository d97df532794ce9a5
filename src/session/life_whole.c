/*
 * Workspaces that are not whole: those whose directories a migration moves, those that are
 * incomplete, and those that were found damaged.
 */
#include "client/survey.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"
#include "session/life_internal.h"
#include "store/placement.h"
#include "store/placement_stage.h"
#include "store/snapshot.h"
#include "store/stage.h"
#include "store/team_file.h"
#include "store/template.h"
#include "store/workspace.h"
#include "tmux/tmux.h"

/* ---- half moved, by a migration (session/migrate.h)
 *
 * With rename, a directory is either in the root or in the workspace. For another file system, mas
 * renames it from the root to <root>/.migrate-<id>/, copies it from there to .migrate in the
 * workspace, renames the copy when it is on disk, and then removes the original. So a directory
 * under its name in the workspace is always complete, and one that is both in the root and in the
 * workspace was put there by someone else. */

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
    if (path_is_mount(root->fd, part))
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
    if (fchmod(to, st.st_mode & 0777) == -1 || file_sync_all(to) == -1 ||
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

/* ---- incomplete, or damaged */

/* A directory to fill, and a copy of the template's next to it. */
struct gap {
    const char *part; /* unit or workflows */
    int to; /* PATH_PLACE */
    int from;
    size_t made;
};

/* Opens the session's unit/ or workflows/ and creates it if it is missing. Returns a PATH_PLACE
 * descriptor, or -1 with errno. */
static int open_part(const struct life *life, int dir, const struct session *session,
                     const char *part)
{
    int at = placement_dir(life->root, dir, session->mode);

    if (mkdirat(at, part, 0755) == 0 && fchmodat(at, part, 0755, 0) == -1)
        return -1;
    return placement_open(life->root, dir, session->mode, part);
}

/* Moves what the session's directory lacks from the copy; never overwrites anything. */
static int move_missing(struct gap *gap, struct err *err)
{
    _cleanup_strv_ char **names = NULL;

    if (path_list(gap->from, &names, err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++) {
        if (path_rename_new(gap->from, *name, gap->to, *name) == 0)
            gap->made++;
        else if (errno != EEXIST)
            return err_errno(err, "cannot create '%s/%s'", gap->part, *name);
    }
    _cleanup_close_ int to = openat(gap->to, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (to == -1)
        return err_errno(err, "cannot open '%s'", gap->part);
    return gap->made > 0 ? file_sync_dir(to, err) : 0;
}

/* Returns true if the directory has all entries of the template's. */
static bool is_whole(const struct template *tmpl, const struct gap *gap)
{
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;
    _cleanup_close_ int from = path_open_beneath(tmpl->fd, gap->part, O_RDONLY | O_DIRECTORY);

    if (from == -1)
        return errno == ENOENT;
    if (path_list(from, &names, &ignored) == -1)
        return false;
    for (char **name = names; *name != NULL; name++)
        if (faccessat(gap->to, *name, F_OK, AT_SYMLINK_NOFOLLOW) == -1)
            return false;
    return true;
}

/* Fills both directories of the session open at `dir` from a workspace that is staged only for
 * this. A kill leaves files for the next sweep, and the directory of each agent is either complete
 * or missing. */
static int fill(const struct life *life, int dir, const struct template *tmpl, struct gap gaps[2],
                struct err *err)
{
    _cleanup_session_ struct session none = SESSION_INIT;
    _cleanup_stage_ struct stage stage = STAGE_INIT;
    int rc = 0;

    if (is_whole(tmpl, &gaps[0]) && is_whole(tmpl, &gaps[1]))
        return 0;
    if (id_make(none.id, err) == -1)
        return -1;
    none.tmux_name = session_tmux_name(none.id, session_name_digits[0]);
    none.tmux_socket = mem_dup("/");
    none.name = mem_dup("");
    none.template = mem_dup(tmpl->name);
    none.error = mem_dup("");
    if (workspace_stage(life->root, life->config, &none, tmpl, dir, life->tick, life->tick_arg,
                        &stage, err) == -1)
        return -1;
    rc = workspace_complete(life->root, stage.dir, err); /* regardless of [workspace] lazy */
    for (size_t i = 0; rc == 0 && i < 2; i++) {
        gaps[i].from = path_open_dir(stage.dir, gaps[i].part);
        rc = gaps[i].from == -1 ? err_errno(err, "cannot open '%s'", gaps[i].part)
                                : move_missing(&gaps[i], err);
    }
    workspace_discard(life->root, &stage);
    return rc;
}

/* Checks that every agent of the team has its directory. Returns 1 with *err set if one has
 * none. */
static int check_team(const struct team *team, const struct session *session, int unit,
                      struct err *err)
{
    for (size_t i = 0; i < team->agent_count; i++) {
        const char *id = team->agents[i].id;
        _cleanup_close_ int fd = path_open_beneath(unit, id, PATH_PLACE);
        if (fd == -1 && errno == ENOENT) {
            (void)err_set(err, MAS_FAILED, "template '%s' has no directory for agent %s",
                          session->template, id);
            return 1;
        }
        if (fd == -1)
            return err_errno(err, "cannot open the directory of agent %s", id);
    }
    return 0;
}

/* The state of life_fill(). */
struct fill_job {
    const struct life *life;
    const struct session *session;
    int dir;
    struct team team;
    struct gap gaps[2];
};

/* Without the template, uses the snapshot; returns 1 if that is not enough. */
static int fill_alone(struct fill_job *f, struct err *err)
{
    const struct root *root = f->life->root;

    for (size_t i = 0; i < 2; i++) {
        struct gap *gap = &f->gaps[i];
        gap->to = placement_open(root, f->dir, f->session->mode, gap->part);
        if (gap->to == -1)
            return errno == ENOENT ? 1 : err_errno(err, "cannot open its %s", gap->part);
        /* units first: create those that can be created */
        if (i > 0)
            continue;
        if (snapshot_look(root, f->dir, &f->team) == SNAPSHOT_GONE)
            return 1;
        if (snapshot_make_all(root, f->dir, &f->team, NULL, err) == -1)
            return -1;
    }
    return check_team(&f->team, f->session, f->gaps[0].to, err);
}

static int fill_from(struct fill_job *f, const struct template *tmpl, struct err *err)
{
    const struct life *life = f->life;

    for (size_t i = 0; i < 2; i++) {
        f->gaps[i].to = open_part(life, f->dir, f->session, f->gaps[i].part);
        if (f->gaps[i].to == -1)
            return err_errno(err, "cannot open its %s", f->gaps[i].part);
    }
    /* first the deferred units, from the template as it was */
    bool gone = snapshot_look(life->root, f->dir, &f->team) == SNAPSHOT_GONE;
    if (snapshot_make_all(life->root, f->dir, &f->team, gone ? tmpl : NULL, err) == -1 ||
        fill(life, f->dir, tmpl, f->gaps, err) == -1)
        return -1;
    if (f->gaps[0].made + f->gaps[1].made > 0)
        workspace_log(f->dir, config_log_limits(life->config), "fill unit=%zu workflows=%zu",
                      f->gaps[0].made, f->gaps[1].made);
    return check_team(&f->team, f->session, f->gaps[0].to, err) == 0 ? 0 : -1;
}

static int fill_held(struct fill_job *f, struct err *err)
{
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;
    struct err why = ERR_INIT;

    if (team_file_load(f->dir, &f->team, err) == -1)
        return -1;
    if (template_open(f->life->root, f->session->template, &tmpl, &why) == 0)
        return fill_from(f, &tmpl, err);
    /* an unreadable template may contain what this session lacks */
    bool alone = why.code == MAS_NOT_FOUND || snapshot_is_held(f->dir);
    int rc = alone ? fill_alone(f, err) : 1;
    if (rc == 1)
        *err = why;
    return rc == 0 ? 0 : -1;
}

int life_fill(const struct life *life, const char *id, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = -1;
    _cleanup_close_ int lock = -1;

    if (life_hold(life, id, LOCK_TRY, "fill", &dir, &lock, err) == -1 ||
        life_load(life, dir, id, "fill", &session, err) == -1)
        return -1;
    if (life_is_half_moved(life, dir, &session))
        return life_migrate_first(life, "fill", id, err);
    struct fill_job f = {.life = life,
                         .session = &session,
                         .dir = dir,
                         .team = TEAM_INIT,
                         .gaps = {{.part = WORKSPACE_UNIT, .to = -1, .from = -1},
                                  {.part = WORKSPACE_WORKFLOWS, .to = -1, .from = -1}}};
    int rc = fill_held(&f, err);
    for (size_t i = 0; i < 2; i++) {
        fd_closep(&f.gaps[i].to);
        fd_closep(&f.gaps[i].from);
    }
    team_free(&f.team);
    return rc == -1 ? err_wrap(err, "cannot fill session '%s'", session_label(life->root, id).text)
                    : 0;
}

int life_mark(const struct life *life, const char *id, const char *why, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = -1;
    _cleanup_close_ int lock = -1;
    _cleanup_str_ struct str before = STR_INIT;
    struct tmux_session *live = NULL;

    if (strlen(why) > LIFE_WHY_MAX || !str_is_utf8(why, strlen(why)) || str_has_control(why))
        return err_set(
            err, MAS_USAGE,
            "cannot mark session '%s': the reason must be one line of UTF-8 of at most %d bytes",
            session_label(life->root, id).text, LIFE_WHY_MAX);
    if (life_hold(life, id, LOCK_TRY, "mark", &dir, &lock, err) == -1 ||
        life_load(life, dir, id, "mark", &session, err) == -1 ||
        survey_find_live(life->root, session.tmux_socket, id, &live, err) == -1)
        return -1;
    tmux_sessions_free(live, live != NULL);
    if (live != NULL) {
        (void)err_set(err, MAS_CONFLICT, "cannot mark session '%s': it is running",
                      session_label(life->root, id).text);
        return err_hint(err, "stop it first with: mas stop %s", session_label(life->root, id).text);
    }
    session_format(life->root, &session, &before);
    free(session.error);
    session.error = mem_dup(why);
    session.status = STATUS_ERROR;
    if (life_record(life, dir, &session, err) == -1) {
        life_undo_record(life, dir, id, &before);
        return -1;
    }
    workspace_log(dir, config_log_limits(life->config), "error %s", why);
    return 0;
}

int life_set_name(const struct life *life, const char *id, const char *name, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = -1;
    _cleanup_close_ int lock = -1;
    _cleanup_close_ int metadata_lock = -1;
    _cleanup_str_ struct str before = STR_INIT;
    struct tmux_session *live = NULL;
    struct err ignored = ERR_INIT;
    const char *want = name[0] != '\0' ? session_check_name(name) : NULL;

    if (want != NULL)
        return err_set(err, MAS_USAGE, "cannot use name '%s': %s", name, want);
    if (life_hold(life, id, LOCK_TRY, "set", &dir, &lock, err) == -1 ||
        life_load(life, dir, id, "set", &session, err) == -1)
        return -1;
    session_format(life->root, &session, &before);
    _cleanup_free_ char *was = mem_dup(session.name);
    if (root_lock(life->root, &metadata_lock, err) == -1 ||
        life_give_name(life, &session, name, err) == -1 ||
        session_save(life->root, dir, &session, err) == -1)
        return -1;
    int rc = index_update(life->root, id, &session, err);
    fd_closep(&metadata_lock);
    if (rc == -1) {
        life_undo_record(life, dir, id, &before);
        return -1;
    }
    workspace_log(dir, config_log_limits(life->config), "set name=%s", name);
    if (survey_find_live(life->root, session.tmux_socket, id, &live, &ignored) == 0 && live != NULL)
        (void)tmux_set_name(session.tmux_socket, live->target, was, name, &ignored);
    tmux_sessions_free(live, live != NULL);
    return 0;
}

int life_set_private(const struct life *life, const char *id, bool private, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = -1;
    _cleanup_close_ int lock = -1;
    _cleanup_str_ struct str before = STR_INIT;

    if (life_hold(life, id, LOCK_TRY, "set", &dir, &lock, err) == -1 ||
        life_load(life, dir, id, "set", &session, err) == -1)
        return -1;
    if (session.private == private)
        return 0;
    session_format(life->root, &session, &before);
    session.private = private;
    if (life_record(life, dir, &session, err) == -1) {
        life_undo_record(life, dir, id, &before);
        return -1;
    }
    workspace_log(dir, config_log_limits(life->config), "set private=%s", private ? "yes" : "no");
    return 0;
}
