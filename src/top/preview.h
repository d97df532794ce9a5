/*
 * Shows the chosen agent below the list: what it asks, with the choices, or what it prints or says.
 */
#pragma once

#include "top/canvas.h"
#include "top/table.h"

/* Draws into the rows from `y` up to `end`. Returns true if a permission is there with all of its
 * choices, so that a key may answer it. */
bool preview_draw(struct canvas *canvas, size_t y, size_t end, const struct top_agent *agent,
                  int64_t now_ms);
