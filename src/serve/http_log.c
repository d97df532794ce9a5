#include "base/time.h"
#include "serve/http_internal.h"
#include "serve/log_stream.h"

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
