/*
 * The terminal; nothing else uses curses. screen_open() asks what the terminal can do before curses
 * starts, because curses ends the program if it cannot use a terminal. Whatever happens after that,
 * screen_close() leaves the terminal as it was.
 */
#pragma once

#include "top/canvas.h"

enum press_kind {
    PRESS_TEXT, /* `text` is one character */
    PRESS_CONTROL, /* `text` is the letter that was pressed with Ctrl */
    PRESS_UP,
    PRESS_DOWN,
    PRESS_LEFT,
    PRESS_RIGHT,
    PRESS_PAGE_UP,
    PRESS_PAGE_DOWN,
    PRESS_HOME,
    PRESS_END,
    PRESS_ENTER,
    PRESS_ESCAPE,
    PRESS_TAB,
    PRESS_BACKSPACE,
    PRESS_DELETE,
    PRESS_CLICK, /* `row` and `column` say where */
    PRESS_WHEEL_UP,
    PRESS_WHEEL_DOWN,
    PRESS_OTHER
};

struct press {
    enum press_kind kind;
    char text[8]; /* UTF-8 */
    size_t row, column;
};

/* Starts to use the terminal of standard input and output. Fails with MAS_USAGE if there is none,
 * or if it cannot move its cursor; then nothing has changed. */
int screen_open(struct err *err);
/* Leaves the terminal as it was before screen_open(). */
void screen_close(void);
/* The same for a while, for another program or a stop; screen_resume() comes back. */
void screen_suspend(void);
void screen_resume(void);

/* Reads the size of the terminal. */
void screen_resize(void);
void screen_size(size_t *ret_rows, size_t *ret_columns);
/* Shows a canvas of that size. */
void screen_show(const struct canvas *canvas);
/* Reads the next key press without waiting. Returns false if there is none. */
bool screen_press(struct press *ret);
/* Returns true if the terminal is gone: nothing can be read from it any more. `events` are those of
 * standard input in this turn. */
bool screen_is_gone(short events);
