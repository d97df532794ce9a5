/*
 * The pane of an ACP agent. For src/chat/ only; main.c owns it and runs the loop.
 *
 *     events.c    what the host tells
 *     typed.c     what the person types: prompts, commands, choices
 *     complete.c  what TAB makes of the beginning of a command
 *     past.c      what was said before, from memory.db
 *     footer.c    what stands below the conversation
 */
#ifndef MAS_CHAT_CHAT_H
#define MAS_CHAT_CHAT_H

#include "base/json.h"
#include "chat/line.h"
#include "chat/view.h"
#include "client/host_link.h"
#include "model/agent_status.h"

#include <stdbool.h>
#include <stdint.h>

enum { TOOLS_MAX = 32, CHOICES_MAX = 12, PERMISSIONS_MAX = 16, UNBEGUN_MAX = 256 };

struct tool {
    char *id, *title, *status;
    int64_t message;
    struct str body;
};

struct choice {
    char *id, *name;
};

struct permission {
    char *id, *title;
    struct choice choices[CHOICES_MAX];
    size_t count;
};

/* What an answer is to. */
enum asked {
    ASKED_LISTEN,
    ASKED_PROMPT,
    ASKED_CANCEL,
    ASKED_PERMIT,
    ASKED_CLEAR,
    ASKED_MODE,
    ASKED_NEW,
};

struct chat {
    struct host_link link;
    struct view view;
    struct line *line;
    int dir, run; /* the workspace, its run/ */
    char *session; /* its id */
    const char *agent;
    bool greeted; /* what was said before is shown */
    /* what is so now, as the host told */
    enum agent_state state;
    char *note; /* what it waits for */
    int64_t since_ms; /* epoch */
    char *conversation, *mode;
    struct json *modes, *commands; /* as they were told; NULL: not yet */
    int used; /* percent of its context; -1: not known */
    struct tool tools[TOOLS_MAX]; /* that run */
    size_t tool_count;
    struct json *plan; /* NULL: none in this turn */
    struct permission permissions[PERMISSIONS_MAX];
    size_t permission_count;
    char **sent; /* prompts that the host has not answered, in order; NULL: none */
    char **queued; /* prompts that wait for their turn, as far as this pane knows; NULL: none */
    int64_t known; /* the newest message that past.c has shown */
    int64_t unbegun[UNBEGUN_MAX]; /* prompts before it that waited then, and were not shown */
    size_t unbegun_count;
    int64_t partial; /* one of these that is not finished, and how much of it is shown */
    size_t partial_len;
    int64_t speaking; /* the message whose pieces come now */
    bool asked_to_leave; /* Ctrl-C at an empty line, once */
    char *listed; /* the line whose commands TAB has listed; NULL: none */
};

/* ---- events.c */
void chat_answer(struct chat *chat, enum asked what, const struct json *head);
void chat_event(struct chat *chat, const struct frame *event);
/* Forgets what was so: the connection is gone. */
void chat_forget(struct chat *chat);
void chat_free(struct chat *chat);

/* ---- typed.c */
/* Asks the host; says so where there is no connection. */
bool chat_ask(struct chat *chat, enum asked what, const struct str *head, const char *body);
void chat_submit(struct chat *chat, const char *text);
void chat_cancel(struct chat *chat);
void chat_leave(struct chat *chat);
/* The pane's own commands, the last one without a name. */
struct command {
    const char *name, *operand, *summary;
    void (*run)(struct chat *chat, const char *rest);
};
extern const struct command chat_commands[];

/* ---- complete.c */
/* TAB: completes a command, or lists those that it may become. */
void complete(struct chat *chat);
/* Puts that list into the foot, in at most so many rows; false: there is none, because the line is
 * another one by now. */
bool complete_list(struct chat *chat, const struct str *line, size_t cursor, size_t rows);

/* ---- past.c */
enum { PAST_PAGE = 30, PAST_MOST = 1000 };
/* Shows the newest messages of the conversation; what is known of them is for the events that
 * follow. */
void past_show(struct chat *chat, int count);
/* Shows them once more: nothing follows from that. */
void past_show_again(struct chat *chat, int count);

/* ---- footer.c */
void footer_update(struct chat *chat);
/* "[x] what" */
void footer_plan_entry(const struct json *entry, struct str *to);
/* true while it changes with the time alone. */
bool footer_ticks(const struct chat *chat);

#endif
