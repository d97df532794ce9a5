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
#include "host/talk/budget.h"
#include "host/talk/event.h"
#include "host/talk/memory.h"
#include "host/talk/quota.h"
#include "host/talk/said.h"
#include "host/talk/usage.h"

enum {
    /* bytes that listeners are told */
    WORD_MAX = 200, /* of a status */
    PLAN_MAX = 32 * 1024, /* of a plan's entries */
};

static void handle_plan(struct host *host, const struct acp_update *update)
{
    enum { SHOWN = 100, WORDS = 400 };
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str data = STR_INIT;
    struct json_out out = {.to = &data};
    size_t shown = 0;

    json_open(&out, NULL, '[');
    for (size_t i = 0; i < update->count; i++) {
        const struct word *entry = &update->words[i];
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
    said_plan(host, str_text(&text), str_text(&data), update->count - shown);
}

static int write_mode(struct store *store, struct unwritten_write *write, struct err *err)
{
    return store_keep_settings(store, write->text[1], write->text[0], NULL, NULL, err);
}

/* Stores a mode that the agent entered by itself, because it follows from what was approved. */
static void handle_mode(struct host *host, const char *mode)
{
    struct conversation *conversation = host->conversation;
    struct conversation_memory *memory = &conversation->talk.memory;

    if (mode == NULL || strcmp(mode, conversation->offered.mode) == 0)
        return;
    offered_parse_modes(host, mode, NULL, 0);
    if (conversation->link.phase.now != PHASE_READY || memory->store == NULL)
        return;
    const struct store_message message = {.role = ROLE_MODE,
                                          .state = MESSAGE_DONE,
                                          .text = mode,
                                          .len = strlen(mode),
                                          .trigger = turn_prompt(host->talk)};
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
    event_tell(host, &event, NULL, 0, turn_prompt(host->talk));
}

static void handle_commands(struct host *host, const struct acp_update *update)
{
    struct offered *offered = &host->conversation->offered;
    struct client_event event;

    word_free(offered->commands, offered->command_count);
    offered->command_count = update->count < OFFERED_MAX ? update->count : OFFERED_MAX;
    offered->commands = word_copy(update->words, offered->command_count);
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
        said_text(host, ROLE_AGENT, update->text, update->len);
        break;
    case ACP_THOUGHT:
        said_text(host, ROLE_THOUGHT, update->text, update->len);
        break;
    case ACP_TOOL:
        tool_handle(host, NULL, NULL, update);
        break;
    default:
        handle_plan(host, update);
        break;
    }
}

/* Keeps what it tells of its provider's windows, by the rules of its preset. */
static void handle_quota(struct host *host, const struct json *update)
{
    const struct preset_told *told = &host->preset->told;

    for (size_t i = 0; i < told->line_count; i++) {
        _cleanup_line_ struct line_told line = {.owned = NULL};
        if (told->lines[i].fact == TOLD_QUOTA && line_apply(&told->lines[i], update, &line))
            quota_told(host, &told->lines[i], &line);
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
        handle_quota(host, update->json);
        usage_update(host, update->usage.used, update->usage.size, &update->usage.cost);
        if (update->usage.cost.currency[0] != '\0')
            budget_look(host, true);
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
    struct turn *turn = &host->talk->turn;

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
    const struct turn *turn = &conversation->talk.turn;
    const char *session = conversation->talk.session;
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
