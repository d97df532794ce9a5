/*
 * The output of `mas diff`: text for a person, with colours and a pager on a terminal, or JSON.
 */
#pragma once

#include "base/json.h"
#include "code/comparison.h"

/* Appends the output of git diff so that no byte of it affects a terminal, with colours if standard
 * output takes them. */
void diff_add_text(const struct str *diff, bool stat, struct str *to);

/* Appends an object for one agent. `diff` is of COMPARE_RAW; `hunks` says whether the lines are
 * part of it. */
int diff_put_json(const struct comparison *changes, const struct str *diff, bool hunks,
                  struct json_out *out, struct err *err);
