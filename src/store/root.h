/*
 * The root: the directory that contains mas.ini, templates/ and sessions/.
 */
#pragma once

#include "store/shipped.h" /* ROOT_TEMPLATES */

/* Names in a root. */
#define ROOT_SETTINGS "mas.ini"
#define ROOT_PRESETS "templates/agents.ini"
#define ROOT_SESSIONS "sessions"
#define ROOT_LOCK ".sessions.lock"
#define ROOT_SERVE ".serve." /* prefix of the files of `mas serve` */
#define ROOT_TRANSFER ROOT_SERVE "transfer-" /* an archive on its way; an id follows */

enum { ROOT_LOCK_MS = 30000 }; /* time limit for the metadata lock */

struct root {
    char *path; /* absolute, without links and control characters */
    int fd;
    int sessions; /* descriptor of sessions/ */
    /* false: mas found the root by walking up and this user never accepted it; settings that name
     * programs are ignored, see store/known_roots.h */
    bool accepted;
    /* Why sessions/ is not the one that the root had, as when its disk is not mounted; NULL: it is.
     * Nothing is written then; see root_check() and store/mark.h. */
    const char *strange;
};

#define ROOT_INIT                                                                                  \
    {                                                                                              \
        .fd = -1, .sessions = -1                                                                   \
    }

/* How mas found a root. */
enum root_origin {
    ROOT_OPTION, /* --root */
    ROOT_ENV, /* $MAS_ROOT */
    ROOT_ABOVE, /* the nearest directory with a mas.ini, from the current one upwards */
    ROOT_DEFAULT, /* the user's data directory; it may not exist yet */
};

/* Determines the root by the first of these that applies. `option` is the value of --root, or NULL.
 * The caller frees *ret. Fails with MAS_USAGE if `option` is empty, and with MAS_FAILED if there is
 * no root because HOME is not set. */
int root_find(const char *option, char **ret, enum root_origin *ret_origin, struct err *err);
/* Returns the path of the default root, which may not exist; NULL if there is no home directory.
 * The caller frees it. */
char *root_default_path(void);
/* Returns a description of an origin, for messages. */
const char *root_origin_name(enum root_origin origin);

/* Opens an existing root and creates sessions/ if it is missing. The root and sessions/ must
 * belong to this user, and sessions/ must not be a symbolic link; config_load() checks mas.ini.
 * Sets `accepted`; the caller clears it if this user has not accepted the root. The caller releases
 * *ret with root_close(). */
int root_open(const char *path, struct root *ret, struct err *err);
/* Fails if sessions/ is not the one that the root had. The locks of the root, and those of its
 * sessions, are refused then; a command that only reads tells it. */
int root_check(const struct root *root, struct err *err);
void root_close(struct root *root);
#define _cleanup_root_ __attribute__((cleanup(root_close)))

/* Returns true if the directory contains a mas.ini. */
bool root_exists(const char *path);

/* Makes `path` a root: creates directories, copies the shipped templates, and writes mas.ini last.
 * Keeps existing files. *ret_made tells whether anything was created. */
int root_init(const char *path, bool *ret_made, struct err *err);

/* Takes the lock for creating templates, which may be held while a copy runs. Waits without a
 * limit. The caller closes *ret_fd to release it. */
int root_lock_templates(const struct root *root, int *ret_fd, struct err *err);

/* Takes the metadata lock. It is held briefly, for each change of the index or of the set of
 * workspaces. Fails with MAS_TIMEOUT after ROOT_LOCK_MS. The caller closes *ret_fd to release
 * it. */
int root_lock(const struct root *root, int *ret_fd, struct err *err);
/* Like root_lock(), but fails with MAS_CONFLICT instead of waiting: for readers that would only
 * write a cache. */
int root_try_lock(const struct root *root, int *ret_fd, struct err *err);
