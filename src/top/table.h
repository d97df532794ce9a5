/*
 * The teams and agents that mas top shows, and what is known of them. feed.h fills the table.
 */
#pragma once

#include "base/id.h"
#include "client/hosts.h"
#include "model/agent_status.h"
#include "model/attention.h"
#include "store/every.h"

enum top_link {
    LINK_COMES, /* nothing is known yet */
    LINK_LIVE, /* its host reports */
    LINK_STOPPED, /* its session is stopped, so it has no host */
    LINK_ABSENT, /* it has no host although its session should run */
    LINK_REFUSED, /* its host does not answer, or not as it should: see `problem` */
};

struct agent_tail; /* see tail.h */

struct top_agent {
    struct top_team *team;
    char *id, *role;
    bool has_code; /* it has a work tree of its own */
    enum top_link link;
    /* Known from the host if `told`. Otherwise only state and since_ms are set, to what the agent
     * counts as: see table_lose(). */
    struct agent_status status;
    bool told;
    char *problem; /* with LINK_REFUSED */
    struct agent_tail *tail; /* what it prints or says; NULL: nobody looks */
    /* for feed.c */
    struct host_connection host;
    bool in_turns; /* it is asked from time to time, because it cannot be watched */
    int64_t next_ms; /* when to connect; monotonic */
    int pause_ms; /* before the attempt after that */
};

struct top_team {
    char id[ID_TEXT];
    char *name;
    bool runs; /* it should */
    char *problem; /* why its agents are unknown; NULL: they are known */
    int64_t begun_ms; /* monotonic; hosts may come until shortly after that */
    struct top_agent *agents;
    size_t count;
    struct every every; /* what is sent to its agents at set times, and its errands */
    /* for feed.c */
    bool listed; /* the index has it */
    ino_t file; /* the file that its agents were read from, */
    struct timespec file_at; /* and of when that is */
    ino_t every_file; /* likewise for `every` */
    struct timespec every_at;
    size_t place; /* for rows.c: the place of its first agent among all, from 1 */
};

struct top_table {
    struct top_team **teams;
    size_t count;
    size_t agents; /* of all teams */
    bool changed; /* since the last time that it was drawn */
};

#define TOP_TABLE_INIT                                                                             \
    {                                                                                              \
        .teams = NULL                                                                              \
    }

/* Adds a team without agents. It belongs to the table. */
struct top_team *table_add_team(struct top_table *table, const char *id, const char *name);
/* Gives a team `count` agents, which the caller fills. */
void table_set_agents(struct top_table *table, struct top_team *team, size_t count);
void table_remove_team(struct top_table *table, size_t i);
struct top_team *table_find(const struct top_table *table, const char *id);
void table_free(struct top_table *table);

/* Keeps what a host has reported. Takes the texts of *status. */
void table_tell(struct top_table *table, struct top_agent *agent, struct agent_status *status);
/* Forgets what is known of an agent. `problem` may be NULL. */
void table_lose(struct top_table *table, struct top_agent *agent, enum top_link link,
                const char *problem);

/* Returns true if the team should run and none of its agents has a host. */
bool team_is_down(const struct top_team *team);
/* Returns the word for what an agent does: the name of its state, "no host", ... */
const char *top_agent_word(const struct top_agent *agent);
