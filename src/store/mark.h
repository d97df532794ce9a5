/*
 * The mark by which a root knows its sessions/ again.
 *
 * sessions/ may be a mount. If that goes away, an empty directory is left, in which every session
 * seems to be gone. So a root keeps what it had:
 *
 *     sessions/.sessions.id 600   an id
 *     .sessions.mark      600   the same id, the inode of the root, and "own" if sessions/ is on
 *                               another disk than the root, else "same"
 *
 * A root whose inode is another one is a copy or a clone, for which the file says nothing. One that
 * moves sessions/ to another disk takes the mark along.
 */
#pragma once

#define MARK_SESSIONS ".sessions.id"
#define MARK_ROOT ".sessions.mark"

/* Returns why sessions/, open at `sessions` or missing (-1), is not the one that the root, open at
 * `root`, had; static text. NULL: it is, or nothing is known. */
const char *mark_fault(int root, int sessions);

/* Marks a sessions/ without a fault, unless that is done. The caller holds the metadata lock, and
 * has just written a session. Where the root cannot be written, nothing is known of it. */
void mark_make(int root, int sessions);
