/*
 * Who may ask: the Host and Origin of a request, and its token.
 *
 * A page of the web can make a browser send requests to this machine, also under a name of its own
 * that it lets point here (DNS rebinding). So the Host must be localhost, a number or a name that
 * the settings list, and an Origin, which browsers send, localhost or a name of the settings.
 */
#ifndef MAS_SERVE_GUARD_H
#define MAS_SERVE_GUARD_H

#include "serve/request.h"
#include "store/config.h"

struct guard {
    char **hosts; /* that are good, besides those of loopback; NULL: none */
    char *token; /* "": requests need none */
};

/* Reads the token from its file, and makes that where it is missing. */
int guard_make(const struct root *root, const struct config *config, bool needs_token,
               struct guard *ret, struct err *err);
void guard_free(struct guard *guard);

/* true if the request is let through, else it has an answer; `open`: without a token too. */
bool guard_passes(const struct guard *guard, struct request *request, bool open);

#endif
