/*
 * Events of a host (the table in protocol/host.h), decoded once for all who follow one.
 */
#ifndef MAS_PROTOCOL_HOST_EVENT_H
#define MAS_PROTOCOL_HOST_EVENT_H

#include "base/frame.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum host_event_type {
    HOST_EVENT_PROMPT,
    HOST_EVENT_TEXT,
    HOST_EVENT_THOUGHT,
    HOST_EVENT_USER,
    HOST_EVENT_TOOL,
    HOST_EVENT_PLAN,
    HOST_EVENT_PERMISSION,
    HOST_EVENT_PERMITTED,
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
    HOST_EVENT_COUNT, /* any other: one of a newer host */
};

/* What an event says, by the names in the table. A text is NULL, a list NULL, a number as noted if
 * the event does not have it. All of it belongs to the frame. */
struct host_event {
    enum host_event_type type;
    const struct json *head;
    const char *body; /* NULL: none */
    size_t body_len;
    const char *prompt, *message; /* ids: see host_event_number() */
    const char *from;
    const char *permission, *option, *name, *by;
    const char *id, *kind, *status;
    const char *title; /* see host_event_title() */
    const char *conversation, *query, *reason;
    const char *outcome, *note;
    const char *mode, *state;
    const char *stop_reason, *error;
    const struct json *entries, *options, *modes, *commands;
    int64_t at; /* -1 */
    int64_t used, size; /* -1, 0 */
    int code; /* an exit code that is a failure; MAS_FAILED */
    bool plan; /* a permission to go on with a plan */
};

/* Decodes a head and its body. False: it is no event, and ret->type is HOST_EVENT_COUNT; the fields
 * are set all the same, because `listen` answers with permissions in the form of their events. */
bool host_event_parse(const struct json *head, const char *body, size_t body_len,
                      struct host_event *ret);

/* What to call a tool call: its title, or its kind, or "a tool". */
const char *host_event_title(const struct host_event *event);

/* The number in the id of a prompt or message, "SESSION:NUMBER"; 0: it is none. */
int64_t host_event_number(const char *id);

#endif
