/*
 * The terminal of a pane: a conversation that scrolls off the top as usual, and below it a footer
 * that is redrawn: lines that still change, the state, and the input line.
 *
 *     view_add(&view, STYLE_NOTE, "...", len);   complete lines
 *     view_piece(&view, STYLE_TEXT, piece, len); a text that arrives in pieces
 *     view.state, view.input...                  the footer
 *     view_draw(&view);                          once after all changes
 *
 * Text may contain anything: control characters are made visible. Lines wrap at words. That of an
 * agent is Markdown, which is drawn as soon as its blocks are whole. The view keeps the newest
 * lines to redraw them if the size of the terminal changes.
 */
#pragma once

#include "base/palette.h"
#include "base/term_escape.h"

enum style {
    STYLE_TEXT, /* of the agent: Markdown */
    STYLE_USER, /* a prompt */
    STYLE_USER_MORE, /* its other lines */
    STYLE_THOUGHT,
    STYLE_NOTE, /* of mas */
    STYLE_ERROR,
    STYLE_TOOL, /* a running one */
    STYLE_DONE,
    STYLE_FAILED,
    STYLE_DETAIL, /* output of a tool */
    STYLE_ADDED, /* lines of a diff */
    STYLE_REMOVED,
    STYLE_PLACE, /* position in the file */
    STYLE_ASKS, /* a permission request */
    STYLE_CHOICE,
    STYLE_CURRENT, /* the field of a form that is being filled in */
    STYLE_PLAN,
    STYLE_COUNT
};

enum { VIEW_LIVE_MAX = 64 };

struct view_line {
    enum style style;
    char *text; /* one line without control characters, or blocks of STYLE_TEXT as they came */
};

struct chat_view {
    int fd;
    int rows, columns;
    int colours; /* 0: none, and no attributes */
    bool unicode;
    struct str out; /* to be written next */
    struct str fresh; /* rows to be added above the footer */
    /* complete lines, oldest first */
    struct view_line *lines;
    size_t count, bytes;
    size_t added; /* lines so far, also those that are not kept */
    struct str cut; /* the newest text of which only the beginning was shown */
    /* the incomplete one */
    struct str open;
    enum style open_style;
    bool is_open;
    size_t printed; /* bytes of it above the footer */
    struct term_escape escape;
    /* the new footer */
    struct view_line live[VIEW_LIVE_MAX];
    size_t live_count;
    struct str state;
    enum tint state_tint; /* in reverse video */
    struct str input; /* without control characters except newlines */
    size_t cursor; /* byte in it */
    bool changed;
    /* the footer on the screen */
    int footer_rows, cursor_row;
};

/* Starts to use the terminal at `fd`. All other members must be zero. */
void view_open(struct chat_view *view, int fd);
/* Moves the cursor below everything and frees the view's memory. */
void view_close(struct chat_view *view);

/* Add complete lines. */
void view_add(struct chat_view *view, enum style style, const char *text, size_t len);
void view_addf(struct chat_view *view, enum style style, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Adds a prompt, or the beginning of one of many lines. */
void view_prompt(struct chat_view *view, const char *text, size_t len);
/* Adds a piece of a text. Another style or view_end() ends the text. */
void view_piece(struct chat_view *view, enum style style, const char *text, size_t len);
void view_end(struct chat_view *view);
/* Adds an empty line, unless the newest line is empty. */
void view_gap(struct chat_view *view);
/* Adds lines of a diff or of output, each in its style, at most `most`. */
void view_details(struct chat_view *view, const char *text, size_t len, size_t most);
/* Adds all lines of the newest text that was longer, once. */
void view_unfold(struct chat_view *view);

/* Clear and add lines of the footer that still change, at most VIEW_LIVE_MAX. */
void view_live_clear(struct chat_view *view);
void view_live(struct chat_view *view, enum style style, const char *text);

/* Writes all changes to the terminal. */
void view_draw(struct chat_view *view);
/* Reads the size of the terminal and redraws everything. */
void view_repaint(struct chat_view *view);
