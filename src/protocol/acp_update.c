/*
 * Reads a session/update into struct acp_news: the table says which kind a name is and who reads
 * it. Texts point into the message where they can, and only those that have to be put together are
 * in acp_news. One of an unknown kind, or without a member that its kind needs, is handed on as
 * ACP_OTHER rather than dropped. Counts of tokens are read here, too.
 */

#include "protocol/acp_internal.h"

#include "base/diff.h"

/* Returns the text of a member, or "". */
static const char *text_of(const struct json *object, const char *key)
{
    return key != NULL ? json_get_text_or(object, key, "") : "";
}

/* ---- content for reading */

/* "[image image/png]", "[file:///x]" */
static void add_mark(struct str *to, const char *what, const char *of)
{
    str_addf(to, "[%s%s%s]", what, *what != '\0' && *of != '\0' ? " " : "", of);
}

static void add_block(struct str *to, const struct json *block)
{
    const char *type = text_of(block, "type");
    const struct json *resource = json_get(block, "resource");

    if (strcmp(type, "text") == 0)
        str_add(to, text_of(block, "text"));
    else if (strcmp(type, "image") == 0 || strcmp(type, "audio") == 0)
        add_mark(to, type, text_of(block, "mimeType"));
    else if (strcmp(type, "resource_link") == 0)
        add_mark(to, "", text_of(block, "uri"));
    else if (json_get_text(resource, "text") != NULL)
        str_add(to, json_get_text(resource, "text"));
    else if (resource != NULL)
        add_mark(to, "", text_of(resource, "uri"));
    else
        add_mark(to, type, "");
}

static void add_diff(struct str *to, const struct json *diff)
{
    const char *path = text_of(diff, "path");
    const char *before = json_get_text(diff, "oldText");

    str_addf(to, "--- %s\n+++ %s\n", before != NULL ? path : "/dev/null", path);
    diff_unified(to, before != NULL ? before : "", text_of(diff, "newText"));
}

static void add_content(struct str *to, const struct json *content)
{
    const char *type = text_of(content, "type");

    if (to->len > 0 && to->data[to->len - 1] != '\n')
        str_addc(to, '\n');
    if (strcmp(type, "diff") == 0)
        add_diff(to, content);
    else if (strcmp(type, "terminal") == 0)
        add_mark(to, "terminal", text_of(content, "terminalId"));
    else if (json_is_object(json_get(content, "content")))
        add_block(to, json_get(content, "content"));
    else
        add_mark(to, type, "");
}

/* ---- kinds of updates */

static void use_text(struct acp_news *news)
{
    news->update.text = str_text(&news->text);
    news->update.len = news->text.len;
}

static void use_plain(struct acp_news *news, const char *text)
{
    news->update.text = text;
    news->update.len = text != NULL ? strlen(text) : 0;
}

static void read_chunk(const struct json *json, struct acp_news *news)
{
    const struct json *content = json_get(json, "content");

    news->update.id = json_get_text(json, "messageId");
    if (strcmp(text_of(content, "type"), "text") == 0) { /* the usual case: no copy */
        use_plain(news, text_of(content, "text"));
        return;
    }
    if (json_is_object(content))
        add_block(&news->text, content);
    use_text(news);
}

static void read_tool(const struct json *json, struct acp_news *news)
{
    const struct json *content = json_get(json, "content");

    news->update.id = json_get_text(json, "toolCallId");
    news->update.title = json_get_text(json, "title");
    news->update.tool_kind = json_get_text(json, "kind");
    news->update.status = json_get_text(json, "status");
    if (!json_is_array(content))
        return;
    for (const struct json *it = json_first(content); it != NULL; it = json_next(it))
        add_content(&news->text, it);
    use_text(news);
}

static void read_plan(const struct json *json, struct acp_news *news)
{
    static const struct word_keys keys = {
        .name = "content", .description = "priority", .kind = "status"};

    news->words = word_list_read(json_get(json, "entries"), &keys);
}

static void read_commands(const struct json *json, struct acp_news *news)
{
    static const struct word_keys keys = {
        .id = "name", .name = "name", .description = "description"};

    news->words = word_list_read(json_get(json, "availableCommands"), &keys);
}

static void read_mode(const struct json *json, struct acp_news *news)
{
    news->update.id = json_get_text(json, "currentModeId");
    use_plain(news, news->update.id);
}

static void read_info(const struct json *json, struct acp_news *news)
{
    news->update.title = json_get_text(json, "title");
    use_plain(news, news->update.title);
}

static void read_notice(const struct json *json, struct acp_news *news)
{
    news->update.title = json_get_text(json, "title");
    news->update.tool_kind = json_get_text(json, "severity");
    use_plain(news, json_get_text(json, "description"));
}

static void read_compaction(const struct json *json, struct acp_news *news)
{
    const struct json *summary = json_get(json, "summary");

    news->update.id = json_get_text(json, "compactionId");
    news->update.status = json_get_text(json, "status");
    news->update.title = json_get_text(json, "error");
    if (!json_is_array(summary))
        return;
    for (const struct json *it = json_first(summary); it != NULL; it = json_next(it))
        add_block(&news->text, it);
    use_text(news);
}

static void read_summary(const struct json *json, struct acp_news *news)
{
    read_chunk(json, news);
    news->update.id = json_get_text(json, "compactionId");
}

/* ---- subagents and tasks */

/* Reads a state of the draft of the protocol: an idle subagent says how its work ended. */
static enum acp_task read_work(const struct json *state)
{
    const char *word = text_of(state, "state");
    const char *stop = text_of(state, "stopReason");

    if (strcmp(word, "running") == 0 || strcmp(word, "requires_action") == 0)
        return ACP_TASK_RUNS;
    if (strcmp(word, "idle") != 0)
        return ACP_TASK_UNKNOWN;
    return strcmp(stop, "error") == 0       ? ACP_TASK_FAILED
           : strcmp(stop, "cancelled") == 0 ? ACP_TASK_CANCELLED
                                            : ACP_TASK_DONE;
}

static void read_subagent(const struct json *json, struct acp_news *news)
{
    const struct json *state = json_get(json, "state");
    const char *error = json_get_text(json_get(state, "error"), "message");

    news->update.id = json_get_text(json, "sessionId");
    news->update.title = json_get_text(json, "title");
    news->update.task = state != NULL ? read_work(state) : ACP_TASK_SAME;
    news->update.stoppable = json_is_object(json_get(json_get(json, "capabilities"), "cancel"));
    use_plain(news, error != NULL ? error : json_get_text(json, "description"));
}

/* Reads an extension of some agents. */
static void read_task(const struct json *json, struct acp_news *news)
{
    static const struct {
        const char *word;
        enum acp_task task;
    } states[] = {
        {"running", ACP_TASK_RUNS},  {"paused", ACP_TASK_RUNS},       {"completed", ACP_TASK_DONE},
        {"failed", ACP_TASK_FAILED}, {"stopped", ACP_TASK_CANCELLED},
    };
    const char *state = json_get_text(json, "state");
    const char *summary = json_get_text(json, "summary");

    news->update.id = json_get_text(json, "asyncTaskId");
    news->update.title = json_get_text(json, "name");
    use_plain(news, summary != NULL ? summary : json_get_text(json, "description"));
    if (state != NULL)
        news->update.task = ACP_TASK_UNKNOWN;
    for (size_t i = 0; i < ARRAY_LEN(states) && state != NULL; i++)
        if (strcmp(state, states[i].word) == 0)
            news->update.task = states[i].task;
}

static void read_spawned(const struct json *json, struct acp_news *news)
{
    read_task(json, news);
    news->update.task = ACP_TASK_RUNS;
}

static void read_message(const struct json *json, struct acp_news *news)
{
    const struct json *content = json_get(json, "content");

    news->update.id = json_get_text(json, "senderSessionId");
    news->update.title = json_get_text(json, "recipientSessionId");
    if (!json_is_array(content))
        return;
    for (const struct json *it = json_first(content); it != NULL; it = json_next(it))
        add_block(&news->text, it);
    use_text(news);
}

/* ---- usage */

/* Returns a count; -1 if it is missing, negative, no integer or too large to be one. */
static int64_t count_of(const struct json *object, const char *key)
{
    int64_t n = json_int(json_get(object, key), -1);
    return n >= 0 && n <= TOKENS_MAX ? n : -1;
}

static void read_usage(const struct json *json, struct acp_news *news)
{
    struct acp_usage *usage = &news->update.usage;
    const struct json *cost = json_get(json, "cost");
    const char *currency = json_get_text(cost, "currency");
    struct money money = {.micro = 0};

    usage->used = count_of(json, "used");
    usage->size = count_of(json, "size");
    if (currency != NULL && money_parse_currency(currency, money.currency) &&
        money_from_number(json_number(json_get(cost, "amount"), -1), &money.micro))
        usage->cost = money;
}

/* Gemini CLI tells the tokens of a turn in a place of its own. */
static void read_quota(const struct json *answer, struct token_counts *ret)
{
    const struct json *count =
        json_get(json_get(json_get(answer, "_meta"), "quota"), "token_count");

    ret->of[TOKENS_INPUT] = count_of(count, "input_tokens");
    ret->of[TOKENS_OUTPUT] = count_of(count, "output_tokens");
}

void acp_tokens_read(const struct json *answer, struct token_counts *ret)
{
    const struct json *usage = json_get(answer, "usage");

    for (enum token_kind i = 0; i < TOKEN_KIND_COUNT; i++) {
        _cleanup_free_ char *key = mem_printf("%sTokens", token_kind_name(i));
        ret->of[i] = count_of(usage, key);
    }
    if (token_counts_all(ret) == -1)
        read_quota(answer, ret);
}

static const struct {
    const char *name;
    enum acp_update_kind kind;
    void (*read)(const struct json *json, struct acp_news *news);
} kinds[] = {
    {"user_message_chunk", ACP_USER, read_chunk},
    {"agent_message_chunk", ACP_TEXT, read_chunk},
    {"agent_thought_chunk", ACP_THOUGHT, read_chunk},
    {"tool_call", ACP_TOOL, read_tool},
    {"tool_call_update", ACP_TOOL, read_tool},
    {"plan", ACP_PLAN, read_plan},
    {"available_commands_update", ACP_COMMANDS, read_commands},
    {"current_mode_update", ACP_MODE, read_mode},
    {"config_option_update", ACP_OPTIONS, NULL},
    {"session_info_update", ACP_INFO, read_info},
    {"usage_update", ACP_USAGE, read_usage},
    {"notice", ACP_NOTICE, read_notice},
    {"compaction_update", ACP_COMPACTION, read_compaction},
    {"compaction_summary_chunk", ACP_SUMMARY, read_summary},
    {"subagent_update", ACP_SUBAGENT, read_subagent},
    {"session_message", ACP_MESSAGE, read_message},
    {"async_task_spawned", ACP_TASK, read_spawned},
    {"async_task_state_update", ACP_TASK, read_task},
    {"async_task_progress", ACP_TASK, read_task},
};

/* Returns true if the members that this kind requires are there. */
static bool is_whole(const struct acp_update *update)
{
    bool named = update->kind == ACP_TOOL || update->kind == ACP_MODE ||
                 update->kind == ACP_COMPACTION || update->kind == ACP_SUMMARY ||
                 update->kind == ACP_SUBAGENT || update->kind == ACP_TASK;

    return !named || update->id != NULL;
}

void acp_news_read(const char *session, const struct json *json, struct acp_news *ret)
{
    const char *name = text_of(json, "sessionUpdate");

    *ret = (struct acp_news){.update = {.session = session, .kind = ACP_OTHER, .json = json}};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(name, kinds[i].name) != 0)
            continue;
        ret->update.kind = kinds[i].kind;
        if (kinds[i].read != NULL)
            kinds[i].read(json, ret);
    }
    if (!is_whole(&ret->update))
        ret->update.kind = ACP_OTHER;
    ret->update.words = ret->words.word;
    ret->update.count = ret->words.count;
}

void acp_news_read_tool(const char *session, const struct json *tool, struct acp_news *ret)
{
    *ret = (struct acp_news){.update = {.session = session, .kind = ACP_TOOL, .json = tool}};
    read_tool(tool, ret);
}

void acp_news_free(struct acp_news *news)
{
    word_list_free(&news->words);
    str_free(&news->text);
}
