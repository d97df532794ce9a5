/*
 * Delivers notices (model/notice.h) in the ways that [notify] of mas.ini names: a command, the
 * desktop, the attached terminals, a webhook. Each way has its own time limit, and one that hangs
 * again and again is left out.
 */
#pragma once

#include "store/config.h"
#include "store/root.h"

enum {
    NOTICE_INPUT_MAX = 1 << 20, /* bytes of all notices that one process delivers */
    NOTICE_WAY_MS = 10000, /* time limit of a command, notify-send and curl, for each notice */
    NOTICE_HANGS_MAX = 3, /* after so many time limits in a row, a way is left out */
};

/* Delivers the notices of an agent, which stand in `text` as lines of JSON, one after the other.
 * Without an agent (NULL) they are about the first one of the team. Does nothing in the
 * hours of [notify] quiet, or while a client of tmux shows the agent's pane, whose id is `pane`.
 * What fails is written to the session's log. Fails only if the session cannot be read or a line is
 * not a notice. */
int notice_deliver(const struct root *root, const struct config *config, const char *id,
                   const char *agent, const char *pane, const char *text, struct err *err);
