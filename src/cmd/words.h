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

/* The text that an operand or an option gives: `value`, or where it is "-" standard input without
 * its last newline. So a text need not stand on a command line, where every user can read it. The
 * caller frees. */
int words_text(const char *value, char **ret, size_t *ret_len, struct err *err);
/* The same for what is looked for, which holds no NUL. */
int words_query(const char *value, char **ret, struct err *err);

#endif
