/*
 * Tells an agent something, whether it runs or not.
 */
#ifndef MAS_SESSION_NOTIFY_H
#define MAS_SESSION_NOTIFY_H

#include "base/err.h"
#include "store/config.h"
#include "store/root.h"

/* Sends a text and Enter to an agent, as `mas send` does. If its host does not run, the text waits
 * in memory.db, and the next host delivers it. `from` is the sending agent, or NULL for a person.
 * The configuration includes the presets. */
int notify_agent(const struct root *root, const struct config *config, const char *id,
                 const char *agent, const char *from, const char *text, struct err *err);

#endif
