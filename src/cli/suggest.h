/*
 * Suggestions for a mistyped command.
 */
#pragma once

/* Returns the command to type after `mas` that `typed` most likely means, such as "rm" for
 * "delete", or NULL if none is close. */
const char *suggest_command(const char *typed);
