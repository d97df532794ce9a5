/*
 * The search of earlier prompts. While it is on, the line is what is searched for, and the footer
 * lists the newest prompts that contain it; one of them is chosen, and Enter takes that into the
 * line. They are found anew each time.
 */

#include "chat/chat.h"

void search_end(struct chat *chat)
{
    free(chat->searched);
    chat->searched = NULL;
}

/* Finds what is listed, and keeps the choice among it. A text that has changed begins at the newest
 * one. */
static char **find(struct chat *chat, size_t most)
{
    _cleanup_str_ struct str text = STR_INIT;
    size_t cursor;

    line_get(chat->line, &text, &cursor);
    if (strcmp(chat->searched, str_text(&text)) != 0) {
        search_end(chat);
        chat->searched = mem_dup(str_text(&text));
        chat->chosen = 0;
    }
    char **found = line_find(chat->line, str_text(&text), chat->chosen + most);
    if (chat->chosen >= strv_len(found))
        chat->chosen = found != NULL ? strv_len(found) - 1 : 0;
    return found;
}

static void submit(struct chat *chat, const char *text)
{
    line_set(chat->line, text); /* Enter has emptied it */
    _cleanup_strv_ char **found = find(chat, 1);
    if (found != NULL)
        line_set(chat->line, found[chat->chosen]);
    search_end(chat);
}

bool search_key(struct chat *chat, enum line_event event, const char *text)
{
    if (chat->searched == NULL && event == LINE_SEARCH) {
        chat->searched = mem_dup("");
        chat->chosen = 0;
        return true;
    }
    if (chat->searched == NULL)
        return false;
    if (event == LINE_SUBMIT)
        submit(chat, text);
    else if (event == LINE_SEARCH || event == LINE_UP)
        chat->chosen++;
    else if (event == LINE_DOWN)
        chat->chosen -= chat->chosen > 0;
    else if (event == LINE_REDRAW || event == LINE_UNFOLD || event == LINE_PASTE)
        return false;
    else /* it leaves the search, and does nothing else */
        search_end(chat);
    return true;
}

bool search_show(struct chat *chat, size_t rows)
{
    if (chat->searched == NULL)
        return false;
    _cleanup_strv_ char **found = find(chat, rows > 1 ? rows - 1 : 1);
    size_t count = strv_len(found);
    size_t shown = rows > 1 ? rows - 1 : 0;
    size_t from = chat->chosen >= shown ? chat->chosen + 1 - shown : 0;
    for (size_t i = count < from + shown ? count : from + shown; i > from; i--)
        view_live(&chat->view, i - 1 == chat->chosen ? STYLE_CHOICE : STYLE_NOTE, found[i - 1]);
    view_live(&chat->view, STYLE_NOTE,
              count > 0 ? "search: Enter takes the bold one, Ctrl-R an earlier one, Esc ends"
                        : "search: nothing earlier has this; Esc ends");
    return true;
}
