/*
 * The pane of an ACP agent. For src/chat/ only; main.c owns it and runs the loop.
 *
 *     events.c    events of the host
 *     ask.c       requests to the host
 *     keys.c      keys
 *     typed.c     the user's input: prompts, commands, choices
 *     complete.c  completion of commands with TAB
 *     search.c    the search of earlier prompts
 *     waiting.c   prompts that wait
 *     marks.c     marks in the line that stand for pictures and long pastes
 *     past.c      earlier messages, from memory.db
 *     footer.c    the lines below the conversation
 *     form.c      a form among them, and what is typed for its fields
 */
#pragma once

#include "base/json.h"
#include "chat/line.h"
#include "chat/view.h"
#include "client/hosts.h"
#include "model/agent_status.h"
#include "model/picture.h"
#include "protocol/host_event.h"

enum { TOOLS_MAX = 32, PERMISSIONS_MAX = 16, CHAT_MARKS_MAX = 64 };

struct tool {
    char *id, *title, *status;
    struct str body;
};

/* The request that an answer belongs to. */
enum asked {
    ASKED_LISTEN,
    ASKED_PROMPT,
    ASKED_CANCEL,
    ASKED_TAKE_BACK,
    ASKED_PERMIT,
    ASKED_CLEAR,
    ASKED_MODE,
    ASKED_NEW,
    ASKED_LOGIN,
    ASKED_CAN, /* what the agent can do */
};

/* What a mark in a line stands for. */
struct chat_mark {
    char *name; /* as it stands there */
    char *path; /* of the picture; NULL: it is a paste */
    char *text; /* the paste, or the name of the picture */
};

/* A prompt that waits. */
struct chat_prompt {
    int64_t number;
    char *text; /* with marks, if it was typed here */
    struct pictures pictures; /* without marks there */
    bool is_own; /* of a person */
    bool gone; /* it is being cancelled */
};

struct chat {
    char **answers; /* to the form that is shown: FIELD=VALUE; NULL: none */
    size_t field; /* of the form that the line is for, from 1; 0: none */
    struct host_connection host;
    struct chat_view view;
    struct line *line;
    int dir, run; /* the workspace and its run/ */
    char *session; /* its id */
    const char *agent;
    bool greeted; /* earlier messages are shown */
    /* the current state, as the host reported it */
    enum agent_state state;
    char *note; /* what the agent waits for */
    int64_t since_ms; /* since when it is in this state; epoch */
    char *conversation, *mode;
    struct json *modes, *commands, *options; /* as reported; NULL: not yet */
    int used; /* percent of its context; -1: unknown */
    struct money cost; /* of all its turns */
    struct tool tools[TOOLS_MAX]; /* running ones */
    size_t tool_count;
    struct json *plan; /* NULL: no plan in this turn */
    struct host_permission permissions[PERMISSIONS_MAX];
    size_t permission_count;
    size_t asked_at; /* view.added when the whole question of the first one had been shown */
    char **sent; /* prompts without an answer of the host, in order; NULL: none */
    struct chat_prompt *waiting; /* in their order; NULL: none */
    size_t waiting_count;
    int64_t known; /* the newest message that past.c has shown */
    int64_t partial; /* an unfinished message among those shown, and how much of it is shown */
    size_t partial_len;
    int64_t speaking; /* the message whose pieces are arriving */
    bool woken; /* the host was told to wake the agent */
    bool asked_to_leave; /* Ctrl-C was pressed once on an empty line */
    enum { TAKES_UNTOLD, TAKES_NONE, TAKES_SOME } takes_pictures;
    struct chat_mark marks[CHAT_MARKS_MAX]; /* the oldest first */
    size_t mark_count;
    char *recalled; /* the conversation whose prompts are in the history of the line; NULL: none */
    char *searched; /* what was searched for last; NULL: no search is on */
    size_t chosen; /* among what it has found, from the newest one */
    char *listed; /* the line for which TAB listed commands; NULL: none */
};

/* ---- events.c */
/* Handles an answer or an event of the host. */
void chat_answer(struct chat *chat, enum asked what, const struct json *head);
void chat_event(struct chat *chat, const struct frame *frame);
/* Discards the state of the connection, which is gone. */
void chat_forget(struct chat *chat);
/* Calls chat_forget() and frees the rest of the state. */
void chat_free(struct chat *chat);

/* ---- ask.c */
/* Sends a request to the host; `body` NULL: none. Without a connection it shows an error and
 * returns false. */
bool chat_ask(struct chat *chat, enum asked what, const char *head, const char *body);

/* ---- keys.c */
/* Does what a key asks for; `text` is what line_next() has returned with it. */
void chat_key(struct chat *chat, enum line_event event, const char *text);

/* ---- typed.c */
/* Handle a line with Enter, Ctrl-C, and Ctrl-D, which tells how to leave. */
void chat_submit(struct chat *chat, const char *text);
void chat_cancel(struct chat *chat);
void chat_leave(struct chat *chat);
/* Wakes an agent that sleeps, as soon as somebody types. */
void chat_typing(struct chat *chat);
/* The pane's own commands; the last one has no name. */
struct command {
    const char *name, *operand, *summary;
    void (*run)(struct chat *chat, const char *rest);
};
extern const struct command chat_commands[];

/* ---- complete.c */
/* TAB: completes a command, or lists the possible ones. */
void complete(struct chat *chat);
/* Puts that list into the footer, in at most `rows` rows. Returns false if there is none, because
 * the line has changed since. */
bool complete_list(struct chat *chat, const struct str *line, size_t cursor, size_t rows);

/* ---- search.c */
/* Returns true if the search of earlier prompts, which Ctrl-R begins, has taken the key. */
bool search_key(struct chat *chat, enum line_event event, const char *text);
void search_end(struct chat *chat);
/* Puts what it has found into the footer, in at most `rows` rows. Returns false if none is on. */
bool search_show(struct chat *chat, size_t rows);

/* ---- waiting.c */
/* Adds a prompt that waits, unless it is known; `from` NULL: it is a person's. */
void waiting_add(struct chat *chat, int64_t number, const char *from, const char *text,
                 const struct pictures *pictures);
/* Returns NULL if it does not wait; the result is valid until another one is added or removed. */
struct chat_prompt *waiting_find(struct chat *chat, int64_t number);
void waiting_remove(struct chat *chat, struct chat_prompt *one);
void waiting_forget(struct chat *chat);
/* A prompt, which may wait, was sent as this line. */
void waiting_sent(struct chat *chat, int64_t number, const char *line);
/* Takes the newest one of a person back into the line. Returns false if there is none. */
bool waiting_take(struct chat *chat);
/* Drops the newest one. */
void waiting_drop(struct chat *chat);
size_t waiting_count(const struct chat *chat);
/* Adds a row for each to the footer, in at most `most` rows. */
void waiting_show(struct chat *chat, size_t most);

/* ---- marks.c */
/* Inserts marks into the line for a paste that is nothing but paths of pictures. Returns false if
 * it is not, or if the agent takes none. */
bool marks_paste(struct chat *chat, const char *text);
/* Inserts a mark for a paste of many lines. Returns false if it is short, or cannot be sent. */
bool marks_fold(struct chat *chat, const char *text);
/* Appends marks for pictures that are in the session. */
void marks_of_pictures(struct chat *chat, const struct pictures *pictures, struct str *to);
/* Appends a text with what its marks stand for. Keeps their pictures in the session, and fails if
 * it cannot. */
int marks_take(const struct chat *chat, const char *text, struct str *to, struct pictures *ret,
               struct err *err);
void marks_forget(struct chat *chat);

/* ---- past.c */
enum { PAST_PAGE = 30, PAST_MOST = 1000 };
/* Shows the newest `count` messages of the conversation and remembers them, so that later events do
 * not repeat them. The history of the line gets its prompts. */
void past_show(struct chat *chat, int count);
/* Shows them again, without remembering them. */
void past_show_again(struct chat *chat, int count);

/* ---- form.c: of the permission that is shown, which is a form */
/* Keeps what is typed for a field, FIELD=VALUE, until the form is accepted. Returns what is wrong
 * with it, or NULL. */
const char *form_fill(struct chat *chat, const char *answer);
/* Takes a line for the field that is being filled in, and goes to the next one; an empty line leads
 * to the first one. Returns false if the line is for something else. */
bool form_take(struct chat *chat, const char *text);
/* Ends that. Returns false if no field was being filled in. */
bool form_leave(struct chat *chat);
/* Returns true if what is typed for the field must not be shown. */
bool form_hides(const struct chat *chat);
/* Adds a row for each field to the footer, in at most `most` rows. */
void form_show(struct chat *chat, size_t most);

/* ---- footer.c */
/* Rebuilds the footer in chat->view; view_draw() shows it. */
void footer_update(struct chat *chat);
/* Appends a plan entry: "[x] text". */
void footer_plan_entry(const struct json *entry, struct str *to);
/* Returns true while the footer shows a running time. */
bool footer_ticks(const struct chat *chat);
