/*
 * A session that comes to this machine: what happens here. fleet/move.h says in which order, and
 * session/leave.h what MOVED_TO says meanwhile.
 *
 * The files come as an archive from the machine that leaves them, which mas restores as it does any
 * other. The session is here whole or not at all, but `arriving`: it cannot be started before
 * arrive_release(). Its EPOCH is one more than there.
 *
 * Where this machine pulls a session, the other one is no more trusted than an archive: it may only
 * work on what it gave or got itself (arrive_check()), and links that lead out need a person's yes.
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
/* A session that this machine pulls. */
struct arrival_pull {
    const char *host; /* from there */
    const char *id;
    bool links; /* also with symbolic links that lead out of it */
};
/* Fails with MAS_CONFLICT if what is here of the session is on its way from another host, or to
 * one. */
int arrive_check(const struct life *life, const struct arrival_pull *pull, struct err *err);
/* Restores the archive on standard input as an arriving session; `pull` NULL: the other machine
 * sends it. */
int arrive_restore(const struct life *life, const struct arrival_pull *pull, char ret_id[ID_TEXT],
                   uint64_t *ret_epoch, char ret_digest[SHA256_TEXT], struct err *err);
/* Says where the project of an arriving session is. */
int arrive_set_project(const struct life *life, const char *id, const char *path, struct err *err);
/* Makes an arriving session of this epoch one that is here; does nothing if it is already. Fails
 * with MAS_CONFLICT for any other. */
int arrive_release(const struct life *life, const char *id, uint64_t epoch, struct err *err);
/* Removes an arriving session, or one that has left this machine in an epoch before this one; does
 * nothing if there is none. Fails with MAS_CONFLICT for any other. */
int arrive_drop(const struct life *life, const char *id, uint64_t epoch, struct err *err);
