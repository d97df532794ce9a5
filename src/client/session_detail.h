/*
 * All that is known of one session: what a survey says, its agents, its panes, its disk use.
 */
#ifndef MAS_CLIENT_SESSION_DETAIL_H
#define MAS_CLIENT_SESSION_DETAIL_H

#include "client/roster.h"
#include "client/survey.h"
#include "store/usage.h"

struct session_detail {
    struct view view; /* a copy, with what the hosts said; its texts belong to the survey */
    struct roster roster; /* empty where the team cannot be read */
    struct tmux_pane *panes;
    size_t pane_count;
    struct usage usage;
};

#define SESSION_DETAIL_INIT                                                                        \
    {                                                                                              \
        .roster = ROSTER_INIT, .usage = USAGE_INIT                                                 \
    }

/* Reads what is there, into a *ret that is SESSION_DETAIL_INIT; what is not stays empty, the view
 * says why.
 */
void session_detail_look(const struct root *root, const struct view *view,
                         struct session_detail *ret);
void session_detail_free(struct session_detail *detail);
#define _cleanup_session_detail_ __attribute__((cleanup(session_detail_free)))

/* The pane of an agent, or NULL. */
const struct tmux_pane *session_detail_pane(const struct session_detail *detail, const char *agent);
/* What tmux sees of an agent whose host says nothing. */
const char *session_detail_pane_word(const struct tmux_pane *pane);
/* The code that an agent ended with, 128 + signal; -1 where it did not. */
int session_detail_exit_status(const struct roster_agent *agent, const struct tmux_pane *pane);

/* Writes it as an object, as `mas show --json` prints it. */
void session_detail_put_json(const struct root *root, const struct session_detail *detail,
                             struct json_out *out);

#endif
