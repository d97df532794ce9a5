/*
 * A roster call: agents of one session or of many, and what their hosts say.
 *
 *     _cleanup_roster_ struct roster roster = ROSTER_INIT;
 *     struct roster_team team;
 *     if (roster_open(root, id, &team, err) == -1 || roster_add(&roster, &team, NULL, err) == -1)
 *         return -1;
 *     roster_ask(&roster, "{\"do\":\"status\"}", NULL, 0);
 *     ... other work ...
 *     roster_finish(&roster, HOSTS_ANSWER_MS);
 */
#ifndef MAS_CLIENT_ROSTER_H
#define MAS_CLIENT_ROSTER_H

#include "base/err.h"
#include "base/id.h"
#include "client/hosts.h"
#include "model/agent_status.h"
#include "model/team.h"
#include "store/root.h"
#include "store/session.h"

#include <stdbool.h>
#include <stddef.h>

struct roster_team {
    const struct root *root;
    char id[ID_TEXT];
    int dir; /* the workspace */
    int run; /* its run/; -1: it has none, so nobody listens */
    struct team team;
    size_t first, count; /* which agents of the roster are its own */
};

struct roster_agent {
    const struct agent *agent;
    size_t team; /* index into roster.teams */
    bool told; /* its host said what it does, here: */
    struct agent_status status;
};

struct roster {
    struct roster_team *teams;
    size_t team_count;
    struct roster_agent *agents;
    struct host_call *calls; /* one an agent, in the same order */
    size_t count;
    size_t asked; /* how many have been asked */
    const char *from; /* the agent for whom roster_add() reads targets; NULL: a person. Not owned */
};

#define ROSTER_INIT                                                                                \
    {                                                                                              \
        .teams = NULL                                                                              \
    }

/* Opens a session's workspace and reads its team. Released by roster_add() or with roster_close().
 */
int roster_open(const struct root *root, const char *id, struct roster_team *ret, struct err *err);
void roster_close(struct roster_team *team);
/* What a person calls it, see store/session.h. */
struct session_label roster_label(const struct roster_team *team);

/* Adds the agents that `target` means (NULL: all); takes *team over, also on failure. */
int roster_add(struct roster *roster, struct roster_team *team, const char *target,
               struct err *err);
/* Adds a team without any of its agents; takes *team over. */
void roster_add_none(struct roster *roster, struct roster_team *team);
void roster_free(struct roster *roster);
#define _cleanup_roster_ __attribute__((cleanup(roster_free)))

/* Sends a request, the text of an object, to those that were added since the last time. */
void roster_ask(struct roster *roster, const char *head, const char *body, size_t body_len);
/* The same to those whose host was absent. */
void roster_ask_again(struct roster *roster, const char *head, const char *body, size_t body_len);

/* Keeps the status in a reply: a hosts_reply() for one of roster->calls, arg is the roster. */
bool roster_keep_status(struct host_call *call, const struct frame *reply, void *arg);
/* Takes a status from each that was asked. */
void roster_finish(struct roster *roster, int timeout_ms);

/* Why agent `i` has not told what it does: "no host", "no answer", ... */
const char *roster_problem(const struct roster *roster, size_t i);

/* Why an agent did not do as it was asked: MAS_OK where it was answered without an error in
 * call->err, else "cannot <what> agent '<id>': <why>". */
int roster_failure(const struct roster *roster, size_t i, const char *what, struct err *err);

/* true if agent `i` has a host that listens, or if that cannot be told. */
bool roster_listens(const struct roster *roster, size_t i);

/* Asks those whose host was absent once more, and waits before that, timeout_ms at most, for hosts
 * of teams that are just coming up. */
void roster_ask_coming(struct roster *roster, const char *head, int timeout_ms);

struct roster_request {
    const char *what; /* the verb of the error */
    const char *head, *body;
    size_t body_len;
};
/* Asks all of a roster of one session. Where hosts are absent it fails (MAS_CONFLICT) if the
 * session does not run, else waits for those that are just coming up and asks them again; those
 * that will not come become HOST_ENDED. */
int roster_ask_live(const struct root *root, struct roster *roster,
                    const struct roster_request *request, struct err *err);

#endif
