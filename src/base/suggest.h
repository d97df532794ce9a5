/*
 * The word that somebody meant who typed one that does not exist.
 */
#ifndef MAS_BASE_SUGGEST_H
#define MAS_BASE_SUGGEST_H

/* The nearest so far of the words that exist. */
struct suggest {
    const char *typed;
    const char *nearest; /* NULL: none is near */
    unsigned distance; /* of the nearest */
};

#define SUGGEST_INIT(word)                                                                         \
    {                                                                                              \
        .typed = (word)                                                                            \
    }

/* Takes one word that exists. The text stays the caller's. */
void suggest_try(struct suggest *suggest, const char *word);

/* The nearest of a NULL-terminated list; NULL: none is near. */
const char *suggest_of(const char *typed, const char *const *words);

#endif
