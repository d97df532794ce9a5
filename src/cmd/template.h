/*
 * What the actions of `mas template` share.
 */
#ifndef MAS_CMD_TEMPLATE_H
#define MAS_CMD_TEMPLATE_H

#include "model/diagnostic.h"

#include <stdbool.h>

/* "file:line: text" for each, a line each; JSON where that is wanted. */
void template_print_diagnostics(const struct diagnostics *diagnostics, bool json);

extern const struct cmd cmd_template_diff;
extern const struct cmd cmd_template_edit;

#endif
