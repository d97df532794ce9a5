/*
 * Idempotency-Key: a client that does not know what became of a POST sends it again with the same
 * key, and gets the same answer instead of a second thing.
 *
 * What a key stands for is a file in sessions/.serve.keys/, named by a sum of the client's token
 * and the key: the sum of the request, then the answer once there is one. It is made before the
 * request is handled, so that it outlives a server that is killed. An answer that says that nothing
 * was done is not kept. A file is forgotten KEYS_KEPT_S after it was made.
 *
 * The files are not synced: after a power cut a request may be done again. What finds no room on
 * the disk is kept in memory until it does, or until the server ends.
 */
#pragma once

#include "serve/request.h"

enum {
    KEYS_MAX = 4096, /* that are remembered at the same time */
    KEYS_TEXT_MAX = 255, /* bytes of a key */
    KEYS_ANSWER_MAX = 1 << 20, /* bytes of an answer that is kept */
    KEYS_KEPT_S = 24 * 3600,
    KEYS_UNWRITTEN_MAX = 64, /* that are kept in memory while the disk is full */
    KEYS_UNWRITTEN_TEXT = 64 * 1024, /* bytes of each */
};

struct keys;

/* Opens the directory, which is made when it is needed. `root` must outlive *ret, which the caller
 * releases with keys_free(). */
int keys_open(const struct root *root, struct keys **ret, struct err *err);
void keys_free(struct keys *keys);

/* Looks at a complete request. Returns true if it is to be handled: it has no key, or a new one.
 * Otherwise it has been answered: with the answer that it got before, with 422 if the key stands
 * for another request, with 409 if the first one is not answered yet. */
bool keys_begin(struct keys *keys, struct request *request);
/* Keeps the answer of a request that keys_begin() let through. Later calls do nothing. */
void keys_end(struct keys *keys, struct request *request);
