/*
 * Keys of a terminal by their names, as presets say which ones answer a program: names separated by
 * blanks, such as "Esc Esc", "Ctrl-C" or "y".
 *
 *     const char *at = "Down Enter";
 *     char bytes[KEY_BYTES];
 *     while (key_next(&at, bytes)) ...
 */
#pragma once

enum { KEY_BYTES = 8, KEYS_MAX = 8 /* names in a text */ };

/* Reads the next name of a text, and fills in the bytes that the key sends, with a NUL. Returns
 * false at the end of the text, and at a name that no key has. */
bool key_next(const char **text, char ret[KEY_BYTES]);
/* Returns true if the text has at most KEYS_MAX names, each of a key. */
bool keys_are_known(const char *text);
