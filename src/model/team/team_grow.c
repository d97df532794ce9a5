/*
 * A team that changes. Agents keep their order, since a host knows by its number which mark of
 * run/env is its own; a new one comes last.
 */

#include "model/team/layout.h"
#include "model/team/team_internal.h"

const char *agent_check(const char *key, const char *value)
{
    return value_parse(members_find(agent_members, key)->type, value, NULL, 0);
}

/* Returns the window in which the agent finds room; NULL: there is none. */
static struct window *find_room(struct team *team, const char *id, size_t like, int columns,
                                int rows)
{
    struct window *window = &team->windows[team->agents[like].window];

    if (window->count < layout_capacity(window->layout) &&
        layout_fits(window->layout, window->count + 1, columns, rows))
        return window;
    for (size_t i = 0; i < team->window_count; i++)
        if (strcmp(team->windows[i].name, id) == 0)
            return NULL;
    window = team_add_window(team, id);
    if (window != NULL)
        window->layout = mem_dup("tiled");
    return window;
}

/* A template of one agent has nothing to say about others. */
static void give_rules(struct team *team)
{
    for (size_t i = 0; i < RANK_COUNT; i++)
        if (team->rules[i] != 0)
            return;
    team->rules[RANK_MANAGER] = REACH_WORKERS | REACH_MANAGERS | REACH_META;
    team->rules[RANK_WORKER] = REACH_MANAGER | REACH_UNIT;
}

static void set_text(char **text, const char *value)
{
    free(*text);
    *text = mem_dup(value);
}

/* Makes a worker of the unit. */
static void add_worker(struct team *team, const char *id, size_t like)
{
    struct agent *agent = team_add_agent(team, id);
    const struct agent *peer = &team->agents[like];

    agent->rank = RANK_WORKER;
    agent->group = mem_dup(peer->group);
    agent->role = mem_dup(peer->role);
    agent->code = peer->code;
    agent->cwd = peer->cwd;
    members_fill(agent_members, agent);
}

const char *team_grow(struct team *team, const char *id, size_t like, bool same, int columns,
                      int rows)
{
    if (team->agent_count == TEAM_AGENTS_MAX)
        return "a team has at most 256 agents";
    struct window *window = find_room(team, id, like, columns, rows);
    if (window == NULL)
        return "its windows have no room";
    if (same) {
        struct agent *agent = team_copy_agent(team, id, like);
        set_text(&agent->prompt, "");
        set_text(&agent->grown_by, "");
    } else {
        add_worker(team, id, like);
    }
    give_rules(team);
    return team_place(team, (size_t)(window - team->windows), id);
}

/* Takes the agent with this index out of a window; those behind it have one less from now on. */
static void leave_window(struct window *window, size_t index)
{
    size_t kept = 0;

    for (size_t i = 0; i < window->count; i++)
        if (window->agents[i] != index)
            window->agents[kept++] = window->agents[i] - (window->agents[i] > index);
    window->count = kept;
}

static void drop_window(struct team *team, size_t index)
{
    struct window *window = &team->windows[index];

    free(window->name);
    members_free(window_members, window);
    free(window->agents);
    memmove(window, window + 1, (--team->window_count - index) * sizeof *window);
    for (size_t i = 0; i < team->agent_count; i++)
        team->agents[i].window -= team->agents[i].window > index;
}

void team_shrink(struct team *team, const char *id)
{
    const struct agent *agent = team_agent(team, id);

    if (agent == NULL)
        return;
    size_t index = (size_t)(agent - team->agents);
    size_t window = agent->window;
    free(team->agents[index].id);
    members_free(agent_members, &team->agents[index]);
    memmove(&team->agents[index], &team->agents[index + 1],
            (--team->agent_count - index) * sizeof *team->agents);
    for (size_t i = 0; i < team->window_count; i++)
        leave_window(&team->windows[i], index);
    if (team->windows[window].count == 0)
        drop_window(team, window);
}
