/*
 * Three kinds of jobs, at most one of each at a time, on threads of the list's own: a survey, a
 * query to tmux and one to the hosts. A request notes how old each of the three may be and waits
 * until all are young enough; when a job ends, those that still lack something start the next one.
 * A job works on its own data, and the loop takes the result over; what tmux says of a listing that
 * was replaced meanwhile is dropped.
 */

#include "serve/list.h"

#include "base/time.h"
#include "store/workspace.h"

enum {
    COUNT_AT_ONCE = 8, /* sessions */
    JOBS_MAX = 3, /* a survey, a query to tmux, and one to hosts */
};

/* A job that makes a survey. */
struct taking {
    struct job job;
    struct list *list;
    const struct root *root;
    const struct config *config;
    struct listing *listing;
    struct err err;
};

/* A job that asks the tmux servers whether the same sessions run. */
struct peek {
    struct job job;
    struct list *list;
    const struct root *root;
    struct listing *listing; /* the list in question, if it is still list->now; else NULL */
    int64_t began_ms;
    struct servers servers;
};

/* A job that asks the hosts of running sessions. */
struct count {
    struct job job;
    struct list *list;
    const struct root *root;
    int64_t began_ms;
    char (*ids)[ID_TEXT];
    struct agent_counts *totals;
    size_t count;
};

static void listing_free(struct listing *listing)
{
    if (listing == NULL)
        return;
    for (size_t i = 0; i < listing->survey.count; i++)
        free(listing->cards[i].json);
    free(listing->cards);
    free(listing->kinds);
    free(listing->watched);
    survey_free(&listing->survey);
    free(listing);
}

/* Returns true for a session that runs, ran or should run: its metadata may be newer than the
 * index. */
static bool is_watched(const struct view *view)
{
    return view->live != NULL || view->row.status == STATUS_ACTIVE;
}

/* Returns true for a session that should run and does not yet, or the reverse. */
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

    listing->began_ms = listing->tmux_ms = time_monotonic_ms();
    (void)fstatat(taking->root->sessions, INDEX_FILE, &listing->index, AT_SYMLINK_NOFOLLOW);
    if (survey_take(taking->root, taking->config, SURVEY_LIVE, survey, &taking->err) == -1) {
        free(listing);
        return;
    }
    listing->cards = mem_alloc((survey->count + 1) * sizeof *listing->cards);
    listing->watched = mem_alloc((survey->count + 1) * sizeof *listing->watched);
    listing->kinds = mem_alloc(survey->count + 1);
    listing->settled = true;
    for (size_t i = 0; i < survey->count; i++) {
        listing->kinds[i] = list_kind(survey->views[i].status, survey->views[i].row.mode);
        if (is_watched(&survey->views[i]))
            listing->watched[listing->watched_count++] = i;
        if (is_moving(&survey->views[i]))
            listing->settled = false;
    }
    taking->listing = listing;
}

/* Copies the counts of sessions in both surveys, which have the same order. */
static void carry_over_counts(const struct survey *from, struct survey *to)
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
            view_set_counts(view, from->views[k].counts);
    }
}

static void survey_again(struct list *list);
static void peek_again(struct list *list);
static void count_again(struct list *list);

static bool is_enough(const struct listing *listing, const struct request *request)
{
    return listing->began_ms >= request->survey_ms && listing->tmux_ms >= request->tmux_ms &&
           listing->hosts_ms >= request->hosts_ms;
}

/* Starts what the request waits for. */
static void start_needed(struct list *list, const struct request *request)
{
    const struct listing *listing = list->now;

    if (listing == NULL || !listing->settled || listing->began_ms < request->survey_ms)
        survey_again(list);
    else if (listing->tmux_ms < request->tmux_ms)
        peek_again(list);
    if (listing != NULL && listing->hosts_ms < request->hosts_ms)
        count_again(list);
}

static void finish_waiting(struct list *list)
{
    struct request *request = list->waiting;

    list->waiting = NULL;
    while (request != NULL) {
        struct request *next = request->next;
        if (list->err.code != MAS_OK || is_enough(list->now, request)) {
            list->ready(request);
        } else {
            request->next = list->waiting;
            list->waiting = request;
            start_needed(list, request);
        }
        request = next;
    }
}

/* ---- a survey */

/* Returns true if hosts of a session have not been asked yet. */
static bool is_untold(const struct survey *survey)
{
    for (size_t i = 0; i < survey->count; i++)
        if (survey->views[i].live != NULL && view_counts(&survey->views[i])->told == 0)
            return true;
    return false;
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
        if (was != NULL) {
            carry_over_counts(&was->survey, &now->survey);
            now->hosts_ms = is_untold(&now->survey) ? 0 : was->hosts_ms;
        }
        list->now = now;
        if (list->peek != NULL)
            list->peek->listing = NULL; /* another one may get its address */
        if (list->changed != NULL)
            list->changed(list->arg, was, now);
        listing_free(was);
    }
    free(taking);
    finish_waiting(list);
}

static void survey_again(struct list *list)
{
    if (list->taking != NULL)
        return;
    struct taking *taking = mem_alloc(sizeof *taking);
    *taking = (struct taking){.job = {.run = run_taking, .done = done_taking},
                              .list = list,
                              .root = list->root,
                              .config = list->config,
                              .err = ERR_INIT};
    if (pool_add(list->pool, "", &taking->job)) {
        list->taking = taking;
        return;
    }
    (void)err_set(&list->err, MAS_FAILED, "cannot take a survey: cannot start a thread");
    free(taking);
}

/* ---- queries to tmux */

static void run_peek(struct job *job)
{
    struct peek *peek = (struct peek *)(void *)job;

    peek->began_ms = time_monotonic_ms();
    servers_ask(peek->root, &peek->servers);
}

static struct view *find_live(struct survey *survey, const struct listing *listing,
                              const char *socket, const char *id)
{
    for (size_t i = 0; i < listing->watched_count; i++) {
        struct view *view = &survey->views[listing->watched[i]];
        if (view->live != NULL && memcmp(view->row.id, id, ID_TEXT) == 0 &&
            strcmp(view->live_socket, socket) == 0)
            return view;
    }
    return NULL;
}

/* Copies what tmux says of a session that still runs. Returns false if it is another one now. */
static bool update_live(struct listing *listing, struct view *view, const struct tmux_session *now)
{
    /* the survey's own memory; const only for readers */
    struct tmux_session *live = (struct tmux_session *)(uintptr_t)view->live;
    struct card *card = &listing->cards[view - listing->survey.views];

    if (strcmp(live->target, now->target) != 0 || strcmp(live->name, now->name) != 0 ||
        strcmp(live->root, now->root) != 0)
        return false;
    if (live->activity == now->activity && live->attached == now->attached &&
        live->running == now->running && live->ended == now->ended)
        return true;
    live->activity = now->activity;
    live->attached = now->attached;
    live->running = now->running;
    live->ended = now->ended;
    free(card->json);
    *card = (struct card){.json = NULL};
    return true;
}

/* Returns true if the same sessions still run. */
static bool update_from_peek(struct peek *peek)
{
    struct listing *listing = peek->listing;
    size_t live = 0;
    size_t found = 0;

    for (size_t i = 0; i < listing->watched_count; i++)
        live += listing->survey.views[listing->watched[i]].live != NULL;
    if (servers_failure(&peek->servers, NULL) != NULL)
        return false;
    for (size_t i = 0; i < peek->servers.count; i++) {
        const struct tmux_server *at = &peek->servers.list[i];
        for (size_t j = 0; j < at->count; j++) {
            const struct tmux_session *session = &at->sessions[j];
            struct view *view = find_live(&listing->survey, listing, at->socket, session->id);
            if (view == NULL || !update_live(listing, view, session))
                return false;
            found++;
        }
    }
    return found == live;
}

static void peek_free(struct peek *peek)
{
    servers_free(&peek->servers);
    free(peek);
}

static void done_peek(struct job *job)
{
    struct peek *peek = (struct peek *)(void *)job;
    struct list *list = peek->list;

    list->peek = NULL;
    if (peek->listing == list->now && update_from_peek(peek)) {
        list->now->tmux_ms = peek->began_ms;
    } else if (peek->listing == list->now) {
        list->now->settled = false;
        survey_again(list);
    }
    peek_free(peek);
    finish_waiting(list);
}

static void peek_again(struct list *list)
{
    struct err ignored = ERR_INIT;
    _cleanup_free_ char *shared = NULL;

    if (list->peek != NULL) /* a survey that is being made does not stop one: it takes longer */
        return;
    struct peek *peek = mem_alloc(sizeof *peek);
    peek->job = (struct job){.run = run_peek, .done = done_peek};
    peek->list = list;
    peek->root = list->root;
    peek->listing = list->now;
    if (tmux_shared_socket(list->config, &shared, &ignored) == 0)
        servers_add(&peek->servers, shared);
    for (size_t i = 0; i < list->now->watched_count; i++) {
        const struct view *view = &list->now->survey.views[list->now->watched[i]];
        if (view->live != NULL)
            servers_add(&peek->servers, view->live_socket);
        if (view->socket != NULL)
            servers_add(&peek->servers, view->socket);
    }
    if (peek->servers.count >
        1) { /* where a server is a session's own, a survey asks hosts instead */
        peek_free(peek);
        survey_again(list);
        return;
    }
    if (pool_add(list->pool, "", &peek->job))
        list->peek = peek;
    else
        peek_free(peek);
}

/* ---- queries to hosts */

/* Hosts that are asked in one go work all at once, and the loop and its clients wait for a
 * processor meanwhile: they are asked some sessions at a time. A host that does not answer may hold
 * up one such group, then the rest is asked together. */
static void run_count(struct job *job)
{
    struct count *count = (struct count *)(void *)job;
    struct agent_counting counting = {.calls = NULL};
    size_t asked = 0;

    count->began_ms = time_monotonic_ms();
    for (size_t i = 0; i < count->count; i++) {
        _cleanup_close_ int dir = workspace_open(count->root, count->ids[i]);
        if (dir == -1)
            continue;
        agent_counts_ask(&counting, dir, i);
        if (++asked < COUNT_AT_ONCE || time_monotonic_ms() - count->began_ms >= HOSTS_ANSWER_MS)
            continue;
        agent_counts_finish(&counting, HOSTS_ANSWER_MS, count->totals);
        asked = 0;
    }
    agent_counts_finish(&counting, HOSTS_ANSWER_MS, count->totals);
}

static void count_free(struct count *count)
{
    free(count->ids);
    free(count->totals);
    free(count);
}

static void done_count(struct job *job)
{
    struct count *count = (struct count *)(void *)job;
    struct list *list = count->list;
    struct listing *listing = list->now;
    size_t j = 0;

    list->count = NULL;
    for (size_t i = 0; i < listing->watched_count; i++) {
        size_t place = listing->watched[i];
        struct view *view = &listing->survey.views[place];
        size_t k = j;
        while (k < count->count && memcmp(count->ids[k], view->row.id, ID_TEXT) != 0)
            k++;
        if (k == count->count)
            continue;
        j = k + 1;
        if (agent_counts_equal(view_counts(view), &count->totals[k]))
            continue;
        view_set_counts(view, &count->totals[k]);
        free(listing->cards[place].json);
        listing->cards[place] = (struct card){.json = NULL};
    }
    listing->hosts_ms = count->began_ms;
    count_free(count);
    finish_waiting(list);
}

static void count_again(struct list *list)
{
    const struct listing *listing = list->now;

    if (list->count != NULL)
        return;
    struct count *count = mem_alloc(sizeof *count);
    count->job = (struct job){.run = run_count, .done = done_count};
    count->list = list;
    count->root = list->root;
    count->ids = mem_alloc((listing->watched_count + 1) * sizeof *count->ids);
    count->totals = mem_alloc((listing->watched_count + 1) * sizeof *count->totals);
    for (size_t i = 0; i < listing->watched_count; i++) {
        const struct view *view = &listing->survey.views[listing->watched[i]];
        if (view->live != NULL)
            memcpy(count->ids[count->count++], view->row.id, ID_TEXT);
    }
    if (pool_add(list->pool, "", &count->job))
        list->count = count;
    else
        count_free(count);
}

/* ---- */

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Returns true while the files are those that the list was made from. */
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

void list_look(struct list *list, bool survey)
{
    const struct listing *listing = list->now;

    if (survey || listing == NULL || !listing->settled || !is_current(list, listing))
        survey_again(list);
    else
        peek_again(list);
}

struct listing *list_get(struct list *list, struct request *request, bool fresh)
{
    int64_t now = time_monotonic_ms();
    struct listing *listing = list->now;
    bool good = !fresh && listing != NULL && listing->settled && is_current(list, listing);

    request->survey_ms = good ? 0 : now;
    request->tmux_ms = now - LIST_TMUX_MS;
    request->hosts_ms = now - LIST_HOSTS_OLD_MS;
    if (good && now - listing->tmux_ms >= LIST_FRESH_MS)
        peek_again(list); /* so that no request has to wait for it */
    if (good && now - listing->began_ms >= LIST_OLD_MS)
        survey_again(list);
    if (good && now - listing->hosts_ms >= LIST_HOSTS_MS)
        count_again(list);
    if (good && is_enough(listing, request))
        return listing;
    request->next = list->waiting;
    list->waiting = request;
    list->err = (struct err)ERR_INIT;
    start_needed(list, request);
    if (list->err.code != MAS_OK)
        finish_waiting(list);
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
    return pool_make(JOBS_MAX, JOBS_MAX, &ret->pool, err);
}

void list_free(struct list *list)
{
    pool_free(list->pool);
    if (list->taking != NULL)
        listing_free(list->taking->listing);
    free(list->taking);
    if (list->peek != NULL)
        peek_free(list->peek);
    if (list->count != NULL)
        count_free(list->count);
    listing_free(list->now);
}
