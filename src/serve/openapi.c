/*
 * GET /openapi.json: what the table of operations says, as OpenAPI 3.1 (spec.openapis.org). What
 * answers look like is in components.json.
 */
#include "serve/api.h"
#include "serve/server.h"

/* The components, as they are in the source tree. */
extern const char components_text[];
extern const char components_end[];
__asm__(".section .rodata\n"
        ".global components_text\ncomponents_text:\n"
        ".incbin \"src/serve/components.json\"\n"
        ".global components_end\ncomponents_end:\n"
        ".byte 0\n"
        ".section .note.GNU-stack,\"\",%progbits\n"
        ".text\n");

static void put_ref(const char *kind, const char *name, struct json_out *out)
{
    _cleanup_free_ char *ref = mem_printf("#/components/%s/%s", kind, name);
    json_put(out, "$ref", ref);
}

/* An element of a list. */
static void put_shared(const char *kind, const char *name, struct json_out *out)
{
    json_open(out, NULL, '{');
    put_ref(kind, name, out);
    json_close(out, '}');
}

/* ---- what a request has */

static void put_query(const struct param *param, struct json_out *out)
{
    json_open(out, NULL, '{');
    json_put_all(out, JT("name", param->name), JT("in", "query"), JB("required", param->needed));
    json_open(out, "schema", '{');
    param_put_schema(param, out);
    json_close(out, '}');
    json_close(out, '}');
}

static bool has_error(const char *statuses, const char *status)
{
    return statuses != NULL && strstr(statuses, status) != NULL;
}

static void put_parameters(const struct operation *operation, struct json_out *out)
{
    const struct param *p = operation_has_queries(operation) ? operation->params : NULL;

    json_open(out, "parameters", '[');
    for (; p != NULL && p->name != NULL; p++)
        put_query(p, out);
    if (operation->kind == OPERATION_READ || has_error(operation->errors, "304"))
        put_shared("parameters", "ifNoneMatch", out);
    if (has_error(operation->errors, "206")) {
        put_shared("parameters", "range", out);
        put_shared("parameters", "ifRange", out);
    }
    if (strcmp(operation->name, "events") == 0)
        put_shared("parameters", "lastEventId", out);
    if (operation->method == METHOD_POST && operation->right != RIGHT_NONE)
        put_shared("parameters", "idempotencyKey", out);
    json_close(out, ']');
}

static void put_type(const char *type, struct json_out *out)
{
    json_put_all(out, JO(type), JO("schema"), JT("type", "string"), JT("contentMediaType", type),
                 JOE, JOE);
}

static void put_body(const struct operation *operation, struct json_out *out)
{
    bool needed = operation->body != NULL;

    for (const struct param *p = operation->params; p != NULL && p->name != NULL; p++)
        needed = needed || p->needed;
    json_open(out, "requestBody", '{');
    json_put_bool(out, "required", needed);
    json_open(out, "content", '{');
    if (operation->body != NULL) {
        _cleanup_strv_ char **types = str_split_list(operation->body);
        for (char **type = types; *type != NULL; type++)
            put_type(*type, out);
    } else {
        json_open(out, "application/json", '{');
        json_open(out, "schema", '{');
        params_put_schema(operation->params, out);
        json_close(out, '}');
        json_close(out, '}');
    }
    json_close(out, '}');
    json_close(out, '}');
}

/* ---- what is answered */

/* What operations of a kind have unless their row says more. */
static const struct {
    int status;
    const char *answer, *says, *errors;
} kinds[] = {
    [OPERATION_OWN] = {200, NULL, NULL, ""},
    [OPERATION_HOST] = {200, "Done", "it is done", "404 409 410 422 500 504 507"},
    [OPERATION_READ] = {200, NULL, "as it is now", "304 404 409 410 422 500 504"},
    [OPERATION_TOLD] = {200, "SessionWhole", NULL, "404 409 422 500 504 507"},
    [OPERATION_LONG] = {202, "Operation", "it is waiting or running: see /operations/{item}",
                        "404 409 422 500"},
};

static void put_content(const struct operation *operation, struct json_out *out)
{
    const char *answer =
        operation->answer != NULL ? operation->answer : kinds[operation->kind].answer;

    json_open(out, "content", '{');
    _cleanup_strv_ char **types =
        operation->types != NULL ? str_split_list(operation->types) : NULL;
    for (char **type = types; type != NULL && *type != NULL; type++)
        put_type(*type, out);
    if (types == NULL) {
        json_open(out, "application/json", '{');
        json_open(out, "schema", '{');
        put_ref("schemas", answer, out);
        json_close(out, '}');
        json_close(out, '}');
    }
    json_close(out, '}');
}

static void put_answer(const struct operation *operation, struct json_out *out)
{
    int status = operation->status != 0 ? operation->status : kinds[operation->kind].status;
    _cleanup_free_ char *key = mem_printf("%d", status);

    json_open(out, key, '{');
    json_put(out, "description",
             operation->says != NULL ? operation->says : kinds[operation->kind].says);
    put_content(operation, out);
    json_close(out, '}');
}

static void put_responses(const struct operation *operation, struct json_out *out)
{
    static const struct {
        const char *status, *name;
    } errors[] = {
        {"400", "BadRequest"}, {"401", "Unauthorized"}, {"403", "Forbidden"},
        {"404", "NotFound"},   {"409", "Conflict"},     {"410", "Gone"},
        {"413", "TooLarge"},   {"414", "TooLong"},      {"416", "NoRange"},
        {"422", "Damaged"},    {"500", "Failed"},       {"503", "Unavailable"},
        {"504", "Timeout"},    {"507", "NoSpace"},
    };
    static const char any[] = "400 403 413 414 503"; /* any address */
    bool keyed = operation->method == METHOD_POST && operation->right != RIGHT_NONE;
    const char *const lists[] = {any, kinds[operation->kind].errors, operation->errors,
                                 operation->right != RIGHT_NONE ? "401" : NULL,
                                 keyed ? "409 422 507" : NULL};

    json_open(out, "responses", '{');
    put_answer(operation, out);
    if (has_error(operation->errors, "206")) {
        json_open(out, "206", '{');
        json_put(out, "description", "a range of it");
        put_content(operation, out);
        json_close(out, '}');
    }
    if (operation->kind == OPERATION_READ || has_error(operation->errors, "304")) {
        json_put_all(out, JO("304"), JT("description", "nothing has changed"), JOE);
    }
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        bool has = false;
        for (size_t k = 0; k < ARRAY_LEN(lists); k++)
            has = has || has_error(lists[k], errors[i].status);
        if (!has)
            continue;
        json_open(out, errors[i].status, '{');
        put_ref("responses", errors[i].name, out);
        json_close(out, '}');
    }
    json_close(out, '}');
}

/* ---- the whole */

static void put_verbs(const char *list, struct json_out *out)
{
    const char *const end = list + strlen(list);

    json_open(out, "x-mas-verbs", '[');
    for (const char *at = list; at < end; at += strspn(at, ", ")) {
        _cleanup_free_ char *verb = mem_dupn(at, strcspn(at, ","));
        json_put(out, NULL, verb);
        at += strlen(verb);
    }
    json_close(out, ']');
}

static void put_security(enum right right, struct json_out *out)
{
    json_open(out, "security", '[');
    if (right != RIGHT_NONE) {
        json_put_all(out, JO(NULL), JA("token"), JT(NULL, right_name(right)), JAE, JOE);
    }
    json_close(out, ']');
}

static void put_operation(const struct operation *operation, struct json_out *out)
{
    static const char *const keys[] = {"get", "post", "delete"};

    json_open(out, keys[operation->method], '{');
    json_put(out, "operationId", operation->name);
    json_put(out, "summary", operation->summary);
    if (operation->help != NULL)
        json_put(out, "description", operation->help);
    if (operation->verbs != NULL)
        put_verbs(operation->verbs, out);
    put_parameters(operation, out);
    if (operation->method == METHOD_POST && (operation->body != NULL || operation->params != NULL))
        put_body(operation, out);
    put_security(operation->right, out);
    put_responses(operation, out);
    json_close(out, '}');
}

static void put_path(const struct operation *first, struct json_out *out)
{
    const char *path = first->path;

    json_open(out, path, '{');
    json_open(out, "parameters", '[');
    if (strstr(path, "{id}") != NULL)
        put_shared("parameters", "session", out);
    if (strstr(path, "{agent}") != NULL)
        put_shared("parameters", "agent", out);
    if (first->item != NULL) {
        json_put_all(out, JO(NULL), JT("name", "item"), JT("in", "path"), JB("required", true),
                     JT("description", first->item), JO("schema"), JT("type", "string"), JOE, JOE);
    }
    json_close(out, ']');
    for (const struct operation *at = first; at < operations + operation_count; at++)
        if (at->path != NULL && strcmp(at->path, path) == 0)
            put_operation(at, out);
    json_close(out, '}');
}

static bool is_first(const struct operation *operation)
{
    const struct operation *at = operations;

    while (at->path == NULL || strcmp(at->path, operation->path) != 0)
        at++;
    return at == operation;
}

static void put_head(struct json_out *out)
{
    json_put_all(out, JT("openapi", "3.1.0"), JO("info"), JT("title", "mas"), JT("version", "1.0"),
                 JT("summary", "Teams of AI agents: sessions, messages, events"), JO("license"),
                 JT("name", "MIT"), JT("identifier", "MIT"), JOE, JOE, JA("servers"), JO(NULL),
                 JT("url", "/"), JOE, JAE); /* the one that the client asks */
}

enum handled api_openapi(struct request *request)
{
    size_t len = (size_t)((uintptr_t)components_end - (uintptr_t)components_text);
    _cleanup_free_ char *components = mem_dupn(components_text, len);
    struct str body = STR_INIT;
    struct json_out out = {.to = &body};

    json_open(&out, NULL, '{');
    put_head(&out);
    json_open(&out, "paths", '{');
    for (size_t i = 0; i < operation_count; i++)
        if (operations[i].path != NULL && is_first(&operations[i]))
            put_path(&operations[i], &out);
    json_close(&out, '}');
    json_put_raw(&out, "components", components);
    json_close(&out, '}');
    uint64_t hash = hash_bytes(HASH_START, body.data, body.len);
    answer_json(request, 200, &body);
    answer_tag(request, hash);
    return HANDLED_NOW;
}
