/*
 * Declarations that the files of this module share. No other module includes this header.
 *
 *     editor.c          the loop: input and output of the client, connection to the host, timers
 *     editor_request.c  requests of the client
 *     editor_pending.c  requests on their way to the host and back
 *     editor_session.c  sessions: their list, their messages, and which the client has seen
 *     editor_offer.c    commands and permission requests
 *     editor_event.c    events of the host, as updates; turns of the client's prompts
 */
#pragma once

#include "base/frame.h"
#include "base/json.h"
#include "client/hosts.h"
#include "editor/editor.h"
#include "memory/store.h"
#include "model/picture.h"
#include "os/loop.h"
#include "protocol/acp_agent.h"
#include "protocol/host_event.h"

enum {
    EDITOR_SESSIONS_MAX = 256, /* open at the same time */
    EDITOR_PENDING_MAX = 256,
    EDITOR_OPEN_MAX = 64, /* messages that may grow, shown prompts, and tools to remember, each */
    EDITOR_ID = 37, /* bytes of a conversation id with its NUL */
    EDITOR_TOOL_ID = 32, /* bytes of the id of a tool call */
    EDITOR_HOST_MS = 5000, /* how long a request waits for an absent host */
    EDITOR_RETRY_MS = 100,
    EDITOR_IDLE_RETRY_MS = 1000, /* if no request waits for the host */
    EDITOR_SETTLE_MS = 10000, /* how long a session waits for what a starting agent offers */
    EDITOR_FOLLOW_MS = 10000, /* how long a turn waits for the prompt that carries out its plan */
    EDITOR_HEAD_MAX = FRAME_HEAD_MAX - 64, /* bytes of a request's head, without its "bytes" */
    EDITOR_TEXT_MAX = 16 << 20, /* bytes of prompts that the host has not accepted */
    EDITOR_OUT_FULL = 8 << 20, /* with this many unsent bytes, neither client nor host is read */
};

/* A message that may grow, and how many bytes of it the client has seen. */
struct editor_grows {
    int64_t number;
    size_t len;
};

struct editor_session {
    char id[EDITOR_ID];
    int64_t seen; /* newest seen message except prompts; older ones are known unless they grow */
    bool reads_past; /* by turns, so that a message may come before an older one: `newest` is
                        `seen` when that is over */
    int64_t newest;
    int64_t query; /* query of the message read last; 0: none yet, -1: do not compare */
    struct editor_grows grows[EDITOR_OPEN_MAX];
    size_t grows_next, grows_count;
    int64_t prompts[EDITOR_OPEN_MAX]; /* prompts that the client has seen */
    size_t prompts_next;
};

enum pending_kind {
    PENDING_NEW,
    PENDING_LOAD, /* session/load: with the messages */
    PENDING_RESUME,
    PENDING_PROMPT,
    PENDING_CLEAR,
    PENDING_MODE,
    PENDING_OPTION,
    PENDING_CANCEL, /* of `prompt`, or of the current turn if NULL */
    PENDING_PERMIT, /* `prompt` is the id of the permission, `value` the option */
};

/* What a pending request waits for. */
enum pending_step {
    STEP_WAITS, /* for the host to listen */
    STEP_SWITCHES, /* for the host to make its conversation current */
    STEP_ASKED, /* for the answer of the host */
    STEP_RUNS, /* the prompt was accepted: for the end of its turn */
    STEP_FOLLOWS, /* an approved plan clears the context: for the prompt that carries it out */
    STEP_SETTLES, /* a session: for the modes and options of the agent */
};

struct pending_request {
    int64_t number;
    enum pending_kind kind;
    enum pending_step step;
    char *ticket; /* of the answer to the client; NULL: it gets none */
    char session[EDITOR_ID];
    char *text, *mode, *option, *value; /* NULL: none */
    char *prompt; /* its id, once it was accepted */
    struct json *answers; /* of PERMIT, to a form; NULL: none */
    struct pictures pictures; /* of PROMPT; the session has them */
    bool typed; /* a command typed as a prompt: the answer is text, too */
    bool cancelled;
    bool follows; /* go to STEP_FOLLOWS when its turn ends */
    int64_t until; /* end of WAITS, FOLLOWS or SETTLES */
};

struct editor_permission {
    struct host_permission is;
    int64_t serial; /* of the client's request; 0: not asked */
    bool answered; /* the client has answered, and the answer was passed on */
    int64_t announced; /* tool call that the client knows only from this request; 0: none */
};

struct editor_tool {
    char *id; /* the agent's id of the tool call */
    int64_t number;
};

struct editor {
    const struct editor_spec *spec;
    struct acp_agent *acp;
    struct host_connection host;
    struct loop loop;
    bool listens; /* the host has answered `listen` and sends events */
    bool ends;
    int64_t retry_at, judged_at;
    struct pending_request **pending;
    size_t pending_count;
    int64_t last_pending;
    int64_t notes; /* number of notes that are not stored messages */
    struct editor_session **sessions;
    size_t session_count;
    /* reported by the host */
    char conversation[EDITOR_ID]; /* the current one; "": unknown */
    char *state, *mode;
    struct json *modes, *options, *commands; /* arrays; NULL: unknown */
    struct editor_permission *permissions;
    size_t permission_count;
    char *running; /* prompt of the current turn; NULL: none */
    struct editor_tool tools[EDITOR_OPEN_MAX];
    size_t tool_next;
};

/* ---- editor_request.c */
extern const struct acp_agent_ops editor_ops;

/* ---- editor_pending.c */
/* Creates a pending request. The editor owns it. */
struct pending_request *editor_pending_new(struct editor *editor, enum pending_kind kind,
                                           const char *session);
/* Removes a request and releases it. */
void editor_pending_end(struct editor *editor, struct pending_request *pending);
/* Returns the first request with a greater number, or NULL. For loops in which requests may end. */
struct pending_request *editor_pending_after(const struct editor *editor, int64_t number);
/* Sends a request to the host, now or as soon as the host listens. */
void editor_begin(struct editor *editor, struct pending_request *pending);
/* Answer the client: with an error, the end of a turn, or a text and the end of a turn. */
void editor_refuse(struct editor *editor, const char *ticket, const struct err *why);
void editor_end_turn(struct editor *editor, const char *ticket, const char *reason);
void editor_say(struct editor *editor, const struct pending_request *pending, const char *words);
/* Continues the requests that wait, when the host listens. */
void editor_go_on(struct editor *editor);
/* Handles an answer of the host. */
void editor_answered(struct editor *editor, int64_t asked, const struct frame *answer);
/* Fails the requests that wait for an absent host; session/load and session/resume succeed. */
void editor_fail_waiting(struct editor *editor, const struct err *why);
/* After the connection to the host was lost: fails the requests that were sent to it. */
void editor_lost(struct editor *editor);
/* Opens sessions that no longer need to wait for the modes. */
void editor_settle(struct editor *editor, int64_t now);
/* Ends requests whose time is over. Returns when to call it again; -1: not needed. */
int64_t editor_pending_tick(struct editor *editor, int64_t now);
void editor_pending_free(struct pending_request *pending);
/* Returns true if a request waits for the host. */
bool editor_waits(const struct editor *editor);

/* ---- editor_session.c */
/* Frees *to and sets it to a copy of `text`, which may be NULL. */
void editor_replace(char **to, const char *text);
/* Makes the id of a tool call for the client. The agents' own ids repeat in other queries. */
void editor_tool_id(int64_t number, char buf[EDITOR_TOOL_ID]);
/* Sends a tool call, or an update if `known`. */
void editor_tool(struct editor *editor, const struct editor_session *session, int64_t number,
                 bool known, const struct json *data, const char *text, size_t len);
/* Returns the tool call with this id of the agent, or NULL if the client does not know it. */
struct editor_tool *editor_find_tool(struct editor *editor, const char *id);
struct editor_tool *editor_add_tool(struct editor *editor, const char *id, int64_t number);
/* Sends a message of mas, as a tool call. `number` is its message; 0: it is not stored. */
void editor_note(struct editor *editor, const struct editor_session *session, int64_t number,
                 const char *words);
/* Returns the open session with this id, or NULL. */
struct editor_session *editor_session(const struct editor *editor, const char *id);
/* Opens a session. Returns NULL if EDITOR_SESSIONS_MAX are open. */
struct editor_session *editor_session_add(struct editor *editor, const char *id);
void editor_session_remove(struct editor *editor, const char *id);
/* Returns the session of the current conversation, or NULL if it is not open. */
struct editor_session *editor_current(const struct editor *editor);
/* Returns 0 if the agent has a conversation with this id, else -1. */
int editor_find(const struct editor *editor, const char *id, struct err *err);
/* Sends the messages of a session that the client has not seen; at most the newest 2000. */
int editor_show_past(struct editor *editor, struct editor_session *session, struct err *err);
/* Writes the answer to session/list. */
int editor_list(const struct editor *editor, const char *cwd, const char *cursor,
                struct json_out *out, struct err *err);
/* Returns how many bytes of a piece of text the client knows already; marks the piece as known. */
size_t editor_known(struct editor_session *session, int64_t number, size_t at, size_t len);
/* Returns true if the client knows the message of a tool, plan or note; marks it as known. */
bool editor_known_tool(struct editor_session *session, int64_t number);
/* Returns true if the client has seen the prompt; marks it as seen. */
bool editor_known_prompt(struct editor_session *session, int64_t number);

/* ---- editor_offer.c */
/* A command of mas that may be typed as a prompt; `hint` describes its arguments. */
struct editor_command {
    const char *name, *hint, *description;
    enum pending_kind kind;
};
extern const struct editor_command editor_commands[];
extern const size_t editor_command_count;
/* Sends the list of commands: those of mas and those of the agent. */
void editor_tell_commands(struct editor *editor, const char *session);
/* Sends the open permission requests of the current conversation to the client. */
void editor_ask_permissions(struct editor *editor);
/* Withdraws and releases all permission requests. */
void editor_drop_permissions(struct editor *editor);

/* ---- editor_event.c */
/* Handles the answer to `listen`: the current state. */
void editor_handle_listen(struct editor *editor, const struct json *head);
/* Handles an event of the host. */
void editor_event(struct editor *editor, const struct frame *frame);
