/*
 * Workspaces: what a session looks like on disk, from its staging to its removal.
 *
 * A new one is built as sessions/.new-<id>, made durable, and renamed into place; one that is
 * removed is renamed to .trash-<id> first. Whoever builds or removes holds the .session.lock
 * inside, so what a killed process left behind is known by its lock being free (workspace_sweep()).
 */
#ifndef MAS_CORE_WORKSPACE_H
#define MAS_CORE_WORKSPACE_H

#include "base/err.h"
#include "base/id.h"
#include "base/log.h"
#include "base/tree.h"
#include "core/config.h"
#include "core/legacy.h"
#include "core/root.h"
#include "core/session.h"
#include "core/team.h"
#include "core/template.h"

#include <stdbool.h>

/* Names in a workspace. */
#define WORKSPACE_SESSION ".session"
#define WORKSPACE_LOCK ".session.lock"
#define WORKSPACE_CONFIG "config.json"
#define WORKSPACE_MEMORY "memory.db" /* what was said: memory/store.h */
#define WORKSPACE_UNIT "unit"
#define WORKSPACE_WORKFLOWS "workflows"
#define WORKSPACE_RUN "run"
#define WORKSPACE_LOGS "logs"
#define WORKSPACE_LOG "session.log" /* in logs/, as is the next one */
#define WORKSPACE_AGENT_LOG "agent-%s.log" /* a format */

/* Names in sessions/ that are no sessions, and in the root: these and a whole id. */
#define STAGING_PREFIX ".new-"
#define TRASH_PREFIX ".trash-"
enum { ENTRY_NAME = 64 }; /* bytes of such a name with its NUL */

/* And in the root, of what is on its way from there into a session, see core/migrate.h. */
#define MIGRATE_PREFIX ".migrate-"

enum { CONFIG_FILE_MAX = 4 << 20, LOCK_WAIT_MS = 60000 };

/* "<root>/sessions/<id>" or, with a part, "<root>/sessions/<id>/<part>". The caller frees. */
char *workspace_path(const struct root *root, const char *id, const char *part);

/* Where unit/ or workflows/, or what is below them ("unit/00"), of a session is: in its workspace
 * or, in legacy mode, in the root. The caller frees. */
char *workspace_part_path(const struct root *root, const struct session *session, const char *part);
/* The same by descriptor; `dir` is the workspace. Returns one of O_PATH, or -1 with errno. */
int workspace_open_part(const struct root *root, int dir, const struct session *session,
                        const char *part);

/* true if somebody who says that session `id` is in the root `claimed` speaks of this root: it is
 * the same, or the session is no longer there but here, because the root was moved. */
bool workspace_is_ours(const struct root *root, const char *id, const char *claimed);

/* The directory of a session, or -1 with errno. */
int workspace_open(const struct root *root, const char *id);

/* Takes the session's lock: held through start, stop, rm. Waits wait_ms (LOCK_TRY: not at all). */
int workspace_lock(int dir, const char *id, int wait_ms, const char *who, int *ret_fd,
                   struct err *err);
bool workspace_is_locked(int dir);
/* What is wrong where there is something that can be no lock at the lock's name; NULL: nothing. */
const char *workspace_lock_fault(int dir);
/* Takes it away, under the metadata lock; nobody can hold it. */
int workspace_clear_lock(const struct root *root, int dir, struct err *err);

/* The team that the session was made from. */
int workspace_load_team(int dir, struct team *ret, struct err *err);

/* The name of the template in config.json, or NULL. The caller frees. */
char *workspace_template_name(int dir);
/* Replaces config.json by what a template says now. */
int workspace_save_config(int dir, const struct template *tmpl, struct err *err);

/* Appends "<time> <words>" to the session's log; a log that cannot be written stops nothing. */
void workspace_log(int dir, struct log_limits limits, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* A workspace in the making; holds its lock until workspace_release(). */
struct stage {
    char id[ID_TEXT];
    int dir;
    int lock;
    bool placed; /* it has its final name */
    struct legacy_parts parts; /* of a legacy session: what is made beside it, in the root */
    bool others; /* sessions/ holds more than the index and this: perhaps something stale */
};

#define STAGE_INIT                                                                                 \
    {                                                                                              \
        .dir = -1, .lock = -1, .parts = LEGACY_PARTS_INIT                                          \
    }

/* Builds the workspace beside its place and makes it durable; [workspace] of the settings says how
 * the template's files get there. On failure nothing is left. */
int workspace_stage(const struct root *root, const struct config *config,
                    const struct session *session, const struct template *tmpl, tree_tick *tick,
                    void *arg, struct stage *ret, struct err *err);
/* The same without anything in it, for the caller to fill; `who` is the verb. */
int workspace_stage_empty(const struct root *root, const char *id, const char *who,
                          struct stage *ret, struct err *err);
/* Makes it the stage of another session. MAS_CONFLICT where somebody makes that one. */
int workspace_stage_rename(const struct root *root, struct stage *stage, const char *id,
                           struct err *err);
/* Renames it into place, its parts in the root first; the caller holds the metadata lock.
 * MAS_CONFLICT where the name is taken: nothing is ever overwritten. */
int workspace_place(const struct root *root, struct stage *stage, struct err *err);
/* Removes what was staged, but has no place yet. */
void workspace_discard(const struct root *root, struct stage *stage);
void workspace_release(struct stage *stage);
#define _cleanup_stage_ __attribute__((cleanup(workspace_release)))

/* Renames a session's directory to its trash name; the caller holds the metadata lock. -1: nothing
 * was done. 1: it was, but *err says that it is not known to be durable. */
int workspace_trash(const struct root *root, const char *id, struct err *err);
/* Deletes what workspace_trash() put away, its lock last: a sweep leaves it alone until then. */
int workspace_empty_trash(const struct root *root, const char *id, struct err *err);

/* The same two for many sessions: they are renamed one by one, then the caller syncs sessions/
 * once; tree_remove_many() deletes what has these names. */
enum { TRASH_NAME = sizeof TRASH_PREFIX - 1 + ID_TEXT };
int workspace_set_aside(const struct root *root, const char *id, struct err *err);
void workspace_trash_name(const char *id, char buf[TRASH_NAME]);

/* Makes what a lazy workspace lacks. For a session that does not run and whose lock is held. */
int workspace_complete(const struct root *root, int dir, struct err *err);

/* Gives what lies below sessions/ a trash name of its own, in `fresh`, to be deleted by the caller
 * or a sweep: deleting takes long, and the caller holds the metadata lock. */
int workspace_put_away(const struct root *root, const char *path, char fresh[ENTRY_NAME],
                       struct err *err);

/* Called for each staging or trash entry, and each snapshot, that nobody works on or needs. */
typedef void workspace_stale(const char *name, void *arg);
/* Finds what killed processes left in sessions/ and the root and, unless `keep`, deletes it. Takes
 * the metadata lock. Returns how many there were; `each` may be NULL. */
size_t workspace_sweep(const struct root *root, bool keep, workspace_stale *each, void *arg);

#endif
