/*
 * A roster: agents of one or more sessions, and what their hosts report.
 *
 *     _cleanup_roster_ struct roster roster = ROSTER_INIT;
 *     struct roster_team team;
 *     if (roster_open(root, id, &team, err) == -1 || roster_add(&roster, &team, NULL, err) == -1)
 *         return -1;
 *     roster_ask(&roster, "{\"do\":\"status\"}", NULL, 0);
 *     ... other work ...
 *     roster_finish(&roster, HOSTS_ANSWER_MS);
 */
#pragma once

#include "base/id.h"
#include "client/hosts.h"
#include "model/agent_status.h"
#include "model/team/team.h"
#include "store/root.h"
#include "store/session.h"

struct roster_team {
    const struct root *root;
    char id[ID_TEXT];
    int dir; /* the workspace */
    int run; /* its run/; -1: missing, so no host listens */
    struct team team;
    size_t first, count; /* its agents in roster.agents */
};

struct roster_agent {
    const struct agent *agent;
    size_t team; /* index into roster.teams */
    bool told; /* its host reported its status: */
    struct agent_status status;
};

struct roster {
    struct roster_team *teams;
    size_t team_count;
    struct roster_agent *agents;
    struct host_call *calls; /* one per agent, in the same order */
    size_t count;
    size_t asked; /* number of agents that were asked */
    /* the agent for which roster_add() resolves targets; NULL: a person; not owned */
    const char *from;
};

#define ROSTER_INIT                                                                                \
    {                                                                                              \
        .teams = NULL                                                                              \
    }

/* Opens the workspace of session `id` and reads its team. Release *ret with roster_close(), or pass
 * it to roster_add(). Fails with MAS_DAMAGED if the workspace is missing. `root` must outlive
 * it. */
int roster_open(const struct root *root, const char *id, struct roster_team *ret, struct err *err);
void roster_close(struct roster_team *team);
/* Returns the session's name for messages, see store/session.h. */
struct session_label roster_label(const struct roster_team *team);

/* Adds the agents that `target` selects (NULL: all). Takes ownership of *team, even on failure. */
int roster_add(struct roster *roster, struct roster_team *team, const char *target,
               struct err *err);
/* Adds a team without any of its agents. Takes ownership of *team. */
void roster_add_none(struct roster *roster, struct roster_team *team);
/* Closes the teams, ends all calls and frees the roster. */
void roster_free(struct roster *roster);
#define _cleanup_roster_ __attribute__((cleanup(roster_free)))

/* Sends a request to the agents that were added since the last call. `head` is the text of a JSON
 * object. */
void roster_ask(struct roster *roster, const char *head, const char *body, size_t body_len);
/* Sends the request to the agents whose host was absent. */
void roster_ask_again(struct roster *roster, const char *head, const char *body, size_t body_len);

/* A hosts_reply() for a call in roster->calls, with the roster as `arg`: keeps the status in the
 * reply, or the error in call->err. */
bool roster_keep_status(struct host_call *call, const struct frame *reply, void *arg);
/* Waits at most timeout_ms (-1: no limit) for a status from each agent that was asked. */
void roster_finish(struct roster *roster, int timeout_ms);

/* Returns why agent `i` has not reported a status, for example "no host" or "no answer". The text
 * belongs to the roster or is constant. */
const char *roster_problem(const struct roster *roster, size_t i);

/* Returns 0 if agent `i` answered and call->err is unset. Otherwise returns -1 with the error
 * "cannot <what> agent '<id>': <why>"; its code is MAS_FAILED if the host is absent and MAS_TIMEOUT
 * if it did not answer. */
int roster_failure(const struct roster *roster, size_t i, const char *what, struct err *err);

/* Returns true if agent `i` had no host to ask, or one that went away before it answered. */
bool roster_lost_host(const struct roster *roster, size_t i);

/* Returns true if the host of agent `i` listens, or if that cannot be determined. */
bool roster_listens(const struct roster *roster, size_t i);

/* Asks the agents whose host was absent again. If hosts of their teams are still starting, it first
 * waits for them, at most timeout_ms. */
void roster_ask_coming(struct roster *roster, const char *head, int timeout_ms);

struct roster_request {
    const char *what; /* the verb for the error message */
    const char *head, *body;
    size_t body_len;
};
/* Sends a request to all agents of a roster with one session. If hosts are absent, it fails with
 * MAS_CONFLICT if the session does not run. Otherwise it waits for starting hosts and asks them
 * again; calls to hosts that have ended become HOST_ENDED. The caller collects the answers with
 * hosts_finish(). */
int roster_ask_live(const struct root *root, struct roster *roster,
                    const struct roster_request *request, struct err *err);
