/*
 * Splits a search text into significant words and turns them into an FTS5 expression.
 */
#pragma once

enum { WORDS_MAX = 16 }; /* of a search text; of more words, the longest are used */

struct words {
    char **terms; /* NULL-terminated plain text; a term of several words is a phrase */
    bool prefix[WORDS_MAX]; /* match all words that begin with the term */
    size_t count;
};

/* Splits a text into terms: drops stop words unless there are no others, and duplicates. Without
 * words, count is 0. The caller releases *ret with words_free(). */
void words_parse(const char *text, struct words *ret);
/* Returns true if there are only stop words. */
bool words_say_nothing(const struct words *words);
/* Appends an FTS5 expression: one phrase per term, in their order, combined with OR. With `open`,
 * each term also matches the beginning of words. */
void words_match(const struct words *words, bool open, struct str *to);
void words_free(struct words *words);
#define _cleanup_words_ __attribute__((cleanup(words_free)))

/* Returns the length in bytes of the character at text[at] if it is of a script that is written
 * without spaces between words, such as Chinese; else 0. */
size_t words_dense(const char *text, size_t len, size_t at);
/* Returns true for a stop word. */
bool words_is_stop(const char *word, size_t len);
/* Returns the approximate number of words in a text. */
size_t words_count(const char *text, size_t len);
