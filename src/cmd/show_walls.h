/*
 * What holds the agents of a session, for `mas show`: those that run as their hosts say, the others
 * as it would be at their next start.
 */
#ifndef MAS_CMD_SHOW_WALLS_H
#define MAS_CMD_SHOW_WALLS_H

#include "client/session_detail.h"
#include "cmd.h"

/* Writes one text for each agent of the roster into texts[], which the caller frees. */
void show_walls(const struct call *call, const struct session_detail *detail, char **texts);

#endif
