/*
 * Watches the hosts of all agents that run, one connection each, while somebody listens to events.
 */
#ifndef MAS_SERVE_FOLLOW_H
#define MAS_SERVE_FOLLOW_H

#include "core/survey.h"

#include <stdbool.h>

enum { FOLLOW_MAX = 4096 }; /* hosts */

struct events;
struct follow;

/* `epoll` gets their sockets. */
struct follow *follow_make(struct events *events, const struct root *root, int epoll);
void follow_free(struct follow *follow);
/* Finds hosts that are new. `quiet`: the state they are in is no news. */
void follow_update(struct follow *follow, const struct survey *survey, bool quiet);
/* What epoll said is ready. */
void follow_turn(struct follow *follow, void *ready);
/* Nobody listens any more. */
void follow_end(struct follow *follow);

#endif
