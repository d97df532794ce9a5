/*
 * The statuses of sessions that may be cleaned up, as users write them: "stopped,error".
 */
#ifndef MAS_MODEL_RETENTION_STATUS_H
#define MAS_MODEL_RETENTION_STATUS_H

#include <stdbool.h>

enum { /* a set of these bits */
       RETENTION_STOPPED = 1,
       RETENTION_ERROR = 2,
       RETENTION_CRASHED = 4,
};

/* Reads "stopped,error"; an empty text is the empty set. false for anything else. */
bool retention_parse_status(const char *text, unsigned *ret);
/* The word for one bit. */
const char *retention_status_name(unsigned status);

#endif
