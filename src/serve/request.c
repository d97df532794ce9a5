/*
 * First the address is cut up in place, so parts and queries point into the uri and live as long as
 * the request; only what stands for {item}, and queries, may have escapes. Then the answers: an
 * error gets the code of its status, unless it has one of its own, and a hint in terms of the API.
 * An answer is only put down here; sending it is up to http_request.c.
 */

#include "serve/request.h"

#include "model/operation.h"
#include "serve/log_stream.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes a part of a query, or of a path, in place. Returns false if it is no valid text. */
static bool decode(char *text, bool query)
{
    char *to = text;

    for (const char *at = text; *at != '\0'; at++) {
        char c = query && *at == '+' ? ' ' : *at;
        if (*at == '%') {
            int high = hex_value(at[1]);
            int low = high == -1 ? -1 : hex_value(at[2]);
            if (low == -1)
                return false;
            c = (char)(high * 16 + low);
            at += 2;
        }
        if (c == '\0')
            return false;
        *to++ = c;
    }
    *to = '\0';
    return str_is_utf8(text, (size_t)(to - text)) && !str_has_control(text);
}

static bool split_query(struct request *request, char *text)
{
    char *rest = text;

    while (rest != NULL && *rest != '\0') {
        char *pair = strsep(&rest, "&");
        char *value = strchr(pair, '=');
        if (*pair == '\0')
            continue;
        if (value != NULL)
            *value++ = '\0';
        else
            value = pair + strlen(pair);
        if (request->query_count == REQUEST_QUERIES || !decode(pair, true) ||
            !decode(value, true)) {
            answer_error(request, 400, "cannot read the query of the address");
            return false;
        }
        if (request_query(request, pair) != NULL) {
            answer_error(request, 400, "duplicate query '%s'", pair);
            return false;
        }
        request->queries[request->query_count++] = (struct query){pair, value};
    }
    return true;
}

bool request_split(struct request *request)
{
    char *path = request->uri;
    char *query = strchr(path, '?');

    if (path[0] == '\0') {
        answer_error(request, 414, "the address is longer than %d bytes", REQUEST_URI_MAX);
        return false;
    }
    if (query != NULL)
        *query++ = '\0';
    /* Only what stands for {item} may have escapes: a path with others matches no route. */
    bool good = path[0] == '/' && !str_has_control(path);
    for (char *rest = path + 1; good && rest != NULL && !(rest == path + 1 && *rest == '\0');) {
        char *part = strsep(&rest, "/");
        good = *part != '\0' && strcmp(part, ".") != 0 && strcmp(part, "..") != 0 &&
               request->part_count < REQUEST_PARTS;
        if (good)
            request->parts[request->part_count++] = part;
    }
    if (!good) {
        answer_error(request, 404, "there is nothing at this address");
        return false;
    }
    return query == NULL || split_query(request, query);
}

bool request_decode_item(struct request *request)
{
    char *item = NULL;

    for (size_t i = 0; i < request->part_count; i++)
        if (request->parts[i] == request->item)
            item = request->parts[i];
    if (item == NULL)
        return true;
    if (decode(item, false) && strchr(item, '/') == NULL && strcmp(item, ".") != 0 &&
        strcmp(item, "..") != 0)
        return true;
    answer_error(request, 404, "there is nothing at this address");
    return false;
}

const char *request_query(const struct request *request, const char *key)
{
    for (size_t i = 0; i < request->query_count; i++)
        if (strcmp(request->queries[i].key, key) == 0)
            return request->queries[i].value;
    return NULL;
}

void request_free(struct request *request)
{
    free(request->uri);
    str_free(&request->body);
    str_free(&request->answer.body);
    str_free(&request->answer.cookie);
    json_free(request->json);
    log_stream_free(request->log);
}

/* ---- hints
 *
 * Hints of mas name commands, which a client of the HTTP API may not have; here is which address
 * does the same. A hint is cut up at "; ". In each part the table of operations says which address
 * does what the command does, and the table here what stands for an option. A part with a command
 * or an option that they do not know is left out: no hint is better than one that a client cannot
 * follow. */

/* What the addresses in a hint are about; NULL or "" where that is not known, and the address keeps
 * its placeholder. */
struct hint_subject {
    const char *id, *agent, *item;
    const char *kind; /* what stands before the item in the path; NULL: there is none */
};

/* clang-format off */
/* What options are in a body or a query. Longer ones stand before shorter ones that begin like
 * them. The table of operations cannot say it: a hint may be about another address than the one that
 * was asked, and most of these are a query, one word of a member, or its opposite. */
static const struct {
    const char *option, *member;
} options[] = {
    {"--agent",       "'preset'"},
    {"--answer",      "a member of 'answers':"},
    {"--keep",        "'keep'"},
    {"--links",       "links=true"},
    {"--merge",       "'how' merge"},
    {"--mode",        "'sessionMode'"},
    {"--new-id",      "newId=true"},
    {"--no-enter",    "'execute' false"},
    {"--older-than",  "'olderThan'"},
    {"--onto BRANCH", "'onto'"},
    {"--onto",        "'onto'"},
    {"--squash",      "'how' squash"},
    {"--status",      "'status'"},
};
/* clang-format on */

static const char *value_of(const struct hint_subject *subject, const char *placeholder, size_t len)
{
    const char *value = strncmp(placeholder, "{id}", len) == 0      ? subject->id
                        : strncmp(placeholder, "{agent}", len) == 0 ? subject->agent
                                                                    : subject->item;
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static void put_address(const char *address, const struct hint_subject *subject, struct str *to)
{
    while (*address != '\0') {
        size_t plain = strcspn(address, "{");
        str_addn(to, address, plain);
        address += plain;
        size_t len = *address == '{' ? strcspn(address, "}") + 1 : 0;
        const char *value = len > 0 ? value_of(subject, address, len) : NULL;
        if (value != NULL)
            str_add(to, value);
        else
            str_addn(to, address, len);
        address += len;
    }
}

/* Returns where to look for what is not there. */
static const char *list_of(const struct hint_subject *subject)
{
    bool has_id = subject->id != NULL && subject->id[0] != '\0';
    const char *kind = subject->kind != NULL ? subject->kind : "";

    if (strcmp(kind, "operations") == 0)
        return "GET /operations lists them";
    if (strcmp(kind, "templates") == 0)
        return "GET /templates lists them";
    if (strcmp(kind, "permissions") == 0)
        return "GET /sessions/{id}/agents/{agent}/permissions lists what the agent asks";
    if (subject->agent != NULL)
        return "GET /sessions/{id} lists the agents, GET /sessions the sessions";
    return has_id ? "GET /sessions lists the sessions" : "GET /openapi.json lists the addresses";
}

/* Appends what a client can do about an error with this status that says no more; nothing, if that
 * is not known. */
static void hint_default(int status, const struct hint_subject *subject, struct str *to)
{
    static const struct {
        int status;
        const char *text;
    } hints[] = {
        {400, "GET /openapi.json says what this address takes"},
        {401, "send the header 'Authorization: Bearer TOKEN', or pair the browser: POST /pair"},
        {403, "ask by an address of the server, from its own page or without the header Origin"},
        {405, "the header Allow has the methods of this address"},
        {413, "send less, or nothing if GET /openapi.json has no body for this address"},
        {414, "send a shorter address"},
        {416, "the header Content-Range has the length"},
        {503, "try again later"},
        {504, "see what was done before you try again"},
    };

    if (status == 404)
        put_address(list_of(subject), subject, to);
    for (size_t i = 0; i < ARRAY_LEN(hints); i++)
        if (hints[i].status == status)
            str_add(to, hints[i].text);
}

/* Puts what a client has in place of the options in a text. Returns false if it has nothing like
 * one of them. */
static bool put_options(const char *text, struct str *to)
{
    for (const char *at; (at = strstr(text, "--")) != NULL;) {
        size_t i = 0;
        while (i < ARRAY_LEN(options) &&
               (!str_starts(at, options[i].option) ||
                strspn(at + strlen(options[i].option), "abcdefghijklmnopqrstuvwxyz-") > 0))
            i++;
        if (i == ARRAY_LEN(options))
            return false;
        str_addn(to, text, (size_t)(at - text));
        str_add(to, options[i].member);
        text = at + strlen(options[i].option);
    }
    str_add(to, text);
    return true;
}

/* Appends one part of a hint, if a client can do what it says. */
static void put_part(const char *part, const struct hint_subject *subject, struct str *to)
{
    static const char separator[] = "; ";
    static const char one_session[] = "/sessions/{id}";
    const char *command = strstr(part, "mas ");
    bool is_command =
        command != NULL && (command == part || command[-1] == ' ' || command[-1] == '\'');
    const char *query = NULL;
    const struct operation *operation =
        is_command ? operation_of_command(command + strlen("mas "), &query) : NULL;

    _cleanup_str_ struct str words = STR_INIT;
    _cleanup_free_ char *plain =
        mem_dupn(part, is_command ? (size_t)(command - part) : strlen(part));

    if ((is_command && operation == NULL) || str_starts(part, "in the pane: ") ||
        !put_options(plain, &words))
        return;
    if (to->len > 0)
        str_add(to, separator);
    str_add(to, str_text(&words));
    if (!is_command)
        return;
    if (operation->method == METHOD_GET && str_starts(operation->path, one_session) &&
        value_of(subject, "{id}", 4) == NULL) {
        str_add(to, "GET /sessions"); /* it is the command that knows which session */
        return;
    }
    str_addf(to, "%s ", method_name(operation->method));
    put_address(operation->path, subject, to);
    if (query != NULL)
        str_addn(to, query, strcspn(query, ","));
}

/* Appends the hint with addresses in place of commands. Of several parts, which are separated by
 * "; ", those are left out that name an option or a command which a client does not have, or are
 * for the pane. */
static void hint_put(const char *hint, const struct hint_subject *subject, struct str *to)
{
    _cleanup_str_ struct str made = STR_INIT;

    while (*hint != '\0') {
        const char *end = strstr(hint, "; ");
        size_t len = end != NULL ? (size_t)(end - hint) : strlen(hint);
        _cleanup_free_ char *part = mem_dupn(hint, len);
        char *aside = strstr(part, "  ("); /* another command that may help */
        if (aside != NULL)
            *aside = '\0';
        put_part(part, subject, &made);
        hint += len + (end != NULL ? 2 : 0);
    }
    str_add(to, str_text(&made));
}

/* ---- answers */

/* The code of each status in an error. */
static const struct {
    int status;
    const char *code;
} codes[] = {
    {400, "bad_request"}, {401, "unauthorized"}, {403, "forbidden"},     {404, "not_found"},
    {405, "bad_method"},  {409, "conflict"},     {410, "gone"},          {413, "too_large"},
    {414, "too_long"},    {500, "internal"},     {503, "unavailable"},   {504, "timeout"},
    {422, "damaged"},     {507, "no_space"},     {416, "no_such_range"},
};

static const char *code_of(int status)
{
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (codes[i].status == status)
            return codes[i].code;
    return "internal";
}

static void put_members(const char *code, const char *message, const char *hint,
                        struct json_out *out)
{
    json_open(out, "error", '{');
    json_put(out, "code", code);
    json_put(out, "message", message);
    if (hint[0] != '\0')
        json_put(out, "hint", hint);
    json_close(out, '}');
}

static void put_error(const char *code, const char *message, const char *hint, struct str *to)
{
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    put_members(code, message, hint, &out);
    json_close(&out, '}');
}

/* Appends only the error object. */
static void answer_put_error(int status, const char *message, const char *hint, struct str *to)
{
    put_error(code_of(status), message, hint, to);
}

void answer_json(struct request *request, int status, struct str *body)
{
    str_free(&request->answer.body);
    request->answer.status = status;
    request->answer.body = *body;
    *body = (struct str)STR_INIT;
}

static struct hint_subject subject_of(const struct request *request)
{
    const char *kind = NULL;

    for (size_t i = 1; request->item != NULL && i < request->part_count; i++)
        if (request->parts[i] == request->item)
            kind = request->parts[i - 1];
    return (struct hint_subject){
        .id = request->id, .agent = request->agent, .item = request->item, .kind = kind};
}

__attribute__((format(printf, 5, 0))) static void refuse(struct request *request, int status,
                                                         const char *code, const char *hint,
                                                         const char *fmt, va_list args)
{
    const struct hint_subject subject = subject_of(request);
    _cleanup_str_ struct str made = STR_INIT;
    struct str body = STR_INIT;
    char text[ERR_TEXT_MAX];

    (void)vsnprintf(text, sizeof text, fmt, args);
    if (hint == NULL)
        hint_default(status, &subject, &made);
    put_error(code != NULL ? code : code_of(status), text, hint != NULL ? hint : str_text(&made),
              &body);
    answer_json(request, status, &body);
}

void answer_error(struct request *request, int status, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    refuse(request, status, NULL, NULL, fmt, args);
    va_end(args);
}

void answer_refusal(struct request *request, int status, const char *code, const char *hint,
                    const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    refuse(request, status, code, hint, fmt, args);
    va_end(args);
}

static int status_of(const struct err *err, int conflict)
{
    static const int statuses[] = {
        [MAS_FAILED] = 500,  [MAS_USAGE] = 400, [MAS_NOT_FOUND] = 404,
        [MAS_DAMAGED] = 422, [MAS_TMUX] = 503,  [MAS_TIMEOUT] = 504,
    };
    int status = err->code == MAS_CONFLICT ? conflict : 500;

    if (err->code > 0 && (size_t)err->code < ARRAY_LEN(statuses) && statuses[err->code] != 0)
        status = statuses[err->code];
    if (status == 500 && (strstr(err->text, strerror(ENOSPC)) != NULL ||
                          strstr(err->text, strerror(EDQUOT)) != NULL))
        status = 507;
    return status;
}

/* Puts what a client can do about an error: what it says itself, else what helps with any of its
 * status. */
static void put_hint(const struct err *err, int status, const struct hint_subject *subject,
                     struct str *to)
{
    hint_put(err->hint, subject, to);
    if (to->len == 0 && (status == 400 || status == 404 || status == 504))
        hint_default(status, subject, to);
}

void answer_err(struct request *request, const struct err *err, int conflict)
{
    const struct hint_subject subject = subject_of(request);
    _cleanup_str_ struct str hint = STR_INIT;
    struct str body = STR_INIT;
    int status = status_of(err, conflict);

    put_hint(err, status, &subject, &hint);
    answer_put_error(status, err->text, str_text(&hint), &body);
    answer_json(request, status, &body);
}

void answer_put_failure(const struct err *err, const char *id, const char *agent,
                        struct json_out *out)
{
    const struct hint_subject subject = {.id = id, .agent = agent};
    _cleanup_str_ struct str hint = STR_INIT;

    int status = status_of(err, 409);

    put_hint(err, status, &subject, &hint);
    put_members(code_of(status), err->text, str_text(&hint), out);
}

/* Returns true if a list of tags contains this one, or is "*". */
static bool list_has(const char *list, const char *tag)
{
    const char *at = strstr(list, tag);
    return at != NULL || strcmp(list, "*") == 0;
}

void answer_tag(struct request *request, uint64_t hash)
{
    struct answer *answer = &request->answer;

    (void)snprintf(answer->etag, sizeof answer->etag, "\"%016llx\"", (unsigned long long)hash);
    if (request->if_none_match == NULL || !list_has(request->if_none_match, answer->etag))
        return;
    answer->status = 304;
    str_clear(&answer->body);
}
