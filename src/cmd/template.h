/*
 * Declarations that the actions of `mas template` share.
 */
#pragma once

#include "cmd.h"

extern const struct cmd cmd_template_diff;
extern const struct cmd cmd_template_edit;
