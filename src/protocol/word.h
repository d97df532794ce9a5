/*
 * Things that an agent names, as its protocol and the events of a host list them: modes, commands,
 * answers to a question, values.
 */
#pragma once

struct json;

struct word { /* a mode, command, permission option or value of a config option */
    char *id, *name, *description, *kind; /* "" if missing */
};

/* Reads an array of objects into words. The keys name the members; a missing member gives "". The
 * caller releases the result with word_list_free(). */
struct word_keys {
    const char *id, *name, *description, *kind; /* NULL: stays "" */
};
struct word_list {
    struct word *word;
    size_t count;
};
struct word_list word_list_read(const struct json *array, const struct word_keys *keys);
void word_list_free(struct word_list *words);
/* Copies words; the caller frees them with the second function. */
struct word *word_copy(const struct word *words, size_t count);
void word_free(struct word *words, size_t count);
