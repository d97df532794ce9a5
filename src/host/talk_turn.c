#include "host/talk.h"

#include "base/str.h"
#include "base/time.h"
#include "core/message.h"
#include "host/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOOL_BODY_MAX = 1 << 20 }; /* bytes of a tool's content that listeners are told */

void talk_prompt_free(struct talk_prompt *prompt)
{
    free(prompt->text);
    strv_free(prompt->tags);
    *prompt = (struct talk_prompt){.number = 0};
}

/* ---- the queue */

void talk_push_prompt(struct host *host, int64_t number, const char *text, size_t len,
                      const char *from, char *const *tags)
{
    struct talk *talk = host->talk;

    talk->queue = mem_room(talk->queue, talk->count, sizeof *talk->queue);
    struct talk_prompt *prompt = &talk->queue[talk->count++];
    *prompt = (struct talk_prompt){.number = number, .text = mem_dupn(text, len), .len = len};
    (void)snprintf(prompt->from, sizeof prompt->from, "%s", from);
    for (char *const *tag = tags; tag != NULL && *tag != NULL; tag++)
        strv_push(&prompt->tags, *tag);
}

int talk_add_prompt(struct host *host, const char *text, size_t len, const char *from,
                    char *const *tags, int64_t *ret, struct err *err)
{
    struct talk *talk = host->talk;

    if (talk->count >= TALK_QUEUE_MAX)
        return err_set(err, MAS_CONFLICT, "too many prompts wait for it");
    if (talk_need_store(host, err) == -1)
        return -1;
    bool at_once = talk->phase == TALK_READY && !talk->turn.on && talk->count == 0;
    const struct store_message message = {
        .role = ROLE_USER,
        .state = at_once ? MESSAGE_DONE : MESSAGE_OPEN,
        .text = text,
        .len = len,
        .sender = strcmp(from, "-") != 0 ? from : NULL,
        .tags = tags,
    };
    if (store_add(talk->store, talk->place.query, &message, SYNC_FULL, ret, err) == -1)
        return -1;
    talk_push_prompt(host, *ret, text, len, from, tags);
    return 0;
}

static struct talk_prompt take_first(struct talk *talk)
{
    struct talk_prompt first = talk->queue[0];

    talk->count--;
    memmove(talk->queue, talk->queue + 1, talk->count * sizeof *talk->queue);
    return first;
}

/* ---- what grows in a turn */

/* true if the call of the store went well; else it was said that it did not. */
static bool kept(struct host *host, int rc, const struct err *err)
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
    return kept(host, store_add(talk->store, talk->place.query, message, SYNC_CHUNK, &number, &err),
                &err)
               ? number
               : 0;
}

static void finish(struct host *host, int64_t *number)
{
    struct err err = ERR_INIT;

    if (*number != 0 && host->talk->store != NULL)
        (void)kept(host, store_finish(host->talk->store, *number, MESSAGE_DONE, SYNC_CHUNK, &err),
                   &err);
    *number = 0;
}

/* What comes next is not more of the text that was. */
static void close_text(struct host *host)
{
    finish(host, &host->talk->turn.answer);
    finish(host, &host->talk->turn.thought);
}

static int64_t trigger(const struct talk *talk)
{
    return talk->turn.on ? talk->turn.prompt.number : 0;
}

static void take_chunk(struct host *host, const struct acp_update *update, enum store_role role)
{
    struct talk *talk = host->talk;
    int64_t *grows = role == ROLE_THOUGHT ? &talk->turn.thought : &talk->turn.answer;
    int64_t *other = role == ROLE_THOUGHT ? &talk->turn.answer : &talk->turn.thought;
    size_t *len = role == ROLE_THOUGHT ? &talk->turn.thought_len : &talk->turn.answer_len;
    struct err err = ERR_INIT;

    if (update->len == 0)
        return;
    finish(host, other);
    if (*grows != 0 && talk->store != NULL) {
        (void)kept(host, store_append(talk->store, *grows, update->text, update->len, &err), &err);
    } else {
        const struct store_message message = {.role = role,
                                              .state = MESSAGE_OPEN,
                                              .text = update->text,
                                              .len = update->len,
                                              .trigger = trigger(talk)};
        *grows = add(host, &message);
        *len = 0;
    }
    talk_tell_text(host, role == ROLE_THOUGHT ? "thought" : "text", *grows, *len, update->text,
                   update->len);
    *len += update->len;
}

static void tool_free(struct talk_tool *tool)
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
        tool_free(&turn->tools[0]);
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

static void store_tool(struct host *host, struct talk_tool *tool)
{
    struct talk *talk = host->talk;
    _cleanup_str_ struct str data = STR_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &data};
    struct err err = ERR_INIT;
    bool over = strcmp(tool->status, "completed") == 0 || strcmp(tool->status, "failed") == 0;

    json_open(&out, NULL, '{');
    json_put(&out, "id", tool->id);
    json_put(&out, "title", tool->title);
    json_put(&out, "kind", tool->kind);
    json_put(&out, "status", tool->status);
    json_close(&out, '}');
    str_add(&text, tool->title);
    if (tool->text[0] != '\0')
        str_addf(&text, "\n%s", tool->text);
    enum store_state state = over ? MESSAGE_DONE : MESSAGE_OPEN;
    if (tool->number != 0 && talk->store != NULL) {
        (void)kept(host,
                   store_update(talk->store, tool->number, str_text(&text), text.len, data.data,
                                state, SYNC_CHUNK, &err),
                   &err);
        return;
    }
    const struct store_message message = {.role = ROLE_TOOL,
                                          .state = state,
                                          .text = str_text(&text),
                                          .len = text.len,
                                          .data = data.data,
                                          .key = tool->id,
                                          .trigger = trigger(talk)};
    tool->number = add(host, &message);
}

/* A call that was never announced is one all the same. */
static void take_tool(struct host *host, const struct acp_update *update)
{
    struct talk *talk = host->talk;
    struct talk_event event;
    char id[TALK_ID_MAX];

    if (update->id == NULL)
        return;
    struct talk_tool *tool = find_tool(&talk->turn, update->id);
    if (tool == NULL) {
        close_text(host);
        tool = add_tool(&talk->turn, update->id);
    }
    replace(&tool->title, update->title);
    replace(&tool->kind, update->tool_kind);
    replace(&tool->status, update->status);
    replace(&tool->text, update->text);
    store_tool(host, tool);
    talk_event(&event, "tool");
    json_put(&event.out, "message", talk_id(host, tool->number, id));
    json_put(&event.out, "id", tool->id);
    _cleanup_free_ char *title = mem_dupn(tool->title, strnlen(tool->title, TOOL_BODY_MAX / 64));
    json_put(&event.out, "title", title);
    json_put(&event.out, "kind", tool->kind);
    json_put(&event.out, "status", tool->status);
    size_t len = strnlen(tool->text, TOOL_BODY_MAX);
    talk_tell(host, &event, len > 0 ? tool->text : NULL, len, trigger(talk));
    _cleanup_free_ char *line = mem_printf("%s: %s", tool->status, title);
    talk_pane_print(host, "tool", line, strlen(line));
}

static void take_plan(struct host *host, const struct acp_update *update)
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

    close_text(host);
    json_open(&out, NULL, '[');
    for (size_t i = 0; i < update->count; i++) {
        const struct acp_word *entry = &update->words[i];
        str_addf(&text, "[%s] %s\n", entry->kind, entry->name);
        if (i >= SHOWN)
            continue;
        _cleanup_free_ char *words = mem_dupn(entry->name, strnlen(entry->name, WORDS));
        json_open(&out, NULL, '{');
        json_put(&out, "content", words);
        json_put(&out, "priority", entry->description);
        json_put(&out, "status", entry->kind);
        json_close(&out, '}');
    }
    json_close(&out, ']');
    replace(&turn->plan_text, str_text(&text));
    if (turn->plan != 0 && talk->store != NULL) {
        (void)kept(host,
                   store_update(talk->store, turn->plan, str_text(&text), text.len, data.data,
                                MESSAGE_DONE, SYNC_CHUNK, &err),
                   &err);
    } else {
        const struct store_message message = {.role = ROLE_PLAN,
                                              .state = MESSAGE_DONE,
                                              .text = str_text(&text),
                                              .len = text.len,
                                              .data = data.data,
                                              .trigger = trigger(talk)};
        turn->plan = add(host, &message);
    }
    talk_event(&event, "plan");
    json_put(&event.out, "message", talk_id(host, turn->plan, id));
    str_addf(&event.head, ",\"entries\":%s", data.data);
    talk_tell(host, &event, NULL, 0, trigger(talk));
    talk_pane_print(host, "plan", str_text(&text), text.len);
}

/* A mode that the agent went into by itself is one to be kept: it follows from what was approved.
 */
static void take_mode(struct host *host, const char *mode)
{
    struct talk *talk = host->talk;
    struct err err = ERR_INIT;

    if (mode == NULL || strcmp(mode, talk->mode) == 0)
        return;
    talk_take_modes(host, mode, NULL, 0);
    if (talk->phase != TALK_READY || talk->store == NULL)
        return;
    const struct store_message message = {.role = ROLE_MODE,
                                          .state = MESSAGE_DONE,
                                          .text = mode,
                                          .len = strlen(mode),
                                          .trigger = trigger(talk)};
    (void)add(host, &message);
    free(talk->place.mode);
    talk->place.mode = mem_dup(mode);
    (void)kept(host,
               store_keep_settings(talk->store, talk->place.conversation, mode, NULL, NULL, &err),
               &err);
}

static void tell_usage(struct host *host, const struct json *update)
{
    struct talk_event event;

    talk_event(&event, "usage");
    json_put_int(&event.out, "used", json_int(json_get(update, "used"), 0));
    json_put_int(&event.out, "size", json_int(json_get(update, "size"), 0));
    talk_tell(host, &event, NULL, 0, trigger(host->talk));
}

static void tell_title(struct host *host, const struct acp_update *update)
{
    struct talk_event event;

    if (update->text == NULL)
        return;
    free(host->talk->title);
    host->talk->title = mem_dupn(update->text, strnlen(update->text, AGENT_TITLE_MAX - 1));
    talk_event(&event, "title");
    json_put(&event.out, "title", host->talk->title);
    talk_tell(host, &event, NULL, 0, trigger(host->talk));
}

static void take_commands(struct host *host, const struct acp_update *update)
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
    bool news = talk->turn.on || (talk->phase == TALK_READY && talk->settled);
    switch (update->kind) {
    case ACP_TEXT:
        if (news)
            take_chunk(host, update, ROLE_AGENT);
        break;
    case ACP_THOUGHT:
        if (news)
            take_chunk(host, update, ROLE_THOUGHT);
        break;
    case ACP_TOOL:
        if (news)
            take_tool(host, update);
        break;
    case ACP_PLAN:
        if (news)
            take_plan(host, update);
        break;
    case ACP_COMMANDS:
        take_commands(host, update);
        break;
    case ACP_MODE:
        take_mode(host, update->id);
        break;
    case ACP_OPTIONS:
        talk_take_options(host, json_get(update->json, "configOptions"));
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

/* ---- the turn */

static void tell_prompt(struct host *host, const struct talk_prompt *prompt)
{
    struct talk_event event;
    char id[TALK_ID_MAX];

    talk_event(&event, "prompt");
    json_put(&event.out, "prompt", talk_id(host, prompt->number, id));
    json_put(&event.out, "from", strcmp(prompt->from, "-") != 0 ? prompt->from : NULL);
    json_open(&event.out, "tags", '[');
    for (char **tag = prompt->tags; tag != NULL && *tag != NULL; tag++)
        json_put(&event.out, NULL, *tag);
    json_close(&event.out, ']');
    talk_tell(host, &event, prompt->text, prompt->len, prompt->number);
    talk_pane_print(host, "prompt", prompt->text, prompt->len);
}

/* What goes in front of the first prompt of a session that knows nothing: the agent's system text,
 * then what was said before. */
static void add_history(struct host *host, struct str *ret)
{
    struct talk *talk = host->talk;
    const struct store_budget budget = talk_budget(host);
    struct err err = ERR_INIT;

    if (talk->store != NULL)
        (void)kept(host,
                   store_injection(talk->store, talk->place.query, talk->turn.prompt.number,
                                   &budget, ret, &err),
                   &err);
}

static void send_prompt(struct host *host)
{
    struct talk *talk = host->talk;
    struct talk_turn *turn = &talk->turn;
    _cleanup_str_ struct str history = STR_INIT;
    const char *blocks[5] = {NULL};
    size_t n = 0;

    if (talk->prime && host->agent->system[0] != '\0')
        blocks[n++] = host->agent->system;
    if (talk->prime)
        add_history(host, &history);
    if (history.len > 0)
        blocks[n++] = history.data;
    blocks[n++] = turn->prompt.text;
    turn->primed = talk->prime;
    turn->serial = acp_prompt(talk->acp, talk->session, blocks, -1);
}

static void begin_turn(struct host *host)
{
    struct talk *talk = host->talk;
    struct err err = ERR_INIT;

    close_text(host); /* of what came by itself */
    talk->turn = (struct talk_turn){.on = true, .cancel_until = -1, .prompt = take_first(talk)};
    if (talk->store != NULL)
        (void)kept(host,
                   store_update(talk->store, talk->turn.prompt.number, NULL, 0, NULL, MESSAGE_DONE,
                                SYNC_CHUNK, &err),
                   &err);
    tell_prompt(host, &talk->turn.prompt);
    send_prompt(host);
}

void talk_run(struct host *host)
{
    struct talk *talk = host->talk;

    if (talk->phase == TALK_READY && !talk->turn.on && talk->count > 0)
        begin_turn(host);
}

/* `end` of a prompt, for those who wait for it. */
static void tell_end(struct host *host, int64_t number, const char *stop_reason, int64_t code,
                     const char *error)
{
    struct talk_event event;
    char id[TALK_ID_MAX];

    talk_event(&event, "end");
    json_put(&event.out, "prompt", talk_id(host, number, id));
    json_put(&event.out, "stopReason", stop_reason);
    if (error != NULL) {
        json_put_int(&event.out, "code", code);
        json_put(&event.out, "error", error);
    }
    talk_tell(host, &event, NULL, 0, number);
    _cleanup_free_ char *line =
        mem_printf("%s%s%s", stop_reason, error != NULL ? ": " : "", error != NULL ? error : "");
    talk_pane_print(host, "end", line, strlen(line));
    door_release_askers(host, number);
}

static void turn_free(struct talk_turn *turn)
{
    talk_prompt_free(&turn->prompt);
    for (size_t i = 0; i < turn->tool_count; i++)
        tool_free(&turn->tools[i]);
    free(turn->tools);
    free(turn->plan_text);
    *turn = (struct talk_turn){.cancel_until = -1};
}

/* How what is open of a turn is marked that ended so. */
static enum store_state state_of_end(const char *stop_reason)
{
    if (strcmp(stop_reason, TALK_END_FAILED) == 0)
        return MESSAGE_FAILED;
    return strcmp(stop_reason, "cancelled") == 0 || strcmp(stop_reason, TALK_END_STOPPED) == 0 ||
                   strcmp(stop_reason, TALK_END_CLEARED) == 0
               ? MESSAGE_INTERRUPTED
               : MESSAGE_DONE;
}

void talk_end_turn(struct host *host, const char *stop_reason, int64_t code, const char *error)
{
    struct talk *talk = host->talk;
    struct talk_turn *turn = &talk->turn;
    struct err err = ERR_INIT;
    enum store_state state = state_of_end(stop_reason);
    bool succeeded = state == MESSAGE_DONE;

    if (!turn->on)
        return;
    talk_drop_permissions(host);
    if (error != NULL)
        talk_say(host, true, "%s", error);
    if (talk->store != NULL)
        (void)kept(host,
                   store_end_turn(talk->store, talk->place.query, turn->prompt.number, stop_reason,
                                  state, succeeded, &err),
                   &err);
    if (succeeded) {
        talk->prime = false;
        talk->settled = true;
        talk->place.injected = true;
        host->child.delivered = true;
    }
    int64_t number = turn->prompt.number;
    host_log_message(host, turn->prompt.from, turn->prompt.len, stop_reason);
    tell_end(host, number, stop_reason, code, error);
    turn_free(turn);
}

void talk_fail_queue(struct host *host, const char *stop_reason, const char *error)
{
    struct talk *talk = host->talk;

    while (talk->count > 0) {
        struct talk_prompt prompt = take_first(talk);
        struct err err = ERR_INIT;
        if (talk->store != NULL && strcmp(stop_reason, TALK_END_CLEARED) != 0)
            (void)kept(host,
                       store_end_turn(talk->store, talk->place.query, prompt.number, stop_reason,
                                      state_of_end(stop_reason), false, &err),
                       &err);
        host_log_message(host, prompt.from, prompt.len, stop_reason);
        tell_end(host, prompt.number, stop_reason, 0, error);
        talk_prompt_free(&prompt);
    }
}

bool talk_cancel(struct host *host)
{
    struct talk *talk = host->talk;
    struct talk_turn *turn = &talk->turn;

    if (turn->on) {
        if (turn->cancelled)
            return true;
        turn->cancelled = true;
        turn->cancel_until = time_monotonic_ms() + TALK_CANCEL_MS;
        talk_drop_permissions(host);
        acp_cancel(talk->acp, talk->session);
        return true;
    }
    /* its turn has not begun: the agent starts */
    return talk->count > 0 && talk_cancel_prompt(host, talk->queue[0].number);
}

bool talk_cancel_prompt(struct host *host, int64_t number)
{
    struct talk *talk = host->talk;
    struct err err = ERR_INIT;
    size_t i = 0;

    if (talk->turn.on && talk->turn.prompt.number == number)
        return talk_cancel(host);
    while (i < talk->count && talk->queue[i].number != number)
        i++;
    if (i == talk->count)
        return false;
    struct talk_prompt prompt = talk->queue[i];
    talk->count--;
    memmove(talk->queue + i, talk->queue + i + 1, (talk->count - i) * sizeof *talk->queue);
    if (talk->store != NULL)
        (void)kept(host,
                   store_end_turn(talk->store, talk->place.query, prompt.number, "cancelled",
                                  MESSAGE_INTERRUPTED, false, &err),
                   &err);
    tell_end(host, prompt.number, "cancelled", 0, NULL);
    talk_prompt_free(&prompt);
    return true;
}

void talk_prompt_answer(struct host *host, const struct acp_answer *answer)
{
    struct talk *talk = host->talk;
    struct talk_turn *turn = &talk->turn;

    if (talk->phase == TALK_ENDS_TURN) {
        if (answer->serial == talk->serial)
            talk_turn_is_gone(host);
        return;
    }
    if (!turn->on || answer->serial != turn->serial)
        return;
    if (answer->ok) {
        const char *reason = answer->stop_reason != NULL ? answer->stop_reason : "end_turn";
        talk_end_turn(host, reason, 0, NULL);
        return;
    }
    if (turn->cancelled || answer->code == ACP_CANCELLED) {
        talk_end_turn(host, "cancelled", 0, NULL);
        return;
    }
    const char *why = answer->message != NULL && answer->message[0] != '\0' ? answer->message
                                                                            : "no reason was given";
    _cleanup_free_ char *error =
        mem_printf("the agent answered with an error: %s (%lld)", why, (long long)answer->code);
    if (answer->code == ACP_NEEDS_LOGIN) {
        talk_trouble(host, true, why);
        return;
    }
    talk_end_turn(host, TALK_END_FAILED, answer->code, error);
}
