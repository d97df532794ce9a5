/*
 * What happens, told to those who listen (GET /events, server-sent events).
 *
 * Events are kept in a ring of EVENTS_MAX, so that a listener who comes back with Last-Event-ID
 * gets what it missed. An id is a number that grows: milliseconds since 1970, times 1000, and a
 * count. While somebody listens, and for a minute after that, surveys are compared, and each
 * agent's host is watched; inotify on sessions/ says when to look at once. Listeners share the
 * ring: each has only a place in it.
 *
 *     session.created session.started session.stopped session.crashed session.error   the session
 *     session.removed     sessionId
 *     agent.state         sessionId, agent, state, and what `mas status --json` has
 *     message             sessionId, agent, role (user: it is asked, agent: it has answered), text
 *     permission          sessionId, agent, permission, title, options: it waits for an answer
 *     reset               what happened before is not known any more: read the list anew
 */
#ifndef MAS_SERVE_EVENTS_H
#define MAS_SERVE_EVENTS_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EVENTS_MAX = 10000,
    EVENTS_BYTES = 4 << 20, /* of all that is kept */
    EVENTS_BEHIND = 5000, /* a listener that has not read so many is dropped */
    EVENTS_BEAT_MS = 15000,
    EVENTS_LINGER_MS = 60000,
};

struct server;
struct listing;
struct events;

struct event_cursor {
    uint64_t next; /* number of the event that comes next */
    size_t offset; /* bytes of it that are read */
    bool greeted, missed;
    uint64_t id; /* that its greeting has: all before it is known to who listens */
};

/* Streams have something to read; with `beat` they are to say something in any case. */
typedef void events_wake(struct server *server, bool beat);

int events_make(struct server *server, events_wake *wake, struct events **ret, struct err *err);
void events_free(struct events *events);

/* Readable when events_turn() has something to do. */
int events_fd(const struct events *events);
void events_turn(struct events *events);
/* Often, at least once a second. */
void events_tick(struct events *events);

/* Tells one; `body` is its JSON object. */
void events_add(struct events *events, const char *type, const struct str *body);
/* The list's `changed`: arg is the events. */
void events_compare(void *arg, const struct listing *was, const struct listing *now);

/* A listener comes and goes. last: the Last-Event-ID it sent, or NULL. */
void events_enter(struct events *events, const char *last, struct event_cursor *ret);
void events_leave(struct events *events);
/* Bytes for it; 0: nothing new. */
size_t events_read(const struct events *events, struct event_cursor *cursor, char *buf, size_t max);
bool events_is_behind(const struct events *events, const struct event_cursor *cursor);

#endif
