/*
 * Markdown as rows of a terminal. What is bold, or a link, is so by escape sequences; nothing else
 * of them is left in what an agent has written.
 */
#pragma once

#include "base/palette.h"

struct drawing {
    int columns;
    int colours; /* 0: none, no attributes and no links */
    bool unicode;
};

enum { DRAW_TAB = 4 };

/* Appends the rows of a text, each with "\r\n", and without empty ones around them. */
void draw_markdown(const struct drawing *drawing, const char *text, size_t len, struct str *to);

/* Returns the tint of a line of a diff: added, removed, a place in a file, or plain. */
enum tint draw_diff_tint(const char *line, size_t len);
