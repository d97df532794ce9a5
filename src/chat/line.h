/*
 * What a person types: line editing and history, by libedit. It draws nothing: what stands in the
 * line is for the view. Newlines may be in it (pasted, or Ctrl-J).
 */
#ifndef MAS_CHAT_LINE_H
#define MAS_CHAT_LINE_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct line;

enum line_event {
    LINE_NOTHING, /* all that came is in the line, or not whole yet */
    LINE_SUBMIT, /* Enter: *ret_text, which is the caller's */
    LINE_CANCEL, /* Ctrl-C at an empty line; else that empties it */
    LINE_LEAVE, /* Ctrl-D at an empty line */
    LINE_REDRAW, /* Ctrl-L */
    LINE_COMPLETE, /* TAB */
};

enum { LINE_PAUSE_MS = 40 }; /* after Escape, for the rest of a key */

/* The terminal is on descriptor 0; it is raw until line_free(). */
struct line *line_new(struct err *err);
void line_free(struct line *line);

/* What was typed goes in, and events come out until there are none. */
void line_feed(struct line *line, const char *bytes, size_t len);
enum line_event line_next(struct line *line, char **ret_text);
/* true while half a key is there; line_settle() takes it for a whole one after LINE_PAUSE_MS. */
bool line_is_half(const struct line *line);
void line_settle(struct line *line);

/* What is in the line, and the byte that the cursor is at. */
void line_get(struct line *line, struct str *to, size_t *ret_cursor);
/* Puts a text into it in place of what is there. */
void line_set(struct line *line, const char *text);
/* Inserts a text where the cursor is, without what could not be sent. */
void line_insert(struct line *line, const char *text, size_t len);
/* A prompt of before, which Up brings back. */
void line_remember(struct line *line, const char *text);

#endif
