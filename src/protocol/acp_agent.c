/*
 * What an editor asks; acp_agent_tell.c has what it is told. A request goes through the table of
 * methods, which says what members it needs; the caller sees it only if they are there. The blocks
 * of a prompt become one text, embedded ones last. Open requests are in the rpc alone: nothing is
 * kept of them here.
 */

#include "protocol/acp_agent.h"

#include "model/message.h"
#include "protocol/acp_agent_internal.h"

enum { PROTOCOL = 1 };

static void handle_request(void *arg, const struct rpc_request *request);

/* The options that the host has for it are named like the actions; a cancel leaves it open for
 * others. */
static void handle_elicited(struct acp_agent *agent, const struct rpc_answer *answer)
{
    const char *action = json_get_text_or(answer->result, "action", "cancel");
    const struct json *content = json_get(answer->result, "content");
    bool accepts = strcmp(action, "accept") == 0;

    agent->ops->permitted(agent->arg, answer->serial,
                          accepts || strcmp(action, "decline") == 0 ? action : NULL,
                          accepts && json_is_object(content) ? content : NULL);
}

static void handle_answer(void *arg, const struct rpc_answer *answer)
{
    struct acp_agent *agent = arg;
    const struct json *outcome = json_get(answer->result, "outcome");
    const char *word = json_get_text(outcome, "outcome");
    bool chosen = answer->ok && word != NULL && strcmp(word, "selected") == 0;

    if (answer->ok && outcome == NULL)
        handle_elicited(agent, answer);
    else
        agent->ops->permitted(agent->arg, answer->serial,
                              chosen ? json_get_text(outcome, "optionId") : NULL, NULL);
}

static void handle_garbage(void *arg, const char *why, const char *bytes, size_t len)
{
    struct acp_agent *agent = arg;

    if (agent->ops->garbage != NULL)
        agent->ops->garbage(agent->arg, why, bytes, len);
}

static const struct rpc_spec spec = {
    .request = handle_request,
    .answer = handle_answer,
    .garbage = handle_garbage,
    .line_max = ACP_AGENT_LINE_MAX,
    .out_max = ACP_AGENT_OUT_MAX,
};

struct acp_agent *acp_agent_new(const struct acp_agent_ops *ops, void *arg,
                                const struct acp_agent_self *self)
{
    struct acp_agent *agent = mem_alloc(sizeof *agent);

    agent->ops = ops;
    agent->arg = arg;
    agent->self = self;
    agent->rpc = rpc_new(&spec, agent);
    return agent;
}

void acp_agent_free(struct acp_agent *agent)
{
    if (agent == NULL)
        return;
    rpc_free(agent->rpc);
    free(agent);
}

const char *acp_agent_out(const struct acp_agent *agent, size_t *ret_len)
{
    return rpc_out(agent->rpc, ret_len);
}

void acp_agent_sent(struct acp_agent *agent, size_t len)
{
    rpc_sent(agent->rpc, len);
}

bool acp_agent_is_stuck(const struct acp_agent *agent)
{
    return rpc_is_stuck(agent->rpc);
}

void acp_agent_feed(struct acp_agent *agent, const char *bytes, size_t len)
{
    rpc_feed(agent->rpc, bytes, len);
}

bool acp_agent_answer(struct acp_agent *agent, const char *ticket, const char *result)
{
    return rpc_reply(agent->rpc, ticket, result != NULL ? result : "{}");
}

bool acp_agent_refuse(struct acp_agent *agent, const char *ticket, int code, const char *message)
{
    return rpc_refuse(agent->rpc, ticket, code, message);
}

/* ---- prompts */

/* Appends text with \n instead of \r\n. */
static void add_text(struct str *to, const char *text)
{
    for (const char *cr; (cr = strstr(text, "\r\n")) != NULL; text = cr + 1)
        str_addn(to, text, (size_t)(cr - text));
    str_add(to, text);
}

static void add_link(struct str *to, const struct json *block)
{
    const char *name = json_get_text_or(block, "name", "");
    const char *uri = json_get_text_or(block, "uri", "");

    str_addf(to, "[@%s](%s)", name[0] != '\0' ? name : uri, uri);
}

static void add_resource(struct str *to, const struct json *resource)
{
    str_addf(to, "\n<context uri=\"%s\">\n", json_get_text_or(resource, "uri", ""));
    add_text(to, json_get_text_or(resource, "text", ""));
    str_add(to, "\n</context>");
}

/* Joins the blocks of a prompt into one text, with embedded resources at the end. Returns NULL, or
 * the reason why that is impossible. */
static const char *read_blocks(const struct json *blocks, struct str *ret)
{
    _cleanup_str_ struct str behind = STR_INIT;
    bool pictures = false;

    if (!json_is_array(blocks))
        return "the prompt is not an array of content blocks";
    for (const struct json *block = json_first(blocks); block != NULL; block = json_next(block)) {
        const char *type = json_get_text_or(block, "type", "");
        const struct json *resource = json_get(block, "resource");
        if (strcmp(type, "text") == 0)
            add_text(ret, json_get_text_or(block, "text", ""));
        else if (strcmp(type, "resource_link") == 0)
            add_link(ret, block);
        else if (strcmp(type, "resource") == 0 && json_get_text(resource, "text") != NULL)
            add_resource(&behind, resource);
        else if (strcmp(type, "image") == 0 && json_get_text(block, "data") != NULL)
            pictures = true;
        else
            return "a prompt may contain only text, links, embedded text and images";
        if (ret->len + behind.len > ACP_AGENT_PROMPT_MAX)
            return "the prompt is too long";
    }
    str_addn(ret, str_text(&behind), behind.len);
    return !pictures && message_is_blank(str_text(ret), ret->len) ? "the prompt is empty" : NULL;
}

/* ---- requests */

static void refuse(struct acp_agent *agent, const char *ticket, int code, const char *why)
{
    (void)rpc_refuse(agent->rpc, ticket, code, why);
}

static void do_initialize(struct acp_agent *agent, const struct rpc_request *request)
{
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};

    if (!json_is_number(json_get(request->params, "protocolVersion"))) {
        refuse(agent, request->ticket, RPC_INVALID_PARAMS, "protocolVersion is missing");
        return;
    }
    const struct json *can = json_get(request->params, "clientCapabilities");
    const struct json *elicits = json_get(can, "elicitation");
    const struct json *options = json_get(json_get(can, "session"), "configOptions");
    agent->initialized = true;
    agent->elicits_form = json_is_object(json_get(elicits, "form"));
    agent->elicits_url = json_is_object(json_get(elicits, "url"));
    agent->has_switches = json_is_object(json_get(options, "boolean"));
    json_put_all(&out, JO(NULL), JI("protocolVersion", PROTOCOL),
                 JR("agentCapabilities",
                    "{\"loadSession\":true,"
                    "\"promptCapabilities\":{\"image\":true,\"audio\":false,"
                    "\"embeddedContext\":true},"
                    "\"mcpCapabilities\":{\"http\":false,\"sse\":false},"
                    "\"sessionCapabilities\":{\"list\":{},\"resume\":{},\"close\":{}}}"),
                 JO("agentInfo"), JT("name", agent->self->name), JT("title", agent->self->title),
                 JT("version", agent->self->version), JOE, JR("authMethods", "[]"), JOE);
    (void)rpc_reply(agent->rpc, request->ticket, result.data);
}

static void do_authenticate(struct acp_agent *agent, const struct rpc_request *request)
{
    refuse(agent, request->ticket, RPC_INVALID_PARAMS,
           "mas has no login of its own: log in with the agent's own program");
}

/* The members that a method requires. */
enum needs {
    NEEDS_SESSION = 1,
    NEEDS_CWD = 2,
    NEEDS_MODE = 4,
    NEEDS_OPTION = 8,
    NEEDS_PROMPT = 16
};

static const struct {
    const char *name;
    enum acp_call call;
    unsigned needs;
} methods[] = {
    {"session/new", ACP_CALL_NEW, NEEDS_CWD},
    {"session/load", ACP_CALL_LOAD, NEEDS_SESSION | NEEDS_CWD},
    {"session/resume", ACP_CALL_RESUME, NEEDS_SESSION | NEEDS_CWD},
    {"session/close", ACP_CALL_CLOSE, NEEDS_SESSION},
    {"session/list", ACP_CALL_LIST, 0},
    {"session/prompt", ACP_CALL_PROMPT, NEEDS_SESSION | NEEDS_PROMPT},
    {"session/set_mode", ACP_CALL_SET_MODE, NEEDS_SESSION | NEEDS_MODE},
    {"session/set_config_option", ACP_CALL_SET_OPTION, NEEDS_SESSION | NEEDS_OPTION},
};

static const char *value_of(const struct json *value)
{
    if (value == NULL || json_is_string(value))
        return json_text(value);
    if (json_is_null(value) || json_is_number(value) || json_is_array(value) ||
        json_is_object(value))
        return NULL;
    return json_bool(value, false) ? "true" : "false";
}

static bool is_id(const char *text)
{
    return text != NULL && text[0] != '\0' && strlen(text) <= ACP_ID_MAX;
}

static void hand_on(struct acp_agent *agent, size_t method, const struct rpc_request *request)
{
    const struct json *params = request->params;
    unsigned needs = methods[method].needs;
    _cleanup_str_ struct str text = STR_INIT;
    const char *why = NULL;
    struct editor_request asked = {
        .call = methods[method].call,
        .ticket = request->ticket,
        .session = (needs & NEEDS_SESSION) != 0 ? json_get_text(params, "sessionId") : NULL,
        .cwd = json_get_text(params, "cwd"),
        .cursor = json_get_text(params, "cursor"),
        .mode = json_get_text(params, "modeId"),
        .option = json_get_text(params, "configId"),
        .value = value_of(json_get(params, "value")),
    };

    if ((needs & NEEDS_SESSION) != 0 && !is_id(asked.session))
        why = "sessionId is missing";
    else if ((needs & NEEDS_CWD) != 0 && (asked.cwd == NULL || asked.cwd[0] != '/'))
        why = "cwd is not an absolute path";
    else if (asked.cwd != NULL && strlen(asked.cwd) >= PATH_MAX) /* session/list returns it */
        why = "cwd is too long";
    else if ((needs & NEEDS_MODE) != 0 && !is_id(asked.mode))
        why = "modeId is missing";
    else if ((needs & NEEDS_OPTION) != 0 && (!is_id(asked.option) || !is_id(asked.value)))
        why = "configId or value is missing";
    else if ((needs & NEEDS_PROMPT) != 0)
        why = read_blocks(json_get(params, "prompt"), &text);
    if (why != NULL) {
        refuse(agent, request->ticket, RPC_INVALID_PARAMS, why);
        return;
    }
    asked.text = (needs & NEEDS_PROMPT) != 0 ? str_text(&text) : NULL;
    asked.blocks = json_get(params, "prompt");
    asked.len = text.len;
    agent->ops->request(agent->arg, &asked);
}

static void handle_notification(struct acp_agent *agent, const struct rpc_request *request)
{
    const char *session = json_get_text(request->params, "sessionId");

    if (!agent->initialized)
        return;
    if (strcmp(request->method, "session/cancel") == 0 && session != NULL) {
        agent->ops->cancel(agent->arg, session);
    } else if (strcmp(request->method, "$/cancel_request") == 0) {
        const char *ticket = rpc_ticket_of(agent->rpc, json_get(request->params, "requestId"));
        if (ticket != NULL)
            agent->ops->withdrawn(agent->arg, ticket);
    }
}

static void handle_request(void *arg, const struct rpc_request *request)
{
    struct acp_agent *agent = arg;

    if (request->ticket == NULL) {
        handle_notification(agent, request);
        return;
    }
    if (strcmp(request->method, "initialize") == 0) {
        do_initialize(agent, request);
        return;
    }
    if (!agent->initialized) {
        refuse(agent, request->ticket, RPC_INVALID_REQUEST, "call initialize first");
        return;
    }
    if (strcmp(request->method, "authenticate") == 0) {
        do_authenticate(agent, request);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if (strcmp(methods[i].name, request->method) == 0) {
            hand_on(agent, i, request);
            return;
        }
    }
    refuse(agent, request->ticket, RPC_NO_METHOD, "method not found");
}
