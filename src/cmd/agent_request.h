/*
 * Commands on one ACP agent: [SESSION] AGENT, who asks, one request and its answer
 * (protocol/host.h).
 */
#ifndef MAS_CMD_AGENT_REQUEST_H
#define MAS_CMD_AGENT_REQUEST_H

#include "base/json.h"
#include "client/roster.h"
#include "cmd.h"
#include "cmd/targets.h"

#include <stddef.h>

struct agent_request {
    struct roster roster; /* of one agent */
    const char *what; /* the verb of errors */
    const char *from; /* NULL: a person asks */
};

#define AGENT_REQUEST_INIT                                                                         \
    {                                                                                              \
        .what = NULL                                                                               \
    }

/* Parses SESSION and AGENT (TARGETS_AGENT or TARGETS_AGENT_TEXT) and --from, and removes them from
 * the operands. */
int agent_request_parse(struct call *call, const char *what, enum targets_form form,
                        struct agent_request *request, struct err *err);
void agent_request_free(struct agent_request *request);
#define _cleanup_agent_request_ __attribute__((cleanup(agent_request_free)))

/* Begins the head of the request; the caller adds to it and closes it. */
void agent_request_open(const struct agent_request *request, const char *verb,
                        struct json_out *out);
/* Sends the request and waits for the answer, which is the caller's to free. Fails if the answer is
 * an error. */
int agent_request_ask(struct call *call, struct agent_request *request, const struct str *head,
                      const char *body, size_t body_len, struct json **ret, struct err *err);
/* Prints the answer as JSON. */
void agent_request_print(const struct agent_request *request, const struct json *answer);

/* *ret is the operand that is left, or NULL. Fails if there are more. */
int agent_request_operand(struct call *call, const char **ret, struct err *err);

#endif
