/*
 * Suggests the word that a user meant when a typed word is unknown.
 */
#pragma once

/* What a hint with a suggestion begins with. */
#define SUGGEST_MEANT "did you mean: "

/* The best match so far among the known words. */
struct suggest {
    const char *typed;
    const char *nearest; /* NULL: no word is near */
    unsigned distance; /* of `nearest` */
};

#define SUGGEST_INIT(word)                                                                         \
    {                                                                                              \
        .typed = (word)                                                                            \
    }

/* Offers one known word. Keeps a pointer to it; the caller keeps ownership. */
void suggest_try(struct suggest *suggest, const char *word);

/* Returns the nearest word of a NULL-terminated list, or NULL if none is near. */
const char *suggest_of(const char *typed, const char *const *words);
