/*
 * What text may be sent to an agent.
 */
#ifndef MAS_MODEL_MESSAGE_H
#define MAS_MODEL_MESSAGE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum { MESSAGE_MAX = 4 << 20 }; /* bytes */

/* NULL for text that may be delivered, else what is wrong with it, in words that go behind "it".
 * Good is UTF-8 of at most MESSAGE_MAX bytes without control characters other than tab and newline:
 * no byte of it can mean a key or move a terminal. */
const char *message_check(const char *text, size_t len);

/* Appends the request to a host that goes with a text: from NULL is a person; `wait` watches the
 * agent afterwards. */
void message_request(const char *from, bool enter, bool wait, struct str *to);

#endif
