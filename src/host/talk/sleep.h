/*
 * What keeps an agent's process from being ended while it is idle, and when it is:
 *
 * 1. Look for what keeps the agent awake (sleep_is_kept_awake()).
 * 2. Make run/<agent>.asleep, then the note in the history, then end the tree as for `stop`.
 * 3. At the next start remove the mark, then start the process; the history gets a note of how it
 *    came back.
 *
 * Killed before 2, the agent is started by the next host; after it, the next host leaves it asleep.
 * A kill in 3 leaves either. In each case the next prompt starts it, and what the agent knew is in
 * its session and in memory.db.
 */
#pragma once

#include "host/talk/talk.h"

/* What the history says of an agent that falls asleep, and a pane shows. */
#define SLEEP_WORDS "the agent sleeps; its next prompt or a key press wakes it"

/* Reads whether the previous host has left the agent asleep. */
void sleep_open(struct host *host);
void sleep_free(struct agent_sleep *sleep);
/* Appends why the agent cannot sleep now, and returns true; false: it can. */
bool sleep_is_kept_awake(struct host *host, struct str *why);
/* Ends the agent's process. Call it only if nothing keeps the agent awake. */
void sleep_begin(struct host *host);
/* Removes the mark of an agent that was of another kind, and of one that cannot sleep. */
void sleep_forget(const struct host *host);
/* Tries again to write the mark of an agent that sleeps. Returns false if that is not possible. */
bool sleep_mark_again(struct host *host);
/* Notes that the process starts, ends, begins a turn, ends one well, or leaves its session. */
void sleep_process_starts(struct host *host);
void sleep_process_ended(struct host *host);
void sleep_turn_begins(struct host *host);
void sleep_turn_ended(struct host *host);
void sleep_session_left(struct host *host);
/* Notes what a tool call has become. */
void sleep_tool_told(struct host *host, const struct tool_call *tool);
/* Notes that a person types in the pane: the time begins anew. */
void sleep_keys(struct host *host);
/* Puts an agent to sleep that has been idle for long enough. Returns when to call again. */
int64_t sleep_tick(struct host *host, int64_t now);
