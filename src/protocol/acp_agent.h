/*
 * The agent side of the Agent Client Protocol (ACP), version 1, without processes or descriptors.
 * The caller passes in what a client (an editor) writes and sends the bytes that come out;
 * callbacks report what the client wants. The client side is protocol/acp.h, whose types this uses.
 *
 *     struct acp_agent *agent = acp_agent_new(&ops, editor, &self);
 *     ... read, acp_agent_feed(); write acp_agent_out(), acp_agent_sent() ...
 *
 * This file answers initialize and authenticate. It refuses every request before initialize, and
 * requests with missing members or members of a wrong type. The caller answers each other request
 * once, with acp_agent_answer() or acp_agent_refuse(), in any order and at any time. A line longer
 * than ACP_AGENT_LINE_MAX is refused and skipped.
 */
#pragma once

#include "base/json.h"
#include "protocol/acp.h"

enum {
    ACP_AGENT_LINE_MAX = 16 << 20, /* bytes of a message */
    ACP_AGENT_OUT_MAX = 64 << 20, /* unsent bytes for a client that does not read */
    ACP_AGENT_PROMPT_MAX = 4 << 20, /* bytes of a prompt as text */
};

struct acp_agent;

/* Name and version for the answer to initialize. */
struct acp_agent_self {
    const char *name, *title, *version;
};

/* A request. Members that its method does not have are NULL. */
struct editor_request {
    enum acp_call call; /* NEW, LOAD, RESUME, CLOSE, LIST, PROMPT, SET_MODE, SET_OPTION */
    const char *ticket;
    const char *session;
    const char *cwd; /* of NEW, LOAD and RESUME; of LIST only if it names one */
    const char *cursor; /* of LIST */
    const char *mode; /* of SET_MODE */
    const char *option, *value; /* of SET_OPTION; a boolean is "true" or "false" */
    const char *text; /* of PROMPT: its blocks as one text, but for pictures */
    size_t len;
    const struct json *blocks; /* of PROMPT: those of type "image" have "data", a text */
};

struct acp_agent_ops {
    void (*request)(void *arg, const struct editor_request *request);
    /* session/cancel */
    void (*cancel)(void *arg, const char *session);
    /* $/cancel_request: the client no longer waits for this request; answer it all the same. */
    void (*withdrawn)(void *arg, const char *ticket);
    /* The answer to acp_agent_ask_permission() or acp_agent_elicit(): the id of an option, or the
     * action "accept" or "decline"; NULL: nothing was chosen. `answers`: to a form; NULL: none. */
    void (*permitted)(void *arg, int64_t serial, const char *option, const struct json *answers);
    void (*garbage)(void *arg, const char *why, const char *bytes, size_t len); /* may be NULL */
};

/* Creates an agent, which keeps all three pointers; release it with acp_agent_free(). Callbacks may
 * call any function here except acp_agent_feed(). What a callback receives is valid only during the
 * call. */
struct acp_agent *acp_agent_new(const struct acp_agent_ops *ops, void *arg,
                                const struct acp_agent_self *self);
void acp_agent_free(struct acp_agent *agent);

/* Returns the bytes to write to the client; they stay valid until the next call. acp_agent_sent()
 * says how many were written. */
const char *acp_agent_out(const struct acp_agent *agent, size_t *ret_len);
void acp_agent_sent(struct acp_agent *agent, size_t len);
/* Returns true if more than ACP_AGENT_OUT_MAX bytes waited and some were lost. */
bool acp_agent_is_stuck(const struct acp_agent *agent);
/* Passes in bytes of the client and calls the callbacks. */
void acp_agent_feed(struct acp_agent *agent, const char *bytes, size_t len);

/* Answer or refuse a request. `result` is the JSON text of an object; NULL: {}. Both return false
 * if no request with this ticket is open. */
bool acp_agent_answer(struct acp_agent *agent, const char *ticket, const char *result);
bool acp_agent_refuse(struct acp_agent *agent, const char *ticket, int code, const char *message);

/* ---- session/update */

/* Sends a piece of text. `kind` is ACP_USER, ACP_TEXT or ACP_THOUGHT; `message` is its message's
 * id, NULL: none. */
void acp_agent_chunk(struct acp_agent *agent, const char *session, enum acp_update_kind kind,
                     const char *message, const char *text, size_t len);

struct acp_agent_tool {
    /* unknown kinds become "other", unknown states "pending" */
    const char *id, *title, *kind, *status;
    const char *text; /* content; NULL: none */
    size_t len;
    bool known; /* sent before: this changes only members that are neither NULL nor empty */
};
/* Sends a tool call, or with tool->known a change of one. */
void acp_agent_tool(struct acp_agent *agent, const char *session,
                    const struct acp_agent_tool *tool);
/* Sends a plan. `entries` is an array of {content, priority, status}. */
void acp_agent_plan(struct acp_agent *agent, const char *session, const struct json *entries);
/* Sends the commands: name, description, and in `kind` the hint for the operand ("": no
 * operand). */
void acp_agent_commands(struct acp_agent *agent, const char *session, const struct word *words,
                        size_t count);
/* Sends the current mode. */
void acp_agent_mode(struct acp_agent *agent, const char *session, const char *mode);
/* Sends the config options, a JSON array as text, as acp_agent_put_options() writes it. */
void acp_agent_options(struct acp_agent *agent, const char *session, const char *options);
/* Send the title, and the usage: tokens, and the cost if it is known. */
void acp_agent_title(struct acp_agent *agent, const char *session, const char *title);
void acp_agent_usage(struct acp_agent *agent, const char *session, int64_t used, int64_t size,
                     const struct money *cost);

/* ---- session/request_permission */

/* Asks for a permission and returns the serial for ops->permitted. The options have id, name and
 * kind; an unknown kind becomes allow_once. */
int64_t acp_agent_ask_permission(struct acp_agent *agent, const char *session,
                                 const struct acp_agent_tool *tool, const struct word *options,
                                 size_t count);
/* A form that a person fills in, or an address that a person opens. */
struct acp_agent_elicitation {
    const char *message;
    const char *tool; /* id of the tool call that the client knows; NULL: none */
    const struct json *form; /* its JSON schema; NULL: an address */
    const char *url, *id; /* of an address */
};
/* Returns true if the client has declared that it asks a person for this. */
bool acp_agent_elicits(const struct acp_agent *agent,
                       const struct acp_agent_elicitation *elicitation);
/* Sends elicitation/create and returns the serial for ops->permitted. */
int64_t acp_agent_elicit(struct acp_agent *agent, const char *session,
                         const struct acp_agent_elicitation *elicitation);
/* Sends elicitation/complete, if the client has declared that it opens addresses. */
void acp_agent_elicited(struct acp_agent *agent, const char *id);
/* The request was decided elsewhere: tells the client and ignores its answer. */
void acp_agent_withdraw(struct acp_agent *agent, int64_t serial);

/* ---- parts of answers */

/* Writes the member "modes" of an answer from an array of {id, name}; nothing if it is empty. */
void acp_agent_put_modes(struct json_out *out, const char *mode, const struct json *modes);
/* Writes an array of config options under `key`, from an array of {id, name, category, type, value,
 * values: [{value, name}]}. One of the type "boolean" stays one if the client has declared that it
 * takes them; else it is a choice. */
void acp_agent_put_options(const struct acp_agent *agent, struct json_out *out, const char *key,
                           const struct json *options);
