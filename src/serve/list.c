#include "serve/list.h"

#include "base/time.h"
#include "core/workspace.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* A survey that a worker takes. */
struct taking {
    struct job job;
    struct list *list;
    const struct root *root;
    const struct config *config;
    bool asks_hosts;
    struct listing *listing;
    struct err err;
};

static void listing_free(struct listing *listing)
{
    if (listing == NULL)
        return;
    for (size_t i = 0; i < listing->survey.count; i++)
        free(listing->cards[i].json);
    free(listing->cards);
    free(listing->watched);
    survey_free(&listing->survey);
    free(listing);
}

/* true for a session that runs, ran, or is to run: its metadata says what the index may not. */
static bool is_watched(const struct view *view)
{
    return view->live != NULL || view->row.status == STATUS_ACTIVE;
}

/* On its way: it is to run and does not yet, or the other way round. */
static bool is_moving(const struct view *view)
{
    return view->status != STATUS_ERROR &&
           (view->live != NULL) != (view->row.status == STATUS_ACTIVE) && !view->crashed;
}

static void run_taking(struct job *job)
{
    struct taking *taking = (struct taking *)(void *)job;
    struct listing *listing = mem_alloc(sizeof *listing);
    struct survey *survey = &listing->survey;
    unsigned depth = SURVEY_LIVE | (taking->asks_hosts ? (unsigned)SURVEY_HOSTS : 0U);

    listing->began_ms = time_monotonic_ms();
    (void)fstatat(taking->root->sessions, INDEX_FILE, &listing->index, AT_SYMLINK_NOFOLLOW);
    if (survey_take(taking->root, taking->config, depth, survey, &taking->err) == -1) {
        free(listing);
        return;
    }
    listing->cards = mem_alloc((survey->count + 1) * sizeof *listing->cards);
    listing->watched = mem_alloc((survey->count + 1) * sizeof *listing->watched);
    listing->settled = true;
    for (size_t i = 0; i < survey->count; i++) {
        if (is_watched(&survey->views[i]))
            listing->watched[listing->watched_count++] = i;
        if (is_moving(&survey->views[i]))
            listing->settled = false;
    }
    taking->listing = listing;
}

/* Sessions stand in one order in both, so one walk finds what they share. */
static void take_over_tallies(const struct survey *from, struct survey *to)
{
    size_t j = 0;

    for (size_t i = 0; i < to->count; i++) {
        struct view *view = &to->views[i];
        if (view->live == NULL)
            continue;
        size_t k = j;
        while (k < from->count && strcmp(from->views[k].row.id, view->row.id) != 0)
            k++;
        if (k == from->count)
            continue;
        j = k + 1;
        if (from->views[k].live != NULL && from->views[k].metadata == view->metadata)
            view->tally = from->views[k].tally;
    }
}

static bool is_untold(const struct survey *survey)
{
    for (size_t i = 0; i < survey->count; i++)
        if (survey->views[i].live != NULL && survey->views[i].tally.told == 0)
            return true;
    return false;
}

static void begin(struct list *list);

static void finish_waiting(struct list *list)
{
    struct request *left = NULL;
    struct request *request = list->waiting;

    list->waiting = NULL;
    while (request != NULL) {
        struct request *next = request->next;
        if (list->err.code == MAS_OK && list->now->began_ms < request->since_ms) {
            request->next = left;
            left = request;
        } else {
            list->ready(request);
        }
        request = next;
    }
    list->waiting = left;
    if (left != NULL)
        begin(list);
}

static void done_taking(struct job *job)
{
    struct taking *taking = (struct taking *)(void *)job;
    struct list *list = taking->list;
    struct listing *was = list->now;
    struct listing *now = taking->listing;

    list->taking = NULL;
    list->err = taking->err;
    if (now != NULL) {
        now->hosts_ms = now->began_ms;
        if (!taking->asks_hosts && was != NULL) {
            now->hosts_ms = was->hosts_ms;
            take_over_tallies(&was->survey, &now->survey);
        }
        now->untold = is_untold(&now->survey);
        list->now = now;
        if (list->changed != NULL)
            list->changed(list->arg, was, now);
        listing_free(was);
    }
    free(taking);
    finish_waiting(list);
}

/* Begins to take one, unless that is under way. */
static void begin(struct list *list)
{
    if (list->taking != NULL)
        return;
    struct taking *taking = mem_alloc(sizeof *taking);
    *taking = (struct taking){.job = {.run = run_taking, .done = done_taking},
                              .list = list,
                              .root = list->root,
                              .config = list->config,
                              .err = ERR_INIT};
    taking->asks_hosts = list->now == NULL || list->now->untold ||
                         time_monotonic_ms() - list->now->hosts_ms >= LIST_HOSTS_MS;
    list->taking = taking;
    if (pool_add(list->pool, &taking->job))
        return;
    list->taking = NULL;
    (void)err_set(&list->err, MAS_FAILED, "cannot take a survey: there can be no thread");
    free(taking);
    finish_waiting(list);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* true while the files are those that it was made from. */
static bool is_current(const struct list *list, const struct listing *listing)
{
    char name[ID_TEXT + sizeof "/" WORKSPACE_SESSION];
    struct stat st = {.st_ino = 0};

    (void)fstatat(list->root->sessions, INDEX_FILE, &st, AT_SYMLINK_NOFOLLOW);
    if (!same_file(&st, &listing->index))
        return false;
    for (size_t i = 0; i < listing->watched_count; i++) {
        const struct view *view = &listing->survey.views[listing->watched[i]];
        memcpy(name, view->row.id, ID_TEXT - 1);
        memcpy(name + ID_TEXT - 1, "/" WORKSPACE_SESSION, sizeof "/" WORKSPACE_SESSION);
        if (fstatat(list->root->sessions, name, &st, AT_SYMLINK_NOFOLLOW) == -1) {
            if (view->metadata != 0)
                return false;
        } else if (st.st_ino != view->metadata || st.st_ctim.tv_sec != view->written.tv_sec ||
                   st.st_ctim.tv_nsec != view->written.tv_nsec) {
            return false;
        }
    }
    return true;
}

struct listing *list_get(struct list *list, struct request *request)
{
    int64_t now = time_monotonic_ms();
    struct listing *listing = list->now;
    int64_t since = now;

    if (request == NULL) {
        begin(list);
        return NULL;
    }
    if (listing != NULL && listing->settled && is_current(list, listing)) {
        if (now - listing->began_ms >= LIST_FRESH_MS)
            begin(list); /* so that nobody has to wait for it */
        since = now - LIST_TMUX_MS;
        if (listing->began_ms >= since)
            return listing;
    }
    request->since_ms = since;
    request->next = list->waiting;
    list->waiting = request;
    begin(list);
    return NULL;
}

const struct card *list_card(const struct list *list, struct listing *listing, size_t i)
{
    struct card *card = &listing->cards[i];
    struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    if (card->json != NULL)
        return card;
    json_open(&out, NULL, '{');
    view_put_json(list->root, &listing->survey.views[i], &out);
    json_close(&out, '}');
    card->len = text.len;
    card->hash = hash_bytes(HASH_START, text.data, text.len);
    card->json = str_steal(&text);
    return card;
}

int list_make(const struct root *root, const struct config *config, struct list *ret,
              struct err *err)
{
    *ret = (struct list){.root = root, .config = config, .err = ERR_INIT};
    return pool_make(1, &ret->pool, err);
}

void list_free(struct list *list)
{
    pool_free(list->pool);
    if (list->taking != NULL)
        listing_free(list->taking->listing);
    free(list->taking);
    listing_free(list->now);
}
