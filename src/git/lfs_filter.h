/*
 * mas as the filter `lfs` of the git that it runs: it gives files in place of pointers, and
 * pointers in place of files. It reads stores and writes nothing.
 */
#pragma once

/* Serves git's protocol for long-running filters (gitattributes(5)) on standard input and output
 * until git ends it. `dirs` are the repositories with stores to read. An object that is missing,
 * damaged or larger than LFS_FILE_MAX stays a pointer. */
int lfs_filter(char *const *dirs, struct err *err);
