/*
 * The life of a client, permissions, and what else agents ask; acp_call.c has our own requests,
 * acp_update.c reads updates. A permission is in a table from its request to its answer, its
 * withdrawal or the end of its turn. It leaves the table before anybody is told, because a callback
 * may change the table. acp_free() in a callback takes effect when that has returned.
 */

#include "protocol/acp.h"

#include "protocol/acp_internal.h"

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

static void free_permission(struct acp_open_permission *permission)
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
    acp_info_free(&acp->info);
    for (size_t i = 0; i < acp->asked_count; i++)
        acp_asked_free(&acp->asked[i]);
    free(acp->asked);
    for (size_t i = 0; i < acp->permission_count; i++)
        free_permission(&acp->permissions[i]);
    free(acp->permissions);
    free(acp->meta);
    free(acp->system);
    strv_free(acp->directories);
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

void acp_delay(struct acp *acp, int64_t ms)
{
    rpc_delay(acp->rpc, ms);
}

const struct acp_info *acp_info(const struct acp *acp)
{
    return &acp->info;
}

/* ---- permissions */

static void reply_permission(struct acp *acp, const char *ticket, const char *option)
{
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = acp_open_params(&result);

    json_open(&out, "outcome", '{');
    json_put(&out, "outcome", option != NULL ? "selected" : "cancelled");
    if (option != NULL)
        json_put(&out, "optionId", option);
    json_close(&out, '}');
    json_close(&out, '}');
    (void)rpc_reply(acp->rpc, ticket, result.data);
}

static struct acp_open_permission parse_permission(struct acp *acp, size_t i)
{
    struct acp_open_permission permission = acp->permissions[i];

    acp->permission_count--;
    memmove(&acp->permissions[i], &acp->permissions[i + 1],
            (acp->permission_count - i) * sizeof(*acp->permissions));
    return permission;
}

/* Returns the index of the request with this ticket, or permission_count. */
static size_t find_permission(const struct acp *acp, const char *ticket)
{
    size_t i = 0;

    while (i < acp->permission_count && strcmp(acp->permissions[i].ticket, ticket) != 0)
        i++;
    return i;
}

static bool has_option(const struct acp_open_permission *permission, const char *option)
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
    struct acp_open_permission permission;

    if (i == acp->permission_count || (option != NULL && !has_option(&acp->permissions[i], option)))
        return false;
    permission = parse_permission(acp, i);
    reply_permission(acp, permission.ticket, option);
    free_permission(&permission);
    return true;
}

/* Answers the open permission requests of a session with `cancelled`; with `tell` it calls
 * ops->withdrawn. */
static void cancel_permissions(struct acp *acp, const char *session, bool tell)
{
    for (size_t i = 0; i < acp->permission_count;) {
        struct acp_open_permission permission;

        if (strcmp(acp->permissions[i].session, session) != 0) {
            i++;
            continue;
        }
        permission = parse_permission(acp, i);
        reply_permission(acp, permission.ticket, NULL);
        if (tell && !acp->freed)
            acp->ops->withdrawn(acp->arg, permission.ticket);
        free_permission(&permission);
        i = 0; /* the callback may have changed the table */
    }
}

void acp_cancel(struct acp *acp, const char *session)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = acp_open_params(&params);

    json_put(&out, "sessionId", session);
    json_close(&out, '}');
    rpc_tell(acp->rpc, "session/cancel", params.data);
    for (size_t i = 0; i < acp->asked_count; i++) {
        struct acp_asked *asked = &acp->asked[i];

        if (asked->call == ACP_CALL_PROMPT && strcmp(asked->session, session) == 0)
            asked->cancelled = true;
    }
    cancel_permissions(acp, session, false);
}

/* ---- requests and notifications of the agent */

static bool is_cancelled(const struct acp *acp, const char *session)
{
    for (size_t i = 0; i < acp->asked_count; i++) {
        const struct acp_asked *asked = &acp->asked[i];

        if (asked->call == ACP_CALL_PROMPT && asked->cancelled &&
            strcmp(asked->session, session) == 0)
            return true;
    }
    return false;
}

static void keep_permission(struct acp *acp, const char *ticket, const char *session,
                            const struct word_list *options)
{
    struct acp_open_permission *permission;

    acp->permissions = mem_room(acp->permissions, acp->permission_count, sizeof(*permission));
    permission = &acp->permissions[acp->permission_count++];
    *permission =
        (struct acp_open_permission){.ticket = mem_dup(ticket), .session = mem_dup(session)};
    for (size_t i = 0; i < options->count; i++)
        strv_push(&permission->options, options->word[i].id);
}

static void on_permission(struct acp *acp, const struct rpc_request *request, const char *session)
{
    static const struct word_keys keys = {.id = "optionId", .name = "name", .kind = "kind"};
    const struct json *tool = json_get(request->params, "toolCall");
    struct word_list options = word_list_read(json_get(request->params, "options"), &keys);
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
    word_list_free(&options);
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

/* The agent may withdraw permission requests and requests that the caller serves. */
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
        struct acp_open_permission permission = parse_permission(acp, i);

        free_permission(&permission);
    }
    acp->ops->withdrawn(acp->arg, kept);
}

static bool is_served(const char *method)
{
    static const char *const served[] = {
        "fs/read_text_file",      "fs/write_text_file", "terminal/create",  "terminal/output",
        "terminal/wait_for_exit", "terminal/kill",      "terminal/release", "elicitation/create",
    };

    for (size_t i = 0; i < ARRAY_LEN(served); i++) {
        if (strcmp(method, served[i]) == 0)
            return true;
    }
    return false;
}

static void on_notification(struct acp *acp, const struct rpc_request *request)
{
    const char *elicitation = json_get_text(request->params, "elicitationId");

    if (strcmp(request->method, "session/update") == 0)
        on_update(acp, request->params);
    else if (strcmp(request->method, "$/cancel_request") == 0)
        on_cancel_request(acp, request->params);
    else if (strcmp(request->method, "elicitation/complete") == 0 && elicitation != NULL &&
             acp->ops->completed != NULL)
        acp->ops->completed(acp->arg, elicitation);
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

/* The open permissions of a prompt are void when it has its answer. */
static void on_answer(void *arg, const struct rpc_answer *from)
{
    struct acp *acp = arg;
    size_t i = 0;

    while (i < acp->asked_count && acp->asked[i].serial != from->serial)
        i++;
    if (i < acp->asked_count && acp->asked[i].call == ACP_CALL_PROMPT && !acp->freed)
        cancel_permissions(acp, acp->asked[i].session, true);
    acp_on_answer(acp, from);
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

const char *acp_why(const struct acp_answer *answer, char *buf, size_t size)
{
    enum { WHY_SHOWN = 200 }; /* bytes of the agent's words */
    const char *words =
        answer->message != NULL && answer->message[0] != '\0' ? answer->message : "unknown error";

    if (answer->code == ACP_TIMED_OUT)
        (void)snprintf(buf, size, "no answer in time");
    else if (answer->code == ACP_BAD_ANSWER)
        (void)snprintf(buf, size, "%.*s", (int)str_fit(words, WHY_SHOWN), words);
    else
        (void)snprintf(buf, size, "%.*s (%lld)", (int)str_fit(words, WHY_SHOWN), words,
                       (long long)answer->code);
    return buf;
}
