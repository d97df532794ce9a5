/*
 * What git prints with --raw -z --no-renames: a row for each file that is not the same on two
 * sides.
 */
#pragma once

#include "git/git.h"

struct raw_side {
    char mode[8]; /* "000000": the file is missing there */
    char oid[GIT_OID_TEXT]; /* zeros: likewise, or not known */
};

struct raw_row {
    struct raw_side old, new;
    const char *path; /* in the text */
};

/* Reads the next row, and moves *at, which is 0 at first, behind it. Passes over what is none.
 * Returns false at the end. */
bool raw_next(const struct str *rows, size_t *at, struct raw_row *ret);
