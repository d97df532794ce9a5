/*
 * The part of protocol/acp_agent.h that tells an editor something or asks it. Each function writes
 * one message and leaves it to the rpc; what was told is not kept. Words that the protocol does not
 * have, which another version of an agent may use, become one that it has.
 */

#include "protocol/acp_agent_internal.h"

/* ---- updates */

/* Begins the parameters of session/update; send_update() ends them. */
static void open_update(struct json_out *out, const char *session, const char *kind)
{
    json_open(out, NULL, '{');
    json_put(out, "sessionId", session);
    json_open(out, "update", '{');
    json_put(out, "sessionUpdate", kind);
}

static void send_update(struct acp_agent *agent, struct json_out *out)
{
    json_close(out, '}');
    json_close(out, '}');
    rpc_tell(agent->rpc, "session/update", out->to->data);
}

static void put_text(struct json_out *out, const char *key, const char *text, size_t len)
{
    _cleanup_free_ char *copy = mem_dupn(text, len);

    json_put_all(out, JO(key), JT("type", "text"), JT("text", copy), JOE);
}

void acp_agent_chunk(struct acp_agent *agent, const char *session, enum acp_update_kind kind,
                     const char *message, const char *text, size_t len)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = {.to = &params};

    open_update(&out, session,
                kind == ACP_USER      ? "user_message_chunk"
                : kind == ACP_THOUGHT ? "agent_thought_chunk"
                                      : "agent_message_chunk");
    if (message != NULL)
        json_put(&out, "messageId", message);
    put_text(&out, "content", text, len);
    send_update(agent, &out);
}

/* Returns `word` if the protocol has it, otherwise `fallback`. */
static const char *known_word(const char *const *words, const char *word, const char *fallback)
{
    for (size_t i = 0; word != NULL && words[i] != NULL; i++)
        if (strcmp(words[i], word) == 0)
            return words[i];
    return fallback;
}

static void put_tool(struct json_out *out, const struct acp_agent_tool *tool)
{
    static const char *const kinds[] = {"read",        "edit",    "delete", "move",
                                        "search",      "execute", "think",  "fetch",
                                        "switch_mode", "other",   NULL};
    static const char *const statuses[] = {"pending", "in_progress", "completed", "failed", NULL};

    json_put(out, "toolCallId", tool->id);
    if (!tool->known || (tool->title != NULL && tool->title[0] != '\0'))
        json_put(out, "title", tool->title != NULL ? tool->title : "");
    if (!tool->known || tool->kind != NULL)
        json_put(out, "kind", known_word(kinds, tool->kind, "other"));
    const char *status = known_word(statuses, tool->status, tool->known ? NULL : "pending");
    if (status != NULL)
        json_put(out, "status", status);
    if (tool->text == NULL || tool->len == 0)
        return;
    json_open(out, "content", '[');
    json_open(out, NULL, '{');
    json_put(out, "type", "content");
    put_text(out, "content", tool->text, tool->len);
    json_close(out, '}');
    json_close(out, ']');
}

void acp_agent_tool(struct acp_agent *agent, const char *session, const struct acp_agent_tool *tool)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = {.to = &params};

    open_update(&out, session, tool->known ? "tool_call_update" : "tool_call");
    put_tool(&out, tool);
    send_update(agent, &out);
}

void acp_agent_plan(struct acp_agent *agent, const char *session, const struct json *entries)
{
    static const char *const priorities[] = {"high", "medium", "low", NULL};
    static const char *const statuses[] = {"pending", "in_progress", "completed", NULL};
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = {.to = &params};

    open_update(&out, session, "plan");
    json_open(&out, "entries", '[');
    for (const struct json *entry = json_first(entries); entry != NULL; entry = json_next(entry)) {
        json_put_all(
            &out, JO(NULL), JT("content", json_get_text_or(entry, "content", "")),
            JT("priority",
               known_word(priorities, json_get_text_or(entry, "priority", ""), "medium")),
            JT("status", known_word(statuses, json_get_text_or(entry, "status", ""), "pending")),
            JOE);
    }
    json_close(&out, ']');
    send_update(agent, &out);
}

void acp_agent_commands(struct acp_agent *agent, const char *session, const struct word *words,
                        size_t count)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = {.to = &params};

    open_update(&out, session, "available_commands_update");
    json_open(&out, "availableCommands", '[');
    for (size_t i = 0; i < count; i++) {
        json_open(&out, NULL, '{');
        json_put(&out, "name", words[i].name);
        json_put(&out, "description", words[i].description);
        if (words[i].kind != NULL && words[i].kind[0] != '\0') {
            json_put_all(&out, JO("input"), JT("hint", words[i].kind), JOE);
        }
        json_close(&out, '}');
    }
    json_close(&out, ']');
    send_update(agent, &out);
}

/* Sends an update with one member. */
static void send_member(struct acp_agent *agent, const char *session, const char *update,
                        const char *key, const char *text)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = {.to = &params};

    open_update(&out, session, update);
    json_put(&out, key, text);
    send_update(agent, &out);
}

void acp_agent_mode(struct acp_agent *agent, const char *session, const char *mode)
{
    send_member(agent, session, "current_mode_update", "currentModeId", mode);
}

void acp_agent_options(struct acp_agent *agent, const char *session, const char *options)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = {.to = &params};

    open_update(&out, session, "config_option_update");
    json_put_raw(&out, "configOptions", options);
    send_update(agent, &out);
}

void acp_agent_title(struct acp_agent *agent, const char *session, const char *title)
{
    send_member(agent, session, "session_info_update", "title", title);
}

void acp_agent_usage(struct acp_agent *agent, const char *session, int64_t used, int64_t size,
                     const struct money *cost)
{
    char amount[MONEY_TEXT];
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = {.to = &params};

    open_update(&out, session, "usage_update");
    json_put_int(&out, "used", used > 0 ? used : 0);
    json_put_int(&out, "size", size > 0 ? size : 0);
    if (cost->currency[0] != '\0') {
        money_format_number(cost->micro, amount);
        json_put_all(&out, JO("cost"), JR("amount", amount), JT("currency", cost->currency), JOE);
    }
    send_update(agent, &out);
}

/* ---- permissions */

int64_t acp_agent_ask_permission(struct acp_agent *agent, const char *session,
                                 const struct acp_agent_tool *tool, const struct word *options,
                                 size_t count)
{
    static const char *const kinds[] = {"allow_once", "allow_always", "reject_once",
                                        "reject_always", NULL};
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = {.to = &params};

    json_open(&out, NULL, '{');
    json_put(&out, "sessionId", session);
    json_open(&out, "toolCall", '{');
    put_tool(&out, tool);
    json_close(&out, '}');
    json_open(&out, "options", '[');
    for (size_t i = 0; i < count; i++) {
        json_put_all(&out, JO(NULL), JT("optionId", options[i].id), JT("name", options[i].name),
                     JT("kind", known_word(kinds, options[i].kind, "allow_once")), JOE);
    }
    json_close(&out, ']');
    json_close(&out, '}');
    return rpc_ask(agent->rpc, "session/request_permission", params.data, -1);
}

bool acp_agent_elicits(const struct acp_agent *agent,
                       const struct acp_agent_elicitation *elicitation)
{
    if (elicitation->form != NULL)
        return agent->elicits_form;
    return agent->elicits_url && elicitation->url != NULL && elicitation->id != NULL;
}

int64_t acp_agent_elicit(struct acp_agent *agent, const char *session,
                         const struct acp_agent_elicitation *elicitation)
{
    bool is_form = elicitation->form != NULL;
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = {.to = &params};

    json_open(&out, NULL, '{');
    json_put(&out, "mode", is_form ? "form" : "url");
    json_put(&out, "sessionId", session);
    if (elicitation->tool != NULL)
        json_put(&out, "toolCallId", elicitation->tool);
    json_put(&out, "message", elicitation->message != NULL ? elicitation->message : "");
    if (is_form) {
        json_put_node(&out, "requestedSchema", elicitation->form);
    } else {
        json_put(&out, "elicitationId", elicitation->id);
        json_put(&out, "url", elicitation->url);
    }
    json_close(&out, '}');
    return rpc_ask(agent->rpc, "elicitation/create", params.data, -1);
}

void acp_agent_elicited(struct acp_agent *agent, const char *id)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = {.to = &params};

    if (!agent->elicits_url)
        return;
    json_put_all(&out, JO(NULL), JT("elicitationId", id), JOE);
    rpc_tell(agent->rpc, "elicitation/complete", params.data);
}

void acp_agent_withdraw(struct acp_agent *agent, int64_t serial)
{
    _cleanup_str_ struct str params = STR_INIT;
    struct json_out out = {.to = &params};

    rpc_forget(agent->rpc, serial);
    json_put_all(&out, JO(NULL), JI("requestId", serial), JOE);
    rpc_tell(agent->rpc, "$/cancel_request", params.data);
}

/* ---- parts of answers */

void acp_agent_put_modes(struct json_out *out, const char *mode, const struct json *modes)
{
    if (json_first(modes) == NULL)
        return;
    json_open(out, "modes", '{');
    json_put(out, "currentModeId", mode != NULL ? mode : "");
    json_open(out, "availableModes", '[');
    for (const struct json *m = json_first(modes); m != NULL; m = json_next(m)) {
        const char *name = json_get_text_or(m, "name", "");
        json_put_all(out, JO(NULL), JT("id", json_get_text_or(m, "id", "")),
                     JT("name", name[0] != '\0' ? name : json_get_text_or(m, "id", "")), JOE);
    }
    json_close(out, ']');
    json_close(out, '}');
}

void acp_agent_put_options(const struct acp_agent *agent, struct json_out *out, const char *key,
                           const struct json *options)
{
    json_open(out, key, '[');
    for (const struct json *o = json_first(options); o != NULL; o = json_next(o)) {
        const char *name = json_get_text_or(o, "name", "");
        const struct json *values = json_get(o, "values");
        const char *value = json_get_text_or(o, "value", "");
        bool is_switch =
            agent->has_switches && strcmp(json_get_text_or(o, "type", ""), "boolean") == 0;
        json_open(out, NULL, '{');
        json_put(out, "id", json_get_text_or(o, "id", ""));
        json_put(out, "name", name[0] != '\0' ? name : json_get_text_or(o, "id", ""));
        if (json_get_text(o, "category") != NULL)
            json_put(out, "category", json_get_text(o, "category"));
        json_put(out, "type", is_switch ? "boolean" : "select");
        if (is_switch) {
            json_put_bool(out, "currentValue", strcmp(value, "true") == 0);
            json_close(out, '}');
            continue;
        }
        json_put(out, "currentValue", value);
        json_open(out, "options", '[');
        for (const struct json *v = json_first(values); v != NULL; v = json_next(v)) {
            const char *words = json_get_text_or(v, "name", "");
            json_put_all(out, JO(NULL), JT("value", json_get_text_or(v, "value", "")),
                         JT("name", words[0] != '\0' ? words : json_get_text_or(v, "value", "")),
                         JOE);
        }
        json_close(out, ']');
        json_close(out, '}');
    }
    json_close(out, ']');
}
