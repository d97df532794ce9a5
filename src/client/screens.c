#include "client/screens.h"

#include "client/survey.h"

void screens_free(struct screens *screens)
{
    for (size_t i = 0; screens->shown != NULL && i < screens->roster.count; i++)
        free(screens->shown[i].text);
    free(screens->shown);
    roster_free(&screens->roster);
}

/* Asks tmux for the panes, because a host did not report its pane. */
static int ask_tmux(const struct root *root, const char *socket, struct screens *screens,
                    struct err *err)
{
    const struct roster *roster = &screens->roster;
    const char *id = roster->teams[0].id;
    _cleanup_free_ struct tmux_pane *panes = NULL;
    struct tmux_session *live = NULL;
    size_t count = 0;

    if (survey_find_team(root, socket, id, &live, &panes, &count, err) == -1)
        return -1;
    if (live == NULL) {
        const struct session_label label = roster_label(&roster->teams[0]);
        (void)err_set(err, MAS_CONFLICT, "cannot peek at session '%s': it is not running",
                      label.text);
        return err_hint(err, "start it with: mas start %s", label.text);
    }
    tmux_sessions_free(live, 1);
    for (size_t i = 0; i < roster->count; i++)
        for (size_t j = 0; j < count; j++)
            if (strcmp(panes[j].agent, roster->agents[i].agent->id) == 0)
                (void)snprintf(screens->shown[i].pane, sizeof screens->shown[i].pane, "%s",
                               panes[j].pane);
    return 0;
}

int screens_look(const struct root *root, struct screens *screens, int history, struct err *err)
{
    struct roster *roster = &screens->roster;
    struct roster_team *team = &roster->teams[0];
    _cleanup_session_ struct session session = SESSION_INIT;
    bool all = true;

    screens->shown = mem_alloc(roster->count * sizeof *screens->shown);
    roster_ask(roster, "{\"do\":\"status\"}", NULL, 0);
    if (session_load(root, team->dir, team->id, &session, err) == -1)
        return err_wrap(err, "cannot peek at session '%s'", team->id);
    roster_finish(roster, HOSTS_ANSWER_MS);
    for (size_t i = 0; i < roster->count; i++) {
        const struct roster_agent *agent = &roster->agents[i];
        struct tmux_screen *shown = &screens->shown[i];
        (void)snprintf(shown->pane, sizeof shown->pane, "%s",
                       agent->told ? agent->status.pane : "");
        all = all && shown->pane[0] != '\0';
    }
    if (!all && ask_tmux(root, session.tmux_socket, screens, err) == -1)
        return -1;
    return tmux_capture_panes(session.tmux_socket, team->id, history, screens->shown, roster->count,
                              err);
}

int screens_failure(const struct screens *screens, size_t i, struct err *err)
{
    if (screens->shown[i].text != NULL)
        return 0;
    return err_set(err, MAS_NOT_FOUND, "cannot peek at agent '%s': its pane is gone",
                   screens->roster.agents[i].agent->id);
}

void screens_put(const struct screens *screens, struct str *to)
{
    const struct roster *roster = &screens->roster;
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    json_put(&out, "sessionId", roster->teams[0].id);
    json_open(&out, "agents", '[');
    for (size_t i = 0; i < roster->count; i++) {
        const struct tmux_screen *shown = &screens->shown[i];
        json_put_all(&out, JO(NULL), JT("id", roster->agents[i].agent->id),
                     JT("pane", shown->text != NULL ? shown->pane : NULL), JT("text", shown->text),
                     JOE);
    }
    json_close(&out, ']');
    json_close(&out, '}');
}
