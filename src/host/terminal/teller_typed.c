/* Who has typed what on the program's line, as far as the host knows. */
#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"

#include "base/time.h"

enum {
    TYPED_MS = 3000, /* so soon behind an Enter on an unknown line, one prompt is the person's */
    GONE_MS = 1000, /* where a dialog was there is a line again, which may take nothing yet */
};

static void drop_typed(struct teller *teller, size_t i)
{
    free(teller->typed[i].text);
    free(teller->typed[i].data);
    teller->typed_count--;
    memmove(&teller->typed[i], &teller->typed[i + 1],
            (teller->typed_count - i) * sizeof teller->typed[0]);
}

void typed_forget(struct teller *teller)
{
    while (teller->typed_count > 0)
        drop_typed(teller, 0);
    teller->untold = false;
}

const struct typed *typed_untold(const struct host *host)
{
    const struct teller *teller = host->terminal->teller;

    return teller != NULL && teller->untold && teller->typed_count > 0 &&
                   teller->typed[teller->typed_count - 1].text[0] != '/'
               ? &teller->typed[teller->typed_count - 1]
               : NULL;
}

void typed_add(struct host *host, const char *text, size_t len, const char *data, const char *from,
               bool message)
{
    struct teller *teller = host->terminal->teller;

    if (teller->typed_count == TOLD_TYPED_MAX)
        drop_typed(teller, 0);
    struct typed *typed = &teller->typed[teller->typed_count++];
    typed->text = mem_dupn(text, len);
    typed->data = mem_dup(data);
    (void)snprintf(typed->from, sizeof typed->from, "%s", from);
    typed->message = message;
    teller_enters(host, time_monotonic_ms());
}

void teller_typed(struct host *host, const char *text, size_t len, const char *data,
                  const char *from)
{
    struct teller *teller = host->terminal->teller;

    if (teller == NULL)
        return;
    typed_add(host, text, len, data, from, true);
    teller->untold = !host->talk->turn.on; /* in a turn the program may keep it until that ends */
    teller->again = false;
}

static bool is_space(char c)
{
    return strchr(" \t\r\n", c) != NULL;
}

bool typed_is(const char *a, bool has_pictures, const char *b)
{
    size_t a_len = strlen(a), b_len = strlen(b);

    while (a_len > 0 && is_space(a[0]))
        a++, a_len--;
    while (b_len > 0 && is_space(b[0]))
        b++, b_len--;
    while (a_len > 0 && is_space(a[a_len - 1]))
        a_len--;
    while (b_len > 0 && is_space(b[b_len - 1]))
        b_len--;
    if (has_pictures)
        return memmem(b, b_len, a, a_len) != NULL;
    return a_len == b_len && memcmp(a, b, a_len) == 0;
}

bool typed_by(struct host *host, const char *text, struct typed *ret)
{
    struct teller *teller = host->terminal->teller;

    for (size_t i = 0; i < teller->typed_count; i++) {
        struct typed *typed = &teller->typed[i];
        if (!typed_is(typed->text, typed->data != NULL, text))
            continue;
        ret->message = typed->message;
        memcpy(ret->from, typed->from, sizeof ret->from);
        if (typed->data != NULL) {
            ret->text = TAKE_PTR(typed->text);
            ret->data = TAKE_PTR(typed->data);
        }
        drop_typed(teller, i);
        return true;
    }
    bool is_typed = teller->entered != 0 && time_monotonic_ms() - teller->entered <= TYPED_MS;
    teller->entered = 0;
    return is_typed;
}

int64_t teller_stops_until(const struct host *host, int64_t now)
{
    const struct teller *teller = host->terminal->teller;

    if (teller == NULL)
        return 0;
    const struct prompt_queue *queue = &host->talk->queue;
    const struct turn *turn = &host->talk->turn;
    if (now < teller->unwanted_until)
        return teller->unwanted_until;
    if (teller_answers(host)) /* its keys go first */
        return -1;
    int64_t gone = teller->shown != 0 ? now : teller->gone;
    if (gone != 0 && now < gone + GONE_MS)
        return gone + GONE_MS;
    if (queue->count > 0 && queue->prompts[0].given && queue->prompts[0].unwanted &&
        host->terminal->delivery.queue[0].prompt == 0)
        return -1;
    return turn->on && turn->cancelled ? turn->cancel_until : 0;
}
