#include "base/suggest.h"
#include "cli/roots.h"
#include "client/lost_server.h"
#include "client/survey.h"
#include "client/who_waits.h"
#include "cmd.h"
#include "store/workspace.h"
#include "tmux/tmux.h"

/* Returns the newest session that runs; else the newest one whose state is unknown because tmux
 * could not be asked; else NULL. */
static const struct view *newest_active(const struct survey *survey)
{
    const struct view *unknown = NULL;
    for (size_t i = survey->count; i-- > 0;) {
        if (survey->views[i].status == STATUS_ACTIVE)
            return &survey->views[i];
        if (survey->views[i].unknown && survey->views[i].reason != NULL && unknown == NULL)
            unknown = &survey->views[i];
    }
    return unknown;
}

static int attach(const struct root *root, const struct view *view, const char *agent,
                  struct err *err)
{
    struct tmux_pane *panes = NULL;
    size_t count = 0;
    struct suggest suggest = SUGGEST_INIT(agent);
    size_t i = 0;

    if (agent == NULL)
        return tmux_attach(view->live_socket, view->live->target, NULL, err);
    if (tmux_panes(view->live_socket, view->live->target, view->row.id, &panes, &count, err) == -1)
        return -1;
    while (i < count && strcmp(panes[i].agent, agent) != 0)
        suggest_try(&suggest, panes[i++].agent);
    if (i < count)
        who_tell_seen(root, view->row.id, agent);
    int rc = i < count ? tmux_attach(view->live_socket, view->live->target, &panes[i], err)
                       : err_set(err, MAS_NOT_FOUND,
                                 "cannot attach to agent '%s': the team has no such pane", agent);
    if (i == count && suggest.nearest != NULL)
        (void)err_hint(err, SUGGEST_MEANT "%s", suggest.nearest);
    free(panes);
    return rc;
}

/* If nothing runs, hints at the newest session that can be started, or at how to begin. */
static int hint_stopped(const struct call *call, const struct survey *survey, struct err *err)
{
    for (size_t i = survey->count; i-- > 0;) {
        const struct view *view = &survey->views[i];
        const char *name = view_name(view)[0] != '\0' ? view_name(view) : view->row.tmux_name;
        if (view->status == STATUS_STOPPED)
            return err_hint(err, "start a session with: mas start %s  (all sessions: mas list)",
                            name);
    }
    return roots_hint_none(call, err);
}

/* Lets the server of a session make its socket again, and takes the survey anew. */
static int bring_server_back(const struct call *call, struct survey *survey,
                             const struct view *view, struct err *err)
{
    _cleanup_close_ int dir = workspace_open(&call->root, view->row.id);

    if (lost_server_mend(dir, view->socket, err) == -1)
        return -1;
    err_warn("the file of its tmux server's socket was gone; the server has made it again");
    survey_free(survey);
    return survey_take(&call->root, &call->config, SURVEY_LIVE, survey, err);
}

static int run_attach(struct call *call, struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    char id[ID_TEXT];
    const char *name = call_opt(call, "session");
    const char *agent = call->operand_count > 0 ? call->operands[0] : NULL;

    if (name != NULL && call->operand_count > 1)
        return call_unexpected(call, call->operands[1], err);
    if (name == NULL && call->operand_count > 0) {
        name = call->operands[0];
        agent = call->operand_count > 1 ? call->operands[1] : NULL;
    }
    if (name != NULL && call_select(call, name, id, err) == -1)
        return -1;
    if (call->has_root && survey_take(&call->root, &call->config, SURVEY_LIVE, &survey, err) == -1)
        return -1;
    const struct view *view =
        name != NULL ? survey_look(&call->root, &survey, id) : newest_active(&survey);
    if (view != NULL && view->lost) {
        memcpy(id, view->row.id, ID_TEXT);
        if (bring_server_back(call, &survey, view, err) == -1)
            return -1;
        view = survey_look(&call->root, &survey, id);
    }
    if (view == NULL) {
        (void)err_set(err, MAS_NOT_FOUND, "cannot attach: no session is running in '%s'",
                      call->searched);
        return hint_stopped(call, &survey, err);
    }
    if (view->unknown) {
        *err = *view->failure;
        return err_wrap(err, "cannot attach");
    }
    if (view->live == NULL && view->reason != NULL)
        return err_set(err, MAS_DAMAGED, "cannot attach to session '%s': %s",
                       session_label(&call->root, view->row.id).text, view->reason);
    if (view->live == NULL) {
        (void)err_set(err, MAS_CONFLICT, "cannot attach to session '%s': it is stopped", name);
        return err_hint(err, "start it with: mas start %s", name);
    }
    return tmux_check_attach(view->live_socket, err) == 0 ? attach(&call->root, view, agent, err)
                                                          : -1;
}

static const struct opt opts[] = {
    {'s', "session", "SESSION", "the session"},
    {.name = NULL},
};

const struct cmd cmd_attach = {
    .name = "attach",
    .group = GROUP_BEGIN,
    .operands = " [SESSION [AGENT]]",
    .summary = "attach this terminal to a session, at an agent's pane",
    .examples = "mas attach\n"
                "mas attach shop\n"
                "mas attach shop lead",
    .details = "Without SESSION, mas attaches to the newest session that runs. Inside tmux "
               "on the same server, the client switches to the session instead.",
    .opts = opts,
    .operands_max = 2,
    .root = ROOT_IF_THERE,
    .does = CHANGES_SESSIONS | WAITS_LONG | USES_TERMINAL,
    .run = run_attach,
};
