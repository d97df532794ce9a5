/*
 * The directory of a dry run, for what git writes: in /tmp, because nothing changes in the session.
 *
 * It is locked as long as its writer lives. So one that a killed command has left is known by its
 * free lock; the next dry run removes it.
 */
#pragma once

struct dry {
    char *path; /* NULL: none */
    int fd;
};
#define DRY_INIT                                                                                   \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Makes it; release *ret with dry_end(), which removes it. */
int dry_begin(struct dry *ret, struct err *err);
void dry_end(struct dry *dry);
