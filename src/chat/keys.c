/* What the keys do that the line itself leaves to the pane. */

#include "chat/chat.h"

#include "model/message.h"

static void on_paste(struct chat *chat, const char *text)
{
    if (text == NULL)
        view_addf(&chat->view, STYLE_ERROR, "the paste is longer than a prompt may be, %d MiB",
                  MESSAGE_MAX >> 20);
    else if (!marks_paste(chat, text) && !marks_fold(chat, text))
        line_insert(chat->line, text, strlen(text));
}

static void on_up(struct chat *chat)
{
    _cleanup_str_ struct str text = STR_INIT;
    size_t cursor;

    line_get(chat->line, &text, &cursor);
    if (text.len > 0 || chat->field > 0 || !waiting_take(chat))
        line_recall(chat->line, true);
}

static void on_down(struct chat *chat)
{
    line_recall(chat->line, false);
}

static void edit_last(struct chat *chat)
{
    if (!waiting_take(chat))
        line_recall(chat->line, true);
}

static void redraw(struct chat *chat)
{
    view_repaint(&chat->view);
}

static void unfold(struct chat *chat)
{
    view_unfold(&chat->view);
}

void chat_key(struct chat *chat, enum line_event event, const char *text)
{
    static void (*const keys[LINE_EVENT_COUNT])(struct chat * chat) = {
        [LINE_CANCEL] = chat_cancel, [LINE_LEAVE] = chat_leave,  [LINE_REDRAW] = redraw,
        [LINE_UNFOLD] = unfold,      [LINE_COMPLETE] = complete, [LINE_DROP] = waiting_drop,
        [LINE_UP] = on_up,           [LINE_DOWN] = on_down,      [LINE_ESCAPED_TWICE] = edit_last,
    };

    bool leaves = event == LINE_ESCAPED || event == LINE_ESCAPED_TWICE || event == LINE_CANCEL;

    if (search_key(chat, event, text) || (leaves && form_leave(chat)))
        return;
    if (event == LINE_SUBMIT)
        chat_submit(chat, text);
    else if (event == LINE_PASTE)
        on_paste(chat, text);
    else if (keys[event] != NULL)
        keys[event](chat);
}
