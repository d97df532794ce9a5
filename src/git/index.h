/*
 * An index file of git that mas keeps.
 */
#pragma once

enum { INDEX_BYTES_MAX = 512 << 20 };

/* Makes git read those files again whose inodes changed in the second `begun` or later. git
 * compares times in whole seconds, and looks twice only at a file whose modification time is as new
 * as the index: it misses a second change in the same second that keeps size and modification time.
 * *ret_plain is true if the index surely names no submodule. */
int index_distrust(const char *path, bool sha256, time_t begun, bool *ret_plain, struct err *err);

/* Copies an index, or the file with most of a split one, which git then takes for that of the same
 * files. */
int index_copy(int from, const char *name, int to, const char *as, struct err *err);

/* Enters the inodes of a copied work tree, open at `tree`, into its index, which was copied with
 * it: git would have to read all files, because it knows those of the original. Files whose size or
 * modification time is another one are left to git. Returns 1 if mas cannot read the index. */
int index_adopt(int tree, bool sha256, struct err *err);

/* Copies those files of the work tree open at `from` into the new one open at `to` that are still
 * as the index at `path` says, so that git need not unpack them, and gives the new one that index.
 * All others, and all of an index of SHA-256 or that mas cannot read, are left to git. Returns 1 if
 * there are any. */
int index_transfer(const char *path, bool sha256, int from, int to, struct err *err);
