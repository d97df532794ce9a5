#include "serve/api.h"

#include "serve/http.h"
#include "serve/keys.h"
#include "serve/read.h"
#include "serve/server.h"
#include "serve/transfer.h"
#include "store/workspace.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BODY_RUN = 5 << 20, BODY_MESSAGE = 5 << 20, BODY_SMALL = 64 * 1024 };

static const char *const list_queries[] = {"limit", "offset", "status", "mode", NULL};
static const char *const event_queries[] = {"live", NULL};
static const char *const log_queries[] = {"follow", NULL};
static const char *const screen_queries[] = {"history", NULL};
static const char *const archive_queries[] = {"live", NULL};
static const char *const restore_queries[] = {"name", "newId", "links", NULL};
static const char *const remove_queries[] = {"force", NULL};
static const char *const kept_queries[] = {"session", "all", NULL};

/* clang-format off */
const struct route api_routes[] = {
    {METHOD_GET, "/sessions", 0, RIGHT_READ, api_sessions, list_queries, NULL},
    {METHOD_POST, "/runs", BODY_RUN, RIGHT_FULL, api_run, NULL, NULL},
    {METHOD_GET, "/sessions/{id}", 0, RIGHT_READ, api_session, NULL, NULL},
    {METHOD_DELETE, "/sessions/{id}", 0, RIGHT_FULL, api_remove, remove_queries, NULL},
    {METHOD_POST, "/sessions/{id}/stop", BODY_SMALL, RIGHT_FULL, api_stop, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/start", BODY_SMALL, RIGHT_FULL, api_start, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/messages", BODY_MESSAGE, RIGHT_FULL, api_message, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/agents/{agent}/prompts", BODY_MESSAGE, RIGHT_FULL, api_act, NULL, NULL},
    {METHOD_GET, "/sessions/{id}/agents/{agent}", 0, RIGHT_READ, api_agent, NULL, NULL},
    {METHOD_GET, "/sessions/{id}/agents/{agent}/permissions", 0, RIGHT_READ, api_permissions, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/agents/{agent}/cancel", BODY_SMALL, RIGHT_FULL, api_act, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/agents/{agent}/clear", BODY_MESSAGE, RIGHT_FULL, api_act, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/agents/{agent}/mode", BODY_SMALL, RIGHT_FULL, api_act, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/agents/{agent}/options/{item}", BODY_SMALL, RIGHT_FULL, api_act, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/agents/{agent}/conversation", BODY_SMALL, RIGHT_FULL, api_act, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/agents/{agent}/permissions/{item}", BODY_SMALL, RIGHT_ANSWER, api_act, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/agents/{agent}/budget", BODY_SMALL, RIGHT_FULL, api_act, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/agents/{agent}/restart", BODY_SMALL, RIGHT_FULL, api_act, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/agents/{agent}/sleep", BODY_SMALL, RIGHT_FULL, api_act, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/agents/{agent}/wake", BODY_SMALL, RIGHT_FULL, api_act, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/agents/{agent}/seen", BODY_SMALL, RIGHT_ANSWER, api_act, NULL, NULL},
    {METHOD_GET, "/sessions/{id}/agents/{agent}/kept", 0, RIGHT_FULL, api_kept, NULL, NULL},
    {METHOD_DELETE, "/sessions/{id}/agents/{agent}/kept", 0, RIGHT_FULL, api_kept, kept_queries, NULL},
    {METHOD_POST, "/sessions/{id}/settings/{item}", BODY_SMALL, RIGHT_FULL, api_setting, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/agents/{agent}/settings/{item}", BODY_SMALL, RIGHT_FULL, api_setting, NULL, NULL},
    {METHOD_GET, "/permissions", 0, RIGHT_READ, api_all_permissions, NULL, NULL},
    {METHOD_GET, "/search", 0, RIGHT_READ, api_read_verb, NULL, &read_search},
    {METHOD_GET, "/usage", 0, RIGHT_READ, api_read_verb, NULL, &read_usage},
    {METHOD_GET, "/du", 0, RIGHT_READ, api_read_verb, NULL, &read_du},
    {METHOD_GET, "/doctor", 0, RIGHT_READ, api_read_verb, NULL, &read_doctor},
    {METHOD_GET, "/config", 0, RIGHT_FULL, api_read_verb, NULL, &read_config},
    {METHOD_GET, "/jobs", 0, RIGHT_READ, api_read_verb, NULL, &read_jobs},
    {METHOD_GET, "/presets", 0, RIGHT_READ, api_read_verb, NULL, &read_presets},
    {METHOD_GET, "/templates", 0, RIGHT_READ, api_read_verb, NULL, &read_templates},
    {METHOD_GET, "/templates/{item}", 0, RIGHT_READ, api_read_verb, NULL, &read_template},
    {METHOD_GET, "/templates/{item}/check", 0, RIGHT_READ, api_read_verb, NULL, &read_template_check},
    {METHOD_GET, "/sessions/{id}/usage", 0, RIGHT_READ, api_read_verb, NULL, &read_session_usage},
    {METHOD_GET, "/sessions/{id}/du", 0, RIGHT_READ, api_read_verb, NULL, &read_session_du},
    {METHOD_GET, "/sessions/{id}/env", 0, RIGHT_READ, api_read_verb, NULL, &read_env},
    {METHOD_GET, "/sessions/{id}/diff", 0, RIGHT_READ, api_read_verb, NULL, &read_session_diff},
    {METHOD_GET, "/sessions/{id}/agents/{agent}/history", 0, RIGHT_READ, api_read_verb, NULL, &read_history},
    {METHOD_GET, "/sessions/{id}/agents/{agent}/context", 0, RIGHT_READ, api_read_verb, NULL, &read_context},
    {METHOD_GET, "/sessions/{id}/agents/{agent}/diff", 0, RIGHT_READ, api_read_verb, NULL, &read_agent_diff},
    {METHOD_GET, "/sessions/{id}/agents/{agent}/screen", 0, RIGHT_READ, api_screen, screen_queries, NULL},
    {METHOD_GET, "/sessions/{id}/agents/{agent}/review", 0, RIGHT_READ, api_read_verb, NULL, &read_review},
    {METHOD_POST, "/sessions/{id}/agents/{agent}/review", BODY_MESSAGE, RIGHT_FULL, api_review, NULL, NULL},
    {METHOD_GET, "/sessions/{id}/log", 0, RIGHT_READ, api_log, log_queries, NULL},
    {METHOD_GET, "/sessions/{id}/agents/{agent}/log", 0, RIGHT_READ, api_log, log_queries, NULL},
    {METHOD_POST, "/sessions/{id}/agents/{agent}/asides", BODY_MESSAGE, RIGHT_FULL, api_write, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/merge", BODY_SMALL, RIGHT_FULL, api_write, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/sync", BODY_SMALL, RIGHT_FULL, api_write, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/land", BODY_MESSAGE, RIGHT_FULL, api_write, NULL, NULL},
    {METHOD_POST, "/sessions/{id}/archive", BODY_SMALL, RIGHT_FULL, api_write, NULL, NULL},
    {METHOD_GET, "/sessions/{id}/archive", 0, RIGHT_FULL, api_archive, archive_queries, NULL},
    {METHOD_POST, "/restores", TRANSFER_MAX, RIGHT_FULL, api_restore, restore_queries, NULL},
    {METHOD_POST, "/sessions/{id}/migrate", BODY_SMALL, RIGHT_FULL, api_write, NULL, NULL},
    {METHOD_POST, "/clean", BODY_SMALL, RIGHT_FULL, api_write, NULL, NULL},
    {METHOD_POST, "/doctor", BODY_SMALL, RIGHT_FULL, api_write, NULL, NULL},
    {METHOD_GET, "/operations", 0, RIGHT_READ, api_operations, NULL, NULL},
    {METHOD_GET, "/operations/{item}", 0, RIGHT_READ, api_operation, NULL, NULL},
    {METHOD_DELETE, "/operations/{item}", 0, RIGHT_FULL, api_operation_cancel, NULL, NULL},
    {METHOD_GET, "/events", 0, RIGHT_READ, api_events, event_queries, NULL},
    {METHOD_GET, "/metrics", 0, RIGHT_READ, api_metrics, NULL, NULL},
    {METHOD_GET, "/openapi.json", 0, RIGHT_READ, api_openapi, NULL, NULL},
    {METHOD_GET, "/", 0, RIGHT_NONE, api_page, NULL, NULL},
    {METHOD_GET, "/pair", 0, RIGHT_READ, api_paired, NULL, NULL},
    {METHOD_POST, "/pair", BODY_SMALL, RIGHT_NONE, api_pair, NULL, NULL},
    {METHOD_DELETE, "/pair", 0, RIGHT_NONE, api_unpair, NULL, NULL},
    {METHOD_GET, "/page/{item}", 0, RIGHT_NONE, api_page, NULL, NULL},
    {METHOD_GET, "/healthz", 0, RIGHT_NONE, api_health, NULL, NULL},
};
/* clang-format on */
const size_t api_route_count = ARRAY_LEN(api_routes);

/* Returns true if the path matches the route; then sets request->id, request->agent and
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

    for (size_t i = 0; i < api_route_count; i++)
        if (has_form(request, api_routes[i].path))
            methods |= 1U << api_routes[i].method;
    return lists[methods];
}

static bool knows_queries(struct request *request)
{
    for (size_t i = 0; i < request->query_count; i++) {
        const char *const *known = request->route->queries;
        const char *key = request->queries[i].key;
        while (known != NULL && *known != NULL && strcmp(*known, key) != 0)
            known++;
        if ((known == NULL || *known == NULL) &&
            (request->route->read == NULL || !reads_query(request->route->read, key))) {
            answer_error(request, 400, "there is no query '%s' at this address", key);
            return false;
        }
    }
    return true;
}

bool api_begin(struct request *request)
{
    bool split = request_split(request);

    for (size_t i = 0; split && i < api_route_count && request->route == NULL; i++)
        if (api_routes[i].method == request->method && has_form(request, api_routes[i].path))
            request->route = &api_routes[i];
    if (!guard_passes(&request->server->guard, request,
                      request->route != NULL && request->route->right == RIGHT_NONE) ||
        !split)
        return false; /* without the token, a client does not learn which addresses exist */
    if (request->route == NULL) {
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
    return guard_permits(request, request->route->right, "this address") &&
           request_decode_item(request) && knows_queries(request);
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
    return request->route->handle(request);
}

void api_end(struct request *request)
{
    keys_end(request->server->keys, request);
}

bool api_read(struct request *request, const char *const *known)
{
    struct err err = ERR_INIT;

    if (request->body.len == 0)
        str_add(&request->body, "{}");
    if (json_parse(request->body.data, request->body.len, BODY_RUN, &request->json, &err) == -1) {
        answer_error(request, 400, "cannot read the body: %s", err.text);
        return false;
    }
    if (!json_is_object(request->json)) {
        answer_error(request, 400, "cannot read the body: it is not an object");
        return false;
    }
    for (const struct json *n = json_first(request->json); n != NULL; n = json_next(n)) {
        const char *const *at = known;
        while (*at != NULL && strcmp(*at, json_key(n)) != 0)
            at++;
        if (*at != NULL)
            continue;
        _cleanup_str_ struct str hint = STR_INIT;
        for (at = known; *at != NULL; at++)
            str_addf(&hint, "%s %s", at == known ? "its members are:" : ",", *at);
        answer_refusal(request, 400, NULL, *known != NULL ? hint.data : "it has no members",
                       "cannot use the body: %s: unknown member", json_key(n));
        return false;
    }
    return true;
}

bool api_text(struct request *request, const char *key, bool needed, const char **ret)
{
    const struct json *node = json_get(request->json, key);

    if (node != NULL && !json_is_string(node)) {
        answer_error(request, 400, "cannot use the body: %s: it is not a string", key);
        return false;
    }
    if (node == NULL && needed) {
        answer_error(request, 400, "cannot use the body: %s: it is missing", key);
        return false;
    }
    *ret = json_text(node);
    return true;
}

bool api_flag(struct request *request, const char *key)
{
    const char *value = request_query(request, key);

    if (value == NULL || strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
        return true;
    answer_error(request, 400, "cannot use the query %s: it is neither true nor false", key);
    return false;
}

bool api_number(struct request *request, const char *key, size_t most, size_t *ret)
{
    if (request_number(request, key, most, ret))
        return true;
    answer_error(request, 400, "cannot use the query %s: it is not a number from 0 to %zu", key,
                 most);
    return false;
}

struct request *api_request(struct job *job)
{
    return (struct request *)(void *)((char *)job - offsetof(struct request, job));
}

static void done(struct job *job)
{
    http_answered(api_request(job));
}

void api_busy(struct request *request)
{
    static const char hint[] = "try again in a second";

    if (request->id[0] != '\0' && pool_has_place(request->server->pool))
        answer_refusal(request, 503, NULL, hint,
                       "too many requests wait for this session; its agents may not answer");
    else
        answer_refusal(request, 503, NULL, hint, "the server is busy");
}

static enum handled later(struct request *request, const char *session,
                          void (*run)(struct job *job))
{
    request->job = (struct job){.run = run, .done = done};
    if (pool_add(request->server->pool, session, &request->job))
        return HANDLED_LATER;
    api_busy(request);
    return HANDLED_NOW;
}

enum handled api_later(struct request *request, void (*run)(struct job *job))
{
    return later(request, request->id, run);
}

enum handled api_later_past(struct request *request, void (*run)(struct job *job))
{
    return later(request, "", run);
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

enum handled api_events(struct request *request)
{
    const char *live = request_query(request, "live");

    if (live != NULL && !is_agent_name(live)) {
        answer_error(request, 400, "cannot use the query live: it is not SESSION/AGENT");
        return HANDLED_NOW;
    }
    if (http_streams(request->server->http) < SERVER_LISTENERS)
        return HANDLED_STREAM;
    answer_refusal(request, 503, NULL, "try again later, or ask GET /sessions from time to time",
                   "%d clients are listening already", SERVER_LISTENERS);
    return HANDLED_NOW;
}
