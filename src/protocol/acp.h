/*
 * The client's side of the Agent Client Protocol, version 1, without a process or a descriptor:
 * what an agent prints goes in, what it is to be sent comes out, and what it means is told by
 * calls.
 *
 *     struct acp *acp = acp_new(&ops, host);
 *     acp_initialize(acp, ...);
 *     ... write acp_out() to the agent, acp_sent(); read from it, acp_feed() ...
 *     acp_tick(acp, now)          time-outs of requests
 *
 * Source: agentclientprotocol.com, schema of version 1. JSON-RPC 2.0, one message a line. Ids are
 * carried verbatim. A line past ACP_LINE_MAX or nested past JSON_DEPTH_MAX is answered as a parse
 * error where it may be, told by ops->garbage, and skipped; so is what is no message. An unknown
 * request is answered -32601, an unknown notification ignored. Answers may come in any order.
 *
 * Prompts are not queued here: one turn at a time is the caller's duty.
 */
#ifndef MAS_PROTOCOL_ACP_H
#define MAS_PROTOCOL_ACP_H

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ACP_LINE_MAX = 32 << 20, /* bytes of one message */
    ACP_OUT_MAX = 64 << 20, /* that wait for an agent that does not read; beyond: it is stuck */
    ACP_ID_MAX = 256, /* bytes of a session id */
};

struct acp;

/* What initialize told. */
struct acp_info {
    char *name, *version; /* "" where it does not say */
    bool load, resume, close, list; /* session capabilities */
    bool image, audio, embedded; /* prompt capabilities */
    bool mcp_http, mcp_sse;
    int64_t protocol;
    char *auth; /* JSON array of its authMethods */
};

struct acp_word { /* a mode, a command, a permission's option, a value of a config option */
    char *id, *name, *description, *kind; /* "" where it has none */
};

enum acp_update_kind {
    ACP_USER, /* text: a chunk */
    ACP_TEXT,
    ACP_THOUGHT,
    ACP_TOOL, /* a call, or news of one: an upsert; what is NULL did not change */
    ACP_PLAN,
    ACP_COMMANDS,
    ACP_MODE, /* id of the mode it is in now */
    ACP_OPTIONS, /* config options */
    ACP_INFO, /* title */
    ACP_USAGE,
    ACP_OTHER, /* a kind that is not known: kept as JSON */
};

struct acp_update {
    enum acp_update_kind kind;
    const char *session; /* the agent's id of it */
    const char *text; /* chunk, title, mode; content of a tool as it is to be read: text as it is, a
                         diff in unified form under "--- path", a terminal as "[terminal ID]" */
    size_t len;
    const char *id, *title, *tool_kind, *status; /* of a tool */
    const struct acp_word *words; /* commands; plan entries: name is the text, kind the status,
                                     description the priority */
    size_t count;
    const struct json *json; /* the update itself, whole */
};

struct acp_permission {
    const char *ticket; /* names it in acp_permit(), valid until answered */
    const char *session;
    struct acp_update tool; /* what it is about */
    const struct acp_word *options; /* kind: allow_once, allow_always, reject_once, reject_always */
    size_t count;
};

/* A request that the caller serves: fs/read_text_file, fs/write_text_file, terminal/... */
struct acp_request {
    const char *ticket; /* for acp_answer(), acp_refuse() */
    const char *method;
    const char *session;
    const struct json *params;
};

/* Which answer came; error codes are JSON-RPC's and ACP's. */
enum acp_call {
    ACP_CALL_INITIALIZE,
    ACP_CALL_NEW,
    ACP_CALL_LOAD,
    ACP_CALL_RESUME,
    ACP_CALL_CLOSE,
    ACP_CALL_LIST,
    ACP_CALL_PROMPT,
    ACP_CALL_SET_MODE,
    ACP_CALL_SET_OPTION,
    ACP_CALL_AUTHENTICATE,
};
enum {
    ACP_NEEDS_LOGIN = -32000,
    ACP_NO_SUCH = -32002,
    ACP_CANCELLED = -32800,
    ACP_TIMED_OUT = -1, /* ours: no answer in time */
    ACP_BAD_ANSWER = -2, /* ours: an answer without what it must have; another version */
};

struct acp_answer {
    enum acp_call call;
    int64_t serial; /* that the function which asked returned */
    bool ok;
    int64_t code; /* where not ok */
    const char *message;
    const char *session; /* that the request named, or that session/new made; NULL */
    const char *mode; /* mode it is in; NULL it does not say */
    const struct acp_word *modes; /* that it has */
    size_t mode_count;
    const struct json *options; /* configOptions; NULL */
    const char *stop_reason; /* of a prompt: end_turn, max_tokens, max_turn_requests, refusal,
                                cancelled, or a word that is not known */
    const struct json *result; /* whole; NULL */
};

struct acp_ops {
    void (*answer)(void *arg, const struct acp_answer *answer);
    void (*update)(void *arg, const struct acp_update *update);
    void (*permission)(void *arg, const struct acp_permission *permission);
    /* the agent has taken a request back ($/cancel_request), or has ended the turn of an open
     * permission request: it is answered, the ticket is of no more use */
    void (*withdrawn)(void *arg, const char *ticket);
    void (*request)(void *arg, const struct acp_request *request);
    /* something that is no message: told, counted, skipped */
    void (*garbage)(void *arg, const char *why, const char *bytes, size_t len);
};

/* Both are kept by reference. Calls of ops may call everything here but acp_feed() and acp_tick();
 * after an acp_free() in one of them no other comes. What they are given is theirs only meanwhile.
 */
struct acp *acp_new(const struct acp_ops *ops, void *arg);
void acp_free(struct acp *acp);

/* What is to be written to the agent; acp_sent() says how much was. */
const char *acp_out(const struct acp *acp, size_t *ret_len);
void acp_sent(struct acp *acp, size_t len);
/* More than ACP_OUT_MAX waited, and something was lost: the agent is to be ended. */
bool acp_is_stuck(const struct acp *acp);
/* What the agent printed. Calls ops. */
void acp_feed(struct acp *acp, const char *bytes, size_t len);
/* Requests past their time are answered with ACP_TIMED_OUT. Returns when to call again, -1 never.
 */
int64_t acp_tick(struct acp *acp, int64_t now);
/* What initialize told; zeroes, and "" for text, before. */
const struct acp_info *acp_info(const struct acp *acp);

/* Requests; each returns its serial. timeout_ms -1: none. `mcp` is the JSON text of the array
 * mcpServers; NULL: []. cwd is absolute. */
int64_t acp_initialize(struct acp *acp, int timeout_ms);
int64_t acp_session_new(struct acp *acp, const char *cwd, const char *mcp, int timeout_ms);
int64_t acp_session_load(struct acp *acp, const char *session, const char *cwd, const char *mcp,
                         int timeout_ms);
int64_t acp_session_resume(struct acp *acp, const char *session, const char *cwd, const char *mcp,
                           int timeout_ms);
int64_t acp_session_close(struct acp *acp, const char *session, int timeout_ms);
int64_t acp_session_list(struct acp *acp, const char *cursor, int timeout_ms);
/* Text blocks, in order, NULL-terminated. */
int64_t acp_prompt(struct acp *acp, const char *session, const char *const *blocks, int timeout_ms);
int64_t acp_set_mode(struct acp *acp, const char *session, const char *mode, int timeout_ms);
int64_t acp_set_option(struct acp *acp, const char *session, const char *option, const char *value,
                       int timeout_ms);
int64_t acp_authenticate(struct acp *acp, const char *method, int timeout_ms);
/* A notification. All permission requests of the session, those that are open and those that come
 * before its prompt is answered, are answered `cancelled`; ops->withdrawn is not called for them.
 */
void acp_cancel(struct acp *acp, const char *session);

/* Answers a permission request; option NULL: cancelled. false: none of that ticket is open, or it
 * has no such option. */
bool acp_permit(struct acp *acp, const char *ticket, const char *option);
/* Answers a request: result is JSON text. */
void acp_answer_request(struct acp *acp, const char *ticket, const char *result);
void acp_refuse(struct acp *acp, const char *ticket, int code, const char *message);

#endif
