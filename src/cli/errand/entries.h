/*
 * The entries of store/every.h, for the verbs that make them: `mas every`, and those of errands.
 */
#pragma once

#include "client/roster.h"
#include "cmd.h"
#include "store/every.h"

/* Finds the session of the entry, or only errand, whose number is the value of an option. */
int entries_find(const struct call *call, const char *option, bool errands, int64_t *ret,
                 char ret_id[ID_TEXT], struct err *err);
/* Removes the entry that --off names, and ends its process. `exe` is mas. */
int entries_drop(const struct call *call, const char *exe, bool errands, struct err *err);
/* Prints all entries, or only errands. */
int entries_list(const struct call *call, const char *exe, bool errands, struct err *err);
void entries_put(struct json_out *out, const struct session_label *label, const char *id,
                 const struct every_entry *entry);
void entries_show_time(int64_t ms, char ret[64]);

/* Finds the agent of a session, and opens its team. The caller closes *ret with roster_close(). */
int entries_agent(const struct call *call, const char *session, const char *agent,
                  struct roster_team *ret, struct err *err);
/* Fails with MAS_CONFLICT for an agent that does not tell when its turns end. */
int entries_tells(const struct config *config, const struct team *team, const char *agent,
                  struct err *err);
/* Takes SESSION AGENT TEXT..., or --file, into an entry, and opens the team likewise. */
int entries_fill(struct call *call, struct every_entry *entry, struct roster_team *ret,
                 struct err *err);
/* Adds an errand, with the environment of this process, and begins its process. */
int entries_begin(const struct call *call, const struct roster_team *team,
                  struct every_entry *entry, struct err *err);
/* Waits until an errand is over, or `done` of it, whatever is killed meanwhile, and warns of what
 * it waits for after a failure. *ret, which is empty at first, is the entry then; the caller
 * releases it. Fails with MAS_CANCELLED if it was ended by --off, with MAS_CONFLICT if the session
 * was stopped. */
int entries_await(const struct call *call, const char *id, int64_t number,
                  bool (*done)(const struct every_entry *entry), struct every_entry *ret,
                  struct err *err);
