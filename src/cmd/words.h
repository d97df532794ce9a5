/*
 * Text that is given to a command: words, standard input, a file.
 */
#ifndef MAS_CMD_WORDS_H
#define MAS_CMD_WORDS_H

#include "cmd.h"

#include <stddef.h>

/* The operands that are left, with single spaces between them; the caller frees. */
char *words_join(const struct call *call);

/* What is in a file, or where it is "-" in standard input; MESSAGE_MAX bytes at most. The caller
 * frees. */
int words_read(const char *path, char **ret, size_t *ret_len, struct err *err);

#endif
