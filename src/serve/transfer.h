/*
 * Archives of sessions as bodies: GET /sessions/{id}/archive sends one, POST /restores takes one.
 * Both go through a file below sessions/, so that the server needs the same memory for one of any
 * size, and knows that an archive is complete before it says so. The file that is sent has no name
 * any more; the one that comes in loses it with its request. transfers_sweep() removes what a
 * server that was killed left behind.
 */
#pragma once

#include "serve/request.h"

enum { TRANSFER_GIB_MAX = 64 }; /* of an archive that is taken */
#define TRANSFER_MAX ((size_t)TRANSFER_GIB_MAX << 30) /* bytes */

enum {
    TRANSFER_BLOCK = 64 << 10,
    TRANSFER_EXCESS = 16 << 20, /* bytes that are read after it is clear that they are no use */
};

/* Writes the name of a file that is not there into request->transfer. */
bool transfer_name(struct request *request, struct err *err);
/* Removes the files of an earlier server. */
void transfers_sweep(const struct root *root);
/* Makes the file for the body of a request. Returns false after answering with an error. */
bool transfer_begin(struct request *request);
/* Takes the next bytes of the body. Returns false if the client sends on although the request has
 * failed. What fails is answered when the body has ended. */
bool transfer_take(struct request *request, const char *bytes, size_t len);
/* Removes the files of a request, which is over. */
void transfer_end(struct request *request);
