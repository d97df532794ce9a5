/*
 * The lease of a session: what shows other machines that it runs.
 *
 * A store is a directory on a disk that machines share ([fleet] store). A session that was started
 * with one has a directory there:
 *
 *     <store>/<id>/lease      MACHINE, BOOT, EPOCH, SEQUENCE, TOKEN; replaced every 3 s
 *     <store>/<id>/claim-<N>  made once, by the machine that began epoch N
 *
 * The holder renews the lease as long as the session runs. If it could not for LEASE_LOST_MS, it
 * ends the agents, by clocks that need no disk (store/lease_clock.h). Whoever wants the session
 * looks at the lease until it has not changed for LEASE_TAKE_MS by the own clock, and then claims
 * the next epoch. Only the order of what happens in the store counts, never the time of another
 * machine.
 *
 * A claim is made with O_EXCL, so an epoch has one owner. The holder looks for a later claim before
 * and after each renewal, and counts the renewal from the time before the first look; the claimant
 * looks at the lease once more after its claim. So either the holder sees the claim and its last
 * renewal does not count, or the claimant sees the renewal and waits again. Each look follows a
 * write in the same directory, so that a network file system does not answer from its cache.
 *
 * TOKEN is random, made with each claim and kept in .session (LEASE): it tells the session that
 * made the claim from all copies of it.
 */
#pragma once

#include "base/id.h"

enum {
    LEASE_RENEW_MS = 3000, /* between two renewals */
    LEASE_LOST_MS = 10000, /* without a renewal, then the holder ends its agents */
    LEASE_TAKE_MS = 20000, /* without a change, then another may take it */
    LEASE_LOOK_MS = 1000, /* between two looks of whoever waits for that */
    LEASE_FILE_MAX = 4096, /* bytes */
    LEASE_NAMES_MAX = 100000, /* names in a session's directory of the store */
};

/* The age of the last renewal, in what it means for the holder. */
enum lease_age {
    LEASE_VALID,
    LEASE_ENDS, /* end the agents now, in the normal way and shortly */
    LEASE_OVER, /* somebody may have the session: end at once, and write nothing */
};
enum { LEASE_OVER_MS = 16000 };
enum lease_age lease_age(int64_t age_ms);

struct lease {
    char *machine, *boot;
    uint64_t epoch;
    uint64_t sequence; /* 0: nothing runs, it was given back */
    char token[ID_TEXT];
};

#define LEASE_INIT                                                                                 \
    {                                                                                              \
        .machine = NULL                                                                            \
    }
void lease_free(struct lease *lease);
#define _cleanup_lease_ __attribute__((cleanup(lease_free)))

/* Opens a store. Returns -1 with *err, and a hint if it is missing. */
int lease_open_store(const char *store, struct err *err);
/* Opens the directory of a session in the store; with `make`, creates it. Returns -1 with *err. */
int lease_open(const char *store, const char *id, bool make, struct err *err);

/* Reads and writes the text. Parsing fails with MAS_DAMAGED. */
int lease_parse(const char *text, size_t len, struct lease *ret, struct err *err);
void lease_format(const struct lease *lease, struct str *to);

/* Makes *ret, initially LEASE_INIT, the lease that this machine holds, to be renewed or given back.
 * Fails if it cannot tell which machine this is. */
int lease_hold(uint64_t epoch, const char *token, struct lease *ret, struct err *err);

struct lease_wish {
    const char *id; /* of the session */
    uint64_t epoch; /* of the session */
    const char *token; /* of the session; "": it has never had a lease */
    bool own; /* this machine has the session; so a lease with its token is its own */
    bool takeover; /* also from a machine that has got it since */
    bool fenced; /* a person says that nobody holds it */
    /* Called before each wait for a look, with the machine that may run the session and how long it
     * takes at least until the lease is free; returns true to give up. NULL: nothing is told. */
    bool (*tick)(const char *machine, int64_t left_ms, void *arg);
    void *arg;
};

/* Takes the lease, waiting up to LEASE_TAKE_MS and longer if another takes it meanwhile. *ret is
 * the lease with its epoch and token, renewed for the first time, *ret_begun the time of that as
 * for lease_renew(). Fails with MAS_CONFLICT if the session runs elsewhere or has run there since;
 * the text is only the reason ("it runs on n2"). */
int lease_take(int dir, const struct lease_wish *wish, struct lease *ret, int64_t *ret_begun,
               struct err *err);

/* For a start without a lease: fails with MAS_CONFLICT if the session has run elsewhere since this
 * epoch. */
int lease_check_epoch(int dir, uint64_t epoch, struct err *err);

/* Renews the lease. It holds for LEASE_LOST_MS from *ret_begun (time_boot_ms()). Fails with
 * MAS_CONFLICT if another has claimed the session: never renew it again. */
int lease_renew(int dir, struct lease *lease, int64_t *ret_begun, struct err *err);

/* Gives the lease back: nothing runs any more. */
int lease_release(int dir, struct lease *lease, struct err *err);

/* For a session that is about to be removed: removes its lease and its claims from the store, and
 * its directory there. Leaves everything as it is if the directory has anything else, such as a
 * save, or if another machine has had the lease since. Without a token, it is of one that
 * lease_left() has named. */
int lease_forget(const char *store, const char *id, uint64_t epoch, const char *token,
                 struct err *err);

/* Returns the ids that killed commands of this machine may have left in the store on their way to a
 * new session: of the first epoch, renewed once, a day ago, with nothing else in their directory.
 * No other machine can have gone on from there, so that a session of that id loses nothing if its
 * lease is forgotten. The caller releases them with strv_free(). */
char **lease_left(const char *store);
enum { LEASE_LEFT_S = 86400 };
