/*
 * The client side of the Agent Client Protocol (ACP), version 1, without processes or descriptors.
 * The caller passes in the agent's output and sends the bytes that come out; callbacks report what
 * the messages mean.
 *
 *     struct acp *acp = acp_new(&ops, host);
 *     acp_initialize(acp, ...);
 *     ... write acp_out() to the agent, acp_sent(); read from it, acp_feed() ...
 *     acp_tick(acp, now)          time-outs of requests
 *
 * Source: agentclientprotocol.com, schema of version 1. JSON-RPC 2.0, one message per line, ids
 * verbatim. A line longer than ACP_LINE_MAX, nesting deeper than JSON_DEPTH_MAX and anything else
 * that is no message is reported to ops->garbage and skipped; if it may have been a request, it is
 * answered with an error. An unknown request is answered with -32601, an unknown notification is
 * ignored. Answers may arrive in any order.
 *
 * This file does not queue prompts: the caller sends one at a time.
 */
#pragma once

#include "base/json.h"
#include "model/money.h"
#include "model/token_counts.h"
#include "protocol/word.h"

enum {
    ACP_LINE_MAX = 32 << 20, /* bytes of a message */
    /* unsent bytes for an agent that does not read; with more it is stuck */
    ACP_OUT_MAX = 64 << 20,
    ACP_ID_MAX = 256, /* bytes of a session id */
};

struct acp;

/* How an agent takes a text into the system prompt of a session. */
enum acp_system {
    ACP_SYSTEM_NONE,
    ACP_SYSTEM_META, /* `_meta.systemPrompt`, of earlier adapters of Claude Code */
    ACP_SYSTEM_MEMBER, /* `systemPrompt`, of the draft of the protocol */
};

/* What the agent reported in its answer to initialize. */
struct acp_info {
    char *name, *version; /* "" if missing */
    bool load, resume, close, list, fork, remove; /* session capabilities; remove: session/delete */
    bool directories; /* it takes additionalDirectories */
    bool steer; /* it takes words in the middle of a turn */
    enum acp_system system;
    bool image, audio, embedded; /* prompt capabilities */
    bool mcp_http, mcp_sse;
    int64_t protocol;
    char *auth; /* its authMethods, a JSON array */
};

enum acp_update_kind {
    ACP_USER, /* text: a piece */
    ACP_TEXT,
    ACP_THOUGHT,
    ACP_TOOL, /* a tool call or a change of one; NULL members are unchanged */
    ACP_PLAN,
    ACP_COMMANDS,
    ACP_MODE, /* id: the current mode */
    ACP_OPTIONS, /* config options */
    ACP_INFO, /* title */
    ACP_USAGE,
    ACP_NOTICE, /* title; text: more of it; kind: its severity */
    ACP_COMPACTION, /* id, status; text: its summary, NULL: unchanged; title: why it failed */
    ACP_SUMMARY, /* id; text: a piece of its summary */
    /* A session that the agent has begun for a subagent; id, title; text: what it is for, or why it
     * has failed; task; stoppable */
    ACP_SUBAGENT,
    ACP_TASK, /* what the agent does beside its turns; id, title, text, task */
    ACP_MESSAGE, /* between two sessions; id: of the sender, title: of the recipient, text */
    ACP_OTHER, /* an unknown kind; only `json` is set */
};

/* What a subagent or a task does. */
enum acp_task {
    ACP_TASK_SAME, /* not told */
    ACP_TASK_RUNS, /* also if it waits for a person */
    ACP_TASK_DONE,
    ACP_TASK_FAILED,
    ACP_TASK_CANCELLED,
    ACP_TASK_UNKNOWN, /* the agent does not know */
};

/* What a session uses; -1: not told, or no valid number. */
struct acp_usage {
    int64_t used, size; /* of its context, in tokens */
    struct money cost; /* of the session since it was opened, as the agent counts it */
};

struct acp_update {
    enum acp_update_kind kind;
    const char *session; /* the agent's session id */
    /* A piece, title or mode. For a tool, its content for reading: text verbatim, a diff in unified
     * form after "--- path", a terminal as "[terminal ID]". */
    const char *text;
    size_t len;
    /* of a tool; `id` also of a message or mode, `title` also of a session */
    const char *id, *title, *tool_kind, *status;
    /* Commands; or plan entries: name is the text, kind the status, description the priority. */
    const struct word *words;
    size_t count;
    struct acp_usage usage; /* of ACP_USAGE */
    enum acp_task task;
    bool stoppable; /* acp_cancel() stops what this subagent does */
    const struct json *json; /* the whole update */
};

struct acp_permission {
    const char *ticket; /* names it in acp_permit() until it is answered */
    const char *session;
    struct acp_update tool; /* the tool call that needs the permission */
    const struct word *options; /* kind: allow_once, allow_always, reject_once, reject_always */
    size_t count;
};

/* A request that the caller serves: fs/read_text_file, terminal/create, elicitation/create...
 * Answer it with acp_answer_request() or acp_refuse(). */
struct acp_request {
    const char *ticket; /* for acp_answer_request() and acp_refuse() */
    const char *method;
    const char *session;
    const struct json *params;
};

/* The request that an answer belongs to. */
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
    ACP_CALL_STEER,
    ACP_CALL_FORK,
    ACP_CALL_DELETE,
};
enum {
    ACP_NEEDS_LOGIN = -32000,
    ACP_NO_SUCH = -32002,
    ACP_CANCELLED = -32800,
    ACP_TIMED_OUT = -1, /* own code: no answer in time */
    ACP_BAD_ANSWER = -2, /* own code: a required member is missing, or another protocol version */
};

struct acp_answer {
    enum acp_call call;
    int64_t serial; /* as the requesting function returned it */
    bool ok;
    int64_t code; /* if not ok: a code of JSON-RPC or ACP, or an own code */
    const char *message;
    const char *session; /* the session in the request, or the new one of session/new; NULL: none */
    const char *mode; /* the current mode; NULL: not reported */
    const struct word *modes; /* the available modes */
    size_t mode_count;
    const struct json *options; /* configOptions; NULL: none */
    /* Of a prompt: end_turn, max_tokens, max_turn_requests, refusal, cancelled or another word;
     * "unknown" if missing. */
    const char *stop_reason;
    struct token_counts tokens; /* of a prompt, also of one that failed */
    bool steered; /* of ACP_CALL_STEER: the agent has taken the words */
    const struct json *result; /* the whole result; NULL: none */
    const struct json *data; /* of an error; NULL: none */
};

struct acp_ops {
    void (*answer)(void *arg, const struct acp_answer *answer);
    void (*update)(void *arg, const struct acp_update *update);
    void (*permission)(void *arg, const struct acp_permission *permission);
    /* The agent has withdrawn a request ($/cancel_request) or ended the turn of an open permission
     * request. It has been answered; the ticket is invalid afterwards. */
    void (*withdrawn)(void *arg, const char *ticket);
    void (*request)(void *arg, const struct acp_request *request);
    /* elicitation/complete: what a person was asked to do elsewhere is done. May be NULL. */
    void (*completed)(void *arg, const char *elicitation);
    /* Input that is no message was skipped. */
    void (*garbage)(void *arg, const char *why, const char *bytes, size_t len);
};

/* Creates a client, which keeps both pointers; release it with acp_free(). Callbacks may call any
 * function here except acp_feed() and acp_tick(). After an acp_free() in a callback no other
 * callback is called. What a callback receives is valid only during the call. */
struct acp *acp_new(const struct acp_ops *ops, void *arg);
void acp_free(struct acp *acp);

/* Returns the bytes to write to the agent; they stay valid until the next call. acp_sent() says how
 * many were written. */
const char *acp_out(const struct acp *acp, size_t *ret_len);
void acp_sent(struct acp *acp, size_t len);
/* Returns true if more than ACP_OUT_MAX bytes waited and some were lost. The caller must end the
 * agent. */
bool acp_is_stuck(const struct acp *acp);
/* Passes in output of the agent and calls the callbacks. */
void acp_feed(struct acp *acp, const char *bytes, size_t len);
/* Ends overdue requests with ACP_TIMED_OUT. `now` is time_monotonic_ms(). Returns when to call
 * again, on the same clock; -1: never. */
int64_t acp_tick(struct acp *acp, int64_t now);
/* The agent was stopped for `ms`: moves the time limits of what it has not answered. */
void acp_delay(struct acp *acp, int64_t ms);
/* Returns what the agent reported in initialize; before that, zeros and empty texts. It belongs to
 * the client. */
const struct acp_info *acp_info(const struct acp *acp);

/* Requests. Each returns its serial. timeout_ms -1: no limit. `mcp` is the JSON array mcpServers as
 * text; NULL: []. `cwd` is absolute. */
/* `offers` are bits of enum preset_offer (model/preset.h). */
int64_t acp_initialize(struct acp *acp, unsigned offers, int timeout_ms);
/* Sets what goes as `_meta`, a JSON object, with each request for a session from now on; NULL:
 * nothing. */
void acp_set_session_meta(struct acp *acp, const char *json);
/* Sets what is appended to the system prompt of each session that is opened from now on, if
 * acp_info()->system says how; NULL: nothing. */
void acp_set_system(struct acp *acp, const char *text);
/* Sets the absolute paths, ended by NULL, that each session has besides its `cwd`, if
 * acp_info()->directories says that the agent takes them; NULL: none. */
void acp_set_directories(struct acp *acp, char *const *paths);
/* Creates a session in `cwd`; answer->session is its id. */
int64_t acp_session_new(struct acp *acp, const char *cwd, const char *mcp, int timeout_ms);
/* Opens an old session; the agent repeats its messages as updates. */
int64_t acp_session_load(struct acp *acp, const char *session, const char *cwd, const char *mcp,
                         int timeout_ms);
/* Opens an old session without repeating its messages. */
int64_t acp_session_resume(struct acp *acp, const char *session, const char *cwd, const char *mcp,
                           int timeout_ms);
/* Copies a session; answer->session is the id of the copy. */
int64_t acp_session_fork(struct acp *acp, const char *session, const char *cwd, const char *mcp,
                         int timeout_ms);
/* Deletes a session from the agent's list, and what the agent keeps of it. */
int64_t acp_session_delete(struct acp *acp, const char *session, int timeout_ms);
/* Closes a session in the agent's process. */
int64_t acp_session_close(struct acp *acp, const char *session, int timeout_ms);
/* Lists the agent's sessions of a directory; NULL: all. `cursor` is from the previous page; NULL:
 * the first page. */
int64_t acp_session_list(struct acp *acp, const char *cwd, const char *cursor, int timeout_ms);
/* A part of a prompt: a text, or a picture. */
struct acp_block {
    const char *text; /* NULL: the end of the list */
    const char *type; /* of a picture, whose bytes are `text` in base64; NULL: a text */
};
int64_t acp_prompt(struct acp *acp, const char *session, const struct acp_block *blocks,
                   int timeout_ms);
/* Gives the agent words in the middle of a turn, if acp_info()->steer says that it takes them. The
 * answer is `steered`, or the words have to be a prompt of their own. */
int64_t acp_steer(struct acp *acp, const char *session, const struct acp_block *blocks,
                  int timeout_ms);
/* Sets the mode, by its id. */
int64_t acp_set_mode(struct acp *acp, const char *session, const char *mode, int timeout_ms);
/* Sets a config option; the value of a boolean one is "true" or "false". */
int64_t acp_set_option(struct acp *acp, const char *session, const char *option, const char *value,
                       bool boolean, int timeout_ms);
/* Sends a notification. All permission requests of the session are answered with `cancelled`: the
 * open ones, and those that arrive before its prompt is answered. ops->withdrawn is not called for
 * them. */
void acp_cancel(struct acp *acp, const char *session);

/* Answers a permission request; option NULL: cancelled. Returns false if no request with this
 * ticket is open, or if it has no such option. */
bool acp_permit(struct acp *acp, const char *ticket, const char *option);
/* Answer a request: with `result`, JSON text, or with an error. Without such a request they do
 * nothing. */
void acp_answer_request(struct acp *acp, const char *ticket, const char *result);
void acp_refuse(struct acp *acp, const char *ticket, int code, const char *message);

/* Says in words why an answer was no success. Returns buf. */
const char *acp_why(const struct acp_answer *answer, char *buf, size_t size);
