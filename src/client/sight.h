/*
 * All that is known of one session: what a survey says, its agents, its panes, its disk use.
 */
#ifndef MAS_CLIENT_SIGHT_H
#define MAS_CLIENT_SIGHT_H

#include "client/roll.h"
#include "client/survey.h"
#include "store/usage.h"

struct sight {
    struct view view; /* a copy, with what the hosts said; its texts belong to the survey */
    struct roll roll; /* empty where the team cannot be read */
    struct tmux_pane *panes;
    size_t pane_count;
    struct usage usage;
};

#define SIGHT_INIT                                                                                 \
    {                                                                                              \
        .roll = ROLL_INIT, .usage = USAGE_INIT                                                     \
    }

/* Reads what is there, into a *ret that is SIGHT_INIT; what is not stays empty, the view says why.
 */
void sight_look(const struct root *root, const struct view *view, struct sight *ret);
void sight_free(struct sight *sight);
#define _cleanup_sight_ __attribute__((cleanup(sight_free)))

/* The pane of an agent, or NULL. */
const struct tmux_pane *sight_pane(const struct sight *sight, const char *agent);
/* What tmux sees of an agent whose host says nothing. */
const char *sight_pane_word(const struct tmux_pane *pane);
/* The code that an agent ended with, 128 + signal; -1 where it did not. */
int sight_exit_status(const struct roll_agent *agent, const struct tmux_pane *pane);

/* Writes it as an object, as `mas show --json` prints it. */
void sight_put_json(const struct root *root, const struct sight *sight, struct json_out *out);

#endif
