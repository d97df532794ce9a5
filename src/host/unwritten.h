/*
 * Writes to memory.db that could not be made, as on a full disk: they wait in their order, and are
 * tried again. For src/host/ only.
 */
#pragma once

#include "host/state.h"

/* Writes now or, unless the error is final, later; `store` NULL: it could not be opened, and *err
 * says why. Returns the number of the message; 0: there is none. *err is set if the try failed. */
int64_t unwritten_write(struct host *host, struct store *store, const struct unwritten_write *write,
                        struct err *err);
/* Writes what has waited, as far as that is possible now. Fails with MAS_DAMAGED only. */
int unwritten_flush(struct host *host, struct store *store, struct err *err);
/* Says why something is not written, and has it tried again. */
void unwritten_note(struct host *host, const struct err *err);
/* Forgets what waits, as the store is another one. */
void unwritten_drop(struct host *host);
/* The host ends: says how much is lost. Call it after a last unwritten_flush(). */
void unwritten_close(struct host *host);
/* Returns true while writes to memory.db wait: no turn begins then. */
bool unwritten_holds(struct host *host);
/* Returns true if so much waits that the agent must not be read. */
bool unwritten_is_full(const struct host *host);

/* Tries again if it is time. Each function returns true if nothing of its kind is left. Returns
 * when to call again. */
typedef bool unwritten_try(struct host *host);
int64_t unwritten_tick(struct host *host, unwritten_try *const tries[], size_t count, int64_t now);
