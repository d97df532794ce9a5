/*
 * An agent that is a program on a terminal, in its host; for src/host/terminal/ and request.c only.
 *
 *     backend.c   the table of functions: the life of the agent's terminal, its state
 *     relay.c     the bytes between the pane and the agent's terminal
 *     delivery.c  messages that wait to be typed; stored.c: those on disk
 *     line.c      what a person has typed on the line; early.c: before there is one
 *     send.c      the request `send`
 *     press.c     keys that mas presses, one after the other
 *     tty.h       the pseudo-terminal
 *     teller.h    what a program tells of itself
 *
 * What the agent prints goes to the pane, to its log and to the watcher, which derives the state
 * from it. Keys go from the pane to the agent, except while a message is typed.
 *
 * The relay changes no byte between the pane and the pseudo-terminal.
 *
 * A message that can be typed at once is never on disk. One that has to wait is written to
 * memory.db before `send` is answered (delivery_keep()), marked with fsync before it is typed, and
 * removed after its Enter. The next host reads the waiting messages. A marked one may have arrived,
 * so that host reports it and does not type it again.
 */
#pragma once

#include "host/state.h"
#include "host/terminal/draft.h"
#include "host/terminal/tty.h"
#include "host/watcher.h"
#include "memory/store.h"
#include "os/loop.h"

enum { TYPED_CLEAR = -1 }; /* in place of a prompt: the line that clears the program's context */

struct prompt;

/* A message that waits to be typed. */
struct message {
    char *text;
    size_t len;
    char *data; /* its pictures (model/picture.h); NULL: none */
    bool enter;
    bool note; /* mas has written it */
    bool answers; /* a person sent it while the agent was waiting for an answer */
    char from[TEAM_WORD_MAX + 1]; /* "-": a person */
    int64_t number; /* on disk; 0: it is not there */
    int64_t prompt; /* of the talk, which keeps it on disk; or TYPED_CLEAR; 0: a message */
    bool cut_off; /* the disk says that a previous host began to type it */
};

/* What happens to the first message of the queue. */
enum delivery_phase {
    DELIVERY_NONE,
    DELIVERY_TEXT, /* its text is written, or one of its pictures */
    DELIVERY_PICTURE, /* the agent reads the picture */
    DELIVERY_SETTLE, /* the agent reads the text, so that Enter arrives by itself */
    DELIVERY_ENTER,
};

struct delivery {
    struct store *store; /* NULL until a message has to wait */
    struct message *queue;
    size_t count, bytes;
    enum delivery_phase phase;
    size_t pictures; /* of the first message, that are typed already */
    bool reads; /* what is typed now is a picture, which the program reads then */
    struct str out; /* the first message, or its next picture, in the form in which it is typed */
    size_t sent; /* bytes of it that are written */
    int64_t settle_from, settle_until;
    bool works; /* the program was at work when that was begun, and prints without it */
    int64_t shown; /* when the program was first seen to show the text; 0: not yet */
    int64_t progress; /* when the terminal last took bytes */
    bool blocked; /* the terminal takes nothing now */
    bool held; /* the first message waits for the line */
};

/* What a person types at an agent that tells while it sleeps or wakes: nothing of it must answer
 * what the program asks at its start. */
struct early {
    bool on; /* it wakes, and is not ready yet */
    struct vt vt;
    int64_t fed; /* when the last byte came */
    struct str text; /* for the line */
};

/* Keys that mas presses. */
struct key_presses {
    struct str names; /* of those that are left: model/key_names.h */
    int64_t due; /* when the next one may be pressed */
    int64_t at; /* when the last one was; 0: never */
};

struct terminal {
    struct tty tty;
    struct watcher watcher;
    struct draft draft;
    size_t draft_screens; /* watcher.screens when the draft was typed */
    size_t gives_back; /* Ctrl-U, for a prompt that may stand on the line: line_may_have() */
    struct str aside; /* what a person had typed, taken off the line for a message */
    struct early early; /* what was typed before it was ready */
    struct delivery delivery;
    struct key_presses press;
    struct teller *teller; /* of a program that tells what it does (teller.h); NULL */
};

/* ---- relay.c */
/* Copies what the agent has printed by now to the pane, the log and the watcher. Returns false if
 * the pane has no room for the rest. */
bool relay_drain(struct host *host);
void relay_want(const struct host *host, struct loop *loop, int64_t now);
void relay_serve(struct host *host, struct loop *loop);

/* ---- delivery.c */
enum { DELIVERY_COUNT_MAX = 256, DELIVERY_BYTES_MAX = 16 << 20 };
/* Appends a message, which the caller has checked. Returns false if the queue is full. */
bool delivery_add(struct host *host, const struct store_input *input);
/* Puts a message back in front of those that wait, and keeps it. */
void delivery_put_back(struct host *host, const struct prompt *prompt);
/* Returns why a message cannot be typed at the terminal as it is now, or NULL. */
const char *delivery_refusal(const struct host *host, const char *text, size_t len);
/* Types what can be typed. Returns when to continue if the terminal does not become writable, -1:
 * not before something happens. */
int64_t delivery_run(struct host *host, int64_t now);
/* Stops typing, as the agent has ended. The next one gets the message from its beginning. */
void delivery_interrupt(struct host *host);
/* Writes what waits to disk. On failure removes the newest message, unless its typing has begun. */
int delivery_keep(struct host *host, struct err *err);
/* Likewise, but keeps the first message of the team, which nobody sends again. */
void delivery_keep_first(struct host *host);
/* Reads what waited when the previous host ended. Call it once, before any other message than the
 * first one of the team is added. */
void delivery_read(struct host *host);
/* Drops all that waits; `why` goes to the session's log. */
void delivery_fail(struct host *host, const char *why);
/* Removes one that waits, or is being typed. */
void delivery_remove(struct host *host, size_t index);
/* Keeps what waits on disk, as the host ends. */
void delivery_leave(struct host *host);
/* Returns true while keys of the pane have to wait, so that they do not fall into a message. */
bool delivery_holds_keys(const struct host *host, int64_t now);
void delivery_free(struct delivery *delivery);

/* ---- stored.c */
/* Returns the agent that has sent it; NULL: a person. */
const char *message_sender(const struct message *message);
/* Writes what is not on disk yet. */
int stored_keep(struct host *host, struct err *err);
/* Marks the first message on disk as begun or not. */
void stored_mark(struct host *host, bool begun);
/* Returns true if the first message must not be typed, as it could not be marked: a kill would have
 * it typed twice. */
bool stored_is_unmarked(struct host *host);
/* Removes a message from the disk. */
void stored_forget(struct host *host, int64_t number);
/* Writes what could not be written. Returns true if nothing is left. */
bool stored_flush(struct host *host);
/* Closes the database: an idle host keeps none open. */
void stored_close(struct delivery *delivery);
/* Shows words of mas in the pane, and keeps them in the logs and the history. `from`: the agent for
 * which mas acts; NULL: a person. */
void terminal_show(struct host *host, const char *text, size_t len, const char *from);
/* Writes what could not be written, if it is time. Returns when to call again. */
int64_t stored_tick(struct host *host, int64_t now);

/* ---- line.c: what a person has typed on the line */
/* Notes what a person types. */
void line_keys(struct host *host, const char *keys, size_t len, int64_t now);
/* Returns until when what is typed with its Enter waits for the line, in the same way. */
int64_t line_held(const struct host *host, int64_t now);
/* Returns until when the first message waits for the line; 0: it does not, INT64_MAX: until the
 * line is empty. */
int64_t line_held_until(struct host *host, int64_t now);
/* Returns why it waits, for the line or for a budget; NULL: it does not. The caller frees it. */
char *line_held_why(struct host *host);
/* Appends the keys that take the text of a person off the line, if Enter follows the first message.
 */
void line_put_aside(struct host *host, struct str *to);
/* This text may stand on the line, and is taken off it before the next message. */
void line_may_have(struct host *host, const char *text);
/* The turn is stopped, and its prompt may stand on the line again. */
void line_comes_back(struct host *host);
/* Types that text again, on an empty line of an agent that rests. */
void line_give_back(struct host *host, int64_t now);
/* Shows it in the pane, as the agent has ended. */
void line_drop_aside(struct host *host);

/* ---- early.c: what a person types at an agent that sleeps or wakes */
/* Keeps text for the line; with its Enter it is a message. Other keys do nothing. */
void early_keys(struct host *host, const char *keys, size_t len, int64_t now);
/* The agent starts. */
void early_begins(struct host *host);
/* Hands over what was typed once the program is ready, or asks something. Returns true if it is:
 * the keys are its own. */
bool early_is_over(struct host *host);
void early_free(struct early *early);

/* ---- press.c */
/* Presses these keys, by their names. */
void press_keys(struct host *host, const char *names);
/* Returns true if none is left to press. */
bool press_is_over(const struct host *host);
/* Presses none of those that are left. */
void press_drop(struct host *host);
/* Presses what is due. Returns when to call again. */
int64_t press_tick(struct host *host, int64_t now);

/* ---- send.c */
/* Answers the request `send`. */
int terminal_send(struct host *host, struct client *client, const struct frame *frame,
                  struct err *err);
