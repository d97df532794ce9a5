/*
 * The state of mas top, which its parts share: view.c draws it, input.c changes it as keys say.
 */
#pragma once

#include "top/act.h"
#include "top/canvas.h"
#include "top/editor.h"
#include "top/feed.h"
#include "top/rows.h"
#include "top/screen.h"
#include "top/tails.h"

/* What the keys mean now. */
enum top_mode {
    MODE_LIST,
    MODE_FILTER, /* a filter is typed */
    MODE_TYPE, /* what a key needs is typed */
    MODE_ASK, /* what the chosen agent asks fills the screen */
    MODE_SURE, /* a key is answered with y or another one */
    MODE_HELP,
};

struct top;

/* A key of the list. */
struct top_key {
    enum press_kind kind; /* PRESS_TEXT: */
    char letter;
    void (*act)(struct top *top);
    const char *name, *word; /* in the line at the bottom; NULL: not there */
    bool (*fits)(const struct top_row *row); /* it is there for this row; NULL: for all */
};

struct top {
    struct top_table table;
    struct top_feed feed;
    struct tails tails;
    struct acts acts;
    struct rows rows;
    struct canvas canvas;
    const struct top_key *keys; /* top_keys */
    enum top_mode mode;
    struct top_editor editor;
    /* of MODE_TYPE and MODE_SURE: */
    struct row_key target;
    char *question;
    void (*then)(struct top *top, const char *text); /* with what was typed, or the key */
    char *message; /* the last line says this; NULL: nothing */
    bool is_error; /* the message says what failed */
    size_t first; /* row of the list at the top of the screen */
    size_t list_y, list_rows; /* where view.c has put the list */
    bool preview; /* wanted */
    char *asked; /* id of the permission that is on the screen, with its choices; NULL: none */
    bool changed; /* the screen is not as it should be */
    bool ends;
    int64_t clicked_ms; /* last click; monotonic */
    size_t clicked_row;
};

/* Shows a message until the next key; NULL: none. */
void top_say(struct top *top, bool is_error, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* ---- view.c */
void view_top(struct top *top);

/* ---- input.c */
/* In the order of the line at the bottom; the last one has no `act`. */
extern const struct top_key top_keys[];
void input_press(struct top *top, const struct press *press);
