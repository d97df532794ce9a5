/*
 * Session ids: version 4 UUIDs (RFC 4122) in lower case.
 */
#pragma once

enum { ID_TEXT = 37 }; /* bytes of the text form, with the NUL */

/* Creates a new random id. The 16 bytes come from getrandom(), because libuuid silently falls back
 * to guessable ids. Fails if the kernel provides no randomness. */
int id_make(char ret[ID_TEXT], struct err *err);

/* Returns true if the text is a version 4 UUID in canonical lower-case form. */
bool id_is_valid(const char *text);

/* Like id_is_valid(), but accepts upper case too. On success `ret` receives the lower-case form. */
bool id_normalise(const char *text, char ret[ID_TEXT]);

/* Returns true if the text can be the beginning of an id or is an id, in upper or lower case. The
 * text needs at least ID_PREFIX_MIN characters. Hex digits without dashes are accepted too, even
 * beyond the position of the first dash. */
enum { ID_PREFIX_MIN = 4 };
bool id_could_begin(const char *text);
