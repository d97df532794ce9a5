/*
 * How a struct team is put together; for team.c and team_ini.c only.
 */
#ifndef MAS_MODEL_TEAM_INTERNAL_H
#define MAS_MODEL_TEAM_INTERNAL_H

#include "model/team.h"

/* -1 where the text is none. */
int team_rank_parse(const char *text, enum rank *ret);
int team_reach_parse(const char *text, unsigned *ret);
/* Returns the bits of a rule by which a rank means nobody in this team. */
unsigned team_reach_nobody(const struct team *team, enum rank rank);

/* NULL for a good one, else what a good one is. */
const char *team_check_role(const char *text);

/* New, empty, at the end; NULL where the team is full. */
struct agent *team_add_agent(struct team *team, const char *id);
struct window *team_add_window(struct team *team, const char *name);

/* Puts an agent into a window. NULL, or what is wrong with it. */
const char *team_place(struct team *team, size_t window, const char *id);

/* Called for all that keeps a team from being whole; agent or window is NULL where it is not about
 * one. */
typedef void team_wrong(const struct agent *agent, const struct window *window, const char *why,
                        void *arg);
/* Fills what may be left out and checks that the whole is one team. */
void team_complete(struct team *team, team_wrong *wrong, void *arg);
/* The same, with the first of these as the error. */
int team_finish(struct team *team, struct err *err);

#endif
