/*
 * How commands show what an agent does.
 */
#ifndef MAS_CMD_AGENTS_H
#define MAS_CMD_AGENTS_H

#include "base/json.h"
#include "base/str.h"
#include "client/roster.h"
#include "store/root.h"

#include <stddef.h>
#include <stdint.h>

/* The state of agent `i`, or why it has not told one: "no host", "no answer". */
const char *agent_word(const struct roster *roster, size_t i);
/* An escape sequence, or NULL. */
const char *agent_colour(const struct roster *roster, size_t i);
/* How long it has been so: "5m"; "-" where that is not known. */
void agent_age(const struct roster *roster, size_t i, int64_t now_ms, char buf[24]);
/* What else is worth a word: how it ended, when it starts again, what waits for it, what it says.
 */
void agent_add_note(const struct roster *roster, size_t i, int64_t now_ms, struct str *to);
/* Reads from disk what waits for agents that have no host, for the two below. */
void agents_read_waiting(struct roster *roster);
/* Appends "<before>10 (2 queued), 11 (1 queued)" for all agents of a session that does not run, or
 * nothing. */
void agents_add_waiting(const struct root *root, const char *id, const char *before,
                        struct str *to);
/* The members of agent `i` in an open object: "id", "role", "rank", "group", and its status or
 * "state":null and "problem". */
void agent_put_json(const struct roster *roster, size_t i, struct json_out *out);

#endif
