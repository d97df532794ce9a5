/* clang-format off */
/*
 * The root: the directory that contains mas.ini, templates/ and sessions/. Besides the workspaces
 * (store/workspace.h), mas writes in sessions/
 *
 *     .sessions.index        store/index.h, under the metadata lock: all sessions; a cache
 *     .snapshots/<name>/     store/snapshot.h, under the metadata lock
 *     .setup-answers         setup_answers_keep(), under the metadata lock: what persons have said to
 *                            setups of projects
 *     .sessions.id           store/mark.h, and .sessions.mark in the root; under the metadata lock
 *     .waiting               store/limits/waiting.h, under .waiting.lock; a cache
 *     .limits/<login>        store/limits/login_limit.h; a cache
 *     .turns/                nobody: each file is a lock (store/limits/turn_slots.h)
 *     .starts                memory/starts.h, under .starts.lock
 *     .came-from             came_from_push(), came_from_pop(), under .came-from.lock: where terminals
 *                            were before `mas next`; a cache
 *     .every                 every_add(), every_arrive(), under the metadata lock: the next number of
 *                            an entry (store/every.h); .every.lock is that of `mas tick`
 *     .wall-probe            wall_probe_look(); removed by a host whose wall did not come up; a cache
 *
 * and elsewhere
 *
 *     ~/.local/state/mas/roots    known_roots_add(), under a lock beside it: accepted roots
 *     ~/.config/systemd/user/mas-tick-*, the crontab
 *                                 timer_settle(), under ~/.local/state/mas/timers.lock
 *     ~/.local/state/mas/hosts    last_known_write(), under a lock beside it: when other machines
 *                                 answered, with how many sessions; a cache
 *     ~/.local/state/mas/home/    carry_send(), carry_note_seen(), carry_fetch(): projects that went to
 *                                 other machines, and what of them is landing (fleet/carry.h)
 *     projects/ in the root       carried_make() (code/land/carried.h): projects of other machines
 *     $XDG_RUNTIME_DIR/mas/       the control sockets of ssh, and their slots, each of which is a lock
 *                                 (fleet/reach_master.c); one more lock for making a master
 *     a store on a shared disk    store/lease.h, fleet/saves.h, fleet/job.h
 *     /dev/shm/mas-lease-<token>  store/lease_clock.h, under locks on its bytes; removed by
 *                                 life_lease_give_back(), doctor, or, a day after the lease, by any
 *                                 start with a store
 *     tmux's @mas_id, @mas_root   tmux_build_start(), under the session's lock
 *     tmux's @mas_agent, @mas_state, @mas_waits
 *                                 tmux_build_start(), then the agent's host (host/display.c), under
 *                                 flock() on the session's run/, for 100 ms from each call
 *     the cgroup mas-<id>/<agent> the agent's host (host/resources.c) and its supervisors, under the
 *                                 host's lock and one on the group itself; doctor removes what is left
 */
/* clang-format on */
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

/* What root_init() has done. */
struct root_made {
    bool any; /* anything was created */
    bool own; /* the template ROOT_OWN, of the unit/ and workflows/ that were there */
    struct err refused; /* why that template was not made */
};
#define ROOT_MADE_INIT                                                                             \
    {                                                                                              \
        .refused = ERR_INIT                                                                        \
    }
#define ROOT_OWN "own"

/* Makes `path` a root: creates directories, copies the shipped templates, and writes mas.ini last.
 * Keeps existing files. A directory with unit/ and workflows/ and without templates of its own gets
 * one of these, see store/template_make.h, and its mas.ini names it. *ret must be
 * ROOT_MADE_INIT. */
int root_init(const char *path, struct root_made *ret, struct err *err);

/* Fails with MAS_DAMAGED if `name` in sessions/ is anything but a file that only this user can read
 * and write: another user who can write there could speak in this user's name. `then` is the hint.
 * A file that is missing is in order. */
int root_check_private(const struct root *root, const char *name, const char *then,
                       struct err *err);

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
