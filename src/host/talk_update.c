#include "host/talk.h"

#include "base/str.h"
#include "base/time.h"
#include "host/state.h"

#include <stdlib.h>
#include <string.h>

enum { /* bytes that listeners are told */
       TOOL_BODY_MAX = 1 << 20, /* of a tool's content */
       TITLE_MAX = 2048,
       WORD_MAX = 200, /* of a kind, a status */
       KEY_MAX = 1024, /* of an id */
       PLAN_MAX = 32 * 1024, /* of a plan's entries */
};

bool talk_kept(struct host *host, int rc, const struct err *err)
{
    if (rc == -1)
        talk_store_failed(host, err);
    return rc == 0;
}

static int64_t add(struct host *host, const struct store_message *message)
{
    struct talk *talk = host->talk;
    struct err err = ERR_INIT;
    int64_t number = 0;

    if (talk->store == NULL)
        return 0;
    return talk_kept(host,
                     store_add(talk->store, talk->place.query, message, SYNC_CHUNK, &number, &err),
                     &err)
               ? number
               : 0;
}

static void finish(struct host *host, int64_t *number)
{
    struct err err = ERR_INIT;

    if (*number != 0 && host->talk->store != NULL)
        (void)talk_kept(
            host, store_finish(host->talk->store, *number, MESSAGE_DONE, SYNC_CHUNK, &err), &err);
    *number = 0;
}

/* What comes next is not more of the text that was. */
void talk_close_text(struct host *host)
{
    finish(host, &host->talk->turn.answer);
    finish(host, &host->talk->turn.thought);
}

static void handle_piece(struct host *host, enum store_role role, const char *text, size_t n)
{
    struct talk *talk = host->talk;
    int64_t *grows = role == ROLE_THOUGHT ? &talk->turn.thought : &talk->turn.answer;
    int64_t *other = role == ROLE_THOUGHT ? &talk->turn.answer : &talk->turn.thought;
    size_t *len = role == ROLE_THOUGHT ? &talk->turn.thought_len : &talk->turn.answer_len;
    struct err err = ERR_INIT;

    finish(host, other);
    if (*len + n > STORE_TEXT_MAX) /* what is longer goes on as another message */
        finish(host, grows);
    if (*grows != 0 && talk->store != NULL) {
        (void)talk_kept(host, store_append(talk->store, *grows, text, n, &err), &err);
    } else {
        const struct store_message message = {.role = role,
                                              .state = MESSAGE_OPEN,
                                              .text = text,
                                              .len = n,
                                              .trigger = talk_turn_prompt(talk)};
        *grows = add(host, &message);
        *len = 0;
    }
    talk_tell_text(host, role == ROLE_THOUGHT ? "thought" : "text", *grows, *len, text, n);
    *len += n;
}

static void handle_chunk(struct host *host, const struct acp_update *update, enum store_role role)
{
    for (size_t at = 0, n; at < update->len; at += n) {
        n = str_fit(update->text + at, STORE_TEXT_MAX);
        handle_piece(host, role, update->text + at, n);
    }
}

void talk_tool_free(struct talk_tool *tool)
{
    free(tool->id);
    free(tool->title);
    free(tool->kind);
    free(tool->status);
    free(tool->text);
}

static void replace(char **to, const char *text)
{
    if (text == NULL)
        return;
    free(*to);
    *to = mem_dup(text);
}

/* Nothing is no news. */
static void replace_word(char **to, const char *text)
{
    if (text != NULL && text[0] != '\0')
        replace(to, text);
}

static struct talk_tool *find_tool(struct talk_turn *turn, const char *id)
{
    for (size_t i = turn->tool_count; i-- > 0;)
        if (strcmp(turn->tools[i].id, id) == 0)
            return &turn->tools[i];
    return NULL;
}

static struct talk_tool *add_tool(struct talk_turn *turn, const char *id)
{
    if (turn->tool_count == TALK_TOOLS_MAX) {
        talk_tool_free(&turn->tools[0]);
        memmove(turn->tools, turn->tools + 1, --turn->tool_count * sizeof *turn->tools);
    }
    turn->tools = mem_room(turn->tools, turn->tool_count, sizeof *turn->tools);
    struct talk_tool *tool = &turn->tools[turn->tool_count++];
    *tool = (struct talk_tool){.id = mem_dup(id),
                               .title = mem_dup(""),
                               .kind = mem_dup("other"),
                               .status = mem_dup("pending"),
                               .text = mem_dup("")};
    return tool;
}

static void store_tool(struct host *host, struct talk_tool *tool, const char *content)
{
    struct talk *talk = host->talk;
    _cleanup_str_ struct str data = STR_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &data};
    struct err err = ERR_INIT;
    size_t kept = str_fit(content, STORE_TEXT_MAX / 2); /* beside its title */
    bool over = strcmp(tool->status, "completed") == 0 || strcmp(tool->status, "failed") == 0;

    json_open(&out, NULL, '{');
    json_put(&out, "id", tool->id);
    json_put(&out, "title", tool->title);
    json_put(&out, "kind", tool->kind);
    json_put(&out, "status", tool->status);
    json_close(&out, '}');
    str_addn(&text, tool->title, str_fit(tool->title, STORE_TEXT_MAX / 4));
    if (kept > 0)
        str_addc(&text, '\n');
    str_addn(&text, content, kept);
    if (content[kept] != '\0')
        str_addf(&text, "\n(%zu bytes are left out)", strlen(content + kept));
    enum store_state state = over ? MESSAGE_DONE : MESSAGE_OPEN;
    if (tool->number != 0 && talk->store != NULL) {
        (void)talk_kept(host,
                        store_update(talk->store, tool->number, str_text(&text), text.len,
                                     data.data, state, SYNC_CHUNK, &err),
                        &err);
        return;
    }
    const struct store_message message = {.role = ROLE_TOOL,
                                          .state = state,
                                          .text = str_text(&text),
                                          .len = text.len,
                                          .data = data.data,
                                          .key = tool->id,
                                          .trigger = talk_turn_prompt(talk)};
    tool->number = add(host, &message);
}

static void tell_tool(struct host *host, struct talk_tool *tool)
{
    _cleanup_free_ char *content = talk_work_text(host, tool->text);
    _cleanup_free_ char *title = mem_dupn(tool->title, str_fit(tool->title, TITLE_MAX));
    size_t whole = strlen(content);
    size_t len = str_fit(content, TOOL_BODY_MAX);
    struct talk_event event;
    char id[TALK_ID_MAX];

    store_tool(host, tool, content);
    talk_event(&event, "tool");
    json_put(&event.out, "message", talk_id(host, tool->number, id));
    json_put_fit(&event.out, "id", tool->id, KEY_MAX);
    json_put(&event.out, "title", title);
    json_put_fit(&event.out, "kind", tool->kind, WORD_MAX);
    json_put_fit(&event.out, "status", tool->status, WORD_MAX);
    if (len < whole)
        json_put_int(&event.out, "more", (int64_t)(whole - len));
    talk_tell(host, &event, len > 0 ? content : NULL, len, talk_turn_prompt(host->talk));
    _cleanup_free_ char *line = mem_printf("%s: %s", tool->status, title);
    talk_pane_print(host, "tool", line, strlen(line));
}

void talk_show_programs(struct host *host)
{
    struct talk_turn *turn = &host->talk->turn;

    for (size_t i = 0; i < turn->tool_count; i++)
        if (strstr(turn->tools[i].text, TALK_TERMINAL_MARK) != NULL)
            tell_tool(host, &turn->tools[i]);
}

struct talk_tool *talk_know_tool(struct host *host, const struct acp_update *update)
{
    struct talk *talk = host->talk;

    if (update->id == NULL)
        return NULL;
    struct talk_tool *tool = find_tool(&talk->turn, update->id);
    if (tool == NULL)
        tool = add_tool(&talk->turn, update->id);
    replace_word(&tool->title, update->title);
    replace_word(&tool->kind, update->tool_kind);
    replace_word(&tool->status, update->status);
    replace(&tool->text, update->text);
    return tool;
}

/* A call that was never announced is one all the same. */
static void handle_tool(struct host *host, const struct acp_update *update)
{
    struct talk_tool *tool = talk_know_tool(host, update);

    if (tool == NULL)
        return;
    if (tool->number == 0)
        talk_close_text(host);
    tell_tool(host, tool);
}

static void handle_plan(struct host *host, const struct acp_update *update)
{
    enum { SHOWN = 100, WORDS = 400 };
    struct talk *talk = host->talk;
    struct talk_turn *turn = &talk->turn;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str data = STR_INIT;
    struct json_out out = {.to = &data};
    struct talk_event event;
    struct err err = ERR_INIT;
    char id[TALK_ID_MAX];
    size_t shown = 0;

    talk_close_text(host);
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
    if (turn->plan != 0 && talk->store != NULL) {
        (void)talk_kept(host,
                        store_update(talk->store, turn->plan, str_text(&text), text.len, data.data,
                                     MESSAGE_DONE, SYNC_CHUNK, &err),
                        &err);
    } else {
        const struct store_message message = {.role = ROLE_PLAN,
                                              .state = MESSAGE_DONE,
                                              .text = str_text(&text),
                                              .len = text.len,
                                              .data = data.data,
                                              .trigger = talk_turn_prompt(talk)};
        turn->plan = add(host, &message);
    }
    talk_event(&event, "plan");
    json_put(&event.out, "message", talk_id(host, turn->plan, id));
    str_addf(&event.head, ",\"entries\":%s", data.data);
    if (shown < update->count)
        json_put_int(&event.out, "more", (int64_t)(update->count - shown));
    talk_tell(host, &event, NULL, 0, talk_turn_prompt(talk));
    talk_pane_print(host, "plan", str_text(&text), text.len);
}

/* A mode that the agent went into by itself is one to be kept: it follows from what was approved.
 */
static void handle_mode(struct host *host, const char *mode)
{
    struct talk *talk = host->talk;
    struct err err = ERR_INIT;

    if (mode == NULL || strcmp(mode, talk->mode) == 0)
        return;
    talk_parse_modes(host, mode, NULL, 0);
    if (talk->phase != TALK_READY || talk->store == NULL)
        return;
    const struct store_message message = {.role = ROLE_MODE,
                                          .state = MESSAGE_DONE,
                                          .text = mode,
                                          .len = strlen(mode),
                                          .trigger = talk_turn_prompt(talk)};
    (void)add(host, &message);
    free(talk->place.mode);
    talk->place.mode = mem_dup(mode);
    (void)talk_kept(
        host, store_keep_settings(talk->store, talk->place.conversation, mode, NULL, NULL, &err),
        &err);
}

static void tell_usage(struct host *host, const struct json *update)
{
    struct talk_event event;

    talk_event(&event, "usage");
    json_put_int(&event.out, "used", json_int(json_get(update, "used"), 0));
    json_put_int(&event.out, "size", json_int(json_get(update, "size"), 0));
    talk_tell(host, &event, NULL, 0, talk_turn_prompt(host->talk));
}

static void tell_title(struct host *host, const struct acp_update *update)
{
    struct talk_event event;

    if (update->text == NULL)
        return;
    free(host->talk->title);
    host->talk->title = mem_dupn(update->text, str_fit(update->text, AGENT_TITLE_MAX - 1));
    talk_event(&event, "title");
    json_put(&event.out, "title", host->talk->title);
    talk_tell(host, &event, NULL, 0, talk_turn_prompt(host->talk));
}

static void handle_commands(struct host *host, const struct acp_update *update)
{
    struct talk *talk = host->talk;
    struct talk_event event;

    talk_free_words(talk->commands, talk->command_count);
    talk->command_count = update->count < TALK_WORDS_MAX ? update->count : TALK_WORDS_MAX;
    talk->commands = talk_copy_words(update->words, talk->command_count);
    talk_event(&event, "commands");
    talk_put_commands(talk, &event.out);
    talk_tell(host, &event, NULL, 0, 0);
}

void talk_update(struct host *host, const struct acp_update *update)
{
    struct talk *talk = host->talk;
    bool ours = talk->session != NULL && update->session != NULL &&
                strcmp(talk->session, update->session) == 0;

    if (talk->phase == TALK_SETTLES)
        talk->quiet_since = time_monotonic_ms();
    /* commands may come before the answer that tells the session's id */
    if (!ours && !(update->kind == ACP_COMMANDS && talk->phase == TALK_OPENS))
        return;
    if (talk->phase == TALK_LOADS || talk->phase == TALK_SETTLES)
        talk->replayed += update->kind <= ACP_PLAN;
    if (talk->phase == TALK_SUMS_UP && update->kind == ACP_TEXT)
        str_addn(&talk->summary, update->text, update->len);
    bool content = update->kind == ACP_TEXT || update->kind == ACP_THOUGHT ||
                   update->kind == ACP_TOOL || update->kind == ACP_PLAN;
    talk->turn.heard = talk->turn.heard || (talk->turn.on && content);
    bool news = talk->turn.on || (talk->phase == TALK_READY && talk->settled);
    switch (update->kind) {
    case ACP_TEXT:
        if (news)
            handle_chunk(host, update, ROLE_AGENT);
        break;
    case ACP_THOUGHT:
        if (news)
            handle_chunk(host, update, ROLE_THOUGHT);
        break;
    case ACP_TOOL:
        if (news)
            handle_tool(host, update);
        break;
    case ACP_PLAN:
        if (news)
            handle_plan(host, update);
        break;
    case ACP_COMMANDS:
        handle_commands(host, update);
        break;
    case ACP_MODE:
        handle_mode(host, update->id);
        break;
    case ACP_OPTIONS:
        talk_parse_options(host, json_get(update->json, "configOptions"));
        break;
    case ACP_INFO:
        tell_title(host, update);
        break;
    case ACP_USAGE:
        tell_usage(host, update->json);
        break;
    case ACP_USER: /* mas knows what it has sent, and does not show it twice */
    case ACP_OTHER:
    default:
        break;
    }
}
