#include "store/lease.h"
#include "base/number.h"
#include "base/time.h"
#include "cmd.h"
#include "os/file.h"
#include "os/loop.h"
#include "store/lease_clock.h"
#include "store/session.h"

/*
 * What a host runs to renew the lease of its session, one process for all hosts: only this one
 * touches the store, so only this one hangs if the store does. It ends with the last host, and when
 * the lease is lost, which it never renews again. `--give-back` is for a session that has ended,
 * `--forget` for one that is removed.
 */

enum { AGAIN_MS = 500 }; /* after a failure */

static const struct opt opts[] = {
    {0, "give-back", NULL, "give the lease back, if it is still that of the session"},
    {0, "forget", NULL, "remove what the store has of it, for a session that goes"},
    {.name = NULL},
};

struct renewal {
    int dir;
    struct lease lease;
    struct lease_clock clock;
};

static void renewal_end(struct renewal *renewal)
{
    fd_closep(&renewal->dir);
    lease_free(&renewal->lease);
    lease_clock_close(&renewal->clock);
}
#define _cleanup_renewal_ __attribute__((cleanup(renewal_end)))

/* Renews until the session has no host. */
static int renew(struct renewal *renewal, struct err *err)
{
    struct lease_clock *clock = &renewal->clock;
    int64_t begun = 0;

    while (lease_clock_word(clock) == LEASE_RUNS && lease_clock_has_hosts(clock)) {
        struct err why = ERR_INIT;
        int64_t start = time_monotonic_ms();
        if (lease_clock_look(clock, NULL) != LEASE_VALID)
            return err_set(err, MAS_TIMEOUT, "the lease was not renewed for %d s",
                           LEASE_LOST_MS / 1000);
        int rc = lease_renew(renewal->dir, &renewal->lease, &begun, &why);
        if (rc == 0) {
            lease_clock_set(clock, begun);
            lease_clock_bound(clock);
        }
        if (rc == -1 && why.code == MAS_CONFLICT) {
            lease_clock_say(clock, LEASE_TAKEN);
            *err = why;
            return -1;
        }
        int64_t left = (rc == 0 ? LEASE_RENEW_MS : AGAIN_MS) - (time_monotonic_ms() - start);
        (void)loop_wait_for(-1, 0, left > 0 ? (int)left : 0);
    }
    return 0;
}

static int run_lease(struct call *call, struct err *err)
{
    const char *store = call->operands[0];
    const char *id = call->operands[1];
    const char *token = call->operands[3];
    uint64_t epoch = 0;
    _cleanup_renewal_ struct renewal renewal = {
        .dir = -1, .lease = LEASE_INIT, .clock = LEASE_CLOCK_INIT};

    if (!id_is_valid(id) || !number_parse_count(call->operands[2], EPOCH_MAX, &epoch) ||
        !id_is_valid(token))
        return err_set(err, MAS_USAGE, "cannot renew a lease: 'mas lease' is only for mas itself");
    if (call_opt(call, "forget") != NULL)
        return lease_forget(store, id, epoch, token, err);
    bool gives_back = call_opt(call, "give-back") != NULL;
    if (!gives_back && lease_clock_open(token, false, &renewal.clock, err) == -1)
        return -1;
    if (!gives_back && !lease_clock_be_renewer(&renewal.clock))
        return 0; /* another host has started one */
    renewal.dir = lease_open(store, id, false, err);
    if (renewal.dir == -1)
        return -1;
    if (lease_hold(epoch, token, &renewal.lease, err) == -1)
        return -1;
    return gives_back ? lease_release(renewal.dir, &renewal.lease, err) : renew(&renewal, err);
}

const struct cmd cmd_lease = {
    .name = "lease",
    .group = GROUP_HIDDEN,
    .operands = " STORE ID EPOCH TOKEN",
    .summary = "renew the lease of a session for its hosts",
    .opts = opts,
    .operands_min = 4,
    .operands_max = 4,
    .run = run_lease,
};
