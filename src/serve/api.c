/*
 * The way of a request: api_begin(), at its head, finds the row of the table of operations and asks
 * the guard; api_handle(), with its body, looks at the root, at the Idempotency-Key and at the
 * parameters; handle() goes on by the kind of the operation. All of that is on the event loop; what
 * may have to wait becomes a job of a pool, and the answer is sent when the loop gets that back.
 * Who has no token does not learn which addresses exist.
 */

#include "serve/api.h"

#include "model/picture.h"
#include "serve/events.h"
#include "serve/http.h"
#include "serve/keys.h"
#include "serve/server.h"
#include "serve/transfer.h"
#include "store/workspace.h"

enum { BODY_LARGE = 5 << 20, BODY_SMALL = 64 * 1024, NUMBER_DIGITS = 10 };

/* The operations that are neither a request to a host nor a verb. */
static const struct {
    const char *name;
    enum handled (*handle)(struct request *request);
} handlers[] = {
    {"agent", api_agent},
    {"agentLog", api_log},
    {"allPermissions", api_all_permissions},
    {"beginSession", api_run},
    {"cancelOperation", api_operation_cancel},
    {"createRun", api_run},
    {"deleteKept", api_kept},
    {"downloadArchive", api_archive},
    {"events", api_events},
    {"getSession", api_session},
    {"health", api_health},
    {"kept", api_kept},
    {"keepPicture", api_picture},
    {"listSessions", api_sessions},
    {"markdown", api_markdown},
    {"metrics", api_metrics},
    {"openapi", api_openapi},
    {"operation", api_operation},
    {"operations", api_operations},
    {"page", api_page},
    {"pageFile", api_page},
    {"pair", api_pair},
    {"paired", api_paired},
    {"permissions", api_permissions},
    {"removeSession", api_remove},
    {"restoreSession", api_restore},
    {"review", api_review},
    {"screen", api_screen},
    {"sendMessage", api_message},
    {"sessionLog", api_log},
    {"setAgent", api_setting},
    {"setSession", api_setting},
    {"unpair", api_unpair},
};

static enum handled handle(struct request *request)
{
    size_t i = 0;

    switch (request->operation->kind) {
    case OPERATION_HOST:
        return answer_later(request, api_run_host);
    case OPERATION_READ:
        return api_read_verb(request);
    case OPERATION_TOLD:
        return answer_later(request, api_run_told);
    case OPERATION_LONG:
        return api_begin_task(request);
    case OPERATION_OWN:
        break;
    }
    while (strcmp(handlers[i].name, request->operation->name) != 0)
        i++; /* each has a row */
    return handlers[i].handle(request);
}

static size_t body_max(const struct operation *operation)
{
    if (operation->method != METHOD_POST)
        return 0;
    if (operation->body != NULL)
        return str_starts(operation->body, "image/") ? PICTURE_MAX : TRANSFER_MAX;
    for (const struct param *p = operation->params; p != NULL && p->name != NULL; p++)
        if (p->kind == PARAM_MESSAGE || p->kind == PARAM_TYPED || p->kind == PARAM_LONG ||
            p->kind == PARAM_LIST || p->kind == PARAM_ANY)
            return BODY_LARGE;
    return BODY_SMALL;
}

/* Returns true if the path has this form; then sets request->id, request->agent and
 * request->item. */
static bool has_form(struct request *request, const char *form)
{
    const char *agent = NULL;
    const char *item = NULL;
    char id[ID_TEXT] = "";
    size_t i = 0;

    for (const char *at = form; *at == '/' && at[1] != '\0'; i++) {
        const char *word = at + 1;
        size_t len = strcspn(word, "/");
        const char *part = i < request->part_count ? request->parts[i] : NULL;
        if (part == NULL)
            return false;
        if (strncmp(word, "{id}", len) == 0) {
            if (!id_normalise(part, id))
                return false;
        } else if (strncmp(word, "{agent}", len) == 0) {
            if (!str_is_word(part, TEAM_WORD_MAX))
                return false;
            agent = part;
        } else if (strncmp(word, "{item}", len) == 0) {
            item = part;
        } else if (strlen(part) != len || memcmp(part, word, len) != 0) {
            return false;
        }
        at = word + len;
    }
    if (i != request->part_count)
        return false;
    memcpy(request->id, id, ID_TEXT);
    request->agent = agent;
    request->item = item;
    return true;
}

/* Returns the methods for this path, for a 405; NULL: no such path. */
static const char *allowed_of(struct request *request)
{
    /* by the bits of enum method */
    static const char *const lists[] = {
        NULL,     "GET, HEAD",         "POST",         "GET, HEAD, POST",
        "DELETE", "GET, HEAD, DELETE", "POST, DELETE", "GET, HEAD, POST, DELETE",
    };
    unsigned methods = 0;

    for (size_t i = 0; i < operation_count; i++)
        if (operations[i].path != NULL && has_form(request, operations[i].path))
            methods |= 1U << operations[i].method;
    return lists[methods];
}

/* ---- parameters */

/* Returns the names of parameters, for an error. */
static char *list_names(const struct param *params)
{
    _cleanup_str_ struct str names = STR_INIT;

    for (const struct param *p = params; p != NULL && p->name != NULL; p++)
        str_addf(&names, "%s %s", p == params ? "its members are:" : ",", p->name);
    return mem_dup(names.len > 0 ? names.data : "it has no members");
}

/* Returns true if a query is written like a value of this kind that is no text. */
static bool is_typed(const struct param *param, const char *value)
{
    size_t len = strlen(value);

    if (param->kind == PARAM_FLAG)
        return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    return param->kind == PARAM_NUMBER && len > 0 && len <= NUMBER_DIGITS &&
           strspn(value, "0123456789") == len && (value[0] != '0' || len == 1);
}

static bool knows_queries(struct request *request)
{
    const struct param *params =
        operation_has_queries(request->operation) ? request->operation->params : NULL;

    for (size_t i = 0; i < request->query_count; i++) {
        const char *key = request->queries[i].key;
        if (param_find(params, key) != NULL)
            continue;
        answer_error(request, 400, "there is no query '%s' at this address", key);
        return false;
    }
    return true;
}

static bool parse_queries(struct request *request, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    for (size_t i = 0; i < request->query_count; i++) {
        const struct query *query = &request->queries[i];
        if (is_typed(param_find(request->operation->params, query->key), query->value))
            json_put_raw(&out, query->key, query->value);
        else
            json_put(&out, query->key, query->value);
    }
    json_close(&out, '}');
    return json_parse(text.data, text.len, text.len, &request->json, err) == 0;
}

static bool parse_body(struct request *request, struct err *err)
{
    if (request->body.len == 0)
        str_add(&request->body, "{}");
    if (json_parse(request->body.data, request->body.len, BODY_LARGE, &request->json, err) == -1) {
        answer_error(request, 400, "cannot read the body: %s", err->text);
        return false;
    }
    if (!json_is_object(request->json)) {
        answer_error(request, 400, "cannot read the body: it is not an object");
        return false;
    }
    for (const struct json *n = json_first(request->json); n != NULL; n = json_next(n)) {
        if (param_find(request->operation->params, json_key(n)) != NULL)
            continue;
        _cleanup_free_ char *names = list_names(request->operation->params);
        answer_refusal(request, 400, NULL, names, "cannot use the body: %s: unknown member",
                       json_key(n));
        return false;
    }
    return true;
}

/* Checks a parameter. Returns false after answering with an error. */
static bool check_param(struct request *request, const struct param *param)
{
    bool is_query = operation_has_queries(request->operation);
    const struct json *node = json_get(request->json, param->name);
    _cleanup_str_ struct str why = STR_INIT;
    _cleanup_str_ struct str hint = STR_INIT;

    if (param->kind == PARAM_MODE && node != NULL &&
        !guard_permits(request, RIGHT_FULL, param->name))
        return false;
    if (!guard_admits_param(request, param, node))
        return false;
    if (param_check(param, node, &why))
        return true;
    if (param->kind == PARAM_WORD && json_is_string(node)) {
        str_add(&hint, "its words are: ");
        param_put_words(param, &hint);
    }
    if (is_query && node == NULL)
        answer_error(request, 400, "cannot do without the query %s", param->name);
    else
        answer_refusal(request, 400, NULL, hint.len > 0 ? hint.data : NULL,
                       is_query ? "cannot use the query %s: it %s"
                                : "cannot use the body: %s: it %s",
                       param->name, str_text(&why));
    return false;
}

/* Parses the queries or the body and checks them. Returns false after answering with an error. */
static bool read_params(struct request *request)
{
    const struct operation *operation = request->operation;
    struct err err = ERR_INIT;
    bool parsed =
        operation_has_queries(operation) ? parse_queries(request, &err) : parse_body(request, &err);

    if (!parsed && request->answer.status == 0)
        answer_err(request, &err, 409);
    for (const struct param *p = operation->params; parsed && p != NULL && p->name != NULL; p++)
        parsed = check_param(request, p);
    return parsed;
}

bool api_begin(struct request *request)
{
    bool split = request_split(request);

    for (size_t i = 0; split && i < operation_count && request->operation == NULL; i++)
        if (operations[i].method == request->method && operations[i].path != NULL &&
            has_form(request, operations[i].path))
            request->operation = &operations[i];
    if (!guard_passes(&request->server->guard, request,
                      request->operation != NULL && request->operation->right == RIGHT_NONE) ||
        !split)
        return false; /* without the token, a client does not learn which addresses exist */
    if (request->operation == NULL) {
        request->answer.allow = allowed_of(request);
        if (request->answer.allow != NULL)
            answer_error(request, 405, "this address does not allow %s", request->verb);
        else if (request->part_count > 0 && strcmp(request->parts[0], "sessions") == 0)
            answer_refusal(request, 404, NULL,
                           "GET /sessions lists the sessions, GET /openapi.json the addresses",
                           "there is no such session, or nothing of that name in it");
        else
            answer_error(request, 404, "there is nothing at this address");
        return false;
    }
    request->body_max = body_max(request->operation);
    return guard_permits(request, request->operation->right, "this address") &&
           guard_admits(request) && request_decode_item(request) && knows_queries(request);
}

enum handled api_do(struct request *request)
{
    return read_params(request) ? handle(request) : HANDLED_NOW;
}

/* Returns true if the root is still at its path, where commands look for it. */
static bool has_root(const struct root *root)
{
    struct stat own;
    struct stat there;

    return fstat(root->fd, &own) == 0 && stat(root->path, &there) == 0 &&
           own.st_ino == there.st_ino && own.st_dev == there.st_dev &&
           faccessat(root->fd, ROOT_SESSIONS, X_OK, 0) == 0;
}

enum handled api_handle(struct request *request)
{
    if (!has_root(&request->server->root)) {
        answer_refusal(request, 503, NULL, "it works again when the root is back at its path",
                       "the root '%s' is gone", request->server->root.path);
        return HANDLED_NOW;
    }
    if (request->server->ending && request->method != METHOD_GET) {
        answer_refusal(request, 503, NULL, "try again when it is started anew",
                       "the server is shutting down");
        return HANDLED_NOW;
    }
    if (!keys_begin(request->server->keys, request))
        return HANDLED_NOW;
    return api_do(request);
}

void api_end(struct request *request)
{
    keys_end(request->server->keys, request);
}

/* Returns true if this is "ID/AGENT". */
static bool is_agent_name(const char *text)
{
    char id[ID_TEXT];
    size_t len = ID_TEXT - 1;

    if (strlen(text) <= len || text[len] != '/' || !str_is_word(text + len + 1, TEAM_WORD_MAX))
        return false;
    _cleanup_free_ char *own = mem_dupn(text, len);
    return id_normalise(own, id) && strcmp(own, id) == 0;
}

/* Returns true if a text is one SESSION/AGENT, or some with commas between them. */
static bool are_agent_names(const char *text)
{
    _cleanup_strv_ char **names = str_split_list(text);
    bool good = names != NULL && strv_len(names) <= EVENTS_LIVE_MAX && strpbrk(text, " \t") == NULL;

    for (char **name = names; good && *name != NULL; name++)
        good = is_agent_name(*name);
    return good;
}

enum handled api_events(struct request *request)
{
    const char *live = json_get_text(request->json, "live");

    if (live != NULL && !are_agent_names(live)) {
        answer_error(request, 400,
                     "cannot use the query live: it is not SESSION/AGENT, or a list of at most %d",
                     EVENTS_LIVE_MAX);
        return HANDLED_NOW;
    }
    if (http_streams(request->server->http) < SERVER_LISTENERS)
        return HANDLED_STREAM;
    answer_refusal(request, 503, NULL, "try again later, or ask GET /sessions from time to time",
                   "%d clients are listening already", SERVER_LISTENERS);
    return HANDLED_NOW;
}

void api_ready(struct request *request)
{
    struct list *list = &request->server->list;

    if (list->err.code != MAS_OK)
        answer_err(request, &list->err, 409);
    else if (strcmp(request->operation->name, "metrics") == 0)
        api_metrics_answer(request, list->now);
    else
        api_sessions_answer(request, list->now);
    http_answered(request);
}
