/*
 * The shipped templates in a root, and whether those that the user has not changed match this
 * version of mas. Each name in templates/ is compared as a whole: a partly updated template would
 * be neither the user's nor ours.
 *
 * templates/.shipped records what this root received last, one line per name.
 */
#pragma once

#define ROOT_TEMPLATES "templates"
#define SHIPPED_RECORD ".shipped"
#define SHIPPED_PRESETS "agents.ini"

enum shipped_state {
    SHIPPED_MISSING,
    SHIPPED_SAME,
    SHIPPED_EARLIER, /* shipped by an earlier version: to be replaced */
    SHIPPED_CHANGED, /* changed by the user, based on the current version */
    SHIPPED_BEHIND, /* changed by the user; the shipped one has changed since */
};

struct shipped {
    int from; /* the directory of the shipped templates */
    int to; /* templates/ of the root */
    char *record; /* contents of .shipped; NULL: there is none */
};

#define SHIPPED_INIT                                                                               \
    {                                                                                              \
        .from = -1, .to = -1                                                                       \
    }

/* Opens the directory of the shipped templates. Returns a descriptor, or -1. */
int shipped_find(struct err *err);
/* Fails if templates/ of the root open at `root` cannot be opened. The caller releases *ret with
 * shipped_close(). */
int shipped_open(int root, struct shipped *ret, struct err *err);
void shipped_close(struct shipped *shipped);
#define _cleanup_shipped_ __attribute__((cleanup(shipped_close)))
/* Returns true if the root is the source tree itself. */
bool shipped_is_root(const struct shipped *shipped);
/* Lists the names of the shipped templates, sorted. The caller releases *ret with strv_free(). */
int shipped_names(const struct shipped *shipped, char ***ret, struct err *err);
/* Compares one template of the root with the shipped one. */
enum shipped_state shipped_look(const struct shipped *shipped, const char *name);
/* Appends the difference between the root's template and the shipped one in the format of diff(1),
 * with terminal control characters escaped; nothing if they are equal. */
int shipped_compare(const struct shipped *shipped, const char *name, struct str *ret,
                    struct err *err);
/* Copies the templates into the root that are missing there or that an earlier version shipped, and
 * writes the record. Sets *ret_made to true if it created anything. */
int shipped_give(int root, bool *ret_made, struct err *err);
/* Records that the root has the current templates, or that the user was told about the
 * difference. */
int shipped_write_record(const struct shipped *shipped, struct err *err);
