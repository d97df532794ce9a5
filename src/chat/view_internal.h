/*
 * Of view.c, view_footer.c, which draws what is below the conversation, and view_rows.c, whose rows
 * both use.
 */
#pragma once

#include "chat/view.h"

/* ---- view_rows.c */

/* Returns how many columns a row of this style has for text. */
int view_room(const struct chat_view *view, enum style style);
/* Appends one row in its colour, without a line end. `first`: the first row of its line. */
void view_put_row(const struct chat_view *view, struct str *to, enum style style, bool first,
                  const char *text, size_t len);
/* Appends the rows of a line, starting at byte `from`; the last row only with `whole`. Returns
 * where the remaining row begins. */
size_t view_put_rows(const struct chat_view *view, struct str *to, enum style style,
                     const char *text, size_t len, size_t from, bool whole);
/* Appends the rows of Markdown. */
void view_put_markdown(const struct chat_view *view, struct str *to, const char *text, size_t len);
/* Appends a whole line: what view->lines has. */
void view_put_line(const struct chat_view *view, struct str *to, enum style style, const char *text,
                   size_t len);

/* ---- view_footer.c */

/* Appends the footer to view->out. The cursor must be in its first row. */
void view_put_footer(struct chat_view *view);
