/*
 * The store has a row for each turn: written when it begins, with the time that it has worked every
 * KEEP_MS and at its end, and with tokens and costs whenever the agent tells them. The sums in the
 * status are read from the store, never added up here. Time in which the agent waits for a person,
 * or is stopped, is no work.
 */

#include "host/talk/usage.h"

#include "base/time.h"
#include "host/talk/event.h"
#include "host/talk/memory.h"
#include "host/unwritten.h"
#include "memory/store_transcript.h"
#include "memory/store_usage.h"

enum { KEEP_MS = 30000 }; /* so often the time of a turn is stored: a kill loses no more */

static void tell(struct host *host)
{
    const struct agent_usage *usage = &host->talk->spending.usage;
    struct client_event event;

    event_open(&event, "usage");
    json_put_int(&event.out, "used", usage->context_used);
    json_put_int(&event.out, "size", usage->context_size);
    money_put(&usage->cost, &event.out);
    event_tell(host, &event, NULL, 0, turn_prompt(host->talk));
}

/* Sums up anew what the agent has used in all its turns. */
static void sum_up(struct host *host)
{
    struct store *store = host->talk->memory.store;
    struct agent_usage *usage = &host->talk->spending.usage;
    struct store_spent spent;
    struct err err = ERR_INIT;

    if (store == NULL ||
        !memory_kept(host, store_spent(store, host->agent->id, "", &spent, &err), &err))
        return;
    usage->tokens = spent.tokens > 0 ? spent.tokens : 0;
    usage->cost = (struct money){.micro = spent.cost > 0 ? spent.cost : 0};
    memcpy(usage->cost.currency, spent.currency, sizeof usage->cost.currency);
}

void usage_open(struct host *host)
{
    sum_up(host);
}

/* ---- the agent session */

static int write_join(struct store *store, struct unwritten_write *write, struct err *err)
{
    return store_usage_join(store, write->text[0], write->n[0] != 0, err);
}

void usage_entered(struct host *host, const char *session, bool is_new)
{
    struct store *store = host->talk->memory.store;
    struct agent_usage *usage = &host->talk->spending.usage;
    struct err err = ERR_INIT;
    int64_t used = -1, size = -1;

    if (store != NULL && !is_new)
        (void)memory_kept(host, store_context(store, host->agent->id, session, &used, &size, &err),
                          &err);
    usage->context_used = used > 0 ? used : 0;
    usage->context_size = size > 0 ? size : 0;
}

void usage_joined(struct host *host, bool is_new)
{
    const struct talk *talk = host->talk;
    const struct unwritten_write write = {
        .run = write_join, .n = {is_new}, .text = {talk->session}, .len = strlen(talk->session)};

    usage_entered(host, talk->session, is_new);
    (void)memory_write(host, &write);
    host->talk->spending.summed = token_counts_none();
    tell(host);
}

/* ---- the turn */

/* Returns how long the turn has worked so far. */
static int64_t worked(const struct spending *spending, int64_t now)
{
    int64_t waits = spending->waits_since != 0 ? now - spending->waits_since : 0;
    return now - spending->began - spending->waited - waits;
}

static int write_begin(struct store *store, struct unwritten_write *write, struct err *err)
{
    const struct store_usage_turn turn = {
        .query = write->n[0],
        .prompt = write->number,
        .agent_session = write->text[0],
        .model = write->text[1],
        .account = write->text[2],
        .team_turns = write->n[1],
        .agent_turns = write->n[2],
    };
    bool begun;

    return store_usage_begin(store, &turn, &begun, err);
}

/* Keeps the begin of a turn that could not be stored. Returns false if it still is not. */
static bool keep_begin(struct host *host, const struct store_usage_turn *turn)
{
    const struct unwritten_write write = {
        .run = write_begin,
        .number = turn->prompt,
        .n = {turn->query, turn->team_turns, turn->agent_turns},
        .text = {turn->agent_session, turn->model, turn->account},
        .len = strlen(turn->agent_session),
    };

    (void)memory_write(host, &write);
    return !unwritten_holds(host);
}

bool usage_begin(struct host *host, int64_t prompt, const struct usage_turns *most)
{
    const struct talk *talk = host->talk;
    struct store *store = talk->memory.store;
    struct spending *spending = &host->talk->spending;
    struct err err = ERR_INIT;
    bool begun = true;
    const struct store_usage_turn turn = {
        .query = talk->memory.place.query,
        .prompt = prompt,
        .agent_session = talk->session,
        .model = host->talk->ops->model(host),
        .account = host_payer(host),
        .team_turns = most->team,
        .agent_turns = most->agent,
    };

    bool waits = unwritten_holds(host); /* the prompt is not in the store yet */
    if (store != NULL && (waits || store_usage_begin(store, &turn, &begun, &err) == -1))
        begun = keep_begin(host, &turn);
    spending->began = spending->kept_at = time_monotonic_ms();
    spending->waited = spending->waits_since = 0;
    return begun;
}

static int write_end(struct store *store, struct unwritten_write *write, struct err *err)
{
    return store_usage_end(store, write->number, write->n[0], err);
}

void usage_end(struct host *host, int64_t prompt)
{
    const struct unwritten_write write = {
        .run = write_end,
        .number = prompt,
        .n = {worked(&host->talk->spending, time_monotonic_ms())},
    };

    (void)memory_write(host, &write);
}

static int write_worked(struct store *store, struct unwritten_write *write, struct err *err)
{
    return store_usage_worked(store, write->number, write->n[0], err);
}

int64_t usage_tick(struct host *host, int64_t now)
{
    struct talk *talk = host->talk;
    struct spending *spending = &talk->spending;
    bool waits = talk->permissions.count > 0 || host->disk.paused;

    if (!talk->turn.on)
        return -1;
    if (waits && spending->waits_since == 0)
        spending->waits_since = now;
    if (!waits && spending->waits_since != 0) {
        spending->waited += now - spending->waits_since;
        spending->waits_since = 0;
    }
    if (now >= spending->kept_at + KEEP_MS && talk->memory.store != NULL) {
        spending->kept_at = now;
        const struct unwritten_write write = {
            .run = write_worked, .number = talk->turn.prompt.number, .n = {worked(spending, now)}};
        if (!unwritten_holds(host)) /* the next one says so, too */
            (void)memory_write(host, &write);
    }
    return waits ? -1 : spending->kept_at + KEEP_MS;
}

/* ---- what the agent tells */

static int write_report(struct store *store, struct unwritten_write *write, struct err *err)
{
    struct store_usage_report report = {
        .query = write->n[0],
        .used = write->n[1],
        .size = write->n[2],
        .cost.micro = write->n[3],
        .agent_session = write->text[0],
        .model = write->text[1],
        .account = write->text[3],
    };

    (void)snprintf(report.cost.currency, sizeof report.cost.currency, "%s", write->text[2]);
    return store_usage_tell(store, &report, err);
}

void usage_update(struct host *host, int64_t used, int64_t size, const struct money *cost)
{
    const struct talk *talk = host->talk;
    const char *session = talk->session;
    struct agent_usage *usage = &host->talk->spending.usage;
    const struct unwritten_write write = {
        .run = write_report,
        .n = {talk->memory.place.query, used, size, cost->micro},
        .text = {session, host->talk->ops->model(host), cost->currency, host_payer(host)},
        .len = session != NULL ? strlen(session) : 0,
    };

    usage->context_used = used > 0 ? used : 0;
    usage->context_size = size > 0 ? size : 0;
    (void)memory_write(host, &write);
    if (cost->currency[0] != '\0')
        sum_up(host);
    tell(host);
}

/* Takes from the sums over all turns of an agent session what was told before. They begin anew with
 * each process of the agent. */
static void subtract_earlier(struct token_counts *told, struct token_counts *summed)
{
    const struct token_counts now = *told;

    for (size_t i = 0; i < TOKEN_KIND_COUNT; i++)
        if (summed->of[i] != -1 && now.of[i] >= summed->of[i])
            told->of[i] -= summed->of[i];
    *summed = now;
}

static int write_tokens(struct store *store, struct unwritten_write *write, struct err *err)
{
    struct token_counts tokens;

    memcpy(tokens.of, &write->n[1], sizeof tokens.of);
    return store_usage_tokens(store, write->n[0], write->text[0], &tokens, err);
}

void usage_tokens(struct host *host, const char *of, const struct token_counts *told)
{
    const char *session = host->talk->session;
    struct token_counts tokens = *told;

    if (of == NULL || token_counts_all(&tokens) == -1)
        return;
    if (host->preset->sums_tokens) {
        if (session == NULL || strcmp(session, of) != 0)
            return; /* the sums before it are not known any more */
        subtract_earlier(&tokens, &host->talk->spending.summed);
    }
    struct unwritten_write write = {
        .run = write_tokens,
        .n = {host->talk->memory.place.query},
        .text = {of},
        .len = strlen(of),
    };
    _Static_assert((int)TOKEN_KIND_COUNT < (int)WRITE_NUMBERS,
                   "tokens of each kind, and the query");
    memcpy(&write.n[1], tokens.of, sizeof tokens.of);
    (void)memory_write(host, &write);
    sum_up(host);
}

/* ---- what a transcript tells */

static int write_step(struct store *store, struct unwritten_write *write, struct err *err)
{
    const struct store_transcript at = {
        .agent_session = write->text[0],
        .file = write->text[1],
        .offset = write->n[1],
        .tail = write->n[2],
        .once = write->n[3],
        .mark = write->n[4],
    };
    struct store_spending more = {.used = write->n[5],
                                  .size = write->n[6],
                                  .cost = {.micro = write->n[7]},
                                  .model = write->text[2]};

    (void)snprintf(more.cost.currency, sizeof more.cost.currency, "%s", write->text[3]);
    memcpy(more.tokens.of, &write->n[8], sizeof more.tokens.of);
    return store_transcript_write(store, write->n[0], &at, &more, err);
}

void usage_step(struct host *host, const struct store_transcript *at,
                const struct store_spending *more)
{
    struct agent_usage *usage = &host->talk->spending.usage;
    struct unwritten_write write = {
        .run = write_step,
        .n = {host->talk->memory.place.query, at->offset, at->tail, at->once, at->mark, more->used,
              more->size, more->cost.micro},
        .text = {at->agent_session, at->file, more->model, more->cost.currency},
        .len = strlen(at->agent_session),
    };

    _Static_assert((int)TOKEN_KIND_COUNT + 8 <= (int)WRITE_NUMBERS,
                   "tokens of each kind, behind the others");
    memcpy(&write.n[8], more->tokens.of, sizeof more->tokens.of);
    (void)memory_write(host, &write);
    if (token_counts_all(&more->tokens) == -1 && more->cost.currency[0] == '\0' && more->used == -1)
        return;
    usage->context_used = more->used != -1 ? more->used : usage->context_used;
    usage->context_size = more->size != -1 ? more->size : usage->context_size;
    sum_up(host);
    tell(host);
}
