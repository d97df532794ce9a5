/*
 * Which text mas may send to an agent.
 */
#pragma once

#include "model/picture.h"

enum { MESSAGE_MAX = 4 << 20 }; /* bytes */

/* Returns NULL if the text may be delivered, otherwise what is wrong with it, worded to follow "it"
 * (static text). Valid text is UTF-8 of at most MESSAGE_MAX bytes without control characters other
 * than tab and newline, so no byte of it can act as a key or move a terminal. */
const char *message_check(const char *text, size_t len);

/* Returns true if a text has nothing but blanks and newlines, so that it is no prompt. */
bool message_is_blank(const char *text, size_t len);

/* Appends the request to a host that accompanies a text. */
struct message_options {
    const char *from; /* the sending agent; NULL: a person */
    const char *guest; /* the name of a guest for whom a person's process sends it, or NULL */
    bool no_enter; /* the text is typed without Enter */
    bool wait; /* the host reports the agent's state afterwards */
    bool now; /* a working agent sees it in the present turn, if it can */
    bool note; /* mas has written it: an agent that executes what it is sent is not sent it */
    struct pictures pictures; /* that the session has already */
};
void message_request(const struct message_options *options, struct str *to);
