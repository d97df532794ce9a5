/*
 * What adding and removing an agent begin with, and what they end with if the team does not have
 * it. To be removed, parts need only their names: no file of them is believed.
 */

#include "base/time.h"
#include "code/merge.h"
#include "code/repo_make.h"
#include "memory/store.h"
#include "os/file.h"
#include "os/loop.h"
#include "os/path.h"
#include "os/tree.h"
#include "session/grow_internal.h"
#include "session/places.h"
#include "store/every.h"
#include "store/limits/session_limits.h"
#include "store/placement.h"
#include "store/ports.h"
#include "store/team_file.h"

enum {
    JOURNAL_MAX = 1024, /* bytes */
    COMES_MS = 5000, /* for the hosts of a team that was just started, to read run/env */
    LOOK_MS = 10,
};

const char *const grow_places[GROW_PLACES] = {
    WORKSPACE_UNIT "/",
    CODE_DIR "/",
    CODE_DIR "/" PLACES_OLD,
    WORKSPACE_HOME "/",
};

/* ---- the parts of an agent that is gone */

/* Moves the directories of the agent aside at once, and then deletes them. */
static int drop_directories(const struct root *root, int dir, const char *id, const char *agent,
                            struct err *err)
{
    char fresh[GROW_PLACES][ENTRY_NAME];
    size_t count = 0;
    int rc = 0;
    _cleanup_close_ int lock = -1;

    if (root_lock(root, &lock, err) == -1)
        return -1;
    for (size_t i = 0; rc == 0 && i < GROW_PLACES; i++) {
        _cleanup_free_ char *path = mem_printf("%s/%s%s", id, grow_places[i], agent);
        if (faccessat(dir, path + strlen(id) + 1, F_OK, AT_SYMLINK_NOFOLLOW) == -1)
            continue;
        rc = trash_put_away(root, path, fresh[count], err);
        count += rc == 0;
    }
    fd_closep(&lock);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = tree_remove(root->sessions, fresh[i], err);
    return rc;
}

static void drop_run(int dir, const char *agent)
{
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;

    if (run == -1 || path_list(run, &names, &ignored) == -1)
        return;
    for (char **name = names; *name != NULL; name++)
        if (str_starts(*name, agent) && (*name)[strlen(agent)] == '.')
            (void)tree_remove(run, *name, &ignored);
}

static int drop_limits(const struct root *root, int dir, const char *agent, struct err *err)
{
    _cleanup_session_limits_ struct session_limits limits = SESSION_LIMITS_INIT;
    struct err ignored = ERR_INIT;

    if (session_limits_read(dir, &limits, &ignored) == -1)
        return 0; /* a damaged file sets nothing */
    for (size_t i = 0; i < limits.count; i++)
        for (enum limit_kind kind = 0; kind < LIMIT_KIND_COUNT; kind++)
            if (strcmp(limits.each[i].agent, agent) == 0 && limits.each[i].set.of[kind] != 0 &&
                session_limits_set(root, dir, agent, kind, 0, LOCK_WAIT_MS, err) == -1)
                return -1;
    return 0;
}

static int drop_code(const struct root *root, const char *id, const struct team *team,
                     const char *agent, struct err *err)
{
    _cleanup_repo_ struct repo repo = REPO_INIT;
    _cleanup_close_ int lock = -1;

    if (team->project.path == NULL)
        return 0;
    repo_of(root, id, team->project.label, &repo);
    return merge_lock(&repo, "remove", &lock, err) == -1 || repo_drop_agent(&repo, agent, err) == -1
               ? -1
               : 0;
}

static int end_talks(int dir, const char *id, const char *agent, int64_t *ret, struct err *err)
{
    _cleanup_store_ struct store *store = NULL;

    if (faccessat(dir, STORE_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == -1)
        return 0;
    return store_open(dir, id, NULL, true, &store, err) == -1 ||
                   store_retire(store, agent, ret, err) == -1
               ? -1
               : 0;
}

int grow_drop_parts(const struct root *root, int dir, const char *id, const struct team *team,
                    const char *agent, int64_t *ret_waiting, struct err *err)
{
    drop_run(dir, agent);
    ports_drop(root, id, agent);
    return drop_directories(root, dir, id, agent, err) == -1 ||
                   drop_code(root, id, team, agent, err) == -1 ||
                   drop_limits(root, dir, agent, err) == -1 ||
                   every_remove_agent(root, dir, agent, err) == -1 ||
                   end_talks(dir, id, agent, ret_waiting, err) == -1
               ? -1
               : 0;
}

int grow_end(int dir, struct err *err)
{
    if (unlinkat(dir, GROW_JOURNAL, 0) == -1 && errno != ENOENT)
        return err_errno(err, "cannot remove '" GROW_JOURNAL "'");
    return 0;
}

int grow_mend(const struct root *root, int dir, const char *id, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_free_ char *agent = NULL;
    int64_t waiting = 0;
    size_t len = 0;
    int there = file_read_if_there(dir, GROW_JOURNAL, JOURNAL_MAX, &agent, &len, err);

    if (there <= 0)
        return there;
    if (str_is_word(agent, TEAM_WORD_MAX) &&
        (team_file_load(dir, &team, err) == -1 ||
         (team_agent(&team, agent) == NULL &&
          grow_drop_parts(root, dir, id, &team, agent, &waiting, err) == -1)))
        return -1;
    return grow_end(dir, err);
}

/* ---- what both begin with */

int grow_open(const struct life *life, const char *id, const char *what, struct growing *ret,
              struct err *err)
{
    ret->life = life;
    ret->what = what;
    if (life_hold(life, id, LOCK_WAIT_MS, what, &ret->dir, &ret->lock, err) == -1 ||
        life_load(life, ret->dir, id, what, &ret->session, err) == -1)
        return -1;
    const struct session_label label = session_label(life->root, id);
    if (placement_is_shared(ret->session.mode)) {
        (void)err_set(err, MAS_CONFLICT,
                      "cannot change the team of session '%s': it works in the root's own "
                      "directories",
                      label.text);
        return err_hint(err, "give it directories of its own with: mas migrate %s", label.text);
    }
    if (grow_mend(life->root, ret->dir, id, err) == -1 ||
        team_file_load(ret->dir, &ret->team, err) == -1)
        return err_wrap(err, "cannot change the team of session '%s'", label.text);
    if (ret->team.project.path != NULL)
        repo_of(life->root, id, ret->team.project.label, &ret->repo);
    return 0;
}

void growing_free(struct growing *growing)
{
    session_free(&growing->session);
    team_free(&growing->team);
    repo_free(&growing->repo);
    fd_closep(&growing->lock);
    fd_closep(&growing->dir);
}

int grow_record(struct growing *growing, struct err *err)
{
    growing->session.activity = time(NULL);
    return team_file_change(growing->dir, &growing->team, err) == -1 ||
                   life_record(growing->life, growing->dir, &growing->session, err) == -1
               ? -1
               : 0;
}

int grow_begin(int dir, const char *agent, struct err *err)
{
    return file_replace(dir, GROW_JOURNAL, agent, strlen(agent), 0600, err);
}

int grow_start(struct growing *growing, const struct agent *agent, bool *ret_runs, struct err *err)
{
    const struct life_respawn options = {
        .team = &growing->team, .agents = &agent, .count = 1, .fresh = growing->fresh};
    int64_t end = time_monotonic_ms() + COMES_MS;

    while (workspace_env_waits(growing->dir) && time_monotonic_ms() < end)
        (void)loop_wait_for(-1, 0, LOOK_MS);
    return life_respawn_held(growing->life, growing->dir, &growing->session, &options, ret_runs,
                             err);
}
