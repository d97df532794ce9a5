/*
 * The store: what was said in one session, in its memory.db (SQLite). The only writer of a
 * conversation is the host of its agent; any number of processes read.
 *
 *     conversation  of one agent; one of them is its current one
 *       query       what the model may be shown together: a clear ends one and opens the next
 *         message   a prompt, an answer, a tool call, ... with tags and the prompt that caused it
 *         agent session   an id that the agent gave for this query, and how it was come by
 *
 * Everything is written before it is shown. SYNC_CHUNK survives a kill, SYNC_FULL also the loss of
 * power. A text that grows is a message with pieces (`store_append`), made one when it is finished;
 * what a kill left unfinished is found at the next open of its writer and marked as interrupted.
 * An open prompt is one that waits: no turn has begun for it, and it outlives its writer.
 *
 * The id of a message that others see is "<session id>:<number>". Tags "session:<id>" and
 * "agent:<id>" are every message's and not stored but known; further ones are KEY:VALUE.
 *
 * A database of an older schema is carried forward when it is opened for writing; one of a newer
 * mas is MAS_FAILED. One that is damaged is MAS_DAMAGED; store_set_aside() makes room for a new
 * one. Only memory/store*.c and memory/index*.c know SQLite.
 */
#ifndef MAS_MEMORY_STORE_H
#define MAS_MEMORY_STORE_H

#include "base/err.h"
#include "base/str.h"
#include "store/workspace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_FILE WORKSPACE_MEMORY

enum {
    STORE_TEXT_MAX = 16 << 20, /* bytes of one message */
    STORE_TAGS_MAX = 32, /* of one message */
    STORE_TAG_MAX = 256, /* bytes */
};

enum store_sync { SYNC_CHUNK, SYNC_FULL };

enum store_role {
    ROLE_USER, /* a prompt: of a person, a program, or another agent (`sender`) */
    ROLE_AGENT, /* an answer */
    ROLE_THOUGHT,
    ROLE_TOOL, /* a tool call; `data` is the newest state of it as JSON, `text` how it is shown */
    ROLE_PLAN,
    ROLE_PERMISSION, /* asked, and what was decided */
    ROLE_MODE, /* a mode, model or option was changed */
    ROLE_NOTE, /* mas itself: how the agent came back, an error of a turn, an end */
    ROLE_COUNT
};
const char *store_role_name(enum store_role role); /* "user", "agent", ... */
bool store_role_parse(const char *text, enum store_role *ret);

enum store_state { MESSAGE_OPEN, MESSAGE_DONE, MESSAGE_INTERRUPTED, MESSAGE_FAILED };
const char *store_state_name(enum store_state state);

struct store;

/* Opens memory.db of the workspace `dir`. `write` makes it where there is none (mode 600); without
 * it a missing one is MAS_NOT_FOUND. `agent` (NULL for readers) is whose conversations this writer
 * keeps: what a killed one left open there is marked as interrupted, but for prompts that wait.
 * Thirteen may open it at once. A busy database is waited for as long as somebody writes to it, and
 * 10 s more. */
int store_open(int dir, const char *session_id, const char *agent, bool write, struct store **ret,
               struct err *err);
void store_close(struct store *store);
void store_closep(struct store **store);
#define _cleanup_store_ __attribute__((cleanup(store_closep)))

/* Renames memory.db and what belongs to it to memory.db.damaged-<time>; *ret_name is the caller's.
 */
int store_set_aside(int dir, char **ret_name, struct err *err);
/* SQLite's integrity check and that of the foreign keys: MAS_DAMAGED with the first finding. */
int store_check(struct store *store, struct err *err);

/* ---- where a host is */

struct store_place {
    char conversation[37]; /* UUID */
    int64_t query; /* number, unique in the session */
    int number; /* of the query in its conversation, from 1 */
    bool is_new; /* nothing was said in this query yet */
    bool injected; /* a turn has succeeded since the history was injected */
    char *mode, *model; /* what mas has set, to be set again; "" none. Options: store_options() */
    char *options; /* JSON object id -> value; "{}" */
};
void store_place_free(struct store_place *place);

enum conversation_choice { CHOICE_CURRENT, CHOICE_NEW, CHOICE_NAMED };
/* The current conversation of the writer's agent, a new one, or the one with that id (UUID or a
 * prefix of at least 4 that is unique; MAS_NOT_FOUND, MAS_CONFLICT), which becomes the current one.
 */
int store_enter(struct store *store, enum conversation_choice choice, const char *id,
                struct store_place *ret, struct err *err);
/* The same, made where it is a new one, without that it becomes the current one: a prompt that
 * waits is kept there, and its conversation is entered when its turn comes. */
int store_prepare(struct store *store, enum conversation_choice choice, const char *id,
                  struct store_place *ret, struct err *err);
/* Keeps mode, model, options; NULL leaves one as it is. */
int store_keep_settings(struct store *store, const char *conversation, const char *mode,
                        const char *model, const char *options, struct err *err);

/* ---- writing */

struct store_message {
    enum store_role role;
    enum store_state state;
    const char *text; /* may be NULL: "" */
    size_t len;
    const char *data; /* JSON; NULL none */
    const char *key; /* the agent's own id of it (toolCallId); NULL none */
    const char *sender; /* agent that sent a prompt; NULL: a person */
    int64_t trigger; /* number of the prompt that caused it; 0 none */
    char *const *tags; /* NULL-terminated, KEY:VALUE; NULL: those of the trigger are inherited */
};

/* Adds a message to the query; *ret is its number. */
int store_add(struct store *store, int64_t query, const struct store_message *message,
              enum store_sync sync, int64_t *ret, struct err *err);
/* A piece of an open message's text. SYNC_CHUNK. */
int store_append(struct store *store, int64_t number, const char *text, size_t len,
                 struct err *err);
/* Replaces text and data (NULL: as they are) and sets the state. */
int store_update(struct store *store, int64_t number, const char *text, size_t len,
                 const char *data, enum store_state state, enum store_sync sync, struct err *err);
/* The pieces become the text. */
int store_finish(struct store *store, int64_t number, enum store_state state, enum store_sync sync,
                 struct err *err);
/* For a copy of a session: prompts and messages that wait have ended, prompts as "not asked". */
int store_disown(struct store *store, int64_t *ret_count, struct err *err);
/* The end of a turn in one FULL transaction: all that is open of the trigger gets `state`, the
 * prompt its stop reason; after a turn that succeeded injection is over. */
int store_end_turn(struct store *store, int64_t query, int64_t prompt, const char *stop_reason,
                   enum store_state state, bool succeeded, struct err *err);

/* A clear: one FULL transaction ends the query with `reason` ("clear", "plan", "agent"), ends its
 * agent sessions, marks all prompts of the agent that wait as cleared, opens the next query of the
 * conversation and, where then_text is not NULL, adds that as its first prompt (*ret_then).
 */
struct store_clear {
    const char *reason;
    const char *mode; /* of the new query; NULL as it was */
    const char *then_text;
    size_t then_len;
    const char *sender;
    char *const *tags;
};
int store_clear(struct store *store, const char *conversation, const struct store_clear *clear,
                struct store_place *ret, int64_t *ret_then, struct err *err);

/* ---- messages for terminals
 * What is sent to an agent that is no ACP agent is typed and forgotten; only what has to wait for
 * that is kept. */
struct store_input {
    int64_t number;
    const char *agent;
    const char *sender; /* NULL: a person */
    bool enter; /* an Enter follows */
    bool begun; /* its typing has begun */
    const char *text;
    size_t len;
};
typedef bool store_each_input(const struct store_input *input, void *arg);

/* FULL, and so is that its typing has begun. */
int store_input_add(struct store *store, const struct store_input *input, int64_t *ret,
                    struct err *err);
int store_input_begin(struct store *store, int64_t number, bool begun, struct err *err);
int store_input_drop(struct store *store, int64_t number, struct err *err);
/* Those of an agent, in their order. */
int store_inputs(struct store *store, const char *agent, store_each_input *each, void *arg,
                 struct err *err);

/* ---- agent sessions and rungs */

/* How an agent came to know (or not) what was said: the rungs of the ladder. */
enum store_outcome { OUTCOME_FRESH, OUTCOME_RESUMED, OUTCOME_LOADED, OUTCOME_INJECTED };
const char *store_outcome_name(enum store_outcome outcome);

/* Where agent sessions are opened, beside the session of the store itself. */
struct store_home {
    const char *directory; /* absolute */
    const char *machine;
};
struct store_agent_session {
    const char *id; /* the agent's */
    struct store_home home;
    const char *program; /* the agent's name and version as it says */
    enum store_outcome outcome;
    const char *note; /* NULL: "" */
};

/* The agent has this session for the query now; the one before is ended. FULL. */
int store_agent_session(struct store *store, int64_t query,
                        const struct store_agent_session *session, struct err *err);
/* The newest agent session of the query that has not ended: *ret_id is NULL if there is none. One
 * that was opened elsewhere belongs to another copy of the workspace, or its agent cannot go on
 * with it: then *ret_id is NULL too, and *ret_why says why. */
int store_last_session(struct store *store, int64_t query, const struct store_home *home,
                       char **ret_id, const char **ret_why, struct err *err);
/* It is of no more use (the agent says that it does not exist). A transient failure is no reason.
 */
int store_end_session(struct store *store, int64_t query, const char *agent_session,
                      struct err *err);
/* A rung ("resume", "load") of a program has worked for the writer's agent (why NULL), or failed.
 */
int store_rung(struct store *store, const char *program, const char *rung, const char *why,
               struct err *err);
/* Why a rung is better not tried (the caller's), NULL: it may be. That takes three failures of the
 * writer's agent with this program and version, the last one in the last hour, and no agent for
 * which it has ever worked: what works is not given up because sessions were lost. */
char *store_rung_skip(struct store *store, const char *program, const char *rung);

/* ---- reading */

struct store_item {
    int64_t number;
    char conversation[37];
    int64_t query;
    const char *agent;
    enum store_role role;
    enum store_state state;
    const char *text;
    size_t len;
    const char *data, *key, *sender, *stop_reason; /* NULL none */
    int64_t time_ms;
    int64_t trigger;
    const char *tags; /* JSON array of text, "session:" and "agent:" first */
};
/* Called for each; false ends it. The item is the caller's only meanwhile. */
typedef bool store_each(const struct store_item *item, void *arg);

struct store_filter {
    const char *agent; /* NULL any */
    const char *conversation; /* NULL: any */
    int64_t query; /* 0 any */
    unsigned roles; /* bits 1 << role; 0 all */
    int64_t since_ms, until_ms; /* 0 open */
    int64_t after; /* only numbers above; 0 all */
    const char *tag; /* NULL any */
    bool waiting; /* only prompts that wait: taken, and no turn has begun for them */
    bool newest; /* limit and offset count from the newest; calls are oldest first all the same */
    int limit, offset; /* limit 0: all */
};
int store_read(struct store *store, const struct store_filter *filter, store_each *each, void *arg,
               struct err *err);
/* How many fit the filter, without limit and offset. */
int store_count(struct store *store, const struct store_filter *filter, int64_t *ret,
                struct err *err);

/* How much waits for each agent for which something does. *ret is the caller's. */
struct store_waiting {
    char agent[33];
    int count;
};
int store_waiting(struct store *store, struct store_waiting **ret, size_t *ret_count,
                  struct err *err);

/* The query history, oldest first. */
struct store_query {
    int64_t query;
    int number;
    char conversation[37];
    const char *agent;
    bool current; /* open, in the current conversation */
    int64_t started_ms, ended_ms; /* 0: open */
    const char *reason, *mode; /* why it ended; "" */
    int64_t messages;
    const char *sessions; /* JSON: [{"id","program","outcome","startedAt","endedAt","note"}] */
};
typedef bool store_each_query(const struct store_query *query, void *arg);
int store_queries(struct store *store, const char *agent, store_each_query *each, void *arg,
                  struct err *err);

/* What is to be injected into the first prompt of an agent that came back empty: the newest whole
 * turns of the query before prompt `before`, within the budget, cut at characters; "" where nothing
 * was said. Tool calls by name. It is marked as earlier conversation, and nothing in it can be
 * taken for its end: delimiters in it are escaped. */
struct store_budget {
    int messages; /* 50 */
    size_t each; /* characters of one, 2000 */
    size_t all; /* characters, 60000 */
    int64_t since; /* nothing from before the message of this number; 0: from the beginning */
};
int store_injection(struct store *store, int64_t query, int64_t before,
                    const struct store_budget *budget, struct str *ret, struct err *err);

/* The first prompt of the query before `before` that was asked since a turn last ended well and was
 * cut off, by an error, a kill or a stop: an agent that comes back may know of none of those. *ret
 * is 0 where there is none. */
int store_cut_off(struct store *store, int64_t query, int64_t before, int64_t *ret,
                  struct err *err);

/* Appends text so that nothing in it can be taken for a delimiter of what is injected. */
void store_quote(struct str *to, const char *text, size_t len);

#endif
