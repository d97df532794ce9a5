/*
 * A copy of the memory.db of a session that runs, by SQLite's backup: consistent, as of one moment,
 * while hosts go on writing. It delays none of them; their log only grows until the copy is made.
 */
#pragma once

#include "os/tree.h"

/* Copies the memory.db of the workspace `dir` into a file without a name on the same disk. *ret_fd
 * is open for reading and writing; it is set as soon as the file exists, also if the copy fails
 * afterwards, and the caller, who sets it to -1 before, closes it. *ret_size is its size in bytes,
 * 0 if there is no memory.db. `tick` gets the bytes and can stop the copy; it may be NULL. Fails
 * with MAS_DAMAGED if memory.db is damaged. */
int memory_backup(int dir, tree_tick *tick, void *tick_arg, int *ret_fd, int64_t *ret_size,
                  struct err *err);
