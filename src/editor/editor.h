/*
 * An agent of a team as an ACP agent on two descriptors: what `mas acp` runs. An editor (the
 * client) talks with it by protocol/acp_agent.h; it talks with the agent's host by protocol/host.h,
 * as the pane does, and reads the session's store. It keeps nothing of its own: kill it at any
 * instant and nothing is lost.
 *
 * An ACP session is a conversation of the agent, with the same id. What happens in the agent's
 * current conversation, by whomever, is told to the client where it has opened that one. A prompt,
 * a mode or a command of another makes that one current first. A host that is gone is waited for a
 * moment, then refused with why; when it comes back, what was said meanwhile is told from the
 * store.
 *
 * Ends when the client hangs up.
 */
#ifndef MAS_EDITOR_EDITOR_H
#define MAS_EDITOR_EDITOR_H

#include "base/err.h"
#include "store/root.h"

struct editor_spec {
    const struct root *root;
    const char *session; /* full id */
    const char *agent;
    const char *from; /* agent that asks; NULL: a person */
    const char *cwd; /* the agent's directory */
    int dir, run; /* the workspace and its run/; run -1: it has none */
    int in, out;
};

int editor_run(const struct editor_spec *spec, struct err *err);

#endif
