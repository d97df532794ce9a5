/*
 * Session ids: version 4 UUIDs (RFC 4122) in lower case.
 */
#ifndef MAS_BASE_ID_H
#define MAS_BASE_ID_H

#include "base/err.h"

#include <stdbool.h>

enum { ID_TEXT = 37 }; /* bytes of the text form with its NUL */

/* A new random id. The 16 bytes come from getrandom() itself: libuuid would fall back to guessable
 * ids without a word. Fails where the kernel gives no randomness, never guesses. */
int id_make(char ret[ID_TEXT], struct err *err);

/* true for a version 4 UUID in its canonical lower-case form. */
bool id_is_valid(const char *text);

/* id_is_valid() in any case of letters; ret gets the lower-case form. */
bool id_normalise(const char *text, char ret[ID_TEXT]);

/* true if the text could be the beginning of an id (or is one), in any case of letters. With fewer
 * than ID_PREFIX_MIN characters nothing is. Hex digits alone count as one, also past the first
 * dash. */
enum { ID_PREFIX_MIN = 4 };
bool id_could_begin(const char *text);

#endif
