/*
 * `mas acp`: serve an agent of a team as an ACP agent on two descriptors. The client, an editor,
 * speaks ACP (protocol/acp_agent.h). The module speaks protocol/host.h with the agent's host, as
 * the pane does, and reads the session's store. It stores nothing, so killing it at any time loses
 * nothing.
 *
 * An ACP session is a conversation of the agent and has the same id. If the client has opened the
 * agent's current conversation, it receives everything that happens there, whoever causes it. A
 * prompt, a clear, a mode or an option for another conversation first makes that one current. If
 * the host is absent, requests wait for it up to 5 s and then fail with the reason; session/load
 * and session/resume do without it. When the host returns, the client receives from the store what
 * it has missed.
 */
#pragma once

#include "store/root.h"

struct editor_spec {
    const struct root *root;
    const char *session; /* full id */
    const char *agent;
    const char *from; /* agent that sends the prompts; NULL: a person */
    const char *cwd; /* directory of the agent */
    int dir, run; /* descriptors of the workspace and its run/; run is -1 if missing */
    int in, out;
};

/* Serves the client until it hangs up, or fails if it does not read its output. */
int editor_run(const struct editor_spec *spec, struct err *err);
