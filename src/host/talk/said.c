/*
 * Texts grow by pieces until something else is said; a tool call or a plan that changes replaces
 * its message. Each change is stored and then told.
 */

#include "host/talk/said.h"

#include "host/talk/event.h"
#include "host/talk/limit.h"
#include "host/talk/memory.h"

enum {
    TOOLS_MAX = 512, /* tool calls that are known in one turn; the oldest one makes room */
    /* bytes that listeners are told */
    TOOL_BODY_MAX = 1 << 20, /* of a tool's content */
    TITLE_MAX = 2048,
    WORD_MAX = 200, /* of a kind, a status */
    KEY_MAX = 1024, /* of an id */
};

/* Ends a message that grows. */
static void finish(struct host *host, int64_t *number)
{
    if (*number != 0)
        memory_finish(host, *number);
    *number = 0;
}

void said_close_text(struct host *host)
{
    finish(host, &host->talk->turn.answer);
    finish(host, &host->talk->turn.thought);
}

/* Appends a piece to the answer or the thought that grows, or begins one with it. */
static void handle_piece(struct host *host, enum store_role role, const char *text, size_t n)
{
    struct talk *talk = host->talk;
    int64_t *grows = role == ROLE_THOUGHT ? &talk->turn.thought : &talk->turn.answer;
    int64_t *other = role == ROLE_THOUGHT ? &talk->turn.answer : &talk->turn.thought;
    size_t *len = role == ROLE_THOUGHT ? &talk->turn.thought_len : &talk->turn.answer_len;

    finish(host, other);
    if (*len + n > STORE_TEXT_MAX) /* the rest becomes another message */
        finish(host, grows);
    if (*grows != 0 && talk->memory.store != NULL) {
        memory_append(host, *grows, text, n);
    } else {
        const struct store_message message = {.role = role,
                                              .state = MESSAGE_OPEN,
                                              .text = text,
                                              .len = n,
                                              .trigger = turn_prompt(talk)};
        *grows = memory_add(host, &message);
        *len = 0;
    }
    event_tell_text(host, role == ROLE_THOUGHT ? "thought" : "text", *grows, *len, text, n);
    *len += n;
}

void said_text(struct host *host, enum store_role role, const char *text, size_t len)
{
    if (role == ROLE_AGENT)
        limit_said(host, text, len);
    for (size_t at = 0, n; at < len; at += n) {
        n = str_fit(text + at, STORE_TEXT_MAX);
        handle_piece(host, role, text + at, n);
    }
}

/* ---- tool calls */

void said_free_tool(struct tool_call *tool)
{
    free(tool->id);
    free(tool->told);
    free(tool->title);
    free(tool->kind);
    free(tool->status);
    free(tool->text);
    tool_words_free(&tool->is);
}

void said_free_tools(struct tool_table *tools)
{
    for (size_t i = 0; i < tools->count; i++)
        said_free_tool(&tools->call[i]);
    free(tools->call);
    *tools = (struct tool_table){.count = 0};
}

struct tool_call *said_know_tool(struct tool_table *tools, const char *id)
{
    for (size_t i = tools->count; i-- > 0;)
        if (strcmp(tools->call[i].id, id) == 0)
            return &tools->call[i];
    if (tools->count == TOOLS_MAX) {
        said_free_tool(&tools->call[0]);
        memmove(tools->call, tools->call + 1, --tools->count * sizeof *tools->call);
    }
    tools->call = mem_room(tools->call, tools->count, sizeof *tools->call);
    struct tool_call *tool = &tools->call[tools->count++];
    *tool = (struct tool_call){.id = mem_dup(id),
                               .told = mem_dup(""),
                               .title = mem_dup(""),
                               .kind = mem_dup("other"),
                               .status = mem_dup("pending"),
                               .text = mem_dup("")};
    return tool;
}

bool said_tool_is_over(const struct tool_call *tool)
{
    return strcmp(tool->status, "completed") == 0 || strcmp(tool->status, "failed") == 0;
}

static void store_tool(struct host *host, struct tool_call *tool, const char *content)
{
    struct talk *talk = host->talk;
    _cleanup_str_ struct str data = STR_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_free_ char *input = tool_words_details(&tool->is, NULL);
    struct json_out out = {.to = &data};
    size_t kept = str_fit(content, STORE_TEXT_MAX / 2); /* beside its title */

    json_open(&out, NULL, '{');
    json_put_all(&out, JT("id", tool->id), JT("title", tool->title), JT("kind", tool->kind),
                 JT("status", tool->status));
    if (input[0] != '\0')
        json_put(&out, "input", input);
    json_close(&out, '}');
    str_addn(&text, tool->title, str_fit(tool->title, STORE_TEXT_MAX / 4));
    if (kept > 0)
        str_addc(&text, '\n');
    str_addn(&text, content, kept);
    if (content[kept] != '\0')
        str_addf(&text, "\n(%zu bytes are left out)", strlen(content + kept));
    enum store_state state = said_tool_is_over(tool) ? MESSAGE_DONE : MESSAGE_OPEN;
    if (tool->number != 0 && talk->memory.store != NULL) {
        memory_update(host, tool->number, str_text(&text), text.len, data.data, state, SYNC_CHUNK);
        return;
    }
    const struct store_message message = {.role = ROLE_TOOL,
                                          .state = state,
                                          .text = str_text(&text),
                                          .len = text.len,
                                          .data = data.data,
                                          .key = tool->id,
                                          .trigger = turn_prompt(talk)};
    tool->number = memory_add(host, &message);
}

void said_tell_tool(struct host *host, struct tool_call *tool, const char *content)
{
    _cleanup_free_ char *title = mem_dupn(tool->title, str_fit(tool->title, TITLE_MAX));
    size_t whole = strlen(content);
    size_t len = str_fit(content, TOOL_BODY_MAX);
    struct client_event event;
    char id[EVENT_ID_MAX];

    store_tool(host, tool, content);
    event_open(&event, "tool");
    json_put(&event.out, "message", event_id(host, tool->number, id));
    json_put_fit(&event.out, "id", tool->id, KEY_MAX);
    json_put(&event.out, "title", title);
    json_put_fit(&event.out, "kind", tool->kind, WORD_MAX);
    json_put_fit(&event.out, "status", tool->status, WORD_MAX);
    if (len < whole)
        json_put_int(&event.out, "more", (int64_t)(whole - len));
    event_tell(host, &event, len > 0 ? content : NULL, len, turn_prompt(host->talk));
    _cleanup_free_ char *line = mem_printf("%s: %s", tool->status, title);
    host->talk->ops->show(host, "tool", line, strlen(line));
}

/* ---- plans */

void said_plan(struct host *host, const char *text, const char *entries, size_t more)
{
    const struct talk *talk = host->talk;
    struct turn *turn = &host->talk->turn;
    size_t len = strlen(text);
    struct client_event event;
    char id[EVENT_ID_MAX];

    said_close_text(host);
    free(turn->plan_text);
    turn->plan_text = mem_dup(text);
    if (turn->plan != 0 && talk->memory.store != NULL) {
        memory_update(host, turn->plan, text, len, entries, MESSAGE_DONE, SYNC_CHUNK);
    } else {
        const struct store_message message = {.role = ROLE_PLAN,
                                              .state = MESSAGE_DONE,
                                              .text = text,
                                              .len = len,
                                              .data = entries,
                                              .trigger = turn_prompt(talk)};
        turn->plan = memory_add(host, &message);
    }
    event_open(&event, "plan");
    json_put(&event.out, "message", event_id(host, turn->plan, id));
    json_put_raw(&event.out, "entries", entries);
    if (more > 0)
        json_put_int(&event.out, "more", (int64_t)more);
    event_tell(host, &event, NULL, 0, turn_prompt(talk));
    host->talk->ops->show(host, "plan", text, len);
}
