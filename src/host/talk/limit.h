/* What the agent's provider takes now. */
#pragma once

#include "host/talk/talk.h"

/* Reads the prompt that was refused when the previous host ended, after the queue was read. */
void limit_open(struct host *host);
/* Tries again to keep the prompt that was refused. Returns false if that is not possible. */
bool limit_keep_again(struct host *host);
void limit_free(struct agent_limit *limit);
/* Returns the directory of what is known of logins (store/limits/login_limit.h); -1: it cannot be
 * made. */
int limit_dir(struct host *host);
/* Writes a time of today as people read it, or with its date. */
enum { LIMIT_TIME = 32 };
void limit_write_time(int64_t ms, char buf[LIMIT_TIME]);
/* Returns true while the provider, or mas for it, has the next turn wait. Otherwise this agent may
 * be the one that tries first for its login, until limit_gives_up(). */
bool limit_holds(struct host *host);
void limit_gives_up(struct host *host);
/* Tries now, as a person has restarted the agent. */
void limit_skip(struct host *host);
/* Returns true if a prompt waits for the provider. */
bool limit_is_on(const struct talk *talk);
/* A refusal of the provider. */
struct limit_refusal {
    bool is_theirs; /* a person has typed the prompt on the agent's own screen, and mas does not
                       send it again */
    bool overloaded; /* it has too much load; else the user has used too much */
    int64_t until_ms; /* when it takes prompts again, ms since 1970; 0: it does not say */
    const char *why;
};
/* Keeps the prompt of the turn, which is sent again. Put it back in front of the queue, and then
 * tell it with the second function. */
void limit_refused(struct host *host, const struct limit_refusal *told);
/* The same of a prompt that mas does not put back into the queue: tell it with limit_tell(). */
void limit_refused_there(struct host *host, const struct limit_refusal *told);
void limit_tell(struct host *host, const struct limit_refusal *told);
/* Notes that a turn begins, what the agent says in it, and that it ends in another way. */
void limit_turn_begins(struct host *host);
void limit_said(struct host *host, const char *text, size_t len);
void limit_turn_ended(struct host *host, bool succeeded);
void limit_want(const struct host *host, struct loop *loop);
void limit_serve(struct host *host, struct loop *loop);
/* Returns when to look again. */
int64_t limit_tick(struct host *host, int64_t now);
