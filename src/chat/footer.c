/*
 * The footer is made anew from struct chat each time; nothing here remembers what it showed. If a
 * permission is asked for, its choices take the rows; the smaller the terminal, the fewer rows
 * each, since none must be cut off. Otherwise there are the running tools, and what is searched
 * for, the list of commands, or the plan and what is queued.
 */

#include "chat/chat.h"

#include "base/time.h"
#include "base/wrap.h"

enum {
    BELOW = 4, /* rows besides the choices: state, input, conversation */
    SEARCH_ROWS = 8,
};

static const enum tint tints[AGENT_STATE_COUNT] = {
    [AGENT_ASLEEP] = TINT_DIM,  [AGENT_STARTING] = TINT_NEWS, [AGENT_WORKING] = TINT_GOOD,
    [AGENT_IDLE] = TINT_PLAIN,  [AGENT_WAITING] = TINT_ASKS,  [AGENT_LIMITED] = TINT_HELD,
    [AGENT_PAUSED] = TINT_HELD, [AGENT_EXITED] = TINT_DIM,    [AGENT_CRASHED] = TINT_BAD,
};

bool footer_ticks(const struct chat *chat)
{
    return chat->state == AGENT_WORKING || chat->state == AGENT_STARTING;
}

void footer_plan_entry(const struct json *entry, struct str *to)
{
    const char *status = json_get_text(entry, "status");
    const char *content = json_get_text(entry, "content");
    const char *mark = status == NULL                       ? "[ ] "
                       : strcmp(status, "completed") == 0   ? "[x] "
                       : strcmp(status, "in_progress") == 0 ? "[>] "
                                                            : "[ ] ";

    str_addf(to, "%s%s", mark, content != NULL ? content : "");
}

static void add_plan(struct chat *chat, size_t most)
{
    size_t count = 0, active = 0, i = 0;

    for (const struct json *one = json_first(chat->plan); one != NULL; one = json_next(one)) {
        const char *status = json_get_text(one, "status");
        if (active == count && status != NULL && strcmp(status, "completed") == 0)
            active++;
        count++;
    }
    /* the current entry and its neighbours */
    size_t from = count > most && active > 0 ? active - 1 : 0;
    if (count > most && from + most > count)
        from = count - most;
    for (const struct json *one = json_first(chat->plan); one != NULL; one = json_next(one), i++) {
        _cleanup_str_ struct str text = STR_INIT;
        if (i < from || i >= from + most)
            continue;
        footer_plan_entry(one, &text);
        view_live(&chat->view, STYLE_PLAN, str_text(&text));
    }
}

/* Writes a choice in at most `most` rows and returns their number; if `view` is NULL, it only
 * counts. */
static size_t put_choice(struct chat_view *view, int columns, size_t number, const char *name,
                         size_t most)
{
    enum { MARGIN = 3, ROW_MIN = 10 }; /* columns around the text of choices */
    _cleanup_free_ char *digits = mem_printf("%zu ", number);
    int room = columns - MARGIN - (int)strlen(digits);
    size_t len = strlen(name);
    size_t rows = 0;

    for (size_t at = 0, next; rows == 0 || (rows < most && at < len); at += next) {
        size_t n = wrap_row(name + at, len - at, room > ROW_MIN ? room : ROW_MIN, &next);
        if (++rows == most) /* truncate it at the end of this row */
            n = len - at;
        if (view == NULL)
            continue;
        _cleanup_free_ char *row =
            mem_printf("%*s%.*s", (int)strlen(digits), rows == 1 ? digits : "", (int)n, name + at);
        view_live(view, STYLE_CHOICE, row);
    }
    return rows;
}

static size_t count_rows(const struct chat_view *view, const struct host_permission *permission,
                         size_t most)
{
    size_t rows = 0;

    for (size_t i = 0; i < permission->options.count; i++)
        rows += put_choice(NULL, view->columns, i + 1, permission->options.word[i].name, most);
    return rows;
}

/* Repeats the question in at most `most` rows, with what can be seen of its details. Returns their
 * number. */
static size_t add_question(struct chat *chat, size_t most)
{
    const struct host_permission *asked = &chat->permissions[0];
    const char *body = asked->body != NULL && asked->form == NULL ? asked->body : "";
    size_t rows = 0;

    if (most == 0)
        return 0;
    view_live(&chat->view, STYLE_ASKS, host_permission_title(asked));
    for (rows = 1; rows < most && *body != '\0'; rows++) {
        size_t len = strcspn(body, "\n");
        bool more = body[len] != '\0' && body[len + 1] != '\0';
        view_live(&chat->view, STYLE_DETAIL, rows + 1 == most && more ? "(more above)" : body);
        body += len + (body[len] == '\n');
    }
    return rows;
}

/* Shows choices in full if there is room, because they may differ only beyond the first row. The
 * question stands right above them: it is repeated if something has come between. */
static void add_asked(struct chat *chat)
{
    enum { ROWS_MOST = 8, QUESTION_MOST = 8 };
    const struct host_permission *asked = &chat->permissions[0];
    struct chat_view *view = &chat->view;
    size_t most = ROWS_MOST;

    while (most > 1 && BELOW + count_rows(view, asked, most) > (size_t)view->rows)
        most--;
    size_t used = BELOW + count_rows(view, asked, most);
    size_t room = (size_t)view->rows > used ? (size_t)view->rows - used : 0;
    if (view->added != chat->asked_at || view->is_open)
        room -= add_question(chat, room < QUESTION_MOST ? room : QUESTION_MOST);
    if (asked->form != NULL)
        form_show(chat, room);
    for (size_t i = 0; i < asked->options.count; i++)
        (void)put_choice(view, view->columns, i + 1, asked->options.word[i].name, most);
}

static void add_part(struct str *to, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    str_add(to, " | ");
    str_add_visible(to, text, strcspn(text, "\n"));
}

/* Tells how to answer, with the last number if not all choices are visible. */
static void add_answer(struct chat *chat, struct str *state)
{
    size_t count = chat->permissions[0].options.count;
    char numbers[64];

    (void)snprintf(numbers, sizeof numbers, "1 to %zu and Enter answers", count);
    if (chat->field > 0)
        add_part(state, "Enter takes it, Esc ends");
    else if (chat->permissions[0].form != NULL)
        add_part(state, "Enter fills in, a digit answers");
    else if (chat->permission_count > 1)
        add_part(state, "a digit answers; more wait");
    else
        add_part(state,
                 BELOW + count > (size_t)chat->view.rows ? numbers : "a digit and Enter answers");
}

/* Choices come first, because they must not be cut off. */
static void add_live(struct chat *chat, const struct str *typed, size_t cursor)
{
    struct chat_view *view = &chat->view;
    size_t rows = (size_t)view->rows;
    size_t room = rows > BELOW ? rows - BELOW : 1;

    view_live_clear(view);
    for (size_t i = 0; i < chat->tool_count && i < rows / 4 + 1; i++)
        view_live(view, STYLE_TOOL, chat->tools[i].title);
    if (search_show(chat, room < SEARCH_ROWS ? room : SEARCH_ROWS))
        return;
    if (chat->permission_count > 0) {
        view_live_clear(view);
        add_asked(chat);
        return;
    }
    if (complete_list(chat, typed, cursor, room < VIEW_LIVE_MAX ? room : VIEW_LIVE_MAX))
        return;
    if (chat->plan != NULL)
        add_plan(chat, rows > 16 ? 8 : 3);
    waiting_show(chat, rows / 4 + 1);
}

/* Appends how much of its context and what money the agent has used, in front of which the rest of
 * the row ends: it is there at any width, unless a narrow one has to say how to answer. */
static void add_meter(const struct chat *chat, struct str *state)
{
    enum { NARROW = 60 };
    _cleanup_str_ struct str meter = STR_INIT;
    bool is_narrow = chat->view.columns < NARROW;

    if (is_narrow && chat->permission_count > 0)
        return;
    if (chat->used >= 0)
        str_addf(&meter, " | %s%d%%", is_narrow ? "" : "context ", chat->used);
    if (chat->cost.currency[0] != '\0') {
        char cost[MONEY_TEXT];
        money_format(&chat->cost, cost);
        add_part(&meter, cost);
    }
    int room = chat->view.columns - 1 - (int)meter.len;
    state->len = wrap_cut(str_text(state), state->len, room > 0 ? room : 0);
    str_addn(state, str_text(&meter), meter.len);
}

static void set_state(struct chat *chat)
{
    struct str *state = &chat->view.state;
    bool waits = chat->state == AGENT_WAITING;
    char age[32] = "";

    str_clear(state);
    str_addf(state, " %s",
             chat->host.conn.fd == -1 ? "no connection" : agent_state_name(chat->state));
    chat->view.state_tint = chat->host.conn.fd == -1 ? TINT_BAD : tints[chat->state];
    if (footer_ticks(chat) && chat->since_ms > 0) {
        int64_t seconds = (time_epoch_ms() - chat->since_ms) / 1000;
        (void)snprintf(age, sizeof age, " %llds", seconds > 0 ? (long long)seconds : 0);
        str_add(state, age);
    }
    if (chat->permission_count > 0)
        add_answer(chat, state);
    else if (waits || chat->state == AGENT_EXITED || chat->state == AGENT_CRASHED ||
             chat->state == AGENT_LIMITED || chat->state == AGENT_PAUSED)
        add_part(state, chat->note);
    else if (chat->state == AGENT_ASLEEP)
        add_part(state, "Enter or a prompt wakes it");
    if (waiting_count(chat) > 0) {
        char queued[32];
        (void)snprintf(queued, sizeof queued, "%zu queued", waiting_count(chat));
        add_part(state, queued);
    }
    add_part(state, chat->mode);
    add_meter(chat, state);
}

void footer_update(struct chat *chat)
{
    struct chat_view *view = &chat->view;
    _cleanup_str_ struct str text = STR_INIT;
    size_t cursor = 0;

    line_get(chat->line, &text, &cursor);
    add_live(chat, &text, cursor);
    set_state(chat);
    str_clear(&view->input);
    /* a tab is shown as one space */
    for (size_t i = 0; i < text.len; i++)
        str_addc(&view->input, form_hides(chat) ? '*' : text.data[i] == '\t' ? ' ' : text.data[i]);
    view->cursor = cursor;
    view->changed = true;
}
