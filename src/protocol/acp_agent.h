/*
 * The agent's side of the Agent Client Protocol, version 1, without a process or a descriptor: what
 * a client (an editor) writes goes in, what it is to be sent comes out, and what it wants is told
 * by calls. The client's side is protocol/acp.h, whose words this uses.
 *
 *     struct acp_agent *agent = acp_agent_new(&ops, face, &self);
 *     ... read, acp_agent_feed(); write acp_agent_out(), acp_agent_sent() ...
 *
 * initialize and authenticate are answered here; everything before initialize is refused, and so is
 * what lacks a member it must have or has one of another type. Each request is answered once, by
 * acp_agent_answer() or acp_agent_refuse(), in any order and at any time. Sizes have limits: a line
 * past ACP_AGENT_LINE_MAX is refused and skipped.
 */
#ifndef MAS_PROTOCOL_ACP_AGENT_H
#define MAS_PROTOCOL_ACP_AGENT_H

#include "base/json.h"
#include "protocol/acp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ACP_AGENT_LINE_MAX = 16 << 20, /* bytes of one message */
    ACP_AGENT_OUT_MAX = 64 << 20, /* that wait for a client that does not read */
    ACP_AGENT_PROMPT_MAX = 4 << 20, /* bytes of a prompt as text */
};

struct acp_agent;

/* Who this is, for initialize. */
struct acp_agent_self {
    const char *name, *title, *version;
};

/* A request. What its method does not have is NULL. */
struct editor_request {
    enum acp_call call; /* NEW, LOAD, RESUME, CLOSE, LIST, PROMPT, SET_MODE, SET_OPTION */
    const char *ticket;
    const char *session;
    const char *cwd; /* of NEW, LOAD, RESUME; of LIST only where it asks for one */
    const char *cursor; /* of LIST */
    const char *mode; /* of SET_MODE */
    const char *option, *value; /* of SET_OPTION; a boolean is "true" or "false" */
    const char *text; /* of PROMPT: its blocks as one text */
    size_t len;
};

struct acp_agent_ops {
    void (*request)(void *arg, const struct editor_request *request);
    /* session/cancel */
    void (*cancel)(void *arg, const char *session);
    /* $/cancel_request: the request of this ticket is not waited for; it is answered all the same
     */
    void (*withdrawn)(void *arg, const char *ticket);
    /* The answer to acp_agent_ask_permission(); option NULL: nothing was chosen */
    void (*permitted)(void *arg, int64_t serial, const char *option);
    void (*garbage)(void *arg, const char *why, const char *bytes, size_t len); /* may be NULL */
};

/* All three are kept by reference. Calls of ops may call everything here but acp_agent_feed(). */
struct acp_agent *acp_agent_new(const struct acp_agent_ops *ops, void *arg,
                                const struct acp_agent_self *self);
void acp_agent_free(struct acp_agent *agent);

const char *acp_agent_out(const struct acp_agent *agent, size_t *ret_len);
void acp_agent_sent(struct acp_agent *agent, size_t len);
/* More than ACP_AGENT_OUT_MAX waited, and something was lost. */
bool acp_agent_is_stuck(const struct acp_agent *agent);
void acp_agent_feed(struct acp_agent *agent, const char *bytes, size_t len);

/* `result` is the JSON text of an object; NULL: {}. false: no request of that ticket is open. */
bool acp_agent_answer(struct acp_agent *agent, const char *ticket, const char *result);
bool acp_agent_refuse(struct acp_agent *agent, const char *ticket, int code, const char *message);

/* ---- session/update */

/* kind: ACP_USER, ACP_TEXT or ACP_THOUGHT; message: its id, NULL none. */
void acp_agent_chunk(struct acp_agent *agent, const char *session, enum acp_update_kind kind,
                     const char *message, const char *text, size_t len);

struct acp_agent_tool {
    const char *id, *title, *kind, *status; /* of a word that the protocol lacks: other, pending */
    const char *text; /* content; NULL none */
    size_t len;
    bool known; /* told before: an update of it, without what is NULL or empty */
};
void acp_agent_tool(struct acp_agent *agent, const char *session,
                    const struct acp_agent_tool *tool);
/* entries: [{content, priority, status}] */
void acp_agent_plan(struct acp_agent *agent, const char *session, const struct json *entries);
/* name, description, and in `kind` the hint for what may stand behind it ("" nothing) */
void acp_agent_commands(struct acp_agent *agent, const char *session, const struct acp_word *words,
                        size_t count);
void acp_agent_mode(struct acp_agent *agent, const char *session, const char *mode);
/* options: JSON text of an array, as acp_agent_put_options() makes it */
void acp_agent_options(struct acp_agent *agent, const char *session, const char *options);
void acp_agent_title(struct acp_agent *agent, const char *session, const char *title);
void acp_agent_usage(struct acp_agent *agent, const char *session, int64_t used, int64_t size);

/* ---- session/request_permission */

/* options: id, name, kind; a kind that the protocol lacks is allow_once. Returns its serial. */
int64_t acp_agent_ask_permission(struct acp_agent *agent, const char *session,
                                 const struct acp_agent_tool *tool, const struct acp_word *options,
                                 size_t count);
/* It was answered elsewhere: the client is told, its answer is not waited for. */
void acp_agent_withdraw(struct acp_agent *agent, int64_t serial);

/* ---- parts of answers */

/* Member "modes" of an answer, from [{id, name}]; nothing where there are none. */
void acp_agent_put_modes(struct json_out *out, const char *mode, const struct json *modes);
/* An array of config options under `key`, from [{id, name, category, value, values: [{value,
 * name}]}]. */
void acp_agent_put_options(struct json_out *out, const char *key, const struct json *options);

#endif
