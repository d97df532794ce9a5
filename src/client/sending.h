/*
 * Sends a text to agents of one session, through their hosts, and keeps what becomes of it.
 *
 *     _cleanup_sending_ struct sending sending = SENDING_INIT;
 *     ... roster_add() to sending.roster ...
 *     if (sending_send(root, &sending, text, len, &err) == -1)
 *         return -1;
 *     for each agent: sending_failure(&sending, i, &why)
 */
#pragma once

#include "base/json.h"
#include "client/roster.h"
#include "model/message.h"

struct sending {
    struct roster roster; /* one session; the caller adds the agents */
    struct message_options options;
    int wait_ms; /* with options.wait: how long; -1: no limit */
    void (*taken)(void); /* with options.wait: called once every host that lives has taken or
                          * refused the text; may be NULL */
    /* One per agent, after sending_send(): */
    char **outcomes; /* NULL: no answer */
    char **whys; /* why it is held, or options.now could not be had; NULL: neither */
};

#define SENDING_INIT                                                                               \
    {                                                                                              \
        .roster = ROSTER_INIT, .wait_ms = -1                                                       \
    }

/* Sends the text, which message_check() has passed, and collects the answers. Fails if the session
 * does not run; what single agents failed with says sending_failure(). */
int sending_send(const struct root *root, struct sending *sending, const char *text, size_t len,
                 struct err *err);
void sending_free(struct sending *sending);
#define _cleanup_sending_ __attribute__((cleanup(sending_free)))

/* Returns 0 if agent `i` has accepted the text and, with options.wait, processed it. Otherwise
 * returns -1 with the error. */
int sending_failure(const struct sending *sending, size_t i, struct err *err);
/* Appends {"sessionId":..,"agents":[..]} with what became of the text at each agent. */
void sending_put(const struct sending *sending, struct str *to);
