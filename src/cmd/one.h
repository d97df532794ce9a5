/*
 * Commands on one ACP agent: [SESSION] AGENT, who asks, one request and its answer
 * (protocol/host.h).
 */
#ifndef MAS_CMD_ONE_H
#define MAS_CMD_ONE_H

#include "base/json.h"
#include "client/roster.h"
#include "cmd.h"
#include "cmd/targets.h"

#include <stddef.h>

struct one {
    struct roster roster; /* of one agent */
    const char *what; /* the verb of errors */
    const char *from; /* NULL: a person asks */
};

#define ONE_INIT                                                                                   \
    {                                                                                              \
        .what = NULL                                                                               \
    }

/* Takes SESSION and AGENT (TARGETS_AGENT or TARGETS_AGENT_TEXT) out of the operands, and --from. */
int one_take(struct call *call, const char *what, enum targets_form form, struct one *one,
             struct err *err);
void one_free(struct one *one);
#define _cleanup_one_ __attribute__((cleanup(one_free)))

/* Opens the head of a request. */
void one_open(const struct one *one, const char *request, struct json_out *out);
/* Asks and takes the answer, an error where it is one. */
int one_ask(struct call *call, struct one *one, const struct str *head, const char *body,
            size_t body_len, struct json **ret, struct err *err);
/* Prints the answer as JSON. */
void one_print(const struct one *one, const struct json *answer);

/* "at most one operand is left" of them, which is the answer; NULL where there is none. */
int one_operand(struct call *call, const char **ret, struct err *err);

#endif
