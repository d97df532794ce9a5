/*
 * Placeholders in what a preset says: {NAME} stands for a text, and {json:NAME} for the same as a
 * string of JSON. In the value of a variable, {,old} is a comma and the value that it had, or
 * nothing. Other braces stay.
 */
#pragma once

struct expand_value {
    const char *name, *text; /* NULL: an empty text */
};

/* Returns the text with its placeholders replaced, which the caller frees. `old` is the value that
 * a variable had, or NULL. */
char *expand_text(const struct expand_value *values, size_t count, const char *text,
                  const char *old);
/* Splits the words, which a preset has checked, and appends each of them, replaced. */
void expand_words(const struct expand_value *values, size_t count, const char *words, char ***to);
