/*
 * The members that the body of a request may have, as tables of addresses name them.
 */
#ifndef MAS_SERVE_BODY_H
#define MAS_SERVE_BODY_H

#include "serve/request.h"

#include <stdbool.h>

enum member_kind {
    MEMBER_TEXT, /* without control characters, at most BODY_TEXT_MAX bytes */
    MEMBER_LONG_TEXT, /* any, not empty, at most BODY_LONG_MAX bytes */
    MEMBER_MODE, /* a MEMBER_TEXT that only clients with all rights may give */
    MEMBER_CONVERSATION, /* a MEMBER_TEXT: an id, or "new" */
    MEMBER_MESSAGE, /* what message_check() lets through */
    MEMBER_TYPED, /* the same, and it may be empty */
    MEMBER_TAGS, /* a list */
    MEMBER_AGENTS, /* a list of at most BODY_AGENTS_MAX agents */
    MEMBER_FLAG, /* true or false */
    MEMBER_COUNT, /* a whole number from 0 to BODY_COUNT_MAX */
    MEMBER_FORM, /* an object */
    MEMBER_WORD, /* one of the words in `option`, separated by commas */
};

enum {
    BODY_TEXT_MAX = 1024,
    BODY_LONG_MAX = 64 << 10,
    BODY_AGENTS_MAX = 256,
    BODY_COUNT_MAX = 1000000,
    BODY_MEMBERS = 6,
};

struct body_member {
    const char *name; /* NULL: the end of the list */
    enum member_kind kind;
    bool needed; /* it must be there; a text must not be empty */
    const char *option; /* of a command line; NULL: none */
};

/* Returns the words of a MEMBER_WORD, for strv_free(). */
char **body_words(const struct body_member *member);

/* Parses the body and checks it against at most BODY_MEMBERS members; no others may be there.
 * Returns false after answering with an error. */
bool body_check(struct request *request, const struct body_member *members);

#endif
