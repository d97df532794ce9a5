/*
 * What agents say when their provider refuses a request because of a rate limit or of too much
 * load, each in its own way: an HTTP status in the error or in its data, a word of a provider's
 * API, or words for a person. What providers say is here. How a program tells it a person is in
 * presets, and comes as `limited`: an extended regular expression, or "". All that is looked at is
 * data of a stranger: only the beginning of a text, and a bounded part of the data.
 */
#pragma once

#include "base/json.h"

enum {
    ACP_LIMIT_TEXT_MAX = 4096, /* bytes of a text that are looked at */
    ACP_LIMIT_ANSWER_MAX = 400, /* bytes; a longer answer is no message of a provider */
    ACP_LIMIT_DAYS_MAX = 35, /* a time further away is none */
};

struct acp_limit {
    bool overloaded; /* the provider has too much load; else the user has used too much */
    int64_t
        until_ms; /* when the provider takes requests again, ms since 1970; 0: it does not say */
};

/* Returns true if an error says so. `data` may be NULL. `now_ms`: ms since 1970. */
bool acp_limit_of_error(int64_t code, const char *message, const struct json *data,
                        const char *limited, int64_t now_ms, struct acp_limit *ret);
/* Returns true if an answer is nothing but such a message: some agents end the turn with it. */
bool acp_limit_of_answer(const char *text, const char *limited, int64_t now_ms,
                         struct acp_limit *ret);
/* Returns true for a stop reason that says so, which no standard knows. */
bool acp_limit_of_stop(const char *stop_reason);
