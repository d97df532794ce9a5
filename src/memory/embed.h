/*
 * Embedding vectors of texts, computed by a program that the user configures. mas runs it without a
 * shell. It reads one JSON object per line, {"text":"...","kind":"query"|"document"}, until the end
 * of its input and writes, for each in the same order, {"vector":[numbers],"model":"name"}. It may
 * omit the model if it is the same as on the line before. With {"more":true} it ends early: it is
 * asked for the others again. All vectors of a model have the same
 * length.
 */
#pragma once

enum {
    EMBED_PARTS_MAX = 16384, /* numbers in a vector */
    EMBED_TEXT_MAX = 8 << 10, /* bytes of a text that the program gets */
    EMBED_MODEL_MAX = 256,
    EMBED_TIMEOUT_MS = 30000,
};

struct embed_text {
    const char *text;
    size_t len;
};

/* A vector of length 1, quantised: each component is its number times `scale`. */
struct vector {
    int8_t *parts;
    float scale;
};

struct embedding {
    char *model;
    size_t parts; /* components of each vector */
    struct vector *vectors; /* the query's first, then those of the documents */
    size_t count;
};

/* Runs the command (split into words as a shell does; programs of mas are found, too) for a query
 * and `count` documents, for at most EMBED_TIMEOUT_MS. `host` is the one that texts may go to, ""
 * none, which the program gets as MAS_EMBED_HOST. The caller releases *ret with embedding_free().
 */
int embed_run(const char *command, const char *host, const struct embed_text *query,
              const struct embed_text *documents, size_t count, struct embedding *ret,
              struct err *err);
void embedding_free(struct embedding *embedding);
#define _cleanup_embedding_ __attribute__((cleanup(embedding_free)))

/* Returns the similarity of two directions, not yet scaled: between -1 and 1 after scaling. */
int32_t vector_product(const int8_t *a, const int8_t *b, size_t parts);
