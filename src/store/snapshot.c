/*
 * A snapshot gets the name of the template's state only if that is the same before and after the
 * copy. Copying holds no lock: of two processes that build the same one, the second finds its name
 * taken when it places it, and uses that one. The metadata lock is held for looking up and renaming
 * only; what goes is renamed under it and deleted afterwards. All that a kill leaves has a name
 * that a sweep, or the next host of the agent, removes.
 */

#include "store/snapshot.h"

#include "base/id.h"
#include "os/file.h"
#include "os/path.h"
#include "store/limits/session_quota.h"
#include "store/workspace.h"

/* Names in a snapshot, and of a snapshot that is being built in a new workspace. */
#define NAME_FILE "name"
#define SNAPSHOT_NEW ".snapshot.new"

enum { NAME_MAX_LEN = ID_TEXT - 1, HASH_DIGITS = 32 };

static bool is_name(const char *text)
{
    return id_is_valid(text) ||
           (strlen(text) == HASH_DIGITS && strspn(text, "0123456789abcdef") == HASH_DIGITS);
}

/* Returns the name in a workspace's .snapshot, or NULL with errno: ENOENT if it has none. The
 * caller frees it. */
static char *read_hold(int dir)
{
    struct err why = ERR_INIT;
    size_t len = 0;
    char *text = NULL;

    if (file_read(dir, WORKSPACE_SNAPSHOT, NAME_MAX_LEN + 1, &text, &len, &why) == -1) {
        errno = why.number;
        return NULL;
    }
    if (len > 0 && text[len - 1] == '\n')
        text[len - 1] = '\0';
    if (strlen(text) + 1 == len && is_name(text))
        return text;
    free(text);
    errno = EINVAL;
    return NULL;
}

bool snapshot_is_held(int dir)
{
    return faccessat(dir, WORKSPACE_SNAPSHOT, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool snapshot_is_held_by(const struct root *root, const char *name)
{
    _cleanup_close_ int dir = path_open_dir(root->sessions, name);
    return dir != -1 && snapshot_is_held(dir);
}

/* ---- taking a snapshot */

/* Makes `stage` refer to the snapshot with this name, open at `snapshot`: by a hard link, or by a
 * file with the same contents if the file system has no links or no more of them. */
static int hold(int stage, int snapshot, const char *name, struct err *err)
{
    _cleanup_free_ char *line = mem_printf("%s\n", name);

    if (linkat(snapshot, NAME_FILE, stage, WORKSPACE_SNAPSHOT, 0) == 0)
        return 0;
    return file_create(stage, WORKSPACE_SNAPSHOT, line, strlen(line), 0400, err);
}

/* The caller holds the metadata lock. Returns 1 if there is no such snapshot. */
static int hold_named(const struct root *root, int stage, const char *name, struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", SNAPSHOTS_DIR, name);
    _cleanup_close_ int snapshot = path_open_beneath(root->sessions, path, O_RDONLY | O_DIRECTORY);

    if (snapshot == -1 || faccessat(snapshot, NAME_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == -1)
        return 1;
    return hold(stage, snapshot, name, err);
}

enum placed { PLACED, PLACED_BEFORE, PLACE_DAMAGED };

/* Moves the snapshot that was built in the stage into place under its name, and makes the stage
 * refer to it. If a snapshot with this name already exists and is not damaged, refers to that one
 * instead. */
static int place(const struct root *root, int stage, int built, const char *name, struct err *err)
{
    _cleanup_free_ char *line = mem_printf("%s\n", name);
    _cleanup_close_ int lock = -1;

    if (file_create(built, NAME_FILE, line, strlen(line), 0400, err) == -1 ||
        hold(stage, built, name, err) == -1)
        return -1;
    if (file_sync_all(built) == -1) /* from now on others may rely on it */
        return err_errno(err, "cannot sync the snapshot of the template");
    if (root_lock(root, &lock, err) == -1)
        return -1;
    _cleanup_close_ int all = path_make_dir(root->sessions, SNAPSHOTS_DIR, 0700);
    if (all == -1 && errno == EEXIST)
        all = path_open_dir(root->sessions, SNAPSHOTS_DIR);
    if (all == -1)
        return err_errno(err, "cannot open '%s/%s'", ROOT_SESSIONS, SNAPSHOTS_DIR);
    if (path_rename_new(stage, SNAPSHOT_NEW, all, name) == 0)
        return PLACED;
    if (errno != EEXIST || unlinkat(stage, WORKSPACE_SNAPSHOT, 0) == -1 ||
        unlinkat(built, NAME_FILE, 0) == -1)
        return err_errno(err, "cannot put a snapshot of the template in place");
    int rc = hold_named(root, stage, name, err);
    return rc == 0 ? PLACED_BEFORE : rc == 1 ? PLACE_DAMAGED : -1;
}

static void look_at(const struct template *tmpl, int unit, bool link, struct tree_state *ret)
{
    *ret = (struct tree_state){.sum = {link}};
    for (size_t i = 0; i < tmpl->team.agent_count; i++)
        tree_state_add(unit, tmpl->team.agents[i].id, link, ret);
}

static bool is_agent(const char *name, void *arg)
{
    return team_agent(arg, name) != NULL;
}

/* Builds a snapshot in the stage. *ret_state is the state of the template before and after, or
 * unsettled. */
static int build(const struct template *tmpl, int unit, int stage, const struct snapshot_way *way,
                 struct tree_state *state, int *ret_built, struct err *err)
{
    _cleanup_free_ char *name = mem_printf("%s/%s", tmpl->path, WORKSPACE_UNIT);
    const struct tree_choice choice = {
        .link_readonly = way->link, .takes = is_agent, .arg = (void *)(uintptr_t)&tmpl->team};
    struct tree_state after;
    _cleanup_close_ int built = path_make_dir(stage, SNAPSHOT_NEW, 0700);
    if (built != -1)
        session_quota_except(built); /* other sessions will use it */
    _cleanup_close_ int to = built != -1 ? path_make_dir(built, WORKSPACE_UNIT, 0700) : -1;

    if (to == -1)
        return err_errno(err, "cannot create '%s'", SNAPSHOT_NEW);
    if (tree_copy_choice(unit, to, name, &choice, way->tick, way->arg, err) == -1)
        return -1;
    look_at(tmpl, unit, way->link, &after);
    state->unsettled = !tree_state_equal(state, &after);
    *ret_built = TAKE_FD(built);
    return 0;
}

int snapshot_take(const struct root *root, const struct template *tmpl, int stage,
                  const struct snapshot_way *way, struct err *err)
{
    char name[ID_TEXT];
    struct tree_state state;
    _cleanup_close_ int lock = -1;
    _cleanup_close_ int built = -1;
    _cleanup_close_ int unit = path_open_beneath(tmpl->fd, WORKSPACE_UNIT, O_RDONLY | O_DIRECTORY);

    if (unit == -1)
        return err_errno(err, "cannot open '%s/%s'", tmpl->path, WORKSPACE_UNIT);
    look_at(tmpl, unit, way->link, &state);
    (void)snprintf(name, sizeof name, "%016jx%016jx", (uintmax_t)state.sum[0],
                   (uintmax_t)state.sum[1]);
    if (!state.unsettled) {
        if (root_lock(root, &lock, err) == -1)
            return -1;
        int rc = hold_named(root, stage, name, err);
        if (rc != 1)
            return rc;
        fd_closep(&lock); /* copying takes long */
    }
    if (build(tmpl, unit, stage, way, &state, &built, err) == -1 ||
        (state.unsettled && id_make(name, err) == -1))
        return -1;
    int placed = place(root, stage, built, name, err);
    if (placed == PLACE_DAMAGED && id_make(name, err) == 0)
        placed = place(root, stage, built, name, err);
    if (placed == PLACED_BEFORE)
        return tree_remove(stage, SNAPSHOT_NEW, err);
    return placed == PLACED ? 0 : -1;
}

/* ---- creating units */

static bool has_unit(int dir, const char *agent)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", WORKSPACE_UNIT, agent);
    struct stat st;
    return fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool has_all(int dir, const struct team *team)
{
    for (size_t i = 0; i < team->agent_count; i++)
        if (!has_unit(dir, team->agents[i].id))
            return false;
    return true;
}

/* Removes the reference when no unit is missing. */
static int finish(const struct root *root, int dir, const struct team *team, struct err *err)
{
    if (!has_all(dir, team))
        return 0;
    if (unlinkat(dir, WORKSPACE_SNAPSHOT, 0) == -1 && errno != ENOENT)
        return err_errno(err, "cannot remove '%s'", WORKSPACE_SNAPSHOT);
    (void)snapshot_collect(root, false, NULL, NULL);
    return 0;
}

/* Copies `from` to unit/<agent> through `fresh`, which the caller removes on failure. */
static int make_as(int dir, int from, const char *agent, const char *fresh,
                   const struct snapshot_way *way, struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", WORKSPACE_UNIT, agent);
    const struct tree_choice choice = {.link_readonly = way->link};
    struct stat st;
    _cleanup_close_ int unit = path_open_dir(dir, WORKSPACE_UNIT);
    _cleanup_close_ int to = path_make_dir(dir, fresh, 0700);

    if (unit == -1 || to == -1 || fstat(from, &st) == -1)
        return err_errno(err, "cannot create '%s'", path);
    if (tree_copy_choice(from, to, path, &choice, way->tick, way->arg, err) == -1)
        return -1;
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, st.st_mtim};
    if (fchmod(to, 0755) == -1 || futimens(to, times) == -1 || file_sync_all(to) == -1 ||
        path_rename_new(dir, fresh, unit, agent) == -1)
        return err_errno(err, "cannot create '%s'", path);
    return file_sync_dir(unit, err);
}

bool snapshot_has_left(int dir, const char *agent)
{
    _cleanup_free_ char *fresh = mem_printf("%s%s", STAGING_PREFIX, agent);
    _cleanup_free_ char *lock = mem_printf("%s/%s" WORKSPACE_HOST_LOCK, WORKSPACE_RUN, agent);
    return faccessat(dir, fresh, F_OK, AT_SYMLINK_NOFOLLOW) == 0 && !file_is_locked(dir, lock);
}

int snapshot_clear_left(int dir, const char *agent, struct err *err)
{
    _cleanup_free_ char *fresh = mem_printf("%s%s", STAGING_PREFIX, agent);
    return tree_remove(dir, fresh, err);
}

static int make_unit(int dir, int from, const char *agent, const struct snapshot_way *way,
                     struct err *err)
{
    _cleanup_free_ char *fresh = mem_printf("%s%s", STAGING_PREFIX, agent);
    struct err ignored = ERR_INIT;

    if (tree_remove(dir, fresh, err) == -1) /* left by a killed process */
        return -1;
    if (make_as(dir, from, agent, fresh, way, err) == 0)
        return 0;
    (void)tree_remove(dir, fresh, &ignored);
    return -1;
}

/* Opens the directory of an agent in the snapshot of a workspace. Returns -1 with errno. */
static int open_source(const struct root *root, int dir, const char *agent)
{
    _cleanup_free_ char *name = read_hold(dir);

    if (name == NULL)
        return -1;
    _cleanup_free_ char *path =
        mem_printf("%s/%s/%s/%s", SNAPSHOTS_DIR, name, WORKSPACE_UNIT, agent);
    return path_open_beneath(root->sessions, path, O_RDONLY | O_DIRECTORY);
}

int snapshot_make_unit(const struct root *root, int dir, const struct team *team, const char *agent,
                       const struct snapshot_way *way, struct err *err)
{
    if (!has_unit(dir, agent)) {
        _cleanup_close_ int from = open_source(root, dir, agent);
        if (from == -1) {
            (void)err_errno(err, "cannot create '%s/%s' from its snapshot", WORKSPACE_UNIT, agent);
            return err_hint(err, "check it with: mas doctor");
        }
        if (make_unit(dir, from, agent, way, err) == -1)
            return -1;
    }
    return finish(root, dir, team, err);
}

/* Creates one unit, as its host would. */
static int make_one(const struct root *root, int dir, int run, const char *agent,
                    const struct template *instead, struct err *err)
{
    const struct snapshot_way way = {.link = false};
    _cleanup_free_ char *file = mem_printf("%s" WORKSPACE_HOST_LOCK, agent);
    _cleanup_free_ char *path = mem_printf("%s/%s", WORKSPACE_UNIT, agent);
    _cleanup_close_ int lock = -1;

    if (file_lock(run, file, LOCK_TRY, "make", &lock, err) == -1)
        return err_wrap(err, "cannot lock agent '%s'", agent);
    int rc = 0;
    if (!has_unit(dir, agent)) {
        _cleanup_close_ int from =
            instead != NULL ? path_open_beneath(instead->fd, path, O_RDONLY | O_DIRECTORY)
                            : open_source(root, dir, agent);
        rc = from == -1 ? err_errno(err, "cannot create '%s'", path)
                        : make_unit(dir, from, agent, &way, err);
    }
    (void)unlinkat(run, file, 0); /* as a host does when it exits */
    return rc;
}

int snapshot_make_all(const struct root *root, int dir, const struct team *team,
                      const struct template *instead, struct err *err)
{
    if (!snapshot_is_held(dir))
        return 0;
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    if (run == -1)
        return err_errno(err, "cannot open '%s'", WORKSPACE_RUN);
    for (size_t i = 0; i < team->agent_count; i++)
        if (!has_unit(dir, team->agents[i].id) &&
            make_one(root, dir, run, team->agents[i].id, instead, err) == -1)
            return -1;
    return finish(root, dir, team, err);
}

enum snapshot_state snapshot_look(const struct root *root, int dir, const struct team *team)
{
    if (!snapshot_is_held(dir))
        return SNAPSHOT_NONE;
    if (has_all(dir, team))
        return SNAPSHOT_IDLE;
    for (size_t i = 0; i < team->agent_count; i++) {
        if (has_unit(dir, team->agents[i].id))
            continue;
        _cleanup_close_ int from = open_source(root, dir, team->agents[i].id);
        if (from == -1)
            return SNAPSHOT_GONE;
    }
    return SNAPSHOT_GOOD;
}

/* ---- removing unused snapshots */

static bool has_links(int all, const char *name)
{
    _cleanup_free_ char *file = mem_printf("%s/%s", name, NAME_FILE);
    struct stat st;
    return fstatat(all, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_nlink > 1;
}

static void remove_name(char **names, const char *name)
{
    size_t kept = 0;

    for (size_t i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], name) != 0)
            names[kept++] = names[i];
        else
            free(names[i]);
    }
    names[kept] = NULL;
}

/* Removes those from `names` to which a workspace refers, or a workspace under construction. Fails
 * if one cannot be checked. */
static int remove_held(const struct root *root, char **names, struct err *err)
{
    _cleanup_strv_ char **dirs = NULL;

    if (path_list(root->sessions, &dirs, err) == -1)
        return -1;
    for (char **d = dirs; *d != NULL; d++) {
        if (!id_is_valid(str_starts(*d, STAGING_PREFIX) ? *d + strlen(STAGING_PREFIX) : *d))
            continue;
        _cleanup_close_ int dir = path_open_dir(root->sessions, *d);
        if (dir == -1 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
            continue;
        _cleanup_free_ char *held = dir != -1 ? read_hold(dir) : NULL;
        if (held != NULL)
            remove_name(names, held);
        else if (errno != ENOENT)
            return err_errno(err, "cannot read '%s/%s'", *d, WORKSPACE_SNAPSHOT);
    }
    return 0;
}

/* Lists unused snapshots; the caller holds the metadata lock. */
static int list_idle(const struct root *root, int all, char ***ret)
{
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;
    size_t kept = 0;

    if (path_list(all, &names, &ignored) == -1)
        return -1;
    for (size_t i = 0; names[i] != NULL; i++) {
        if (is_name(names[i]) && !has_links(all, names[i]))
            names[kept++] = names[i];
        else
            free(names[i]);
    }
    names[kept] = NULL;
    if (kept > 0 && remove_held(root, names, &ignored) == -1)
        return -1;
    *ret = TAKE_PTR(names);
    return 0;
}

size_t snapshot_collect(const struct root *root, bool keep,
                        void (*each)(const char *name, void *arg), void *arg)
{
    _cleanup_strv_ char **names = NULL;
    _cleanup_strv_ char **trash = NULL;
    _cleanup_close_ int lock = -1;
    struct err ignored = ERR_INIT;
    size_t count = 0;
    _cleanup_close_ int all = path_open_dir(root->sessions, SNAPSHOTS_DIR);

    if (all == -1 || root_lock(root, &lock, &ignored) == -1 || list_idle(root, all, &names) == -1)
        return 0;
    for (; names[count] != NULL; count++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", SNAPSHOTS_DIR, names[count]);
        char fresh[ENTRY_NAME];
        if (each != NULL)
            each(path, arg);
        if (!keep && trash_put_away(root, path, fresh, &ignored) == 0)
            strv_push(&trash, fresh);
    }
    if (!keep)
        (void)unlinkat(root->sessions, SNAPSHOTS_DIR, AT_REMOVEDIR); /* if it is empty */
    fd_closep(&lock);
    for (char **t = trash; t != NULL && *t != NULL; t++)
        (void)tree_remove(root->sessions, *t, &ignored);
    return count;
}
