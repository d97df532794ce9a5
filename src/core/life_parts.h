/*
 * What the beginning and the end of a session's life share; for life.c and life_stop.c only.
 */
#ifndef MAS_CORE_LIFE_PARTS_H
#define MAS_CORE_LIFE_PARTS_H

#include "core/life.h"

/* Opens and locks a session's directory; both descriptors are the caller's. `who` is the verb. */
int life_hold(const struct life *life, const char *id, int wait_ms, const char *who, int *ret_dir,
              int *ret_lock, struct err *err);

/* Reads its metadata, with an error that names the verb. */
int life_load(const struct life *life, int dir, const char *id, const char *what,
              struct session *ret, struct err *err);

/* Writes metadata and row of a session whose lock is held. */
int life_record(const struct life *life, int dir, const struct session *session, struct err *err);

/* Puts back the metadata `before` (session_format()) and its row, as well as that can be done. */
void life_take_back(const struct life *life, int dir, const char *id, const struct str *before);

#endif
