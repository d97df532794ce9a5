/*
 * How many turns may be on at the same time: in the root ([limits] turns), and in the session. An
 * agent takes slots in both or in none, so that nobody holds one and waits for the other. It looks
 * once more after it has taken its tickets, and misses nothing that became free before; it drops
 * them while it could not use a slot. Without its directory there is no limit.
 */

#include "host/talk/turns.h"

#include "base/time.h"
#include "host/talk/limit.h"
#include "host/talk/quota.h"
#include "os/watch.h"
#include "store/limits/turn_slots.h"

enum { LOOK_MS = 5000 }; /* a look without an event: if the kernel tells none */

static const char *const pool_names[TURN_POOLS] = {
    [TURNS_ROOT] = "root", [TURNS_SESSION] = "session"};

void turns_open(struct host *host)
{
    struct agent_turns *turns = &host->talk->turns;

    for (int i = 0; i < TURN_POOLS; i++)
        turns->pool[i] = (struct turn_pool){.dir = -1, .slot = -1, .ticket = -1};
    turns->watch = -1;
    turns->pool[TURNS_ROOT].most = config_number(&host->config, SETTING_LIMIT_TURNS);
    turns->pool[TURNS_SESSION].most = host->team.turns;
}

static void drop_tickets(struct agent_turns *turns)
{
    for (int i = 0; i < TURN_POOLS; i++)
        if (turns->pool[i].name != NULL)
            turn_ticket_drop(turns->pool[i].dir, &turns->pool[i].ticket, &turns->pool[i].name);
    fd_closep(&turns->watch);
    turns->waits = false;
}

static void drop_slots(struct agent_turns *turns)
{
    for (int i = 0; i < TURN_POOLS; i++)
        fd_closep(&turns->pool[i].slot);
}

void turns_free(struct agent_turns *turns)
{
    drop_tickets(turns);
    drop_slots(turns);
    for (int i = 0; i < TURN_POOLS; i++)
        fd_closep(&turns->pool[i].dir);
}

void turns_give_up(struct host *host)
{
    if (!host->talk->turn.on)
        drop_slots(&host->talk->turns);
}

void turns_ended(struct host *host)
{
    drop_slots(&host->talk->turns);
}

/* Takes a ticket in each pool, and has the kernel tell when something changes there. */
static void take_tickets(struct host *host, const struct prompt *next)
{
    struct agent_turns *turns = &host->talk->turns;
    _cleanup_free_ char *who = mem_printf("%.8s-%s", host->session.id, host->agent->id);
    int64_t asked = next->asked_ms != 0 ? next->asked_ms : time_epoch_ms();

    if (turns->watch == -1)
        turns->watch = watch_open();
    for (int i = 0; i < TURN_POOLS; i++) {
        struct turn_pool *pool = &turns->pool[i];
        if (pool->most == 0 || pool->dir == -1 || pool->name != NULL)
            continue;
        pool->ticket =
            turn_ticket_take(pool->dir, strcmp(next->from, "-") == 0, asked, who, &pool->name);
        if (turns->watch != -1)
            (void)watch_add(turns->watch, pool->dir, WATCH_CLOSED | WATCH_DELETED);
    }
}

/* Returns the pool that has no slot for this agent now; TURN_POOLS: there is none. */
static int find_full(struct host *host)
{
    struct agent_turns *turns = &host->talk->turns;
    int64_t now = time_epoch_ms();

    for (int i = 0; i < TURN_POOLS; i++) {
        struct turn_pool *pool = &turns->pool[i];
        if (pool->most == 0 || pool->slot != -1)
            continue;
        if (pool->dir == -1)
            pool->dir = turn_slots_open(i == TURNS_ROOT ? host->root.sessions : host->run);
        if (pool->dir != -1 && (!turn_ticket_is_first(pool->dir, pool->name, now) ||
                                !turn_slot_is_free(pool->dir, pool->most)))
            return i;
    }
    return TURN_POOLS;
}

/* Takes a slot in each pool, or none. */
static bool take_slots(struct agent_turns *turns)
{
    for (int i = 0; i < TURN_POOLS; i++) {
        struct turn_pool *pool = &turns->pool[i];
        if (pool->most == 0 || pool->slot != -1 || pool->dir == -1)
            continue; /* without its directory there is no limit */
        pool->slot = turn_slot_take(pool->dir, pool->most);
        if (pool->slot == -1) {
            drop_slots(turns);
            return false;
        }
    }
    return true;
}

bool turns_hold(struct host *host)
{
    struct talk *talk = host->talk;
    struct agent_turns *turns = &talk->turns;
    const struct prompt *next = talk->queue.count > 0 ? &talk->queue.prompts[0] : NULL;

    if (turns->pool[TURNS_ROOT].most == 0 && turns->pool[TURNS_SESSION].most == 0)
        return false;
    if (turns->waits && time_monotonic_ms() < turns->look_at)
        return true;
    int full = find_full(host);
    if (full == TURN_POOLS && take_slots(turns)) {
        drop_tickets(turns);
        return false;
    }
    if (next == NULL)
        return true; /* it takes its ticket when it is in the queue */
    if (!turns->waits) { /* what became free before the watch is seen by the next look, at once */
        take_tickets(host, next);
        turns->waits = true;
        turns->look_at = 0;
    } else {
        turns->look_at = time_monotonic_ms() + LOOK_MS;
    }
    if (full == TURN_POOLS)
        full = turns->pool[TURNS_ROOT].most > 0 ? TURNS_ROOT : TURNS_SESSION;
    (void)snprintf(turns->note, sizeof turns->note, "waits for a turn: the %s has %d at a time",
                   pool_names[full], turns->pool[full].most);
    return true;
}

bool turns_are_waited_for(const struct talk *talk)
{
    return talk->turns.waits && !talk->turn.on && talk->queue.count > 0;
}

void turns_want(const struct host *host, struct loop *loop)
{
    loop_want(loop, host->talk->turns.watch, POLLIN);
}

void turns_serve(struct host *host, struct loop *loop)
{
    struct agent_turns *turns = &host->talk->turns;

    if (loop_got(loop, turns->watch) == 0)
        return;
    (void)watch_read(turns->watch, NULL, NULL);
    turns->look_at = 0;
}

int64_t turns_tick(struct host *host, int64_t now)
{
    struct talk *talk = host->talk;
    struct agent_turns *turns = &talk->turns;

    if (talk->turn.on)
        return -1;
    /* who could not use a slot must not stand in front of others */
    if (talk->queue.count == 0 || !talk->ops->is_ready(host) || limit_is_on(talk) ||
        quota_is_on(talk) || talk->spending.paused[0] != '\0')
        drop_tickets(turns);
    turns_give_up(host);
    return !turns->waits ? -1 : turns->look_at > now ? turns->look_at : now;
}
