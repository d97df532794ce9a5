/*
 * Events go through a table of handlers. A text comes in pieces, and the newest line is open until
 * it ends. What was read from the store comes again as events of the host; `known` and `known_len`
 * say up to where, and is_new() skips that. Lines are kept for the chosen agent only, all others
 * have just their last one.
 */

#include "top/tail.h"

struct agent_tail *tail_new(bool tells)
{
    struct agent_tail *tail = mem_alloc(sizeof *tail);

    *tail = (struct agent_tail){.tells = tells, .host = HOST_CONNECTION_INIT, .log_size = -1};
    return tail;
}

void tail_clear(struct agent_tail *tail)
{
    while (tail->count > 0)
        free(tail->lines[--tail->count].text);
    free(tail->lines);
    tail->lines = NULL;
    tail->open = false;
    tail->known = tail->unbegun = 0;
}

static void drop_permission(struct agent_tail *tail, size_t i)
{
    host_permission_free(&tail->permissions[i]);
    tail->permission_count--;
    memmove(&tail->permissions[i], &tail->permissions[i + 1],
            (tail->permission_count - i) * sizeof tail->permissions[0]);
}

static void end_tool(struct agent_tail *tail)
{
    free(tail->tool);
    free(tail->tool_id);
    tail->tool = tail->tool_id = NULL;
}

void tail_free(struct agent_tail *tail)
{
    if (tail == NULL)
        return;
    tail_clear(tail);
    end_tool(tail);
    while (tail->permission_count > 0)
        drop_permission(tail, 0);
    host_connection_close(&tail->host);
    str_free(&tail->last);
    free(tail);
}

const char *tail_tool(const struct agent_tail *tail)
{
    return tail != NULL ? tail->tool : NULL;
}

const char *tail_last(const struct agent_tail *tail)
{
    return tail != NULL ? str_text(&tail->last) : "";
}

const struct host_permission *tail_permission(const struct agent_tail *tail)
{
    return tail != NULL && tail->permission_count > 0 ? &tail->permissions[0] : NULL;
}

/* ---- lines */

static void push_line(struct agent_tail *tail, enum paint paint, const char *text, size_t len)
{
    if (tail->count == TAIL_LINES) {
        free(tail->lines[0].text);
        tail->count--;
        memmove(tail->lines, tail->lines + 1, tail->count * sizeof *tail->lines);
    }
    if (tail->lines == NULL)
        tail->lines = mem_grow(NULL, TAIL_LINES, sizeof *tail->lines);
    tail->lines[tail->count++] =
        (struct tail_line){paint, mem_dupn(text, str_cut(text, len, TAIL_LINE_MAX))};
}

static void extend_line(struct agent_tail *tail, const char *text, size_t len)
{
    struct tail_line *line = &tail->lines[tail->count - 1];
    size_t had = strlen(line->text);

    if (had + len > TAIL_LINE_MAX)
        len = had < TAIL_LINE_MAX ? str_cut(text, len, TAIL_LINE_MAX - had) : 0;
    char *longer = mem_printf("%s%.*s", line->text, (int)len, text);
    free(line->text);
    line->text = longer;
}

static bool is_blank(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
            return false;
    return true;
}

/* Keeps the last line of what was said; a piece without a newline continues it. */
static void keep_last(struct agent_tail *tail, const char *text, size_t len, bool goes_on)
{
    while (len > 0) {
        const char *newline = memchr(text, '\n', len);
        size_t n = newline != NULL ? (size_t)(newline - text) : len;
        if (!goes_on && !is_blank(text, n))
            str_clear(&tail->last);
        if (goes_on || !is_blank(text, n)) {
            size_t room =
                TAIL_LINE_MAX - (tail->last.len < TAIL_LINE_MAX ? tail->last.len : TAIL_LINE_MAX);
            str_addn(&tail->last, text, str_cut(text, n, room));
        }
        goes_on = newline == NULL;
        text += n + (newline != NULL);
        len -= n + (newline != NULL);
    }
}

/* Adds a text whose newest line may be continued by the next piece. */
void tail_piece(struct agent_tail *tail, enum paint paint, const char *text, size_t len)
{
    keep_last(tail, text, len, tail->open);
    while (tail->full && len > 0) {
        const char *newline = memchr(text, '\n', len);
        size_t n = newline != NULL ? (size_t)(newline - text) : len;
        if (tail->open && tail->count > 0)
            extend_line(tail, text, n);
        else
            push_line(tail, paint, text, n);
        tail->open = newline == NULL;
        text += n + (newline != NULL);
        len -= n + (newline != NULL);
    }
    if (!tail->full)
        tail->open = len > 0 && text[len - 1] != '\n';
}

void tail_add(struct agent_tail *tail, enum paint paint, const char *text, size_t len)
{
    tail->open = false;
    tail_piece(tail, paint, text, len);
    tail->open = false;
}

/* ---- events */

static const char *word(const char *text, const char *fallback)
{
    return text != NULL && text[0] != '\0' ? text : fallback;
}

static void add_permission(struct agent_tail *tail, const struct host_event *event)
{
    size_t i = 0;

    while (i < tail->permission_count &&
           strcmp(tail->permissions[i].id, word(event->permission, "")) != 0)
        i++;
    if (i == TAIL_PERMISSIONS)
        return;
    if (i < tail->permission_count) /* what it asks may have changed */
        host_permission_free(&tail->permissions[i]);
    else
        tail->permission_count++;
    tail->permissions[i] = host_permission_copy(event);
}

static void on_permitted(struct agent_tail *tail, const struct host_event *event)
{
    for (size_t i = 0; i < tail->permission_count; i++)
        if (strcmp(tail->permissions[i].id, word(event->permission, "")) == 0) {
            drop_permission(tail, i);
            return;
        }
}

static void on_tool(struct agent_tail *tail, const struct host_event *event)
{
    const char *id = word(event->id, "");
    bool is_known = tail->tool_id != NULL && strcmp(tail->tool_id, id) == 0;
    const char *status = word(event->status, "");
    bool is_over = strcmp(status, "completed") == 0 || strcmp(status, "failed") == 0;

    if (!is_known) {
        const char *title = host_event_title(event);
        end_tool(tail);
        tail->tool_id = mem_dup(id);
        tail->tool = mem_dup(title);
        tail_add(tail, PAINT_WORKING, title, strlen(title));
    }
    if (is_over)
        end_tool(tail);
}

/* Skips what was read of a message from the store. */
static bool is_new(const struct agent_tail *tail, const struct host_event *event, size_t *ret_skip)
{
    int64_t message = host_event_number(event->message);
    size_t at = event->at > 0 ? (size_t)event->at : 0;

    *ret_skip = message == tail->known && at < tail->known_len ? tail->known_len - at : 0;
    return message == 0 || message >= tail->known;
}

static void on_text(struct agent_tail *tail, const struct host_event *event)
{
    size_t skip = 0;

    if (event->body == NULL || !is_new(tail, event, &skip) || skip >= event->body_len)
        return;
    if (event->at <= 0)
        tail->open = false;
    tail_piece(tail, event->type == HOST_EVENT_TEXT ? PAINT_PLAIN : PAINT_DIM, event->body + skip,
               event->body_len - skip);
}

static void on_prompt(struct agent_tail *tail, const struct host_event *event)
{
    int64_t prompt = host_event_number(event->prompt);

    if (prompt != 0 && prompt <= tail->known && (tail->unbegun == 0 || prompt < tail->unbegun))
        return;
    tail_add(tail, PAINT_BOLD, "> ", 2);
    tail->open = tail->full;
    if (event->body != NULL)
        tail_piece(tail, PAINT_BOLD, event->body, event->body_len);
    tail->open = false;
}

static void on_end(struct agent_tail *tail, const struct host_event *event)
{
    tail->open = false;
    end_tool(tail);
    if (event->error != NULL)
        tail_add(tail, PAINT_BAD, event->error, strlen(event->error));
}

static void on_note(struct agent_tail *tail, const struct host_event *event)
{
    if (event->body != NULL)
        tail_add(tail, PAINT_DIM, event->body, event->body_len);
}

static void (*const handlers[HOST_EVENT_COUNT])(struct agent_tail *tail,
                                                const struct host_event *event) = {
    [HOST_EVENT_PROMPT] = on_prompt,
    [HOST_EVENT_TEXT] = on_text,
    [HOST_EVENT_THOUGHT] = on_text,
    [HOST_EVENT_TOOL] = on_tool,
    [HOST_EVENT_PERMISSION] = add_permission,
    [HOST_EVENT_PERMITTED] = on_permitted,
    [HOST_EVENT_NOTE] = on_note,
    [HOST_EVENT_END] = on_end,
};

void tail_event(struct agent_tail *tail, const struct host_event *event)
{
    if (event->type < HOST_EVENT_COUNT && handlers[event->type] != NULL)
        handlers[event->type](tail, event);
}

void tail_greet(struct agent_tail *tail, const struct json *head)
{
    while (tail->permission_count > 0)
        drop_permission(tail, 0);
    for (const struct json *one = json_first(json_get(head, "permissions")); one != NULL;
         one = json_next(one)) {
        struct host_event event;
        (void)host_event_parse(one, NULL, 0, &event);
        add_permission(tail, &event);
    }
}

void tail_detail(struct agent_tail *tail, const char *tool, const char *text, size_t len)
{
    for (size_t i = 0; i < tail->permission_count; i++) {
        struct host_permission *permission = &tail->permissions[i];
        if (permission->body == NULL && permission->tool != NULL &&
            strcmp(permission->tool, tool) == 0)
            permission->body = mem_dupn(text, len);
    }
}
