/* Requests that go straight to the host of one agent; no process is started for them. */
#include "base/time.h"
#include "serve/agent.h"
#include "serve/api.h"
#include "serve/server.h"

/* ---- operations of the kind OPERATION_HOST */

/* Writes the fixed members of a request, "VERB KEY=VALUE...", of which a value may be {item}. */
static void put_command(const struct request *request, struct json_out *out)
{
    _cleanup_strv_ char **words = str_split_list(request->operation->command);

    json_put(out, "do", words[0]);
    for (char **word = words + 1; *word != NULL; word++) {
        char *value = strchr(*word, '=');
        *value++ = '\0';
        json_put(out, *word, strcmp(value, "{item}") == 0 ? request->item : value);
    }
}

/* Returns the body of the request, NULL: none. It belongs to request->json. */
static const char *put_params(const struct request *request, struct json_out *out)
{
    const struct param *p = request->operation->params;
    const char *body = NULL;

    for (; p != NULL && p->name != NULL; p++) {
        const struct json *node = json_get(request->json, p->name);
        bool is_new =
            p->kind == PARAM_CONVERSATION && node != NULL && strcmp(json_text(node), "new") == 0;
        if (node != NULL && param_is_input(p))
            body = json_text(node);
        else if (is_new)
            json_put_bool(out, "new", true);
        else if (node != NULL)
            json_put_node(out, p->name, node);
    }
    return body;
}

void api_run_host(struct job *job)
{
    struct request *request = api_request(job);
    int status = request->operation->status;
    _cleanup_json_ struct json *said = NULL;
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_open(&out, NULL, '{');
    put_command(request, &out);
    const char *body = put_params(request, &out);
    json_close(&out, '}');
    const struct roster_request ask = {.what = request->operation->what,
                                       .head = str_text(&head),
                                       .body = body,
                                       .body_len = body != NULL ? strlen(body) : 0};
    if (agent_ask(request, &ask, AGENT_ANSWER_MS, &said))
        agent_answer(request, status != 0 ? status : 200, said);
}

/* ---- what an agent is doing, and what it asks */

/* Returns what the host says; NULL after answering with an error. */
static struct json *see(struct request *request)
{
    const struct roster_request status = {.what = "see", .head = "{\"do\":\"status\"}"};
    const struct roster_request whole = {.what = "see", .head = "{\"do\":\"listen\"}"};
    int64_t until = time_monotonic_ms() + AGENT_STATE_MS;
    struct json *said = NULL;

    if (!agent_ask(request, &status, AGENT_STATE_MS, &said))
        return NULL;
    const char *protocol = json_get_text(said, "protocol");
    if (protocol == NULL || strcmp(protocol, "acp") != 0)
        return said;
    json_free(said);
    int64_t left = until - time_monotonic_ms();
    return agent_ask(request, &whole, left > 0 ? (int)left : 0, &said) ? said : NULL;
}

static void put_list(const struct json *said, const char *key, struct json_out *out)
{
    const struct json *list = json_get(said, key);

    if (json_is_array(list)) {
        json_put_node(out, key, list);
        return;
    }
    json_open(out, key, '[');
    json_close(out, ']');
}

static void open_answer(const struct request *request, struct json_out *out)
{
    json_open(out, NULL, '{');
    json_put(out, "sessionId", request->id);
    json_put(out, "agent", request->agent);
}

/* Writes what an ACP agent says beyond its status. */
static void put_offers(const struct json *said, struct json_out *out)
{
    static const char *const lists[] = {"modes", "commands", "options", "permissions"};

    json_put_all(out, JI("query", json_int(json_get(said, "query"), 0)),
                 JT("mode", json_get_text(said, "mode")), JN("can", json_get(said, "can")));
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        put_list(said, lists[i], out);
}

static void run_agent(struct job *job)
{
    struct request *request = api_request(job);
    _cleanup_json_ struct json *said = see(request);
    struct agent_status status;
    struct str body = STR_INIT;
    struct json_out out = {.to = &body};
    struct err err = ERR_INIT;

    if (said == NULL)
        return;
    if (agent_status_parse(said, &status, &err) == -1) {
        (void)err_wrap(&err, "cannot see agent '%s'", request->agent);
        answer_err(request, &err, 409);
        return;
    }
    open_answer(request, &out);
    agent_status_put(&status, &out);
    if (status.acp)
        put_offers(said, &out);
    json_close(&out, '}');
    agent_status_free(&status);
    answer_json(request, 200, &body);
}

enum handled api_agent(struct request *request)
{
    return api_later(request, run_agent);
}

static void run_permissions(struct job *job)
{
    struct request *request = api_request(job);
    _cleanup_json_ struct json *said = see(request);
    struct str body = STR_INIT;
    struct json_out out = {.to = &body};

    if (said == NULL)
        return;
    open_answer(request, &out);
    put_list(said, "permissions", &out);
    json_close(&out, '}');
    answer_json(request, 200, &body);
}

enum handled api_permissions(struct request *request)
{
    return api_later(request, run_permissions);
}
