#include "chat/chat.h"

#include "memory/store.h"

enum {
    RECALLED = 500, /* prompts, among */
    RECALLED_SPAN = 10000, /* messages of the session */
    OLD_DETAILS = 4, /* lines of a tool's content */
    OLD_BYTES = 16 * 1024, /* of a message */
};

/* The state of showing messages; `arg` of on_item(). */
struct showing {
    struct chat *chat;
    int64_t query; /* of the previous message; 0: none */
    int64_t newest;
    bool again; /* repeat only, do not remember */
};

static const struct {
    enum style style;
    bool apart; /* with an empty line before it */
} looks[ROLE_COUNT] = {
    [ROLE_USER] = {STYLE_USER, true},       [ROLE_AGENT] = {STYLE_TEXT, true},
    [ROLE_THOUGHT] = {STYLE_THOUGHT, true}, [ROLE_TOOL] = {STYLE_DONE, false},
    [ROLE_PLAN] = {STYLE_PLAN, false},      [ROLE_PERMISSION] = {STYLE_NOTE, false},
    [ROLE_MODE] = {STYLE_NOTE, false},      [ROLE_NOTE] = {STYLE_NOTE, false},
};

/* Shows a tool call, or what was permitted: its title, and the beginning of the rest. */
static void show_tool(struct chat_view *view, const struct store_item *item)
{
    const char *newline = memchr(item->text, '\n', item->len);
    size_t first = newline != NULL ? (size_t)(newline - item->text) : item->len;

    view_add(view, item->state == MESSAGE_FAILED ? STYLE_FAILED : looks[item->role].style,
             item->text, first);
    if (newline != NULL)
        view_details(view, newline + 1, item->len - first - 1, OLD_DETAILS);
}

/* Returns how many bytes of a long message to show, up to a whole character. */
static size_t shown_of(const struct store_item *item)
{
    return item->state == MESSAGE_OPEN ? item->len : str_cut(item->text, item->len, OLD_BYTES);
}

static void show(struct showing *showing, const struct store_item *item)
{
    struct chat_view *view = &showing->chat->view;
    size_t len = shown_of(item);

    if (showing->query != 0 && showing->query != item->query) {
        view_gap(view);
        view_addf(view, STYLE_NOTE, "---- context cleared ----");
    }
    showing->query = item->query;
    if (looks[item->role].apart)
        view_gap(view);
    if (item->role == ROLE_USER && item->sender != NULL)
        view_addf(view, STYLE_NOTE, "from %s:", item->sender);
    _cleanup_str_ struct str prompt = STR_INIT;
    struct pictures pictures;
    if (item->role == ROLE_USER) {
        pictures_of(item->data, &pictures);
        pictures_say(&pictures, &prompt);
        str_addn(&prompt, item->text, len);
        view_prompt(view, str_text(&prompt), prompt.len);
    } else if (item->role == ROLE_TOOL || item->role == ROLE_PERMISSION)
        show_tool(view, item);
    else if (item->role == ROLE_NOTE && item->state != MESSAGE_DONE)
        view_addf(view, STYLE_ERROR, "the turn %s: %.*s",
                  item->state == MESSAGE_FAILED ? "failed" : "was stopped", (int)len, item->text);
    else if (item->state == MESSAGE_OPEN)
        view_piece(view, looks[item->role].style, item->text, len);
    else
        view_add(view, looks[item->role].style, item->text, len);
    if (len < item->len)
        view_addf(view, STYLE_NOTE, "(%zu more bytes: mas history)", item->len - len);
    if (item->state == MESSAGE_INTERRUPTED && item->role != ROLE_NOTE)
        view_addf(view, STYLE_NOTE, "(interrupted)");
}

/* Remembers a prompt that waits, which is shown when its turn begins. */
static void note_waiting(struct chat *chat, const struct store_item *item)
{
    struct pictures pictures;

    pictures_of(item->data, &pictures);
    waiting_add(chat, item->number, item->sender, item->text, &pictures);
}

static bool on_item(const struct store_item *item, void *arg)
{
    struct showing *showing = arg;
    struct chat *chat = showing->chat;
    bool open = item->state == MESSAGE_OPEN;

    if (open && item->role == ROLE_USER && !showing->again)
        note_waiting(chat, item);
    if (open &&
        (item->role == ROLE_USER || item->role == ROLE_TOOL || item->role == ROLE_PERMISSION))
        return true; /* events will report a running tool, and what is asked */
    show(showing, item);
    if (showing->again)
        return true;
    if (open) {
        chat->partial = chat->speaking = item->number;
        chat->partial_len = item->len;
    }
    if (item->number >
        showing->newest) /* an answer stands before a prompt that was given earlier */
        showing->newest = item->number;
    return true;
}

static bool recall(const struct store_item *item, void *arg)
{
    struct chat *chat = arg;

    if (item->sender == NULL)
        line_remember(chat->line, item->text);
    return true;
}

/* Shows the newest messages and, once for a conversation, puts its prompts into the history of the
 * line. */
static int read_store(struct showing *showing, int count, struct err *err)
{
    struct chat *chat = showing->chat;
    _cleanup_store_ struct store *store = NULL;
    struct store_filter filter = {
        .agent = chat->agent,
        .conversation = chat->conversation,
        .newest = true,
        .by_turn = true,
        .limit = count,
    };

    if (store_open(chat->dir, chat->session, NULL, false, &store, err) == -1 ||
        store_read(store, &filter, on_item, showing, err) == -1)
        return -1;
    if (chat->recalled != NULL && strcmp(chat->recalled, chat->conversation) == 0)
        return 0;
    free(chat->recalled);
    chat->recalled = mem_dup(chat->conversation);
    filter.by_turn = false;
    filter.roles = 1U << ROLE_USER;
    filter.limit = RECALLED;
    filter.after = showing->newest > RECALLED_SPAN ? showing->newest - RECALLED_SPAN : 0;
    return store_read(store, &filter, recall, chat, err);
}

static void read_page(struct chat *chat, int count, bool again)
{
    struct err err = ERR_INIT;
    struct showing showing = {.chat = chat, .newest = chat->known, .again = again};

    if (chat->conversation == NULL || chat->conversation[0] == '\0')
        return;
    if (read_store(&showing, count, &err) == -1 && err.code != MAS_NOT_FOUND)
        view_addf(&chat->view, STYLE_ERROR, "%s", err.text);
    if (showing.newest > chat->known)
        chat->known = showing.newest;
}

void past_show(struct chat *chat, int count)
{
    read_page(chat, count, false);
}

void past_show_again(struct chat *chat, int count)
{
    read_page(chat, count, true);
}
