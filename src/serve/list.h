/*
 * The list of sessions: a survey that requests share while it is valid.
 *
 * A survey of ten thousand sessions takes milliseconds, so a worker makes it and requests share it.
 * It is valid for a request if three conditions hold. The index and the metadata of every running
 * session are still the files that it was made from. tmux has confirmed at most LIST_TMUX_MS ago
 * that the same sessions run. No session is changing (intended to run but not running, or the
 * reverse). Otherwise the request waits for what is missing: a new survey, a query to tmux alone,
 * or the hosts, which are asked once per LIST_HOSTS_MS. Only a survey checks the metadata of
 * stopped sessions, so a survey LIST_OLD_MS old is replaced. Everything here belongs to the event
 * loop, except the jobs of workers.
 */
#pragma once

#include "client/survey.h"
#include "serve/request.h"
#include "serve/work.h"
#include "store/config.h"
#include "store/placement.h"
#include "store/root.h"

enum {
    LIST_TMUX_MS = 100,
    LIST_FRESH_MS = 40,
    LIST_HOSTS_MS = 1000,
    LIST_HOSTS_OLD_MS = 2000,
    LIST_OLD_MS = 5000
};

/* A view as JSON, created when it is first needed. */
struct card {
    char *json;
    size_t len;
    uint64_t hash;
};

struct listing {
    struct survey survey;
    struct card *cards; /* one per view */
    struct stat index; /* stat of the index before it was read */
    /* list_kind() of each view, in one array for fast filtering */
    unsigned char *kinds;
    size_t *watched; /* indexes of the views whose metadata is always checked */
    size_t watched_count;
    /* Monotonic time of the start, of the last query to tmux, and of the last one to hosts. */
    int64_t began_ms, tmux_ms, hosts_ms;
    bool settled;
};

struct list {
    const struct root *root;
    const struct config *config;
    struct pool *pool;
    struct listing *now; /* NULL: not there yet */
    /* Jobs of workers; NULL: none. */
    struct taking *taking;
    struct peek *peek;
    struct count *count;
    struct request *waiting; /* newest first */
    struct err err; /* why the last survey failed; MAS_OK: it did not */
    void (*changed)(void *arg, const struct listing *was, const struct listing *now);
    void (*ready)(struct request *request); /* a waiting request has what it needs */
    void *arg;
};

/* Returns a view's status and mode as one number. */
static inline unsigned char list_kind(enum status status, enum mode mode)
{
    return (unsigned char)((unsigned)mode * STATUS_COUNT + (unsigned)status);
}

/* Creates the list with its own workers; release *ret with list_free(). `root` and `config` must
 * outlive it. The caller then sets changed, ready and arg. */
int list_make(const struct root *root, const struct config *config, struct list *ret,
              struct err *err);
void list_free(struct list *list);

/* Returns the list if it is valid for this request; it stays valid until the event loop continues.
 * Otherwise returns NULL and the request waits for list->ready. With `fresh`, only a survey that
 * starts now is valid. */
struct listing *list_get(struct list *list, struct request *request, bool fresh);
/* Starts a check for changes, or with `survey` a new survey; list->changed reports the result. */
void list_look(struct list *list, bool survey);
/* Returns the JSON of view `i`. It belongs to the listing. */
const struct card *list_card(const struct list *list, struct listing *listing, size_t i);
