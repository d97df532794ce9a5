/*
 * What a question is asked with: the words of a text that tell one message from another, as an
 * expression of FTS5.
 */
#ifndef MAS_MEMORY_WORDS_H
#define MAS_MEMORY_WORDS_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum { WORDS_MAX = 16 }; /* of a question; of a longer one the longest words count */

struct words {
    char **terms; /* NULL-terminated: plain text; several words stand together */
    bool prefix[WORDS_MAX]; /* all that begin so are meant */
    size_t count;
};

/* Cuts a question up: stop words are left out unless there are no others, words that come twice
 * count once. No words: count 0. */
void words_parse(const char *text, struct words *ret);
/* true where there is nothing but stop words. */
bool words_say_nothing(const struct words *words);
/* FTS5: one phrase a term, in their order, or-ed; `open`: each is also the beginning of words. */
void words_match(const struct words *words, bool open, struct str *to);
void words_free(struct words *words);
#define _cleanup_words_ __attribute__((cleanup(words_free)))

bool words_is_stop(const char *word, size_t len);
/* How many words a text has, near enough for its length. */
size_t words_count(const char *text, size_t len);

#endif
