/*
 * What the host tells becomes state in struct chat and lines of the view; footer.c shows the state.
 * The table `handlers` has a function for each event that matters here. After a new connection the
 * host tells again what is so, and past.c may have shown the beginning of a message already: so
 * events of what is known change nothing, and is_new() skips the bytes that are on the screen.
 * chat_forget() drops all of it with the connection.
 */

#include "chat/chat.h"

#include "base/time.h"
#include "protocol/host.h"

enum { DETAIL_LINES = 12, DIFF_LINES = 40, ASKED_LINES = 200 };

static void set_text(char **to, const char *text)
{
    free(*to);
    *to = mem_dup(text);
}

static const char *word(const char *text, const char *fallback)
{
    return text != NULL && text[0] != '\0' ? text : fallback;
}

/* ---- permissions */

static void drop_permission(struct chat *chat, const char *id)
{
    size_t i = 0;

    while (i < chat->permission_count && strcmp(chat->permissions[i].id, id) != 0)
        i++;
    if (i == chat->permission_count)
        return;
    host_permission_free(&chat->permissions[i]);
    chat->permission_count--;
    memmove(&chat->permissions[i], &chat->permissions[i + 1],
            (chat->permission_count - i) * sizeof chat->permissions[0]);
}

/* Adds a permission, or replaces what is known of it. Returns false if there is nothing new, or if
 * there are too many. */
static bool keep_permission(struct chat *chat, const struct host_event *event, bool *ret_known)
{
    struct host_permission permission = host_permission_copy(event);
    size_t i = 0;

    while (i < chat->permission_count && strcmp(chat->permissions[i].id, permission.id) != 0)
        i++;
    *ret_known = i < chat->permission_count;
    if (i == PERMISSIONS_MAX ||
        (*ret_known && host_permission_asks_same(&chat->permissions[i], &permission))) {
        host_permission_free(&permission);
        return false;
    }
    if (*ret_known && i == 0)
        (void)form_leave(chat);
    if (*ret_known)
        host_permission_free(&chat->permissions[i]);
    else
        chat->permission_count++;
    chat->permissions[i] = permission;
    return true;
}

static void on_permission(struct chat *chat, const struct host_event *event)
{
    bool known = false;

    if (!keep_permission(chat, event, &known))
        return;
    view_gap(&chat->view);
    if (known)
        view_addf(&chat->view, STYLE_NOTE, "what it asks has changed:");
    view_addf(&chat->view, STYLE_ASKS, "%s", host_event_title(event));
    view_details(&chat->view, event->body != NULL ? event->body : "", event->body_len, ASKED_LINES);
    if (chat->permission_count == 1)
        chat->asked_at = chat->view.added;
}

static void on_permitted(struct chat *chat, const struct host_event *event)
{
    const char *by = word(event->by, "-");
    const char *name = word(event->name, word(event->option, ""));

    (void)form_leave(chat);
    drop_permission(chat, word(event->permission, ""));
    strv_free(chat->answers);
    chat->answers = NULL;
    if (strcmp(by, "cancelled") == 0)
        view_addf(&chat->view, STYLE_NOTE, "withdrawn");
    else if (strcmp(by, "-") == 0)
        view_addf(&chat->view, STYLE_NOTE, "answered: %s", name);
    else
        view_addf(&chat->view, STYLE_NOTE, "answered by %s: %s", by, name);
}

/* ---- tools and plans */

static void tool_free(struct tool *tool)
{
    free(tool->id);
    free(tool->title);
    free(tool->status);
    str_free(&tool->body);
}

/* Moves a tool from the footer into the conversation. */
static void settle_tool(struct chat *chat, size_t i, enum style style)
{
    struct tool *tool = &chat->tools[i];
    bool diff = str_starts(str_text(&tool->body), "--- ");

    view_addf(&chat->view, style, "%s", tool->title);
    view_details(&chat->view, str_text(&tool->body), tool->body.len,
                 diff ? DIFF_LINES : DETAIL_LINES);
    tool_free(tool);
    chat->tool_count--;
    memmove(tool, tool + 1, (chat->tool_count - i) * sizeof *tool);
}

static size_t find_tool(struct chat *chat, const char *id)
{
    size_t i = 0;

    while (i < chat->tool_count && strcmp(chat->tools[i].id, id) != 0)
        i++;
    if (i < chat->tool_count)
        return i;
    if (i == TOOLS_MAX) { /* more than a user can follow: the oldest makes room */
        settle_tool(chat, 0, STYLE_TOOL);
        i--;
    }
    chat->tools[i] = (struct tool){.id = mem_dup(id)};
    chat->tool_count++;
    return i;
}

static void on_tool(struct chat *chat, const struct host_event *event)
{
    size_t i = find_tool(chat, word(event->id, ""));
    struct tool *tool = &chat->tools[i];
    const char *status = word(event->status, tool->status);

    if (tool->title == NULL || event->title != NULL)
        set_text(&tool->title, host_event_title(event));
    if (event->body != NULL) {
        str_clear(&tool->body);
        str_addn(&tool->body, event->body, event->body_len);
    }
    if (status != tool->status)
        set_text(&tool->status, status);
    if (tool->status == NULL)
        return;
    if (strcmp(tool->status, "completed") == 0)
        settle_tool(chat, i, STYLE_DONE);
    else if (strcmp(tool->status, "failed") == 0)
        settle_tool(chat, i, STYLE_FAILED);
}

static void on_plan(struct chat *chat, const struct host_event *event)
{
    json_replace(&chat->plan, event->entries);
}

static void settle_plan(struct chat *chat)
{
    for (const struct json *one = json_first(chat->plan); one != NULL; one = json_next(one)) {
        _cleanup_str_ struct str text = STR_INIT;
        footer_plan_entry(one, &text);
        view_addf(&chat->view, STYLE_PLAN, "%s", str_text(&text));
    }
    json_free(chat->plan);
    chat->plan = NULL;
}

/* ---- messages */

/* Skips what past.c has already shown of a message. */
static bool is_new(struct chat *chat, const struct host_event *event, const char **ret,
                   size_t *ret_len)
{
    int64_t message = host_event_number(event->message);

    *ret = event->body != NULL ? event->body : "";
    *ret_len = event->body_len;
    if (message == 0 || message > chat->known)
        return true;
    if (message != chat->partial || event->at < 0)
        return false;
    size_t skip = (size_t)event->at < chat->partial_len ? chat->partial_len - (size_t)event->at : 0;
    if (skip >= *ret_len)
        return false;
    *ret += skip;
    *ret_len -= skip;
    return true;
}

static void on_words(struct chat *chat, const struct host_event *event)
{
    static const enum style styles[] = {[HOST_EVENT_TEXT] = STYLE_TEXT,
                                        [HOST_EVENT_THOUGHT] = STYLE_THOUGHT,
                                        [HOST_EVENT_USER] = STYLE_USER};
    int64_t message = host_event_number(event->message);
    const char *text;
    size_t len;

    if (!is_new(chat, event, &text, &len))
        return;
    if (message != chat->speaking) { /* a new message starts a new paragraph */
        view_gap(&chat->view);
        chat->speaking = message;
    }
    view_piece(&chat->view, styles[event->type], text, len);
}

static void on_note(struct chat *chat, const struct host_event *event)
{
    view_add(&chat->view, STYLE_NOTE, event->body != NULL ? event->body : "", event->body_len);
}

/* Removes element `i` from a list. */
static void drop_text(char **list, size_t i)
{
    free(list[i]);
    for (; list[i] != NULL; i++)
        list[i] = list[i + 1];
}

static void on_queued(struct chat *chat, const struct host_event *event)
{
    struct pictures pictures;
    struct err ignored = ERR_INIT;
    const char *from = event->from;

    if (pictures_read(event->head, &pictures, &ignored) == -1)
        pictures.count = 0;
    waiting_add(chat, host_event_number(event->prompt), from,
                event->body != NULL ? event->body : "", &pictures);
}

static void on_prompt(struct chat *chat, const struct host_event *event)
{
    const char *from = event->from;
    const char *text = event->body != NULL ? event->body : "";
    int64_t number = host_event_number(event->prompt);
    struct chat_prompt *waited = waiting_find(chat, number);

    _cleanup_str_ struct str shown = STR_INIT;
    struct pictures pictures;
    struct err ignored = ERR_INIT;
    if (pictures_read(event->head, &pictures, &ignored) == 0)
        pictures_say(&pictures, &shown);
    str_addn(&shown, text, event->body_len);
    if (waited != NULL)
        waiting_remove(chat, waited);
    else if (number <= chat->known) /* past.c has shown it */
        return;
    view_gap(&chat->view);
    if (from != NULL && strcmp(from, "-") != 0)
        view_addf(&chat->view, STYLE_NOTE, "from %s:", from);
    view_prompt(&chat->view, str_text(&shown), shown.len);
    view_gap(&chat->view);
}

static void say_end(struct chat *chat, const struct host_event *event, const char *reason)
{
    const char *error = event->error;

    view_end(&chat->view);
    if (strcmp(reason, HOST_END_FAILED) != 0 && strcmp(reason, "end_turn") != 0)
        view_addf(&chat->view, STYLE_NOTE, "the turn ended: %s", reason);
    if (strcmp(reason, HOST_END_FAILED) == 0)
        view_addf(&chat->view, STYLE_ERROR, "the turn failed: %s",
                  error != NULL ? error : "unknown error");
    view_gap(&chat->view);
}

/* A prompt that waits has ended without a turn, or is kept for the agent's next start. */
static void end_waiting(struct chat *chat, struct chat_prompt *one, const struct host_event *event,
                        const char *reason)
{
    bool gone = one->gone;

    if (strcmp(reason, HOST_END_STOPPED) == 0)
        return;
    waiting_remove(chat, one);
    if (!gone)
        say_end(chat, event, reason);
}

static void on_end(struct chat *chat, const struct host_event *event)
{
    const char *reason = word(event->stop_reason, "");
    struct chat_prompt *waited = waiting_find(chat, host_event_number(event->prompt));

    if (waited != NULL) {
        end_waiting(chat, waited, event, reason);
        return;
    }
    while (chat->tool_count > 0)
        settle_tool(chat, 0, STYLE_TOOL);
    settle_plan(chat);
    say_end(chat, event, reason);
}

/* ---- state */

static void on_state(struct chat *chat, const struct host_event *event)
{
    enum agent_state state = chat->state;

    (void)agent_state_parse(event->state, &state);
    if (state != chat->state) {
        chat->since_ms = time_epoch_ms();
        chat->woken = false;
    }
    chat->state = state;
    set_text(&chat->note, event->note);
    if (chat->takes_pictures == TAKES_UNTOLD && state != AGENT_STARTING)
        (void)chat_ask(chat, ASKED_CAN, "{\"do\":\"listen\"}", NULL);
}

static void on_mode(struct chat *chat, const struct host_event *event)
{
    if (json_first(event->modes) != NULL)
        json_replace(&chat->modes, event->modes);
    set_text(&chat->mode, event->mode);
}

static void on_options(struct chat *chat, const struct host_event *event)
{
    json_replace(&chat->options, event->options);
}

static void on_commands(struct chat *chat, const struct host_event *event)
{
    json_replace(&chat->commands, event->commands);
}

static void on_usage(struct chat *chat, const struct host_event *event)
{
    bool known = event->used >= 0 && event->size > 0 && event->used <= event->size;

    chat->used = known ? (int)(event->used * 100 / event->size) : -1;
    chat->cost = event->cost;
}

static void on_query(struct chat *chat, const struct host_event *event)
{
    const char *reason = word(event->reason, "clear");

    chat->used = -1;
    if (strcmp(reason, "conversation") == 0) /* already announced by the event `conversation` */
        return;
    view_gap(&chat->view);
    view_addf(&chat->view, STYLE_NOTE, "---- context cleared%s%s ----",
              strcmp(reason, "clear") == 0 ? "" : ": ", strcmp(reason, "clear") == 0 ? "" : reason);
}

static void on_continuity(struct chat *chat, const struct host_event *event)
{
    const char *outcome = word(event->outcome, "fresh");
    const char *note = word(event->note, "");

    if (strcmp(outcome, "fresh") != 0 || note[0] != '\0')
        view_addf(&chat->view, STYLE_NOTE, "conversation %s%s%s", outcome,
                  note[0] != '\0' ? ": " : "", note);
}

static void on_conversation(struct chat *chat, const struct host_event *event)
{
    set_text(&chat->conversation, event->conversation);
    view_gap(&chat->view);
    view_addf(&chat->view, STYLE_NOTE, "---- conversation %.8s ----",
              word(event->conversation, "?"));
    past_show(chat, PAST_PAGE);
}

static void (*const handlers[HOST_EVENT_COUNT])(struct chat *chat,
                                                const struct host_event *event) = {
    [HOST_EVENT_QUEUED] = on_queued,
    [HOST_EVENT_PROMPT] = on_prompt,
    [HOST_EVENT_TEXT] = on_words,
    [HOST_EVENT_THOUGHT] = on_words,
    [HOST_EVENT_USER] = on_words,
    [HOST_EVENT_TOOL] = on_tool,
    [HOST_EVENT_PLAN] = on_plan,
    [HOST_EVENT_PERMISSION] = on_permission,
    [HOST_EVENT_PERMITTED] = on_permitted,
    [HOST_EVENT_MODE] = on_mode,
    [HOST_EVENT_COMMANDS] = on_commands,
    [HOST_EVENT_OPTIONS] = on_options,
    [HOST_EVENT_USAGE] = on_usage,
    [HOST_EVENT_STATE] = on_state,
    [HOST_EVENT_QUERY] = on_query,
    [HOST_EVENT_CONTINUITY] = on_continuity,
    [HOST_EVENT_CONVERSATION] = on_conversation,
    [HOST_EVENT_NOTE] = on_note,
    [HOST_EVENT_END] = on_end,
};

void chat_event(struct chat *chat, const struct frame *frame)
{
    struct host_event event;

    if (host_event_parse(frame->head, frame->body, frame->body_len, &event) &&
        handlers[event.type] != NULL)
        handlers[event.type](chat, &event);
}

/* ---- answers */

static void handle_can(struct chat *chat, const struct json *head)
{
    const struct json *pictures = json_get(json_get(head, "can"), "pictures");

    chat->takes_pictures = pictures == NULL            ? TAKES_UNTOLD
                           : json_bool(pictures, true) ? TAKES_SOME
                                                       : TAKES_NONE;
}

static void handle_status(struct chat *chat, const struct json *head)
{
    struct agent_status status;
    struct err ignored = ERR_INIT;

    if (agent_status_parse(head, &status, &ignored) == 0) {
        chat->state = status.state;
        chat->since_ms = status.since_ms;
        set_text(&chat->note, status.note);
        chat->used = agent_usage_percent(&status.usage);
        chat->cost = status.usage.cost;
        if (status.memory[0] != '\0')
            view_addf(&chat->view, STYLE_ERROR, "memory: %s", status.memory);
        agent_status_free(&status);
    }
    set_text(&chat->conversation, json_get_text(head, "conversation"));
    handle_can(chat, head);
    set_text(&chat->mode, json_get_text(head, "mode"));
    json_replace(&chat->modes, json_get(head, "modes"));
    json_replace(&chat->commands, json_get(head, "commands"));
    json_replace(&chat->options, json_get(head, "options"));
    past_show(chat, PAST_PAGE);
    chat->greeted = true;
    for (const struct json *one = json_first(json_get(head, "permissions")); one != NULL;
         one = json_next(one)) {
        struct host_event permission;
        (void)host_event_parse(one, NULL, 0, &permission);
        on_permission(chat, &permission);
    }
}

static void refused(struct chat *chat, enum asked what, const struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    size_t cursor;

    view_end(&chat->view);
    view_addf(&chat->view, STYLE_ERROR, "%s", err->text);
    if (err->hint[0] != '\0')
        view_addf(&chat->view, STYLE_NOTE, "%s", err->hint);
    if (what != ASKED_PROMPT || strv_len(chat->sent) == 0)
        return;
    line_get(chat->line, &text, &cursor);
    if (text.len == 0) /* do not make the user type it again */
        line_set(chat->line, chat->sent[0]);
}

void chat_answer(struct chat *chat, enum asked what, const struct json *head)
{
    struct err err = ERR_INIT;

    if (hosts_reply_error(head, &err) == -1)
        refused(chat, what, &err);
    else if (what == ASKED_LISTEN)
        handle_status(chat, head);
    else if (what == ASKED_CAN)
        handle_can(chat, head);
    else if (what == ASKED_CANCEL && !json_bool(json_get(head, "cancelled"), false))
        view_addf(&chat->view, STYLE_NOTE, "no turn is in progress");
    else if (what == ASKED_TAKE_BACK && !json_bool(json_get(head, "cancelled"), false))
        view_addf(&chat->view, STYLE_NOTE, "it does not wait any more");
    else if (what == ASKED_PROMPT && json_get_text(head, "why") != NULL) {
        view_end(&chat->view);
        view_addf(&chat->view, STYLE_NOTE, "queued: %s", json_get_text(head, "why"));
    }
    if (what != ASKED_PROMPT || strv_len(chat->sent) == 0)
        return;
    waiting_sent(chat, host_event_number(json_get_text_or(head, "prompt", "")), chat->sent[0]);
    drop_text(chat->sent, 0);
}

void chat_forget(struct chat *chat)
{
    view_end(&chat->view);
    chat->field = 0;
    while (chat->permission_count > 0)
        drop_permission(chat, chat->permissions[0].id);
    while (chat->tool_count > 0)
        tool_free(&chat->tools[--chat->tool_count]);
    json_replace(&chat->plan, NULL);
    waiting_forget(chat);
    strv_free(chat->answers);
    chat->answers = NULL;
    strv_free(chat->sent);
    chat->sent = NULL;
    chat->known = chat->partial = chat->speaking = 0;
    chat->greeted = false;
}

void chat_free(struct chat *chat)
{
    chat_forget(chat);
    json_free(chat->modes);
    json_free(chat->commands);
    json_free(chat->options);
    free(chat->note);
    free(chat->conversation);
    free(chat->mode);
    free(chat->session);
    free(chat->listed);
    free(chat->recalled);
    search_end(chat);
    marks_forget(chat);
}
