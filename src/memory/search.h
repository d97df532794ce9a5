/*
 * The search: sessions/.memory.index, a full-text index (SQLite FTS5) over the memory.db of all
 * sessions. It is a cache: mas rebuilds what is missing, damaged or of another version, and a kill
 * at any time costs only time. Writers of messages never wait for the index; each search updates it
 * first.
 *
 *     if (search_open(&root, NULL, &search, err) == -1 ||
 *         search_catch_up(search, SEARCH_WAIT_MS, err) == -1 ||
 *         search_find(search, &options, each, arg, err) == -1) ...
 *
 * The index contains prompts and answers, and tool calls by their titles, but no thoughts. Of a
 * long message it contains the first SEARCH_TEXT_MAX bytes. A session with PRIVATE=yes is never in
 * the shared index: it has its own index in memory (`alone`), which contains nothing else.
 *
 * The words are combined with OR, without stop words. "several words" in quotes are a phrase, and
 * begin* matches every word with that beginning. Results are ranked by the sum of three scores: of
 * the messages around a place, of the message itself, and of its segment. A segment is a query,
 * split at silences of an hour, and where the agent has compacted its context. With vectors there
 * is a fourth.
 */
#pragma once

#include "base/id.h"
#include "memory/store.h"
#include "store/root.h"

#define SEARCH_FILE ".memory.index"

enum {
    SEARCH_TEXT_MAX = 64 << 10, /* bytes */
    SEARCH_TITLE_MAX = 256, /* bytes of a tool call's title */
    SEARCH_SILENCE_MS = 3600 * 1000, /* silence that ends a segment */
    SEARCH_WAIT_MS = 10000, /* for another search that updates the index */
    SEARCH_FOUND_MAX = 1000, /* messages that one search returns at most */
    SEARCH_ROLES = 1 << ROLE_USER | 1 << ROLE_AGENT | 1 << ROLE_TOOL, /* roles in the index */
};

/* Mark a matching word in a snippet. */
#define SEARCH_MARK '\x02'
#define SEARCH_MARK_END '\x03'

struct search;

/* Opens the index of the root, or one in memory for the session `alone` only. The caller closes
 * *ret with search_close(). */
int search_open(const struct root *root, const char *alone, struct search **ret, struct err *err);
void search_close(struct search *search);
void search_closep(struct search **search);
#define _cleanup_search_ __attribute__((cleanup(search_closep)))

/* Adds new messages and removes sessions that are gone. If another process is doing so, waits at
 * most `wait_ms` for it and then uses the index as it is (see search_note()). */
int search_catch_up(struct search *search, int wait_ms, struct err *err);
/* Limits a catch-up to `ms` from now; the next catch-up continues. */
void search_set_deadline(struct search *search, int ms);
/* Returns a note for the user, or NULL: the index was damaged or is incomplete, a session could not
 * be read, or vectors are not available. The search owns it. */
const char *search_note(const struct search *search);

/* Removes sessions from the index after their removal. Does nothing if there is no index. */
int search_forget(const struct root *root, const char *const *ids, size_t count, struct err *err);

/* The words to search for, and conditions for the messages. */
struct search_options {
    const char *text;
    const char *session; /* an id; NULL: any */
    const char *agent; /* NULL: any */
    const char *project; /* path; "": sessions without a project; NULL: any */
    unsigned roles; /* bits 1 << role; 0: all indexed ones */
    int64_t since_ms, until_ms; /* 0: no limit */
    const char *tag; /* KEY:VALUE; NULL: any */
    /* Exclude this conversation, so that messages put away by a clear do not return. If
     * `keep_query` is not 0, exclude it except for the messages of that query. */
    const char *not_conversation;
    int64_t keep_query;
    int limit;
    bool each_role; /* apply the limit to each role separately */
    /* Return only messages that share significant words with the text: one word that is in very few
     * of the messages, or two that are not in many. Rather return nothing than bad matches. */
    bool related;
};

struct search_hit {
    const char *session;
    int64_t number;
    const char *conversation;
    const char *agent;
    enum store_role role;
    int64_t time_ms;
    int64_t trigger; /* 0: none */
    const char *tags; /* JSON array, "session:" and "agent:" first */
    const char *text; /* as far as it is indexed */
    size_t len;
    const char *snippet; /* one line, with SEARCH_MARKs */
    bool matched; /* contains a word; otherwise found by its neighbours or vectors */
    bool semantic; /* found by vectors more than by words */
    bool compacted; /* the agent has compacted its context since, and has at most a summary of it */
    double score;
};
/* Called for each result, best first; return false to stop. `hit` is valid during the call. */
typedef bool search_each(const struct search_hit *hit, void *arg);

/* Searches. Fails with MAS_USAGE if the text contains no words. */
int search_find(struct search *search, const struct search_options *options, search_each *each,
                void *arg, struct err *err);

/* Also uses vectors computed by this program (a command line; "": none), which may give texts to
 * this host; those of a private session to none. */
void search_use_vectors(struct search *search, const char *command, const char *host);
