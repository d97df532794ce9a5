/*
 * The watcher of a host: a small process that only looks at the clock of the session's lease, and
 * kills the host, with all that it has started, when the lease is over and the host is still there
 * after LEASE_HANGS_MS.
 *
 * A host ends by itself when its lease is lost. One that hangs on a disk cannot, and what it waits
 * for there must not happen when another machine has the session. The watcher touches no disk and
 * has nothing open. A host that is only stopped, and whose lease is renewed meanwhile, goes on.
 * The watcher ends with the host; if it is killed, the host starts another.
 */
#pragma once

#include "base/proc.h"
#include "store/lease_clock.h"

#define LEASE_WATCH_NAME "mas-lease-watch" /* of the process */

/* Starts the watcher of this process. It copies the clock. The caller releases *ret with
 * proc_abandon(), or with proc_finish() when it has ended. */
int lease_watch_start(const struct lease_clock *clock, struct proc *ret, struct err *err);
