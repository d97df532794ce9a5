/*
 * Of draw.c, draw_line.c (text with styles) and draw_table.c, which it calls.
 */
#pragma once

#include "chat/draw.h"
#include "markdown/markdown.h"

/* ---- draw_line.c */

enum {
    STYLED_STRONG = 1,
    STYLED_EMPHASIS = 2,
    STYLED_TYPED = 4,
    STYLED_UNDER = 8,
    STYLED_DIM = 16,
};

enum { STYLED_LINKS_MAX = 255 };

/* A text without tabs, and for each byte of it its styles and its link. Past the end of those two
 * text is plain. */
struct styled {
    enum tint tint; /* of all of it */
    struct str text;
    struct str styles;
    struct str links; /* 0: none; else one more than the place in `addresses` */
    const char *addresses[STYLED_LINKS_MAX]; /* of the tree */
    size_t link_count;
};

/* Appends what the nodes [from, to) of a tree say, with these styles besides their own. */
void styled_add(struct styled *line, const struct markdown *markdown, size_t from, size_t to,
                unsigned char styles);
/* Appends the bytes [from, to) to `out`, with escape sequences. */
void styled_put(const struct styled *line, const struct drawing *look, size_t from, size_t to,
                struct str *out);
void styled_free(struct styled *line);

/* What is drawn, and what rows begin with. */
struct draw {
    const struct drawing *look;
    const struct markdown *markdown;
    struct str *to; /* not owned */
    struct str margin, lead;
};

/* Appends the first `len` bytes of what the next row begins with. */
void draw_lead(struct draw *draw, size_t len);
/* Appends a row: bytes [from, to) of a line. */
void draw_row(struct draw *draw, const struct styled *line, size_t from, size_t to);

/* ---- draw_table.c */
void draw_table(struct draw *draw, size_t i, int room);
