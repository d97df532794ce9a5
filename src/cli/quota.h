/* `mas usage --quota`: what is used of the windows of the providers (store/limits/login_quota.h).
 */
#pragma once

#include "cmd.h"

/* Prints a line for each window of each login of the root. MAS_USAGE: the command line names
 * sessions or --by. */
int quota_print(struct call *call, struct err *err);
