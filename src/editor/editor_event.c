/*
 * Each event goes to the handler for its type, which makes an update of it for the session of the
 * current conversation, if the client has that open; what the client knows from the store already
 * is left out. Tool calls get ids by the number of their message, as agents use their own again.
 * Turns begin and end the prompts of the client that they belong to.
 */

#include "editor/editor_internal.h"

#include "base/time.h"
#include "protocol/host.h"

#include <strings.h>

/* ---- turns */

static void prompt_begins(struct editor *editor, const char *prompt)
{
    editor_replace(&editor->running, prompt);
    for (size_t i = 0; i < editor->pending_count; i++) {
        struct pending_request *pending = editor->pending[i];
        if (pending->step != STEP_FOLLOWS || strcmp(pending->session, editor->conversation) != 0)
            continue;
        pending->step = STEP_RUNS;
        editor_replace(&pending->prompt, prompt);
    }
}

/* Notes that a plan of the current turn was approved and will be carried out with a cleared
 * context. */
static void prompt_follows(struct editor *editor)
{
    for (size_t i = 0; i < editor->pending_count; i++) {
        struct pending_request *pending = editor->pending[i];
        if (pending->step == STEP_RUNS && editor->running != NULL &&
            strcmp(pending->prompt, editor->running) == 0)
            pending->follows = true;
    }
}

/* Reports the end of a turn to the client. */
static void tell_end(struct editor *editor, const struct pending_request *pending,
                     const struct host_event *event)
{
    static const char *const known[] = {"end_turn", "max_tokens", "max_turn_requests", "refusal",
                                        "cancelled"};
    const char *reason = event->stop_reason;
    const char *error = event->error;
    struct err why = ERR_INIT;

    for (size_t i = 0; reason != NULL && i < ARRAY_LEN(known); i++) {
        if (strcmp(reason, known[i]) == 0) {
            editor_end_turn(editor, pending->ticket, reason);
            return;
        }
    }
    if (pending->cancelled || (reason != NULL && strcmp(reason, HOST_END_CLEARED) == 0)) {
        editor_end_turn(editor, pending->ticket, "cancelled");
    } else if (error != NULL || reason == NULL || strcmp(reason, HOST_END_FAILED) == 0 ||
               strcmp(reason, HOST_END_STOPPED) == 0) {
        (void)err_set(&why, MAS_FAILED, "%s",
                      error != NULL ? error : "the agent was stopped before its turn ended");
        editor_refuse(editor, pending->ticket, &why);
    } else {
        editor_end_turn(editor, pending->ticket, "end_turn");
    }
}

static void prompt_ends(struct editor *editor, const struct host_event *event)
{
    struct pending_request *pending = NULL;
    const char *prompt = event->prompt;
    const char *reason = event->stop_reason;

    if (prompt == NULL)
        return;
    if (editor->running != NULL && strcmp(editor->running, prompt) == 0)
        editor_replace(&editor->running, NULL);
    for (int64_t at = 0; (pending = editor_pending_after(editor, at)) != NULL;) {
        at = pending->number;
        if (pending->step != STEP_RUNS || strcmp(pending->prompt, prompt) != 0)
            continue;
        if (pending->follows && !pending->cancelled && reason != NULL &&
            strcmp(reason, "cancelled") == 0) {
            pending->follows = false;
            pending->step = STEP_FOLLOWS;
            pending->until = time_monotonic_ms() + EDITOR_FOLLOW_MS;
        } else {
            tell_end(editor, pending, event);
            editor_pending_end(editor, pending);
        }
    }
}

/* ---- permissions */

static void forget_tools(struct editor *editor)
{
    for (size_t i = 0; i < EDITOR_OPEN_MAX; i++)
        editor_replace(&editor->tools[i].id, NULL);
}

/* Tells what is asked of the tool call under which the client shows the question. */
static void tell_asked(struct editor *editor, const struct editor_permission *permission)
{
    const struct editor_session *session = editor_current(editor);
    const struct editor_tool *known = editor_find_tool(editor, permission->is.tool);
    char id[EDITOR_TOOL_ID];

    if (session == NULL || known == NULL || permission->serial == 0)
        return;
    editor_tool_id(known->number, id);
    const struct acp_agent_tool tool = {
        .id = id,
        .title = permission->is.title,
        .text = permission->is.body,
        .len = permission->is.body != NULL ? strlen(permission->is.body) : 0,
        .known = true,
    };
    acp_agent_tool(editor->acp, session->id, &tool);
}

/* Adds a permission, or replaces what is known of it. */
static void add_permission(struct editor *editor, const struct host_event *event)
{
    const char *id = event->permission;
    size_t i = 0;

    if (id == NULL)
        return;
    while (i < editor->permission_count && strcmp(editor->permissions[i].is.id, id) != 0)
        i++;
    if (i < editor->permission_count) {
        host_permission_free(&editor->permissions[i].is);
        editor->permissions[i].is = host_permission_copy(event);
        tell_asked(editor, &editor->permissions[i]);
        return;
    }
    editor->permissions =
        mem_room(editor->permissions, editor->permission_count, sizeof *editor->permissions);
    editor->permissions[editor->permission_count++] =
        (struct editor_permission){.is = host_permission_copy(event)};
}

/* Returns the option with this id (NULL: none), or NULL. */
static const struct word *find_option(const struct host_permission *permission, const char *id)
{
    for (size_t i = 0; id != NULL && i < permission->options.count; i++)
        if (strcmp(permission->options.word[i].id, id) == 0)
            return &permission->options.word[i];
    return NULL;
}

/* Returns true if the option clears the context and carries out the plan. */
static bool is_clear(const struct host_permission *permission, const struct word *option)
{
    return permission->plan && option != NULL &&
           (strcmp(option->id, "clear") == 0 || strcasestr(option->name, "clear") != NULL);
}

/* Ends a tool call that the client knows only from its permission request; updates may follow. */
static void end_announced(struct editor *editor, const struct editor_permission *permission,
                          const struct word *option)
{
    const struct editor_session *session = editor_current(editor);
    bool allowed = option != NULL && !str_starts(option->kind, "reject");
    char id[EDITOR_TOOL_ID];

    if (permission->announced == 0 || session == NULL)
        return;
    editor_tool_id(permission->announced, id);
    const struct acp_agent_tool tool = {
        .id = id, .status = allowed ? "completed" : "failed", .known = true};
    acp_agent_tool(editor->acp, session->id, &tool);
}

static void on_permitted(struct editor *editor, const struct host_event *event)
{
    const char *id = event->permission;

    for (size_t i = 0; id != NULL && i < editor->permission_count; i++) {
        struct editor_permission *permission = &editor->permissions[i];
        if (strcmp(permission->is.id, id) != 0)
            continue;
        const struct word *option = find_option(&permission->is, event->option);
        if (is_clear(&permission->is, option))
            prompt_follows(editor);
        if (permission->serial != 0 && !permission->answered)
            acp_agent_withdraw(editor->acp, permission->serial);
        end_announced(editor, permission, option);
        host_permission_free(&permission->is);
        editor->permission_count--;
        memmove(permission, permission + 1,
                (editor->permission_count - i) * sizeof *editor->permissions);
        return;
    }
}

/* ---- events */

static void on_prompt(struct editor *editor, const struct host_event *event)
{
    struct editor_session *session = editor_current(editor);
    const char *prompt = event->prompt;
    const char *from = event->from;

    if (prompt == NULL)
        return;
    prompt_begins(editor, prompt);
    forget_tools(editor); /* agents use the same ids again */
    if (session == NULL || editor_known_prompt(session, host_event_number(prompt)))
        return;
    if (from != NULL) {
        _cleanup_free_ char *words = mem_printf("From %s: ", from);
        acp_agent_chunk(editor->acp, session->id, ACP_USER, prompt, words, strlen(words));
    }
    acp_agent_chunk(editor->acp, session->id, ACP_USER, prompt,
                    event->body != NULL ? event->body : "", event->body_len);
}

static void tell_chunk(struct editor *editor, const struct host_event *event,
                       enum acp_update_kind kind)
{
    struct editor_session *session = editor_current(editor);

    if (session == NULL || event->body == NULL)
        return;
    size_t known = editor_known(session, host_event_number(event->message),
                                event->at > 0 ? (size_t)event->at : 0, event->body_len);
    if (known < event->body_len)
        acp_agent_chunk(editor->acp, session->id, kind, event->message, event->body + known,
                        event->body_len - known);
}

static void on_text(struct editor *editor, const struct host_event *event)
{
    tell_chunk(editor, event, ACP_TEXT);
}

static void on_thought(struct editor *editor, const struct host_event *event)
{
    tell_chunk(editor, event, ACP_THOUGHT);
}

static void on_tool(struct editor *editor, const struct host_event *event)
{
    struct editor_session *session = editor_current(editor);
    int64_t number = host_event_number(event->message);
    const char *id = event->id;

    if (session == NULL || number == 0)
        return;
    const struct editor_tool *tool = editor_find_tool(editor, id);
    bool known = editor_known_tool(session, number) || tool != NULL;
    if (tool == NULL)
        tool = editor_add_tool(editor, id != NULL ? id : "", number);
    number = tool->number;
    editor_tool(editor, session, number, known, event->head, event->body, event->body_len);
}

static void on_plan(struct editor *editor, const struct host_event *event)
{
    struct editor_session *session = editor_current(editor);

    if (session == NULL)
        return;
    (void)editor_known_tool(session, host_event_number(event->message));
    acp_agent_plan(editor->acp, session->id, event->entries);
}

static void on_permission(struct editor *editor, const struct host_event *event)
{
    add_permission(editor, event);
    editor_ask_permissions(editor);
}

static void read_modes(struct editor *editor, const char *mode, const struct json *modes)
{
    editor_replace(&editor->mode, mode);
    if (modes != NULL)
        json_replace(&editor->modes, modes);
}

static void on_elicited(struct editor *editor, const struct host_event *event)
{
    if (event->elicitation != NULL && editor_current(editor) != NULL)
        acp_agent_elicited(editor->acp, event->elicitation);
}

static void on_mode(struct editor *editor, const struct host_event *event)
{
    const struct editor_session *session = editor_current(editor);
    _cleanup_free_ char *before = mem_dup(editor->mode);

    read_modes(editor, event->mode, event->modes);
    if (session != NULL && editor->mode != NULL && editor->mode[0] != '\0' &&
        (before == NULL || strcmp(before, editor->mode) != 0))
        acp_agent_mode(editor->acp, session->id, editor->mode);
}

static void on_commands(struct editor *editor, const struct host_event *event)
{
    json_replace(&editor->commands, event->commands);
    for (size_t i = 0; i < editor->session_count; i++)
        editor_tell_commands(editor, editor->sessions[i]->id);
}

static void on_options(struct editor *editor, const struct host_event *event)
{
    const struct editor_session *session = editor_current(editor);
    _cleanup_str_ struct str options = STR_INIT;
    struct json_out out = {.to = &options};

    json_replace(&editor->options, event->options);
    if (session == NULL)
        return;
    acp_agent_put_options(editor->acp, &out, NULL, editor->options);
    acp_agent_options(editor->acp, session->id, options.data);
}

static void on_usage(struct editor *editor, const struct host_event *event)
{
    const struct editor_session *session = editor_current(editor);

    if (session != NULL && event->size > 0)
        acp_agent_usage(editor->acp, session->id, event->used, event->size, &event->cost);
}

static void on_title(struct editor *editor, const struct host_event *event)
{
    const struct editor_session *session = editor_current(editor);
    const char *title = event->title;

    if (session != NULL && title != NULL)
        acp_agent_title(editor->acp, session->id, title);
}

static void on_state(struct editor *editor, const struct host_event *event)
{
    editor_replace(&editor->state, event->state);
}

static void on_query(struct editor *editor, const struct host_event *event)
{
    struct editor_session *session = editor_current(editor);
    const char *reason = event->reason;

    if (session == NULL || reason == NULL || strcmp(reason, "conversation") == 0)
        return;
    session->query = -1;
    editor_note(editor, session, 0, "the context was cleared");
}

static void on_conversation(struct editor *editor, const struct host_event *event)
{
    const char *id = event->conversation;

    if (id != NULL)
        (void)snprintf(editor->conversation, sizeof editor->conversation, "%s", id);
}

static void on_note(struct editor *editor, const struct host_event *event)
{
    struct editor_session *session = editor_current(editor);
    int64_t number = host_event_number(event->message);

    if (session == NULL || event->body == NULL)
        return;
    if (number == 0 || !editor_known_tool(session, number))
        editor_note(editor, session, number, event->body);
}

static void on_end(struct editor *editor, const struct host_event *event)
{
    struct editor_session *session = editor_current(editor);

    if (session != NULL && event->error != NULL)
        editor_note(editor, session, 0, event->error);
    prompt_ends(editor, event);
}

static void (*const handlers[HOST_EVENT_COUNT])(struct editor *editor,
                                                const struct host_event *event) = {
    [HOST_EVENT_PROMPT] = on_prompt,       [HOST_EVENT_TEXT] = on_text,
    [HOST_EVENT_THOUGHT] = on_thought,     [HOST_EVENT_TOOL] = on_tool,
    [HOST_EVENT_PLAN] = on_plan,           [HOST_EVENT_PERMISSION] = on_permission,
    [HOST_EVENT_PERMITTED] = on_permitted, [HOST_EVENT_ELICITED] = on_elicited,
    [HOST_EVENT_MODE] = on_mode,           [HOST_EVENT_COMMANDS] = on_commands,
    [HOST_EVENT_OPTIONS] = on_options,     [HOST_EVENT_USAGE] = on_usage,
    [HOST_EVENT_TITLE] = on_title,         [HOST_EVENT_STATE] = on_state,
    [HOST_EVENT_QUERY] = on_query,         [HOST_EVENT_CONVERSATION] = on_conversation,
    [HOST_EVENT_NOTE] = on_note,           [HOST_EVENT_END] = on_end,
};

void editor_event(struct editor *editor, const struct frame *frame)
{
    struct host_event event;

    if (host_event_parse(frame->head, frame->body, frame->body_len, &event) &&
        handlers[event.type] != NULL)
        handlers[event.type](editor, &event);
}

void editor_handle_listen(struct editor *editor, const struct json *head)
{
    const char *id = json_get_text(head, "conversation");

    (void)snprintf(editor->conversation, sizeof editor->conversation, "%s", id != NULL ? id : "");
    editor_replace(&editor->state, json_get_text(head, "state"));
    read_modes(editor, json_get_text(head, "mode"), json_get(head, "modes"));
    json_replace(&editor->commands, json_get(head, "commands"));
    if (json_get(head, "options") != NULL)
        json_replace(&editor->options, json_get(head, "options"));
    for (const struct json *p = json_first(json_get(head, "permissions")); p != NULL;
         p = json_next(p)) {
        struct host_event permission;
        (void)host_event_parse(p, NULL, 0, &permission);
        add_permission(editor, &permission);
    }
}
