/*
 * Vectors of texts, made by a program that the user names. It is run without a shell, reads one
 * JSON object a line, {"text":"...","kind":"query"|"document"}, to the end of its input, and writes
 * for each, in the same order, {"vector":[numbers],"model":"name"}. The name may be left out where
 * it is that of the line before. All vectors of a model have as many numbers.
 */
#ifndef MAS_MEMORY_EMBED_H
#define MAS_MEMORY_EMBED_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum {
    EMBED_PARTS_MAX = 16384, /* numbers of a vector */
    EMBED_TEXT_MAX = 8 << 10, /* bytes of a text that are given to it */
    EMBED_MODEL_MAX = 256,
    EMBED_TIMEOUT_MS = 30000,
};

struct embed_text {
    const char *text;
    size_t len;
};

/* Of length 1, as whole numbers: a part is its number times `scale`. */
struct vector {
    int8_t *parts;
    float scale;
};

struct embedding {
    char *model;
    size_t parts; /* of each vector */
    struct vector *vectors; /* the query's first, then those of the documents */
    size_t count;
};

/* Runs the command (words as a shell splits them) for a query and some documents. */
int embed_run(const char *command, const struct embed_text *query,
              const struct embed_text *documents, size_t count, struct embedding *ret,
              struct err *err);
void embedding_free(struct embedding *embedding);
#define _cleanup_embedding_ __attribute__((cleanup(embedding_free)))

/* How alike the directions of two are, not yet scaled: 1 or -1 at most once it is. */
int32_t vector_product(const int8_t *a, const int8_t *b, size_t parts);

#endif
