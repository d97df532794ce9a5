/*
 * What text may be sent to an agent.
 */
#ifndef MAS_CORE_MESSAGE_H
#define MAS_CORE_MESSAGE_H

#include <stddef.h>

enum { MESSAGE_MAX = 4 << 20 }; /* bytes */

/* NULL for text that may be delivered, else what is wrong with it, in words that go behind "it".
 * Good is UTF-8 of at most MESSAGE_MAX bytes without control characters other than tab and newline:
 * no byte of it can mean a key or move a terminal. */
const char *message_check(const char *text, size_t len);

#endif
