/*
 * The store: the messages of one session, in its memory.db (SQLite). Only the host of an agent
 * writes the agent's conversations; any number of processes read them.
 *
 *     conversation  of one agent; one of them is its current one
 *       query       what the model may see together: a clear ends one and opens the next
 *         message   a prompt, an answer, a tool call, ... with tags and the prompt that caused it
 *         agent session   an id that the agent gave for this query, and how it was obtained
 *
 * Everything is written before it is shown. SYNC_CHUNK survives a kill, SYNC_FULL also a power
 * failure. A text that grows is a message with pieces (`store_append`), which are joined when it is
 * finished. When a writer opens the store, messages that a kill left unfinished are marked as
 * interrupted, and a turn that has no end as stopped. An open prompt is a waiting one: no turn has
 * begun for it, and it outlives its writer.
 *
 * The public id of a message is "<session id>:<number>". Every message has the tags "session:<id>"
 * and "agent:<id>", which are not stored; further tags are KEY:VALUE.
 *
 * A database of a newer mas is MAS_FAILED and a damaged one MAS_DAMAGED; store_set_aside() makes
 * room for a new one. Only src/memory uses SQLite.
 */
#pragma once

#include "store/workspace.h"

#define STORE_FILE WORKSPACE_MEMORY

enum {
    STORE_TEXT_MAX = 16 << 20, /* bytes of one message */
    STORE_TAGS_MAX = 32, /* of one message */
    STORE_TAG_MAX = 256, /* bytes */
};

enum store_sync { SYNC_CHUNK, SYNC_FULL };

enum store_role {
    ROLE_USER, /* a prompt from a person, a program or another agent (`sender`) */
    ROLE_AGENT, /* an answer */
    ROLE_THOUGHT,
    ROLE_TOOL, /* a tool call; `data` is its latest state as JSON, `text` how it is shown */
    ROLE_PLAN,
    ROLE_PERMISSION, /* a request, and the decision */
    ROLE_MODE, /* a mode, model or option was changed */
    ROLE_NOTE, /* from mas: how the agent resumed, an error of a turn, an end */
    ROLE_COUNT
};
const char *store_role_name(enum store_role role); /* "user", "agent", ... */
bool store_role_parse(const char *text, enum store_role *ret);

enum store_state { MESSAGE_OPEN, MESSAGE_DONE, MESSAGE_INTERRUPTED, MESSAGE_FAILED };
/* Returns "open", "done" and so on. */
const char *store_state_name(enum store_state state);

struct store;
struct store_agent_session;
struct store_transcript;

/* Opens memory.db of the workspace `dir`. With `write`, a missing file is created (mode 600);
 * without it, a missing file is MAS_NOT_FOUND. `agent` is the agent whose conversations this writer
 * keeps (NULL for readers): its messages that a killed writer left open are marked as interrupted,
 * except waiting prompts, and its turns as stopped. Thirteen processes may open it at once. If it
 * is busy, waits as long as other processes write to it, and 10 s more. Fails with MAS_CONFLICT if
 * another machine has the session (store/owner.h). The caller closes *ret with store_close(). */
int store_open(int dir, const char *session_id, const char *agent, bool write, struct store **ret,
               struct err *err);
/* Adds to an error what helps with a damaged memory.db, if it is one. Returns -1. */
int store_failed(struct err *err);
void store_close(struct store *store);
void store_closep(struct store **store);
#define _cleanup_store_ __attribute__((cleanup(store_closep)))

/* Renames memory.db and its companion files to memory.db.damaged-<time>. The caller frees
 * *ret_name. */
int store_set_aside(int dir, char **ret_name, struct err *err);
/* Returns what the session has lost, which the caller frees: an earlier memory.db was set aside, or
 * it is missing or empty although agents have had conversations. NULL: nothing. */
char *store_loss(int dir);
/* Returns true if the session's log says that an agent has had a conversation; NULL: any agent. */
bool store_had_talks(int dir, const char *agent);
/* Returns true if the store has a conversation of the agent. */
bool store_knows(struct store *store, const char *agent);
/* Runs SQLite's integrity check and its foreign key check. Fails with MAS_DAMAGED and the first
 * finding. */
int store_check(struct store *store, struct err *err);

/* ---- the position of a host */

struct store_place {
    char conversation[37]; /* UUID */
    int64_t query; /* number, unique in the session */
    int number; /* its place in the conversation, from 1 */
    bool is_new; /* the query has no messages yet */
    bool injected; /* a turn has succeeded since the history was injected */
    char *mode, *model; /* as set by mas, to be set again; "": none */
    char *options; /* JSON object id -> value; "{}" */
};
void store_place_free(struct store_place *place);

enum conversation_choice { CHOICE_CURRENT, CHOICE_NEW, CHOICE_NAMED };
/* Enters a conversation and makes it the current one of the writer's agent: the current one, a new
 * one, or the one with that id (a UUID or a unique prefix of at least 4 characters; MAS_NOT_FOUND,
 * MAS_CONFLICT). The caller releases *ret with store_place_free(). */
int store_enter(struct store *store, enum conversation_choice choice, const char *id,
                struct store_place *ret, struct err *err);
/* Like store_enter(), creates a new conversation if asked, but does not make it the current one: a
 * waiting prompt is kept there, and the agent enters the conversation when its turn begins. */
int store_prepare(struct store *store, enum conversation_choice choice, const char *id,
                  struct store_place *ret, struct err *err);
/* Stores mode, model and options; NULL leaves a value unchanged. */
int store_keep_settings(struct store *store, const char *conversation, const char *mode,
                        const char *model, const char *options, struct err *err);

/* ---- writing */

struct store_message {
    enum store_role role;
    enum store_state state;
    const char *text; /* NULL: "" */
    size_t len;
    const char *data; /* JSON; NULL: none */
    const char *key; /* the agent's own id for it (toolCallId); NULL: none */
    const char *sender; /* agent that sent the prompt; NULL: a person */
    int64_t trigger; /* number of the prompt that caused it; 0: none */
    char *const *tags; /* NULL-terminated, KEY:VALUE; NULL: inherit those of the trigger */
};

/* Fails with MAS_USAGE if there are too many tags, or if one is no KEY:VALUE of plain text or is
 * put on by mas alone. NULL: there are none. */
int store_check_tags(char *const *tags, struct err *err);
/* Adds a message to the query; *ret is its number. Its text has at most STORE_TEXT_MAX bytes. */
int store_add(struct store *store, int64_t query, const struct store_message *message,
              enum store_sync sync, int64_t *ret, struct err *err);
/* Appends a piece to the text of an open message, with SYNC_CHUNK. Fails with MAS_FAILED if the
 * text would exceed STORE_TEXT_MAX bytes. */
int store_append(struct store *store, int64_t number, const char *text, size_t len,
                 struct err *err);
/* Replaces text and data (NULL: unchanged) and sets the state. Each has at most STORE_TEXT_MAX
 * bytes. */
int store_update(struct store *store, int64_t number, const char *text, size_t len,
                 const char *data, enum store_state state, enum store_sync sync, struct err *err);
/* Joins the pieces to the text and sets the state. */
int store_finish(struct store *store, int64_t number, enum store_state state, enum store_sync sync,
                 struct err *err);
/* Records that the agent has taken a prompt in the middle of the turn of another; 0: it has not. */
int store_join_turn(struct store *store, int64_t number, int64_t turn, struct err *err);
/* For a copy of a session: ends waiting prompts, as "not asked", and waiting messages. *ret_count
 * is their number. */
int store_disown(struct store *store, int64_t *ret_count, struct err *err);
/* For an agent that leaves its team: ends what waits for it, as store_disown() does, and its
 * conversations, so that another agent of this name begins one of its own; what a person has set
 * for it is forgotten. What was said stays. */
int store_retire(struct store *store, const char *agent, int64_t *ret_count, struct err *err);
/* Ends a turn in one FULL transaction: all open messages of the trigger get `state` and the prompt
 * its stop reason; `why`, if it is not NULL, is a note with the same state. After a turn that is
 * DONE no history needs to be injected. */
int store_end_turn(struct store *store, int64_t query, int64_t prompt, const char *stop_reason,
                   enum store_state state, const char *why, struct err *err);
#define STORE_STOPPED "stopped" /* the stop reason of a turn that was cut off */

/* How the newest turn of an agent ended. */
struct store_turn {
    int64_t prompt; /* its number; 0: the agent has had no turn */
    bool over; /* false: it is on or, without a host, was cut off */
    enum store_state state;
    bool stopped; /* it was cut off */
    char *why; /* the note at its end; NULL: none */
    int64_t time_ms; /* of that note, else of the prompt */
};
/* Sets *ret to whether mas has told the agent this, as a note. */
int store_has_note(struct store *store, const char *agent, const char *text, bool *ret,
                   struct err *err);
/* Finds it. The caller releases *ret with store_turn_free(). */
int store_newest_turn(struct store *store, const char *agent, struct store_turn *ret,
                      struct err *err);
void store_turn_free(struct store_turn *turn);
/* Returns how many turns of the writer's agent this store_open() has found cut off. */
size_t store_cut_turns(const struct store *store);

/* What was said in an agent session before it became one of mas. */
struct store_adopted {
    struct store_message message; /* its trigger is not read */
    size_t prompt; /* the number in the list, from 1, of the prompt that has caused it; 0: none */
    const char *stop_reason; /* of a prompt: how its turn has ended */
};
struct store_adoption {
    const struct store_adopted *said;
    size_t count;
    const struct store_agent_session *session; /* that goes on; NULL: none */
    const struct store_transcript *at; /* how far its transcript is read; NULL: it has none */
};

/* Clears the context in one FULL transaction: ends the query with `reason` ("clear", "plan",
 * "agent", "adopt"), ends its agent sessions, marks all waiting prompts of the agent as cleared,
 * opens the next query of the conversation and, if then_text is not NULL, adds that as its first
 * prompt
 * (*ret_then). */
struct store_clear {
    const char *reason;
    const char *mode; /* of the new query; NULL: unchanged */
    const char *then_text;
    size_t then_len;
    const char *sender;
    char *const *tags;
    const struct store_adoption *adopts; /* what the next query begins with; NULL: nothing */
};
int store_clear(struct store *store, const char *conversation, const struct store_clear *clear,
                struct store_place *ret, int64_t *ret_then, struct err *err);

/* ---- messages for terminals */

/* A message to an agent that does not speak ACP is typed and not kept;
 * only one that must wait is stored. */
struct store_input {
    int64_t number;
    const char *agent;
    const char *sender; /* NULL: a person */
    bool enter; /* press Enter after it */
    bool begun; /* typing has begun */
    bool note; /* mas has written it */
    const char *text;
    size_t len;
    const char *data; /* its pictures; NULL: none */
};
typedef bool store_each_input(const struct store_input *input, void *arg);

/* Add a waiting message, record that its typing has begun, and remove it. The first two use a FULL
 * transaction. */
int store_input_add(struct store *store, const struct store_input *input, int64_t *ret,
                    struct err *err);
int store_input_begin(struct store *store, int64_t number, bool begun, struct err *err);
int store_input_drop(struct store *store, int64_t number, struct err *err);
/* Reads the waiting messages of an agent in order. */
int store_inputs(struct store *store, const char *agent, store_each_input *each, void *arg,
                 struct err *err);

/* ---- agent sessions and how to resume them */

/* How an agent learned what was said before, or did not. */
enum store_outcome {
    OUTCOME_FRESH,
    OUTCOME_RESUMED,
    OUTCOME_LOADED,
    OUTCOME_INJECTED,
    OUTCOME_COUNT
};
/* Returns "fresh", "resumed" and so on. */
const char *store_outcome_name(enum store_outcome outcome);

/* Where agent sessions are opened, besides the session of the store itself. */
struct store_home {
    const char *directory; /* absolute */
    const char *machine;
};
struct store_agent_session {
    const char *id; /* the agent's own */
    struct store_home home;
    const char *program; /* name and version as the agent reports them */
    enum store_outcome outcome;
    const char *note; /* NULL: "" */
};

/* Records that the agent now uses this session for the query, and ends the previous one. FULL. */
int store_agent_session(struct store *store, int64_t query,
                        const struct store_agent_session *session, struct err *err);
/* Returns the newest agent session of the query that has not ended. *ret_id, which the caller
 * frees, is NULL if there is none. It is also NULL if the session was opened elsewhere: it belongs
 * to another copy of the workspace, or the agent cannot continue it here; then *ret_why gives the
 * reason. */
int store_last_session(struct store *store, int64_t query, const struct store_home *home,
                       char **ret_id, const char **ret_why, struct err *err);
/* What is copied of an agent for the writer's, which has no conversation. */
struct store_forked {
    int64_t query; /* of the writer's agent; 0: nothing was said */
    char *session; /* the agent session in which all of it was said; NULL: there is none; the caller
                    * frees it */
};
/* Copies the open query of an agent's current conversation to that of the writer's agent: a turn in
 * the middle is one that was stopped, and what waits is not copied. The writer's agent is told of
 * it as one that has lost its session. `home` is where the other one's session is opened. */
int store_fork(struct store *store, const char *from, const struct store_home *home,
               struct store_forked *ret, struct err *err);
/* Gives the fork an agent session that knows all that was said, so that nothing is told. */
int store_fork_goes_on(struct store *store, int64_t query,
                       const struct store_agent_session *session, const struct store_transcript *at,
                       struct err *err);

/* Ends an agent session that is of no more use because the agent says that it does not exist. Do
 * not call it for a transient failure. */
int store_end_session(struct store *store, int64_t query, const char *agent_session,
                      struct err *err);
/* Records that a resume method ("resume", "load") of a program worked for the writer's agent (why
 * NULL), or failed. */
int store_method_tried(struct store *store, const char *program, const char *method,
                       const char *why, struct err *err);
/* Returns why a resume method should not be tried, which the caller frees; NULL if it may be. A
 * method is skipped after three failures of the writer's agent with this program and version, the
 * last one within the last hour, unless it has ever worked for any agent: a working method is not
 * given up because sessions were lost. */
char *store_method_skip(struct store *store, const char *program, const char *method);

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
    const char *data, *key, *sender, *stop_reason; /* NULL: none */
    int64_t time_ms;
    int64_t trigger;
    const char *tags; /* JSON array of strings, "session:" and "agent:" first */
};
/* Returns the tags of an item without those that mas puts on; the caller releases the vector. */
char **store_own_tags(const char *text);
/* Called for each message; return false to stop. `item` is valid during the call. */
typedef bool store_each(const struct store_item *item, void *arg);

struct store_filter {
    const char *agent; /* NULL: any */
    const char *conversation; /* NULL: any */
    int64_t query; /* 0: any */
    unsigned roles; /* bits 1 << role; 0: all */
    int64_t since_ms, until_ms; /* 0: no limit */
    int64_t after; /* only higher numbers; 0: all */
    int64_t from; /* only this number and higher ones; 0: all */
    const char *tag; /* NULL: any */
    bool waiting; /* only waiting prompts: accepted, but no turn has begun */
    bool newest; /* count limit and offset from the newest; the order stays oldest first */
    bool by_turn; /* an answer stands under its prompt, although others had come before it */
    int limit, offset; /* limit 0: all */
};
/* Reads the messages that match the filter, oldest first. */
int store_read(struct store *store, const struct store_filter *filter, store_each *each, void *arg,
               struct err *err);
/* Counts the messages that match the filter, without limit and offset. */
int store_count(struct store *store, const struct store_filter *filter, int64_t *ret,
                struct err *err);

/* Counts the waiting messages of each agent that has any. The caller frees *ret. */
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
    bool current; /* open, and in the current conversation */
    int64_t started_ms, ended_ms; /* 0: open */
    const char *reason, *mode; /* why it ended; or "" */
    int64_t messages;
    const char *sessions; /* JSON: [{"id","program","outcome","startedAt","endedAt","note"}] */
};
typedef bool store_each_query(const struct store_query *query, void *arg);
int store_queries(struct store *store, const char *agent, store_each_query *each, void *arg,
                  struct err *err);

/* Builds the text to inject into the first prompt of an agent that lost its context: the newest
 * complete turns of the query before prompt `before`, within the budget, cut at characters; "" if
 * there are none. Tool calls are included by name. The text is marked as earlier conversation, and
 * delimiters in it are escaped so that nothing in it can end it. */
#define STORE_COMPACTION "compaction" /* key of a note that tells what a compaction has left */
struct store_budget {
    int messages; /* default 50 */
    size_t each; /* characters of one message, default 2000 */
    size_t all; /* characters in total, default 60000 */
    int64_t since; /* nothing before the message with this number; 0: no limit */
};
int store_injection(struct store *store, int64_t query, int64_t before,
                    const struct store_budget *budget, struct str *ret, struct err *err);

/* Finds the first prompt of the query before `before` that was cut off by an error, a kill or a
 * stop since the last turn that ended well: an agent that resumes may know none of those prompts.
 * *ret is 0 if there is none. */
int store_cut_off(struct store *store, int64_t query, int64_t before, int64_t *ret,
                  struct err *err);

/* Appends text and escapes anything that could be taken for a delimiter of injected text. */
void store_quote(struct str *to, const char *text, size_t len);
/* Appends a line for each picture of a prompt; the second function quotes it as store_quote() does.
 */
void store_say_pictures(const struct store_item *item, struct str *to);
void store_add_pictures(const struct store_item *item, struct str *to);
