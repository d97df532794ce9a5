/*
 * One agent, asked through its host (protocol/host.h), for workers.
 */
#pragma once

#include "client/roster.h"
#include "serve/request.h"

enum {
    AGENT_ANSWER_MS = 30000, /* for what a host does by itself */
    AGENT_STATE_MS = 5000, /* for what it knows, all questions together */
};

/* Opens the session of the path, which this machine must have, and adds the agents that `target`
 * names. `what` is the verb for the error. Fails with MAS_NOT_FOUND if there is no such session or
 * agent. */
int agent_open(const struct request *request, const char *what, const char *target,
               struct roster *roster, struct err *err);
/* Likewise, exactly the agent of the path. */
int agent_open_one(const struct request *request, const char *what, struct roster *roster,
                   struct err *err);
/* Sends a request to the host of the agent that the path names, and waits `wait_ms` for its
 * first answer. Returns false after answering with an error: 404 for an unknown session or agent,
 * 410 if the session does not run, 409 if the host refuses. The caller releases *ret with
 * json_free(). */
bool agent_ask(struct request *request, const struct roster_request *ask, int wait_ms,
               struct json **ret);
/* Answers with what the host said: sessionId, and its members except "ok". */
void agent_answer(struct request *request, int status, const struct json *said);
