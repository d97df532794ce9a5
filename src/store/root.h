/*
 * The root: the directory that holds mas.ini, templates/ and sessions/.
 */
#ifndef MAS_STORE_ROOT_H
#define MAS_STORE_ROOT_H

#include "base/err.h"
#include "store/shipped.h" /* ROOT_TEMPLATES */

#include <stdbool.h>

/* Names in a root. */
#define ROOT_SETTINGS "mas.ini"
#define ROOT_PRESETS "templates/agents.ini"
#define ROOT_SESSIONS "sessions"
#define ROOT_LOCK ".sessions.lock"
#define ROOT_SERVE ".serve." /* what these names begin with are the files of `mas serve` */

enum { ROOT_LOCK_MS = 30000 }; /* how long a metadata write waits for those before it */

struct root {
    char *path; /* absolute, without links or control characters */
    int fd;
    int sessions; /* descriptor of sessions/ */
    bool accepted; /* false: it was found by walking up, and this user knows nothing of it; its
                      settings name no program, see store/known_roots.h */
};

#define ROOT_INIT                                                                                  \
    {                                                                                              \
        .fd = -1, .sessions = -1                                                                   \
    }

/* How a root was found. */
enum root_origin {
    ROOT_OPTION, /* --root */
    ROOT_ENV, /* $MAS_ROOT */
    ROOT_ABOVE, /* the nearest directory at or above the current one with a mas.ini */
    ROOT_DEFAULT, /* the user's data directory; it may not exist yet */
};

/* Says where the root is, by the first of these that there is. `option` is --root or NULL; *ret is
 * the caller's. */
int root_find(const char *option, char **ret, enum root_origin *ret_origin, struct err *err);
/* Where the default root is or would be; NULL where there is no home. The caller frees. */
char *root_default_path(void);
const char *root_origin_name(enum root_origin origin);

/* Opens a root that exists and makes sessions/ where it is missing. It, sessions/ and mas.ini must
 * belong to this user and sessions/ must be no link. Release with root_close(). */
int root_open(const char *path, struct root *ret, struct err *err);
void root_close(struct root *root);
#define _cleanup_root_ __attribute__((cleanup(root_close)))

/* true if the directory holds a mas.ini */
bool root_exists(const char *path);

/* Makes `path` a root: directories, the shipped templates, mas.ini last. What is there stays.
 * *ret_made says whether anything was made. */
int root_init(const char *path, bool *ret_made, struct err *err);

/* Takes the lock under which templates are made; it may be held for as long as a copy takes. Close
 * *ret_fd to release it. */
int root_lock_templates(const struct root *root, int *ret_fd, struct err *err);

/* Takes the metadata lock: held for a moment, around each change of the index or of the set of
 * workspaces. Close *ret_fd to release it. */
int root_lock(const struct root *root, int *ret_fd, struct err *err);
/* The same for who reads and has only a cache to write: it does without rather than wait. */
int root_try_lock(const struct root *root, int *ret_fd, struct err *err);

#endif
