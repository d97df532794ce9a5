/*
 * A line of text that a person types at the bottom of the screen.
 */
#pragma once

#include "top/canvas.h"
#include "top/screen.h"

enum { EDITOR_MAX = 16 * 1024 }; /* bytes */

/* Zero-initialised; release it with editor_free(). */
struct top_editor {
    struct str text;
    size_t cursor; /* byte */
};

void editor_free(struct top_editor *editor);
void editor_set(struct top_editor *editor, const char *text);
/* Applies a key press. Returns false if it means nothing to a line of text. */
bool editor_press(struct top_editor *editor, const struct press *press);
/* Draws it after the text that row `y` has, with the part around the cursor if it is too long, and
 * puts the cursor there. */
void editor_draw(const struct top_editor *editor, struct canvas *canvas, size_t y);
