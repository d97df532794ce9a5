/* What the agent asks a person, and waits for: permissions, and what it wants to know. */
#pragma once

#include "host/talk/talk.h"

/* the kind of the question whether a directory is to be trusted */
#define PERMISSION_TRUST "trust"
#define PLAN_CLEAR_OPTION "clear" /* the id of the option that mas adds to a plan */
/* Stores a request whose members are set, and keeps it until it is answered. Returns its index. */
size_t permission_add(struct host *host, const struct asked_permission *permission);
/* Tells it; the second function stores it anew before, as more was told of it. */
void permission_tell(struct host *host, const struct asked_permission *permission);
void permission_tell_again(struct host *host, struct asked_permission *permission);
/* Returns the option of this kind, else of the other one; NULL: there is none. */
const struct word *permission_option(const struct asked_permission *permission, const char *kind,
                                     const char *else_kind);
/* Returns true for an option that says yes, and for one that clears the context. */
bool permission_allows(const struct word *option);
bool permission_option_clears(const struct word *option);
/* Removes a permission that the agent has withdrawn. */
void permission_withdraw(struct host *host, const char *ticket);
/* Cancels all permissions that are asked, or those of a subagent's session, NULL: of the agent
 * itself. */
void permission_drop_all(struct host *host);
void permission_drop_of(struct host *host, const char *subagent);
/* Writes what is asked. */
void permission_put(const struct host *host, const struct asked_permission *permission,
                    struct json_out *out);
/* Sends those that are asked to a client that came later. */
void permission_tell_open(const struct host *host, struct client *client);
struct verdict {
    int64_t number; /* of the permission; 0: the oldest */
    const char *as; /* "allow", "deny": what the answer is meant as; NULL: either */
    const char *wanted; /* an option's id, or one of the words of protocol/host.h */
    const char *by;
    const struct json *answers; /* to a form; NULL: none */
    const char *mode; /* for a plan that is carried out in a new query; NULL: the mode that asks
                         least */
};
/* Filled by permission_answer(); free it with permission_free_answered(). */
struct answered_permission {
    char *title, *details, *option;
    char *mode; /* that the plan is carried out in; NULL: no plan, or none is known */
    int64_t number;
};
int permission_answer(struct host *host, const struct verdict *verdict,
                      struct answered_permission *ret, struct err *err);
void permission_free_answered(struct answered_permission *answered);
/* Stores and tells what was decided, and removes the permission; the caller answers the agent
 * before. `option` NULL: nothing was. `by`: an agent, "-" a person, "policy", "cancelled". */
void permission_close(struct host *host, size_t index, const struct word *option, const char *by);
