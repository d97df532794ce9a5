/*
 * A session that comes to this machine: what happens here. fleet/move.h says in which order, and
 * session/leave.h what MOVED_TO says meanwhile.
 *
 * The files come as an archive from the machine that leaves them, which mas restores as it does any
 * other. The session is here whole or not at all, but `arriving`: it cannot be started before
 * arrive_release(). Its EPOCH is one more than there.
 */
#pragma once

#include "base/sha.h"
#include "session/life.h"

enum arrival_state {
    ARRIVAL_NONE, /* no such session is here */
    ARRIVAL_ARRIVING,
    ARRIVAL_HERE, /* it has been released, or was always here */
    ARRIVAL_GONE, /* it has moved on, or is about to */
};
const char *arrival_name(enum arrival_state state); /* "none", "arriving", ... */
bool arrival_parse(const char *text, enum arrival_state *ret);

struct arrival {
    enum arrival_state state;
    uint64_t epoch;
    bool runs;
    char *lacks; /* the directory of its project if that is not here; NULL: nothing */
};
void arrival_free(struct arrival *arrival);
#define _cleanup_arrival_ __attribute__((cleanup(arrival_free)))

/* The answers of `mas receive`, JSON objects: {"state":"here","epoch":2,"runs":true,"lacks":"/p"}
 * and {"sessionId":"...","epoch":2,"digest":"..."}. */
void arrival_format(const struct arrival *arrival, struct str *to);
void arrival_format_restored(const char *id, uint64_t epoch, const char *digest, struct str *to);

/* Tells what is here of a session. The caller releases *ret with arrival_free(). */
int arrive_look(const struct life *life, const char *id, struct arrival *ret, struct err *err);
/* Restores the archive on standard input as an arriving session. */
int arrive_restore(const struct life *life, char ret_id[ID_TEXT], uint64_t *ret_epoch,
                   char ret_digest[SHA256_TEXT], struct err *err);
/* Makes an arriving session of this epoch one that is here; does nothing if it is already. Fails
 * with MAS_CONFLICT for any other. */
int arrive_release(const struct life *life, const char *id, uint64_t epoch, struct err *err);
/* Removes an arriving session, or one that has left this machine in an epoch before this one; does
 * nothing if there is none. Fails with MAS_CONFLICT for any other. */
int arrive_drop(const struct life *life, const char *id, uint64_t epoch, struct err *err);
