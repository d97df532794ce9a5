#include "top/table.h"

#include "base/time.h"
#include "top/tail.h"

struct top_team *table_add_team(struct top_table *table, const char *id, const char *name)
{
    struct top_team *team = mem_alloc(sizeof *team);

    memcpy(team->id, id, ID_TEXT);
    team->name = mem_dup(name);
    table->teams = mem_room(table->teams, table->count, sizeof *table->teams);
    table->teams[table->count++] = team;
    table->changed = true;
    return team;
}

static void free_agents(struct top_team *team)
{
    for (size_t i = 0; i < team->count; i++) {
        struct top_agent *agent = &team->agents[i];
        host_connection_close(&agent->host);
        agent_status_free(&agent->status);
        tail_free(agent->tail);
        free(agent->problem);
        free(agent->id);
        free(agent->role);
    }
    free(team->agents);
    team->agents = NULL;
    team->count = 0;
}

void table_set_agents(struct top_table *table, struct top_team *team, size_t count)
{
    table->agents -= team->count;
    free_agents(team);
    team->agents = mem_alloc((count + 1) * sizeof *team->agents);
    team->count = count;
    for (size_t i = 0; i < count; i++) {
        team->agents[i] = (struct top_agent){.team = team, .host = HOST_CONNECTION_INIT};
        table_lose(table, &team->agents[i], LINK_COMES, NULL);
    }
    table->agents += count;
}

static void free_team(struct top_team *team)
{
    free_agents(team);
    every_free(&team->every);
    free(team->name);
    free(team->problem);
    free(team);
}

void table_remove_team(struct top_table *table, size_t i)
{
    table->agents -= table->teams[i]->count;
    free_team(table->teams[i]);
    table->count--;
    memmove(&table->teams[i], &table->teams[i + 1], (table->count - i) * sizeof *table->teams);
    table->changed = true;
}

struct top_team *table_find(const struct top_table *table, const char *id)
{
    for (size_t i = 0; i < table->count; i++)
        if (memcmp(table->teams[i]->id, id, ID_TEXT) == 0)
            return table->teams[i];
    return NULL;
}

void table_free(struct top_table *table)
{
    while (table->count > 0)
        table_remove_team(table, table->count - 1);
    free(table->teams);
    *table = (struct top_table)TOP_TABLE_INIT;
}

void table_tell(struct top_table *table, struct top_agent *agent, struct agent_status *status)
{
    agent_status_free(&agent->status);
    agent->status = *status;
    agent->told = true;
    agent->link = LINK_LIVE;
    free(agent->problem);
    agent->problem = NULL;
    table->changed = true;
}

void table_lose(struct top_table *table, struct top_agent *agent, enum top_link link,
                const char *problem)
{
    bool needs = link == LINK_ABSENT || link == LINK_REFUSED;
    bool same = agent->link == link && !agent->told && agent->id != NULL;

    if (!same) {
        agent_status_free(&agent->status);
        agent->status = (struct agent_status){.state = needs ? AGENT_CRASHED : AGENT_EXITED,
                                              .since_ms = needs ? time_epoch_ms() : 0,
                                              .exit_code = -1};
        agent->told = false;
        agent->link = link;
        table->changed = true;
    }
    if (problem == NULL || agent->problem == NULL || strcmp(problem, agent->problem) != 0) {
        free(agent->problem);
        agent->problem = mem_dup(problem);
    }
}

bool team_is_down(const struct top_team *team)
{
    size_t absent = 0;

    for (size_t i = 0; i < team->count; i++)
        absent += team->agents[i].link == LINK_ABSENT;
    return team->runs && team->count > 1 && absent == team->count;
}

const char *top_agent_word(const struct top_agent *agent)
{
    static const char *const words[] = {[LINK_COMES] = "...",
                                        [LINK_LIVE] = "",
                                        [LINK_STOPPED] = "stopped",
                                        [LINK_ABSENT] = "no host",
                                        [LINK_REFUSED] = "no answer"};

    return agent->told ? agent_state_name(agent->status.state) : words[agent->link];
}
