/*
 * Declarations that the actions of `mas template` share.
 */
#ifndef MAS_CMD_TEMPLATE_H
#define MAS_CMD_TEMPLATE_H

#include "model/diagnostic.h"

#include <stdbool.h>

/* Prints the diagnostics, one "file:line: text" per line, or as JSON. */
void template_print_diagnostics(const struct diagnostics *diagnostics, bool json);

extern const struct cmd cmd_template_diff;
extern const struct cmd cmd_template_edit;

#endif
