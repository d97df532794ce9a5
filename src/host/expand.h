/*
 * Placeholders in what a preset says: {NAME} stands for a text, {json:NAME} for the same as a
 * string of JSON, {snake:NAME} for the same as words_in_lower_case, and {sha256:NAME} for its sum.
 * In the value of a variable, {,old} is a comma and the value that it had, or nothing. Other braces
 * stay.
 *
 * A variable that has a value keeps it, unless the preset's value has {,old}, or both are objects
 * of JSON: then they become one, in which lists follow each other and of two other values the
 * earlier one counts.
 */
#pragma once

#include "base/kv.h"

struct expand_value {
    const char *name, *text; /* NULL: an empty text */
};

/* Returns the text with its placeholders replaced, which the caller frees. `old` is the value that
 * a variable had, or NULL. */
char *expand_text(const struct expand_value *values, size_t count, const char *text,
                  const char *old);
/* Splits the words, which a preset has checked, and appends each of them, replaced. */
void expand_words(const struct expand_value *values, size_t count, const char *words, char ***to);
/* Sets the variable in the environment. Returns false if it keeps the value that it had. */
bool expand_variable(const struct expand_value *values, size_t count,
                     const struct kv_pair *variable, char ***env);
