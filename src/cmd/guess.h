/*
 * What somebody meant who typed a word that is not there.
 */
#ifndef MAS_CMD_GUESS_H
#define MAS_CMD_GUESS_H

/* The nearest so far of the words that are there. */
struct guess {
    const char *typed;
    const char *nearest; /* NULL: none is near */
    unsigned distance; /* of the nearest */
};

#define GUESS_INIT(word)                                                                           \
    {                                                                                              \
        .typed = (word)                                                                            \
    }

/* Takes one word that is there. The text stays the caller's. */
void guess_try(struct guess *guess, const char *word);

/* The command for a word that is none, as it is typed behind `mas`; NULL: nothing comes to mind. */
const char *guess_command(const char *typed);

#endif
