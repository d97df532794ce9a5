/*
 * Turns terminal output into lines of text: each line as it stood when the program left it.
 * Carriage returns, backspaces and sequences that move, insert or erase within a line are applied.
 * A sequence that leaves the line in another way than by a newline (up, home, another screen) ends
 * the line. Colours, titles and the like are dropped.
 *
 * A line is always safe to print: UTF-8 without control characters other than tabs; bytes that are
 * not UTF-8 become \xNN. A line that is too long continues in the next one.
 *
 *     struct term_text term = {.columns = 0};
 *     term_text_feed(&term, bytes, len, on_line, arg);   for each piece of output
 *     term_text_end(&term, on_line, arg);                the last line, if it has no newline
 *     term_text_free(&term);
 */
#pragma once

#include "base/vt.h"

enum { TERM_TEXT_COLUMNS_MAX = 8192 };

/* Zero-initialised. Its memory grows with the longest line. */
struct term_text {
    struct vt vt;
    uint32_t *cells; /* the bytes of one character each, first byte lowest; 0: empty */
    size_t columns; /* cells in use */
    size_t room;
    size_t cursor; /* may be beyond the last cell */
    int missing; /* bytes that the character before the cursor still needs */
    bool is_edited; /* in a line editor, which marks pastes */
    bool at_margin; /* a carriage return may have been the end of a row */
    struct str text; /* of the line that was requested last */
};

/* Receives one line, NUL-terminated, without its newline. `line` is valid during the call. */
typedef void term_text_line(const char *line, size_t len, void *arg);

/* Parses output and calls `on_line` for each finished line. */
void term_text_feed(struct term_text *term, const char *bytes, size_t len, term_text_line *on_line,
                    void *arg);
/* Ends the current line if it is not empty, and drops an incomplete sequence. */
void term_text_end(struct term_text *term, term_text_line *on_line, void *arg);
void term_text_free(struct term_text *term);
