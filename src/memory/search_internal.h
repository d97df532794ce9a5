/*
 * What the parts of the search share. Of no use outside src/memory/search*.c and its test.
 *
 * The number of a message in the index says where it is: its segment, its place there, its kind,
 * and about how long it is, so that a ranking of a million looks nothing up. Prompts and answers of
 * a segment are counted together, tool calls by themselves: what was said before and after a
 * message has the places next to it.
 */
#ifndef MAS_MEMORY_SEARCH_INTERNAL_H
#define MAS_MEMORY_SEARCH_INTERNAL_H

#include "memory/db.h"
#include "memory/search.h"
#include "memory/words.h"

enum kind { KIND_USER, KIND_AGENT, KIND_TOOL };
enum {
    LENGTH_BITS = 6,
    KIND_BITS = 2,
    PLACE_BITS = 20,
    PLACE_SHIFT = LENGTH_BITS + KIND_BITS,
    SEGMENT_SHIFT = PLACE_SHIFT + PLACE_BITS,
    PLACE_MAX = (1 << PLACE_BITS) - 1,
    LENGTH_MAX = (1 << LENGTH_BITS) - 1,
};
/* A length is a power of this. */
#define LENGTH_STEP 1.15

static inline int64_t search_id(int64_t segment, int64_t place, enum kind kind, int length)
{
    return segment << SEGMENT_SHIFT | place << PLACE_SHIFT | (int64_t)kind << LENGTH_BITS | length;
}

static inline int64_t search_segment(int64_t id)
{
    return id >> SEGMENT_SHIFT;
}

static inline int64_t search_place(int64_t id)
{
    return id >> PLACE_SHIFT & PLACE_MAX;
}

static inline enum kind search_kind(int64_t id)
{
    return (enum kind)(id >> LENGTH_BITS & ((1 << KIND_BITS) - 1));
}

static inline int search_length(int64_t id)
{
    return (int)(id & LENGTH_MAX);
}

enum store_role search_role(enum kind kind);
enum kind search_kind_of(enum store_role role);

struct vectors; /* in search_vectors.c */

struct search {
    const struct root *root;
    struct db *db;
    char alone[ID_TEXT]; /* "": it is that of the root */
    ino_t file; /* of the index that is open */
    int64_t until_ms; /* a catch-up ends then, monotonic; 0: when all is there */
    bool fixed; /* it cannot be written: what is in it has to do */
    bool unkept; /* it is in memory, because there is none and none can be made */
    char *note;
    struct vectors *vectors; /* NULL: none */
};

/* Keeps the first one. */
void search_say(struct search *search, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Makes the index anew, empty, in the place of what is open. */
int search_remake(struct search *search, const char *why, struct err *err);
/* Inside a transaction: takes out a session with all that is of it. */
int search_drop(struct db *db, int64_t session, struct err *err);

/* ---- ranking */

/* Which messages may be found, as far as that can be told without a look at each. */
struct pool {
    unsigned char *segments; /* a bit each; NULL: all */
    int64_t top; /* the last one that has a bit */
    unsigned kinds; /* 1 << kind */
    bool related; /* see struct search_options */
    int64_t *only; /* sorted; NULL: any message */
    size_t only_count;
    /* of what the segments hold; 0 where it is all */
    int64_t count, messages, words;
};

bool pool_has_segment(const struct pool *pool, int64_t segment);
bool pool_has(const struct pool *pool, int64_t id);
void pool_free(struct pool *pool);

struct ranked {
    int64_t id;
    double score;
};

/* Brings them into the order of their numbers, in which one is found; NULL: it is not there. */
void ranked_sort(struct ranked *items, size_t count);
const struct ranked *ranked_find(const struct ranked *items, size_t count, int64_t id);

/* The best of what is pushed; sorted, best first, by best_sort(). */
struct best {
    struct ranked *items;
    size_t count, most;
};

/* How much of each list is fused, and how little the first places of a list tell more. */
enum { RANK_DEPTH = 1000, RANK_DAMP = 60 };

void best_push(struct best *best, int64_t id, double score);
void best_sort(struct best *best);
void best_free(struct best *best);
#define _cleanup_best_ __attribute__((cleanup(best_free)))

/* Ranks what has one of the words, fused with a ranking by other means (NULL: none). */
int search_rank(struct search *search, const char *match, const struct pool *pool,
                const struct best *more, struct best *ret, struct err *err);
/* Registers the function of SQL that collects what is found. */
int search_add_function(struct db *db, struct err *err);

/* By cosine; nothing where there are no vectors. */
int search_rank_vectors(struct search *search, const char *text, const struct pool *pool,
                        struct best *ret, struct err *err);
void vectors_free(struct vectors *vectors);

#endif
