/* clang-format off */
/*
 * Workspaces: where the files of a session are, and the session's lock. store/stage.h creates and
 * removes workspaces. mas-session(5) has the formats of the files; they are written by
 *
 *     .session               session_save(), under the session's lock: the truth about a session
 *     config.json            workspace_stage(), doctor, grow_add(), grow_remove(), under the session's
 *                            lock: the team
 *     .growing               grow_add(), grow_remove(), likewise: who joins or leaves
 *     limits.json            session_limits_set(), under the metadata lock: limits that a person set
 *     every.json, every.env  store/every.h, under the metadata lock: prompts at set times
 *     .snapshot              snapshot_take(); removed once every unit exists; under the session's lock
 *     pictures/              pictures_keep(), each file once (store/pictures.h)
 *     memory.db              the host of each agent, its own part, under SQLite's locks
 *     home/<agent>/.tmp      the agent: its /tmp behind a wall, which mas does not believe; its host
 *                            empties it, under the host's lock
 *     run/env                launch_write_env(), under a lock on the file itself
 *     run/<agent>.limit      the agent's host (talk/limit.c), under the host's lock: which prompt the
 *                            provider refused, how often, until when, and whether it was sent since
 *     run/<agent>.asleep     the agent's host (talk/sleep.c), under the host's lock
 *     run/<agent>.trusted    likewise (terminal/teller_asks.c): the directory that a person has said is
 *                            to be trusted
 *     run/<number>.errand    nobody: it is a lock (session/errand/errand.h)
 *     run/.turns/            nobody: each file is a lock (store/limits/turn_slots.h)
 *     logs/session.log       workspace_log(), under the session's lock
 *     a project number       of the directory, and its limit in the file system's quotas:
 *                            workspace_stage(), workspace_stage_empty(), under the metadata lock; the
 *                            limit by `mas measure`, removed with workspace_set_aside()
 *     code.git, code/        see code/repo.h
 *
 * The session's lock is .session.lock, the metadata lock .sessions.lock in sessions/. Both are
 * flock(2) locks on files that mas never renames or removes while they are in use, so a kill leaves no
 * lock behind. The lock of code.git is another one (code/repo.h): diff, merge, sync and land take it
 * alone, whether the session runs or not; rm, clean and `archive --rm` take it while they hold the
 * session's lock. Take the session's lock before the metadata lock. A process that holds the metadata
 * lock waits for no other lock. It may take the lock of a new workspace, because no other process can
 * hold that yet. Whoever is to change a session takes its lock by owner_lock() (store/owner.h);
 * workspace_lock() is only for a workspace that is being made.
 */
/* clang-format on */
#pragma once

#include "base/id.h"
#include "os/log.h"
#include "store/root.h"
#include "store/template_make.h"

/* Names in a workspace. */
#define WORKSPACE_SESSION ".session"
#define WORKSPACE_LOCK ".session.lock"
#define WORKSPACE_CONFIG "config.json"
#define WORKSPACE_CODE "code" /* of a session with a project, see code/repo.h */
#define WORKSPACE_CODE_GIT "code.git"
#define WORKSPACE_CODE_LOCKS "code.locks" /* of the two, where no agent can open them */
#define WORKSPACE_MEMORY "memory.db" /* the conversations: memory/store.h */
#define WORKSPACE_PICTURES "pictures" /* of prompts: store/pictures.h */
#define WORKSPACE_HOME "home" /* what programs behind walls keep in their homes, by agent */
/* In home/<agent>/, while the agent runs: */
#define WORKSPACE_HOME_TMP ".tmp" /* /tmp behind its wall */
#define WORKSPACE_HOME_TOP ".home" /* the home itself */
#define WORKSPACE_LIMITS "limits.json" /* of disk space, see store/limits/session_limits.h */
#define WORKSPACE_UNIT TEMPLATE_UNIT
#define WORKSPACE_WORKFLOWS TEMPLATE_WORKFLOWS
#define WORKSPACE_RUN "run"
#define WORKSPACE_ENV "env" /* in run/, until the hosts of a starting team have read their part */
#define WORKSPACE_HOST_SOCKET ".sock" /* suffix of an agent's id, in run/ */
#define WORKSPACE_HOST_AGENT ".agent" /* likewise; the socket for the agent's own commands */
#define WORKSPACE_HOST_LOCK ".lock" /* likewise; held while the host lives */
#define WORKSPACE_HOST_ROLE ".role" /* likewise; a directory, see host/role.c */
#define WORKSPACE_ROLE_HOME "home" /* in it: what is added to files of the agent's own home */
#define WORKSPACE_HOST_LIMIT ".limit" /* likewise; a prompt that the agent's provider refused */
#define WORKSPACE_HOST_ASLEEP ".asleep" /* likewise; there while mas has put the agent to sleep */
#define WORKSPACE_HOST_TRUSTED ".trusted" /* likewise; what a person has said of its directory */
#define WORKSPACE_ERRAND_LOCK                                                                      \
    ".errand" /* suffix of an errand's number, in run/; held by its process */
#define WORKSPACE_LOGS "logs"
#define WORKSPACE_LOG "session.log" /* in logs/, as is the next one */
#define WORKSPACE_AGENT_LOG "agent-%s.log" /* a printf format */

/* The variable that tells an agent where its socket is. */
#define MAS_SOCKET_VARIABLE "MAS_SOCKET"
/* The one that only a host sets, for a command that it runs for its agent. */
#define MAS_BROKERED_VARIABLE "MAS_BROKERED"

/* Prefixes of names in sessions/, and in the root, that are not sessions. An id follows, as behind
 * STAGING_PREFIX. */
#define TRASH_PREFIX ".trash-"
enum { ENTRY_NAME = 64 }; /* bytes of such a name, with its NUL */

/* Prefix in the root for directories that are being moved into a session, see session/migrate.h. */
#define MIGRATE_PREFIX ".migrate-"

enum { LOCK_WAIT_MS = 60000 };

/* Returns "<root>/sessions/<id>" or, with a part, "<root>/sessions/<id>/<part>". The caller frees
 * it. */
char *workspace_path(const struct root *root, const char *id, const char *part);

/* Returns true if a process that claims session `id` of the root `claimed` means this root: it is
 * the same root, or the session exists here and no longer there because the root was moved. */
bool workspace_is_ours(const struct root *root, const char *id, const char *claimed);

/* Opens the directory of a session. Returns a descriptor, or -1 with errno. */
int workspace_open(const struct root *root, const char *id);

/* Takes the lock of the session, which start, stop and rm hold while they run. Waits at most
 * `wait_ms` (LOCK_TRY: not at all). As with file_lock(), the error is only the reason. */
int workspace_lock(int dir, int wait_ms, const char *who, int *ret_fd, struct err *err);
/* Returns true if a process holds the lock, or if that cannot be determined. */
bool workspace_is_locked(int dir);
/* Returns what is wrong with a file at the lock's name that cannot be a lock; NULL if nothing
 * is. */
const char *workspace_lock_fault(int dir);
/* Removes such a file under the metadata lock. No process can hold it. */
int workspace_clear_lock(const struct root *root, int dir, struct err *err);

/* Appends "<time> <text>" to the session's log. Ignores errors. */
void workspace_log(int dir, struct log_limits limits, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Returns when the session's agents last wrote into their logs and conversations; 0: never, or that
 * cannot be read. */
time_t workspace_activity(int dir);

/* Returns true if run/env, written at this time, is less than a minute old. Hosts read their part
 * long before that. */
bool workspace_env_is_recent(time_t when);
/* Returns true while hosts may still read their part of run/env. */
bool workspace_env_waits(int dir);

/* Renames `path`, which is relative to sessions/, to a new trash name and writes that name to
 * `fresh`. The caller or a sweep deletes it later, because deleting takes long and the caller holds
 * the metadata lock. */
int trash_put_away(const struct root *root, const char *path, char fresh[ENTRY_NAME],
                   struct err *err);
