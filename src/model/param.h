/*
 * Parameters: what a body, a query or the arguments of a tool may hold, as rows of a table. From a
 * row come the check of a value, its JSON schema, and its words on a command line.
 */
#pragma once

#include "base/json.h"

enum {
    PARAM_TEXT_MAX = 1024,
    PARAM_LONG_MAX = 64 << 10,
    PARAM_AGENTS_MAX = 256,
    PARAM_COUNT_MAX = 1000000,
};

enum param_kind {
    PARAM_ANY, /* whoever takes it checks it; with a `max`, the schema calls it a number */
    PARAM_TEXT, /* without control characters, at most PARAM_TEXT_MAX bytes */
    PARAM_LONG, /* not empty, at most `max` bytes; 0: PARAM_LONG_MAX */
    PARAM_MESSAGE, /* what message_check() lets through */
    PARAM_TYPED, /* the same, and it may be empty */
    PARAM_CONVERSATION, /* a PARAM_TEXT: an id, or "new" */
    PARAM_MODE, /* a PARAM_TEXT that only clients with all rights may give */
    PARAM_HERE, /* a session of this root, not one of another machine */
    PARAM_ID, /* a version 4 UUID */
    PARAM_NAME, /* a word: the name of one of `words` */
    PARAM_PATH, /* an absolute path */
    PARAM_WORD, /* one of `words`, separated by ", " */
    PARAM_NUMBER, /* a whole number from `min` to `max` */
    PARAM_FLAG, /* true or false */
    PARAM_LIST, /* of texts */
    PARAM_AGENTS, /* a list of at most PARAM_AGENTS_MAX agents */
    PARAM_FORM, /* an object */
};

struct param {
    const char *name; /* NULL: the end of the table */
    enum param_kind kind;
    bool needed; /* it must be there, and a text must not be empty */
    /* What it is on a command line; NULL: nothing. The value follows, except of a flag, and of an
     * option that ends with "-": that value is standard input. */
    const char *option;
    const char *help; /* a phrase for people and models; NULL: the name says it */
    /* Of a PARAM_WORD; one that has its own option instead of `option` is "word:--option". */
    const char *words;
    int64_t min, max;
    const char *fallback; /* the value on a command line if none is given; NULL: none */
    const char *schema; /* members of its JSON schema in place of those of its kind; NULL: none */
};

#define PARAMS(...)                                                                                \
    (const struct param[])                                                                         \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            .name = NULL                                                                           \
        }                                                                                          \
    }

/* Returns the parameter of this name, or NULL. `params` may be NULL: there are none. */
const struct param *param_find(const struct param *params, const char *name);
/* Returns true if its value is the standard input of a command. */
bool param_is_input(const struct param *param);
/* Returns true if `node`, NULL if it is missing, is such a value; otherwise writes what is wrong
 * with it, worded to follow "it". */
bool param_check(const struct param *param, const struct json *node, struct str *ret_why);
/* Returns true if a word of a command line may be such a value. */
bool param_fits(const struct param *param, const char *word);
/* Appends the names of a PARAM_WORD's values, separated by commas. */
void param_put_words(const struct param *param, struct str *to);
/* Writes the members of its JSON schema, its help among them. */
void param_put_schema(const struct param *param, struct json_out *out);
/* Writes the schema of an object that has these and no others: the members of it. */
void params_put_schema(const struct param *params, struct json_out *out);

/* Returns the option that a word of a PARAM_WORD has of its own, without the value, or NULL. It
 * belongs to the row and ends at a comma or NUL; *ret_len is its length. */
const char *param_word_option(const struct param *param, const char *word, size_t *ret_len);
