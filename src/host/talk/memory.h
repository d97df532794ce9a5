/* Where the conversation is stored, and the messages of mas in it. */
#pragma once

#include "host/talk/talk.h"
#include "host/unwritten.h"

/* Tells a message of mas; with `keep` it is stored first. */
void memory_say(struct host *host, bool keep, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Appends what mas tells an agent of a session that came back from a save: that what came after it
 * is lost. With `once`, only if the history does not say so yet; in any case it does then. */
void memory_tell_loss(struct host *host, bool once, struct str *to);
/* Opens the store unless it is open, and reads the prompts that wait in it. */
int memory_need(struct host *host, struct err *err);
/* Handles a failed call of the store: tells the clients once a turn, sets a damaged store aside and
 * goes on in a new one. */
void memory_failed(struct host *host, const struct err *err);
/* Calls memory_failed() if rc is -1. Returns true if it is not. */
bool memory_kept(struct host *host, int rc, const struct err *err);
/* Stores a message of the present query. Returns its number; 0: it is not stored. */
int64_t memory_add(struct host *host, const struct store_message *message);
/* Updates a message; see store_update(). */
void memory_update(struct host *host, int64_t number, const char *text, size_t len,
                   const char *data, enum store_state state, enum store_sync sync);
/* Appends a piece to a message that grows, and ends such a message. */
void memory_append(struct host *host, int64_t number, const char *text, size_t len);
void memory_finish(struct host *host, int64_t number);
/* Stores that a prompt belongs to the turn of another, 0: to none; see store_join_turn(). */
void memory_join_turn(struct host *host, int64_t number, int64_t turn);
/* Returns the state that the messages of a turn get if it ends so. */
enum store_state memory_end_state(const char *stop_reason);
/* Stores the end of a prompt, and why it has failed or was stopped (NULL: not known); see
 * store_end_turn(). */
void memory_end_prompt(struct host *host, int64_t prompt, const char *stop_reason, const char *why);
/* Returns true, and resets the error, if a call has failed because the store was damaged or set
 * aside, and a new one is open now. Then the caller tries again. */
bool memory_renew(struct host *host, struct err *err);
/* Writes to the store, now or, if it takes nothing, later. Returns the number of the message; 0:
 * there is none. */
int64_t memory_write(struct host *host, const struct unwritten_write *write);
/* Returns the write that records the agent's session for the present query. It points to the texts
 * of `session`. */
struct unwritten_write memory_session_write(const struct host *host,
                                            const struct store_agent_session *session);
/* Try again what could not be done, for unwritten_tick(). */
bool memory_open_again(struct host *host);
bool memory_flush(struct host *host);
/* Tries for the last time, and closes the store. */
void memory_close(struct host *host);

/* Returns how much of what was said goes in front of a prompt ([memory]). */
struct store_budget memory_budget(const struct host *host);
