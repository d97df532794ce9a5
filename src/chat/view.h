/*
 * The terminal of a pane: a conversation that scrolls off the top, as terminals do, and below it a
 * foot that is drawn anew: lines that still change, the state, and what is being typed.
 *
 *     view_add(&view, STYLE_NOTE, "...");        whole lines
 *     view_piece(&view, STYLE_TEXT, piece, len); a text that comes in pieces
 *     view.foot...                               what stands below
 *     view_draw(&view);                          once for all that has changed
 *
 * Text may hold anything: what could move the terminal is made visible. Rows are cut at words. The
 * newest lines are kept, so that a terminal of another size is filled anew.
 */
#ifndef MAS_CHAT_VIEW_H
#define MAS_CHAT_VIEW_H

#include "base/str.h"
#include "base/term_escape.h"

#include <stdbool.h>
#include <stddef.h>

enum style {
    STYLE_TEXT, /* the agent's */
    STYLE_USER, /* a prompt */
    STYLE_USER_MORE, /* its further lines */
    STYLE_THOUGHT,
    STYLE_NOTE, /* of mas */
    STYLE_ERROR,
    STYLE_TOOL, /* one that runs */
    STYLE_DONE,
    STYLE_FAILED,
    STYLE_DETAIL, /* what a tool says */
    STYLE_ADDED, /* lines of a diff */
    STYLE_REMOVED,
    STYLE_PLACE, /* where in the file */
    STYLE_ASKS, /* a permission is asked */
    STYLE_CHOICE,
    STYLE_PLAN,
    STYLE_COUNT
};

enum { VIEW_LIVE_MAX = 64 };

struct view_line {
    enum style style;
    char *text; /* harmless, one line */
};

struct view {
    int fd;
    int rows, columns;
    bool colour, unicode;
    struct str out; /* what is to be written next */
    struct str fresh; /* rows that are to go above the foot */
    /* lines that are whole, oldest first */
    struct view_line *lines;
    size_t count, bytes;
    /* the one that is not */
    struct str open;
    enum style open_style;
    bool is_open;
    size_t printed; /* bytes of it that stand above the foot */
    struct term_escape harmless;
    /* the foot as it is to be */
    struct view_line live[VIEW_LIVE_MAX];
    size_t live_count;
    struct str state;
    const char *state_colour; /* SGR, "" none */
    struct str input; /* harmless but for newlines */
    size_t cursor; /* byte in it */
    bool changed;
    /* and as it stands there */
    int footer_rows, cursor_row;
};

/* Takes the terminal at `fd`; the other members are zero before. */
void view_open(struct view *view, int fd);
/* Leaves the cursor below everything. */
void view_close(struct view *view);

/* Lines, each of them whole. */
void view_add(struct view *view, enum style style, const char *text, size_t len);
void view_addf(struct view *view, enum style style, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A prompt, of one line or many. */
void view_prompt(struct view *view, const char *text, size_t len);
/* A piece of a text; another style or view_end() ends it. */
void view_piece(struct view *view, enum style style, const char *text, size_t len);
void view_end(struct view *view);
/* An empty line, where there is none yet. */
void view_gap(struct view *view);
/* true if the newest line is this. */
bool view_says(const struct view *view, const char *text);
/* Lines of a diff or of output, each in its style, at most `most` of them. */
void view_details(struct view *view, const char *text, size_t len, size_t most);

/* Lines that still change: cleared and added anew. */
void view_live_clear(struct view *view);
void view_live(struct view *view, enum style style, const char *text);

/* Writes what has changed. */
void view_draw(struct view *view);
/* The terminal has another size, or is to be drawn anew. */
void view_repaint(struct view *view);

#endif
