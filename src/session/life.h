/*
 * The life of a session: new, start, stop, remove.
 *
 * Each operation takes effect completely or not at all, even if mas is killed. The rule: the disk
 * states the intention first (STATUS is intent), tmux follows, and client/survey.h reports the
 * truth in between. Only stop reverses this: a brake has to work if the disk is full. To replace a
 * file, mas writes a new one, syncs it, renames it and syncs the directory.
 *
 * new
 *
 * 1. Check everything that can be checked: options, template, the agents' programs, tmux and its
 *    room. Nothing exists yet. With a store, take the lease of the new id (store/lease.h).
 * 2. Under the metadata lock create sessions/.new-<id>/ and take its lock.
 * 3. Copy the template, write config.json and .session (STATUS=active), one syncfs(2). With a
 *    project make code.git, the work trees and the copies of ignored files (life_make_code()), and
 *    sync again.
 * 4. Write run/env, locked (session/launch.h).
 * 5. Under the metadata lock check that the names are still free. Rename .new-<id> to <id>, never
 *    over a file.
 * 6. Start the tmux client that builds the team; write the index row while tmux works; drop the
 *    metadata lock; wait for tmux.
 * 7. Release the lock of run/env. Write to the log.
 *
 * Killed before 5, mas leaves a .new-<id> whose lock is free: no reader takes it for a session, and
 * the next new or `doctor --fix` deletes it. Of its lease, which nobody renews, <store>/<id>/ stays
 * with a page in shared memory: `doctor --fix` removes the page, and after a day the directory
 * (lease_left()), as long as no machine has claimed it. Killed after 5, mas leaves a whole session,
 * which either runs or is reported as crashed. The number of directories, and the tmux session
 * itself, reveal a missing row. While the command still works, its lock tells the survey that
 * nothing has crashed. A failure other than a kill undoes the steps: hosts that wait for run/env
 * give up, and mas ends the partial tmux session, removes the row, renames the workspace to
 * .trash-<id>, deletes it and forgets the lease.
 *
 * A legacy session also gets the missing parts of the root's unit/ and workflows/: they are made in
 * <root>/.new-<id> in step 3 and renamed into the root in step 5, before the workspace. Killed in
 * between, the root has directories without a session, and the next legacy session uses them.
 *
 * start
 *
 * 1. Take the session's lock, or give up at once. If the session already runs, start the agents
 *    whose hosts were killed, as restart does, and finish.
 * 2. Read the team, check programs and room. End the remaining processes of the team, so that no
 *    agent runs twice.
 * 3. Write run/env, locked; STATUS=active; the row.
 * 4. Build the team; release the lock of run/env; log. On failure restore the old .session and row.
 *
 * Killed after 3, the session is crashed or runs. Run start again.
 *
 * start --takeover: life_take_over(), before the steps of start
 *
 * 1. Take the session's lock. Watch the lease until it has not changed for LEASE_TAKE_MS; --fenced
 *    does not.
 * 2. Claim the next epoch: create claim-<N> with O_EXCL. Look at the lease again; if it has
 *    changed, go back to 1.
 * 3. Write the lease, look for a later claim, and set the clock in memory.
 * 4. MACHINE, EPOCH, LEASE, the tmux socket; the row. Empty run/.
 *
 * Killed before 2, nothing has changed. Killed in 2 or 3, nobody renews the lease: the next start,
 * here or there, waits for LEASE_TAKE_MS and claims the epoch after it. Killed after 4, the session
 * has crashed on this machine. The machine that had it finds the claim before and after each
 * renewal, so that one that comes too late does not count.
 *
 * stop
 *
 * 1. Take the session's lock; wait for it.
 * 2. Ask all hosts at the same time to end their agents' process trees. Leave hosts that do not
 *    answer a `status` within 200 ms to step 4. This needs no new process, no disk space and no
 *    tmux.
 * 3. End the tmux session if it still carries the id; the tmux server itself compares. If tmux does
 *    not answer, warn.
 * 4. Wait for the remaining processes, found by MAS_SESSION_ID and MAS_ROOT in their environment;
 *    then SIGTERM; then SIGKILL. If tmux did not answer, these include the hosts. Empty run/.
 * 5. Give the lease back, by a child that is left alone if the store does not answer within 2 s.
 *    STATUS=stopped, STOPPED_AT; the row; log. A failed write is a warning: exit 0 means that the
 *    agents have ended. An agent that stops its own team does this before step 3, because it may
 *    end there.
 *
 * Killed after 2, the session still runs and is reported as running, with ended agents: stop again
 * ends it, restart starts the agents. Killed after 3, or if step 5 failed, the session is reported
 * as crashed: stop again records the stop, and `start --crashed` would start the session, as the
 * warning says. stop, start and rm end its remaining processes. If tmux did not answer, a tmux
 * session of dead panes stays, and is reported as running without an agent. stop ends it, start
 * starts its agents again, and `doctor --fix` ends it, because STATUS is stopped. start and rm
 * first wait for hosts that are about to end; a host that stays although tmux is gone is a conflict
 * that only stop resolves.
 *
 * rm
 *
 * 1. Take the session's lock, or give up at once. If the session runs, refuse, or with -f stop it;
 *    then a stop that could not be recorded does not matter, and an unreachable tmux is a warning.
 *    End its remaining processes. If the session has a project, look for work that would be lost
 *    (code/keep.h): refuse, or with -f keep it (session/lost.h).
 * 2. Under the metadata lock remove the row, then rename <id> to .trash-<id>.
 * 3. Delete .trash-<id>.
 *
 * The row goes first, because readers list a workspace without a row as before, while a row without
 * a workspace is an error. Killed after the rename, the session is gone for every reader, and the
 * next new or `doctor --fix` deletes the trash.
 */
#pragma once

#include "code/keep.h"
#include "code/setup.h"
#include "model/team/team.h"
#include "os/tree.h"
#include "store/config.h"
#include "store/limits/session_limits.h"
#include "store/root.h"
#include "store/session.h"

/* Memory that the agents started now probably need, and that was available before; in bytes. */
struct life_memory {
    uint64_t needed; /* sum over all sessions that were started */
    uint64_t available; /* UINT64_MAX: unknown */
};

/* The setup of a new session's work trees; see code/setup.h. */
struct life_setup {
    enum life_setup_wish {
        LIFE_SETUP_AS_ANSWERED,
        LIFE_SETUP_YES, /* a person allows the script of the project, now and later */
        LIFE_SETUP_NO, /* this session has none */
    } wish;
    /* Asks a person who has not answered yet. NULL: there is nobody. On failure there is no new
     * session. */
    int (*ask)(const char *project, const struct setup_script *script, enum setup_answer *ret,
               struct err *err);
    enum setup_state state; /* output */
    const char *fault; /* output: why the script of the project cannot run; NULL: it can */
};

/* Whether `start` takes a session from the machine that has it, see store/owner.h. */
enum life_takeover {
    LIFE_TAKEOVER_NO,
    LIFE_TAKEOVER_ASKED, /* if its lease shows that nothing runs there */
    LIFE_TAKEOVER_FENCED, /* a person says so */
};

struct life {
    const struct root *root;
    const struct config *config;
    tree_tick *tick; /* gets the progress of a copy and can stop it; may be NULL */
    void *tick_arg;
    char ***notes; /* new appends what a person should know; the caller frees it; may be NULL */
    keep_progress *looks; /* told while removal looks for work; may be NULL */
    /* Told each second while a start waits for the lease of a machine to end. NULL: nobody is. */
    void (*waits)(const char *machine, int64_t left_ms, void *arg);
    void *waits_arg;
    struct life_memory *memory; /* filled by new and start; may be NULL */
    struct life_setup *setup; /* for new; may be NULL */
    enum life_takeover takeover; /* for start */
    const enum wall_level *wall; /* --wall for new and start; WALL_UNSET: as presets say; or NULL */
};

/* One sentence that makes a session. It is the first message of the first agent, and names the
 * session if nothing else does. */
struct sentence {
    const char *text;
    const char *preset; /* of a team for which nothing says one; NULL: none */
    const char *installed; /* names of presets, for a hint */
    /* How many agents get it, each with a branch of its own; 0: only the first of the team. */
    size_t tries;
    char *const *presets; /* of the tries, in turn; NULL: as for any agent */
};

enum { LIFE_TRIES_MAX = 16 };

struct life_options {
    const char *name; /* NULL: none */
    const char *template; /* NULL: the one in the settings */
    const char *preset; /* for the whole team; NULL: each agent's own */
    const char *accounts; /* likewise */
    const char *id; /* NULL: a new random id */
    const char *project; /* DIR or DIR@REF for project_open(); NULL: that of MAS_PROJECT, which
                          * inside of a team names its own, or of the template */
    bool changes; /* take the uncommitted changes of the project along */
    bool included; /* where the project has no work tree, what .worktreeinclude names at home has
                    * come for this id (code/land/carried.h) */
    const char *config; /* path of a file for prompts_read(); NULL: none */
    char *const *prompts; /* words for prompts_from_words(); NULL: none */
    const struct sentence *sentence; /* what it begins with; NULL: none */
    const char *check; /* the command of its own check; NULL: none */
    const struct session_limits *limits; /* that a person sets for it; NULL: none */
    bool private;
    bool start;
    bool elsewhere; /* it will start on another machine, which has the programs of its agents */
    bool migrating; /* a legacy session, for session/migrate.h */
};

/* Creates a session and, if options->start is set, starts it. On failure nothing is left behind.
 * The caller releases *ret with session_free(). */
int life_new(const struct life *life, const struct life_options *options, struct session *ret,
             struct err *err);
/* Sets the error MAS_CONFLICT: another session has this name. Returns -1. */
int life_name_conflict(const char *name, struct err *err);

/* Starts a stopped session. *ret_was is true if it ran already. Fails with MAS_CONFLICT if another
 * command works on the session. */
int life_start(const struct life *life, const char *id, bool *ret_was, struct err *err);

enum { LIFE_NAMES_MAX = 1024 };

struct life_end {
    bool removing; /* input: the session will be removed, so do not record its state */
    bool keeps_status; /* input: STATUS stays as it is, see session/leave.h */
    bool was; /* it was already stopped */
    bool down; /* its tmux session was ended */
    size_t terminated; /* processes that survived the hang-up */
    size_t killed; /* processes that also survived SIGTERM */
    char names[LIFE_NAMES_MAX]; /* those killed, as far as hosts named them: "sleep(123)" */
    /* why tmux could not be reached; its session may remain; MAS_OK: it was reached */
    struct err untold;
    struct err unwritten; /* why STATUS could not be written: the session will appear as crashed */
};

/* Stops a session: hangs up, then sends SIGTERM and SIGKILL to the remaining processes of the team.
 * Waits at most LOCK_WAIT_MS for another command. Works without tmux, without free processes and on
 * a full disk; *ret says what could not be done. */
int life_stop(const struct life *life, const char *id, struct life_end *ret, struct err *err);

/* The agents whose hosts are to be restarted. */
struct life_respawn {
    const struct team *team;
    const struct agent *const *agents; /* pointers into the team */
    size_t count;
    bool fresh; /* they have just joined the team, and no process of theirs can be left */
};
/* Ends the processes that agents without a host left behind, and starts hosts in their panes. Fails
 * with MAS_CONFLICT if the session does not run. */
int life_respawn(const struct life *life, const char *id, const struct life_respawn *options,
                 struct err *err);

/* Ends the processes that a session left behind, unless it runs again or a command works on it. */
int life_end_leftovers(const struct life *life, const char *id, struct err *err);
/* Returns true if processes of a stopped session exist. */
bool life_has_leftovers(const struct life *life, const char *id);
/* Waits until an agent without a host has no processes left, at most timeout_ms (-1: no limit).
 * *ret_gone tells whether that happened. */
int life_await_gone(const struct life *life, const char *id, const char *agent, int timeout_ms,
                    bool *ret_gone, struct err *err);
/* Ends the processes that a stopped session left behind. */
int life_sweep(const struct life *life, const char *id, struct err *err);

#define LIFE_LOST_DIR "lost" /* in the root */
/* Ends a tmux session that has no workspace, and its remaining processes. Saves its screens in
 * lost/ first. */
int life_end_orphan(const struct life *life, const char *socket, const char *id, struct err *err);

/* Adds files and directories of the session's template that are missing in unit/ and workflows/;
 * existing ones stay unchanged. A template that is gone, or for a lazy session an unusable one, is
 * an error only if the directory of an agent, or workflows/, is missing and the snapshot does not
 * contain it. Fails if an agent still has no directory afterwards. */
int life_fill(const struct life *life, const char *id, struct err *err);

enum { LIFE_WHY_MAX = 1000 };
/* Writes STATUS=error with this reason for a stopped session; the next start or stop clears it.
 * Fails with MAS_USAGE unless the reason is one line of UTF-8 of at most LIFE_WHY_MAX bytes, and
 * with MAS_CONFLICT if the session runs. */
int life_mark(const struct life *life, const char *id, const char *why, struct err *err);

/* Gives a session another name, or none (""), whether it runs or not; its branches keep the old
 * one. Fails with MAS_CONFLICT if another session has the name. */
int life_set_name(const struct life *life, const char *id, const char *name, struct err *err);

/* Makes a session private or not private, whether it runs or not. */
int life_set_private(const struct life *life, const char *id, bool private, struct err *err);

/* Says where the project of a session is now, whether it runs or not. Fails with MAS_CONFLICT if
 * that repository has no commit in common with the session. */
int life_set_project(const struct life *life, const char *id, const char *dir, struct err *err);

struct life_removal {
    bool force; /* stop a running session; remove a damaged one, and one with work (see keep) */
    /* With `force`: keeps what would be lost with the stopped session in the workspace `dir`,
     * before it is removed. NULL: nothing. On failure the session stays. */
    int (*keep)(const struct life *life, int dir, const struct session *session, void *arg,
                struct err *err);
    void *arg;
};

/* Removes a stopped session. Without `force`, fails with MAS_CONFLICT if it runs or has work that
 * is not in its project. With `force`, *end tells how it was stopped. */
int life_remove(const struct life *life, const char *id, const struct life_removal *options,
                struct life_end *end, struct err *err);
