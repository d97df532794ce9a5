/*
 * What is to be on the screen: rows of text in colours. screen.h shows a canvas in a terminal; `mas
 * top --once` prints it.
 */
#pragma once

enum paint {
    PAINT_PLAIN,
    PAINT_DIM,
    PAINT_BOLD,
    PAINT_NEEDED, /* what waits for a person */
    PAINT_BAD, /* what has failed */
    PAINT_WORKING,
    PAINT_DONE,
    PAINT_HELD, /* by its provider, or by a budget */
    PAINT_BAR, /* the lines at the top and at the bottom */
    PAINT_KEY, /* a key in them */
    PAINT_ADDED,
    PAINT_REMOVED,
    PAINT_COUNT
};

struct canvas_piece {
    size_t from; /* its first byte in the text of the row */
    enum paint paint;
};

struct canvas_row {
    struct str text;
    struct canvas_piece *pieces;
    size_t count;
    size_t used; /* columns */
    bool chosen, bar; /* as a whole, */
    size_t chosen_end; /* but what is chosen only up to this byte */
};

struct canvas {
    size_t rows, columns;
    bool unicode;
    struct canvas_row *row;
    size_t room; /* rows that exist */
    size_t cursor_row, cursor_column; /* where a text is typed; row == rows: nowhere */
};

#define CANVAS_INIT                                                                                \
    {                                                                                              \
        .row = NULL                                                                                \
    }

/* Makes it empty, of this size. */
void canvas_reset(struct canvas *canvas, size_t rows, size_t columns);
void canvas_free(struct canvas *canvas);
/* Append a text to row `y`, as far as it fits. Rows that do not exist are ignored. */
void canvas_add(struct canvas *canvas, size_t y, enum paint paint, const char *text);
void canvas_addf(struct canvas *canvas, size_t y, enum paint paint, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* Appends a text in exactly `columns`. */
void canvas_cell(struct canvas *canvas, size_t y, enum paint paint, const char *text,
                 size_t columns, bool right);
/* Appends blanks up to this column. */
void canvas_pad(struct canvas *canvas, size_t y, size_t column);
/* Appends a horizontal line up to this column. */
void canvas_line(struct canvas *canvas, size_t y, enum paint paint, size_t column);
/* Draws a vertical line behind `columns` of rows `y` up to `end`: what is appended then is beside
 * what they have, and never chosen. */
void canvas_split(struct canvas *canvas, size_t y, size_t end, size_t columns);
/* Returns the columns that are left in the row. */
size_t canvas_left(const struct canvas *canvas, size_t y);
