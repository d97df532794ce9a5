/* Who has typed what on the program's line, as far as the host knows. */
#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"

#include "base/time.h"

enum {
    TYPED_MS = 3000, /* so soon behind an Enter on an unknown line, one prompt is the person's */
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
    if (host->terminal->teller != NULL)
        typed_add(host, text, len, data, from, true);
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

    teller->message = false;
    for (size_t i = 0; i < teller->typed_count; i++) {
        struct typed *typed = &teller->typed[i];
        if (!typed_is(typed->text, typed->data != NULL, text))
            continue;
        teller->message = typed->message;
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
