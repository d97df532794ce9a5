/*
 * Authorization: the Host, Origin and token of a request, and the right that its address needs.
 *
 * There is one token in the file that [serve] token_file names, which has all rights, and there are
 * those of store/token.h. The guard looks before each request whether these files have changed, so
 * that what is removed ends at once.
 *
 * A paired browser has its token in two halves, and neither is good for anything alone: one in a
 * cookie, which no script can read, but which browsers send with requests that other pages make,
 * and to other ports of this machine; and one in the storage of the page, which only scripts of
 * this very server can read, and which is sent in a header. They count only with an Origin that is
 * this server and a Sec-Fetch-Site that is the same origin, where these are sent.
 *
 * A guest (`mas invite`) has a token for one session. guard_admits() is where all operations are
 * opened to them, by the table; what it does not open is closed.
 *
 * A web page can make a browser send requests to this machine, even under its own host name that it
 * resolves to this machine (DNS rebinding). So the Host must be localhost, a numeric address or a
 * name in the settings. The Origin, which browsers send, must be localhost, 127.0.0.1, [::1], a
 * name in the settings, or the very Host and port, if that is a numeric address: no name resolves
 * to that.
 */
#pragma once

#include "serve/request.h"
#include "store/config.h"

struct guard {
    const struct root *root;
    char **hosts; /* accepted besides the loopback names; NULL: none */
    char cookie[16]; /* the name of the cookie of paired browsers; each root has its own */
    char *token_file; /* NULL: requests need no token */
    struct tokens own; /* the token in that file, if there is one */
    struct tokens named;
    struct stat own_seen, named_seen; /* st_ino 0: read them again */
};

/* Prepares the checks. With needs_token it reads the token from its file, which is created if it is
 * missing. `root` must outlive *ret, which the caller releases with guard_free(). */
int guard_make(const struct root *root, const struct config *config, bool needs_token,
               struct guard *ret, struct err *err);
void guard_free(struct guard *guard);

/* Reads tokens again if their files have changed. Returns true if they have: then requests that go
 * on need guard_still_knows(). */
bool guard_refresh(struct guard *guard);
/* Returns true if the request is allowed; otherwise answers it with 401 or 403. With `open` it
 * needs no token. Sets request->known, request->right and request->who. */
bool guard_passes(const struct guard *guard, struct request *request, bool open);
/* Returns true if the token of a request that has passed is still valid. */
bool guard_still_knows(const struct guard *guard, const struct request *request);
/* Returns true if the operation of a request that has passed is open to its client, who may be a
 * guest; otherwise answers: 403, or 404 as for what does not exist. What the answer may say is
 * limited by the parameters that this sets, or by guest_sees() where the operation sieves. */
bool guard_admits(struct request *request);
/* Likewise for a parameter of it, NULL: it was not given. */
bool guard_admits_param(struct request *request, const struct param *param,
                        const struct json *node);
/* Returns true if the client has this right; otherwise answers with 403. `what` needs it. */
bool guard_permits(struct request *request, enum right needed, const char *what);
