/*
 * Authorization: the Host, Origin and token of a request.
 *
 * A web page can make a browser send requests to this machine, even under its own host name that it
 * resolves to this machine (DNS rebinding). So the Host must be localhost, a numeric address or a
 * name in the settings. The Origin, which browsers send, must be localhost, 127.0.0.1, [::1] or a
 * name in the settings.
 */
#ifndef MAS_SERVE_GUARD_H
#define MAS_SERVE_GUARD_H

#include "serve/request.h"
#include "store/config.h"

struct guard {
    char **hosts; /* accepted besides the loopback names; NULL: none */
    char *token; /* "": requests need no token */
};

/* Prepares the checks. With needs_token it reads the token from its file, which is created if it is
 * missing. Release *ret with guard_free(). */
int guard_make(const struct root *root, const struct config *config, bool needs_token,
               struct guard *ret, struct err *err);
void guard_free(struct guard *guard);

/* Returns true if the request is allowed; otherwise answers it with 401 or 403. With `open` it
 * needs no token. Sets request->known. */
bool guard_passes(const struct guard *guard, struct request *request, bool open);

#endif
