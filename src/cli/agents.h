/*
 * Show the state of an agent, as text and as JSON. `i` is the number of the agent in the roster.
 */
#pragma once

#include "base/json.h"
#include "client/roster.h"
#include "store/root.h"

struct table;

/* Returns the name of the agent's state, or why its host did not report one: "no host",
 * "no answer". */
const char *agent_word(const struct roster *roster, size_t i);
/* Returns the escape sequence for the colour of that state, or NULL for none. */
const char *agent_colour(const struct roster *roster, size_t i);
/* Writes the age of the state, such as "5m", or "-" if it is unknown. */
void agent_age(const struct roster *roster, size_t i, int64_t now_ms, char buf[24]);
/* Returns true if an agent of the roster has a work tree of its own. */
bool agents_have_code(const struct roster *roster);
/* Appends what it has done: "+2 -1 ~3" for 2 commits ahead of the integration branch, 1 behind it
 * and 3 files that are not committed; "=" if there is none; "?" if mas cannot read it; "-" if
 * nobody has looked. If the figures are older than a minute, adds their age: "+2 (5m)". */
void agent_add_code(const struct roster *roster, size_t i, int64_t now_ms, struct str *to);
/* Adds the cells of both, BRANCH and CODE, to a table. */
void agent_add_code_cells(const struct roster *roster, size_t i, int64_t now_ms,
                          struct table *table);
/* Appends further notes: how the agent ended, when it starts again, how many messages wait, how
 * much output was not logged, and which permission it asks for or what it reports. */
void agent_add_note(const struct roster *roster, size_t i, int64_t now_ms, struct str *to);
/* Reads from disk how many messages wait for agents without a host. agent_add_note() and
 * agent_put_json() show the number. */
void agents_read_waiting(struct roster *roster);
/* Appends "<before>10 (2 queued), 11 (1 queued)" for the agents of a stopped session; nothing if no
 * message waits or the store cannot be read. */
void agents_add_waiting(const struct root *root, const char *id, const char *before,
                        struct str *to);
/* Returns the ids of the agents without a host whose newest turn was cut off, by a stop or a kill;
 * the caller releases the vector. */
char **agents_cut_off(const struct root *root, const char *id);
/* Tells which turns were cut off when these agents ran last (NULL: none), and how to go on. */
void agents_tell_cut_off(const char *label, char *const *agents);
/* Adds the members of the agent to an open object: "id", "role", "rank", "group", and its status.
 * If the host did not report a status, adds "state":null, "problem" and "queued" instead. */
void agent_put_json(const struct roster *roster, size_t i, struct json_out *out);
