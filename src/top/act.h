/*
 * What a person does to an agent: answer, send, and the commands of mas that take over the terminal
 * for a while. Requests go to the agent's host; the answer comes later, as a message on the screen.
 */
#pragma once

#include "client/hosts.h"
#include "os/loop.h"
#include "os/proc.h"
#include "top/table.h"

enum { ACTS_MAX = 8, ACT_MS = 20000 };

/* Tells how something ended. */
typedef void act_say(void *arg, bool is_error, const char *text);

struct act_request {
    struct host_connection host;
    char *done; /* what to say if it succeeds */
    int64_t until_ms; /* monotonic */
};

struct acts {
    const struct root *root;
    const char *mas; /* path of the program */
    act_say *say;
    void *arg;
    struct act_request requests[ACTS_MAX];
    size_t count;
    bool runs; /* a verb of mas runs: */
    struct proc proc;
    char *done; /* what to say if it succeeds; NULL: its first line */
};

/* Answers a permission: `option` is "allow", "deny" or the id of an option. */
void act_permit(struct acts *acts, const struct top_agent *agent, const char *permission,
                const char *option, const char *name);
/* Sends a text, as a person. */
void act_send(struct acts *acts, const struct top_agent *agent, const char *text);
/* Tells the host of an agent that is done that a person has looked at it. */
void act_see(struct acts *acts, const struct top_agent *agent);
/* Runs a verb of mas with its operands, in the background. `done`, which this takes, is said if it
 * succeeds; NULL: its first line. */
void act_verb(struct acts *acts, char *const *words, char *done);
/* A command of mas that takes over the terminal. */
struct act_command {
    const char *verb;
    bool is_look; /* who runs it sees what the agent has done */
    bool shows; /* it prints something to read: mas top shows it in a pager */
    const char *lines; /* so many, from the end; NULL: all, from the beginning */
};
/* Runs it, and returns when it has ended; `agent` NULL: without an agent. */
void act_run(struct acts *acts, const struct act_command *command, const char *session,
             const char *agent);

/* As in feed.h. */
int64_t acts_want(struct acts *acts, struct loop *loop);
void acts_turn(struct acts *acts, struct loop *loop);
void acts_free(struct acts *acts);
