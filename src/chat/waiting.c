/*
 * The prompts that wait, as the host tells of them and as memory.db has those that waited before. A
 * person takes the newest one of a person back into the line, or drops the newest one: the host is
 * asked to cancel it, and tells its end. If its turn has begun meanwhile, that is cancelled.
 */

#include "chat/chat.h"

#include "protocol/host.h"

struct chat_prompt *waiting_find(struct chat *chat, int64_t number)
{
    for (size_t i = 0; i < chat->waiting_count; i++)
        if (chat->waiting[i].number == number)
            return &chat->waiting[i];
    return NULL;
}

void waiting_add(struct chat *chat, int64_t number, const char *from, const char *text,
                 const struct pictures *pictures)
{
    if (chat->waiting_count == HOST_QUEUE_MAX || waiting_find(chat, number) != NULL)
        return;
    chat->waiting = mem_room(chat->waiting, chat->waiting_count, sizeof *chat->waiting);
    chat->waiting[chat->waiting_count++] = (struct chat_prompt){
        .number = number, .text = mem_dup(text), .pictures = *pictures, .is_own = from == NULL};
}

void waiting_remove(struct chat *chat, struct chat_prompt *one)
{
    size_t i = (size_t)(one - chat->waiting);

    free(one->text);
    chat->waiting_count--;
    memmove(one, one + 1, (chat->waiting_count - i) * sizeof *one);
}

void waiting_forget(struct chat *chat)
{
    while (chat->waiting_count > 0)
        waiting_remove(chat, &chat->waiting[chat->waiting_count - 1]);
    free(chat->waiting);
    chat->waiting = NULL;
}

void waiting_sent(struct chat *chat, int64_t number, const char *line)
{
    struct chat_prompt *one = waiting_find(chat, number);

    if (one == NULL)
        return;
    free(one->text);
    one->text = mem_dup(line);
    one->pictures.count = 0; /* the line has their marks */
}

size_t waiting_count(const struct chat *chat)
{
    size_t count = 0;

    for (size_t i = 0; i < chat->waiting_count; i++)
        count += !chat->waiting[i].gone;
    return count;
}

/* Has the host cancel the newest prompt, or the newest of a person. NULL: there is none. */
static struct chat_prompt *cancel_newest(struct chat *chat, bool own)
{
    size_t i = chat->waiting_count;
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    while (i > 0 && (chat->waiting[i - 1].gone || (own && !chat->waiting[i - 1].is_own)))
        i--;
    if (i == 0)
        return NULL;
    struct chat_prompt *one = &chat->waiting[i - 1];
    _cleanup_free_ char *id = mem_printf("%s:%" PRId64, chat->session, one->number);
    json_put_all(&out, JO(NULL), JT("do", "cancel"), JT("prompt", id), JOE);
    one->gone = chat_ask(chat, ASKED_TAKE_BACK, head.data, NULL);
    return one->gone ? one : NULL;
}

bool waiting_take(struct chat *chat)
{
    const struct chat_prompt *one = cancel_newest(chat, true);
    _cleanup_str_ struct str text = STR_INIT;
    size_t cursor;

    if (one == NULL)
        return false;
    marks_of_pictures(chat, &one->pictures, &text);
    str_add(&text, one->text);
    size_t own = text.len;
    line_get(chat->line, &text, &cursor);
    if (text.len > own) { /* what is typed already stands below it */
        _cleanup_free_ char *typed = mem_dup(text.data + own);
        text.len = own;
        str_addf(&text, "\n%s", typed);
    }
    line_set(chat->line, str_text(&text));
    return true;
}

void waiting_drop(struct chat *chat)
{
    const struct chat_prompt *one = cancel_newest(chat, false);

    if (one == NULL)
        return;
    view_end(&chat->view);
    view_addf(&chat->view, STYLE_NOTE, "dropped: %.*s", (int)strcspn(one->text, "\n"), one->text);
}

void waiting_show(struct chat *chat, size_t most)
{
    size_t count = waiting_count(chat);
    size_t left = count > most ? count - most + 1 : 0;

    if (left > 0) {
        _cleanup_free_ char *row = mem_printf("queued: %zu more", left);
        view_live(&chat->view, STYLE_NOTE, row);
    }
    for (size_t i = 0, at = 0; i < chat->waiting_count; i++) {
        const char *text = chat->waiting[i].text;
        if (chat->waiting[i].gone || at++ < left)
            continue;
        _cleanup_free_ char *row = mem_printf("queued: %.*s%s", (int)strcspn(text, "\n"), text,
                                              at == count ? " (Up edits it, Ctrl-X drops it)" : "");
        view_live(&chat->view, STYLE_NOTE, row);
    }
}
