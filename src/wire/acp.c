#include "wire/acp.h"

#include "base/str.h"
#include "wire/acp_parts.h"
#include "wire/rpc.h"

#include <stdlib.h>
#include <string.h>

enum { PROTOCOL = 1 };

/* A request of ours that waits. */
struct asked {
    int64_t serial;
    enum acp_call call;
    char *session, *mode; /* that it names; NULL none */
    bool cancelled; /* a prompt */
};

/* A permission request that is open. */
struct permission {
    char *ticket;
    char *session;
    char **options; /* ids */
};

struct acp {
    const struct acp_ops *ops;
    void *arg;
    struct rpc *rpc;
    struct acp_info info;
    struct asked *asked;
    size_t asked_count;
    struct permission *permissions;
    size_t permission_count;
    int busy; /* calls that may call ops */
    bool freed; /* meanwhile */
};

static const struct rpc_spec spec;

struct acp *acp_new(const struct acp_ops *ops, void *arg)
{
    struct acp *acp = mem_alloc(sizeof(*acp));

    acp->ops = ops;
    acp->arg = arg;
    acp->rpc = rpc_new(&spec, acp);
    acp->info.name = mem_dup("");
    acp->info.version = mem_dup("");
    acp->info.auth = mem_dup("[]");
    return acp;
}

static void free_info(struct acp_info *info)
{
    free(info->name);
    free(info->version);
    free(info->auth);
}

static void free_asked(struct asked *asked)
{
    free(asked->session);
    free(asked->mode);
}

static void free_permission(struct permission *permission)
{
    free(permission->ticket);
    free(permission->session);
    strv_free(permission->options);
}

void acp_free(struct acp *acp)
{
    if (acp == NULL)
        return;
    if (acp->busy > 0) {
        acp->freed = true;
        return;
    }
    rpc_free(acp->rpc);
    free_info(&acp->info);
    for (size_t i = 0; i < acp->asked_count; i++)
        free_asked(&acp->asked[i]);
    free(acp->asked);
    for (size_t i = 0; i < acp->permission_count; i++)
        free_permission(&acp->permissions[i]);
    free(acp->permissions);
    free(acp);
}

static void leave(struct acp *acp)
{
    if (--acp->busy == 0 && acp->freed)
        acp_free(acp);
}

const char *acp_out(const struct acp *acp, size_t *ret_len)
{
    return rpc_out(acp->rpc, ret_len);
}

void acp_sent(struct acp *acp, size_t len)
{
    rpc_sent(acp->rpc, len);
}

bool acp_is_stuck(const struct acp *acp)
{
    return rpc_is_stuck(acp->rpc);
}

void acp_feed(struct acp *acp, const char *bytes, size_t len)
{
    acp->busy++;
    rpc_feed(acp->rpc, bytes, len);
    leave(acp);
}

int64_t acp_tick(struct acp *acp, int64_t now)
{
    int64_t next;

    acp->busy++;
    next = rpc_tick(acp->rpc, now);
    leave(acp);
    return next;
}

const struct acp_info *acp_info(const struct acp *acp)
{
    return &acp->info;
}

/* ---- requests of ours */

/* Ends the parameters and sends them. session and mode are what the answer is to tell. */
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
        [ACP_CALL_AUTHENTICATE] = "authenticate",
    };
    struct asked asked = {.call = call, .session = mem_dup(session), .mode = mem_dup(mode)};

    json_close(params, '}');
    asked.serial = rpc_ask(acp->rpc, methods[call], str_text(params->to), timeout_ms);
    acp->asked = mem_room(acp->asked, acp->asked_count, sizeof(*acp->asked));
    acp->asked[acp->asked_count++] = asked;
    return asked.serial;
}

static struct json_out open_params(struct str *to)
{
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    return out;
}

int64_t acp_initialize(struct acp *acp, int timeout_ms)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = open_params(&params);

    json_put_int(&out, "protocolVersion", PROTOCOL);
    json_open(&out, "clientCapabilities", '{');
    json_open(&out, "fs", '{');
    json_put_bool(&out, "readTextFile", true);
    json_put_bool(&out, "writeTextFile", true);
    json_close(&out, '}');
    json_put_bool(&out, "terminal", true);
    json_close(&out, '}');
    json_open(&out, "clientInfo", '{');
    json_put(&out, "name", "mas");
    json_put(&out, "version", MAS_VERSION);
    json_close(&out, '}');
    return ask(acp, ACP_CALL_INITIALIZE, &out, NULL, NULL, timeout_ms);
}

/* session/new, load and resume are the same but for the id. */
static int64_t enter_session(struct acp *acp, enum acp_call call, const char *session,
                             const char *cwd, const char *mcp, int timeout_ms)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = open_params(&params);

    if (session != NULL)
        json_put(&out, "sessionId", session);
    json_put(&out, "cwd", cwd);
    json_put_raw(&out, "mcpServers", mcp != NULL ? mcp : "[]");
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

int64_t acp_session_close(struct acp *acp, const char *session, int timeout_ms)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = open_params(&params);

    json_put(&out, "sessionId", session);
    return ask(acp, ACP_CALL_CLOSE, &out, session, NULL, timeout_ms);
}

int64_t acp_session_list(struct acp *acp, const char *cursor, int timeout_ms)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = open_params(&params);

    if (cursor != NULL)
        json_put(&out, "cursor", cursor);
    return ask(acp, ACP_CALL_LIST, &out, NULL, NULL, timeout_ms);
}

int64_t acp_prompt(struct acp *acp, const char *session, const char *const *blocks, int timeout_ms)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = open_params(&params);

    json_put(&out, "sessionId", session);
    json_open(&out, "prompt", '[');
    for (; *blocks != NULL; blocks++) {
        json_open(&out, NULL, '{');
        json_put(&out, "type", "text");
        json_put(&out, "text", *blocks);
        json_close(&out, '}');
    }
    json_close(&out, ']');
    return ask(acp, ACP_CALL_PROMPT, &out, session, NULL, timeout_ms);
}

int64_t acp_set_mode(struct acp *acp, const char *session, const char *mode, int timeout_ms)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = open_params(&params);

    json_put(&out, "sessionId", session);
    json_put(&out, "modeId", mode);
    return ask(acp, ACP_CALL_SET_MODE, &out, session, mode, timeout_ms);
}

int64_t acp_set_option(struct acp *acp, const char *session, const char *option, const char *value,
                       int timeout_ms)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = open_params(&params);

    json_put(&out, "sessionId", session);
    json_put(&out, "configId", option);
    json_put(&out, "value", value);
    return ask(acp, ACP_CALL_SET_OPTION, &out, session, NULL, timeout_ms);
}

int64_t acp_authenticate(struct acp *acp, const char *method, int timeout_ms)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = open_params(&params);

    json_put(&out, "methodId", method);
    return ask(acp, ACP_CALL_AUTHENTICATE, &out, NULL, NULL, timeout_ms);
}

/* ---- permissions */

static void reply_permission(struct acp *acp, const char *ticket, const char *option)
{
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = open_params(&result);

    json_open(&out, "outcome", '{');
    json_put(&out, "outcome", option != NULL ? "selected" : "cancelled");
    if (option != NULL)
        json_put(&out, "optionId", option);
    json_close(&out, '}');
    json_close(&out, '}');
    (void)rpc_reply(acp->rpc, ticket, result.data);
}

static struct permission take_permission(struct acp *acp, size_t i)
{
    struct permission permission = acp->permissions[i];

    acp->permission_count--;
    memmove(&acp->permissions[i], &acp->permissions[i + 1],
            (acp->permission_count - i) * sizeof(*acp->permissions));
    return permission;
}

/* Index of the one with the ticket, permission_count where there is none. */
static size_t find_permission(const struct acp *acp, const char *ticket)
{
    size_t i = 0;

    while (i < acp->permission_count && strcmp(acp->permissions[i].ticket, ticket) != 0)
        i++;
    return i;
}

static bool has_option(const struct permission *permission, const char *option)
{
    for (size_t i = 0; i < strv_len(permission->options); i++) {
        if (strcmp(permission->options[i], option) == 0)
            return true;
    }
    return false;
}

bool acp_permit(struct acp *acp, const char *ticket, const char *option)
{
    size_t i = find_permission(acp, ticket);
    struct permission permission;

    if (i == acp->permission_count || (option != NULL && !has_option(&acp->permissions[i], option)))
        return false;
    permission = take_permission(acp, i);
    reply_permission(acp, permission.ticket, option);
    free_permission(&permission);
    return true;
}

/* Answers all that are open of the session as cancelled, and tells if wanted. */
static void cancel_permissions(struct acp *acp, const char *session, bool tell)
{
    for (size_t i = 0; i < acp->permission_count;) {
        struct permission permission;

        if (strcmp(acp->permissions[i].session, session) != 0) {
            i++;
            continue;
        }
        permission = take_permission(acp, i);
        reply_permission(acp, permission.ticket, NULL);
        if (tell && !acp->freed)
            acp->ops->withdrawn(acp->arg, permission.ticket);
        free_permission(&permission);
        i = 0; /* the call may have changed the table */
    }
}

void acp_cancel(struct acp *acp, const char *session)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = open_params(&params);

    json_put(&out, "sessionId", session);
    json_close(&out, '}');
    rpc_tell(acp->rpc, "session/cancel", params.data);
    for (size_t i = 0; i < acp->asked_count; i++) {
        struct asked *asked = &acp->asked[i];

        if (asked->call == ACP_CALL_PROMPT && strcmp(asked->session, session) == 0)
            asked->cancelled = true;
    }
    cancel_permissions(acp, session, false);
}

/* ---- answers */

static void read_info(struct acp *acp, const struct json *result)
{
    const struct json *can = json_get(result, "agentCapabilities");
    const struct json *session = json_get(can, "sessionCapabilities");
    const struct json *prompt = json_get(can, "promptCapabilities");
    const struct json *mcp = json_get(can, "mcpCapabilities");
    const struct json *info = json_get(result, "agentInfo");
    const struct json *auth = json_get(result, "authMethods");
    const char *name = json_get_text(info, "name");
    const char *version = json_get_text(info, "version");
    struct str methods = STR_INIT;
    struct json_out out = {.to = &methods};

    if (json_is_array(auth))
        json_put_node(&out, NULL, auth);
    else
        str_add(&methods, "[]");
    free_info(&acp->info);
    acp->info = (struct acp_info){
        .name = mem_dup(name != NULL ? name : ""),
        .version = mem_dup(version != NULL ? version : ""),
        .load = json_bool(json_get(can, "loadSession"), false),
        .resume = json_is_object(json_get(session, "resume")),
        .close = json_is_object(json_get(session, "close")),
        .list = json_is_object(json_get(session, "list")),
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
        spoil(answer, acp->info.protocol == 0
                          ? "the agent does not say which version of the protocol it speaks"
                          : "the agent speaks another version of the protocol than 1");
}

static void read_new(struct acp_answer *answer)
{
    const char *id = json_get_text(answer->result, "sessionId");

    if (id == NULL || *id == '\0' || strlen(id) > ACP_ID_MAX || str_has_control(id))
        spoil(answer, "the agent gave no session id that can be used");
    else
        answer->session = id;
}

/* What each call's result holds. *ret_modes is the caller's. */
static void read_result(struct acp *acp, const struct asked *asked, struct acp_answer *answer,
                        struct acp_words *ret_modes)
{
    static const struct acp_word_keys keys = {
        .id = "id", .name = "name", .description = "description"};
    const struct json *modes = json_get(answer->result, "modes");
    const struct json *options = json_get(answer->result, "configOptions");

    *ret_modes = acp_words_read(json_get(modes, "availableModes"), &keys);
    answer->modes = ret_modes->word;
    answer->mode_count = ret_modes->count;
    answer->mode = asked->mode != NULL ? asked->mode : json_get_text(modes, "currentModeId");
    answer->options = json_is_array(options) ? options : NULL;
    if (asked->call == ACP_CALL_INITIALIZE)
        read_initialize(acp, answer);
    else if (asked->call == ACP_CALL_NEW)
        read_new(answer);
    else if (asked->call == ACP_CALL_PROMPT)
        answer->stop_reason = json_get_text(answer->result, "stopReason");
    if (asked->call == ACP_CALL_PROMPT && answer->stop_reason == NULL)
        answer->stop_reason = "unknown";
}

/* The request that has this serial, which is not open any more. */
static struct asked take_asked(struct acp *acp, int64_t serial)
{
    struct asked asked = {.serial = 0};

    for (size_t i = 0; i < acp->asked_count; i++) {
        if (acp->asked[i].serial == serial) {
            asked = acp->asked[i];
            acp->asked[i] = acp->asked[--acp->asked_count];
            break;
        }
    }
    return asked;
}

/* An error's words; some agents say in its data alone what is the matter. The caller frees. */
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

static void on_answer(void *arg, const struct rpc_answer *from)
{
    struct acp *acp = arg;
    struct asked asked = take_asked(acp, from->serial);
    struct acp_words modes = {.count = 0};
    _cleanup_free_ char *words = error_words(from);
    struct acp_answer answer = {
        .call = asked.call,
        .serial = from->serial,
        .ok = from->ok,
        .code = from->code,
        .message = words,
        .session = asked.session,
        .result = from->result,
    };

    if (asked.serial == 0 || acp->freed) {
        free_asked(&asked);
        return;
    }
    if (answer.ok)
        read_result(acp, &asked, &answer, &modes);
    if (asked.call == ACP_CALL_PROMPT) /* a turn that has ended asks for nothing more */
        cancel_permissions(acp, asked.session, true);
    if (!acp->freed)
        acp->ops->answer(acp->arg, &answer);
    acp_words_free(&modes);
    free_asked(&asked);
}

/* ---- requests and notifications of the agent */

static bool is_cancelled(const struct acp *acp, const char *session)
{
    for (size_t i = 0; i < acp->asked_count; i++) {
        const struct asked *asked = &acp->asked[i];

        if (asked->call == ACP_CALL_PROMPT && asked->cancelled &&
            strcmp(asked->session, session) == 0)
            return true;
    }
    return false;
}

static void keep_permission(struct acp *acp, const char *ticket, const char *session,
                            const struct acp_words *options)
{
    struct permission *permission;

    acp->permissions = mem_room(acp->permissions, acp->permission_count, sizeof(*permission));
    permission = &acp->permissions[acp->permission_count++];
    *permission = (struct permission){.ticket = mem_dup(ticket), .session = mem_dup(session)};
    for (size_t i = 0; i < options->count; i++)
        strv_push(&permission->options, options->word[i].id);
}

static void on_permission(struct acp *acp, const struct rpc_request *request, const char *session)
{
    static const struct acp_word_keys keys = {.id = "optionId", .name = "name", .kind = "kind"};
    const struct json *tool = json_get(request->params, "toolCall");
    struct acp_words options = acp_words_read(json_get(request->params, "options"), &keys);
    struct acp_permission permission = {.ticket = request->ticket,
                                        .session = session,
                                        .options = options.word,
                                        .count = options.count};
    struct acp_news news;

    if (!json_is_object(tool) || options.count == 0) {
        (void)rpc_refuse(acp->rpc, request->ticket, RPC_INVALID_PARAMS,
                         "a permission needs toolCall and options");
    } else if (is_cancelled(acp, session)) {
        reply_permission(acp, request->ticket, NULL);
    } else {
        acp_news_read_tool(session, tool, &news);
        permission.tool = news.update;
        keep_permission(acp, request->ticket, session, &options);
        acp->ops->permission(acp->arg, &permission);
        acp_news_free(&news);
    }
    acp_words_free(&options);
}

static void on_update(struct acp *acp, const struct json *params)
{
    const char *session = json_get_text(params, "sessionId");
    const struct json *update = json_get(params, "update");
    struct acp_news news;

    if (session == NULL || !json_is_object(update))
        return;
    acp_news_read(session, update, &news);
    acp->ops->update(acp->arg, &news.update);
    acp_news_free(&news);
}

/* Also what the caller serves may be taken back: nobody waits for it any more. */
static void on_cancel_request(struct acp *acp, const struct json *params)
{
    const char *ticket = rpc_ticket_of(acp->rpc, json_get(params, "requestId"));
    _cleanup_free_ char *kept = mem_dup(ticket); /* the table moves */
    size_t i;

    if (kept == NULL)
        return;
    (void)rpc_refuse(acp->rpc, kept, ACP_CANCELLED, "cancelled");
    i = find_permission(acp, kept);
    if (i < acp->permission_count) {
        struct permission permission = take_permission(acp, i);

        free_permission(&permission);
    }
    acp->ops->withdrawn(acp->arg, kept);
}

static bool is_served(const char *method)
{
    static const char *const served[] = {
        "fs/read_text_file",      "fs/write_text_file", "terminal/create",  "terminal/output",
        "terminal/wait_for_exit", "terminal/kill",      "terminal/release",
    };

    for (size_t i = 0; i < ARRAY_LEN(served); i++) {
        if (strcmp(method, served[i]) == 0)
            return true;
    }
    return false;
}

static void on_notification(struct acp *acp, const struct rpc_request *request)
{
    if (strcmp(request->method, "session/update") == 0)
        on_update(acp, request->params);
    else if (strcmp(request->method, "$/cancel_request") == 0)
        on_cancel_request(acp, request->params);
}

static void on_request(void *arg, const struct rpc_request *from)
{
    struct acp *acp = arg;
    const char *session = json_get_text(from->params, "sessionId");
    bool asks = strcmp(from->method, "session/request_permission") == 0;
    struct acp_request request = {
        .ticket = from->ticket, .method = from->method, .session = session, .params = from->params};

    if (acp->freed)
        return;
    if (from->ticket == NULL)
        on_notification(acp, from);
    else if (!asks && (acp->ops->request == NULL || !is_served(from->method)))
        (void)rpc_refuse(acp->rpc, from->ticket, RPC_NO_METHOD, "method not found");
    else if (session == NULL)
        (void)rpc_refuse(acp->rpc, from->ticket, RPC_INVALID_PARAMS, "sessionId is missing");
    else if (asks)
        on_permission(acp, from, session);
    else
        acp->ops->request(acp->arg, &request);
}

void acp_answer_request(struct acp *acp, const char *ticket, const char *result)
{
    (void)rpc_reply(acp->rpc, ticket, result);
}

void acp_refuse(struct acp *acp, const char *ticket, int code, const char *message)
{
    (void)rpc_refuse(acp->rpc, ticket, code, message);
}

static void on_garbage(void *arg, const char *why, const char *bytes, size_t len)
{
    struct acp *acp = arg;

    if (!acp->freed)
        acp->ops->garbage(acp->arg, why, bytes, len);
}

static const struct rpc_spec spec = {
    .request = on_request,
    .answer = on_answer,
    .garbage = on_garbage,
    .line_max = ACP_LINE_MAX,
    .out_max = ACP_OUT_MAX,
};
