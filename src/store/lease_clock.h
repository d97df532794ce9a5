/*
 * When the lease of a session was renewed last, for its hosts and supervisors.
 *
 * One process of a session renews its lease (`mas lease`, which a host starts) and may hang on a
 * disk that is gone. All others only look at a page of memory that it writes the time to: a file
 * below /dev/shm, mapped by all of them. Looking at it needs no system call, no disk and no other
 * process. Times are of CLOCK_BOOTTIME, which nobody sets and which goes on while the machine
 * sleeps.
 *
 * Locks on the file tell who lives, and end with their processes: the renewing process has one part
 * of it, each host shares another. A third one is held by whoever creates the file, until the clock
 * is closed, and by whoever removes an old one.
 */
#pragma once

#include "store/lease.h"

struct lease_page;

struct lease_clock {
    struct lease_page *page; /* NULL: there is no lease */
    int fd;
    timer_t timer; /* of lease_clock_bound() */
    bool is_bound;
};

#define LEASE_CLOCK_INIT                                                                           \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

enum lease_word {
    LEASE_RUNS,
    LEASE_TAKEN, /* another machine has the session: end at once */
    LEASE_STOPS, /* `mas stop` gives it back: do not renew it */
};

/* Maps the clock of a lease by its token; with `make`, creates it. Fails if the file is not one of
 * this user alone; with ENOENT in err->number if it is missing. Close it with
 * lease_clock_close(). */
int lease_clock_open(const char *token, bool make, struct lease_clock *ret, struct err *err);
void lease_clock_close(struct lease_clock *clock);
#define _cleanup_lease_clock_ __attribute__((cleanup(lease_clock_close)))
/* Removes its file. */
void lease_clock_remove(const char *token);

/* Notes the root of the session, whose sessions/ is open at `sessions`. */
void lease_clock_belongs(const struct lease_clock *clock, int sessions);
/* Returns the tokens of this root whose files are left: their leases are over, and no process has
 * them. The caller releases the list with strv_free(); NULL: there are none. */
char **lease_clock_left(int sessions);
/* Removes the files, of whatever root of this user, whose leases have been over for a day and that
 * no process has: a job that was killed leaves its own, and its root goes. */
void lease_clock_drop_old(void);

/* Notes a renewal that began at this time (time_boot_ms()); an earlier one changes nothing. */
void lease_clock_set(const struct lease_clock *clock, int64_t begun);
void lease_clock_say(const struct lease_clock *clock, enum lease_word word);
enum lease_word lease_clock_word(const struct lease_clock *clock);

/* What the age of the lease means now. LEASE_VALID if there is no lease. If *ret_next is not NULL,
 * it is the time of the next change, as time_monotonic_ms(); -1: none. */
enum lease_age lease_clock_look(const struct lease_clock *clock, int64_t *ret_next);

/* After the end of a lease: whatever still lives then hangs, and has to be killed. */
enum { LEASE_HANGS_MS = 2000 };

/* For the process that renews: has the kernel kill it LEASE_HANGS_MS after the end of the lease,
 * also while it hangs on a disk: what it waits for there must not happen when another machine has
 * the session. A renewal puts that off only with the next call. */
void lease_clock_bound(struct lease_clock *clock);

/* Returns true if this machine has the clock of the lease with this token ("": there is none), and
 * it shows that the lease was lost. */
bool lease_clock_is_lost(const char *token);

/* Takes the part of the renewing process, or of a host, until the clock is closed. */
bool lease_clock_be_renewer(const struct lease_clock *clock);
bool lease_clock_be_host(const struct lease_clock *clock);
/* Return true if such a process lives, other than the caller. */
bool lease_clock_has_renewer(const struct lease_clock *clock);
bool lease_clock_has_hosts(const struct lease_clock *clock);
