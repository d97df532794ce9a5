/*
 * Own requests, and reading their answers. What an answer does not repeat is kept with the request:
 * which call it was, its session, the mode. An answer without what its call needs becomes a failed
 * one (spoil()), so the host sees either a good one or an error. One to no request is dropped.
 */

#include "model/preset.h"
#include "protocol/acp_internal.h"

enum { PROTOCOL = 1 };

void acp_info_free(struct acp_info *info)
{
    free(info->name);
    free(info->version);
    free(info->auth);
}

void acp_asked_free(struct acp_asked *asked)
{
    free(asked->session);
    free(asked->mode);
}

/* ---- own requests */

/* Ends the parameters and sends the request. The answer will report `session` and `mode`. */
static int64_t ask(struct acp *acp, enum acp_call call, struct json_out *params,
                   const char *session, const char *mode, int timeout_ms)
{
    static const char *const methods[] = {
        [ACP_CALL_INITIALIZE] = "initialize",
        [ACP_CALL_NEW] = "session/new",
        [ACP_CALL_LOAD] = "session/load",
        [ACP_CALL_RESUME] = "session/resume",
        [ACP_CALL_CLOSE] = "session/close",
        [ACP_CALL_LIST] = "session/list",
        [ACP_CALL_PROMPT] = "session/prompt",
        [ACP_CALL_SET_MODE] = "session/set_mode",
        [ACP_CALL_SET_OPTION] = "session/set_config_option",
        [ACP_CALL_FORK] = "session/fork",
        [ACP_CALL_DELETE] = "session/delete",
        [ACP_CALL_STEER] = "_session/steering", /* of Claude Code and Codex */
    };
    struct acp_asked asked = {.call = call, .session = mem_dup(session), .mode = mem_dup(mode)};

    json_close(params, '}');
    asked.serial = rpc_ask(acp->rpc, methods[call], str_text(params->to), timeout_ms);
    acp->asked = mem_room(acp->asked, acp->asked_count, sizeof(*acp->asked));
    acp->asked[acp->asked_count++] = asked;
    return asked.serial;
}

struct json_out acp_open_params(struct str *to)
{
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    return out;
}

static void put_blocks(struct json_out *out, const char *key, const struct acp_block *blocks)
{
    json_open(out, key, '[');
    for (; blocks->text != NULL; blocks++) {
        if (blocks->type == NULL)
            json_put_all(out, JO(NULL), JT("type", "text"), JT("text", blocks->text), JOE);
        else
            json_put_all(out, JO(NULL), JT("type", "image"), JT("mimeType", blocks->type),
                         JT("data", blocks->text), JOE);
    }
    json_close(out, ']');
}

static void put_capabilities(struct json_out *out, unsigned offers)
{
    static const struct {
        unsigned bit;
        const char *name, *json;
    } capabilities[] = {
        {OFFERS_FS, "fs", "{\"readTextFile\":true,\"writeTextFile\":true}"},
        {OFFERS_TERMINAL, "terminal", "true"},
        {OFFERS_ELICITATION, "elicitation", "{\"form\":{},\"url\":{}}"},
        {OFFERS_AUTH, "auth", "{\"terminal\":true}"},
        {OFFERS_SESSION, "session",
         "{\"compaction\":{},\"notices\":{},\"configOptions\":{\"boolean\":{}}}"},
        /* Of the draft. Asynchronous tasks are read, but not declared: Claude Code and Codex have
         * them in an extension for one editor, and give a client that declares any of it an earlier
         * draft of subagents, tool calls without what was read or printed, and forms without an
         * answer in words. */
        {OFFERS_SUBAGENTS, "subagents", "{}"},
    };

    json_open(out, "clientCapabilities", '{');
    for (size_t i = 0; i < ARRAY_LEN(capabilities); i++)
        if ((offers & capabilities[i].bit) != 0)
            json_put_raw(out, capabilities[i].name, capabilities[i].json);
    json_close(out, '}');
}

int64_t acp_initialize(struct acp *acp, unsigned offers, int timeout_ms)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = acp_open_params(&params);

    json_put_int(&out, "protocolVersion", PROTOCOL);
    put_capabilities(&out, offers);
    json_put_all(&out, JO("clientInfo"), JT("name", "mas"), JT("version", MAS_VERSION), JOE);
    return ask(acp, ACP_CALL_INITIALIZE, &out, NULL, NULL, timeout_ms);
}

void acp_set_session_meta(struct acp *acp, const char *json)
{
    free(acp->meta);
    acp->meta = mem_dup(json);
}

void acp_set_system(struct acp *acp, const char *text)
{
    free(acp->system);
    acp->system = mem_dup(text);
}

void acp_set_directories(struct acp *acp, char *const *paths)
{
    strv_free(acp->directories);
    acp->directories = NULL;
    for (; paths != NULL && *paths != NULL; paths++)
        strv_push(&acp->directories, *paths);
}

static void put_directories(const struct acp *acp, struct json_out *out)
{
    if (!acp->info.directories || acp->directories == NULL)
        return;
    json_open(out, "additionalDirectories", '[');
    for (char *const *path = acp->directories; *path != NULL; path++)
        json_put(out, NULL, *path);
    json_close(out, ']');
}

static void put_system(const struct acp *acp, struct json_out *out)
{
    const struct acp_block blocks[] = {{acp->system, NULL}, {NULL, NULL}};

    if (acp->info.system != ACP_SYSTEM_MEMBER || acp->system == NULL)
        return;
    json_open(out, "systemPrompt", '{');
    json_put(out, "mode", "append");
    put_blocks(out, "content", blocks);
    json_close(out, '}');
}

/* Writes _meta: that of the preset, and the system prompt of an agent that takes it there. */
static void put_meta(const struct acp *acp, struct json_out *out)
{
    bool system = acp->info.system == ACP_SYSTEM_META && acp->system != NULL;
    _cleanup_json_ struct json *meta = NULL;
    struct err ignored = ERR_INIT; /* preset.c has checked it */

    if (acp->meta == NULL && !system)
        return;
    if (acp->meta != NULL)
        (void)json_parse(acp->meta, strlen(acp->meta), ACP_LINE_MAX, &meta, &ignored);
    json_open(out, "_meta", '{');
    for (const struct json *one = json_first(meta); one != NULL; one = json_next(one))
        json_put_node(out, json_key(one), one);
    if (system) {
        json_put_all(out, JO("systemPrompt"), JT("append", acp->system), JOE);
    }
    json_close(out, '}');
}

/* session/new, load, resume and fork differ only in the id. */
static int64_t enter_session(struct acp *acp, enum acp_call call, const char *session,
                             const char *cwd, const char *mcp, int timeout_ms)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = acp_open_params(&params);

    if (session != NULL)
        json_put(&out, "sessionId", session);
    json_put(&out, "cwd", cwd);
    json_put_raw(&out, "mcpServers", mcp != NULL ? mcp : "[]");
    put_directories(acp, &out);
    put_system(acp, &out);
    put_meta(acp, &out);
    return ask(acp, call, &out, session, NULL, timeout_ms);
}

int64_t acp_session_new(struct acp *acp, const char *cwd, const char *mcp, int timeout_ms)
{
    return enter_session(acp, ACP_CALL_NEW, NULL, cwd, mcp, timeout_ms);
}

int64_t acp_session_load(struct acp *acp, const char *session, const char *cwd, const char *mcp,
                         int timeout_ms)
{
    return enter_session(acp, ACP_CALL_LOAD, session, cwd, mcp, timeout_ms);
}

int64_t acp_session_resume(struct acp *acp, const char *session, const char *cwd, const char *mcp,
                           int timeout_ms)
{
    return enter_session(acp, ACP_CALL_RESUME, session, cwd, mcp, timeout_ms);
}

int64_t acp_session_fork(struct acp *acp, const char *session, const char *cwd, const char *mcp,
                         int timeout_ms)
{
    return enter_session(acp, ACP_CALL_FORK, session, cwd, mcp, timeout_ms);
}

/* Makes a request that names a session, and nothing else. */
static int64_t ask_of_session(struct acp *acp, enum acp_call call, const char *session,
                              int timeout_ms)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = acp_open_params(&params);

    json_put(&out, "sessionId", session);
    return ask(acp, call, &out, session, NULL, timeout_ms);
}

int64_t acp_session_close(struct acp *acp, const char *session, int timeout_ms)
{
    return ask_of_session(acp, ACP_CALL_CLOSE, session, timeout_ms);
}

int64_t acp_session_delete(struct acp *acp, const char *session, int timeout_ms)
{
    return ask_of_session(acp, ACP_CALL_DELETE, session, timeout_ms);
}

int64_t acp_session_list(struct acp *acp, const char *cwd, const char *cursor, int timeout_ms)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = acp_open_params(&params);

    if (cwd != NULL)
        json_put(&out, "cwd", cwd);
    if (cursor != NULL)
        json_put(&out, "cursor", cursor);
    return ask(acp, ACP_CALL_LIST, &out, NULL, NULL, timeout_ms);
}

int64_t acp_prompt(struct acp *acp, const char *session, const struct acp_block *blocks,
                   int timeout_ms)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = acp_open_params(&params);

    json_put(&out, "sessionId", session);
    put_blocks(&out, "prompt", blocks);
    return ask(acp, ACP_CALL_PROMPT, &out, session, NULL, timeout_ms);
}

int64_t acp_steer(struct acp *acp, const char *session, const struct acp_block *blocks,
                  int timeout_ms)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = acp_open_params(&params);

    json_put(&out, "sessionId", session);
    put_blocks(&out, "prompt", blocks);
    /* without a turn it must not begin one, whose end nobody would tell */
    json_put_raw(&out, "_meta", "{\"steering\":{\"idleBehavior\":\"promptRequired\"}}");
    return ask(acp, ACP_CALL_STEER, &out, session, NULL, timeout_ms);
}

int64_t acp_set_mode(struct acp *acp, const char *session, const char *mode, int timeout_ms)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = acp_open_params(&params);

    json_put(&out, "sessionId", session);
    json_put(&out, "modeId", mode);
    return ask(acp, ACP_CALL_SET_MODE, &out, session, mode, timeout_ms);
}

int64_t acp_set_option(struct acp *acp, const char *session, const char *option, const char *value,
                       bool boolean, int timeout_ms)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = acp_open_params(&params);

    json_put(&out, "sessionId", session);
    json_put(&out, "configId", option);
    if (boolean) {
        json_put(&out, "type", "boolean");
        json_put_bool(&out, "value", strcmp(value, "true") == 0);
    } else {
        json_put(&out, "value", value);
    }
    return ask(acp, ACP_CALL_SET_OPTION, &out, session, NULL, timeout_ms);
}

/* ---- answers */

static enum acp_system read_system(const struct json *can)
{
    const struct json *session = json_get(can, "sessionCapabilities");

    if (json_is_object(json_get(session, "systemPrompt")) ||
        json_bool(json_get(session, "systemPrompt"), false))
        return ACP_SYSTEM_MEMBER;
    return json_is_object(json_get(json_get(can, "_meta"), "claudeCode")) ? ACP_SYSTEM_META
                                                                          : ACP_SYSTEM_NONE;
}

static void read_info(struct acp *acp, const struct json *result)
{
    const struct json *can = json_get(result, "agentCapabilities");
    const struct json *session = json_get(can, "sessionCapabilities");
    const struct json *prompt = json_get(can, "promptCapabilities");
    const struct json *mcp = json_get(can, "mcpCapabilities");
    const struct json *info = json_get(result, "agentInfo");
    const struct json *auth = json_get(result, "authMethods");
    const struct json *steering = json_get(json_get(result, "_meta"), "steering");
    const char *name = json_get_text(info, "name");
    const char *version = json_get_text(info, "version");
    struct str methods = STR_INIT;
    struct json_out out = {.to = &methods};

    if (json_is_array(auth))
        json_put_node(&out, NULL, auth);
    else
        str_add(&methods, "[]");
    acp_info_free(&acp->info);
    acp->info = (struct acp_info){
        .name = mem_dup(name != NULL ? name : ""),
        .version = mem_dup(version != NULL ? version : ""),
        .load = json_bool(json_get(can, "loadSession"), false),
        .resume = json_is_object(json_get(session, "resume")),
        .close = json_is_object(json_get(session, "close")),
        .list = json_is_object(json_get(session, "list")),
        .fork = json_is_object(json_get(session, "fork")),
        .remove = json_is_object(json_get(session, "delete")),
        .directories = json_is_object(json_get(session, "additionalDirectories")),
        .system = read_system(can),
        .steer = json_bool(json_get(steering, "supported"), false),
        .image = json_bool(json_get(prompt, "image"), false),
        .audio = json_bool(json_get(prompt, "audio"), false),
        .embedded = json_bool(json_get(prompt, "embeddedContext"), false),
        .mcp_http = json_bool(json_get(mcp, "http"), false),
        .mcp_sse = json_bool(json_get(mcp, "sse"), false),
        .protocol = json_int(json_get(result, "protocolVersion"), 0),
        .auth = str_steal(&methods),
    };
}

static void spoil(struct acp_answer *answer, const char *why)
{
    answer->ok = false;
    answer->code = ACP_BAD_ANSWER;
    answer->message = why;
}

static void read_initialize(struct acp *acp, struct acp_answer *answer)
{
    read_info(acp, answer->result);
    if (acp->info.protocol != PROTOCOL)
        spoil(answer, acp->info.protocol == 0 ? "the agent reported no protocol version"
                                              : "the agent does not support protocol version 1");
}

static void read_new(struct acp_answer *answer)
{
    const char *id = json_get_text(answer->result, "sessionId");

    if (id == NULL || *id == '\0' || strlen(id) > ACP_ID_MAX || str_has_control(id))
        spoil(answer, "the agent returned no valid session id");
    else
        answer->session = id;
}

static void read_steer(struct acp_answer *answer)
{
    const char *outcome = json_get_text(answer->result, "outcome");

    /* a turn that was begun against our wish has the words, too */
    answer->steered = outcome != NULL &&
                      (strcmp(outcome, "injected") == 0 || strcmp(outcome, "startedNewTurn") == 0);
}

/* Reads the result of each kind of request. The caller releases *ret_modes. */
static void read_result(struct acp *acp, const struct acp_asked *asked, struct acp_answer *answer,
                        struct word_list *ret_modes)
{
    static const struct word_keys keys = {.id = "id", .name = "name", .description = "description"};
    const struct json *modes = json_get(answer->result, "modes");
    const struct json *options = json_get(answer->result, "configOptions");

    *ret_modes = word_list_read(json_get(modes, "availableModes"), &keys);
    answer->modes = ret_modes->word;
    answer->mode_count = ret_modes->count;
    answer->mode = asked->mode != NULL ? asked->mode : json_get_text(modes, "currentModeId");
    answer->options = json_is_array(options) ? options : NULL;
    if (asked->call == ACP_CALL_INITIALIZE)
        read_initialize(acp, answer);
    else if (asked->call == ACP_CALL_NEW || asked->call == ACP_CALL_FORK)
        read_new(answer);
    else if (asked->call == ACP_CALL_STEER)
        read_steer(answer);
    else if (asked->call == ACP_CALL_PROMPT)
        answer->stop_reason = json_get_text(answer->result, "stopReason");
    if (asked->call == ACP_CALL_PROMPT && answer->stop_reason == NULL)
        answer->stop_reason = "unknown";
}

/* Removes the open request with this serial and returns it. */
static struct acp_asked pop_asked(struct acp *acp, int64_t serial)
{
    struct acp_asked asked = {.serial = 0};

    for (size_t i = 0; i < acp->asked_count; i++) {
        if (acp->asked[i].serial == serial) {
            asked = acp->asked[i];
            acp->asked[i] = acp->asked[--acp->asked_count];
            break;
        }
    }
    return asked;
}

/* Returns an error's message, which the caller frees. Some agents give the reason only in
 * `data`. */
static char *error_words(const struct rpc_answer *from)
{
    static const char *const keys[] = {"details", "message", "error", "reason"};
    const char *more = json_text(from->data);

    if (from->ok)
        return mem_dup("");
    for (size_t i = 0; i < ARRAY_LEN(keys) && more == NULL; i++)
        more = json_get_text(from->data, keys[i]);
    if (more == NULL || strstr(from->message, more) != NULL)
        return mem_dup(from->message);
    return mem_printf("%s%s%s", from->message, from->message[0] != '\0' ? ": " : "", more);
}

void acp_on_answer(struct acp *acp, const struct rpc_answer *from)
{
    struct acp_asked asked = pop_asked(acp, from->serial);
    struct word_list modes = {.count = 0};
    _cleanup_free_ char *words = error_words(from);
    struct acp_answer answer = {
        .call = asked.call,
        .serial = from->serial,
        .ok = from->ok,
        .code = from->code,
        .message = words,
        .session = asked.session,
        .result = from->result,
        .data = from->ok ? NULL : from->data,
    };

    acp_tokens_read(from->ok ? from->result : from->data, &answer.tokens);
    if (asked.serial == 0 || acp->freed) {
        acp_asked_free(&asked);
        return;
    }
    if (answer.ok)
        read_result(acp, &asked, &answer, &modes);
    acp->ops->answer(acp->arg, &answer);
    word_list_free(&modes);
    acp_asked_free(&asked);
}
