/*
 * What others have written, in a text of mas for an agent.
 */
#pragma once

/* Appends the lines of a text, each cut to 300 bytes, made visible, and behind "| ", so that none
 * can be taken for one that mas has written: the first `max` bytes of that, or with `end` the last,
 * and "..." where it was cut. */
void str_add_quoted(struct str *s, const char *text, size_t len, size_t max, bool end);
