/*
 * Watches the hosts of all running agents while a client listens to events: one connection per
 * agent, and a second one for the prompts and answers of an ACP agent; and the log of the code
 * (store/code_log.h), into which commands of mas write.
 */
#pragma once

#include "client/survey.h"
#include "os/loop.h"

enum {
    FOLLOW_MAX = 4096, /* connections */
    FOLLOW_PAUSE_MS = 5,
    FOLLOW_TEXT_MAX = 64 * 1024, /* bytes of a prompt or answer in an event */
    FOLLOW_LIVE_MS = 40, /* pieces of text that come within this time are one event */
    FOLLOW_LIVE_MAX = 16 * 1024, /* bytes after which a piece no longer waits for others */
};

struct follow;

/* What an event is about, for guests. */
struct event_subject {
    const char *session; /* NULL: none */
    const char *agent; /* NULL: the session itself; "": no agent in particular */
};

/* Receives the type of an event, its JSON object, and what it is about. `live` is 0, or the agent
 * whose clients alone get it, see follow_live(). */
typedef void follow_tell(void *arg, const char *type, const struct str *body,
                         const struct event_subject *subject, uint64_t live);
/* Returns true if a client wants the `live` events of this agent. */
typedef bool follow_wants(void *arg, uint64_t live);

/* Returns the number that stands for the agent "ID/AGENT". */
uint64_t follow_live(const char *name);
/* Creates the watcher; release it with follow_free(). `root` must outlive it. */
struct follow *follow_make(const struct root *root, follow_tell *tell, follow_wants *wants,
                           void *arg);
void follow_free(struct follow *follow);
/* From now on events of the code are told; those before are not. */
void follow_begin(struct follow *follow);
/* Tells the events of the code that were written since the last call. */
void follow_code(struct follow *follow);
/* Connects to new hosts. With `quiet`, their current state is not reported as an event. */
void follow_update(struct follow *follow, const struct survey *survey, bool quiet);
/* Waits in this turn for all connections. Because they are many, turns that follow each other fast
 * do so every FOLLOW_PAUSE_MS only. Returns when the next turn has to begin at the latest
 * (monotonic ms); -1: when one of them has something. */
int64_t follow_want(struct follow *follow, struct loop *loop);
/* Handles what has come in this turn. */
void follow_turn(struct follow *follow, struct loop *loop);
/* Closes all connections and the log, because no client listens any more. */
void follow_end(struct follow *follow);
