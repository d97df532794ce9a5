/*
 * Keys of a terminal by their names, as presets say which ones answer a program: names separated by
 * blanks, such as "Esc 200ms Esc", "Ctrl-C" or "y". A time is a pause before the next key.
 *
 *     const char *at = "Down Enter";
 *     char bytes[KEY_BYTES];
 *     while (key_next(&at, bytes)) ...
 */
#pragma once

enum { KEY_BYTES = 8, KEYS_MAX = 8 /* names in a text */ };

/* Skips the pauses that a text begins with. Returns how long they are, in ms. */
int key_pause(const char **text);
/* Reads the next name of a text, behind its pauses, and fills in the bytes that the key sends, with
 * a NUL. Returns false at the end of the text, and at a name that no key has. */
bool key_next(const char **text, char ret[KEY_BYTES]);
/* Returns true if the text has at most KEYS_MAX names, each of a key. */
bool keys_are_known(const char *text);
