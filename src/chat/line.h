/*
 * The user's input line: editing and history, with libedit. It draws nothing; the view shows the
 * line. The line may contain newlines (pasted, or typed with Ctrl-J).
 */
#pragma once

struct line;

enum line_event {
    LINE_NOTHING, /* all input is in the line or incomplete */
    LINE_SUBMIT, /* Enter: *ret_text is the line, which the caller frees */
    LINE_CANCEL, /* Ctrl-C on an empty line */
    LINE_CLEARED, /* Ctrl-C on one that is not; it is now */
    LINE_LEAVE, /* Ctrl-D on an empty line */
    LINE_REDRAW, /* Ctrl-L */
    LINE_UNFOLD, /* Ctrl-O */
    LINE_COMPLETE, /* TAB */
    LINE_SEARCH, /* Ctrl-R */
    LINE_DROP, /* Ctrl-X */
    LINE_UP,
    LINE_DOWN,
    LINE_ESCAPED, /* Escape */
    LINE_ESCAPED_TWICE, /* Escape, without another key since the one before */
    LINE_PASTE, /* *ret_text, which the caller frees, is what was pasted; it is not in the line;
                   NULL: it is longer than a message may be */
    LINE_EVENT_COUNT
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
/* Inserts a text at the cursor, cleaned; nothing if the line would become too long. */
void line_insert(struct line *line, const char *text, size_t len);
/* Appends a text without characters that cannot be sent. */
void line_clean(const char *text, size_t len, struct str *to);
/* Has Backspace delete a text as a whole, also when the line is recalled. */
void line_whole(struct line *line, const char *text);

/* Adds a prompt to the history. */
void line_remember(struct line *line, const char *text);
/* Replaces the line by the entry before or after the one that it shows. */
void line_recall(struct line *line, bool back);
/* Returns the newest `most` entries that contain a text, the newest first, in any case of ASCII;
 * the caller frees them with strv_free(). */
char **line_find(struct line *line, const char *part, size_t most);
/* Removes the entries that contain a text. */
void line_forget(struct line *line, const char *part);
