/*
 * Finds what a git that was killed, or that found the disk full, has left: locks, which git never
 * removes and because of which it refuses to work, and parts of objects.
 */
#pragma once

/* Returns true if no process needs this lock, an absolute path: none has it open, and no git works
 * in `tree`, because git closes some locks before it gives them up. `tree` may be NULL. */
bool lock_is_left(const char *lock, const char *tree);

/* Appends the paths, below the repository that is open at `dir`, of what nobody needs of that, to a
 * list that the caller releases with strv_free(). `path` is its absolute path. Follows no link.
 */
int lock_find_left(int dir, const char *path, const char *tree, char ***ret, struct err *err);
