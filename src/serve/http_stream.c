/*
 * Bodies that come bit by bit: streams of events, and logs. While there is nothing new, the
 * connection is suspended, and its exchange is in a list, by which it is resumed when something
 * comes, when the server ends, and when its token does. A client that does not read, or may not any
 * longer, is cut off by a shutdown() of its socket.
 */

#include "base/time.h"
#include "serve/http_internal.h"
#include "serve/log_stream.h"

#include <sys/socket.h>

void http_resume(struct exchange *exchange)
{
    if (!exchange->suspended)
        return;
    exchange->suspended = false;
    MHD_resume_connection(exchange->connection);
}

/* ---- streams of events */

void http_stream_leave(struct exchange *exchange)
{
    if (exchange->at == NULL)
        return;
    *exchange->at = exchange->next;
    if (exchange->next != NULL)
        exchange->next->at = exchange->at;
    exchange->at = NULL;
    exchange->http->stream_count--;
    events_leave(exchange->request.server->events, &exchange->cursor);
}

static ssize_t read_stream(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct exchange *exchange = cls;
    static const char beat[] = ":\n\n";

    (void)pos;
    if (exchange->request.server->ending || exchange->revoked)
        return MHD_CONTENT_READER_END_OF_STREAM;
    size_t n = events_read(exchange->request.server->events, &exchange->cursor, buf, max);
    if (n == 0 && exchange->beat && max >= sizeof beat) {
        memcpy(buf, beat, sizeof beat - 1);
        n = sizeof beat - 1;
    }
    exchange->beat = false;
    if (n == 0) {
        exchange->suspended = true;
        MHD_suspend_connection(exchange->connection);
    }
    return (ssize_t)n;
}

void http_end_unknown(struct http *http)
{
    struct exchange *const lists[] = {http->streams, http->logs};

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (struct exchange *at = lists[i]; at != NULL; at = at->next)
            if (!guard_still_knows(&http->server->guard, &at->request)) {
                at->revoked = true;
                (void)shutdown(at->link->fd, SHUT_RDWR);
                http_resume(at);
            }
}

void http_refresh_tokens(struct http *http)
{
    if (guard_refresh(&http->server->guard))
        http_end_unknown(http);
}

void http_wake_streams(struct http *http, bool beat)
{
    http_refresh_tokens(http);
    for (struct exchange *at = http->streams; at != NULL; at = at->next) {
        at->beat = at->beat || beat;
        if (events_is_behind(at->request.server->events, &at->cursor))
            (void)shutdown(at->link->fd, SHUT_RDWR); /* the client does not read */
        http_resume(at);
    }
    for (struct exchange *at = http->logs; at != NULL && http->server->ending; at = at->next)
        http_resume(at);
}

enum MHD_Result http_stream_open(struct exchange *exchange)
{
    struct http *http = exchange->http;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16 * 1024, read_stream, exchange, NULL);

    if (response == NULL)
        return MHD_NO;
    (void)MHD_add_response_header(response, "Content-Type", "text/event-stream");
    (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    (void)MHD_add_response_header(response, "X-Accel-Buffering", "no");
    exchange->phase = PHASE_STREAM;
    exchange->next = http->streams;
    exchange->at = &http->streams;
    if (http->streams != NULL)
        http->streams->at = &exchange->next;
    http->streams = exchange;
    http->stream_count++;
    http->busy--;
    exchange->request.answer.status = 200;
    const char *live = request_query(&exchange->request, "live");
    _cleanup_strv_ char **agents = live != NULL ? str_split_list(live) : NULL;
    events_enter(http->server->events, exchange->request.last_event, agents,
                 &exchange->request.guest, &exchange->cursor);
    enum MHD_Result result = MHD_queue_response(exchange->connection, 200, response);
    MHD_destroy_response(response);
    return result;
}

/* ---- logs as bodies */

static ssize_t read_log(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct exchange *exchange = cls;
    struct request *request = &exchange->request;

    (void)pos;
    if (exchange->revoked || !guard_still_knows(&request->server->guard, request))
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (exchange->phase == PHASE_STREAM && request->server->ending)
        return MHD_CONTENT_READER_END_OF_STREAM;
    exchange->link->since_ms = time_monotonic_ms();
    ssize_t n = log_stream_read(request->log, buf, max);
    if (n == -1)
        return exchange->phase == PHASE_STREAM ? MHD_CONTENT_READER_END_OF_STREAM
                                               : MHD_CONTENT_READER_END_WITH_ERROR;
    request->answer.body.len += (size_t)n; /* for the log of the server */
    if (n == 0) {
        exchange->suspended = true;
        MHD_suspend_connection(exchange->connection);
    }
    return n;
}

struct MHD_Response *http_log_response(struct exchange *exchange)
{
    struct http *http = exchange->http;
    off_t length = log_stream_length(exchange->request.log);
    struct MHD_Response *response = MHD_create_response_from_callback(
        length == -1 ? MHD_SIZE_UNKNOWN : (uint64_t)length, LOG_BLOCK, read_log, exchange, NULL);

    if (response == NULL || length != -1)
        return response;
    exchange->next = http->logs;
    exchange->at = &http->logs;
    if (http->logs != NULL)
        http->logs->at = &exchange->next;
    http->logs = exchange;
    http->log_count++;
    http->busy--;
    (void)MHD_add_response_header(response, "X-Accel-Buffering", "no");
    return response;
}

void http_log_leave(struct exchange *exchange)
{
    *exchange->at = exchange->next;
    if (exchange->next != NULL)
        exchange->next->at = exchange->at;
    exchange->at = NULL;
    exchange->http->log_count--;
}

void http_logs_want(const struct http *http, struct loop *loop)
{
    for (const struct exchange *at = http->logs; at != NULL; at = at->next)
        if (at->suspended)
            log_stream_want(at->request.log, at->link->fd, loop);
}

void http_logs_turn(struct http *http, struct loop *loop)
{
    for (struct exchange *at = http->logs; at != NULL; at = at->next)
        if (at->suspended && log_stream_turn(at->request.log, at->link->fd, loop))
            http_resume(at);
}
