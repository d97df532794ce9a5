/*
 * A reserve of disk space in each running session, so that its stop, its status and its history can
 * still be written when an agent, or anybody else, has filled the disk. It is a file with blocks in
 * run/ for each purpose. The hosts of the session make it:
 *
 *     reserve_make(dir);
 *
 * Whoever finds that there is no room for a write gives it back, and writes then:
 *
 *     if (rc == -1 && reserve_give(dir, RESERVE_RECORD, err))
 *         rc = write again
 *
 * The space is then free for everybody on that disk. So the reserve of the metadata is not that of
 * memory.db: an agent that goes on writing takes what its host gives back for the history, but the
 * metadata are written once the agents have ended. A host makes the reserve again later.
 */
#pragma once

enum reserve {
    RESERVE_RECORD, /* .session and the index */
    RESERVE_MEMORY, /* memory.db */
    RESERVE_COUNT
};

enum {
    RESERVE_SIZE = 512 * 1024, /* bytes of each */
    RESERVE_SHARE = 16, /* the disk must have this many times as much for one to be made */
};

/* Makes what is missing of the reserve of the session open at `dir`, if its disk has much more
 * room. */
void reserve_make(int dir);

/* After a write that failed with `err`: returns true if it failed because the disk is full, and
 * the session had a reserve, which is free now. */
bool reserve_give(int dir, enum reserve which, const struct err *err);

/* Before a write that cannot be repeated: gives the reserve back if the disk has less room than
 * half of it. */
void reserve_need(int dir, enum reserve which);

/* Removes the reserve of a session whose hosts have ended. */
void reserve_drop(int dir);

/* Returns true if a name in run/ is that of a reserve. */
bool reserve_is_name(const char *name);
