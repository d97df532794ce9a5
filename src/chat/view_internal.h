/*
 * Parts of a view; for src/chat/view*.c only.
 */
#ifndef MAS_CHAT_VIEW_INTERNAL_H
#define MAS_CHAT_VIEW_INTERNAL_H

#include "chat/view.h"

/* ---- view_rows.c */
/* How many columns a row of this style has for its text. */
int view_room(const struct view *view, enum style style);
/* Appends one row in its colour, without its end; `first` of its line. */
void view_put_row(const struct view *view, struct str *to, enum style style, bool first,
                  const char *text, size_t len);
/* Appends the rows of a line from byte `from` on, the last one only with `whole`. Returns where the
 * row that is left begins. */
size_t view_put_rows(const struct view *view, struct str *to, enum style style, const char *text,
                     size_t len, size_t from, bool whole);

/* ---- view_footer.c */
/* Appends the foot to view->out; its first row is the one that the cursor is in. */
void view_put_footer(struct view *view);

#endif
