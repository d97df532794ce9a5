/*
 * The shipped templates in a root, and what became of them: whether those that the user has not
 * changed are of this version of mas. They are compared as a whole, each name in templates/ by
 * itself: a template that was brought up to date in part would be neither his nor ours.
 *
 * templates/.shipped says what this root was given last, a line for each name. What was given
 * before there was such a file is known by a table.
 */
#ifndef MAS_STORE_SHIPPED_H
#define MAS_STORE_SHIPPED_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>

#define ROOT_TEMPLATES "templates"
#define SHIPPED_RECORD ".shipped"

enum shipped_state {
    SHIPPED_MISSING,
    SHIPPED_SAME,
    SHIPPED_EARLIER, /* as an earlier version has shipped it: to be replaced */
    SHIPPED_CHANGED, /* the user's own, and made from what is shipped now */
    SHIPPED_BEHIND, /* the user's own, and what is shipped has changed since */
};

struct shipped {
    int from; /* the shipped templates */
    int to; /* those of the root */
    char *record; /* what .shipped says; NULL: there is none */
};

#define SHIPPED_INIT                                                                               \
    {                                                                                              \
        .from = -1, .to = -1                                                                       \
    }

/* Fails where templates/ of the root open at `root` cannot be opened. */
int shipped_open(int root, struct shipped *ret, struct err *err);
void shipped_close(struct shipped *shipped);
#define _cleanup_shipped_ __attribute__((cleanup(shipped_close)))
/* true if the root is the source tree itself */
bool shipped_is_root(const struct shipped *shipped);
/* The names that are shipped, sorted; released with strv_free(). */
int shipped_names(const struct shipped *shipped, char ***ret, struct err *err);
enum shipped_state shipped_look(const struct shipped *shipped, const char *name);
/* How the root's differs from what is shipped, as diff(1) prints it, without characters that could
 * steer a terminal; nothing where it does not. */
int shipped_compare(const struct shipped *shipped, const char *name, struct str *ret,
                    struct err *err);
/* Copies into the root what is missing there and what an earlier version has shipped. *ret_made
 * becomes true if anything was made. */
int shipped_give(int root, bool *ret_made, struct err *err);
/* What is in the root now was made from what is shipped, or its user was told of the difference. */
int shipped_write_record(const struct shipped *shipped, struct err *err);

#endif
