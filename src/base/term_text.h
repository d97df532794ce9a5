/*
 * The text of what a program printed on a terminal, as lines: what stood in each line when the
 * program left it. Carriage returns, backspaces and what moves, inserts or erases within a line do
 * their work; what leaves the line in another way than a newline (up, home, another screen) ends
 * it. Colours, titles and the like are gone.
 *
 * A line is safe to print whatever went in: UTF-8 without control characters but tabs; bytes that
 * are not UTF-8 become \xNN. A line that is too long goes on in the next one.
 *
 *     struct plain plain = {.columns = 0};
 *     term_text_feed(&plain, bytes, len, on_line, arg);   as often as there is something
 *     term_text_end(&plain, on_line, arg);                the last line, if it has no end
 *     term_text_free(&plain);
 */
#ifndef MAS_BASE_TERM_TEXT_H
#define MAS_BASE_TERM_TEXT_H

#include "base/str.h"
#include "base/vt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TERM_TEXT_COLUMNS_MAX = 8192 };

/* Zero-initialised. Small while lines are. */
struct term_text {
    struct vt vt;
    uint32_t *cells; /* the line: the bytes of a character each, the first one lowest; 0: empty */
    size_t columns; /* how many of them are in use */
    size_t room;
    size_t cursor; /* may be behind the last one */
    int missing; /* bytes that the character before the cursor still needs */
    bool is_edited; /* in a line editor, which marks pastes */
    bool at_margin; /* a carriage return may have been the end of a row */
    struct str text; /* of the line that was asked for last */
};

/* One line, NUL-terminated, without its newline; valid during the call. */
typedef void term_text_line(const char *line, size_t len, void *arg);

void term_text_feed(struct term_text *plain, const char *bytes, size_t len, term_text_line *on_line,
                    void *arg);
/* Ends the line that has not been ended, where anything is in it, and forgets a sequence that is
 * not complete. */
void term_text_end(struct term_text *plain, term_text_line *on_line, void *arg);
/* What stands in that line now; valid until the next call. */
const char *term_text_current(struct term_text *plain);
void term_text_free(struct term_text *plain);

#endif
