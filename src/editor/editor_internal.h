/*
 * What the files of this module share; nobody else includes this.
 *
 *     editor.c          the loop; the client's bytes, the host's connection, time
 *     editor_request.c     what the client asks
 *     editor_pending.c   that on its way to the host and back
 *     editor_turn.c     the turns of its prompts
 *     editor_session.c  sessions: their list, what was said in them, what of it the client has seen
 *     editor_event.c    what the host tells, as updates and permissions
 */
#ifndef MAS_EDITOR_EDITOR_INTERNAL_H
#define MAS_EDITOR_EDITOR_INTERNAL_H

#include "base/frame.h"
#include "base/json.h"
#include "base/str.h"
#include "client/host_link.h"
#include "editor/editor.h"
#include "memory/store.h"
#include "protocol/acp_agent.h"
#include "protocol/host_event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EDITOR_SESSIONS_MAX = 256, /* open at once */
    EDITOR_PENDING_MAX = 256,
    EDITOR_OPEN_MAX = 64, /* messages that may still grow, prompts that were shown, tools */
    EDITOR_ID = 37, /* bytes of a conversation's id with the NUL */
    EDITOR_HOST_MS = 5000, /* how long a host that is absent is waited for */
    EDITOR_RETRY_MS = 100,
    EDITOR_IDLE_RETRY_MS = 1000, /* where nobody waits for it */
    EDITOR_SETTLE_MS = 10000, /* for an agent that starts to tell its modes */
    EDITOR_FOLLOW_MS = 10000, /* for the prompt that carries out a plan */
    EDITOR_HEAD_MAX = FRAME_HEAD_MAX - 64, /* of a request to the host, without its "bytes" */
    EDITOR_TEXT_MAX = 16 << 20, /* bytes of prompts that the host has not taken */
    EDITOR_OUT_FULL = 8 << 20, /* bytes that wait for the client: the host is not read meanwhile */
};

/* A message that the client has seen a part of, and that may grow. */
struct editor_grows {
    int64_t number;
    size_t len;
};

struct editor_session {
    char id[EDITOR_ID];
    int64_t seen; /* newest message, but for prompts; what is older and does not grow is known */
    int64_t query; /* of what was read last; 0: nothing, -1: not to be compared */
    struct editor_grows grows[EDITOR_OPEN_MAX];
    size_t grows_next, grows_count;
    int64_t prompts[EDITOR_OPEN_MAX]; /* that the client has seen */
    size_t prompts_next;
};

enum pending_kind {
    PENDING_NEW,
    PENDING_LOAD, /* session/load: with what was said */
    PENDING_RESUME,
    PENDING_PROMPT,
    PENDING_CLEAR,
    PENDING_MODE,
    PENDING_OPTION,
    PENDING_CANCEL, /* `prompt`, or whatever turn is on */
    PENDING_PERMIT, /* `prompt` is the permission, `value` the option */
};

enum pending_step {
    STEP_WAITS, /* for the host */
    STEP_SWITCHES, /* its conversation is being made the current one */
    STEP_ASKED,
    STEP_RUNS, /* a prompt was taken: for its end */
    STEP_FOLLOWS, /* the plan of its turn is carried out with a cleared context: for that prompt */
    STEP_SETTLES, /* a session: for the agent's modes */
};

struct pending_request {
    int64_t number;
    enum pending_kind kind;
    enum pending_step step;
    char *ticket; /* NULL: no answer is waited for */
    char session[EDITOR_ID];
    char *text, *mode, *option, *value; /* NULL: none */
    char *prompt; /* its id, once it is taken */
    bool typed; /* a command among the words of a prompt: the answer is words, too */
    bool cancelled;
    bool follows; /* see STEP_FOLLOWS, once its turn has ended */
    int64_t until; /* of WAITS, FOLLOWS, SETTLES */
};

struct editor_permission {
    char *id;
    struct json *head; /* the event */
    char *body;
    int64_t serial; /* of the client's request; 0: not asked */
    bool answered; /* by the client, and passed on */
    int64_t announced; /* its tool call, where that is known by the request alone; 0 */
};

struct editor_tool {
    char *id; /* the agent's */
    int64_t number;
};

struct editor {
    const struct editor_spec *spec;
    struct acp_agent *acp;
    struct host_link link;
    bool listens; /* the host has begun to tell */
    bool ends;
    int64_t retry_at, judged_at;
    struct pending_request **pending;
    size_t pending_count;
    int64_t last_pending;
    int64_t notes; /* that are no messages */
    struct editor_session **sessions;
    size_t session_count;
    /* what the host has told */
    char conversation[EDITOR_ID]; /* the current one; "" not known */
    char *state, *mode;
    struct json *modes, *options, *commands; /* arrays; NULL not known */
    struct editor_permission *permissions;
    size_t permission_count;
    char *running; /* prompt of the turn that is on; NULL none */
    struct editor_tool tools[EDITOR_OPEN_MAX];
    size_t tool_next;
};

/* ---- editor.c */
void editor_replace(char **to, const char *text);
/* "<session id>:<number>" */
char *editor_id(const struct editor *editor, int64_t number);

/* ---- editor_request.c */
extern const struct acp_agent_ops editor_ops;
/* Commands of mas, among the words of a prompt; `hint` is what may stand behind one. */
struct editor_command {
    const char *name, *hint, *description;
    enum pending_kind kind;
};
extern const struct editor_command editor_commands[];
extern const size_t editor_command_count;

/* ---- editor_pending.c */
struct pending_request *editor_pending_new(struct editor *editor, enum pending_kind kind,
                                           const char *session);
void editor_pending_end(struct editor *editor, struct pending_request *pending);
/* The first whose number is above this one; NULL: none. For loops in which some may end. */
struct pending_request *editor_pending_after(const struct editor *editor, int64_t number);
/* It goes to the host, now or as soon as that listens. */
void editor_begin(struct editor *editor, struct pending_request *pending);
/* Answers: an error, the end of a turn, words and the end of a turn. */
void editor_refuse(struct editor *editor, const char *ticket, const struct err *why);
void editor_end_turn(struct editor *editor, const char *ticket, const char *reason);
void editor_say(struct editor *editor, const struct pending_request *pending, const char *words);
/* Those that wait go on, now that the host listens. */
void editor_go_on(struct editor *editor);
void editor_answered(struct editor *editor, struct host_link_asked asked,
                     const struct frame *answer);
/* Those that wait for a host that is not there, or that was lost. */
void editor_fail_waiting(struct editor *editor, const struct err *why);
void editor_lost(struct editor *editor);
/* Sessions that wait for modes. */
void editor_settle(struct editor *editor, int64_t now);
/* What is over by time; returns when to call again, -1 never. */
int64_t editor_pending_tick(struct editor *editor, int64_t now);
void editor_pending_free(struct pending_request *pending);
/* Somebody waits for the host. */
bool editor_waits(const struct editor *editor);

/* ---- editor_turn.c */
/* A turn has begun, or ended. */
void editor_prompt_begins(struct editor *editor, const char *prompt);
void editor_prompt_ends(struct editor *editor, const struct host_event *event);
/* Of this prompt a plan was approved with a cleared context. */
void editor_prompt_follows(struct editor *editor);

/* ---- editor_session.c */
struct editor_session *editor_session(const struct editor *editor, const char *id);
/* Opens one; NULL where there are too many. */
struct editor_session *editor_session_add(struct editor *editor, const char *id);
void editor_session_remove(struct editor *editor, const char *id);
/* That of the current conversation; NULL: it is not open. */
struct editor_session *editor_current(const struct editor *editor);
/* 0 where the agent has a conversation of this id. */
int editor_find(const struct editor *editor, const char *id, struct err *err);
/* Tells what the client has not seen of it. */
int editor_show_past(struct editor *editor, struct editor_session *session, struct err *err);
/* Writes the answer to session/list. */
int editor_list(const struct editor *editor, const char *cwd, const char *cursor,
                struct json_out *out, struct err *err);
/* How many bytes of a piece are known; the piece is, then. */
size_t editor_known(struct editor_session *session, int64_t number, size_t at, size_t len);
/* Likewise a tool's: true if the client has heard of it. */
bool editor_known_tool(struct editor_session *session, int64_t number);
/* true if that prompt was shown; it is, then. */
bool editor_known_prompt(struct editor_session *session, int64_t number);

/* ---- editor_event.c */
void editor_handle_listen(struct editor *editor, const struct json *head);
void editor_event(struct editor *editor, const struct frame *frame);
/* Words of mas, as a line of their own. */
void editor_note(struct editor *editor, const struct editor_session *session, int64_t number,
                 const char *words);
void editor_tell_commands(struct editor *editor, const char *session);
/* Asks the client what is open in the current conversation. */
void editor_ask_permissions(struct editor *editor);
void editor_drop_permissions(struct editor *editor);
void editor_tool(struct editor *editor, const struct editor_session *session, int64_t number,
                 bool known, const struct json *data, const char *text, size_t len);

#endif
