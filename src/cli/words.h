/*
 * Read the text given to a command: words, standard input or a file.
 */
#pragma once

#include "cmd.h"

/* Reads the text of a message from the words, from --file, or for "-" from standard input
 * (*ret_input). Returns -1 with *err set unless it is given once. The caller frees *ret. */
int words_message(struct call *call, char **ret, size_t *ret_len, bool *ret_input, struct err *err);

/* Returns the remaining operands, joined with single spaces. The caller frees the result. */
char *words_join(const struct call *call);

/* Reads a file, or standard input if `path` is "-"; at most MESSAGE_MAX bytes. The caller frees
 * *ret. */
int words_read(const char *path, char **ret, size_t *ret_len, struct err *err);

/* Copies `value`, the text of an operand or an option. If it is "-", reads standard input instead
 * and drops a newline at its end; so a text can stay off the command line, which every user can
 * read. The caller frees *ret. */
int words_text(const char *value, char **ret, size_t *ret_len, struct err *err);
/* Like words_text(), for a search text: fails if it contains a NUL. */
int words_query(const char *value, char **ret, struct err *err);
/* Reads --check-with into *ret, which the call owns; NULL: it was not given. */
int words_check(const struct call *call, const char **ret, struct err *err);
