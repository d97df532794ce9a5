/*
 * The part of session/grow.h that takes an agent away. Its work is looked at before the agent is
 * ended, so that a refusal disturbs nobody, and again when nothing can change it any more.
 * Processes that have left its pane are found by their environment. Until .growing is written, a
 * failure starts the agent again.
 */

#include "client/hosts.h"
#include "client/survey.h"
#include "code/keep.h"
#include "code/merge.h"
#include "code/repo_make.h"
#include "memory/store.h"
#include "model/target.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"
#include "session/archive.h"
#include "session/grow_internal.h"
#include "session/places.h"
#include "store/limits/session_limits.h"
#include "store/team_file.h"

enum { HOST_EXIT_MS = 10000 };

/* What tmux has of the session. */
struct pane_to_end {
    struct tmux_session *live; /* NULL: nothing */
    struct tmux_pane *panes;
    size_t count;
    const struct tmux_pane *pane; /* of the agent; NULL: none */
};

static void pane_to_end_free(struct pane_to_end *in)
{
    tmux_sessions_free(in->live, in->live != NULL);
    free(in->panes);
}
#define _cleanup_pane_to_end_ __attribute__((cleanup(pane_to_end_free)))

static int fail_work(const struct growing *growing, const char *agent, char *const *work,
                     struct err *err)
{
    const struct session_label label = session_label(growing->life->root, growing->session.id);
    _cleanup_str_ struct str all = STR_INIT;

    for (char *const *one = work; *one != NULL; one++)
        str_addf(&all, "%s%s", all.len > 0 ? "; " : "", *one);
    (void)err_set(err, MAS_CONFLICT, "cannot remove agent '%s': its work would be lost: %s", agent,
                  str_text(&all));
    return err_hint(err,
                    "see it with: mas diff %s %s; bring it in with: mas merge %s %s; or keep it "
                    "aside with: mas remove -f %s %s",
                    label.text, agent, label.text, agent, label.text, agent);
}

/* Finds what would be lost with the agent. */
static int find_work(const struct growing *growing, const char *agent, bool runs, char ***ret,
                     struct err *err)
{
    _cleanup_close_ int lock = -1;

    *ret = NULL;
    if (growing->repo.git == NULL || team_agent(&growing->team, agent)->code != AGENT_CODE_WORKTREE)
        return 0;
    if (merge_lock(&growing->repo, growing->what, &lock, err) == -1 ||
        keep_find_agent(&growing->repo, &growing->team, agent, runs, ret, err) == -1)
        return -1;
    if (places_half_reset(growing->dir, agent)) {
        _cleanup_free_ char *line = mem_printf("%s: its reset was interrupted", agent);
        strv_push(ret, line);
    }
    return 0;
}

static int check_work(const struct growing *growing, const char *agent, bool runs, struct err *err)
{
    _cleanup_strv_ char **work = NULL;

    if (find_work(growing, agent, runs, &work, err) == -1)
        return err_wrap(err, "cannot remove agent '%s'", agent);
    return work != NULL ? fail_work(growing, agent, work, err) : 0;
}

static bool on_status(struct host_call *call, const struct frame *reply, void *arg)
{
    enum agent_state *state = arg;

    (void)call;
    return agent_state_parse(json_get_text_or(reply->head, "state", ""), state);
}

int grow_check_idle(const struct growing *growing, const char *agent, struct err *err)
{
    _cleanup_close_ int run = path_open_dir(growing->dir, WORKSPACE_RUN);
    struct host_call call = {.run = run, .agent = agent};
    enum agent_state state = AGENT_IDLE;

    hosts_start(&call, 1, "{\"do\":\"status\"}", NULL, 0);
    hosts_finish(&call, 1, HOSTS_ANSWER_MS, on_status, &state);
    if (state != AGENT_WORKING && state != AGENT_WAITING && state != AGENT_LIMITED)
        return 0;
    const struct session_label label = session_label(growing->life->root, growing->session.id);
    (void)err_set(err, MAS_CONFLICT, "cannot %s agent '%s': it is %s", growing->what, agent,
                  agent_state_name(state));
    return err_hint(err, "wait for it with: mas wait %s %s; or end it: mas %s -f %s %s", label.text,
                    agent, growing->what, label.text, agent);
}

static int find_pane(const struct growing *growing, const char *agent, struct pane_to_end *ret,
                     struct err *err)
{
    const struct session *session = &growing->session;

    if (survey_find_team(growing->life->root, session->tmux_socket, session->id, &ret->live,
                         &ret->panes, &ret->count, err) == -1)
        return -1;
    for (size_t i = 0; i < ret->count; i++)
        if (strcmp(ret->panes[i].agent, agent) == 0)
            ret->pane = &ret->panes[i];
    if (ret->pane == NULL || !proc_is_ancestor(ret->pane->pid))
        return 0;
    (void)err_set(err, MAS_CONFLICT, "cannot remove agent '%s': this command runs in its pane",
                  agent);
    return err_hint(err, "run it elsewhere");
}

/* Ends the agent, its host and its pane. */
static int end(const struct growing *growing, const char *agent, const struct pane_to_end *in,
               struct err *err)
{
    const struct life *life = growing->life;
    const char *id = growing->session.id;
    const struct agent *is = team_agent(&growing->team, agent);
    _cleanup_free_ char *window = mem_dup(growing->team.windows[is->window].name);
    struct life_end how = {.was = false};
    struct proc_id host;

    life_stop_hosts(life, id, agent, &how);
    if (in->pane != NULL) {
        _cleanup_team_ struct team left = TEAM_INIT;
        struct tmux_team tmux = life_tmux_team(life, &growing->session, &left, growing->dir);
        bool lives = !in->pane->dead && proc_identify(in->pane->pid, &host);
        if (team_file_load(growing->dir, &left, err) == -1)
            return -1;
        team_shrink(&left, agent);
        if (tmux_drop_pane(&tmux, in->live, window, in->pane, err) == -1)
            return -1;
        if (lives)
            (void)proc_wait_gone(&host, 1, HOST_EXIT_MS);
    }
    return life_end_agent(life, id, agent, err);
}

int grow_keep(const struct growing *growing, const char *agent, bool hosted, struct shrunk *ret,
              struct err *err)
{
    const struct life *life = growing->life;
    const char *id = growing->session.id;
    _cleanup_strv_ char **work = NULL;
    _cleanup_close_ int lock = -1;
    struct archive_report report = {.file = NULL};
    struct err why = ERR_INIT;

    if (find_work(growing, agent, hosted, &work, &why) == 0 && work == NULL)
        return 0;
    if (mkdirat(life->root->fd, LIFE_LOST_DIR, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot make '" LIFE_LOST_DIR "'");
    _cleanup_free_ char *file = NULL;
    long long now = (long long)time(NULL);
    do { /* one of this second may be what a killed command has kept */
        free(file);
        file = mem_printf("%s/" LIFE_LOST_DIR "/%s-%s-%lld.tar.zst", life->root->path, id, agent,
                          now++);
    } while (access(file, F_OK) == 0);
    if (archive_live(life, id, file, true, &report, err) == -1)
        return err_wrap(err, "cannot keep the work of agent '%s'", agent);
    ret->kept = mem_dup(report.file);
    archive_report_free(&report);
    if (merge_lock(&growing->repo, growing->what, &lock, &ret->untold) == 0)
        (void)keep_save(&growing->repo, &growing->team, agent, id, &ret->untold);
    return 0;
}

static int check(const struct growing *growing, const char *agent, struct err *err)
{
    if (team_agent(&growing->team, agent) == NULL) {
        (void)err_set(err, MAS_NOT_FOUND, "cannot remove agent '%s': the team has no such agent",
                      agent);
        return target_hint(&growing->team, agent, false, err);
    }
    if (growing->team.agent_count > 1)
        return 0;
    const struct session_label label = session_label(growing->life->root, growing->session.id);
    (void)err_set(err, MAS_CONFLICT, "cannot remove agent '%s': it is the last one of its team",
                  agent);
    return err_hint(err, "remove the session with: mas rm %s", label.text);
}

/* Ends the agent, looks at its work again and begins. If that fails, it is started again. */
static int make_way(struct growing *growing, const char *agent, bool force, struct shrunk *ret,
                    struct err *err)
{
    _cleanup_pane_to_end_ struct pane_to_end in = {.live = NULL};
    struct err ignored = ERR_INIT;
    bool runs = false;

    if (check(growing, agent, err) == -1 || find_pane(growing, agent, &in, err) == -1 ||
        (!force && (grow_check_idle(growing, agent, err) == -1 ||
                    check_work(growing, agent, in.pane != NULL, err) == -1)))
        return -1;
    int rc = end(growing, agent, &in, err);
    if (rc == 0 && force)
        rc = grow_keep(growing, agent, false, ret, err);
    else if (rc == 0 && in.pane != NULL)
        rc = check_work(growing, agent, false, err);
    if (rc == 0)
        rc = grow_begin(growing->dir, agent, err);
    if (rc == -1 && in.pane != NULL)
        (void)grow_start(growing, team_agent(&growing->team, agent), &runs, &ignored);
    return rc;
}

int grow_remove(const struct life *life, const char *id, const char *agent, bool force,
                struct shrunk *ret, struct err *err)
{
    _cleanup_growing_ struct growing growing = GROWING_INIT;

    if (grow_open(life, id, "remove", &growing, err) == -1 ||
        make_way(&growing, agent, force, ret, err) == -1)
        return -1;
    team_shrink(&growing.team, agent);
    if (grow_record(&growing, err) == -1 ||
        grow_drop_parts(life->root, growing.dir, id, &growing.team, agent, &ret->waiting, err) ==
            -1 ||
        grow_end(growing.dir, err) == -1)
        return err_wrap(err, "cannot remove agent '%s'", agent);
    workspace_log(growing.dir, config_log_limits(life->config), "remove agent=%s%s%s", agent,
                  ret->kept != NULL ? " kept=" : "", ret->kept != NULL ? ret->kept : "");
    return 0;
}
