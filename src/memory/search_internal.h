/*
 * Shared by the parts of the search, for src/memory/search*.c and its test only.
 *
 * The number of a message in the index encodes its segment, its place there, its kind and its
 * approximate length, so ranking a million messages needs no lookups. Prompts and answers of a
 * segment are numbered together and tool calls separately, so the messages before and after a
 * message have adjacent places.
 */
#pragma once

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
/* Lengths are stored as powers of this. */
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

/* The number of a place stands for the prompt or answer there, whose own number is not known yet:
 * it is the least one that it can have. */
static inline int64_t search_at(int64_t segment, int64_t place)
{
    return search_id(segment, place, KIND_USER, 0);
}

static inline bool search_is_place(int64_t id)
{
    return (id & ((1 << PLACE_SHIFT) - 1)) == 0;
}

/* The largest number that the message can have. */
static inline int64_t search_last(int64_t id)
{
    return search_is_place(id)
               ? search_id(search_segment(id), search_place(id), KIND_AGENT, LENGTH_MAX)
               : id;
}

enum store_role search_role(enum kind kind);
enum kind search_kind_of(enum store_role role);

struct search {
    const struct root *root;
    struct db *db;
    char alone[ID_TEXT]; /* "": the index of the root */
    ino_t file; /* inode of the open index */
    int64_t until_ms; /* deadline of a catch-up, monotonic ms; 0: none */
    bool fixed; /* the index is read-only: use it as it is */
    bool unkept; /* the index is in memory: there is none on disk and none can be created */
    char *note;
    char *embed_command; /* what computes vectors; NULL: nothing */
    char *embed_host;
};

/* Sets the note, unless there is one. */
void search_say(struct search *search, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Replaces the open index with a new, empty one. */
int search_remake(struct search *search, const char *why, struct err *err);
/* Removes a session and everything that belongs to it. Call it inside a transaction. */
int search_drop(struct db *db, int64_t session, struct err *err);

/* ---- ranking */

/* Which messages a search may return, as far as that is known without reading them. */
struct search_scope {
    unsigned char *segments; /* one bit each; NULL: all */
    int64_t top; /* the last segment that has a bit */
    unsigned kinds; /* 1 << kind */
    bool related; /* see struct search_options */
    int64_t *only; /* sorted; NULL: any message */
    size_t only_count;
    /* totals of the selected segments; 0 if all are selected */
    int64_t count, messages, words;
};

/* Return true if the scope contains a segment, or a message. */
bool scope_has_segment(const struct search_scope *scope, int64_t segment);
bool scope_has(const struct search_scope *scope, int64_t id);
/* Returns true if the scope may contain the message at a place. */
bool scope_has_place(const struct search_scope *scope, int64_t id);
void scope_free(struct search_scope *scope);

struct ranked {
    int64_t id;
    double score;
    bool semantic; /* more of it comes from vectors than from words */
};

/* ranked_sort() sorts by message number; ranked_find() then finds a number, or returns NULL. */
void ranked_sort(struct ranked *items, size_t count);
const struct ranked *ranked_find(const struct ranked *items, size_t count, int64_t id);

/* The best of the pushed items; best_sort() sorts them, best first. */
struct best {
    struct ranked *items;
    size_t count, most;
};

/* How many segments, messages and vectors are looked at closely. */
enum { RANK_DEPTH = 1000 };

void best_push(struct best *best, int64_t id, double score);
void best_push_item(struct best *best, struct ranked item);
void best_sort(struct best *best);
void best_free(struct best *best);
#define _cleanup_best_ __attribute__((cleanup(best_free)))

/* Ranks the messages that contain one of the words, or are beside one that does, together with
 * those that `more` found by other means, with scores up to 1 (NULL: none). Of a message with no
 * word *ret may have the number of its place, see search_at(). */
int search_rank(struct search *search, const char *match, const struct search_scope *scope,
                const struct best *more, struct best *ret, struct err *err);
/* Registers the tokenizer `mas`. Returns a code of SQLite. */
int search_add_tokenizer(fts5_api *api);
/* Registers the tokenizer, and the SQL function that collects matches. */
int search_add_function(struct db *db, struct err *err);

/* Ranks by cosine similarity; returns nothing if there are no vectors. */
int search_rank_vectors(struct search *search, const char *text, const struct search_scope *scope,
                        struct best *ret, struct err *err);
