/*
 * How an agent is started: its command and its environment.
 *
 * An agent runs in the environment of the `mas new` or `mas start` that started it, not in the one
 * in which the tmux server started. None of its values may appear on a command line, where any user
 * can read it, so a file passes it on: run/env.
 *
 * 1. launch_write_env() creates run/env (600), takes a lock on it and writes the caller's
 *    environment, as [env] of mas.ini filters and extends it.
 * 2. tmux starts `mas host ID AGENT` in each pane, as the pane's own process, without a shell. Each
 *    host opens the file and waits for the lock.
 * 3. When the team is complete, mas releases the lock. Each host in turn reads the file and sets
 *    its mark; the host that sets the last mark removes the file.
 * 4. The host sets the pane's own TERM, TMUX, TMUX_PANE and the MAS_* variables in it, adds the
 *    preset's `env` and enters unit/<agent>/. It keeps this environment for every start of its
 *    agent.
 *
 * If mas cannot build the team, it removes the file before it releases the lock: a host that waited
 * sees that its file has no name any more, and ends. If the file is missing (a user respawned a
 * pane), the host starts with the environment that it has. <agent>.lock and <agent>.sock exist
 * before the host takes its part, so once run/env is gone, every host of the team answers; a client
 * that comes earlier waits for that.
 *
 * First messages (`mas new -c`, -p) are in config.json and are delivered once: the first start
 * writes PROMPTED=yes into .session and `prompts` into run/env, and each host that sets its mark
 * then delivers the message of its agent. A start that fails restores .session, so the next start
 * delivers them.
 *
 *     MASENV3\n  prompts or -  \n  what the machine can hold of walls, or nothing  \n
 *     <count> marks, one byte an agent: '.' or 'x'  \n  KEY=value\0 ...
 *
 * The third line saves each host from trying what `mas start` has just tried, and from looking for
 * what it has just found: wall/probe.h, wall/secrets.h.
 */
#pragma once

#include "model/team/team.h"
#include "store/config.h"
#include "store/limits/session_limits.h"
#include "store/root.h"
#include "wall/probe.h"

enum { ENV_FILE_MAX = 8 << 20 };

/* Returns the command of an agent: its own, or that of its preset, with its model; the user's shell
 * if both are empty. The caller releases *ret_argv with strv_free(); the configuration owns
 * *ret_preset. */
int launch_command(const struct config *config, const struct team *team, const struct agent *agent,
                   const char *shell, char ***ret_argv, const struct preset **ret_preset,
                   struct err *err);

/* Finds the accounts of an agent, its own or those of its preset, in their order; none: its program
 * has the login that it finds. Fails with MAS_NOT_FOUND if mas.ini has not got one of them. */
int launch_accounts(const struct config *config, const struct agent *agent,
                    const struct preset *preset, const struct account *ret[ACCOUNTS_EACH_MAX],
                    size_t *ret_count, struct err *err);

/* Returns true if the agent is a terminal for a person, so that input typed there counts as a
 * person's. The preset decides; if it does not, the user's shell is such a terminal. */
bool launch_is_operator(const struct agent *agent, const struct preset *preset);

/* Returns when an agent starts: as the agent says, otherwise as its preset says. */
enum start launch_start(const struct config *config, const struct team *team,
                        const struct agent *agent);

/* Returns after how many ms an idle agent is put to sleep, as the agent or else its preset says; 0:
 * never. */
int launch_hibernate_ms(const struct agent *agent, const struct preset *preset);

/* Like launch_check(), for one agent. */
int launch_check_agent(const struct config *config, const struct team *team,
                       const struct agent *agent, struct err *err);
/* Fails if the preset of an agent does not exist (MAS_NOT_FOUND), or if its program is not in PATH
 * or a variable that it needs is not set, or if its wall is required and cannot be held
 * (MAS_FAILED; the text says what is missing and how to get it). Checks the environment that the
 * agents would get. `wanted` is the same as in struct launch_env. */
int launch_check(const struct config *config, const struct team *team, const bool *wanted,
                 struct err *err);
/* The same in two steps, with other work between them: the first one only begins to look what the
 * machine can hold, if an agent has a wall. Then *probe is for struct launch_env; the caller
 * releases it, also after a failure. */
int launch_check_begin(const struct config *config, const struct team *team, const bool *wanted,
                       struct wall_probe *probe, struct err *err);
int launch_check_walls(const struct config *config, const struct team *team, const bool *wanted,
                       struct wall_probe *probe, struct err *err);

/* Fails if the wall of an agent is required, but no cgroup can hold its limits here: those that
 * `limits` says, which may be NULL, the template, its preset and mas.ini. Where systemd has to be
 * asked, only the agent's host finds out. `wanted` as above. */
int launch_check_limits(const struct config *config, const struct team *team, const bool *wanted,
                        const struct session_limits *limits, struct err *err);

/* Returns how much memory in bytes the agents that would start now probably need, according to
 * their presets. An agent with start = demand counts only if `prompts` is set and it has a first
 * message. */
uint64_t launch_memory(const struct config *config, const struct team *team, bool prompts);

struct launch_env {
    const struct config *config;
    const struct team *team;
    const bool *wanted; /* who reads the file, by index in team->agents; NULL: all */
    bool prompts; /* also give each agent its first message */
    const struct wall_probe *probe; /* of launch_check_walls(); NULL: each host looks itself */
};

/* Writes run/env in the workspace `dir` from this process's environment and locks it. *ret_fd holds
 * the lock; the caller closes it when the team is built. */
int launch_write_env(int dir, const struct launch_env *options, int *ret_fd, struct err *err);
/* Removes run/env, for a team that could not be built. */
void launch_drop_env(int dir);

struct launch_received {
    char **env; /* NULL: there was no file, and the host uses its own environment */
    bool prompts; /* the agent gets its first message now; that happens at most once */
    struct wall_probe probe; /* empty unless `mas start` has looked */
};

#define LAUNCH_RECEIVED_INIT                                                                       \
    {                                                                                              \
        .probe = WALL_PROBE_INIT                                                                   \
    }

/* Reads a host's copy: waits for the lock, reads, and marks agent number `index`. *ret must be
 * LAUNCH_RECEIVED_INIT and stays so if there is no file; the caller releases it. Fails with
 * MAS_CONFLICT if the team was given up while the host waited. */
int launch_receive_env(int dir, size_t index, struct launch_received *ret, struct err *err);
void launch_received_free(struct launch_received *received);
#define _cleanup_launch_received_ __attribute__((cleanup(launch_received_free)))
