/*
 * libmicrohttpd calls http_on_request() again and again with what has come; the phase of the
 * exchange says what that is: the head, a piece of the body, its end, or an answer that a job has
 * made meanwhile. An exchange belongs to its connection from http_on_uri() to http_on_completed(),
 * which counts and logs it, and frees it whatever became of it. While it waits, the connection is
 * suspended.
 */

#include "base/time.h"
#include "os/path.h"
#include "serve/http_internal.h"
#include "serve/transfer.h"
#include "store/workspace.h"

#include <sys/socket.h>

static int64_t now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---- answers */

/* What the page may do: nothing but load its own files and talk to this server. No other page may
 * show it in a frame, and no text may become a script. */
static void add_page_headers(struct MHD_Response *response)
{
    static const char *const headers[][2] = {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
         "connect-src 'self'; manifest-src 'self'; form-action 'none'; base-uri 'none'; "
         "frame-ancestors 'none'; "
         "require-trusted-types-for 'script'; trusted-types mas"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Permissions-Policy", "camera=(), microphone=(), geolocation=()"},
    };

    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        (void)MHD_add_response_header(response, headers[i][0], headers[i][1]);
}

static void add_headers(const struct exchange *exchange, struct MHD_Response *response)
{
    const struct answer *answer = &exchange->request.answer;

    (void)MHD_add_response_header(response, "Content-Type",
                                  answer->type != NULL ? answer->type : "application/json");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(response, "Cache-Control",
                                  answer->etag[0] != '\0' ? "no-cache" : "no-store");
    if (answer->etag[0] != '\0')
        (void)MHD_add_response_header(response, "ETag", answer->etag);
    if (answer->status == 401)
        (void)MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    if (answer->status == 503)
        (void)MHD_add_response_header(response, "Retry-After", "1");
    if (answer->replayed)
        (void)MHD_add_response_header(response, "Idempotency-Replayed", "true");
    if (answer->range[0] != '\0')
        (void)MHD_add_response_header(response, "Content-Range", answer->range);
    if (exchange->request.log != NULL || exchange->request.transfer.sends)
        (void)MHD_add_response_header(response, "Accept-Ranges",
                                      exchange->request.log != NULL ? "bytes" : "none");
    if (answer->allow != NULL)
        (void)MHD_add_response_header(response, "Allow", answer->allow);
    if (answer->cookie.len > 0)
        (void)MHD_add_response_header(response, "Set-Cookie", str_text(&answer->cookie));
    if (answer->page)
        add_page_headers(response);
    if (exchange->request.server->ending || exchange->closes)
        (void)MHD_add_response_header(response, "Connection", "close");
}

/* Reads the file that is the body. A client that takes nothing for a minute is hung up on. */
static ssize_t read_file(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct exchange *exchange = cls;
    const struct request *request = &exchange->request;

    if (!guard_still_knows(&request->server->guard, request))
        return MHD_CONTENT_READER_END_WITH_ERROR;
    exchange->link->since_ms = time_monotonic_ms();
    ssize_t n = pread(request->transfer.fd, buf, max, (off_t)pos);
    return n > 0 ? n : MHD_CONTENT_READER_END_WITH_ERROR;
}

static enum MHD_Result send_file(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    struct MHD_Response *response = MHD_create_response_from_callback(
        request->transfer.size, TRANSFER_BLOCK, read_file, exchange, NULL);
    char name[ID_TEXT + 64];

    if (response == NULL)
        return MHD_NO;
    (void)snprintf(name, sizeof name, "attachment; filename=\"%s.tar.zst\"", request->id);
    (void)MHD_add_response_header(response, "Content-Disposition", name);
    add_headers(exchange, response);
    exchange->phase = PHASE_SENT;
    exchange->link->working = false;
    exchange->link->since_ms = time_monotonic_ms();
    request->answer.body.len = request->transfer.size; /* for the log */
    enum MHD_Result result = MHD_queue_response(exchange->connection, 200, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_log(struct exchange *exchange)
{
    struct MHD_Response *response = http_log_response(exchange);

    if (response == NULL)
        return MHD_NO;
    add_headers(exchange, response);
    exchange->phase = exchange->at != NULL ? PHASE_STREAM : PHASE_SENT;
    exchange->link->working = exchange->at != NULL;
    exchange->link->since_ms = time_monotonic_ms();
    enum MHD_Result result = MHD_queue_response(
        exchange->connection, (unsigned)exchange->request.answer.status, response);
    MHD_destroy_response(response);
    return result;
}

static bool guest_is_still_known(struct exchange *exchange)
{
    const struct request *request = &exchange->request;

    if (!guest_is(&request->guest) || request->operation->right == RIGHT_NONE)
        return true;
    http_refresh_tokens(exchange->http);
    return guard_still_knows(&request->server->guard, request);
}

static void refuse_ended(struct request *request)
{
    request->answer.etag[0] = '\0';
    request->answer.type = NULL;
    answer_error(request, 401, "the token is not valid any more");
}

/* A guest whose time was over meanwhile hears nothing more: what was found may be bound by that
 * time, too (guest_is_in()). */
static void check_guest(struct exchange *exchange)
{
    if (exchange->phase == PHASE_WORKING && !guest_is_still_known(exchange))
        refuse_ended(&exchange->request);
}

static enum MHD_Result send_answer(struct exchange *exchange)
{
    struct answer *answer = &exchange->request.answer;

    check_guest(exchange);
    exchange->http->handler.end(&exchange->request);
    if (exchange->request.log != NULL)
        return send_log(exchange);
    if (exchange->request.transfer.sends)
        return send_file(exchange);
    size_t len = answer->body.len;
    char *body = str_steal(&answer->body);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(len, body, MHD_RESPMEM_MUST_FREE);

    if (response == NULL) {
        free(body);
        return MHD_NO;
    }
    answer->body.len = len; /* for the log */
    add_headers(exchange, response);
    exchange->phase = PHASE_SENT;
    exchange->link->working = false;
    /* sending it gets its own time */
    exchange->link->since_ms = time_monotonic_ms();
    enum MHD_Result result =
        MHD_queue_response(exchange->connection, (unsigned)answer->status, response);
    MHD_destroy_response(response);
    return result;
}

void http_answered(struct request *request)
{
    http_resume((struct exchange *)request);
}

/* ---- requests */

/* The client has shown the token. */
static void know(struct http *http, struct link *link)
{
    if (link->peer != PEER_STRANGER || link->ended)
        return;
    http->connections[PEER_STRANGER]--;
    http->connections[link->peer = PEER_KNOWN]++;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static enum method method_of(const char *verb)
{
    if (strcmp(verb, "GET") == 0 || strcmp(verb, "HEAD") == 0)
        return METHOD_GET;
    if (strcmp(verb, "POST") == 0)
        return METHOD_POST;
    return strcmp(verb, "DELETE") == 0 ? METHOD_DELETE : METHOD_OTHER;
}

static size_t body_limit(const struct exchange *exchange)
{
    return exchange->request.body_max;
}

static void refuse_large(struct exchange *exchange)
{
    size_t most = body_limit(exchange);
    if (most == 0)
        answer_refusal(&exchange->request, 413, NULL, "send it without a body",
                       "this request takes no body");
    else
        answer_refusal(&exchange->request, 413, NULL, "send less",
                       "the body is larger than %zu bytes", most);
}

/* Returns false, after answering with an error, if the head is ambiguous. */
static bool is_plain(struct exchange *exchange, const char *verb, const char *version)
{
    _cleanup_free_ char *fault = http_head_fault(exchange, verb, version);

    if (fault == NULL)
        return true;
    exchange->closes = true;
    answer_refusal(&exchange->request, 400, NULL, "send a head that can be read in one way only",
                   "%s", fault);
    return false;
}

static enum MHD_Result handle_head(struct exchange *exchange, const char *verb, const char *version)
{
    struct request *request = &exchange->request;
    struct MHD_Connection *connection = exchange->connection;
    const char *length = header(connection, "Content-Length");

    exchange->phase = PHASE_BODY;
    exchange->link->head = NULL;
    /* what follows a body in pieces may be read as part of it elsewhere */
    exchange->closes = header(connection, "Transfer-Encoding") != NULL;
    request->verb = verb;
    request->method = method_of(verb);
    request->local = exchange->link->peer == PEER_LOCAL;
    request->port = exchange->link->port;
    request->host = header(connection, "Host");
    request->origin = header(connection, "Origin");
    request->authorization = header(connection, "Authorization");
    request->if_none_match = header(connection, "If-None-Match");
    request->last_event = header(connection, "Last-Event-ID");
    request->range = header(connection, "Range");
    request->if_range = header(connection, "If-Range");
    request->fetch_site = header(connection, "Sec-Fetch-Site");
    request->page_token = header(connection, "Mas-Page-Token");
    request->cookie_token = MHD_lookup_connection_value(connection, MHD_COOKIE_KIND,
                                                        exchange->http->server->guard.cookie);
    request->secure = !request->local && exchange->http->daemons[1] != NULL;
    request->idempotency_key = header(connection, "Idempotency-Key");
    http_refresh_tokens(exchange->http);
    bool begun = is_plain(exchange, verb, version) && exchange->http->handler.begin(request);
    if (request->known)
        know(exchange->http, exchange->link);
    if (!begun)
        return send_answer(exchange);
    if (request->answer.status == 0 && body_limit(exchange) == TRANSFER_MAX)
        (void)transfer_begin(request);
    if (length != NULL &&
        (strlen(length) > 12 || strtoull(length, NULL, 10) > body_limit(exchange)))
        refuse_large(exchange);
    return request->answer.status != 0 ? send_answer(exchange) : MHD_YES;
}

static enum MHD_Result handle_piece(struct exchange *exchange, const char *bytes, size_t len)
{
    size_t most = body_limit(exchange);

    if (body_limit(exchange) == TRANSFER_MAX) {
        exchange->link->since_ms = time_monotonic_ms();
        return transfer_take(&exchange->request, bytes, len) ? MHD_YES : MHD_NO;
    }
    if (exchange->request.body.len + len > most)
        exchange->too_large = true;
    if (exchange->too_large) { /* keep reading, because its end may come */
        exchange->request.body.len += len;
        return exchange->request.body.len > 4 * (most + HTTP_HEAD_MAX) ? MHD_NO : MHD_YES;
    }
    str_addn(&exchange->request.body, bytes, len);
    return MHD_YES;
}

static enum MHD_Result handle_whole(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    enum handled handled = HANDLED_NOW;

    exchange->phase = PHASE_WORKING;
    exchange->link->working = true;
    if (exchange->too_large)
        refuse_large(exchange);
    else if (request->answer.status == 0 && !guest_is_still_known(exchange))
        refuse_ended(request); /* while the body came */
    else if (request->answer.status == 0)
        handled = exchange->http->handler.handle(request);
    if (handled == HANDLED_STREAM)
        return http_stream_open(exchange);
    /* do not test the status: a worker may have set it already while its job is not over */
    if (handled == HANDLED_NOW)
        return send_answer(exchange);
    exchange->suspended = true;
    MHD_suspend_connection(exchange->connection);
    return MHD_YES;
}

enum MHD_Result http_on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                const char *verb, const char *version, const char *data,
                                size_t *len, void **context)
{
    struct exchange *exchange = *context;

    (void)cls;
    (void)connection;
    (void)url;
    switch (exchange->phase) {
    case PHASE_HEAD:
        return handle_head(exchange, verb, version);
    case PHASE_BODY: {
        size_t n = *len;
        *len = 0;
        return n > 0 ? handle_piece(exchange, data, n) : handle_whole(exchange);
    }
    case PHASE_WORKING:
        return send_answer(exchange);
    default:
        return MHD_NO;
    }
}

void *http_on_uri(void *cls, const char *uri, struct MHD_Connection *connection)
{
    struct http *http = cls;
    struct exchange *exchange = mem_alloc(sizeof *exchange);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    exchange->http = http;
    exchange->connection = connection;
    exchange->link = info->socket_context;
    exchange->link->head = exchange;
    exchange->uri = uri;
    exchange->uri_len = strlen(uri);
    exchange->request.server = http->server;
    exchange->request.uri = mem_dup(strlen(uri) > REQUEST_URI_MAX ? "" : uri); /* "": a 414 */
    exchange->request.start_us = now_us();
    http->busy++;
    return exchange;
}

/* Writes "<time> tcp <token> POST /sessions/... 200 1234 bytes 5.1 ms" into the logs of server and
 * session; "-": without a token. */
static void log_request(struct exchange *exchange, int64_t took_us)
{
    struct request *request = &exchange->request;
    _cleanup_str_ struct str line = STR_INIT;
    char now[TIME_TEXT];

    time_format(time(NULL), now);
    str_addf(&line, "%s %s %s ", now, exchange->link->peer == PEER_LOCAL ? "unix" : "tcp",
             request->who[0] != '\0' ? request->who : "-");
    str_add_visible(&line, request->verb != NULL ? request->verb : "-",
                    strlen(request->verb != NULL ? request->verb : "-"));
    str_addc(&line, ' ');
    if (request->part_count == 0)
        str_add_visible(&line, request->uri, strcspn(request->uri, "?"));
    for (size_t i = 0; i < request->part_count; i++) {
        str_addc(&line, '/');
        str_add_visible(&line, request->parts[i], strlen(request->parts[i]));
    }
    str_addf(&line, " %d %zu bytes %.1f ms\n", request->answer.status, request->answer.body.len,
             (double)took_us / 1000.0);
    (void)log_write(&request->server->log, line.data, line.len);
    if (request->id[0] == '\0')
        return;
    _cleanup_close_ int dir = workspace_open(&request->server->root, request->id);
    _cleanup_close_ int logs = dir == -1 ? -1 : path_open_dir(dir, WORKSPACE_LOGS);
    if (logs != -1)
        log_line(logs, "api.log", config_log_limits(&request->server->config), line.data);
}

void http_on_completed(void *cls, struct MHD_Connection *connection, void **context,
                       enum MHD_RequestTerminationCode code)
{
    struct http *http = cls;
    struct exchange *exchange = *context;

    (void)connection;
    (void)code;
    if (exchange == NULL)
        return;
    int64_t took = now_us() - exchange->request.start_us;
    if (exchange->phase != PHASE_STREAM)
        http->busy--;
    else if (exchange->request.log == NULL)
        http_stream_leave(exchange);
    else
        http_log_leave(exchange);
    exchange->link->working = false;
    exchange->link->head = NULL;
    exchange->link->since_ms = time_monotonic_ms();
    http->handler.end(&exchange->request);
    if (exchange->request.answer.status != 0) {
        http->handler.count(&exchange->request, exchange->phase == PHASE_STREAM ? -1 : took);
        log_request(exchange, took);
    }
    transfer_end(&exchange->request);
    request_free(&exchange->request);
    free(exchange);
    *context = NULL;
}
