/*
 * Decodes the events of a host (see the table in protocol/host.h).
 */
#pragma once

#include "base/frame.h"
#include "base/json.h"
#include "model/money.h"
#include "protocol/word.h"

enum host_event_type {
    HOST_EVENT_QUEUED,
    HOST_EVENT_PROMPT,
    HOST_EVENT_TEXT,
    HOST_EVENT_THOUGHT,
    HOST_EVENT_USER,
    HOST_EVENT_TOOL,
    HOST_EVENT_PLAN,
    HOST_EVENT_PERMISSION,
    HOST_EVENT_PERMITTED,
    HOST_EVENT_ELICITED,
    HOST_EVENT_MODE,
    HOST_EVENT_COMMANDS,
    HOST_EVENT_OPTIONS,
    HOST_EVENT_USAGE,
    HOST_EVENT_TITLE,
    HOST_EVENT_STATE,
    HOST_EVENT_QUERY,
    HOST_EVENT_CONTINUITY,
    HOST_EVENT_CONVERSATION,
    HOST_EVENT_NOTE,
    HOST_EVENT_END,
    HOST_EVENT_COUNT, /* any other: an event of a newer host */
};

/* The members of an event, named as in the table. If a member is missing, a text or list is NULL
 * and a number has the value in its comment. All texts and lists belong to the frame. */
struct host_event {
    enum host_event_type type;
    const struct json *head;
    const char *body; /* NULL: none; of a permission that `listen` answers with: its details */
    size_t body_len;
    const char *prompt, *message; /* ids: see host_event_number() */
    const char *from;
    const char *permission, *option, *name, *by;
    const char *elicitation;
    const char *id, *kind, *status;
    const char *title; /* see host_event_title() */
    const char *conversation, *query, *reason;
    const char *outcome, *note;
    const char *mode, *state;
    const char *stop_reason, *error;
    const struct json *entries, *options, *modes, *commands;
    int64_t at; /* missing: -1 */
    int64_t used, size; /* missing: -1 and 0 */
    struct money cost;
    int code; /* an exit code for an error; missing or invalid: MAS_FAILED */
    bool plan; /* it asks to approve a plan */
};

/* Decodes a head and its body. Returns false if it is no event; then ret->type is HOST_EVENT_COUNT.
 * The members are set in any case, because `listen` answers with permissions in the form of their
 * events. */
bool host_event_parse(const struct json *head, const char *body, size_t body_len,
                      struct host_event *ret);

/* An open permission: what its event says, for as long as it is open. */
struct host_permission {
    char *id;
    char *tool, *title, *kind; /* of the tool call; NULL: missing */
    char *body; /* NULL: none */
    bool plan;
    struct json *form; /* the JSON schema of a form that a person fills in; NULL: none */
    char *on_screen; /* why it has no options: only the agent's own screen can answer; NULL: else */
    char *url, *elicitation; /* an address that a person opens, and its id; NULL: none */
    struct word_list options; /* id, name (if missing, the id) and kind */
};
/* Copies the members of a permission's event. Release the result with host_permission_free(). */
struct host_permission host_permission_copy(const struct host_event *event);
void host_permission_free(struct host_permission *permission);
/* Returns true if both ask the same: the agent may tell more of it while it is open. */
bool host_permission_asks_same(const struct host_permission *a, const struct host_permission *b);

/* Returns the title of a tool call, otherwise its kind, otherwise "a tool". */
const char *host_event_title(const struct host_event *event);
const char *host_permission_title(const struct host_permission *permission);

/* Returns the number in the id of a prompt or message, "SESSION:NUMBER"; 0 if `id` is not one. */
int64_t host_event_number(const char *id);
