/*
 * Tells an agent something, whether it runs or not.
 */
#pragma once

#include "store/config.h"
#include "store/root.h"

/* Sends a text that mas has written to an agent: it is a prompt, or is shown in the pane of an
 * agent that would execute it (preset_executes()). If its host does not run, the text waits in
 * memory.db for the next host. `from` is the agent for which mas acts, or NULL for a person. The
 * configuration includes the presets. */
int notify_agent(const struct root *root, const struct config *config, const char *id,
                 const char *agent, const char *from, const char *text, struct err *err);
