/*
 * Draws the list of agents as a table, with as many columns as there is room for.
 */
#pragma once

#include "top/canvas.h"
#include "top/rows.h"

/* Draws the headings of the columns into row `y`, and rows of the list below it, from `first` on,
 * up to row `end`. */
struct list_place {
    size_t y, end; /* rows of the canvas */
    size_t first; /* row of the list */
    bool heads; /* the first row is for the headings of the columns */
};
void list_draw(struct canvas *canvas, const struct rows *rows, const struct list_place *place,
               int64_t now_ms);
/* Writes what it is at: what it asks, its tool, with `or_last` its last line, or its title; how it
 * ended, how it comes back. */
void list_add_what(const struct top_agent *agent, bool or_last, int64_t now_ms, struct str *to);
/* Returns what an entry of mas every is called in front of its number: "goal", and "every" if it is
 * no errand. */
const char *list_entry_word(const struct every_entry *entry);
/* Returns the word and the colour for an agent's state. */
const char *list_state(const struct top_agent *agent, enum paint *ret);
