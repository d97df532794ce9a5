/*
 * Project quotas of a file system (ext4 and XFS have them): a directory has a number that all that
 * is created in it inherits, and the kernel knows at any time how much space the files with one
 * number take, those included that are deleted but open.
 *
 * A file with another number, or none, cannot be renamed or linked into such a directory (EXDEV);
 * moving out of it is allowed, and the file keeps its number.
 *
 * All functions return -1 with errno; on most file systems all of them fail. Reading figures and
 * setting limits takes CAP_SYS_ADMIN, and a kernel of version 5.14.
 */
#pragma once

/* Sets *ret to the number that what is created in the directory inherits; 0: none. */
int quota_number(int dir, uint32_t *ret);
/* Gives the directory, which should be empty, a number; 0 takes it away. Only the owner may, and
 * nobody in a user namespace. */
int quota_set_number(int dir, uint32_t number);

struct quota_use {
    uint64_t used; /* bytes */
    uint64_t files; /* of any kind */
    uint64_t limit; /* bytes; 0: none */
};
/* Reads the figures of a number on the file system of `fd`. */
int quota_read(int fd, uint32_t number, struct quota_use *ret);
/* Sets how many bytes the files with this number may take, rounded up to KiB; 0: no limit. Writing
 * more fails with EDQUOT on ext4, except with CAP_SYS_RESOURCE, and with ENOSPC on XFS. */
int quota_limit(int fd, uint32_t number, uint64_t bytes);
