#include "client/sight.h"

#include "store/workspace.h"

#include <stdlib.h>
#include <string.h>

void sight_free(struct sight *sight)
{
    roll_free(&sight->roll);
    usage_free(&sight->usage);
    free(sight->panes);
}

void sight_look(const struct root *root, const struct view *view, struct sight *ret)
{
    struct err ignored = ERR_INIT;
    struct roll_team team;
    const struct usage_wish wish = {.id = view->row.id, .mode = view->row.mode};

    ret->view = *view;
    if (roll_open(root, view->row.id, &team, &ignored) == 0) {
        (void)roll_add(&ret->roll, &team, NULL, &ignored);
        roll_ask(&ret->roll, "{\"do\":\"status\"}", NULL, 0);
    }
    usage_measure(root, &wish, 1, &ret->usage, NULL);
    if (view->live != NULL)
        (void)tmux_panes(view->live_socket, view->live->target, view->row.id, &ret->panes,
                         &ret->pane_count, &ignored);
    roll_finish(&ret->roll, HOSTS_ANSWER_MS);
    for (size_t i = 0; i < ret->roll.count; i++)
        if (ret->roll.agents[i].told) {
            ret->view.tally.told++;
            ret->view.tally.states[ret->roll.agents[i].status.state]++;
        }
}

const struct tmux_pane *sight_pane(const struct sight *sight, const char *agent)
{
    for (size_t i = 0; i < sight->pane_count; i++)
        if (strcmp(sight->panes[i].agent, agent) == 0)
            return &sight->panes[i];
    return NULL;
}

const char *sight_pane_word(const struct tmux_pane *pane)
{
    return pane == NULL ? "stopped" : pane->dead ? "exited" : "running";
}

int sight_exit_status(const struct roll_agent *agent, const struct tmux_pane *pane)
{
    if (!agent->told)
        return pane != NULL && pane->dead ? pane->exit_status : -1;
    if (agent->status.state != AGENT_EXITED && agent->status.state != AGENT_CRASHED)
        return -1;
    return agent->status.signal != 0 ? 128 + agent->status.signal : agent->status.exit_code;
}

static void put_agent(const struct sight *sight, size_t i, struct json_out *out)
{
    const struct roll_agent *one = &sight->roll.agents[i];
    const struct tmux_pane *pane = sight_pane(sight, one->agent->id);
    int code = sight_exit_status(one, pane);

    json_open(out, NULL, '{');
    json_put(out, "id", one->agent->id);
    json_put(out, "role", one->agent->role);
    json_put(out, "rank", rank_name(one->agent->rank));
    json_put(out, "group", one->agent->group);
    json_put(out, "preset", one->agent->preset);
    json_put(out, "model", one->agent->model);
    if (one->told) {
        agent_status_put(&one->status, out);
    } else {
        json_put(out, "state", sight_pane_word(pane));
        if (pane != NULL) {
            json_put(out, "problem", roll_problem(&sight->roll, i));
            json_put(out, "pane", pane->pane);
        }
    }
    if (code != -1)
        json_put_int(out, "exitStatus", code);
    json_close(out, '}');
}

void sight_put_json(const struct root *root, const struct sight *sight, struct json_out *out)
{
    const struct view *view = &sight->view;
    struct session session = {.mode = view->row.mode};
    memcpy(session.id, view->row.id, ID_TEXT);
    _cleanup_free_ char *unit = workspace_part_path(root, session.id, session.mode, WORKSPACE_UNIT);
    _cleanup_free_ char *workflows =
        workspace_part_path(root, session.id, session.mode, WORKSPACE_WORKFLOWS);

    json_open(out, NULL, '{');
    view_put_json(root, view, out);
    json_put(out, "tmuxSocket", view->live_socket != NULL ? view->live_socket : view->socket);
    json_put(out, "unitDir", unit);
    json_put(out, "workflowsDir", workflows);
    json_put(out, "protection", "none");
    json_put(out, "endedBy", "sweep");
    json_open(out, "disk", '{');
    json_put_int(out, "files", (int64_t)sight->usage.all.files);
    json_put_int(out, "apparentBytes", (int64_t)sight->usage.all.apparent);
    json_put_int(out, "realBytes", (int64_t)sight->usage.all.real);
    json_close(out, '}');
    json_open(out, "agents", '[');
    for (size_t i = 0; i < sight->roll.count; i++)
        put_agent(sight, i, out);
    json_close(out, ']');
    json_close(out, '}');
}
