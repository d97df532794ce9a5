/*
 * What the files of the face share; nobody else includes this.
 *
 *     face.c          the loop; the client's bytes, the host's connection, time
 *     face_wish.c     what the client wants
 *     face_errand.c   that on its way to the host and back
 *     face_turn.c     the turns of its prompts
 *     face_session.c  sessions: their list, what was said in them, what of it the client has seen
 *     face_event.c    what the host tells, as updates and permissions
 */
#ifndef MAS_EDITOR_FACE_INTERNAL_H
#define MAS_EDITOR_FACE_INTERNAL_H

#include "base/frame.h"
#include "base/json.h"
#include "base/str.h"
#include "client/host_link.h"
#include "editor/face.h"
#include "memory/store.h"
#include "protocol/acp_agent.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FACE_SESSIONS_MAX = 256, /* open at once */
    FACE_ERRANDS_MAX = 256,
    FACE_OPEN_MAX = 64, /* messages that may still grow, prompts that were shown, tools */
    FACE_ID = 37, /* bytes of a conversation's id with the NUL */
    FACE_HOST_MS = 5000, /* how long a host that is absent is waited for */
    FACE_RETRY_MS = 100,
    FACE_IDLE_RETRY_MS = 1000, /* where nobody waits for it */
    FACE_SETTLE_MS = 10000, /* for an agent that starts to tell its modes */
    FACE_FOLLOW_MS = 10000, /* for the prompt that carries out a plan */
    FACE_HEAD_MAX = FRAME_HEAD_MAX - 64, /* of a request to the host, without its "bytes" */
    FACE_TEXT_MAX = 16 << 20, /* bytes of prompts that the host has not taken */
    FACE_OUT_FULL = 8 << 20, /* bytes that wait for the client: the host is not read meanwhile */
};

/* A message that the client has seen a part of, and that may grow. */
struct face_grows {
    int64_t number;
    size_t len;
};

struct face_session {
    char id[FACE_ID];
    int64_t seen; /* newest message, but for prompts; what is older and does not grow is known */
    int64_t query; /* of what was read last; 0: nothing, -1: not to be compared */
    struct face_grows grows[FACE_OPEN_MAX];
    size_t grows_next, grows_count;
    int64_t prompts[FACE_OPEN_MAX]; /* that the client has seen */
    size_t prompts_next;
};

enum errand_kind {
    ERRAND_NEW,
    ERRAND_LOAD, /* session/load: with what was said */
    ERRAND_RESUME,
    ERRAND_PROMPT,
    ERRAND_CLEAR,
    ERRAND_MODE,
    ERRAND_OPTION,
    ERRAND_CANCEL, /* `prompt`, or whatever turn is on */
    ERRAND_PERMIT, /* `prompt` is the permission, `value` the option */
};

enum errand_step {
    STEP_WAITS, /* for the host */
    STEP_SWITCHES, /* its conversation is being made the current one */
    STEP_ASKED,
    STEP_RUNS, /* a prompt was taken: for its end */
    STEP_FOLLOWS, /* the plan of its turn is carried out with a cleared context: for that prompt */
    STEP_SETTLES, /* a session: for the agent's modes */
};

struct errand {
    int64_t number;
    enum errand_kind kind;
    enum errand_step step;
    char *ticket; /* NULL: no answer is waited for */
    char session[FACE_ID];
    char *text, *mode, *option, *value; /* NULL: none */
    char *prompt; /* its id, once it is taken */
    bool typed; /* a command among the words of a prompt: the answer is words, too */
    bool cancelled;
    bool follows; /* see STEP_FOLLOWS, once its turn has ended */
    int64_t until; /* of WAITS, FOLLOWS, SETTLES */
};

struct face_permission {
    char *id;
    struct json *head; /* the event */
    char *body;
    int64_t serial; /* of the client's request; 0: not asked */
    bool answered; /* by the client, and passed on */
    int64_t announced; /* its tool call, where that is known by the request alone; 0 */
};

struct face_tool {
    char *id; /* the agent's */
    int64_t number;
};

struct face {
    const struct face_spec *spec;
    struct acp_agent *acp;
    struct host_link link;
    bool listens; /* the host has begun to tell */
    bool ends;
    int64_t retry_at, judged_at;
    struct errand **errands;
    size_t errand_count;
    int64_t last_errand;
    int64_t notes; /* that are no messages */
    struct face_session **sessions;
    size_t session_count;
    /* what the host has told */
    char conversation[FACE_ID]; /* the current one; "" not known */
    char *state, *mode;
    struct json *modes, *options, *commands; /* arrays; NULL not known */
    struct face_permission *permissions;
    size_t permission_count;
    char *running; /* prompt of the turn that is on; NULL none */
    struct face_tool tools[FACE_OPEN_MAX];
    size_t tool_next;
};

/* ---- face.c */
/* Copies a node; NULL where there is none. */
struct json *face_copy(const struct json *node);
void face_replace(char **to, const char *text);
/* Number of a message in its id; 0: it is none. */
int64_t face_number(const char *id);
/* "<session id>:<number>" */
char *face_id(const struct face *face, int64_t number);

/* ---- face_wish.c */
extern const struct acp_agent_ops face_ops;
/* Commands of mas, among the words of a prompt; `hint` is what may stand behind one. */
struct face_command {
    const char *name, *hint, *description;
    enum errand_kind kind;
};
extern const struct face_command face_commands[];
extern const size_t face_command_count;

/* ---- face_errand.c */
struct errand *face_errand_new(struct face *face, enum errand_kind kind, const char *session);
void face_errand_end(struct face *face, struct errand *errand);
/* The first whose number is above this one; NULL: none. For loops in which some may end. */
struct errand *face_errand_after(const struct face *face, int64_t number);
/* It goes to the host, now or as soon as that listens. */
void face_begin(struct face *face, struct errand *errand);
/* Answers: an error, the end of a turn, words and the end of a turn. */
void face_refuse(struct face *face, const char *ticket, const struct err *why);
void face_end_turn(struct face *face, const char *ticket, const char *reason);
void face_say(struct face *face, const struct errand *errand, const char *words);
/* Those that wait go on, now that the host listens. */
void face_go_on(struct face *face);
void face_answered(struct face *face, struct host_link_asked asked, const struct frame *answer);
/* Those that wait for a host that is not there, or that was lost. */
void face_fail_waiting(struct face *face, const struct err *why);
void face_lost(struct face *face);
/* Sessions that wait for modes. */
void face_settle(struct face *face, int64_t now);
/* What is over by time; returns when to call again, -1 never. */
int64_t face_errands_tick(struct face *face, int64_t now);
void face_errand_free(struct errand *errand);
/* Somebody waits for the host. */
bool face_waits(const struct face *face);

/* ---- face_turn.c */
/* A turn has begun, or ended. */
void face_prompt_begins(struct face *face, const char *prompt);
void face_prompt_ends(struct face *face, const struct json *head);
/* Of this prompt a plan was approved with a cleared context. */
void face_prompt_follows(struct face *face);

/* ---- face_session.c */
struct face_session *face_session(const struct face *face, const char *id);
/* Opens one; NULL where there are too many. */
struct face_session *face_session_add(struct face *face, const char *id);
void face_session_remove(struct face *face, const char *id);
/* That of the current conversation; NULL: it is not open. */
struct face_session *face_current(const struct face *face);
/* 0 where the agent has a conversation of this id. */
int face_find(const struct face *face, const char *id, struct err *err);
/* Tells what the client has not seen of it. */
int face_show_past(struct face *face, struct face_session *session, struct err *err);
/* Writes the answer to session/list. */
int face_list(const struct face *face, const char *cwd, const char *cursor, struct json_out *out,
              struct err *err);
/* How many bytes of a piece are known; the piece is, then. */
size_t face_known(struct face_session *session, int64_t number, size_t at, size_t len);
/* Likewise a tool's: true if the client has heard of it. */
bool face_known_tool(struct face_session *session, int64_t number);
/* true if that prompt was shown; it is, then. */
bool face_known_prompt(struct face_session *session, int64_t number);

/* ---- face_event.c */
void face_take_listen(struct face *face, const struct json *head);
void face_event(struct face *face, const char *name, const struct frame *event);
/* Words of mas, as a line of their own. */
void face_note(struct face *face, const struct face_session *session, int64_t number,
               const char *words);
void face_tell_commands(struct face *face, const char *session);
/* Asks the client what is open in the current conversation. */
void face_ask_permissions(struct face *face);
void face_drop_permissions(struct face *face);
void face_tool(struct face *face, const struct face_session *session, int64_t number, bool known,
               const struct json *data, const char *text, size_t len);

#endif
