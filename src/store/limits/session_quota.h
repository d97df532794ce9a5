/*
 * A project quota for a session (os/quota.h): the kernel counts what the session takes on disk,
 * so that mas need not walk over its files, and holds its limit.
 *
 * A session gets a number when its directory is created, while this is empty, if mas may read and
 * set quotas there (as root, on a file system with project quotas). All files in its directory then
 * have that number, so that no rename within the session crosses a border; what comes from
 * elsewhere by rename or link does, and is copied. A session that has none never gets one later:
 * its links, sockets and other special files could not, and then could not be renamed.
 *
 * The number stands in the directory itself. It is taken from a range of its own by the
 * directory's inode, the next one that no file and no limit has, and is free again when the
 * session's last file is gone.
 */
#pragma once

enum {
    SESSION_QUOTA_FIRST = 0x6d000000, /* numbers of sessions */
    SESSION_QUOTA_COUNT = 1 << 24,
    SESSION_QUOTA_SPARE = 4 << 20, /* bytes that the kernel allows beyond a limit */
    SESSION_QUOTA_SHARE = 16, /* and one part in so many of the limit */
};

enum { SESSION_QUOTA_OWN = -1, SESSION_QUOTA_NONE = -2 };

/* Gives an empty directory a number: one of its own (SESSION_QUOTA_OWN), none, or that of the
 * session open at `like`, into which its files will be moved. Leaves it as it is if that is not
 * possible, or if an administrator has given it one. */
void session_quota_begin(int dir, int like);
/* Takes an empty directory in a session out of the session's quota, because it will be moved out
 * of it. */
void session_quota_except(int dir);

struct session_quota {
    uint64_t used; /* bytes on disk */
    bool holds; /* the kernel lets nobody without privileges take much more than the limit */
};
/* Reads what the session open at `dir` takes, and makes the kernel hold `limit` bytes and some
 * more, so that the agents are paused first; 0: no limit. Returns false if the session has no
 * quota, or if it cannot be read. */
bool session_quota_use(int dir, uint64_t limit, struct session_quota *ret);
/* Removes the limit of a session that is being removed. */
void session_quota_end(int dir);
/* Gives the directory of a session the number of the directory `at`, in which it is to be renamed:
 * an administrator may have given that one a number after the session was created. Its files keep
 * theirs. Returns false, with errno as it was, if that is not possible. */
bool session_quota_leave(int dir, int at);
