/*
 * For commands on one ACP agent: parse [SESSION] AGENT and the sender, send one request to the host
 * and wait for its answer (protocol/host.h).
 */
#pragma once

#include "base/json.h"
#include "cli/targets.h"
#include "client/roster.h"
#include "cmd.h"

struct agent_request {
    struct roster roster; /* contains one agent */
    const char *what; /* verb in error messages */
    int wait_ms; /* for the answer; 0: 20 s */
    const char *from; /* agent that sends the request; NULL: a person */
};

#define AGENT_REQUEST_INIT                                                                         \
    {                                                                                              \
        .what = NULL                                                                               \
    }

/* Parses SESSION, AGENT (`form` is TARGETS_AGENT, TARGETS_AGENT_TEXT or TARGETS_ONE) and --from.
 * Removes SESSION and AGENT from the operands. */
int agent_request_parse(struct call *call, const char *what, enum targets_form form,
                        struct agent_request *request, struct err *err);
void agent_request_free(struct agent_request *request);
#define _cleanup_agent_request_ __attribute__((cleanup(agent_request_free)))

/* Writes the beginning of the request's head, an open object. The caller adds members and closes
 * it. */
void agent_request_open(const struct agent_request *request, const char *verb,
                        struct json_out *out);
/* Sends the request and waits for the answer. Fails if the answer is an error. The
 * caller releases *ret with json_free(). May be called again for the next request. */
int agent_request_ask(struct call *call, struct agent_request *request, const struct str *head,
                      const char *body, size_t body_len, struct json **ret, struct err *err);
/* Prints the answer as a JSON object: "sessionId" and the members of the answer except "ok". */
void agent_request_print(const struct agent_request *request, const struct json *answer);

/* Sets *ret to the remaining operand, or to NULL if there is none. Fails if there are several. */
int agent_request_operand(struct call *call, const char **ret, struct err *err);
