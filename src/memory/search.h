/*
 * The search: sessions/.memory.index, a full-text index (SQLite FTS5) over the memory.db of all
 * sessions. It is a cache: what is missing, damaged or of another version is made anew from them,
 * and a kill at any time costs only time. No writer of messages ever waits for it; who searches
 * brings it up to date first.
 *
 *     if (search_open(&root, NULL, &search, err) == -1 ||
 *         search_catch_up(search, SEARCH_WAIT_MS, err) == -1 ||
 *         search_find(search, &options, each, arg, err) == -1) ...
 *
 * Prompts and answers are indexed, tool calls by their titles; thoughts are not. Of a long message
 * the first SEARCH_TEXT_MAX bytes are. A session with PRIVATE=yes is never in it: that has an index
 * of its own, in memory (`alone`), which also holds nothing else.
 *
 * The words are or-ed, stop words left out; "several words" in quotes stand together, and
 * begin* stands for all that begin so. What is found is ranked by three lists that are fused by
 * reciprocal rank: the message itself (BM25), the messages around it, and its segment, which is its
 * query, split where an hour passed in silence; and by a fourth where there are vectors.
 */
#ifndef MAS_MEMORY_SEARCH_H
#define MAS_MEMORY_SEARCH_H

#include "base/err.h"
#include "base/id.h"
#include "memory/store.h"
#include "store/root.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEARCH_FILE ".memory.index"

enum {
    SEARCH_TEXT_MAX = 64 << 10, /* bytes */
    SEARCH_TITLE_MAX = 256, /* of a tool call */
    SEARCH_SILENCE_MS = 3600 * 1000, /* that ends a segment */
    SEARCH_WAIT_MS = 10000, /* for another search that catches up */
    SEARCH_FOUND_MAX = 1000, /* messages that one search gives at most */
    SEARCH_ROLES = 1 << ROLE_USER | 1 << ROLE_AGENT | 1 << ROLE_TOOL, /* what is indexed */
};

/* Around a word that was found, in a snippet. */
#define SEARCH_MARK '\x02'
#define SEARCH_MARK_END '\x03'

struct search;

/* Opens the index of the root, or one in memory of the session `alone` only. */
int search_open(const struct root *root, const char *alone, struct search **ret, struct err *err);
void search_close(struct search *search);
void search_closep(struct search **search);
#define _cleanup_search_ __attribute__((cleanup(search_closep)))

/* Brings in what was said since, and takes out sessions that are gone. Where another one does that
 * it is waited for as long, then what is there has to do (see search_note()). */
int search_catch_up(struct search *search, int wait_ms, struct err *err);
/* A catch-up takes so long at most; what it does not come to is for the next one. */
void search_set_deadline(struct search *search, int ms);
/* What a person should be told, or NULL: the index was damaged, is not complete, a session could
 * not be read, vectors could not be had. */
const char *search_note(const struct search *search);

/* Takes out sessions that were removed. Where there is no index it has nothing to do. */
int search_forget(const struct root *root, const char *const *ids, size_t count, struct err *err);

/* Words, and what the messages that are found must be like. */
struct search_options {
    const char *text;
    const char *session; /* NULL any; an id */
    const char *agent; /* NULL any */
    unsigned roles; /* bits 1 << role; 0 all that are indexed */
    int64_t since_ms, until_ms; /* 0 open */
    const char *tag; /* KEY:VALUE; NULL any */
    /* Nothing of this conversation: what a clear put away from it stays away. Or, where
     * `keep_query` is not 0, nothing of it but what was said in that query. */
    const char *not_conversation;
    int64_t keep_query;
    int limit;
    bool each_role; /* the limit is that of each role */
    /* Only what shares words with the text that tell something: one that is in few messages of a
     * great many, or two that are not in many. Nothing is found rather than the least bad. */
    bool related;
};

struct search_hit {
    const char *session;
    int64_t number;
    const char *conversation;
    const char *agent;
    enum store_role role;
    int64_t time_ms;
    int64_t trigger; /* 0 none */
    const char *tags; /* JSON array, "session:" and "agent:" first */
    const char *text; /* as far as it is indexed */
    size_t len;
    const char *snippet; /* one line, with SEARCH_MARKs */
    bool matched; /* a word is in it; else it is there for what stands around it, or for vectors */
    double score;
};
/* Called for each, best first; false ends it. The hit is the caller's only meanwhile. */
typedef bool search_each(const struct search_hit *hit, void *arg);

/* No words at all: MAS_USAGE. */
int search_find(struct search *search, const struct search_options *options, search_each *each,
                void *arg, struct err *err);

/* Uses vectors too, of this program (words of a command line; "": none). */
int search_use_vectors(struct search *search, const char *command, struct err *err);

#endif
