/*
 * Functions that build a struct team; for team.c, team_ini.c and team_grow.c only.
 */
#pragma once

#include "model/member.h"
#include "model/team/team.h"

/* The keys of an agent, of [template] and of a window but for its agents, as template.ini and
 * config.json call them. */
extern const struct member agent_members[], team_members[], window_members[];
extern const struct value_type rank_type, reach_type;
/* Returns the bits of a rank's rule that match no agent of this team. */
unsigned team_reach_nobody(const struct team *team, enum rank rank);

/* Append an empty agent, or window and return it, or NULL if the team is full. */
struct agent *team_add_agent(struct team *team, const char *id);
/* Appends a copy of an agent, in no window, to a team that is not full. */
struct agent *team_copy_agent(struct team *team, const char *id, size_t like);
struct window *team_add_window(struct team *team, const char *name);

/* Puts an agent into a window. Returns NULL, or what is wrong with it. */
const char *team_place(struct team *team, size_t window, const char *id);

/* Receives each reason why the team is incomplete. agent or window is NULL if the reason does not
 * concern one. */
typedef void team_wrong(const struct agent *agent, const struct window *window, const char *why,
                        void *arg);
/* Fills in omitted values and checks that the team is complete. */
void team_complete(struct team *team, team_wrong *wrong, void *arg);
