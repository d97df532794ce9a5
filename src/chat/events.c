#include "chat/chat.h"

#include "base/time.h"
#include "client/hosts.h"
#include "protocol/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DETAIL_LINES = 12, DIFF_LINES = 40, ASKED_LINES = 200 };

static void set_text(char **to, const char *text)
{
    free(*to);
    *to = mem_dup(text);
}

static void set_json(struct json **to, const struct json *node)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    struct err ignored = ERR_INIT;

    json_free(*to);
    *to = NULL;
    if (node == NULL)
        return;
    json_put_node(&out, NULL, node);
    (void)json_parse(text.data, text.len, text.len, to, &ignored);
}

static const char *word(const struct json *head, const char *key, const char *fallback)
{
    const char *text = json_get_text(head, key);
    return text != NULL && text[0] != '\0' ? text : fallback;
}

/* ---- permissions */

static void permission_free(struct permission *permission)
{
    free(permission->id);
    free(permission->title);
    for (size_t i = 0; i < permission->count; i++) {
        free(permission->choices[i].id);
        free(permission->choices[i].name);
    }
}

static void drop_permission(struct chat *chat, const char *id)
{
    size_t i = 0;

    while (i < chat->permission_count && strcmp(chat->permissions[i].id, id) != 0)
        i++;
    if (i == chat->permission_count)
        return;
    permission_free(&chat->permissions[i]);
    chat->permission_count--;
    memmove(&chat->permissions[i], &chat->permissions[i + 1],
            (chat->permission_count - i) * sizeof chat->permissions[0]);
}

static void add_choice(struct permission *permission, const char *id, const char *name)
{
    if (permission->count < CHOICES_MAX)
        permission->choices[permission->count++] =
            (struct choice){.id = mem_dup(id), .name = mem_dup(name)};
}

/* Remembers one; false where it is known or there are too many. */
static bool keep_permission(struct chat *chat, const struct json *head)
{
    const char *id = word(head, "permission", "");
    struct permission *permission = &chat->permissions[chat->permission_count];

    for (size_t i = 0; i < chat->permission_count; i++)
        if (strcmp(chat->permissions[i].id, id) == 0)
            return false;
    if (chat->permission_count == PERMISSIONS_MAX)
        return false;
    *permission = (struct permission){
        .id = mem_dup(id), .title = mem_dup(word(head, "title", word(head, "kind", "a tool")))};
    for (const struct json *one = json_first(json_get(head, "options")); one != NULL;
         one = json_next(one)) {
        const char *option = json_get_text(one, "id");
        if (option != NULL)
            add_choice(permission, option, word(one, "name", option));
    }
    chat->permission_count++;
    return true;
}

static void ask_person(struct chat *chat, const struct json *head, const char *body, size_t len)
{
    if (!keep_permission(chat, head))
        return;
    view_gap(&chat->view);
    view_addf(&chat->view, STYLE_ASKS, "%s", chat->permissions[chat->permission_count - 1].title);
    view_details(&chat->view, body, len, ASKED_LINES);
}

static void on_permission(struct chat *chat, const struct frame *event)
{
    ask_person(chat, event->head, event->body != NULL ? event->body : "", event->body_len);
}

static void on_permitted(struct chat *chat, const struct frame *event)
{
    const char *by = word(event->head, "by", "-");
    const char *name = word(event->head, "name", word(event->head, "option", ""));

    drop_permission(chat, word(event->head, "permission", ""));
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

/* The tool stands above the foot from now on. */
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
    if (i == TOOLS_MAX) { /* more than a person can look at: the oldest makes room */
        settle_tool(chat, 0, STYLE_TOOL);
        i--;
    }
    chat->tools[i] = (struct tool){.id = mem_dup(id)};
    chat->tool_count++;
    return i;
}

static void on_tool(struct chat *chat, const struct frame *event)
{
    size_t i = find_tool(chat, word(event->head, "id", ""));
    struct tool *tool = &chat->tools[i];
    const char *status = word(event->head, "status", tool->status);

    if (tool->title == NULL || json_get_text(event->head, "title") != NULL)
        set_text(&tool->title, word(event->head, "title", word(event->head, "kind", "a tool")));
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

static void on_plan(struct chat *chat, const struct frame *event)
{
    set_json(&chat->plan, json_get(event->head, "entries"));
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

/* ---- what is said */

/* Skips what past.c has shown of a message already. */
static bool is_new(struct chat *chat, const struct frame *event, const char **ret, size_t *ret_len)
{
    int64_t message = past_number(json_get(event->head, "message"));
    int64_t at = json_int(json_get(event->head, "at"), -1);

    *ret = event->body != NULL ? event->body : "";
    *ret_len = event->body_len;
    if (message == 0 || message > chat->known)
        return true;
    if (message != chat->partial || at < 0)
        return false;
    size_t skip = (size_t)at < chat->partial_len ? chat->partial_len - (size_t)at : 0;
    if (skip >= *ret_len)
        return false;
    *ret += skip;
    *ret_len -= skip;
    return true;
}

static void on_words(struct chat *chat, const struct frame *event)
{
    static const struct {
        const char *event;
        enum style style;
    } kinds[] = {
        {"text", STYLE_TEXT}, {"thought", STYLE_THOUGHT}, {"user", STYLE_USER}, {NULL, STYLE_NOTE}};
    int64_t message = past_number(json_get(event->head, "message"));
    const char *name = json_get_text(event->head, "event");
    const char *text;
    size_t len;
    size_t i = 0;

    if (!is_new(chat, event, &text, &len))
        return;
    while (kinds[i].event != NULL && strcmp(kinds[i].event, name) != 0)
        i++;
    if (message != chat->speaking) { /* another message is a paragraph of its own */
        view_gap(&chat->view);
        chat->speaking = message;
    }
    view_piece(&chat->view, kinds[i].style, text, len);
}

static void on_note(struct chat *chat, const struct frame *event)
{
    view_add(&chat->view, STYLE_NOTE, event->body != NULL ? event->body : "", event->body_len);
}

/* Takes the element at `i` out of a list. */
static void drop_text(char **list, size_t i)
{
    free(list[i]);
    for (; list[i] != NULL; i++)
        list[i] = list[i + 1];
}

static void unqueue(struct chat *chat, const char *text)
{
    for (size_t i = 0; chat->queued != NULL && chat->queued[i] != NULL; i++)
        if (strcmp(chat->queued[i], text) == 0) {
            drop_text(chat->queued, i);
            return;
        }
}

/* true where past.c has not shown that prompt. */
static bool is_unshown(const struct chat *chat, int64_t prompt)
{
    bool unbegun = false;

    for (size_t i = 0; i < chat->unbegun_count; i++)
        unbegun = unbegun || chat->unbegun[i] == prompt;
    return unbegun || prompt > chat->known;
}

static void on_prompt(struct chat *chat, const struct frame *event)
{
    const char *from = json_get_text(event->head, "from");
    const char *text = event->body != NULL ? event->body : "";

    unqueue(chat, text);
    if (!is_unshown(chat, past_number(json_get(event->head, "prompt"))))
        return;
    view_gap(&chat->view);
    if (from != NULL && strcmp(from, "-") != 0)
        view_addf(&chat->view, STYLE_NOTE, "from %s:", from);
    view_prompt(&chat->view, text, event->body_len);
    view_gap(&chat->view);
}

static void on_end(struct chat *chat, const struct frame *event)
{
    const char *reason = word(event->head, "stopReason", "");
    const char *error = json_get_text(event->head, "error");

    while (chat->tool_count > 0)
        settle_tool(chat, 0, STYLE_TOOL);
    settle_plan(chat);
    view_end(&chat->view);
    if (strcmp(reason, TALK_END_FAILED) != 0 && strcmp(reason, "end_turn") != 0)
        view_addf(&chat->view, STYLE_NOTE, "the turn has ended: %s", reason);
    if (strcmp(reason, TALK_END_FAILED) == 0 && (error == NULL || !view_says(&chat->view, error)))
        view_addf(&chat->view, STYLE_ERROR, "the turn has failed: %s",
                  error != NULL ? error : "for a reason that is not known");
    view_gap(&chat->view);
}

/* ---- what is so */

static void on_state(struct chat *chat, const struct frame *event)
{
    enum agent_state state = chat->state;

    (void)agent_state_parse(json_get_text(event->head, "state"), &state);
    if (state != chat->state)
        chat->since_ms = time_epoch_ms();
    chat->state = state;
    set_text(&chat->note, json_get_text(event->head, "note"));
}

static void on_mode(struct chat *chat, const struct frame *event)
{
    if (json_first(json_get(event->head, "modes")) != NULL)
        set_json(&chat->modes, json_get(event->head, "modes"));
    set_text(&chat->mode, json_get_text(event->head, "mode"));
}

static void on_commands(struct chat *chat, const struct frame *event)
{
    set_json(&chat->commands, json_get(event->head, "commands"));
}

static void on_usage(struct chat *chat, const struct frame *event)
{
    int64_t used = json_int(json_get(event->head, "used"), -1);
    int64_t size = json_int(json_get(event->head, "size"), 0);

    chat->used = used >= 0 && size > 0 && used <= size ? (int)(used * 100 / size) : -1;
}

static void on_query(struct chat *chat, const struct frame *event)
{
    const char *reason = word(event->head, "reason", "clear");

    chat->used = -1;
    if (strcmp(reason, "conversation") == 0) /* of which it was told just now */
        return;
    view_gap(&chat->view);
    view_addf(&chat->view, STYLE_NOTE, "---- context cleared%s%s ----",
              strcmp(reason, "clear") == 0 ? "" : ": ", strcmp(reason, "clear") == 0 ? "" : reason);
}

static void on_continuity(struct chat *chat, const struct frame *event)
{
    const char *outcome = word(event->head, "outcome", "fresh");
    const char *note = word(event->head, "note", "");

    if (strcmp(outcome, "fresh") != 0 || note[0] != '\0')
        view_addf(&chat->view, STYLE_NOTE, "conversation %s%s%s", outcome,
                  note[0] != '\0' ? ": " : "", note);
}

static void on_conversation(struct chat *chat, const struct frame *event)
{
    set_text(&chat->conversation, json_get_text(event->head, "conversation"));
    view_gap(&chat->view);
    view_addf(&chat->view, STYLE_NOTE, "---- conversation %.8s ----",
              word(event->head, "conversation", "?"));
    past_show(chat, PAST_PAGE);
}

static const struct {
    const char *name;
    void (*run)(struct chat *chat, const struct frame *event);
} handlers[] = {
    {"prompt", on_prompt},
    {"text", on_words},
    {"thought", on_words},
    {"user", on_words},
    {"tool", on_tool},
    {"plan", on_plan},
    {"permission", on_permission},
    {"permitted", on_permitted},
    {"mode", on_mode},
    {"commands", on_commands},
    {"usage", on_usage},
    {"state", on_state},
    {"query", on_query},
    {"continuity", on_continuity},
    {"conversation", on_conversation},
    {"note", on_note},
    {"end", on_end},
};

void chat_event(struct chat *chat, const struct frame *event)
{
    const char *name = json_get_text(event->head, "event");

    for (size_t i = 0; name != NULL && i < ARRAY_LEN(handlers); i++)
        if (strcmp(name, handlers[i].name) == 0)
            handlers[i].run(chat, event);
}

/* ---- answers */

static void handle_status(struct chat *chat, const struct json *head)
{
    struct agent_status status;
    struct err ignored = ERR_INIT;

    if (agent_status_parse(head, &status, &ignored) == 0) {
        chat->state = status.state;
        chat->since_ms = status.since_ms;
        set_text(&chat->note, status.note);
        agent_status_free(&status);
    }
    set_text(&chat->conversation, json_get_text(head, "conversation"));
    set_text(&chat->mode, json_get_text(head, "mode"));
    set_json(&chat->modes, json_get(head, "modes"));
    set_json(&chat->commands, json_get(head, "commands"));
    past_show(chat, PAST_PAGE);
    chat->greeted = true;
    for (const struct json *one = json_first(json_get(head, "permissions")); one != NULL;
         one = json_next(one))
        ask_person(chat, one, "", 0);
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
    unqueue(chat, chat->sent[0]);
    line_get(chat->line, &text, &cursor);
    if (text.len == 0) /* it was work to type it */
        line_set(chat->line, chat->sent[0]);
}

void chat_answer(struct chat *chat, enum asked what, const struct json *head)
{
    struct err err = ERR_INIT;

    if (hosts_reply_error(head, &err) == -1)
        refused(chat, what, &err);
    else if (what == ASKED_LISTEN)
        handle_status(chat, head);
    else if (what == ASKED_CANCEL && !json_bool(json_get(head, "cancelled"), false))
        view_addf(&chat->view, STYLE_NOTE, "no turn is in flight");
    if (what == ASKED_PROMPT && strv_len(chat->sent) > 0)
        drop_text(chat->sent, 0);
}

void chat_forget(struct chat *chat)
{
    view_end(&chat->view);
    while (chat->permission_count > 0)
        drop_permission(chat, chat->permissions[0].id);
    while (chat->tool_count > 0)
        tool_free(&chat->tools[--chat->tool_count]);
    set_json(&chat->plan, NULL);
    strv_free(chat->queued);
    strv_free(chat->sent);
    chat->queued = chat->sent = NULL;
    chat->known = chat->partial = chat->speaking = 0;
    chat->unbegun_count = 0;
    chat->greeted = false;
}

void chat_free(struct chat *chat)
{
    chat_forget(chat);
    json_free(chat->modes);
    json_free(chat->commands);
    free(chat->note);
    free(chat->conversation);
    free(chat->mode);
    free(chat->session);
    free(chat->listed);
}
