/* What clients are told. Everything that happens is stored, then told. */
#pragma once

#include "host/talk/talk.h"

/* An event is an object whose first member is "event". event_tell() closes, sends and frees it. */
struct client_event {
    struct str head;
    struct json_out out;
};
void event_open(struct client_event *event, const char *name);
/* Sends an event to the listeners, and to those who wait for the prompt `number` (0: none). */
void event_tell(struct host *host, struct client_event *event, const char *body, size_t len,
                int64_t number);
/* Sends an event to one client. */
void event_tell_one(struct client *client, struct client_event *event, const char *body,
                    size_t len);
/* Sends a piece of a message; `at`: bytes of the message before it. */
void event_tell_text(struct host *host, const char *name, int64_t message, size_t at,
                     const char *text, size_t len);
/* Tells that a prompt waits. */
void event_tell_queued(struct host *host, const struct prompt *prompt);
/* Tells that the turn of a prompt begins, or that the agent has taken it in the middle of one. */
void event_tell_prompt(struct host *host, const struct prompt *prompt, bool steered);
/* Tells the end of a prompt to those who wait for it. */
void event_tell_end(struct host *host, int64_t prompt, const char *stop_reason, int64_t code,
                    const char *error);
/* Writes the member "can" of the answer to `listen`. */
void abilities_put(const struct abilities *can, struct json_out *out);
/* Tells the state, if the clients know another one. */
void event_tell_state(struct host *host, const struct agent_status *status);
/* Writes the id of a message, "<session id>:<number>", into EVENT_ID_MAX bytes. Returns buf. */
const char *event_id(const struct host *host, int64_t number, char *buf);
/* Returns the number in such an id, or of a number alone; 0 if it is neither. */
int64_t event_number(const struct host *host, const char *id);
/* Drops listeners that do not read. Returns when to call again. */
int64_t event_tick_listeners(struct host *host, int64_t now);
/* Returns true while a listener has too much unread. The host does not read from the agent then. */
bool event_has_full_listener(const struct host *host);
