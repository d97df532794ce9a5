/*
 * The metadata lock is for names: it is held while they are created, renamed and listed. Copying
 * and deleting take long and need none. In a new workspace the template's files come first,
 * .session last, and one sync covers all; then the parts in the root get their places, then the
 * workspace, and with that there is a session. Removing goes the other way: the name goes first,
 * the files after it.
 */

#include "store/stage.h"

#include "os/file.h"
#include "os/path.h"
#include "store/limits/session_quota.h"
#include "store/snapshot.h"
#include "store/team_file.h"
#include "store/workspace.h"

/* The contents of a new workspace. */
struct copy_job {
    const struct root *root;
    const struct session *session;
    const struct template *tmpl;
    const struct str *config; /* the text of config.json */
    bool lazy;
    struct snapshot_way way;
};

static bool is_no_agent(const char *name, void *arg)
{
    return team_agent(arg, name) == NULL;
}

/* Copies one directory of the template; of a lazy unit/, everything except the agents'
 * directories. */
static int copy_part(const struct copy_job *copy_job, int stage, const char *part, bool is_unit,
                     struct err *err)
{
    const struct template *tmpl = copy_job->tmpl;
    const struct tree_choice choice = {.link_readonly = copy_job->way.link,
                                       .takes = is_unit && copy_job->lazy ? is_no_agent : NULL,
                                       .arg = (void *)(uintptr_t)&tmpl->team};
    _cleanup_free_ char *name = mem_printf("%s/%s", tmpl->path, part);
    _cleanup_close_ int to = path_make_dir(stage, part, 0755);
    if (to == -1)
        return err_errno(err, "cannot create '%s'", part);
    _cleanup_close_ int from = path_open_beneath(tmpl->fd, part, O_RDONLY | O_DIRECTORY);
    if (from == -1 && errno == ENOENT && !is_unit)
        return 0;
    if (from == -1)
        return err_errno(err, "cannot open '%s'", name);
    return tree_copy_choice(from, to, name, &choice, copy_job->way.tick, copy_job->way.arg, err);
}

/* Gives each agent a copy of the one directory that the template has. */
static int repeat_unit(const struct copy_job *copy_job, int stage, struct err *err)
{
    const struct team *team = &copy_job->tmpl->team;
    const char *name = copy_job->tmpl->unit;
    _cleanup_close_ int unit = path_open_dir(stage, WORKSPACE_UNIT);
    _cleanup_close_ int from = unit != -1 ? path_open_dir(unit, name) : -1;

    if (from == -1)
        return err_errno(err, "cannot open '" WORKSPACE_UNIT "/%s'", name);
    for (size_t i = 0; i < team->agent_count; i++) {
        const char *id = team->agents[i].id;
        if (strcmp(id, name) == 0)
            continue;
        _cleanup_close_ int to = path_make_dir(unit, id, 0755);
        if (to == -1)
            return err_errno(err, "cannot create '" WORKSPACE_UNIT "/%s'", id);
        if (tree_copy(from, to, name, copy_job->way.tick, copy_job->way.arg, err) == -1)
            return -1;
    }
    return team_agent(team, name) == NULL ? tree_remove(unit, name, err) : 0;
}

/* unit/ and workflows/ */
static int fill_parts(const struct copy_job *copy_job, int dir, struct err *err)
{
    if (copy_part(copy_job, dir, WORKSPACE_UNIT, true, err) == -1 ||
        copy_part(copy_job, dir, WORKSPACE_WORKFLOWS, false, err) == -1)
        return -1;
    if (copy_job->tmpl->unit != NULL && repeat_unit(copy_job, dir, err) == -1)
        return -1;
    if (copy_job->lazy)
        return snapshot_take(copy_job->root, copy_job->tmpl, dir, &copy_job->way, err);
    return placement_set_modes(dir, &copy_job->tmpl->team, err);
}

static int fill(const struct copy_job *copy_job, int dir, struct err *err)
{
    const struct str *config = copy_job->config;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_close_ int run = -1;
    _cleanup_close_ int logs = -1;

    run = path_make_dir(dir, WORKSPACE_RUN, 0700);
    logs = path_make_dir(dir, WORKSPACE_LOGS, 0700);
    if (run == -1 || logs == -1)
        return err_errno(err, "cannot create '%s' and '%s'", WORKSPACE_RUN, WORKSPACE_LOGS);
    if (file_create(dir, WORKSPACE_CONFIG, config->data, config->len, 0600, err) == -1)
        return -1;
    session_format(copy_job->root, copy_job->session, &text);
    if (file_create(dir, WORKSPACE_SESSION, text.data, text.len, 0600, err) == -1)
        return -1;
    /* one sync for the whole tree is cheaper than one per file; who adds a project syncs both */
    if (copy_job->tmpl->team.project.path == NULL && file_sync_all(dir) == -1)
        return err_errno(err, "cannot sync the workspace");
    return 0;
}

/* Returns true for ".new-<id>" and ".trash-<id>" that no process holds, and for a file on its way
 * out of one. */
static bool is_stale(int at, const char *name)
{
    _cleanup_free_ char *tree = mem_dup(name);
    if (str_ends(tree, TREE_ASIDE))
        tree[strlen(tree) - strlen(TREE_ASIDE)] = '\0';
    const char *id = str_starts(tree, STAGING_PREFIX) ? tree + strlen(STAGING_PREFIX)
                     : str_starts(tree, TRASH_PREFIX) ? tree + strlen(TRASH_PREFIX)
                                                      : NULL;
    if (id == NULL || !id_is_valid(id))
        return false;
    _cleanup_close_ int dir = path_open_dir(at, name);
    if (dir == -1)
        return errno == ENOTDIR || errno == ELOOP; /* after other errors it may be in use */
    return !workspace_is_locked(dir);
}

/* Creates and locks the staging directory, under the metadata lock, so that a sweep never sees it
 * unlocked. */
static int open_stage(const struct root *root, const char *name, const char *who, int quota,
                      struct stage *stage, struct err *err)
{
    char fresh[ENTRY_NAME];
    _cleanup_close_ int lock = -1;
    if (root_lock(root, &lock, err) == -1)
        return -1;
    stage->dir = path_make_dir(root->sessions, name, 0700);
    if (stage->dir == -1 && errno == EEXIST) {
        if (!is_stale(root->sessions, name))
            return err_set(err, MAS_CONFLICT,
                           "cannot create session '%s': another command is creating it", stage->id);
        if (trash_put_away(root, name, fresh, err) == -1)
            return -1;
        stage->dir = path_make_dir(root->sessions, name, 0700);
    }
    if (stage->dir == -1)
        return err_errno(err, "cannot create '%s/%s/%s'", root->path, ROOT_SESSIONS, name);
    session_quota_begin(stage->dir, quota);
    return workspace_lock(stage->dir, LOCK_TRY, who, &stage->lock, err);
}

int workspace_stage_empty(const struct root *root, const char *id, const char *who,
                          struct stage *ret, struct err *err)
{
    _cleanup_stage_ struct stage stage = STAGE_INIT;
    char name[ENTRY_NAME];

    memcpy(stage.id, id, ID_TEXT);
    (void)snprintf(name, sizeof name, STAGING_PREFIX "%s", id);
    if (open_stage(root, name, who, SESSION_QUOTA_OWN, &stage, err) == -1) {
        if (stage.dir != -1)
            workspace_discard(root, &stage);
        return -1;
    }
    *ret = stage;
    stage = (struct stage)STAGE_INIT;
    return 0;
}

int workspace_stage_rename(const struct root *root, struct stage *stage, const char *id,
                           struct err *err)
{
    char from[ENTRY_NAME];
    char to[ENTRY_NAME];
    char fresh[ENTRY_NAME];

    (void)snprintf(from, sizeof from, STAGING_PREFIX "%s", stage->id);
    (void)snprintf(to, sizeof to, STAGING_PREFIX "%s", id);
    _cleanup_close_ int lock = -1;
    if (root_lock(root, &lock, err) == -1)
        return -1;
    if (faccessat(root->sessions, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
        is_stale(root->sessions, to) && trash_put_away(root, to, fresh, err) == -1)
        return -1;
    if (path_rename_new(root->sessions, from, root->sessions, to) == -1) {
        if (errno == EEXIST)
            return err_set(err, MAS_CONFLICT,
                           "cannot create session '%s': another command is creating it", id);
        return err_errno(err, "cannot rename '%s'", from);
    }
    memcpy(stage->id, id, ID_TEXT);
    return 0;
}

int workspace_stage(const struct root *root, const struct config *config,
                    const struct session *session, const struct template *tmpl, int quota,
                    tree_tick *tick, void *arg, struct stage *ret, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    const struct copy_job copy_job = {
        .root = root,
        .session = session,
        .tmpl = tmpl,
        .config = &text,
        .lazy = tmpl->unit == NULL && config_yes(config, SETTING_LAZY),
        .way = {.link = config_links(config), .tick = tick, .arg = arg},
    };
    _cleanup_stage_ struct stage stage = STAGE_INIT;
    char name[ENTRY_NAME];

    if (team_file_format(tmpl, &text, err) == -1)
        return -1;

    memcpy(stage.id, session->id, ID_TEXT);
    (void)snprintf(name, sizeof name, STAGING_PREFIX "%s", stage.id);
    /* what is outside of its directory, or has a name elsewhere, cannot have its number */
    if (quota == SESSION_QUOTA_OWN && (placement_is_shared(session->mode) || config_links(config)))
        quota = SESSION_QUOTA_NONE;
    if (open_stage(root, name, "new", quota, &stage, err) == -1 ||
        (placement_is_shared(session->mode)
             ? placement_stage(root, tmpl, tick, arg, &stage.parts, err)
             : fill_parts(&copy_job, stage.dir, err)) == -1 ||
        fill(&copy_job, stage.dir, err) == -1) {
        if (stage.dir != -1)
            workspace_discard(root, &stage);
        return -1;
    }
    *ret = stage;
    stage = (struct stage)STAGE_INIT;
    return 0;
}

char *workspace_stage_path(const struct root *root, const struct stage *stage)
{
    return mem_printf("%s/%s/" STAGING_PREFIX "%s", root->path, ROOT_SESSIONS, stage->id);
}

int workspace_place(const struct root *root, struct stage *stage, struct err *err)
{
    char name[ENTRY_NAME];

    /* place the parts first: without a session they are harmless, and the next session uses them */
    if (placement_stage_place(&stage->parts, err) == -1)
        return -1;
    (void)snprintf(name, sizeof name, STAGING_PREFIX "%s", stage->id);
    if (path_rename_new(root->sessions, name, root->sessions, stage->id) == -1) {
        if (errno == EEXIST)
            return err_set(err, MAS_CONFLICT, "cannot create session '%s': it exists", stage->id);
        return err_errno(err, "cannot put session '%s' in place", stage->id);
    }
    stage->placed = true;
    return file_sync_dir(root->sessions, err);
}

/* Removes a workspace by its staging or trash name, and its snapshot if no other workspace uses
 * it. */
static int remove_dir(const struct root *root, const char *name, struct err *err)
{
    bool held = snapshot_is_held_by(root, name);
    struct tree_removal item = {.name = name};

    tree_remove_many(root->sessions, WORKSPACE_LOCK, &item, 1);
    if (item.failed) {
        *err = item.err;
        return -1;
    }
    if (held)
        (void)snapshot_collect(root, false, NULL, NULL);
    return 0;
}

void workspace_discard(const struct root *root, struct stage *stage)
{
    struct err ignored = ERR_INIT;
    char name[ENTRY_NAME];

    placement_stage_undo(&stage->parts);
    (void)snprintf(name, sizeof name, STAGING_PREFIX "%s", stage->id);
    (void)remove_dir(root, name, &ignored);
}

void workspace_release(struct stage *stage)
{
    placement_stage_release(&stage->parts);
    fd_closep(&stage->dir);
    fd_closep(&stage->lock);
    *stage = (struct stage)STAGE_INIT;
}

void workspace_trash_name(const char *id, char buf[TRASH_NAME])
{
    (void)snprintf(buf, TRASH_NAME, TRASH_PREFIX "%s", id);
}

/* Renames a session, open at `dir`, within sessions/. */
static int rename_aside(int sessions, const char *id, int dir, const char *name)
{
    if (path_rename_new(sessions, id, sessions, name) == 0)
        return 0;
    if (errno != EXDEV || !session_quota_leave(dir, sessions))
        return -1;
    return path_rename_new(sessions, id, sessions, name);
}

int workspace_set_aside(const struct root *root, const char *id, struct err *err)
{
    char name[TRASH_NAME];

    workspace_trash_name(id, name);
    _cleanup_close_ int dir = workspace_open(root, id);
    if (dir != -1)
        session_quota_end(dir);
    if (rename_aside(root->sessions, id, dir, name) == 0)
        return 0;
    if (errno != EEXIST)
        return err_errno(err, "cannot remove session '%s'", id);
    /* left over from an earlier removal of the same id */
    if (tree_remove(root->sessions, name, err) == -1)
        return -1;
    if (rename_aside(root->sessions, id, dir, name) == -1)
        return err_errno(err, "cannot remove session '%s'", id);
    return 0;
}

int workspace_trash(const struct root *root, const char *id, struct err *err)
{
    if (workspace_set_aside(root, id, err) == -1)
        return -1;
    return file_sync_dir(root->sessions, err) == -1 ? 1 : 0;
}

int workspace_empty_trash(const struct root *root, const char *id, struct err *err)
{
    char name[TRASH_NAME];

    workspace_trash_name(id, name);
    return remove_dir(root, name, err);
}

int workspace_complete(const struct root *root, int dir, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;

    if (!snapshot_is_held(dir))
        return 0;
    return team_file_load(dir, &team, err) == -1 ||
                   snapshot_make_all(root, dir, &team, NULL, err) == -1
               ? -1
               : 0;
}

/* Sweeps one directory. */
static size_t sweep(const struct root *root, int at, bool keep, workspace_stale *each, void *arg)
{
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;
    size_t count = 0;
    _cleanup_close_ int lock = -1;

    if (root_lock(root, &lock, &ignored) == -1 || path_list(at, &names, &ignored) == -1)
        return 0;
    for (size_t i = 0; names[i] != NULL; i++) {
        if (!is_stale(at, names[i]))
            continue;
        char *name = names[i]; /* stale names move to the front */
        names[i] = names[count];
        names[count++] = name;
    }
    fd_closep(&lock); /* ids are unique, so nobody uses these names again */
    for (size_t i = 0; i < count; i++) {
        if (each != NULL)
            each(names[i], arg);
        if (!keep)
            (void)tree_remove(at, names[i], &ignored);
    }
    return count;
}

size_t workspace_sweep(const struct root *root, bool keep, workspace_stale *each, void *arg)
{
    return sweep(root, root->sessions, keep, each, arg) + sweep(root, root->fd, keep, each, arg) +
           snapshot_collect(root, keep, each, arg);
}
