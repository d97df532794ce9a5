/*
 * The part of session/life.h that stops sessions, and ends the remaining processes of a team. Hosts
 * are asked first, which needs neither disk space nor tmux; what could not be told or written is
 * kept in struct life_end and is no failure. Processes are found by their environment, again after
 * each round, as they fork meanwhile. rm holds the session's lock and takes the metadata lock last.
 */

#include "base/time.h"
#include "client/lost_server.h"
#include "client/survey.h"
#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"
#include "session/launch.h"
#include "session/life_internal.h"
#include "session/unlanded.h"
#include "store/index.h"
#include "store/pairing.h"
#include "store/ports.h"
#include "store/reserve.h"
#include "store/stage.h"
#include "store/workspace.h"
#include "tmux/tmux.h"
#include "wall/cgroup.h"

/* ---- the processes that are left */

enum { KILL_WAIT_MS = 5000 };

/* MAS_ROOT of a process with a session's id: another root may have a session with that id. */
struct process_claim {
    const struct root *root;
    const char *id;
};

static bool is_ours(const char *claimed, void *arg)
{
    const struct process_claim *claim = arg;
    return workspace_is_ours(claim->root, claim->id, claimed);
}

static bool is_same(const char *value, void *arg)
{
    return strcmp(value, arg) == 0;
}

/* Lists the selected processes. */
static int find_processes(const struct life *life, const struct life_hunt *hunt,
                          struct proc_id **ret, size_t *ret_count, struct err *err)
{
    _cleanup_free_ char *entry = hunt->agent != NULL ? mem_printf("MAS_AGENT_ID=%s", hunt->agent)
                                                     : mem_printf("MAS_SESSION_ID=%s", hunt->id);
    _cleanup_free_ char *dir = workspace_path(life->root, hunt->id, NULL);
    struct process_claim claim = {.root = life->root, .id = hunt->id};
    struct proc_query query = {.entry = entry,
                               .with_ancestors = hunt->inside,
                               .key = "MAS_ROOT",
                               .accepts = is_ours,
                               .arg = &claim};
    if (hunt->agent != NULL) {
        query.key = "MAS_SESSION_DIR";
        query.accepts = is_same;
        query.arg = dir;
    }
    return proc_find_by_env(&query, ret, ret_count, err);
}

bool life_has_leftovers(const struct life *life, const char *id)
{
    const struct life_hunt hunt = {.id = id};
    struct proc_id *ids = NULL;
    size_t count = 0;
    struct err ignored = ERR_INIT;

    (void)find_processes(life, &hunt, &ids, &count, &ignored);
    free(ids);
    return count > 0;
}

int life_await_gone(const struct life *life, const char *id, const char *agent, int timeout_ms,
                    bool *ret_gone, struct err *err)
{
    const struct life_hunt hunt = {.id = id, .agent = agent};
    int64_t end = time_monotonic_ms() + timeout_ms;
    int left;

    do { /* the next round waits for processes forked meanwhile */
        struct proc_id *ids = NULL;
        size_t count = 0;
        if (find_processes(life, &hunt, &ids, &count, err) == -1)
            return -1;
        int64_t ms = end - time_monotonic_ms();
        left = timeout_ms < 0 ? -1 : ms > 0 ? (int)ms : 0;
        *ret_gone = count == 0;
        if (count > 0)
            (void)proc_wait_gone(ids, count, left);
        free(ids);
    } while (!*ret_gone && left != 0);
    return 0;
}

/* Ends the selected processes: waits hangup_ms, because the caller hung up on them, then sends
 * SIGTERM and SIGKILL. Adds the counts to *end. */
static int life_hunt_down(const struct life *life, const struct life_hunt *hunt, int hangup_ms,
                          struct life_end *end, struct err *err)
{
    const struct {
        int sig; /* 0: only wait */
        int wait_ms;
    } steps[] = {{0, hangup_ms},
                 {SIGTERM, config_number(life->config, SETTING_TERMINATE)},
                 {SIGKILL, KILL_WAIT_MS},
                 {SIGKILL, KILL_WAIT_MS}, /* processes forked while the others were killed */
                 {SIGKILL, KILL_WAIT_MS}};

    for (size_t i = 0;; i++) {
        struct proc_id *ids = NULL;
        size_t count = 0;
        if (find_processes(life, hunt, &ids, &count, err) == -1)
            return -1;
        bool last = i == ARRAY_LEN(steps);
        for (size_t j = 0; !last && steps[i].sig != 0 && j < count; j++)
            proc_signal(&ids[j], steps[i].sig);
        if (!last && count > 0)
            (void)proc_wait_gone(ids, count, steps[i].wait_ms);
        free(ids);
        if (count == 0)
            return 0;
        if (last)
            return err_set(err, MAS_FAILED,
                           "cannot end session '%s': %zu of its processes survive SIGKILL",
                           session_label(life->root, hunt->id).text, count);
        if (steps[i].sig == SIGTERM)
            end->terminated += count;
        if (steps[i].sig == SIGKILL)
            end->killed += count;
    }
}

int life_sweep(const struct life *life, const char *id, struct err *err)
{
    const struct life_hunt hunt = {.id = id};
    struct life_end end = {.was = false};
    return life_hunt_down(life, &hunt, 0, &end, err);
}

int life_end_agent(const struct life *life, const char *id, const char *agent, struct err *err)
{
    const struct life_hunt hunt = {.id = id, .agent = agent};
    struct life_end end = {.was = false};
    return life_hunt_down(life, &hunt, 0, &end, err);
}

/* ---- the stop */

static int hangup_ms(const struct life *life)
{
    return config_number(life->config, SETTING_HANGUP);
}

/* Ends the remaining processes. If tmux could not be reached, these include the hosts. */
static int end_rest(const struct life *life, const char *id, struct life_end *end, struct err *err)
{
    const struct life_hunt hunt = {.id = id};
    return life_hunt_down(life, &hunt, end->untold.code == MAS_OK ? hangup_ms(life) : 0, end, err);
}

/* What tmux has of a session. */
struct in_tmux {
    struct tmux_session *live; /* NULL: nothing */
    struct tmux_pane *panes; /* of its agents */
    size_t count;
};

static int find_in_tmux(const struct life *life, const char *socket, const char *id,
                        struct in_tmux *ret, struct err *err)
{
    return survey_find_team(life->root, socket, id, &ret->live, &ret->panes, &ret->count, err);
}

static void free_in_tmux(struct in_tmux *in_tmux)
{
    tmux_sessions_free(in_tmux->live, in_tmux->live != NULL);
    free(in_tmux->panes);
}

/* Ends the tmux session, whose hosts were asked to end their agents, and what remains. */
static int bring_down(const struct life *life, const char *socket, const struct in_tmux *in_tmux,
                      struct life_end *end, struct err *err)
{
    const struct tmux_session *live = in_tmux->live;
    struct proc_id *ids = mem_alloc((in_tmux->count + 1) * sizeof *ids);
    size_t alive = 0;
    struct life_hunt hunt = {.id = live->id};
    for (size_t i = 0; i < in_tmux->count; i++) {
        const struct tmux_pane *pane = &in_tmux->panes[i];
        if (pane->dead)
            continue;
        if (proc_is_ancestor(pane->pid))
            hunt.inside = true; /* an agent stops its own team; it may wait for this process */
        else
            alive += proc_identify(pane->pid, &ids[alive]);
    }
    int64_t start = time_monotonic_ms();
    int left = 0;
    end->down = tmux_kill(socket, live->target, live->id, &end->untold) == 0;
    if (end->down) {
        (void)proc_wait_gone(ids, alive, hangup_ms(life));
        left = hangup_ms(life) - (int)(time_monotonic_ms() - start);
    }
    free(ids);
    int rc = life_hunt_down(life, &hunt, left > 0 ? left : 0, end, err);
    if (end->down)
        tmux_drop_own_server(socket, live->name);
    return rc;
}

/* Tries to record that the session is stopped. */
static void record_stop(const struct life *life, int dir, struct session *session,
                        const struct tmux_session *live, struct life_end *end)
{
    if (end->keeps_status)
        return;
    session->status = STATUS_STOPPED;
    session->stopped = time(NULL);
    time_t activity = live != NULL ? live->activity : workspace_activity(dir);
    if (activity > session->activity)
        session->activity = activity;
    if (life_record(life, dir, session, &end->unwritten) == -1 && end->removing)
        end->unwritten = (struct err)ERR_INIT;
}

/* Returns true for a process of this session, which may end with it. */
static bool is_own(const char *id)
{
    const char *own = getenv("MAS_SESSION_ID");
    return own != NULL && strcmp(own, id) == 0;
}

int life_stop_held(const struct life *life, int dir, struct session *session, struct life_end *end,
                   struct err *err)
{
    struct in_tmux in_tmux = {.live = NULL};
    bool recorded = session->status == STATUS_STOPPED;
    struct err ignored = ERR_INIT;

    (void)lost_server_mend(dir, session->tmux_socket, &ignored); /* hosts know it while they live */
    /* first the step that needs no new process, no disk space and no tmux */
    life_stop_hosts(life, session->id, NULL, end);
    (void)find_in_tmux(life, session->tmux_socket, session->id, &in_tmux, &end->untold);
    const struct tmux_session *live = in_tmux.live;
    end->was = recorded && live == NULL && end->untold.code == MAS_OK;
    if (!recorded && is_own(session->id)) {
        record_stop(life, dir, session, live, end);
        recorded = true;
    }
    int rc = live != NULL ? bring_down(life, session->tmux_socket, &in_tmux, end, err)
                          : end_rest(life, session->id, end, err);
    if (rc == 0) {
        launch_drop_env(dir);
        life_clean_run(dir);
        cgroup_forget(config_text(life->config, SETTING_LIMIT_CGROUP), session->id);
        if (!end->was && end->untold.code == MAS_OK)
            tmux_drop_own_server(session->tmux_socket, session->tmux_name);
    }
    if (!recorded && (rc == 0 || end->down))
        record_stop(life, dir, session, live, end);
    if (rc == 0)
        life_lease_give_back(session);
    if (rc == 0)
        reserve_drop(dir); /* not before it is written down */
    if (rc == 0 && !end->was)
        workspace_log(dir, config_log_limits(life->config), "stop terminated=%zu killed=%zu",
                      end->terminated, end->killed);
    free_in_tmux(&in_tmux);
    return rc;
}

int life_end_leftovers(const struct life *life, const char *id, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = -1;
    _cleanup_close_ int lock = -1;
    struct tmux_session *live = NULL;

    if (life_hold(life, id, LOCK_TRY, "doctor", &dir, &lock, err) == -1 ||
        life_load(life, dir, id, "check", &session, err) == -1 ||
        survey_find_live(life->root, session.tmux_socket, id, &live, err) == -1)
        return -1;
    bool runs = live != NULL;
    tmux_sessions_free(live, runs);
    return runs ? 0 : life_sweep(life, id, err);
}

/* Ends a team that its metadata does not name. */
static int end_live(const struct life *life, const char *socket, const char *id, struct err *err)
{
    struct in_tmux in_tmux = {.live = NULL};
    struct life_end end = {.was = false};

    if (find_in_tmux(life, socket, id, &in_tmux, err) == -1)
        return -1;
    if (in_tmux.live == NULL) {
        free_in_tmux(&in_tmux);
        return 0;
    }
    life_stop_hosts(life, id, NULL, &end);
    int rc = bring_down(life, socket, &in_tmux, &end, err);
    free_in_tmux(&in_tmux);
    if (rc == -1 || end.untold.code == MAS_OK)
        return rc;
    *err = end.untold;
    return -1;
}

static int save_screens(const struct life *life, const char *socket, const char *id,
                        struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_free_ char *name = mem_printf("%s-%ld.txt", id, (long)time(NULL));
    struct tmux_session *live = NULL;

    if (survey_find_live(life->root, socket, id, &live, err) == -1)
        return -1;
    if (live == NULL)
        return 0;
    int rc = tmux_capture(socket, live->target, &text, err);
    tmux_sessions_free(live, 1);
    if (rc == -1)
        return -1;
    if (mkdirat(life->root->fd, LIFE_LOST_DIR, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot create '%s'", LIFE_LOST_DIR);
    _cleanup_close_ int lost = path_open_dir(life->root->fd, LIFE_LOST_DIR);
    if (lost == -1)
        return err_errno(err, "cannot open '%s'", LIFE_LOST_DIR);
    return file_replace(lost, name, str_text(&text), text.len, 0600, err);
}

int life_end_orphan(const struct life *life, const char *socket, const char *id, struct err *err)
{
    return save_screens(life, socket, id, err) == -1 ? -1 : end_live(life, socket, id, err);
}

/* Ends the team of an id whose metadata is unreadable or gone, wherever it runs; saves its screens
 * if `saves` is set and there is room. */
static int stop_unknown(const struct life *life, const char *id, bool saves, struct err *err)
{
    _cleanup_free_ char *socket = NULL;
    struct tmux_session *live = NULL;
    struct life_end end = {.was = false};
    struct err ignored = ERR_INIT;

    life_stop_hosts(life, id, NULL, &end);
    if (survey_find_anywhere(life->root, life->config, id, &socket, &live, err) == -1) {
        (void)life_sweep(life, id, &ignored);
        return -1;
    }
    tmux_sessions_free(live, live != NULL);
    if (socket != NULL && saves)
        (void)save_screens(life, socket, id, &ignored);
    if (socket != NULL && end_live(life, socket, id, err) == -1)
        return -1;
    return life_sweep(life, id, err);
}

int life_stop(const struct life *life, const char *id, struct life_end *ret, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = -1;
    _cleanup_close_ int lock = -1;
    struct life_end end = {.was = false};
    struct err ignored = ERR_INIT;

    if (life_hold(life, id, LOCK_WAIT_MS, "stop", &dir, &lock, err) == -1)
        return -1;
    if (life_load(life, dir, id, "stop", &session, err) == -1) {
        if (err->code == MAS_DAMAGED && stop_unknown(life, id, false, &ignored) == 0)
            (void)err_hint(err, "its agents have ended anyway; check it with: mas doctor");
        return -1;
    }
    if (life_stop_held(life, dir, &session, &end, err) == -1)
        return -1;
    *ret = end;
    return 0;
}

static int is_running(const struct life *life, const char *id, const char *what, struct err *err)
{
    const struct session_label label = session_label(life->root, id);

    (void)err_set(err, MAS_CONFLICT, "cannot %s session '%s': it is running", what, label.text);
    return strcmp(what, "remove") == 0
               ? err_hint(err, "stop it first, or remove it with: mas rm -f %s", label.text)
               : err_hint(err, "stop it first with: mas stop %s", label.text);
}

int life_require_stopped(const struct life *life, int dir, const struct session *session,
                         const char *what, struct err *err)
{
    struct tmux_session *live = NULL;

    if (survey_find_live(life->root, session->tmux_socket, session->id, &live, err) == -1)
        return -1;
    tmux_sessions_free(live, live != NULL);
    if (live != NULL)
        return is_running(life, session->id, what, err);
    if (life_await_hosts(life, dir, session->id, what, err) == -1 ||
        life_sweep(life, session->id, err) == -1)
        return -1;
    life_lease_give_back(session); /* of one that has crashed */
    return 0;
}

/* Keeps the work of a session whose metadata is unreadable. */
static int keep_unknown(const struct life *life, const char *id, int dir,
                        const struct life_removal *options, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;

    if (options->keep == NULL)
        return 0;
    memcpy(session.id, id, ID_TEXT);
    session.name = mem_dup("");
    session.template = mem_dup("");
    return options->keep(life, dir, &session, options->arg, err);
}

/* Stops a session before its removal, or refuses. */
static int clear_way(const struct life *life, const char *id, int dir,
                     const struct life_removal *options, struct life_end *end, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;

    end->removing = true;
    if (life_load(life, dir, id, "remove", &session, err) == -1) {
        if (err->code != MAS_DAMAGED)
            return -1;
        if (options->force)
            return stop_unknown(life, id, false, err) == -1
                       ? -1
                       : keep_unknown(life, id, dir, options, err);
        return err_hint(err, "remove it anyway with: mas rm -f %s", id);
    }
    if (life_is_half_moved(life, dir, &session))
        return life_migrate_first(life, "remove", id, err);
    if (options->force ? life_stop_held(life, dir, &session, end, err) == -1 ||
                             (options->keep != NULL &&
                              options->keep(life, dir, &session, options->arg, err) == -1)
                       : life_require_stopped(life, dir, &session, "remove", err) == -1 ||
                             unlanded_check(life, dir, id, err) == -1)
        return -1;
    life_lease_forget(&session);
    return 0;
}

/* Removes what can remain of a session without a workspace: a row, a tmux session. */
static int remove_rest(const struct life *life, const char *id, bool force, struct err *err)
{
    _cleanup_free_ char *socket = NULL;
    struct tmux_session *live = NULL;
    _cleanup_close_ int lock = -1;

    if (!force && survey_find_anywhere(life->root, life->config, id, &socket, &live, err) == -1)
        return -1;
    tmux_sessions_free(live, live != NULL);
    if (live != NULL)
        return is_running(life, id, "remove", err);
    if ((force && stop_unknown(life, id, true, err) == -1) ||
        root_lock(life->root, &lock, err) == -1 || life_end_guests(life->root, id, err) == -1)
        return -1;
    return index_update(life->root, id, NULL, err);
}

int life_end_guests(const struct root *root, const char *id, struct err *err)
{
    size_t count = 0;

    return pairing_end_guests(root, id, NULL, &count, err) == 0 || err->code == MAS_DAMAGED ? 0
                                                                                            : -1;
}

int life_remove_held(const struct life *life, const char *id, struct err *err)
{
    _cleanup_close_ int lock = -1;
    struct err trash = ERR_INIT;

    /* the row first: a workspace without a row is still listed, a row without a workspace is an
     * error */
    if (root_lock(life->root, &lock, err) == -1 || life_end_guests(life->root, id, err) == -1 ||
        index_update(life->root, id, NULL, err) == -1)
        return -1;
    int rc = workspace_trash(life->root, id, &trash);
    cgroup_forget(config_text(life->config, SETTING_LIMIT_CGROUP), id);
    if (rc == -1)
        (void)index_rebuild(life->root, err);
    fd_closep(&lock);
    if (rc != -1)
        ports_drop(life->root, id, NULL);
    if (rc != -1 && workspace_empty_trash(life->root, id, err) == -1)
        return -1;
    if (rc == 0)
        return 0;
    *err = trash;
    return -1;
}

int life_remove(const struct life *life, const char *id, const struct life_removal *options,
                struct life_end *end, struct err *err)
{
    bool force = options->force;
    _cleanup_close_ int dir = workspace_open(life->root, id);
    _cleanup_close_ int session_lock = -1;
    int missing = dir == -1 ? errno : 0;

    if (root_check(life->root, err) == -1)
        return -1;
    errno = missing;
    if (dir == -1 && errno == ENOENT)
        return remove_rest(life, id, force, err);
    bool is_other = dir == -1 && (errno == ENOTDIR || errno == ELOOP); /* a link or a file */
    if (dir == -1 && !(is_other && force)) {
        (void)err_errno(err, "cannot open session '%s'", id);
        return is_other ? err_hint(err, "remove what is in its place with: mas rm -f %s", id) : -1;
    }
    /* a file that cannot be a lock belongs to no process and must not prevent the removal */
    if (!is_other && force && workspace_lock_fault(dir) != NULL &&
        workspace_clear_lock(life->root, dir, err) == -1)
        return -1;
    /* no process may outlive its workspace */
    if ((is_other ? stop_unknown(life, id, true, err)
                  : life_lock(life, dir, id, LOCK_TRY, "rm", &session_lock, err)) == -1 ||
        (!is_other && clear_way(life, id, dir, options, end, err) == -1))
        return -1;
    return life_remove_held(life, id, err);
}
