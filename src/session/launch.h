/*
 * What an agent is started with: its command, and its environment.
 *
 * The environment of whoever ran `mas new` or `mas start` reaches the hosts through run/env, a file
 * that only the owner can read, so that no value of it stands on a command line or in tmux. The
 * caller holds a lock on it until the team stands; each host waits for that lock, takes its copy
 * and marks that it has it; the last one removes the file. Where the team could not be built the
 * file is gone when the lock is, and no agent starts.
 *
 *     MASENV2\n  prompts or -  \n  <count> marks, one byte an agent: '.' or 'x'  \n  KEY=value\0
 * ...
 */
#ifndef MAS_SESSION_LAUNCH_H
#define MAS_SESSION_LAUNCH_H

#include "base/err.h"
#include "model/team.h"
#include "store/config.h"
#include "store/root.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { ENV_FILE_MAX = 8 << 20 };

/* The command of an agent: its own, or its preset's, with its model; the user's shell where both
 * are empty. ret_argv is released with strv_free(). */
int launch_command(const struct config *config, const struct team *team, const struct agent *agent,
                   const char *shell, char ***ret_argv, const struct preset **ret_preset,
                   struct err *err);

/* true if what runs there is a person's terminal: what is typed in it is a person's word. As the
 * preset says, else the user's shell is one. */
bool launch_is_operator(const struct agent *agent, const struct preset *preset);

/* When an agent starts: as it says itself, else as its preset does. */
enum start launch_start(const struct config *config, const struct team *team,
                        const struct agent *agent);

/* launch_check() for one agent. */
int launch_check_agent(const struct config *config, const struct team *team,
                       const struct agent *agent, struct err *err);
/* Fails where an agent's preset does not exist (MAS_NOT_FOUND), or its program is not in PATH or a
 * variable that it needs is not set (MAS_FAILED, with what is missing and how to get it). Looks at
 * the environment that the agents would be handed; `wanted` is that of struct launch_env. */
int launch_check(const struct config *config, const struct team *team, const bool *wanted,
                 struct err *err);

/* What the agents that would start now are likely to take, by their presets. Those of start =
 * demand count only where `prompts` says that first messages are handed out and they have one. */
uint64_t launch_memory(const struct config *config, const struct team *team, bool prompts);

struct launch_env {
    const struct config *config;
    const struct team *team;
    const bool *wanted; /* by the place in team->agents: who is to take it; NULL: all */
    bool prompts; /* each agent is also given its first message */
};

/* Writes run/env in the workspace `dir` from this process's environment, locked; ret_fd holds the
 * lock, to be closed once the team stands. */
int launch_write_env(int dir, const struct launch_env *options, int *ret_fd, struct err *err);
/* Removes it; for a team that could not be built. */
void launch_drop_env(int dir);

/* A host's share: waits for the lock, reads, marks agent number `index`. *ret_env is NULL where
 * there is no file: the host starts with the environment it has. *ret_prompts says whether its
 * agent is to be given its prompt now; never twice. MAS_CONFLICT where the team was given up while
 * the host waited. */
int launch_receive_env(int dir, size_t index, char ***ret_env, bool *ret_prompts, struct err *err);

#endif
