/*
 * A request that names the newest revision is answered in its form, any other in that of the
 * handshake; since the answer to a call comes later, the tickets of calls of the former kind are
 * kept until then. Arguments that are wrong are a result, which the model sees and can correct; a
 * tool or method that does not exist is an error of the protocol.
 */

#include "protocol/mcp.h"

#include "protocol/rpc.h"

enum { UNSUPPORTED_VERSION = -32022, CACHE_MS = 3600 * 1000 };

#define META "io.modelcontextprotocol/"

/* Revisions that begin with initialize, newest first. */
static const char *const handshakes[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

struct mcp {
    const struct mcp_ops *ops;
    void *arg;
    const struct mcp_self *self;
    const struct model_tool *const *tools;
    size_t count;
    struct rpc *rpc;
    bool initialized;
    char **modern; /* tickets of open calls that name the newest revision */
};

static void handle_request(void *arg, const struct rpc_request *request);

static void handle_answer(void *arg, const struct rpc_answer *answer)
{
    (void)arg; /* this server sends no requests */
    (void)answer;
}

static const struct rpc_spec spec = {
    .request = handle_request,
    .answer = handle_answer,
    .garbage = NULL,
    .line_max = MCP_LINE_MAX,
    .out_max = MCP_OUT_MAX,
};

struct mcp *mcp_new(const struct mcp_ops *ops, void *arg, const struct mcp_self *self,
                    const struct model_tool *const *tools, size_t count)
{
    struct mcp *mcp = mem_alloc(sizeof *mcp);

    *mcp = (struct mcp){.ops = ops, .arg = arg, .self = self, .tools = tools, .count = count};
    mcp->rpc = rpc_new(&spec, mcp);
    return mcp;
}

void mcp_free(struct mcp *mcp)
{
    if (mcp == NULL)
        return;
    rpc_free(mcp->rpc);
    strv_free(mcp->modern);
    free(mcp);
}

const char *mcp_out(const struct mcp *mcp, size_t *ret_len)
{
    return rpc_out(mcp->rpc, ret_len);
}

void mcp_sent(struct mcp *mcp, size_t len)
{
    rpc_sent(mcp->rpc, len);
}

bool mcp_is_stuck(const struct mcp *mcp)
{
    return rpc_is_stuck(mcp->rpc);
}

void mcp_feed(struct mcp *mcp, const char *bytes, size_t len)
{
    rpc_feed(mcp->rpc, bytes, len);
}

/* ---- answers */

static void put_self(const struct mcp *mcp, struct json_out *out, const char *key)
{
    json_put_all(out, JO(key), JT("name", mcp->self->name), JT("title", mcp->self->title),
                 JT("version", mcp->self->version), JOE);
}

/* Begins a result, with the members that the newest revision requires if the request names it. */
static void open_result(const struct mcp *mcp, struct json_out *out, bool modern)
{
    json_open(out, NULL, '{');
    if (!modern)
        return;
    json_put(out, "resultType", "complete");
    json_open(out, "_meta", '{');
    put_self(mcp, out, META "serverInfo");
    json_close(out, '}');
}

static void send_result(struct mcp *mcp, const char *ticket, struct json_out *out)
{
    json_close(out, '}');
    (void)rpc_reply(mcp->rpc, ticket, out->to->data);
}

static void put_cache(struct json_out *out)
{
    json_put_int(out, "ttlMs", CACHE_MS);
    json_put(out, "cacheScope", "public");
}

static void put_capabilities(const struct mcp *mcp, struct json_out *out)
{
    json_put_raw(out, "capabilities", "{\"tools\":{}}");
    json_put(out, "instructions", mcp->self->instructions);
}

static void do_initialize(struct mcp *mcp, const struct rpc_request *request, bool modern)
{
    const char *wanted = json_get_text(request->params, "protocolVersion");
    const char *version = handshakes[0];
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};

    (void)modern;
    for (size_t i = 0; wanted != NULL && i < ARRAY_LEN(handshakes); i++)
        if (strcmp(handshakes[i], wanted) == 0)
            version = handshakes[i];
    mcp->initialized = true;
    open_result(mcp, &out, false);
    json_put(&out, "protocolVersion", version);
    put_self(mcp, &out, "serverInfo");
    put_capabilities(mcp, &out);
    send_result(mcp, request->ticket, &out);
}

static void put_versions(struct json_out *out, const char *key)
{
    json_open(out, key, '[');
    json_put(out, NULL, MCP_NEWEST);
    for (size_t i = 0; i < ARRAY_LEN(handshakes); i++)
        json_put(out, NULL, handshakes[i]);
    json_close(out, ']');
}

static void do_discover(struct mcp *mcp, const struct rpc_request *request, bool modern)
{
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};

    (void)modern;
    open_result(mcp, &out, true);
    put_versions(&out, "supportedVersions");
    put_capabilities(mcp, &out);
    put_cache(&out);
    send_result(mcp, request->ticket, &out);
}

static void do_ping(struct mcp *mcp, const struct rpc_request *request, bool modern)
{
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};

    open_result(mcp, &out, modern);
    send_result(mcp, request->ticket, &out);
}

/* ---- tools */

static void put_tool(struct json_out *out, const struct model_tool *tool)
{
    json_open(out, NULL, '{');
    json_put_all(out, JT("name", tool->name), JT("title", tool->title),
                 JT("description", tool->help));
    json_open(out, "inputSchema", '{');
    params_put_schema(tool->params, out);
    json_close(out, '}');
    json_put_all(out, JO("annotations"), JB("readOnlyHint", tool->reads),
                 JB("destructiveHint", false), JB("openWorldHint", false), JOE);
    json_close(out, '}');
}

static void do_list(struct mcp *mcp, const struct rpc_request *request, bool modern)
{
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};

    if (json_get_text(request->params, "cursor") != NULL) {
        (void)rpc_refuse(mcp->rpc, request->ticket, RPC_INVALID_PARAMS, "unknown cursor");
        return;
    }
    open_result(mcp, &out, modern);
    json_open(&out, "tools", '[');
    for (size_t i = 0; i < mcp->count; i++)
        put_tool(&out, mcp->tools[i]);
    json_close(&out, ']');
    if (modern)
        put_cache(&out);
    send_result(mcp, request->ticket, &out);
}

/* Returns what is wrong with the arguments, which the caller frees; NULL: nothing. */
static char *check_arguments(const struct model_tool *tool, const struct json *arguments)
{
    if (arguments != NULL && !json_is_object(arguments))
        return mem_dup("the arguments are not an object");
    for (const struct json *node = json_first(arguments); node != NULL; node = json_next(node)) {
        if (param_find(tool->params, json_key(node)) == NULL)
            return mem_printf("unknown argument '%.*s'", 64, json_key(node));
    }
    for (const struct param *p = tool->params; p != NULL && p->name != NULL; p++) {
        _cleanup_str_ struct str why = STR_INIT;
        if (!param_check(p, json_get(arguments, p->name), &why))
            return mem_printf("'%s' %s", p->name, str_text(&why));
    }
    return NULL;
}

/* Removes a ticket from `modern`. Returns true if it was there. */
static bool handle_modern(struct mcp *mcp, const char *ticket)
{
    size_t count = strv_len(mcp->modern);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(mcp->modern[i], ticket) != 0)
            continue;
        free(mcp->modern[i]);
        memmove(mcp->modern + i, mcp->modern + i + 1, (count - i) * sizeof *mcp->modern);
        return true;
    }
    return false;
}

static void do_call(struct mcp *mcp, const struct rpc_request *request, bool modern)
{
    const char *name = json_get_text(request->params, "name");
    const struct json *arguments = json_get(request->params, "arguments");
    size_t i = 0;

    while (i < mcp->count && (name == NULL || strcmp(mcp->tools[i]->name, name) != 0))
        i++;
    if (i == mcp->count) {
        _cleanup_free_ char *why = mem_printf("unknown tool '%.*s'", 64, name != NULL ? name : "");
        (void)rpc_refuse(mcp->rpc, request->ticket, RPC_INVALID_PARAMS, why);
        return;
    }
    if (modern)
        strv_push(&mcp->modern, request->ticket);
    _cleanup_free_ char *why = check_arguments(mcp->tools[i], arguments);
    if (why != NULL) /* an error that the model sees and can correct */
        mcp_result(mcp, request->ticket, why, NULL, true);
    else
        mcp->ops->call(mcp->arg, request->ticket, mcp->tools[i], arguments);
}

void mcp_result(struct mcp *mcp, const char *ticket, const char *text, const char *object,
                bool is_error)
{
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};
    _cleanup_free_ char *own = mem_dup(ticket);

    open_result(mcp, &out, handle_modern(mcp, own));
    json_put_all(&out, JA("content"), JO(NULL), JT("type", "text"), JT("text", text), JOE, JAE);
    if (object != NULL)
        json_put_raw(&out, "structuredContent", object);
    json_put_bool(&out, "isError", is_error);
    send_result(mcp, own, &out);
}

/* ---- requests */

static void do_cancelled(struct mcp *mcp, const struct json *params)
{
    const char *found = rpc_ticket_of(mcp->rpc, json_get(params, "requestId"));

    if (found == NULL)
        return;
    _cleanup_free_ char *ticket = mem_dup(found);
    (void)handle_modern(mcp, ticket);
    mcp->ops->cancelled(mcp->arg, ticket);
    rpc_drop(mcp->rpc, ticket);
}

static const struct {
    const char *name;
    bool free; /* allowed before initialize */
    void (*run)(struct mcp *mcp, const struct rpc_request *request, bool modern);
} methods[] = {
    {"initialize", true, do_initialize},
    {"server/discover", true, do_discover},
    {"ping", true, do_ping},
    {"tools/list", false, do_list},
    {"tools/call", false, do_call},
};

static void refuse_version(struct mcp *mcp, const struct rpc_request *request, const char *version)
{
    _cleanup_str_ struct str data = STR_INIT;
    struct json_out out = {.to = &data};

    json_open(&out, NULL, '{');
    put_versions(&out, "supported");
    json_put(&out, "requested", version);
    json_close(&out, '}');
    (void)rpc_refuse_with(mcp->rpc, request->ticket, UNSUPPORTED_VERSION,
                          "unsupported protocol version", data.data);
}

static void handle_request(void *arg, const struct rpc_request *request)
{
    struct mcp *mcp = arg;
    const char *version = json_get_text(json_get(request->params, "_meta"), META "protocolVersion");
    bool modern = version != NULL && strcmp(version, MCP_NEWEST) == 0;
    size_t i = 0;

    if (request->ticket == NULL) {
        if (strcmp(request->method, "notifications/cancelled") == 0)
            do_cancelled(mcp, request->params);
        return;
    }
    while (i < ARRAY_LEN(methods) && strcmp(methods[i].name, request->method) != 0)
        i++;
    if (version != NULL && !modern && !mcp->initialized)
        refuse_version(mcp, request, version);
    else if (i == ARRAY_LEN(methods))
        (void)rpc_refuse(mcp->rpc, request->ticket, RPC_NO_METHOD, "method not found");
    else if (!methods[i].free && !modern && !mcp->initialized)
        (void)rpc_refuse(mcp->rpc, request->ticket, RPC_INVALID_REQUEST, "call initialize first");
    else
        methods[i].run(mcp, request, modern);
}
