/*
 * Texts grow by pieces until something else is said; a tool call or a plan that changes replaces
 * its message. Each change is stored and then told. update_handle() sorts out first whose session
 * an update is of: subagents, copies and summaries have their own parts, and what else is not of
 * the present session is dropped. A session that shows old content again has that ignored.
 */

#include "host/acp/conversation.h"

#include "base/time.h"
#include "host/acp/agent_side.h"
#include "host/acp/turn_side.h"

enum {
    TOOLS_MAX = 512, /* tool calls that are known in one turn; the oldest one makes room */
    /* bytes that listeners are told */
    TOOL_BODY_MAX = 1 << 20, /* of a tool's content */
    TITLE_MAX = 2048,
    WORD_MAX = 200, /* of a kind, a status */
    KEY_MAX = 1024, /* of an id */
    PLAN_MAX = 32 * 1024, /* of a plan's entries */
};

/* Ends a message that grows. */
static void finish(struct host *host, int64_t *number)
{
    if (*number != 0)
        memory_finish(host, *number);
    *number = 0;
}

void update_close_text(struct host *host)
{
    finish(host, &host->conversation->turn.answer);
    finish(host, &host->conversation->turn.thought);
}

/* Appends a piece to the answer or the thought that grows, or begins one with it. */
static void handle_piece(struct host *host, enum store_role role, const char *text, size_t n)
{
    struct conversation *conversation = host->conversation;
    int64_t *grows =
        role == ROLE_THOUGHT ? &conversation->turn.thought : &conversation->turn.answer;
    int64_t *other =
        role == ROLE_THOUGHT ? &conversation->turn.answer : &conversation->turn.thought;
    size_t *len =
        role == ROLE_THOUGHT ? &conversation->turn.thought_len : &conversation->turn.answer_len;

    finish(host, other);
    if (*len + n > STORE_TEXT_MAX) /* the rest becomes another message */
        finish(host, grows);
    if (*grows != 0 && conversation->memory.store != NULL) {
        memory_append(host, *grows, text, n);
    } else {
        const struct store_message message = {.role = role,
                                              .state = MESSAGE_OPEN,
                                              .text = text,
                                              .len = n,
                                              .trigger = turn_prompt(conversation)};
        *grows = memory_add(host, &message);
        *len = 0;
    }
    event_tell_text(host, role == ROLE_THOUGHT ? "thought" : "text", *grows, *len, text, n);
    *len += n;
}

static void handle_chunk(struct host *host, const struct acp_update *update, enum store_role role)
{
    if (role == ROLE_AGENT)
        limit_said(host, update->text, update->len);
    for (size_t at = 0, n; at < update->len; at += n) {
        n = str_fit(update->text + at, STORE_TEXT_MAX);
        handle_piece(host, role, update->text + at, n);
    }
}

void update_free_tool(struct tool_call *tool)
{
    free(tool->id);
    free(tool->told);
    free(tool->title);
    free(tool->kind);
    free(tool->status);
    free(tool->text);
    acp_tool_free(&tool->is);
}

static void replace(char **to, const char *text)
{
    if (text == NULL)
        return;
    free(*to);
    *to = mem_dup(text);
}

/* Replaces a word, unless the new one is empty. */
static void replace_word(char **to, const char *text)
{
    if (text != NULL && text[0] != '\0')
        replace(to, text);
}

static struct tool_call *find_tool(const struct tool_table *tools, const char *id)
{
    for (size_t i = tools->count; i-- > 0;)
        if (strcmp(tools->call[i].id, id) == 0)
            return &tools->call[i];
    return NULL;
}

static struct tool_call *add_tool(struct tool_table *tools, const char *id)
{
    if (tools->count == TOOLS_MAX) {
        update_free_tool(&tools->call[0]);
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

void update_free_tools(struct tool_table *tools)
{
    for (size_t i = 0; i < tools->count; i++)
        update_free_tool(&tools->call[i]);
    free(tools->call);
    *tools = (struct tool_table){.count = 0};
}

bool update_tool_is_over(const struct tool_call *tool)
{
    return strcmp(tool->status, "completed") == 0 || strcmp(tool->status, "failed") == 0;
}

static void store_tool(struct host *host, struct tool_call *tool, const char *content)
{
    struct conversation *conversation = host->conversation;
    _cleanup_str_ struct str data = STR_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_free_ char *input = acp_tool_details(&tool->is, NULL);
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
    enum store_state state = update_tool_is_over(tool) ? MESSAGE_DONE : MESSAGE_OPEN;
    if (tool->number != 0 && conversation->memory.store != NULL) {
        memory_update(host, tool->number, str_text(&text), text.len, data.data, state, SYNC_CHUNK);
        return;
    }
    const struct store_message message = {.role = ROLE_TOOL,
                                          .state = state,
                                          .text = str_text(&text),
                                          .len = text.len,
                                          .data = data.data,
                                          .key = tool->id,
                                          .trigger = turn_prompt(conversation)};
    tool->number = memory_add(host, &message);
}

void update_tell_tool(struct host *host, struct tool_call *tool)
{
    _cleanup_free_ char *content = work_text(host, tool->text);
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
    event_tell(host, &event, len > 0 ? content : NULL, len, turn_prompt(host->conversation));
    _cleanup_free_ char *line = mem_printf("%s: %s", tool->status, title);
    chat_print(host, "tool", line, strlen(line));
}

void update_show_programs(struct host *host)
{
    struct turn *turn = &host->conversation->turn;

    for (size_t i = 0; i < turn->tools.count; i++)
        if (strstr(turn->tools.call[i].text, WORK_TERMINAL_MARK) != NULL)
            update_tell_tool(host, &turn->tools.call[i]);
}

struct tool_call *update_know_tool(struct host *host, const struct acp_update *update)
{
    struct conversation *conversation = host->conversation;

    struct tool_table *tools = tasks_tools(host, update->session);

    if (update->id == NULL)
        return NULL;
    if (tools == NULL)
        tools = &conversation->turn.tools;
    struct tool_call *tool = find_tool(tools, update->id);
    if (tool == NULL)
        tool = add_tool(tools, update->id);
    replace_word(&tool->told, update->title);
    replace_word(&tool->kind, update->tool_kind);
    replace_word(&tool->status, update->status);
    replace(&tool->text, update->text);
    acp_tool_read(&tool->is, update->json, tool->text);
    free(tool->title);
    tool->title = acp_tool_line(&tool->is, tool->told, conversation->link.cwd);
    return tool;
}

void update_handle_tool(struct host *host, const struct acp_update *update)
{
    struct tool_call *tool = update_know_tool(host, update);

    if (tool == NULL)
        return;
    if (update_tool_is_over(tool))
        code_changed(host);
    if (tool->number == 0)
        update_close_text(host);
    sleep_tool_told(host, tool);
    update_tell_tool(host, tool);
    permission_tool_told(host, update->session, tool);
}

static void handle_plan(struct host *host, const struct acp_update *update)
{
    enum { SHOWN = 100, WORDS = 400 };
    struct conversation *conversation = host->conversation;
    struct turn *turn = &conversation->turn;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str data = STR_INIT;
    struct json_out out = {.to = &data};
    struct client_event event;
    char id[EVENT_ID_MAX];
    size_t shown = 0;

    update_close_text(host);
    json_open(&out, NULL, '[');
    for (size_t i = 0; i < update->count; i++) {
        const struct acp_word *entry = &update->words[i];
        str_addf(&text, "[%s] %s\n", entry->kind, entry->name);
        if (shown >= SHOWN || data.len >= PLAN_MAX)
            continue;
        shown++;
        json_open(&out, NULL, '{');
        json_put_fit(&out, "content", entry->name, WORDS);
        json_put_fit(&out, "priority", entry->description, WORD_MAX);
        json_put_fit(&out, "status", entry->kind, WORD_MAX);
        json_close(&out, '}');
    }
    json_close(&out, ']');
    replace(&turn->plan_text, str_text(&text));
    if (turn->plan != 0 && conversation->memory.store != NULL) {
        memory_update(host, turn->plan, str_text(&text), text.len, data.data, MESSAGE_DONE,
                      SYNC_CHUNK);
    } else {
        const struct store_message message = {.role = ROLE_PLAN,
                                              .state = MESSAGE_DONE,
                                              .text = str_text(&text),
                                              .len = text.len,
                                              .data = data.data,
                                              .trigger = turn_prompt(conversation)};
        turn->plan = memory_add(host, &message);
    }
    event_open(&event, "plan");
    json_put(&event.out, "message", event_id(host, turn->plan, id));
    str_addf(&event.head, ",\"entries\":%s", data.data);
    if (shown < update->count)
        json_put_int(&event.out, "more", (int64_t)(update->count - shown));
    event_tell(host, &event, NULL, 0, turn_prompt(conversation));
    chat_print(host, "plan", str_text(&text), text.len);
}

static int write_mode(struct store *store, struct unwritten_write *write, struct err *err)
{
    return store_keep_settings(store, write->text[1], write->text[0], NULL, NULL, err);
}

/* Stores a mode that the agent entered by itself, because it follows from what was approved. */
static void handle_mode(struct host *host, const char *mode)
{
    struct conversation *conversation = host->conversation;
    struct conversation_memory *memory = &conversation->memory;

    if (mode == NULL || strcmp(mode, conversation->offered.mode) == 0)
        return;
    offered_parse_modes(host, mode, NULL, 0);
    if (conversation->link.phase.now != PHASE_READY || memory->store == NULL)
        return;
    const struct store_message message = {.role = ROLE_MODE,
                                          .state = MESSAGE_DONE,
                                          .text = mode,
                                          .len = strlen(mode),
                                          .trigger = turn_prompt(conversation)};
    (void)memory_add(host, &message);
    if (memory->store == NULL)
        return;
    free(memory->place.mode);
    memory->place.mode = mem_dup(mode);
    const struct unwritten_write write = {
        .run = write_mode,
        .text = {mode, memory->place.conversation},
        .len = strlen(mode),
    };
    (void)memory_write(host, &write);
}

static void tell_title(struct host *host, const struct acp_update *update)
{
    struct offered *offered = &host->conversation->offered;
    struct client_event event;

    if (update->text == NULL)
        return;
    free(offered->title);
    offered->title = mem_dupn(update->text, str_fit(update->text, AGENT_TITLE_MAX - 1));
    event_open(&event, "title");
    json_put(&event.out, "title", offered->title);
    event_tell(host, &event, NULL, 0, turn_prompt(host->conversation));
}

static void handle_commands(struct host *host, const struct acp_update *update)
{
    struct offered *offered = &host->conversation->offered;
    struct client_event event;

    offered_free_words(offered->commands, offered->command_count);
    offered->command_count = update->count < OFFERED_MAX ? update->count : OFFERED_MAX;
    offered->commands = offered_copy_words(update->words, offered->command_count);
    event_open(&event, "commands");
    offered_put_commands(host->conversation, &event.out);
    event_tell(host, &event, NULL, 0, 0);
}

static bool is_content(const struct acp_update *update)
{
    return update->kind == ACP_TEXT || update->kind == ACP_THOUGHT || update->kind == ACP_TOOL ||
           update->kind == ACP_PLAN;
}

/* Keeps what the agent says or does. */
static void handle_content(struct host *host, const struct acp_update *update)
{
    switch (update->kind) {
    case ACP_TEXT:
        handle_chunk(host, update, ROLE_AGENT);
        break;
    case ACP_THOUGHT:
        handle_chunk(host, update, ROLE_THOUGHT);
        break;
    case ACP_TOOL:
        update_handle_tool(host, update);
        break;
    default:
        handle_plan(host, update);
        break;
    }
}

/* Keeps what the agent tells of itself. */
static void handle_news(struct host *host, const struct acp_update *update)
{
    switch (update->kind) {
    case ACP_COMMANDS:
        handle_commands(host, update);
        break;
    case ACP_MODE:
        handle_mode(host, update->id);
        break;
    case ACP_OPTIONS:
        offered_parse_options(host, json_get(update->json, "configOptions"));
        break;
    case ACP_INFO:
        tell_title(host, update);
        break;
    case ACP_USAGE:
        usage_update(host, &update->usage);
        break;
    default: /* the clients know the prompts that the agent repeats */
        break;
    }
}

static bool is_beside(const struct acp_update *update)
{
    return update->kind == ACP_SUBAGENT || update->kind == ACP_TASK || update->kind == ACP_MESSAGE;
}

/* Handles an update of the present session; with `live` false it may be a replay. */
static void handle_own(struct host *host, const struct acp_update *update, bool live)
{
    struct turn *turn = &host->conversation->turn;

    if (live && (update->kind == ACP_COMPACTION || update->kind == ACP_SUMMARY))
        compact_handle(host, update);
    if (live && update->kind == ACP_NOTICE)
        compact_notice(host, update);
    if (is_beside(update)) {
        turn->heard = turn->employs = turn->on;
        tasks_handle(host, update, live);
        return;
    }
    if (!is_content(update)) {
        handle_news(host, update);
        return;
    }
    turn->heard = turn->heard || turn->on;
    if (live)
        handle_content(host, update);
}

void update_handle(struct host *host, const struct acp_update *update)
{
    struct conversation *conversation = host->conversation;
    struct resume *resume = &conversation->resume;
    const struct turn *turn = &conversation->turn;
    const char *session = conversation->link.session;
    enum phase phase = conversation->link.phase.now;
    bool ours = session != NULL && update->session != NULL && strcmp(session, update->session) == 0;

    bool live = turn->on || (phase == PHASE_READY && !resume->ignores);

    if (phase == PHASE_SETTLES)
        resume->quiet_since = time_monotonic_ms();
    if (!ours && aside_update(host, update))
        return;
    if (phase == PHASE_SUMS_UP && resume->copy != NULL && update->session != NULL &&
        strcmp(resume->copy, update->session) == 0 && update->kind == ACP_TEXT)
        str_addn(&resume->summary, update->text, update->len);
    if (!ours && tasks_update(host, update, live))
        return;
    /* commands may come before the answer with the session's id */
    if (!ours && !(update->kind == ACP_COMMANDS && phase == PHASE_OPENS))
        return;
    if (phase == PHASE_LOADS || phase == PHASE_SETTLES)
        resume->replayed += update->kind <= ACP_PLAN;
    if (phase == PHASE_SUMS_UP && update->kind == ACP_TEXT)
        str_addn(&resume->summary, update->text, update->len);
    handle_own(host, update, live);
}
