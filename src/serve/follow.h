/*
 * Watches the hosts of all agents that run, one connection each, while somebody listens to events.
 */
#ifndef MAS_SERVE_FOLLOW_H
#define MAS_SERVE_FOLLOW_H

#include "base/str.h"
#include "client/survey.h"

#include <stdbool.h>

enum {
    FOLLOW_MAX = 4096, /* hosts */
    FOLLOW_TEXT_MAX = 64 * 1024, /* bytes of what was said that an event holds */
};

struct follow;

/* What has happened: the type of an event, and its JSON object. */
typedef void follow_tell(void *arg, const char *type, const struct str *body);

/* `epoll` gets their sockets. */
struct follow *follow_make(const struct root *root, int epoll, follow_tell *tell, void *arg);
void follow_free(struct follow *follow);
/* Finds hosts that are new. `quiet`: the state they are in is no news. */
void follow_update(struct follow *follow, const struct survey *survey, bool quiet);
/* What epoll said is ready. */
void follow_turn(struct follow *follow, void *ready);
/* Nobody listens any more. */
void follow_end(struct follow *follow);

#endif
