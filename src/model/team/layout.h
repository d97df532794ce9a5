/*
 * Layouts: how the panes of a window share it.
 *
 * A layout is one of tmux's own names, or COLUMNSxROWS such as 3x2: a grid that is filled row by
 * row, from left to right. Empty rows are omitted, and the panes of an incomplete last row are
 * wider. tmux has no grids, so mas passes it the geometry as "<sum>,WxH,X,Y[...]".
 */
#pragma once

#include "base/value.h"

enum { LAYOUT_SIDE_MAX = 64, LAYOUT_TEXT_MAX = 16 }; /* columns or rows; bytes */

extern const struct value_type layout_type;
/* Returns how many panes the layout holds in a window that is large enough. */
size_t layout_capacity(const char *text);
/* Returns true if this many panes fit into a window of this size. */
bool layout_fits(const char *text, size_t panes, int columns, int rows);

/* Appends the argument of tmux's select-layout for a complete window. The panes must fit. */
void layout_add(struct str *to, const char *text, size_t panes, int columns, int rows);

/*
 * mas builds a window pane by pane and splits each pane off the last one. Between the splits it
 * arranges the panes so that the last one has all the remaining space. If the complete layout fits,
 * each split fits too.
 */

/* Returns true if pane number `pane` (the first is 0) is split off to the right, false if
 * downwards. */
bool layout_splits_right(const char *text, size_t panes, size_t pane);
/* Appends the argument of select-layout for the first `have` of `panes` panes. */
void layout_add_growing(struct str *to, const char *text, size_t panes, size_t have, int columns,
                        int rows);
