/*
 * The events that clients follow with GET /events (server-sent events).
 *
 * The server keeps the last EVENTS_MAX events in a ring, so that a client that reconnects with
 * Last-Event-ID receives those that it missed. An id is a growing number: milliseconds since 1970,
 * times 1000, plus a count. While a client listens, and for EVENTS_LINGER_MS afterwards, the server
 * compares surveys and watches every agent's host; a watch of sessions/ triggers an early survey.
 * Clients share the ring; each has only a cursor.
 *
 *     session.created session.started session.stopped session.crashed session.error   the session
 *     session.removed     sessionId
 *     agent.state         sessionId, agent, state, and the members of `mas status --json`
 *     agent.settings      sessionId, agent: its mode or options have changed
 *     message             sessionId, agent, role (user: a prompt, agent: its answer), text
 *     permission          sessionId, agent, permission, title, options: it waits for an answer
 *     merged conflict landed   sessionId, agent, branch, commit, commits, files
 *     operation           an operation has ended, see task_put()
 *     live                sessionId, agent, message, role, at, text: a piece of what an ACP agent
 *                         says; only for clients that asked for this agent's
 *     reset               earlier events are lost: read the list again
 */
#pragma once

#include "serve/follow.h"
#include "store/token.h"

enum {
    EVENTS_MAX = 10000,
    EVENTS_BYTES = 4 << 20, /* of all events in the ring */
    EVENTS_BEHIND = 5000, /* a client this many events behind is disconnected */
    EVENTS_BEAT_MS = 15000,
    EVENTS_LINGER_MS = 60000,
    EVENTS_LIVE_MAX = 16, /* agents whose `live` events one client gets */
};

struct server;
struct listing;
struct events;

struct event_cursor {
    uint64_t next; /* number of the next event */
    size_t offset; /* bytes of it that were read */
    bool greeted, missed;
    uint64_t id; /* in its greeting: the client knows everything up to this event */
    uint64_t live[EVENTS_LIVE_MAX]; /* whose `live` events it gets, see follow_live() */
    size_t live_count;
    const struct guest *guest; /* it gets only what this one may see; not owned */
};

/* Called when streams have something to read; with `beat` each must send something in any case. */
typedef void events_wake(struct server *server, bool beat);

/* Creates the events; release them with events_free(). `server` must outlive them. */
struct events *events_make(struct server *server, events_wake *wake);
void events_free(struct events *events);

/* Waits in this turn for changes of sessions and for the hosts that are followed. Returns when the
 * next turn has to begin, see follow_want(). */
int64_t events_want(struct events *events, struct loop *loop);
/* Handles what has come in this turn. */
void events_turn(struct events *events, struct loop *loop);
/* Call this at least once a second. It starts surveys and heartbeats. */
void events_tick(struct events *events);

/* Adds an event; `body` is a JSON object in one line. Does nothing while no client wants events. */
void events_add(struct events *events, const char *type, const struct str *body,
                const struct event_subject *subject);
/* The `changed` callback of the list; `arg` is the events. */
void events_compare(void *arg, const struct listing *was, const struct listing *now);

/* Adds and removes a client. `last` is its Last-Event-ID, or NULL; `live` names the agents, at most
 * EVENTS_LIVE_MAX, whose `live` events it gets, or is NULL. `guest`, which the client keeps, is who
 * it is. *ret is its cursor. */
void events_enter(struct events *events, const char *last, char *const *live,
                  const struct guest *guest, struct event_cursor *ret);
void events_leave(struct events *events, const struct event_cursor *cursor);
/* Copies at most `max` bytes for a client into `buf`, moves its cursor and returns their number; 0:
 * nothing new. */
size_t events_read(const struct events *events, struct event_cursor *cursor, char *buf, size_t max);
/* Returns true if the client must be disconnected because it reads too slowly. */
bool events_is_behind(const struct events *events, const struct event_cursor *cursor);
