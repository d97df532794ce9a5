/*
 * Connections, each with a link: what mas knows of it until libmicrohttpd closes it. Strangers,
 * clients with a token and those of the Unix socket are counted apart; where there is no room, the
 * stranger that has been idle longest makes it, so that strangers who only hold connections keep
 * nobody out. Where both are needed, one daemon has TLS and one has not. A connection is ended by a
 * shutdown(); libmicrohttpd then closes it itself.
 */

#include "base/time.h"
#include "serve/http_internal.h"

#include <netinet/in.h>

/* ---- connections */

static void leave_place(struct http *http, struct link *link)
{
    if (!link->ended)
        http->connections[link->peer]--;
    link->ended = true;
}

/* Ends a connection; the next turn closes it. */
static void end_link(struct http *http, struct link *link)
{
    (void)shutdown(link->fd, SHUT_RDWR);
    leave_place(http, link);
}

/* Ends the stranger that has been idle longest. Returns false if there is none. */
static bool end_stranger(struct http *http)
{
    struct link *oldest = NULL;

    for (struct link *link = http->links; link != NULL; link = link->next)
        if (link->peer == PEER_STRANGER && !link->working && !link->ended &&
            (oldest == NULL || link->since_ms <= oldest->since_ms))
            oldest = link;
    if (oldest != NULL)
        end_link(http, oldest);
    return oldest != NULL;
}

static uint16_t port_of(const struct sockaddr_storage *address)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;

    memcpy(&four, address, sizeof four);
    memcpy(&six, address, sizeof six);
    return address->ss_family == AF_INET    ? ntohs(four.sin_port)
           : address->ss_family == AF_INET6 ? ntohs(six.sin6_port)
                                            : 0;
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http *http = cls;
    struct link *link = *context;

    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (link == NULL)
            return;
        *link->at = link->next;
        if (link->next != NULL)
            link->next->at = link->at;
        leave_place(http, link);
        free(link);
        return;
    }
    link = mem_alloc(sizeof *link);
    link->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    struct sockaddr_storage own = {.ss_family = AF_UNSPEC};
    socklen_t len = sizeof own;
    (void)getsockname(link->fd, (struct sockaddr *)&own, &len);
    link->peer = own.ss_family == AF_UNIX ? PEER_LOCAL : PEER_STRANGER;
    link->port = port_of(&own);
    link->encrypted = link->peer != PEER_LOCAL && http->daemons[1] != NULL;
    link->since_ms = time_monotonic_ms();
    link->next = http->links;
    link->at = &http->links;
    if (http->links != NULL)
        http->links->at = &link->next;
    http->links = link;
    http->connections[link->peer]++;
    *context = link;
}

void http_sweep(struct http *http)
{
    int64_t now = time_monotonic_ms();
    struct link *next;

    for (struct link *link = http->links; link != NULL; link = next) {
        next = link->next;
        int64_t most = link->peer == PEER_STRANGER ? HTTP_STRANGER_MS : HTTP_REQUEST_MS;
        if (!link->working && now - link->since_ms > most)
            end_link(http, link);
    }
    for (struct exchange *at = http->streams; at != NULL; at = at->next)
        at->link->since_ms = now;
    (void)guard_refresh(&http->server->guard);
    http_end_unknown(http);
}

/* ---- the daemons */

/* Limit for libmicrohttpd, including connections that are being closed. */
enum { CONNECTIONS_MAX = 2 * (SERVER_CONNECTIONS + SERVER_LOCAL) };

static size_t keep_escapes(void *cls, struct MHD_Connection *connection, char *text)
{
    (void)cls;
    (void)connection;
    return strlen(text);
}

static struct MHD_Daemon *start(struct http *http, const char *cert, const char *key)
{
    const struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)cert},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)key},
        {MHD_OPTION_END, 0, NULL},
    };
    const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    unsigned flags = (unsigned)MHD_USE_EPOLL | (unsigned)MHD_USE_NO_LISTEN_SOCKET |
                     (unsigned)MHD_ALLOW_SUSPEND_RESUME | (unsigned)MHD_USE_ERROR_LOG |
                     (cert != NULL ? (unsigned)MHD_USE_TLS : 0U);

    return MHD_start_daemon(
        flags, 0, NULL, NULL, http_on_request, http, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HTTP_HEAD_MAX, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_S, MHD_OPTION_URI_LOG_CALLBACK,
        http_on_uri, http, MHD_OPTION_NOTIFY_COMPLETED, http_on_completed, http,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_UNESCAPE_CALLBACK,
        keep_escapes, NULL, MHD_OPTION_STRICT_FOR_CLIENT, http_head_strictness(),
        MHD_OPTION_EXTERNAL_LOGGER, http_head_log, http, MHD_OPTION_ARRAY,
        cert != NULL ? tls : none, MHD_OPTION_END);
}

int http_make(struct server *server, struct http_handler handler, const char *cert, const char *key,
              struct http **ret, struct err *err)
{
    struct http *http = mem_alloc(sizeof *http);

    http->server = server;
    http->handler = handler;
    http->daemons[0] = start(http, cert, key);
    http->daemons[1] = cert != NULL ? start(http, NULL, NULL) : NULL;
    if (http->daemons[0] == NULL || (cert != NULL && http->daemons[1] == NULL)) {
        http_free(http);
        return err_set(err, MAS_FAILED, "cannot serve: libmicrohttpd does not start%s",
                       cert != NULL ? " with this certificate and key" : "");
    }
    *ret = http;
    return 0;
}

void http_free(struct http *http)
{
    if (http == NULL)
        return;
    for (struct exchange *at = http->streams; at != NULL; at = at->next)
        http_resume(at);
    for (struct exchange *at = http->logs; at != NULL; at = at->next)
        http_resume(at);
    for (size_t i = 0; i < HTTP_DAEMONS; i++)
        if (http->daemons[i] != NULL) {
            (void)MHD_run(http->daemons[i]);
            MHD_stop_daemon(http->daemons[i]);
        }
    free(http);
}

static bool has_room(struct http *http, bool local)
{
    const size_t *now = http->connections;

    if (local)
        return now[PEER_LOCAL] < SERVER_LOCAL;
    return (now[PEER_STRANGER] < SERVER_STRANGERS &&
            now[PEER_STRANGER] + now[PEER_KNOWN] < SERVER_CONNECTIONS) ||
           end_stranger(http);
}

void http_add(struct http *http, int fd, const struct sockaddr *from, socklen_t len)
{
    bool local = from->sa_family == AF_UNIX;
    struct MHD_Daemon *daemon =
        local && http->daemons[1] != NULL ? http->daemons[1] : http->daemons[0];

    if (!has_room(http, local)) {
        static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
                                   "Retry-After: 1\r\nContent-Length: 0\r\n\r\n";
        if (local || http->daemons[1] == NULL)
            (void)send(fd, busy, sizeof busy - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)close(fd);
        return;
    }
    (void)MHD_add_connection(daemon, fd, from, len); /* closes it on failure */
}

size_t http_connections(const struct http *http)
{
    return http->connections[PEER_STRANGER] + http->connections[PEER_KNOWN] +
           http->connections[PEER_LOCAL];
}

size_t http_busy(const struct http *http)
{
    return http->busy;
}

size_t http_log_followers(const struct http *http)
{
    return http->log_count;
}

size_t http_streams(const struct http *http)
{
    return http->stream_count;
}

void http_want(const struct http *http, struct loop *loop)
{
    for (size_t i = 0; i < HTTP_DAEMONS; i++) {
        const union MHD_DaemonInfo *info =
            http->daemons[i] == NULL
                ? NULL
                : MHD_get_daemon_info(http->daemons[i], MHD_DAEMON_INFO_EPOLL_FD);
        loop_want(loop, info == NULL ? -1 : info->epoll_fd, POLLIN);
    }
    http_logs_want(http, loop);
}

int http_timeout_ms(struct http *http)
{
    int least = 1000;

    for (size_t i = 0; i < HTTP_DAEMONS; i++) {
        MHD_UNSIGNED_LONG_LONG ms;
        if (http->daemons[i] != NULL && MHD_get_timeout(http->daemons[i], &ms) == MHD_YES &&
            ms < (MHD_UNSIGNED_LONG_LONG)least)
            least = (int)ms;
    }
    return least;
}

void http_turn(struct http *http, struct loop *loop)
{
    http_logs_turn(http, loop);
    for (size_t i = 0; i < HTTP_DAEMONS; i++)
        if (http->daemons[i] != NULL)
            (void)MHD_run(http->daemons[i]);
}
