/*
 * The colours of everything that mas shows on a terminal. Nobody knows whether its background is
 * light or dark, so each tint has a contrast of 4.5 on white and on black. Of the 256 colours,
 * whose values are the same everywhere, six have that; of the first eight none has, and attributes
 * stand for them (test/unit/test_palette.c).
 */
#pragma once

enum tint {
    TINT_PLAIN,
    TINT_DIM,
    TINT_BOLD,
    TINT_ASKS, /* what waits for a person */
    TINT_BAD, /* what has failed, or is removed */
    TINT_GOOD, /* what works, has succeeded, or is added */
    TINT_DONE, /* what a person may look at */
    TINT_NEWS, /* what begins, or happens now */
    TINT_HELD, /* by its provider, or by a budget */
    TINT_COUNT
};

/* Colours: -1 is that of the terminal. */
struct palette_look {
    short many; /* one of 256 */
    short chosen; /* likewise, on PALETTE_CHOSEN, the background of a row that is chosen */
    bool bold;
    bool dim; /* with fewer than 256 colours */
};
extern const struct palette_look palette[TINT_COUNT];

enum { PALETTE_CHOSEN = 238, PALETTE_MANY = 256 };

/* Returns how many colours the environment says that the terminal has: 0, with NO_COLOR or a dumb
 * one, 8 or 256. */
int palette_colours(void);
/* Returns the escape sequence of a tint, "" if it has none, or with 0 colours. */
const char *palette_sgr(enum tint tint, int colours);
