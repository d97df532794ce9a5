/*
 * What commands print of a diff: text for a person, or JSON.
 */
#pragma once

#include "base/json.h"

/* Appends a diff in colours; with `stat`, the list of files that COMPARE_STAT makes. */
void diff_add_text(const struct str *diff, bool stat, struct str *to);
/* Appends the member "files" for a diff of COMPARE_RAW; `hunks`: with its lines. On failure the
 * member is empty. */
int diff_put_files(const struct str *diff, bool hunks, struct json_out *out, struct err *err);
