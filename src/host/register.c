/*
 * The entry of this agent in the register of who waits (store/waiting.h). It follows the class of
 * attention.c. Another writer holds the lock of the register for an instant; then the host tries
 * again a little later.
 */
#include "host/state.h"

#include "base/file.h"
#include "store/waiting.h"

enum { AGAIN_MS = 50, LAST_WAIT_MS = 200 };

void register_open(struct host *host)
{
    _cleanup_waiting_ struct waiting_list list = {.count = 0};

    waiting_read(&host->root, &list);
    for (size_t i = 0; i < list.count; i++) /* of a host of this agent that was killed */
        if (strcmp(list.entries[i].session, host->session.id) == 0 &&
            strcmp(list.entries[i].agent, host->agent->id) == 0)
            host->entry.since_ms = list.entries[i].since_ms;
}

int64_t register_tick(struct host *host, int64_t now)
{
    struct err err = ERR_INIT;
    const struct host_attention *attention = &host->attention;
    int64_t since = host->leaving                          ? 0
                    : attention->class == ATTENTION_NEEDED ? host->told.since_ms
                    : attention->class == ATTENTION_FAILED ? attention->done_ms
                                                           : 0;

    if (since == host->entry.since_ms)
        return -1;
    if (now < host->entry.due)
        return host->entry.due;
    if (waiting_set(&host->root, host->session.id, host->agent->id, since, LOCK_TRY, &err) == -1 &&
        err.code == MAS_CONFLICT) {
        host->entry.due = now + AGAIN_MS;
        return host->entry.due;
    }
    host->entry.since_ms = since; /* a register that cannot be written is made again by a reader */
    return -1;
}

void register_close(struct host *host)
{
    struct err ignored = ERR_INIT;

    if (host->entry.since_ms != 0)
        (void)waiting_set(&host->root, host->session.id, host->agent->id, 0, LAST_WAIT_MS,
                          &ignored);
    host->entry.since_ms = 0;
}
