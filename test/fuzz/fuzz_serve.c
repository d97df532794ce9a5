/*
 * Requests of any kind, up to what would run something: the address, the guard, the table, the
 * bodies. The input is lines: method, address, Host, Origin, Authorization, If-None-Match; then the
 * body. Whatever is asked, there is an answer of a known form, or a worker would have it.
 */
#include "base/json.h"
#include "fuzz.h"
#include "serve/api.h"
#include "serve/events.h"
#include "serve/http.h"
#include "serve/later.h"
#include "serve/metrics.h"
#include "serve/server.h"

/* A server without a pool: what needs a worker is refused as too much. */
static struct server *make_server(void)
{
    static struct server server = {.root = ROOT_INIT, .config = CONFIG_INIT};
    struct err err = ERR_INIT;
    char host[] = "team.example";
    char *hosts[] = {host, NULL};

    if (server.guard.own.count > 0)
        return &server;
    must(config_load(NULL, false, &server.config, NULL, &err) == 0);
    must(pool_make(0, 0, &server.pool, &err) == 0);
    struct token *token = mem_alloc(sizeof *token);
    *token = (struct token){.name = TOKEN_OF_FILE, .right = RIGHT_FULL};
    sha256_of("0123456789abcdef", 16, token->hash);
    server.guard.own = (struct tokens){.at = token, .count = 1};
    strv_push(&server.guard.hosts, hosts[0]);
    server.metrics = metrics_make();
    server.shared = shared_make();
    return &server;
}

/* The next line, its end cut off; NULL: there is none, or it is a dash. */
static char *take_line(char **rest)
{
    char *line = *rest == NULL ? NULL : strsep(rest, "\n");
    return line == NULL || strcmp(line, "-") == 0 ? NULL : line;
}

static enum method method_of(const char *verb)
{
    if (verb == NULL || strcmp(verb, "GET") == 0)
        return METHOD_GET;
    return strcmp(verb, "POST") == 0     ? METHOD_POST
           : strcmp(verb, "DELETE") == 0 ? METHOD_DELETE
                                         : METHOD_OTHER;
}

/* An error is an object of the form that is promised. */
static void check_answer(const struct request *request)
{
    const struct answer *answer = &request->answer;
    struct json *json = NULL;
    struct err err = ERR_INIT;

    must(answer->status >= 200 && answer->status < 600);
    if (answer->status < 400)
        return;
    must(json_parse(str_text(&answer->body), answer->body.len, answer->body.len, &json, &err) == 0);
    must(json_get_text(json_get(json, "error"), "code") != NULL);
    must(json_get_text(json_get(json, "error"), "message") != NULL);
    json_free(json);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct server *server = make_server();
    char *text = mem_dupn((const char *)data, size);
    char *rest = text;
    struct request request = {.server = server};

    request.verb = take_line(&rest);
    if (request.verb == NULL)
        request.verb = "GET";
    request.method = method_of(request.verb);
    const char *uri = take_line(&rest);
    request.uri = mem_dup(uri == NULL ? "/" : uri);
    request.host = take_line(&rest);
    request.origin = take_line(&rest);
    request.authorization = take_line(&rest);
    request.if_none_match = take_line(&rest);
    if (rest != NULL)
        str_add(&request.body, rest);
    bool open = request.authorization == NULL ||
                strcasecmp(request.authorization, "Bearer 0123456789abcdef") != 0;
    if (api_begin(&request)) {
        must(!open || request.operation->right == RIGHT_NONE);
        must(request.id[0] == '\0' || id_is_valid(request.id));
        must(request.agent == NULL || str_is_word(request.agent, 32));
        /* not by api_handle(), for there is no root; these look at the running server, or stream */
        if (strcmp(request.operation->name, "listSessions") != 0 &&
            strcmp(request.operation->name, "metrics") != 0 &&
            strcmp(request.operation->name, "events") != 0)
            must(api_do(&request) == HANDLED_NOW);
        else
            answer_error(&request, 503, "not here");
    }
    check_answer(&request);
    request_free(&request);
    free(text);
    return 0;
}
