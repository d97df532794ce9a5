/*
 * The list of sessions, from a survey that is kept as long as it is true.
 *
 * A survey of ten thousand sessions takes milliseconds, so a worker takes it and requests share it.
 * It is good for a request while the index and the metadata of every session that runs are the
 * files that it was made from, tmux has said at most LIST_TMUX_MS ago that the same sessions run,
 * and no session is on its way (wanted to run and not there, or the other way round). Else the
 * request waits for what is missing: another survey, a look at tmux alone, or the hosts, which are
 * asked once in LIST_HOSTS_MS. A survey alone looks at the metadata of the sessions that are
 * stopped, so one that is LIST_OLD_MS old is followed by another. All of this belongs to the event
 * loop but what workers have in hand.
 */
#ifndef MAS_SERVE_LIST_H
#define MAS_SERVE_LIST_H

#include "client/survey.h"
#include "serve/request.h"
#include "serve/work.h"
#include "store/config.h"
#include "store/root.h"

#include <sys/stat.h>

enum {
    LIST_TMUX_MS = 100,
    LIST_FRESH_MS = 40,
    LIST_HOSTS_MS = 1000,
    LIST_HOSTS_OLD_MS = 2000,
    LIST_OLD_MS = 5000
};

/* A view as JSON, made when it is first asked for. */
struct card {
    char *json;
    size_t len;
    uint64_t hash;
};

struct listing {
    struct survey survey;
    struct card *cards; /* one a view */
    struct stat index; /* the file, before it was read */
    unsigned char *kinds; /* status and mode of each view, see list_kind(): close together */
    size_t *watched; /* views whose metadata is looked at each time */
    size_t watched_count;
    /* Monotonic: when it was begun, tmux asked last, the hosts asked last. */
    int64_t began_ms, tmux_ms, hosts_ms;
    bool settled;
};

struct list {
    const struct root *root;
    const struct config *config;
    struct pool *pool;
    struct listing *now; /* NULL: none yet */
    /* What workers have in hand; NULL: nothing. */
    struct taking *taking;
    struct peek *peek;
    struct count *count;
    struct request *waiting; /* newest first */
    struct err err; /* why the last one failed; MAS_OK: it did not */
    void (*changed)(void *arg, const struct listing *was, const struct listing *now);
    void (*ready)(struct request *request); /* a request that waited has what it needs */
    void *arg;
};

/* A view's status and mode in one number. */
static inline unsigned char list_kind(enum status status, enum mode mode)
{
    return (unsigned char)((unsigned)mode * STATUS_COUNT + (unsigned)status);
}

int list_make(const struct root *root, const struct config *config, struct list *ret,
              struct err *err);
void list_free(struct list *list);

/* The survey, where it is good; else NULL, and the request waits. `fresh`: only one that is begun
 * now is good. */
struct listing *list_get(struct list *list, struct request *request, bool fresh);
/* Looks whether anything has changed, or takes another survey: `changed` will tell. */
void list_look(struct list *list, bool survey);
const struct card *list_card(const struct list *list, struct listing *listing, size_t i);

#endif
