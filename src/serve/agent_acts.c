/* Requests that go straight to the host of one agent; no process is started for them. */
#include "base/time.h"
#include "serve/agent.h"
#include "serve/api.h"
#include "serve/body.h"
#include "serve/server.h"

#include <string.h>

/* One address. */
struct act {
    const char *word; /* the last part of the path; or the one before {item} */
    const char *verb; /* the request, see protocol/host.h */
    const char *what; /* "cannot <what> agent '11'" */
    int status; /* of the answer; 202: the host goes on with it */
    const char *item; /* the member of the request that is {item} in the path; NULL: none */
    struct body_member members[BODY_MEMBERS];
};

/* clang-format off */
static const struct act acts[] = {
    {"prompts",      "ask",          "ask",                        202, NULL,
     {{"prompt", MEMBER_MESSAGE, true, NULL}, {"conversation", MEMBER_CONVERSATION, false, NULL},
      {"tags", MEMBER_TAGS, false, NULL}}},
    {"cancel",       "cancel",       "cancel the turn of",         200, NULL,
     {{"prompt", MEMBER_TEXT, false, NULL}}},
    {"clear",        "clear",        "clear the context of",       200, NULL,
     {{"then", MEMBER_MESSAGE, false, NULL}, {"mode", MEMBER_TEXT, false, NULL}, {"tags", MEMBER_TAGS, false, NULL}}},
    {"mode",         "mode",         "set the mode of",            200, NULL,
     {{"mode", MEMBER_TEXT, true, NULL}}},
    {"options",      "set",          "set an option of",           200, "option",
     {{"value", MEMBER_TEXT, true, NULL}}},
    {"conversation", "conversation", "change the conversation of", 200, NULL,
     {{"conversation", MEMBER_CONVERSATION, true, NULL}}},
    {"permissions",  "permit",       "answer",                     200, "permission",
     {{"option", MEMBER_TEXT, true, NULL}, {"answers", MEMBER_FORM, false, NULL}, {"mode", MEMBER_MODE, false, NULL}}},
    {"budget",       "permit",       "extend the budget of",       200, NULL,
     {{"more", MEMBER_TEXT, false, NULL}}},
    {"restart",      "restart",      "restart",                    200, NULL, {{.name = NULL}}},
    {"sleep",        "sleep",        "put to sleep",               200, NULL, {{.name = NULL}}},
    {"wake",         "wake",         "wake",                       200, NULL, {{.name = NULL}}},
    {"seen",         "seen",         "note a look at",             200, NULL, {{.name = NULL}}},
};
/* clang-format on */

static const struct act *find_act(const struct request *request)
{
    size_t at = request->part_count - (request->item != NULL ? 2 : 1);

    for (size_t i = 0; i < ARRAY_LEN(acts); i++)
        if (strcmp(acts[i].word, request->parts[at]) == 0)
            return &acts[i];
    return NULL; /* not reached: each route that leads here has a row */
}

/* ---- the request to the host */

/* Returns the body of the request, NULL: none. It belongs to request->json. */
static const char *put_members(const struct request *request, const struct act *act,
                               struct json_out *out)
{
    const char *body = NULL;

    if (act->item != NULL)
        json_put(out, act->item, request->item);
    for (size_t i = 0; i < BODY_MEMBERS && act->members[i].name != NULL; i++) {
        const struct json *node = json_get(request->json, act->members[i].name);
        bool is_new = act->members[i].kind == MEMBER_CONVERSATION && node != NULL &&
                      strcmp(json_text(node), "new") == 0;
        if (node != NULL && act->members[i].kind == MEMBER_MESSAGE)
            body = json_text(node);
        else if (is_new)
            json_put_bool(out, "new", true);
        else if (node != NULL)
            json_put_node(out, act->members[i].name, node);
    }
    return body;
}

static void run_act(struct job *job)
{
    struct request *request = api_request(job);
    const struct act *act = find_act(request);
    _cleanup_json_ struct json *said = NULL;
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_open(&out, NULL, '{');
    json_put(&out, "do", act->verb);
    if (strcmp(act->word, "budget") == 0)
        json_put(&out, "option", "allow");
    const char *body = put_members(request, act, &out);
    json_close(&out, '}');
    const struct roster_request ask = {.what = act->what,
                                       .head = str_text(&head),
                                       .body = body,
                                       .body_len = body != NULL ? strlen(body) : 0};
    if (agent_ask(request, &ask, AGENT_ANSWER_MS, &said))
        agent_answer(request, act->status, said);
}

enum handled api_act(struct request *request)
{
    return body_check(request, find_act(request)->members) ? api_later(request, run_act)
                                                           : HANDLED_NOW;
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

    json_put_int(out, "query", json_int(json_get(said, "query"), 0));
    json_put(out, "mode", json_get_text(said, "mode"));
    json_put_node(out, "can", json_get(said, "can"));
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
