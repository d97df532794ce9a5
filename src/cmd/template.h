/*
 * Declarations that the actions of `mas template` share.
 */
#pragma once

#include "model/diagnostic.h"

/* Prints the diagnostics, one "file:line: text" per line, or as JSON. */
void template_print_diagnostics(const struct diagnostics *diagnostics, bool json);

extern const struct cmd cmd_template_diff;
extern const struct cmd cmd_template_edit;
