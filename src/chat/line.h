/*
 * The user's input line: editing and history, with libedit. It draws nothing; the view shows the
 * line. The line may contain newlines (pasted, or typed with Ctrl-J).
 */
#pragma once

struct line;

enum line_event {
    LINE_NOTHING, /* all input is in the line or incomplete */
    LINE_SUBMIT, /* Enter: *ret_text is the line, which the caller frees */
    LINE_CANCEL, /* Ctrl-C on an empty line; otherwise Ctrl-C clears the line */
    LINE_LEAVE, /* Ctrl-D on an empty line */
    LINE_REDRAW, /* Ctrl-L */
    LINE_UNFOLD, /* Ctrl-O */
    LINE_COMPLETE, /* TAB */
    LINE_PASTE, /* *ret_text, which the caller frees, is what was pasted; it is not in the line */
};

enum { LINE_PAUSE_MS = 40 }; /* after Escape, for the rest of a key sequence */

/* Puts the terminal on descriptor 0 into raw mode until line_free(). Returns NULL on error. */
struct line *line_new(struct err *err);
void line_free(struct line *line);

/* line_feed() takes input. Then call line_next() until it returns LINE_NOTHING. */
void line_feed(struct line *line, const char *bytes, size_t len);
enum line_event line_next(struct line *line, char **ret_text);
/* line_is_half() returns true while a key sequence is incomplete. After LINE_PAUSE_MS,
 * line_settle() makes the next line_next() accept it as it is. */
bool line_is_half(const struct line *line);
void line_settle(struct line *line);

/* Appends the contents of the line to `to`. *ret_cursor is the byte at the cursor. */
void line_get(struct line *line, struct str *to, size_t *ret_cursor);
/* Replaces the contents of the line. */
void line_set(struct line *line, const char *text);
/* Inserts a text at the cursor, without characters that cannot be sent; nothing if the line would
 * become too long. */
void line_insert(struct line *line, const char *text, size_t len);
/* Inserts a text that Backspace deletes as a whole, here and when the line is recalled. */
void line_insert_whole(struct line *line, const char *text);
/* Adds a prompt to the history, which Up recalls. */
void line_remember(struct line *line, const char *text);
