/*
 * The limits of a session (model/limits.h): which hold for an agent, and those that a person has
 * set, which are in the file `limits.json` of its workspace.
 *
 * The nearest place counts: set for the agent, set for the session, said of the agent in the
 * template, its preset, [limits] of mas.ini.
 */
#pragma once

#include "model/limits.h"
#include "model/team/team.h"
#include "store/config.h"
#include "store/root.h"

enum { LIMITS_FILE_MAX = 64 * 1024, LIMITS_AGENTS_MAX = TEAM_AGENTS_MAX };

struct session_limits {
    struct limit_set all; /* of the session, and of each of its agents */
    struct agent_limits {
        char agent[TEAM_WORD_MAX + 1];
        struct limit_set set;
    } * each;
    size_t count;
};
#define SESSION_LIMITS_INIT                                                                        \
    {                                                                                              \
        .each = NULL                                                                               \
    }

/* Reads the file in the workspace `dir`; if it is missing, nothing is set. Fails with MAS_DAMAGED.
 * The caller releases *ret with session_limits_free(). */
int session_limits_read(int dir, struct session_limits *ret, struct err *err);
/* The same, but a damaged file sets nothing. */
int session_limits_read_sound(int dir, struct session_limits *ret, struct err *err);
void session_limits_free(struct session_limits *limits);
#define _cleanup_session_limits_ __attribute__((cleanup(session_limits_free)))

/* Returns true if one of them is set. */
bool session_limits_any(const struct session_limits *limits);

/* Puts in a limit; amount 0 takes it out. `agent` NULL: of the session. */
void session_limits_put(struct session_limits *limits, const char *agent, enum limit_kind kind,
                        int64_t amount);
/* Writes the file. On a full disk it may use the reserve of the session. */
int session_limits_write(int dir, const struct session_limits *limits, struct err *err);
/* Sets one limit for the session open at `dir`, as session_limits_put(). Waits at most `wait_ms`
 * for the lock. */
int session_limits_set(const struct root *root, int dir, const char *agent, enum limit_kind kind,
                       int64_t amount, int wait_ms, struct err *err);

/* Returns the limits that hold for an agent with this preset; each may be NULL, then its place says
 * nothing. */
struct limits_held session_limits_hold(const struct session_limits *limits,
                                       const struct config *config, const struct agent *agent,
                                       const struct preset *preset);
/* The same for the session open at `dir`; what cannot be read counts as not set. */
struct limits_held session_limits_look(int dir, const struct config *config,
                                       const struct agent *agent, const struct preset *preset);

/* Parses "memory=2G" or "11.memory=2G", behind an optional "limits.". On success the caller frees
 * *ret_agent; NULL: of the session. Returns false if the word is another one; *ret_wrong is then
 * NULL, or describes the valid values of this limit. */
bool session_limits_parse(const char *word, char **ret_agent, enum limit_kind *ret_kind,
                          int64_t *ret_amount, const char **ret_wrong);
