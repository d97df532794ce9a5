/*
 * A roll call: agents of one session or of many, and what their hosts say.
 *
 *     _cleanup_roll_ struct roll roll = ROLL_INIT;
 *     struct roll_team team;
 *     if (roll_open(root, id, &team, err) == -1 || roll_add(&roll, &team, NULL, err) == -1)
 *         return -1;
 *     roll_ask(&roll, "{\"do\":\"status\"}", NULL, 0);
 *     ... other work ...
 *     roll_finish(&roll, HOSTS_ANSWER_MS);
 */
#ifndef MAS_CLIENT_ROLL_H
#define MAS_CLIENT_ROLL_H

#include "base/err.h"
#include "base/id.h"
#include "client/hosts.h"
#include "model/agent_status.h"
#include "model/team.h"
#include "store/root.h"
#include "store/session.h"

#include <stdbool.h>
#include <stddef.h>

struct roll_team {
    const struct root *root;
    char id[ID_TEXT];
    int dir; /* the workspace */
    int run; /* its run/; -1: it has none, so nobody listens */
    struct team team;
    size_t first, count; /* which agents of the roll are its own */
};

struct roll_agent {
    const struct agent *agent;
    size_t team; /* index into roll.teams */
    bool told; /* its host said what it does, here: */
    struct agent_status status;
};

struct roll {
    struct roll_team *teams;
    size_t team_count;
    struct roll_agent *agents;
    struct host_call *calls; /* one an agent, in the same order */
    size_t count;
    size_t asked; /* how many have been asked */
    const char *from; /* the agent for whom roll_add() reads targets; NULL: a person. Not owned */
};

#define ROLL_INIT                                                                                  \
    {                                                                                              \
        .teams = NULL                                                                              \
    }

/* Opens a session's workspace and reads its team. Released by roll_add() or with roll_close(). */
int roll_open(const struct root *root, const char *id, struct roll_team *ret, struct err *err);
void roll_close(struct roll_team *team);
/* What a person calls it, see store/session.h. */
struct session_label roll_label(const struct roll_team *team);

/* Adds the agents that `target` means (NULL: all); takes *team over, also on failure. */
int roll_add(struct roll *roll, struct roll_team *team, const char *target, struct err *err);
/* Adds a team without any of its agents; takes *team over. */
void roll_add_none(struct roll *roll, struct roll_team *team);
void roll_free(struct roll *roll);
#define _cleanup_roll_ __attribute__((cleanup(roll_free)))

/* Sends a request, the text of an object, to those that were added since the last time. */
void roll_ask(struct roll *roll, const char *head, const char *body, size_t body_len);
/* The same to those whose host was absent. */
void roll_ask_again(struct roll *roll, const char *head, const char *body, size_t body_len);

/* Keeps the status in a reply: a hosts_reply() for one of roll->calls, arg is the roll. */
bool roll_keep_status(struct host_call *call, const struct frame *reply, void *arg);
/* Takes a status from each that was asked. */
void roll_finish(struct roll *roll, int timeout_ms);

/* Why agent `i` has not told what it does: "no host", "no answer", ... */
const char *roll_problem(const struct roll *roll, size_t i);

/* Why an agent did not do as it was asked: MAS_OK where it was answered without an error in
 * call->err, else "cannot <what> agent '<id>': <why>". */
int roll_failure(const struct roll *roll, size_t i, const char *what, struct err *err);

/* true if agent `i` has a host that listens, or if that cannot be told. */
bool roll_listens(const struct roll *roll, size_t i);

/* Asks those whose host was absent once more, and waits before that, timeout_ms at most, for hosts
 * of teams that are just coming up. */
void roll_ask_coming(struct roll *roll, const char *head, int timeout_ms);

struct roll_request {
    const char *what; /* the verb of the error */
    const char *head, *body;
    size_t body_len;
};
/* Asks all of a roll of one session. Where hosts are absent it fails (MAS_CONFLICT) if the session
 * does not run, else waits for those that are just coming up and asks them again; those that will
 * not come become HOST_ENDED. */
int roll_ask_live(const struct root *root, struct roll *roll, const struct roll_request *request,
                  struct err *err);

#endif
