#include "session/reset.h"

#include "code/merge.h"
#include "code/repo_make.h"
#include "os/path.h"
#include "os/tree.h"
#include "session/grow_internal.h"
#include "session/places.h"
#include "store/workspace.h"

static int check(const struct growing *growing, const char *agent, struct err *err)
{
    const struct agent *is = team_agent(&growing->team, agent);
    const char *own = getenv("MAS_AGENT_ID");
    const char *session = getenv("MAS_SESSION_ID");

    if (growing->repo.git == NULL || is == NULL || is->code != AGENT_CODE_WORKTREE)
        return err_set(err, MAS_USAGE, "it has no repository of its own");
    return own != NULL && session != NULL && strcmp(own, agent) == 0 &&
                   strcmp(session, growing->session.id) == 0
               ? err_set(err, MAS_USAGE, "this command runs in its pane")
               : 0;
}

/* Makes the new tree. The caller holds no lock but the session's. */
static int make(const struct growing *growing, const char *agent, struct err *err)
{
    _cleanup_close_ int lock = -1;

    if (merge_lock(&growing->repo, "reset", &lock, err) == -1 ||
        repo_drop_agent(&growing->repo, agent, err) == -1)
        return -1;
    fd_closep(&lock);
    return grow_make_code(growing, err);
}

/* Puts the old tree aside, makes the new one, and deletes the old one. */
static int exchange(const struct growing *growing, const char *agent, struct err *err)
{
    const struct root *root = growing->life->root;
    _cleanup_free_ char *old = mem_printf(PLACES_OLD "%s", agent);
    _cleanup_free_ char *path = mem_printf("%s/" CODE_DIR "/%s", growing->session.id, old);
    _cleanup_close_ int code = path_open_dir(growing->dir, CODE_DIR);
    _cleanup_close_ int lock = -1;
    char fresh[ENTRY_NAME];
    struct err ignored = ERR_INIT;

    if (code == -1)
        return err_errno(err, "cannot open '" CODE_DIR "'");
    bool again = places_half_reset(growing->dir, agent); /* after a kill */
    if (again ? tree_remove(code, agent, err) == -1 : path_rename_new(code, agent, code, old) == -1)
        return again ? -1 : err_errno(err, "cannot put its work tree aside");
    if (make(growing, agent, err) == -1) {
        if (!again && tree_remove(code, agent, &ignored) == 0)
            (void)path_rename_new(code, old, code, agent);
        return -1;
    }
    if (root_lock(root, &lock, err) == -1 || trash_put_away(root, path, fresh, err) == -1)
        return -1;
    fd_closep(&lock);
    return tree_remove(root->sessions, fresh, err);
}

static int reset(struct growing *growing, const char *agent, struct shrunk *ret_kept,
                 bool *ret_runs, struct err *err)
{
    const struct life *life = growing->life;
    const struct agent *is = team_agent(&growing->team, agent);
    const char *id = growing->session.id;
    struct life_end how = {.was = false};

    if (check(growing, agent, err) == -1)
        return -1;
    growing->agent = &growing->team.agents[is - growing->team.agents];
    life_stop_hosts(life, id, agent, &how);
    int rc = life_end_agent(life, id, agent, err);
    if (rc == 0)
        rc = grow_keep(growing, agent, true, ret_kept, err);
    if (rc == 0)
        rc = exchange(growing, agent, err);
    struct err why = ERR_INIT;
    if (grow_start(growing, is, ret_runs, &why) == -1 && rc == 0) {
        *err = why;
        rc = -1;
    }
    return rc;
}

int reset_agent(const struct life *life, const char *id, const char *agent, bool force,
                struct shrunk *ret_kept, bool *ret_runs, struct err *err)
{
    _cleanup_growing_ struct growing growing = GROWING_INIT;

    *ret_runs = false;
    if (grow_open(life, id, "reset", &growing, err) == -1 ||
        (!force && grow_check_idle(&growing, agent, err) == -1))
        return -1;
    if (reset(&growing, agent, ret_kept, ret_runs, err) == -1)
        return err_wrap(err, "cannot reset agent '%s'", agent);
    workspace_log(growing.dir, config_log_limits(life->config), "reset agent=%s%s%s", agent,
                  ret_kept->kept != NULL ? " kept=" : "",
                  ret_kept->kept != NULL ? ret_kept->kept : "");
    return 0;
}
