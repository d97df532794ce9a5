/*
 * Layouts: how the panes of a window share it.
 *
 * A layout is one of tmux's own names, or COLUMNSxROWS, such as 3x2: a grid that is filled row by
 * row, from left to right. Rows that would be empty are not made, and the panes of a last row that
 * is short are wider. tmux has no grids: it is handed their geometry, as "<sum>,WxH,X,Y[...]".
 */
#ifndef MAS_MODEL_LAYOUT_H
#define MAS_MODEL_LAYOUT_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum { LAYOUT_SIDE_MAX = 64, LAYOUT_TEXT_MAX = 16 }; /* columns or rows; bytes */

/* NULL for a good one, else what a good one is. */
const char *layout_check(const char *text);
/* How many panes it has room for in a window that is large enough. */
size_t layout_capacity(const char *text);
/* true if so many panes fit into a window of this size. */
bool layout_fits(const char *text, size_t panes, int columns, int rows);

/* Appends the argument of tmux's select-layout for a whole window; the panes fit. */
void layout_add(struct str *to, const char *text, size_t panes, int columns, int rows);

/*
 * A window is built pane by pane, each split off the last one. In between the panes stand so that
 * the last one has all the room that is left: where the whole fits, each split does too.
 */

/* true if pane number `pane` (the first is 0) is split off to the right, false: downwards. */
bool layout_splits_right(const char *text, size_t panes, size_t pane);
/* Appends the argument of select-layout for the first `have` of the panes. */
void layout_add_growing(struct str *to, const char *text, size_t panes, size_t have, int columns,
                        int rows);

#endif
