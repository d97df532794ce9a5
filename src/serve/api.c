#include "serve/api.h"

#include "serve/http.h"
#include "serve/server.h"
#include "store/workspace.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BODY_RUN = 5 << 20, BODY_MESSAGE = 5 << 20, BODY_SMALL = 64 * 1024 };

static const char *const list_queries[] = {"limit", "offset", "status", "mode", NULL};
static const char *const history_queries[] = {"limit", "offset", "query",        "since", "until",
                                              "role",  "tag",    "conversation", NULL};
static const char *const context_queries[] = {"for", "team", NULL};
static const char *const remove_queries[] = {"force", NULL};

const struct route api_routes[] = {
    {METHOD_GET, "/sessions", 0, false, api_sessions, list_queries},
    {METHOD_POST, "/runs", BODY_RUN, false, api_run, NULL},
    {METHOD_GET, "/sessions/{id}", 0, false, api_session, NULL},
    {METHOD_DELETE, "/sessions/{id}", 0, false, api_remove, remove_queries},
    {METHOD_POST, "/sessions/{id}/stop", BODY_SMALL, false, api_stop, NULL},
    {METHOD_POST, "/sessions/{id}/start", BODY_SMALL, false, api_start, NULL},
    {METHOD_POST, "/sessions/{id}/messages", BODY_MESSAGE, false, api_message, NULL},
    {METHOD_POST, "/sessions/{id}/agents/{agent}/prompts", BODY_MESSAGE, false, api_prompt, NULL},
    {METHOD_GET, "/sessions/{id}/agents/{agent}/history", 0, false, api_history, history_queries},
    {METHOD_GET, "/sessions/{id}/agents/{agent}/context", 0, false, api_context, context_queries},
    {METHOD_GET, "/events", 0, false, api_events, NULL},
    {METHOD_GET, "/metrics", 0, false, api_metrics, NULL},
    {METHOD_GET, "/openapi.json", 0, false, api_openapi, NULL},
    {METHOD_GET, "/healthz", 0, true, api_health, NULL},
};
const size_t api_route_count = ARRAY_LEN(api_routes);

/* Returns true if the path matches the route; then sets request->id and request->agent. */
static bool has_form(struct request *request, const char *form)
{
    const char *agent = NULL;
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
        } else if (strlen(part) != len || memcmp(part, word, len) != 0) {
            return false;
        }
        at = word + len;
    }
    if (i != request->part_count)
        return false;
    memcpy(request->id, id, ID_TEXT);
    request->agent = agent;
    return true;
}

/* Returns the methods for this path, for a 405; NULL: no such path. */
static const char *allowed_of(struct request *request)
{
    unsigned methods = 0;

    for (size_t i = 0; i < api_route_count; i++)
        if (has_form(request, api_routes[i].path))
            methods |= 1U << api_routes[i].method;
    switch (methods) {
    case 0:
        return NULL;
    case 1U << METHOD_POST:
        return "POST";
    case 1U << METHOD_GET:
        return "GET, HEAD";
    default:
        return "GET, HEAD, DELETE";
    }
}

static bool knows_queries(struct request *request)
{
    for (size_t i = 0; i < request->query_count; i++) {
        const char *const *known = request->route->queries;
        while (known != NULL && *known != NULL && strcmp(*known, request->queries[i].key) != 0)
            known++;
        if (known == NULL || *known == NULL) {
            answer_error(request, 400, "there is no query '%s' at this address",
                         request->queries[i].key);
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
                      request->route != NULL && request->route->open) ||
        !split)
        return false; /* without the token, a client does not learn which addresses exist */
    if (request->route == NULL) {
        request->answer.allow = allowed_of(request);
        if (request->answer.allow != NULL)
            answer_error(request, 405, "this address does not allow %s", request->verb);
        else if (request->part_count > 0 && strcmp(request->parts[0], "sessions") == 0)
            answer_error(request, 404, "there is no such session, or nothing of that name in it");
        else
            answer_error(request, 404, "there is nothing at this address");
        return false;
    }
    return knows_queries(request);
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
        answer_error(request, 503, "the root '%s' is gone", request->server->root.path);
        return HANDLED_NOW;
    }
    if (request->server->ending && request->method != METHOD_GET) {
        answer_error(request, 503, "the server is shutting down");
        return HANDLED_NOW;
    }
    return request->route->handle(request);
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
        if (*at == NULL) {
            answer_error(request, 400, "cannot use the body: %s: unknown member", json_key(n));
            return false;
        }
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

struct request *api_request(struct job *job)
{
    return (struct request *)(void *)((char *)job - offsetof(struct request, job));
}

static void done(struct job *job)
{
    http_answered(api_request(job));
}

enum handled api_later(struct request *request, void (*run)(struct job *job))
{
    request->job = (struct job){.run = run, .done = done};
    if (pool_add(request->server->pool, &request->job))
        return HANDLED_LATER;
    answer_error(request, 503, "the server is busy; try again");
    return HANDLED_NOW;
}

enum handled api_events(struct request *request)
{
    if (http_streams(request->server->http) < SERVER_LISTENERS)
        return HANDLED_STREAM;
    answer_error(request, 503, "%d clients are listening already", SERVER_LISTENERS);
    return HANDLED_NOW;
}
