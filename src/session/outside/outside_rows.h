/*
 * Sessions that a program keeps in a database of SQLite (told.database): the SELECTs of its preset
 * make rows of it that are like the names of files (told.database.sessions) and like the lines of a
 * transcript (told.database.lines), so that the same rules read both.
 *
 * The program may have the database open. Nothing is written to it, nor beside it, and what it says
 * is hostile until parsed.
 */
#pragma once

#include "model/preset.h"

struct outside_row {
    const char *id, *directory; /* NULL: it has none */
    time_t changed;
};

/* Takes the next one; returns false if no more are wanted. */
typedef bool outside_each_row(const struct outside_row *row, void *arg);
typedef bool outside_each_line(const char *line, size_t len, void *arg);

/* Reads the sessions of a database until `until` (monotonic ms), when it fails with MAS_TIMEOUT. */
int outside_rows(const struct preset_told *told, const char *path, int64_t until,
                 outside_each_row *each, void *arg, struct err *err);
/* Reads what is there of one session, likewise: JSON objects. */
int outside_row_lines(const struct preset_told *told, const char *path, const char *id,
                      int64_t until, outside_each_line *each, void *arg, struct err *err);
