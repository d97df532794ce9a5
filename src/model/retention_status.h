/*
 * The statuses of sessions that `mas clean` may select, as users write them: "stopped,error".
 */
#pragma once

enum { /* a set of these bits */
       RETENTION_STOPPED = 1,
       RETENTION_ERROR = 2,
       RETENTION_CRASHED = 4,
};

/* Parses a comma-separated list such as "stopped,error"; the empty text is the empty set. Returns
 * false for any other text. */
bool retention_parse_status(const char *text, unsigned *ret);
/* Returns the name of one bit. */
const char *retention_status_name(unsigned status);
