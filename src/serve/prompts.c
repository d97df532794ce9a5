/* Prompts, history and context of agents. */
#include "client/hosts.h"
#include "client/roster.h"
#include "model/message.h"
#include "serve/api.h"
#include "serve/server.h"
#include "serve/verb.h"
#include "store/workspace.h"

#include <errno.h>
#include <string.h>

enum { STATUS_ACCEPTED = 202, TAKE_MS = 30000, WORDS = 24 };

/* ---- POST .../prompts */

static const char *const prompt_members[] = {"prompt", "conversation", "tags", NULL};

/* The host's reply to `ask`. */
struct reply {
    struct str text;
    struct err err;
};

static bool on_reply(struct host_call *call, const struct frame *frame, void *arg)
{
    struct reply *reply = arg;
    struct json_out out = {.to = &reply->text};

    (void)call;
    if (hosts_reply_error(frame->head, &reply->err) == -1)
        return true;
    json_open(&out, NULL, '{');
    json_put(&out, "agent", json_get_text(frame->head, "agent"));
    json_put(&out, "outcome", json_get_text(frame->head, "outcome"));
    json_put(&out, "prompt", json_get_text(frame->head, "prompt"));
    json_put_int(&out, "queued", json_int(json_get(frame->head, "queued"), 0));
    json_close(&out, '}');
    return true;
}

static void put_request(const struct request *request, struct str *to)
{
    const char *conversation = json_get_text(request->json, "conversation");
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    json_put(&out, "do", "ask");
    if (conversation != NULL && strcmp(conversation, "new") == 0)
        json_put_bool(&out, "new", true);
    else if (conversation != NULL)
        json_put(&out, "conversation", conversation);
    if (json_get(request->json, "tags") != NULL)
        json_put_node(&out, "tags", json_get(request->json, "tags"));
    json_close(&out, '}');
}

/* Answers when no host accepted the prompt. */
static void answer_silence(struct request *request, const struct roster *roster)
{
    enum host_answer answer = roster->calls[0].answer;
    struct err err = ERR_INIT;

    (void)roster_failure(roster, 0, "ask", &err);
    if (answer == HOST_ABSENT || answer == HOST_ENDED)
        err.code = MAS_CONFLICT;
    answer_err(request, &err, 410);
}

static bool session_is_there(const struct request *request)
{
    _cleanup_close_ int dir = workspace_open(&request->server->root, request->id);
    return dir != -1 || errno != ENOENT;
}

static void run_prompt(struct job *job)
{
    struct request *request = api_request(job);
    const char *text = json_get_text(request->json, "prompt");
    struct reply reply = {.text = STR_INIT, .err = ERR_INIT};
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    _cleanup_str_ struct str head = STR_INIT;
    struct roster_team team;
    struct err err = ERR_INIT;

    if (!session_is_there(request)) {
        answer_error(request, 404, "there is no session '%s'", request->id);
        return;
    }
    if (roster_open(&request->server->root, request->id, &team, &err) == -1 ||
        roster_add(&roster, &team, request->agent, &err) == -1) {
        answer_err(request, &err, 409);
        return;
    }
    if (roster.count != 1 || strcmp(roster.agents[0].agent->id, request->agent) != 0) {
        answer_error(request, 404, "there is no agent '%s' in this session", request->agent);
        return;
    }
    put_request(request, &head);
    const struct roster_request ask = {
        .what = "ask an agent of", .head = str_text(&head), .body = text, .body_len = strlen(text)};
    if (roster_ask_live(&request->server->root, &roster, &ask, &err) == -1) {
        answer_err(request, &err, 410);
        return;
    }
    hosts_finish(roster.calls, roster.asked, TAKE_MS, on_reply, &reply);
    if (reply.err.code != MAS_OK)
        answer_err(request, &reply.err, 409);
    else if (reply.text.len == 0)
        answer_silence(request, &roster);
    else
        answer_json(request, STATUS_ACCEPTED, &reply.text);
    str_free(&reply.text);
}

enum handled api_prompt(struct request *request)
{
    const char *text;
    const char *conversation;

    if (!api_read(request, prompt_members) || !api_text(request, "prompt", true, &text) ||
        !api_text(request, "conversation", false, &conversation))
        return HANDLED_NOW;
    const char *wrong = message_check(text, strlen(text));
    const struct json *tags = json_get(request->json, "tags");
    if (text[0] == '\0')
        wrong = "is empty";
    if (wrong != NULL)
        answer_error(request, 400, "cannot use the body: prompt: it %s", wrong);
    else if (tags != NULL && !json_is_array(tags))
        answer_error(request, 400, "cannot use the body: tags: it is not a list");
    return request->answer.status != 0 ? HANDLED_NOW : api_later(request, run_prompt);
}

/* ---- history and context, as `mas history --json` and `mas context --json` print them */

/* Passes private text as `input` instead of on the command line, where other users can read it;
 * NULL: none. */
static void answer_verb(struct request *request, const char *const *words, const char *input)
{
    struct str said = STR_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = ERR_INIT;

    str_add(&text, input != NULL ? input : "");
    if (verb_run(request->server, words, &text, &said, &err) == -1) {
        answer_err(request, &err, 409);
        return;
    }
    while (said.len > 0 && said.data[said.len - 1] == '\n')
        said.data[--said.len] = '\0';
    uint64_t hash = hash_bytes(HASH_START, str_text(&said), said.len);
    answer_json(request, 200, &said);
    answer_tag(request, hash);
}

static size_t begin(const struct request *request, const char *verb, const char **words)
{
    words[0] = verb;
    words[1] = "--json";
    words[2] = "-s";
    words[3] = request->id;
    return 4;
}

static void run_history(struct job *job)
{
    struct request *request = api_request(job);
    static const char *const known[][2] = {
        {"limit", "--limit"}, {"offset", "--offset"},
        {"query", "--query"}, {"since", "--since"},
        {"until", "--until"}, {"role", "--role"},
        {"tag", "--tag"},     {"conversation", "--conversation"},
    };
    const char *words[WORDS] = {NULL};
    size_t count = begin(request, "history", words);

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        const char *value = request_query(request, known[i][0]);
        if (value == NULL)
            continue;
        words[count++] = known[i][1];
        words[count++] = value;
    }
    words[count++] = "--";
    words[count++] = request->agent;
    answer_verb(request, words, NULL);
}

enum handled api_history(struct request *request)
{
    return api_later(request, run_history);
}

static void run_context(struct job *job)
{
    struct request *request = api_request(job);
    const char *text = request_query(request, "for");
    const char *team = request_query(request, "team");
    const char *words[WORDS] = {NULL};
    size_t count = begin(request, "context", words);

    if (text != NULL) {
        words[count++] = "--for";
        words[count++] = "-";
    }
    if (team != NULL && strcmp(team, "true") == 0)
        words[count++] = "--team";
    words[count++] = "--";
    words[count++] = request->agent;
    answer_verb(request, words, text);
}

enum handled api_context(struct request *request)
{
    const char *team = request_query(request, "team");

    if (team == NULL || strcmp(team, "true") == 0 || strcmp(team, "false") == 0)
        return api_later(request, run_context);
    answer_error(request, 400, "cannot use the query team: it is neither true nor false");
    return HANDLED_NOW;
}
