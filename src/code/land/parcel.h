/*
 * The files of a project that git ignores, on their way to another machine: one text, which has for
 * each of them
 *
 *     MODE SIZE NAME NUL      the mode in octal digits, the bytes in decimal ones
 *     the bytes
 */
#pragma once

enum {
    PLACED_FILES_MAX = 10000,
    PLACED_FILE_MAX = 64 << 20, /* bytes of one file */
    PLACED_ALL_MAX = 256 << 20, /* bytes of all */
    PARCEL_MAX = PLACED_ALL_MAX + (32 << 20), /* with the names */
};

struct parcel_file {
    const char *name; /* below the work tree */
    mode_t mode; /* its permissions */
    const char *bytes;
    size_t len;
};

struct parcel {
    struct parcel_file *files; /* point into the text */
    size_t count;
    size_t bytes; /* of all files */
};

void parcel_put(struct str *to, const struct parcel_file *file);
/* Takes a text apart, which *ret points into from then on. Fails with MAS_DAMAGED for one that is
 * none: too many or too large, and names that lead out of a work tree, into a repository, or are
 * not in the order of git. The caller releases *ret. */
int parcel_parse(const char *text, size_t len, struct parcel *ret, struct err *err);
/* Appends the names of the files, each ended with NUL. */
void parcel_names(const struct parcel *parcel, struct str *to);
void parcel_free(struct parcel *parcel);
#define _cleanup_parcel_ __attribute__((cleanup(parcel_free)))
