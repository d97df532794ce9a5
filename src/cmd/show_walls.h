/*
 * What holds the agents of a session, for `mas show`: those that run as their hosts say, the others
 * as it would be at their next start.
 */
#pragma once

#include "client/session_detail.h"
#include "cmd.h"

/* Writes one text for each agent of the roster into texts[], which the caller frees. */
void show_walls(const struct call *call, const struct session_detail *detail, char **texts);
