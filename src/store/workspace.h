/*
 * Workspaces: where what a session has on disk lies, and the session's lock. store/stage.h makes
 * and removes them.
 */
#ifndef MAS_STORE_WORKSPACE_H
#define MAS_STORE_WORKSPACE_H

#include "base/err.h"
#include "base/id.h"
#include "base/log.h"
#include "store/root.h"

#include <stdbool.h>

/* Names in a workspace. */
#define WORKSPACE_SESSION ".session"
#define WORKSPACE_LOCK ".session.lock"
#define WORKSPACE_CONFIG "config.json"
#define WORKSPACE_MEMORY "memory.db" /* what was said: memory/store.h */
#define WORKSPACE_UNIT "unit"
#define WORKSPACE_WORKFLOWS "workflows"
#define WORKSPACE_RUN "run"
#define WORKSPACE_ENV "env" /* in run/, while hosts of a team that starts take what is theirs */
#define WORKSPACE_HOST_SOCKET ".sock" /* behind an agent's id, in run/ */
#define WORKSPACE_HOST_LOCK ".lock" /* the same; held while the host lives */
#define WORKSPACE_LOGS "logs"
#define WORKSPACE_LOG "session.log" /* in logs/, as is the next one */
#define WORKSPACE_AGENT_LOG "agent-%s.log" /* a format */

/* Names in sessions/ that are no sessions, and in the root: these and a whole id. */
#define STAGING_PREFIX ".new-"
#define TRASH_PREFIX ".trash-"
enum { ENTRY_NAME = 64 }; /* bytes of such a name with its NUL */

/* And in the root, of what is on its way from there into a session, see session/migrate.h. */
#define MIGRATE_PREFIX ".migrate-"

enum { LOCK_WAIT_MS = 60000 };

/* Where the unit/ and workflows/ of a session lie: in its workspace or, in legacy mode, in the
 * root, where one session at a time may use them. */
enum mode { MODE_ISOLATED, MODE_LEGACY, MODE_COUNT };

/* "<root>/sessions/<id>" or, with a part, "<root>/sessions/<id>/<part>". The caller frees. */
char *workspace_path(const struct root *root, const char *id, const char *part);

/* Where unit/ or workflows/, or what is below them ("unit/00"), of a session is. The caller frees.
 */
char *workspace_part_path(const struct root *root, const char *id, enum mode mode,
                          const char *part);
/* The same by descriptor; `dir` is the workspace. Returns one of O_PATH, or -1 with errno. */
int workspace_open_part(const struct root *root, int dir, enum mode mode, const char *part);

/* true if somebody who says that session `id` is in the root `claimed` speaks of this root: it is
 * the same, or the session is no longer there but here, because the root was moved. */
bool workspace_is_ours(const struct root *root, const char *id, const char *claimed);

/* The directory of a session, or -1 with errno. */
int workspace_open(const struct root *root, const char *id);

/* Takes the lock of the session: held through start, stop, rm. Waits wait_ms (LOCK_TRY: not at
 * all). Its error is the reason alone, as that of file_lock(). */
int workspace_lock(int dir, int wait_ms, const char *who, int *ret_fd, struct err *err);
bool workspace_is_locked(int dir);
/* What is wrong where there is something that can be no lock at the lock's name; NULL: nothing. */
const char *workspace_lock_fault(int dir);
/* Takes it away, under the metadata lock; nobody can hold it. */
int workspace_clear_lock(const struct root *root, int dir, struct err *err);

/* Appends "<time> <words>" to the session's log; a log that cannot be written stops nothing. */
void workspace_log(int dir, struct log_limits limits, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* true if run/env was written less than a minute ago at this time: hosts take what is theirs long
 * before. */
bool workspace_env_is_recent(time_t when);
/* true while hosts have not taken all of run/env, and may yet. */
bool workspace_env_waits(int dir);

#endif
