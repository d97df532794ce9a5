/*
 * Requests that go straight to the host of one agent (protocol/host.h); no process is started for
 * them. A worker asks the host and waits. An agent that a guest may not see is answered like one
 * that is not there. Why a message was not taken is asked of tmux afterwards: the team may be gone.
 */

#include "base/time.h"
#include "client/roster.h"
#include "client/screens.h"
#include "client/sending.h"
#include "client/survey.h"
#include "protocol/host.h"
#include "serve/api.h"
#include "serve/server.h"
#include "store/owner.h"
#include "store/pictures.h"
#include "store/workspace.h"

enum {
    AGENT_ANSWER_MS = 30000, /* for what a host does by itself */
    AGENT_STATE_MS = 5000, /* for what it knows, all questions together */
    SCREEN_MAX = 8 << 20, /* bytes of an answer */
};

static bool on_reply(struct host_call *call, const struct frame *frame, void *arg)
{
    struct json **said = arg;

    if (hosts_reply_error(frame->head, &call->err) == 0)
        *said = json_copy(frame->head);
    return true;
}

/* Answers when the host refused the request, or did not take it. */
static void answer_failure(struct request *request, const struct roster *roster, const char *what)
{
    struct err err = ERR_INIT;

    (void)roster_failure(roster, 0, what, &err);
    if (roster_lost_host(roster, 0))
        err.code = MAS_CONFLICT;
    answer_err(request, &err, roster->calls[0].answer == HOST_ANSWERED ? 409 : 410);
}

static int no_session(const struct request *request, struct err *err)
{
    return err_set(err, MAS_NOT_FOUND, "there is no session '%s'", request->id);
}

/* Opens the session of the path, which this machine must have, and adds the agents that `target`
 * names. `what` is the verb for the error. Fails with MAS_NOT_FOUND if there is no such session or
 * agent. */
static int agent_open(const struct request *request, const char *what, const char *target,
                      struct roster *roster, struct err *err)
{
    const struct root *root = &request->server->root;
    _cleanup_close_ int dir = workspace_open(root, request->id);
    struct roster_team team;

    if (dir == -1 && errno == ENOENT)
        return no_session(request, err);
    if (dir != -1 && owner_check(root, dir, request->id, what, err) == -1)
        return -1;
    if (roster_open(root, request->id, &team, err) == -1)
        return -1;
    int rc = roster_add(roster, &team, target, err);
    for (size_t i = 0; i < roster->count; i++) /* a word may be the name of more than an agent */
        if (!guest_sees(&request->guest, request->id, roster->agents[i].agent->id))
            rc = -1;
    if (rc == 0 || request->guest.agents[0] == '\0')
        return rc;
    *err = (struct err)ERR_INIT; /* it may name agents that are not this guest's */
    return err_set(err, MAS_NOT_FOUND, "there is no agent '%s' in this session", target);
}

/* Likewise, exactly the agent of the path. */
static int agent_open_one(const struct request *request, const char *what, struct roster *roster,
                          struct err *err)
{
    if (agent_open(request, what, request->agent, roster, err) == -1)
        return -1;
    if (roster->count == 1 && strcmp(roster->agents[0].agent->id, request->agent) == 0)
        return 0; /* and not the name of a group */
    return err_set(err, MAS_NOT_FOUND, "there is no agent '%s' in this session", request->agent);
}

static int find_path(const struct request *request, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;

    if (request->agent != NULL)
        return agent_open_one(request, request->operation->verbs, &roster, err);
    if (request->id[0] == '\0')
        return 0;
    _cleanup_close_ int dir = workspace_open(&request->server->root, request->id);
    return dir == -1 && errno == ENOENT ? no_session(request, err) : 0;
}

bool api_has_path(struct request *request)
{
    struct err err = ERR_INIT;

    if (find_path(request, &err) == 0)
        return true;
    answer_err(request, &err, 409);
    return false;
}

/* Sends a request to the host of the agent that the path names, and waits `wait_ms` for its
 * first answer. Returns false after answering with an error: 404 for an unknown session or agent,
 * 410 if the session does not run, 409 if the host refuses. The caller releases *ret with
 * json_free(). */
static bool agent_ask(struct request *request, const struct roster_request *ask, int wait_ms,
                      struct json **ret)
{
    struct json *said = NULL;
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    struct err err = ERR_INIT;

    if (agent_open_one(request, ask->what, &roster, &err) == -1) {
        answer_err(request, &err, 409);
        return false;
    }
    if (roster_ask_live(&request->server->root, &roster, ask, &err) == -1) {
        answer_err(request, &err, 410);
        return false;
    }
    hosts_finish(roster.calls, roster.asked, wait_ms, on_reply, &said);
    if (said == NULL) {
        answer_failure(request, &roster, ask->what);
        return false;
    }
    *ret = said;
    return true;
}

/* Answers with what the host said: sessionId, and its members except "ok". */
static void agent_answer(struct request *request, int status, const struct json *said)
{
    struct str body = STR_INIT;
    struct json_out out = {.to = &body};

    json_open(&out, NULL, '{');
    json_put(&out, "sessionId", request->id);
    for (const struct json *node = json_first(said); node != NULL; node = json_next(node))
        if (strcmp(json_key(node), "ok") != 0)
            json_put_node(&out, json_key(node), node);
    json_close(&out, '}');
    answer_json(request, status, &body);
}

/* ---- operations of the kind OPERATION_HOST */

/* Writes the fixed members of a request, "VERB KEY=VALUE...", of which a value may be {item}. */
static void put_command(const struct request *request, struct json_out *out)
{
    _cleanup_strv_ char **words = str_split_list(request->operation->command);

    json_put(out, "do", words[0]);
    if (guest_is(&request->guest))
        json_put(out, "guest", request->who);
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
    struct request *request = later_request(job);
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
    if (!json_bool(json_get(said, "talks"), false))
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

/* Writes what an agent that talks says beyond its status. */
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
    struct request *request = later_request(job);
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
    if (status.talks)
        put_offers(said, &out);
    json_close(&out, '}');
    agent_status_free(&status);
    answer_json(request, 200, &body);
}

enum handled api_agent(struct request *request)
{
    return answer_later(request, run_agent);
}

static void run_permissions(struct job *job)
{
    struct request *request = later_request(job);
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
    return answer_later(request, run_permissions);
}

/* ---- the sessions that an agent itself keeps */

static bool wants_all(const struct request *request)
{
    return json_bool(json_get(request->json, "all"), false);
}

static void run_kept(struct job *job)
{
    struct request *request = later_request(job);
    _cleanup_json_ struct json *said = NULL;
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_open(&out, NULL, '{');
    json_put(&out, "do", "kept");
    if (request->method == METHOD_DELETE && wants_all(request))
        json_put_bool(&out, "all", true);
    else if (request->method == METHOD_DELETE)
        json_put(&out, "session", json_get_text(request->json, "session"));
    json_close(&out, '}');
    const struct roster_request ask = {.what = "ask for the sessions of", .head = str_text(&head)};
    if (agent_ask(request, &ask, HOST_KEPT_MS, &said))
        agent_answer(request, 200, said);
}

/* What is to be deleted is always named, so that nobody deletes all by leaving something out. */
enum handled api_kept(struct request *request)
{
    const char *session = json_get_text(request->json, "session");

    if (session != NULL && (session[0] == '\0' || str_has_control(session)))
        answer_error(request, 400, "cannot use the query session: it is not the id of a session");
    else if (request->method == METHOD_DELETE && (session != NULL) == wants_all(request))
        answer_error(request, 400, "cannot do without one of the queries session and all=true");
    else
        return answer_later(request, run_kept);
    return HANDLED_NOW;
}

/* ---- pictures */

static int keep_picture(const struct request *request, struct picture *ret, struct err *err)
{
    const struct root *root = &request->server->root;
    _cleanup_close_ int dir = workspace_open(root, request->id);

    if (dir == -1)
        return err_set(err, MAS_NOT_FOUND, "there is no session '%s'", request->id);
    if (owner_check(root, dir, request->id, "send to", err) == -1)
        return -1;
    return pictures_keep(dir, json_get_text_or(request->json, "name", ""), str_text(&request->body),
                         request->body.len, ret, err) == 0
               ? 0
               : err_wrap(err, "cannot keep the picture");
}

static void run_picture(struct job *job)
{
    struct request *request = later_request(job);
    struct picture picture;
    struct str body = STR_INIT;
    struct json_out out = {.to = &body};
    struct err err = ERR_INIT;

    if (keep_picture(request, &picture, &err) == -1) {
        answer_err(request, &err, 409);
        return;
    }
    json_put_all(&out, JO(NULL), JT("file", picture.file), JT("name", picture.name),
                 JI("bytes", picture.bytes), JOE);
    answer_json(request, 201, &body);
}

enum handled api_picture(struct request *request)
{
    return answer_later(request, run_picture);
}

/* ---- messages */

/* Answers 410 if the tmux session is gone. Hosts call that a conflict like any other, or hang up if
 * it goes just now. `lost_host`: the agent has no host, or lost it meanwhile. */
static void answer_unsent(struct request *request, bool lost_host, struct err *err)
{
    const struct root *root = &request->server->root;
    _cleanup_session_ struct session session = SESSION_INIT;
    struct tmux_session *live = NULL;
    struct err ignored = ERR_INIT;
    bool may_be_gone = err->code == MAS_CONFLICT || err->code == MAS_FAILED;
    int conflict = 409;
    _cleanup_close_ int dir = workspace_open(root, request->id);

    if (may_be_gone && dir != -1 && session_load(root, dir, request->id, &session, &ignored) == 0 &&
        survey_find_live(root, session.tmux_socket, request->id, &live, &ignored) == 0) {
        if (live == NULL)
            err->code = MAS_CONFLICT, conflict = 410;
        else if (lost_host)
            err->code = MAS_CONFLICT; /* the agent's host is gone, but not the team */
        tmux_sessions_free(live, live != NULL);
    }
    answer_err(request, err, conflict);
}

static void run_message(struct job *job)
{
    struct request *request = later_request(job);
    const char *target = json_get_text(request->json, "target");
    const char *message = json_get_text(request->json, "message");
    _cleanup_sending_ struct sending sending = SENDING_INIT;
    struct str body = STR_INIT;
    struct err err = ERR_INIT;

    sending.options.no_enter = !json_bool(json_get(request->json, "execute"), true);
    sending.options.guest = guest_is(&request->guest) ? request->who : NULL;
    sending.options.now = json_bool(json_get(request->json, "now"), false);
    if (pictures_read(request->json, &sending.options.pictures, &err) == -1 ||
        agent_open(request, "send to", target, &sending.roster, &err) == -1) {
        answer_err(request, &err, 409);
        return;
    }
    bool lost_host = false;
    int rc = sending_send(&request->server->root, &sending, message, strlen(message), &err);
    for (size_t i = 0; rc == 0 && i < sending.roster.count; i++) {
        rc = sending_failure(&sending, i, &err);
        lost_host = rc == -1 && roster_lost_host(&sending.roster, i);
    }
    if (rc == -1) {
        answer_unsent(request, lost_host, &err);
        return;
    }
    sending_put(&sending, &body);
    answer_json(request, 200, &body);
}

enum handled api_message(struct request *request)
{
    bool enter = json_bool(json_get(request->json, "execute"), true);
    bool now = json_bool(json_get(request->json, "now"), false);
    if (str_has_control(json_get_text(request->json, "target")))
        answer_error(request, 400, "cannot use the body: target: it has a control character");
    else if (now && !enter)
        answer_error(request, 400, "cannot use the body: now: it is for messages with Enter");
    else if (!enter && json_get_text(request->json, "message")[0] == '\0')
        answer_error(request, 400, "cannot use the body: message: it is empty");
    else
        return answer_later(request, run_message);
    return HANDLED_NOW;
}

/* ---- the screen: the host says which pane it is, tmux what the pane shows */

static int find_screen(const struct request *request, struct str *ret, struct err *err)
{
    int history = (int)json_int(json_get(request->json, "history"), 0);
    _cleanup_screens_ struct screens screens = SCREENS_INIT;

    if (agent_open_one(request, "peek at", &screens.roster, err) == -1 ||
        screens_look(&request->server->root, &screens, history, err) == -1 ||
        screens_failure(&screens, 0, err) == -1)
        return -1;
    screens_put(&screens, ret);
    if (ret->len <= SCREEN_MAX)
        return 0;
    str_free(ret);
    (void)err_set(err, MAS_USAGE, "the screen and the lines above it have more than %d bytes",
                  SCREEN_MAX);
    return err_hint(err, "ask for fewer lines with the query history");
}

enum handled api_screen(struct request *request)
{
    return answer_shared(request, find_screen, 410);
}
