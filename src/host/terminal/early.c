/*
 * Text and Backspace count, and Enter at the end of what comes at once: one within it belongs to a
 * paste. All else, such as arrows and Escape, has only woken the agent.
 */

#include "host/backend.h"
#include "host/terminal/terminal.h"

#include "base/time.h"
#include "host/talk/talk.h"

enum {
    EARLY_MS = 15000, /* then a person may have to help */
    BACKSPACE = 0x08,
    DELETE = 0x7f,
};

static void press(const struct vt_event *event, void *arg)
{
    struct str *text = arg;

    if (event->kind == VT_TEXT && text->len + event->len <= DRAFT_TEXT_MAX)
        str_addn(text, event->text, event->len);
    if (event->kind != VT_CONTROL || (event->final != DELETE && event->final != BACKSPACE))
        return;
    while (text->len > 0 && ((unsigned char)text->data[--text->len] & 0xc0) == 0x80)
        continue;
    if (text->data != NULL)
        text->data[text->len] = '\0';
}

/* A whole line is a message of the person. */
static void submit(struct host *host)
{
    struct str *text = &host->terminal->early.text;
    const struct store_input input = {.enter = true, .text = str_text(text), .len = text->len};

    if (text->len > 0 && delivery_add(host, &input))
        str_clear(text);
}

void early_keys(struct host *host, const char *keys, size_t len, int64_t now)
{
    struct early *early = &host->terminal->early;

    if (host->talk == NULL)
        return;
    if (now - early->fed > DRAFT_SEQUENCE_MS)
        early->vt.state = 0;
    early->fed = now;
    while (len > 0) {
        const char *enter = memchr(keys, '\r', len);
        size_t n = enter != NULL ? (size_t)(enter - keys) : len;
        vt_feed(&early->vt, keys, n, press, &early->text);
        if (enter != NULL && n + 1 == len)
            submit(host);
        else if (enter != NULL && early->text.len > 0 && early->text.len < DRAFT_TEXT_MAX)
            str_addc(&early->text, '\n');
        n += enter != NULL;
        keys += n;
        len -= n;
    }
}

void early_begins(struct host *host)
{
    struct early *early = &host->terminal->early;

    early->on = host->talk->sleep.marked || early->text.len > 0;
}

bool early_is_over(struct host *host)
{
    struct terminal *terminal = host->terminal;
    struct early *early = &terminal->early;
    bool starts = !terminal->watcher.ready || host->backend->state(host) == AGENT_STARTING;
    bool late = time_monotonic_ms() - host->child.started > EARLY_MS;

    if (early->on && starts && !late && !watcher_asks(&terminal->watcher))
        return false;
    early->on = false;
    if (early->text.len > 0)
        str_addn(&terminal->aside, str_text(&early->text), early->text.len);
    str_free(&early->text);
    return true;
}

void early_free(struct early *early)
{
    str_free(&early->text);
}
