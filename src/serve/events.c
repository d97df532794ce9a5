/*
 * Events come from four places: two surveys that are compared, the hosts of agents and the log of
 * the code (follow.c), and tasks that end (task.c). They become text once, in the ring. While
 * nobody wants events nothing is followed, and the first client begins anew: it is greeted only
 * when the state is known, so that no change after its greeting is missed, and one that returns too
 * late gets `reset`.
 */

#include "serve/events.h"

#include "base/time.h"
#include "os/watch.h"
#include "serve/server.h"
#include "store/code_log.h"

enum { LOOK_MS = 1000, SOON_MS = 60 };

struct event {
    uint64_t id;
    uint64_t live; /* of the agent whose clients alone get it; 0: all clients get it */
    char session[ID_TEXT]; /* that it is about; "": none */
    char *agent; /* as in struct event_subject */
    char *text; /* as sent */
    size_t len;
};

/* An agent whose `live` events somebody gets, or got until a moment ago and may ask for again. */
struct live {
    uint64_t agent;
    size_t listeners;
    int64_t until_ms; /* monotonic; of the last listener's events */
};

struct events {
    struct server *server;
    events_wake *wake;
    struct event ring[EVENTS_MAX];
    uint64_t first, end; /* numbers of the oldest event in the ring and of the next one */
    size_t bytes;
    uint64_t last_id;
    uint64_t floor_id; /* the ring has all events after this id */
    size_t listeners;
    struct live *live;
    size_t live_count;
    int64_t wanted_until_ms; /* monotonic; 0: no client has listened yet */
    int64_t looked_ms, beat_ms;
    bool soon; /* something has changed: make a survey soon */
    bool code; /* its log has grown */
    bool primed; /* the current state is known */
    int changes; /* a watch of sessions/ */
    struct follow *follow;
};

static void add(struct events *events, const char *type, const struct str *body,
                const struct event_subject *subject, uint64_t live);

static void add_followed(void *arg, const char *type, const struct str *body,
                         const struct event_subject *subject, uint64_t live)
{
    add(arg, type, body, subject, live);
}

static struct live *find_live(const struct events *events, uint64_t agent)
{
    for (size_t i = 0; i < events->live_count; i++)
        if (events->live[i].agent == agent)
            return &events->live[i];
    return NULL;
}

static void enter_live(struct events *events, uint64_t agent)
{
    struct live *found = find_live(events, agent);
    int64_t now = time_monotonic_ms();

    for (size_t i = events->live_count; found == NULL && i-- > 0;)
        if (events->live[i].listeners == 0 && events->live[i].until_ms <= now)
            events->live[i] = events->live[--events->live_count];
    if (found == NULL) {
        events->live = mem_room(events->live, events->live_count, sizeof *events->live);
        found = &events->live[events->live_count++];
        *found = (struct live){.agent = agent};
    }
    found->listeners++;
}

static bool wants_live(void *arg, uint64_t live)
{
    const struct live *found = find_live(arg, live);

    return found != NULL && (found->listeners > 0 || time_monotonic_ms() < found->until_ms);
}

struct events *events_make(struct server *server, events_wake *wake)
{
    struct events *events = mem_alloc(sizeof *events);

    events->server = server;
    events->wake = wake;
    events->last_id = events->floor_id = (uint64_t)time_epoch_ms() * 1000;
    events->follow = follow_make(&server->root, add_followed, wants_live, events);
    events->changes = watch_open(); /* without it, events come up to a second late */
    if (events->changes != -1)
        (void)watch_add(events->changes, server->root.sessions,
                        WATCH_CREATED | WATCH_DELETED | WATCH_WRITTEN | WATCH_CAME | WATCH_LEFT);
    return events;
}

static void drop_first(struct events *events)
{
    struct event *event = &events->ring[events->first++ % EVENTS_MAX];
    events->bytes -= event->len;
    events->floor_id = event->id;
    free(event->agent);
    free(event->text);
    event->text = event->agent = NULL;
}

void events_free(struct events *events)
{
    if (events == NULL)
        return;
    follow_free(events->follow);
    while (events->first < events->end)
        drop_first(events);
    fd_closep(&events->changes);
    free(events->live);
    free(events);
}

int64_t events_want(struct events *events, struct loop *loop)
{
    loop_want(loop, events->changes, POLLIN);
    return follow_want(events->follow, loop);
}

static bool is_wanted(const struct events *events)
{
    return events->listeners > 0 || time_monotonic_ms() < events->wanted_until_ms;
}

/* ---- the ring */

static uint64_t next_id(const struct events *events)
{
    uint64_t id = (uint64_t)time_epoch_ms() * 1000;
    return id > events->last_id ? id : events->last_id + 1;
}

static void add(struct events *events, const char *type, const struct str *body,
                const struct event_subject *subject, uint64_t live)
{
    struct str text = STR_INIT;
    uint64_t id = next_id(events);

    if (!is_wanted(events))
        return;
    events->last_id = id;
    str_addf(&text, "id: %llu\nevent: %s\ndata: ", (unsigned long long)id, type);
    str_add(&text, str_text(body)); /* in one line, as mas always writes JSON */
    str_add(&text, "\n\n");
    while (events->end - events->first == EVENTS_MAX ||
           (events->first < events->end && events->bytes + text.len > EVENTS_BYTES))
        drop_first(events);
    size_t len = text.len;
    struct event *event = &events->ring[events->end++ % EVENTS_MAX];
    *event = (struct event){.id = id,
                            .live = live,
                            .agent = mem_dup(subject->agent),
                            .text = str_steal(&text),
                            .len = len};
    (void)snprintf(event->session, sizeof event->session, "%s",
                   subject->session != NULL ? subject->session : "");
    events->bytes += len;
    events->wake(events->server, false);
}

void events_add(struct events *events, const char *type, const struct str *body,
                const struct event_subject *subject)
{
    add(events, type, body, subject, 0);
}

/* Starts after a pause. A new id tells a returning client that it has missed events. */
static void begin(struct events *events)
{
    events->primed = false;
    events->last_id = next_id(events);
    events->floor_id = events->last_id;
    follow_begin(events->follow);
}

void events_enter(struct events *events, const char *last, char *const *live,
                  const struct guest *guest, struct event_cursor *ret)
{
    char *end = NULL;
    uint64_t id = last != NULL ? strtoull(last, &end, 10) : 0;

    if (!is_wanted(events))
        begin(events);
    *ret = (struct event_cursor){.next = events->end, .id = events->last_id, .guest = guest};
    events->listeners++;
    events->soon = true;
    for (; live != NULL && *live != NULL && ret->live_count < EVENTS_LIVE_MAX; live++) {
        ret->live[ret->live_count] = follow_live(*live);
        enter_live(events, ret->live[ret->live_count++]);
    }
    if (last == NULL)
        return;
    ret->missed = *end != '\0' || id < events->floor_id || id > events->last_id;
    if (!ret->missed)
        ret->id = id;
    while (!ret->missed && ret->next > events->first &&
           events->ring[(ret->next - 1) % EVENTS_MAX].id > id)
        ret->next--;
}

void events_leave(struct events *events, const struct event_cursor *cursor)
{
    events->listeners--;
    events->wanted_until_ms = time_monotonic_ms() + EVENTS_LINGER_MS;
    for (size_t i = 0; i < cursor->live_count; i++) {
        struct live *live = find_live(events, cursor->live[i]);
        live->listeners--;
        live->until_ms = events->wanted_until_ms;
    }
}

bool events_is_behind(const struct events *events, const struct event_cursor *cursor)
{
    return cursor->next < events->first || events->end - cursor->next > EVENTS_BEHIND;
}

/* Returns true if a client gets this event. */
static bool is_for(const struct event *event, const struct event_cursor *cursor)
{
    bool passes = event->live == 0;

    for (size_t i = 0; !passes && i < cursor->live_count; i++)
        passes = event->live == cursor->live[i];
    return passes && guest_sees(cursor->guest, event->session, event->agent);
}

/* Copies the rest of a text after *offset. Returns true if it was copied completely. */
static bool copy(const char *text, size_t len, size_t *offset, char *buf, size_t max, size_t *at)
{
    size_t n = len - *offset < max - *at ? len - *offset : max - *at;

    memcpy(buf + *at, text + *offset, n);
    *at += n;
    *offset += n;
    if (*offset < len)
        return false;
    *offset = 0;
    return true;
}

size_t events_read(const struct events *events, struct event_cursor *cursor, char *buf, size_t max)
{
    char hello[96];
    size_t at = 0;

    if (!cursor->greeted && !events->primed)
        return 0; /* clients are greeted when the current state is known */
    if (!cursor->greeted) {
        int len = snprintf(hello, sizeof hello, "retry: 2000\nid: %llu\n%s\n",
                           (unsigned long long)cursor->id,
                           cursor->missed ? "event: reset\ndata: {}\n" : "");
        cursor->greeted = copy(hello, (size_t)len, &cursor->offset, buf, max, &at);
    }
    while (cursor->greeted && cursor->next >= events->first && cursor->next < events->end) {
        const struct event *event = &events->ring[cursor->next % EVENTS_MAX];
        if (is_for(event, cursor) && !copy(event->text, event->len, &cursor->offset, buf, max, &at))
            break;
        cursor->next++;
    }
    return at;
}

/* ---- changes of sessions */

static void tell(struct events *events, const char *type, const struct view *view)
{
    _cleanup_str_ struct str body = STR_INIT;
    struct json_out out = {.to = &body};

    json_open(&out, NULL, '{');
    view_put_json(&events->server->root, view, &out);
    json_close(&out, '}');
    events_add(events, type, &body, &(struct event_subject){.session = view->row.id});
}

static void tell_removed(struct events *events, const char *id)
{
    _cleanup_str_ struct str body = STR_INIT;
    struct json_out out = {.to = &body};

    json_put_all(&out, JO(NULL), JT("sessionId", id), JOE);
    events_add(events, "session.removed", &body, &(struct event_subject){.session = id});
}

static void compare_views(struct events *events, const struct view *was, const struct view *now)
{
    static const char *const words[STATUS_COUNT] = {[STATUS_ACTIVE] = "session.started",
                                                    [STATUS_STOPPED] = "session.stopped",
                                                    [STATUS_ERROR] = "session.error"};

    if (was == NULL)
        tell(events, "session.created", now);
    if (was == NULL && now->status == STATUS_STOPPED)
        return;
    if (was != NULL && was->status == now->status && was->crashed == now->crashed) {
        /* the same run? a new one has another number in tmux */
        if (now->live == NULL || was->live == NULL ||
            (strcmp(was->live->target, now->live->target) == 0))
            return;
    }
    if (now->crashed && (was == NULL || !was->crashed))
        tell(events, "session.crashed", now);
    else if (was == NULL || was->status != now->status || now->status == STATUS_ACTIVE)
        tell(events, words[now->status], now);
}

static int compare_ids(const void *a, const void *b)
{
    const struct view *const *x = a;
    const struct view *const *y = b;
    return strcmp((*x)->row.id, (*y)->row.id);
}

static const struct view **sort_views(const struct view *views, size_t count)
{
    const struct view **sorted = mem_alloc((count + 1) * sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &views[i];
    if (count > 0)
        qsort(sorted, count, sizeof *sorted, compare_ids);
    return sorted;
}

/* Both lists are in order of creation, so usually only a few at the end differ. */
static void compare_lists(struct events *events, const struct survey *was, const struct survey *now)
{
    size_t same = 0;
    size_t i = 0;
    size_t j = 0;

    while (same < was->count && same < now->count &&
           strcmp(was->views[same].row.id, now->views[same].row.id) == 0) {
        compare_views(events, &was->views[same], &now->views[same]);
        same++;
    }
    size_t old_count = was->count - same;
    size_t new_count = now->count - same;
    const struct view **old = sort_views(was->views + same, old_count);
    const struct view **fresh = sort_views(now->views + same, new_count);
    while (i < old_count || j < new_count) {
        int order = i == old_count ? 1 : j == new_count ? -1 : compare_ids(&old[i], &fresh[j]);
        if (order < 0)
            tell_removed(events, old[i++]->row.id);
        else if (order > 0)
            compare_views(events, NULL, fresh[j++]);
        else
            compare_views(events, old[i++], fresh[j++]);
    }
    free((void *)old);
    free((void *)fresh);
}

void events_compare(void *arg, const struct listing *was, const struct listing *now)
{
    struct events *events = arg;
    bool primed = events->primed;

    if (!is_wanted(events))
        return;
    events->primed = true;
    events->looked_ms = time_monotonic_ms();
    events->soon = !now->settled;
    if (primed && was != NULL)
        compare_lists(events, &was->survey, &now->survey);
    follow_update(events->follow, &now->survey, !primed);
    if (!primed)
        events->wake(events->server, false);
}

/* Notes what has changed in sessions/. Bytes are written there only into files of mas itself, which
 * change nothing in the list; one of them is the log of the code's events. */
static void on_change(const struct watch_change *change, void *arg)
{
    struct events *events = arg;
    bool is_log = strcmp(change->name, CODE_LOG_FILE) == 0;

    events->code = events->code || is_log;
    events->soon = events->soon || (!is_log && change->what != WATCH_WRITTEN);
}

static void read_changes(struct events *events)
{
    events->code = false;
    (void)watch_read(events->changes, on_change, events);
    if (events->code && is_wanted(events))
        follow_code(events->follow);
}

void events_turn(struct events *events, struct loop *loop)
{
    if (loop_got(loop, events->changes) != 0)
        read_changes(events);
    follow_turn(events->follow, loop);
}

void events_tick(struct events *events)
{
    int64_t now = time_monotonic_ms();

    if (!is_wanted(events)) {
        follow_end(events->follow);
        events->primed = false;
        return;
    }
    if (now - events->looked_ms >= (events->soon ? SOON_MS : LOOK_MS)) {
        const struct listing *listing = events->server->list.now;
        events->looked_ms = now;
        list_look(&events->server->list, events->soon || !events->primed);
        if (listing != NULL && events->primed)
            follow_update(events->follow, &listing->survey, false);
    }
    if (now - events->beat_ms >= EVENTS_BEAT_MS) {
        events->beat_ms = now;
        events->wake(events->server, true);
    }
}
