/*
 * The connection to the host: requests, their answers in order, and events (core/talk.h).
 */
#ifndef MAS_CHAT_LINK_H
#define MAS_CHAT_LINK_H

#include "base/frame.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What an answer is to. */
enum asked {
    ASKED_LISTEN,
    ASKED_PROMPT,
    ASKED_CANCEL,
    ASKED_PERMIT,
    ASKED_CLEAR,
    ASKED_MODE,
    ASKED_NEW
};

enum { LINK_WAITING_MAX = 64 };

struct link {
    int run; /* the session's run/ */
    const char *agent;
    pid_t host; /* this process' parent: once that is another, there is no host */
    int fd; /* -1: none */
    struct str out;
    size_t sent;
    struct frames frames;
    enum asked waiting[LINK_WAITING_MAX]; /* for answers */
    char *bodies[LINK_WAITING_MAX]; /* what was sent with them; NULL */
    size_t waiting_count;
};

/* Connects, or not yet. */
bool link_connect(struct link *link);
/* Forgets the connection and what was asked on it. */
void link_drop(struct link *link);
bool link_has_host(const struct link *link);

/* `head` is the text of an object. false: too much waits for answers. */
bool link_ask(struct link *link, enum asked what, const struct str *head, const char *body);
/* Has the host start the agent, on a connection of its own; nobody waits for the answer. */
void link_restart(const struct link *link);
/* Writes what it takes, reads what has come. false: the connection is gone. */
bool link_write(struct link *link);
bool link_read(struct link *link);
/* 1: *ret is the next frame; 0: none is there; -1: the connection is of no more use. *ret_what and
 * *ret_body (the caller's) tell what an answer is to; *ret_is_event: it is none. */
int link_take(struct link *link, struct frame *ret, bool *ret_is_event, enum asked *ret_what,
              char **ret_body);

#endif
