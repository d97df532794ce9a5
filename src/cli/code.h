/*
 * For the commands on the code of a session.
 */
#pragma once

#include "cli/held_output.h"
#include "cli/targets.h"
#include "cmd.h"
#include "code/land/land.h"
#include "code/merge.h"
#include "code/repo.h"
#include "session/walled_run.h"

/* A session whose repositories are locked, and the agents that the command line names. */
struct code_call {
    struct call *call;
    struct roster roster;
    struct team team;
    struct repo repo;
    const char *from; /* the agent in whose pane the command runs; NULL: a person */
    int lock;
    struct held_output held; /* while an agent's command has the lock */
};
#define CODE_CALL_INIT                                                                             \
    {                                                                                              \
        .lock = -1, .held = HELD_OUTPUT_INIT                                                       \
    }
void code_call_free(struct code_call *code);
#define _cleanup_code_call_ __attribute__((cleanup(code_call_free)))

/* Parses [SESSION] TARGET and takes the lock of code.git. With `writes`, an agent acts on itself if
 * it names none, and fails for one that it may not write to. Fails with MAS_USAGE if none of the
 * agents that are named has a repository. The caller releases *ret with code_call_free(). */
int code_call_open(struct call *call, enum targets_form form, bool writes, struct code_call *ret,
                   struct err *err);

/* Gives the lock back, and prints what was printed meanwhile. */
void code_call_unlock(struct code_call *code);

/* Acts on one agent. */
typedef int code_each(const struct code_call *code, const char *agent, void *arg, struct err *err);
/* Calls `each` for the agents that have a repository. Reports failures as each_session_fail()
 * does. */
int code_call_each(const struct code_call *code, code_each *each, void *arg, struct err *err);

/* Returns the check of an agent's work: the session's own, else [code] check. `*of`, which it
 * fills, must outlive it. */
struct check code_check(const struct code_call *code, const char *agent, struct walled_agent *of);
/* Likewise, of a session that the caller has opened itself. */
struct check code_check_of(const struct call *call, const char *id, const struct team *team,
                           const struct agent *agent, struct walled_agent *of);
/* Prints the last lines of a check that failed, and sets the error: "cannot <what>: ...". */
int code_fail_check(const struct repo *repo, const struct team *team,
                    const struct check_result *check, const char *what, struct err *err);

/* Sends a text to the agent whose repository the command worked on, unless that agent runs it. Only
 * warns if that fails. */
void code_tell(const struct code_call *code, const char *agent, const struct str *text);

/* Record what was done with the code, in the session's log and for mas serve. */
/* Records that commits were merged into the integration branch, or that they conflict. `agent`
 * NULL: they are the project's. */
void code_record_merge(const struct call *call, const struct repo *repo, const char *agent,
                       const struct merge_result *result);
/* Records that the integration branch landed, or that it conflicts. */
void code_record_land(const struct call *call, const struct repo *repo,
                      const struct land_result *result);
/* Writes to the session's log that an agent's branch and work tree were moved forward. */
void code_record_sync(const struct call *call, const struct repo *repo, const char *agent);
/* Has all hosts of the session look at the code again. Call it without the lock of code.git. */
void code_record_end(const struct call *call, const struct repo *repo);
