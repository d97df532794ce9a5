#include "editor/face_internal.h"

#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TOOL_ID = 32, NOTE_MAX = 2048 };

/* ---- tools, notes, commands */

/* How the client knows a tool call: agents use their own ids again in other queries. */
static void tool_id(int64_t number, char buf[TOOL_ID])
{
    (void)snprintf(buf, TOOL_ID, "tool-%" PRId64, number);
}

void face_tool(struct face *face, const struct face_session *session, int64_t number, bool known,
               const struct json *data, const char *text, size_t len)
{
    char id[TOOL_ID];
    const struct acp_agent_tool tool = {
        .id = id,
        .title = json_get_text(data, "title"),
        .kind = json_get_text(data, "kind"),
        .status = json_get_text(data, "status"),
        .text = text,
        .len = len,
        .known = known,
    };

    tool_id(number, id);
    acp_agent_tool(face->acp, session->id, &tool);
}

void face_note(struct face *face, const struct face_session *session, int64_t number,
               const char *words)
{
    char id[TOOL_ID];
    _cleanup_free_ char *title = mem_printf("mas: %.*s", NOTE_MAX, words);
    const struct acp_agent_tool tool = {
        .id = id, .title = title, .kind = "other", .status = "completed"};

    if (number != 0)
        (void)snprintf(id, sizeof id, "note-%" PRId64, number);
    else
        (void)snprintf(id, sizeof id, "mas-%" PRId64, ++face->notes);
    acp_agent_tool(face->acp, session->id, &tool);
}

/* Those of mas, then those of the agent that have other names. */
void face_tell_commands(struct face *face, const char *session)
{
    struct acp_word *words = NULL;
    size_t count = 0;

    for (size_t i = 0; i < face_command_count; i++) {
        words = mem_room(words, count, sizeof *words);
        words[count++] = (struct acp_word){.name = mem_dup(face_commands[i].name),
                                           .description = mem_dup(face_commands[i].description),
                                           .kind = mem_dup(face_commands[i].hint)};
    }
    for (const struct json *c = json_first(face->commands); c != NULL; c = json_next(c)) {
        const char *name = json_get_text(c, "name");
        const char *description = json_get_text(c, "description");
        bool taken = name == NULL || name[0] == '\0';
        for (size_t i = 0; !taken && i < face_command_count; i++)
            taken = strcmp(face_commands[i].name, name) == 0;
        if (taken)
            continue;
        words = mem_room(words, count, sizeof *words);
        words[count++] =
            (struct acp_word){.name = mem_dup(name),
                              .description = mem_dup(description != NULL ? description : ""),
                              .kind = mem_dup("")};
    }
    acp_agent_commands(face->acp, session, words, count);
    for (size_t i = 0; i < count; i++) {
        free(words[i].name);
        free(words[i].description);
        free(words[i].kind);
    }
    free(words);
}

/* ---- permissions */

static void permission_free(struct face_permission *permission)
{
    free(permission->id);
    free(permission->body);
    json_free(permission->head);
}

void face_drop_permissions(struct face *face)
{
    for (size_t i = 0; i < face->permission_count; i++) {
        if (face->permissions[i].serial != 0 && face->acp != NULL)
            acp_agent_withdraw(face->acp, face->permissions[i].serial);
        permission_free(&face->permissions[i]);
    }
    face->permission_count = 0;
}

static void add_permission(struct face *face, const struct json *head, const char *body, size_t len)
{
    const char *id = json_get_text(head, "permission");

    for (size_t i = 0; id != NULL && i < face->permission_count; i++)
        if (strcmp(face->permissions[i].id, id) == 0)
            return;
    if (id == NULL)
        return;
    face->permissions =
        mem_room(face->permissions, face->permission_count, sizeof *face->permissions);
    face->permissions[face->permission_count++] =
        (struct face_permission){.id = mem_dup(id),
                                 .head = face_copy(head),
                                 .body = body != NULL ? mem_dupn(body, len) : NULL};
}

/* The tool call that the client knows by the agent's id of it; NULL: it has not heard of it. */
static struct face_tool *find_tool(struct face *face, const char *id)
{
    for (size_t i = 0; id != NULL && i < FACE_OPEN_MAX; i++)
        if (face->tools[i].id != NULL && strcmp(face->tools[i].id, id) == 0)
            return &face->tools[i];
    return NULL;
}

static struct face_tool *add_tool(struct face *face, const char *id, int64_t number)
{
    struct face_tool *tool = &face->tools[face->tool_next];

    face->tool_next = (face->tool_next + 1) % FACE_OPEN_MAX;
    face_replace(&tool->id, id);
    tool->number = number;
    return tool;
}

static void forget_tools(struct face *face)
{
    for (size_t i = 0; i < FACE_OPEN_MAX; i++)
        face_replace(&face->tools[i].id, NULL);
}

static void ask_permission(struct face *face, const struct face_session *session,
                           struct face_permission *permission)
{
    const struct json *head = permission->head;
    const char *about = json_get_text(head, "id");
    struct acp_word *words = NULL;
    size_t count = 0;
    const struct face_tool *known = find_tool(face, about);
    char id[TOOL_ID];

    bool is_new = known == NULL;

    if (is_new)
        known = add_tool(face, about != NULL ? about : "", face_number(permission->id));
    tool_id(known->number, id);
    for (const struct json *o = json_first(json_get(head, "options")); o != NULL;
         o = json_next(o)) {
        if (json_get_text(o, "id") == NULL)
            continue;
        words = mem_room(words, count, sizeof *words);
        words[count] = (struct acp_word){.id = mem_dup(json_get_text(o, "id")),
                                         .name = mem_dup(json_get_text(o, "name")),
                                         .kind = mem_dup(json_get_text(o, "kind"))};
        if (words[count].name == NULL || words[count].name[0] == '\0')
            face_replace(&words[count].name, words[count].id);
        count++;
    }
    const struct acp_agent_tool tool = {
        .id = id,
        .title = json_get_text(head, "title"),
        .kind = json_get_text(head, "kind"),
        .status = "pending",
        .text = permission->body,
        .len = permission->body != NULL ? strlen(permission->body) : 0,
    };
    if (is_new) { /* some clients ask only about what they have heard of */
        acp_agent_tool(face->acp, session->id, &tool);
        permission->announced = known->number;
    }
    permission->serial = acp_agent_ask_permission(face->acp, session->id, &tool, words, count);
    for (size_t i = 0; i < count; i++) {
        free(words[i].id);
        free(words[i].name);
        free(words[i].kind);
    }
    free(words);
}

void face_ask_permissions(struct face *face)
{
    const struct face_session *session = face_current(face);

    for (size_t i = 0; session != NULL && i < face->permission_count; i++)
        if (face->permissions[i].serial == 0)
            ask_permission(face, session, &face->permissions[i]);
}

/* true if the option clears the context and carries the plan out. */
static bool is_clear(const struct face_permission *permission, const char *option)
{
    if (option == NULL || !json_bool(json_get(permission->head, "plan"), false))
        return false;
    for (const struct json *o = json_first(json_get(permission->head, "options")); o != NULL;
         o = json_next(o)) {
        const char *id = json_get_text(o, "id");
        const char *name = json_get_text(o, "name");
        if (id != NULL && strcmp(id, option) == 0)
            return strcmp(id, "clear") == 0 || (name != NULL && strcasestr(name, "clear") != NULL);
    }
    return false;
}

/* A tool call that the client knows by its permission alone; more may come of it. */
static void end_announced(struct face *face, const struct face_permission *permission,
                          const char *option)
{
    const struct face_session *session = face_current(face);
    bool allowed = false;
    char id[TOOL_ID];

    if (permission->announced == 0 || session == NULL)
        return;
    for (const struct json *o = json_first(json_get(permission->head, "options")); o != NULL;
         o = json_next(o)) {
        const char *name = json_get_text(o, "id");
        const char *kind = json_get_text(o, "kind");
        if (option != NULL && name != NULL && strcmp(name, option) == 0)
            allowed = kind == NULL || !str_starts(kind, "reject");
    }
    tool_id(permission->announced, id);
    const struct acp_agent_tool tool = {
        .id = id, .status = allowed ? "completed" : "failed", .known = true};
    acp_agent_tool(face->acp, session->id, &tool);
}

static void on_permitted(struct face *face, const struct frame *event)
{
    const char *id = json_get_text(event->head, "permission");

    for (size_t i = 0; id != NULL && i < face->permission_count; i++) {
        struct face_permission *permission = &face->permissions[i];
        if (strcmp(permission->id, id) != 0)
            continue;
        if (is_clear(permission, json_get_text(event->head, "option")))
            face_prompt_follows(face);
        if (permission->serial != 0 && !permission->answered)
            acp_agent_withdraw(face->acp, permission->serial);
        end_announced(face, permission, json_get_text(event->head, "option"));
        permission_free(permission);
        face->permission_count--;
        memmove(permission, permission + 1,
                (face->permission_count - i) * sizeof *face->permissions);
        return;
    }
}

/* ---- events */

static void on_prompt(struct face *face, const struct frame *event)
{
    struct face_session *session = face_current(face);
    const char *prompt = json_get_text(event->head, "prompt");
    const char *from = json_get_text(event->head, "from");

    if (prompt == NULL)
        return;
    face_prompt_begins(face, prompt);
    forget_tools(face); /* agents use their ids again */
    if (session == NULL || face_known_prompt(session, face_number(prompt)))
        return;
    if (from != NULL) {
        _cleanup_free_ char *words = mem_printf("From %s: ", from);
        acp_agent_chunk(face->acp, session->id, ACP_USER, prompt, words, strlen(words));
    }
    acp_agent_chunk(face->acp, session->id, ACP_USER, prompt,
                    event->body != NULL ? event->body : "", event->body_len);
}

static void tell_chunk(struct face *face, const struct frame *event, enum acp_update_kind kind)
{
    struct face_session *session = face_current(face);
    const char *id = json_get_text(event->head, "message");
    int64_t at = json_int(json_get(event->head, "at"), 0);

    if (session == NULL || event->body == NULL)
        return;
    size_t known = face_known(session, face_number(id), at > 0 ? (size_t)at : 0, event->body_len);
    if (known < event->body_len)
        acp_agent_chunk(face->acp, session->id, kind, id, event->body + known,
                        event->body_len - known);
}

static void on_text(struct face *face, const struct frame *event)
{
    tell_chunk(face, event, ACP_TEXT);
}

static void on_thought(struct face *face, const struct frame *event)
{
    tell_chunk(face, event, ACP_THOUGHT);
}

static void on_tool(struct face *face, const struct frame *event)
{
    struct face_session *session = face_current(face);
    int64_t number = face_number(json_get_text(event->head, "message"));
    const char *id = json_get_text(event->head, "id");

    if (session == NULL || number == 0)
        return;
    const struct face_tool *tool = find_tool(face, id);
    bool known = face_known_tool(session, number) || tool != NULL;
    if (tool == NULL)
        tool = add_tool(face, id != NULL ? id : "", number);
    number = tool->number;
    face_tool(face, session, number, known, event->head, event->body, event->body_len);
}

static void on_plan(struct face *face, const struct frame *event)
{
    struct face_session *session = face_current(face);

    if (session == NULL)
        return;
    (void)face_known_tool(session, face_number(json_get_text(event->head, "message")));
    acp_agent_plan(face->acp, session->id, json_get(event->head, "entries"));
}

static void on_permission(struct face *face, const struct frame *event)
{
    add_permission(face, event->head, event->body, event->body_len);
    face_ask_permissions(face);
}

static void take_modes(struct face *face, const struct json *head)
{
    face_replace(&face->mode, json_get_text(head, "mode"));
    if (json_get(head, "modes") == NULL)
        return;
    json_free(face->modes);
    face->modes = face_copy(json_get(head, "modes"));
}

static void on_mode(struct face *face, const struct frame *event)
{
    const struct face_session *session = face_current(face);
    _cleanup_free_ char *before = mem_dup(face->mode);

    take_modes(face, event->head);
    if (session != NULL && face->mode != NULL && face->mode[0] != '\0' &&
        (before == NULL || strcmp(before, face->mode) != 0))
        acp_agent_mode(face->acp, session->id, face->mode);
}

static void on_commands(struct face *face, const struct frame *event)
{
    json_free(face->commands);
    face->commands = face_copy(json_get(event->head, "commands"));
    for (size_t i = 0; i < face->session_count; i++)
        face_tell_commands(face, face->sessions[i]->id);
}

static void on_options(struct face *face, const struct frame *event)
{
    const struct face_session *session = face_current(face);
    _cleanup_str_ struct str options = STR_INIT;
    struct json_out out = {.to = &options};

    json_free(face->options);
    face->options = face_copy(json_get(event->head, "options"));
    if (session == NULL)
        return;
    acp_agent_put_options(&out, NULL, face->options);
    acp_agent_options(face->acp, session->id, options.data);
}

static void on_usage(struct face *face, const struct frame *event)
{
    const struct face_session *session = face_current(face);

    if (session != NULL)
        acp_agent_usage(face->acp, session->id, json_int(json_get(event->head, "used"), 0),
                        json_int(json_get(event->head, "size"), 0));
}

static void on_title(struct face *face, const struct frame *event)
{
    const struct face_session *session = face_current(face);
    const char *title = json_get_text(event->head, "title");

    if (session != NULL && title != NULL)
        acp_agent_title(face->acp, session->id, title);
}

static void on_state(struct face *face, const struct frame *event)
{
    face_replace(&face->state, json_get_text(event->head, "state"));
}

static void on_query(struct face *face, const struct frame *event)
{
    struct face_session *session = face_current(face);
    const char *reason = json_get_text(event->head, "reason");

    if (session == NULL || reason == NULL || strcmp(reason, "conversation") == 0)
        return;
    session->query = -1;
    face_note(face, session, 0, "the context was cleared");
}

static void on_conversation(struct face *face, const struct frame *event)
{
    const char *id = json_get_text(event->head, "conversation");

    if (id != NULL)
        (void)snprintf(face->conversation, sizeof face->conversation, "%s", id);
}

static void on_note(struct face *face, const struct frame *event)
{
    struct face_session *session = face_current(face);
    int64_t number = face_number(json_get_text(event->head, "message"));

    if (session == NULL || event->body == NULL)
        return;
    if (number == 0 || !face_known_tool(session, number))
        face_note(face, session, number, event->body);
}

static void on_end(struct face *face, const struct frame *event)
{
    face_prompt_ends(face, event->head);
}

static const struct {
    const char *name;
    void (*take)(struct face *face, const struct frame *event);
} events[] = {
    {"prompt", on_prompt},       {"text", on_text},   {"thought", on_thought},
    {"tool", on_tool},           {"plan", on_plan},   {"permission", on_permission},
    {"permitted", on_permitted}, {"mode", on_mode},   {"commands", on_commands},
    {"options", on_options},     {"usage", on_usage}, {"title", on_title},
    {"state", on_state},         {"query", on_query}, {"conversation", on_conversation},
    {"note", on_note},           {"end", on_end},
};

void face_event(struct face *face, const char *name, const struct frame *event)
{
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        if (strcmp(events[i].name, name) == 0) {
            events[i].take(face, event);
            break;
        }
    }
}

void face_take_listen(struct face *face, const struct json *head)
{
    const char *id = json_get_text(head, "conversation");

    (void)snprintf(face->conversation, sizeof face->conversation, "%s", id != NULL ? id : "");
    face_replace(&face->state, json_get_text(head, "state"));
    take_modes(face, head);
    json_free(face->commands);
    face->commands = face_copy(json_get(head, "commands"));
    if (json_get(head, "options") != NULL) {
        json_free(face->options);
        face->options = face_copy(json_get(head, "options"));
    }
    for (const struct json *p = json_first(json_get(head, "permissions")); p != NULL;
         p = json_next(p))
        add_permission(face, p, NULL, 0);
}
