/*
 * What a person has typed on the program's line and not sent, and until when that holds messages
 * back. A text that is known can be put aside; one that is not, because keys have changed it in a
 * way that only the program knows, could not be typed again, so it holds them until the line is
 * empty.
 */

#include "host/backend.h"
#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"

#include "base/time.h"

/*
 * A message with its Enter would submit what stands on the line. So it waits for a while, and is
 * then typed on the line without it: the text of a person goes back there when the agent rests.
 */

enum {
    CTRL_U = 025, /* takes what is before the cursor off the line */
    ROW_BYTES = 20, /* no program shows less of a text in a row */
    KILLS_MAX = 1000, /* of a long text programs show a mark */
};

/* Returns how often Ctrl-U is pressed to take a text off the line. For an agent's program it may be
 * about a row as it is shown, and once more about the break of a line; more of them do nothing. */
static size_t count_kills(const struct host *host, const char *text, size_t len)
{
    size_t kills = 1 + len / ROW_BYTES;

    if (preset_executes(host->preset))
        return 1; /* more of them ring its bell */
    for (size_t i = 0; i < len; i++)
        kills += text[i] == '\n' ? 2 : 0;
    return kills < KILLS_MAX ? kills : KILLS_MAX;
}

/* Returns what is on the line. What was typed before the program came back from the other screen
 * was for what was there. */
static struct draft *draft_of(struct host *host)
{
    struct terminal *terminal = host->terminal;

    if (terminal->draft_screens != terminal->watcher.screens)
        draft_reset(&terminal->draft);
    terminal->draft_screens = terminal->watcher.screens;
    return &terminal->draft;
}

void line_keys(struct host *host, const char *keys, size_t len, int64_t now)
{
    struct draft *draft = draft_of(host);

    if (watcher_asks(&host->terminal->watcher) || teller_asks(host))
        return; /* they are the answer */
    draft_keys(draft, preset_executes(host->preset), keys, len, now);
    if (draft->state == DRAFT_KNOWN && tty_hides(&host->terminal->tty))
        draft_lose(draft); /* a password, which must not be shown later */
}

int64_t line_held_until(struct host *host, int64_t now)
{
    (void)draft_of(host);
    return host->terminal->delivery.queue[0].answers ? 0 : line_held(host, now);
}

int64_t line_held(const struct host *host, int64_t now)
{
    const struct terminal *terminal = host->terminal;
    const struct draft *draft = &terminal->draft;
    int64_t until = draft->touched + host->preset->hold_ms;

    if (draft->state == DRAFT_NONE || terminal->draft_screens != terminal->watcher.screens)
        return 0;
    if (draft->state == DRAFT_UNKNOWN || draft_is_escaped(draft, now))
        return INT64_MAX;
    return until > now ? until : 0;
}

char *line_held_why(struct host *host)
{
    const struct delivery *delivery = &host->terminal->delivery;

    if (delivery->count == 0 || delivery->phase != DELIVERY_NONE ||
        host->child.phase != CHILD_RUNS || !host->terminal->watcher.ready)
        return NULL;
    if (teller_paused(host) != NULL)
        return mem_printf("paused: %s", teller_paused(host));
    int64_t until = line_held_until(host, time_monotonic_ms());
    if (until == 0)
        return NULL;
    if (until == INT64_MAX)
        return mem_dup("a person has typed on its line, which has to be sent or cleared first");
    return mem_printf("a person has typed on its line, which has to be sent or cleared first, or "
                      "not touched for %g s",
                      host->preset->hold_ms / 1000.0);
}

void line_put_aside(struct host *host, struct str *to)
{
    struct delivery *delivery = &host->terminal->delivery;
    struct draft *draft = draft_of(host);

    if (!delivery->queue[0].enter || delivery->queue[0].answers)
        return;
    size_t kills = host->terminal->gives_back;
    if (draft->state == DRAFT_KNOWN)
        kills += count_kills(host, str_text(&draft->text), draft->text.len);
    for (size_t i = 0; i < kills; i++)
        str_addc(to, CTRL_U);
    host->terminal->gives_back = 0;
    if (draft->state != DRAFT_KNOWN)
        return;
    str_addn(&host->terminal->aside, str_text(&draft->text), draft->text.len);
    draft_reset(draft);
}

void line_may_have(struct host *host, const char *text)
{
    host->terminal->gives_back = count_kills(host, text, strlen(text));
}

void line_comes_back(struct host *host)
{
    const struct turn *turn = &host->talk->turn;

    line_may_have(host, turn->on ? turn->prompt.text : "");
}

void line_give_back(struct host *host, int64_t now)
{
    struct str *aside = &host->terminal->aside;
    struct draft *draft = draft_of(host);

    if (aside->len == 0 || draft->state != DRAFT_NONE || !pane_is_empty(&host->pane.keys) ||
        typed_untold(host) != NULL)
        return;
    enum agent_state state = host->backend->state(host);
    /* messages that wait for a provider may wait for long */
    if (state != AGENT_LIMITED && (state != AGENT_IDLE || host->terminal->delivery.count > 0))
        return;
    size_t n = tty_type(&host->terminal->tty, aside->data, aside->len);
    draft_keys(draft, preset_executes(host->preset), aside->data, n, now);
    aside->len -= n;
    memmove(aside->data, aside->data + n, aside->len + 1);
}

void line_drop_aside(struct host *host)
{
    struct str *aside = &host->terminal->aside;

    if (aside->len == 0)
        return;
    _cleanup_free_ char *words =
        mem_printf("what was typed on the line before the message: %s", aside->data);
    host->backend->say(host, words);
    str_clear(aside);
}
