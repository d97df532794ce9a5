/*
 * The gate: SOCKS5 for what comes from the namespace. Each connection has a thread, because a
 * resolver makes its caller wait.
 */
#include "network/network.h"

#include "base/time.h"
#include "network/socks.h"
#include "os/file.h"
#include "os/log.h"
#include "os/loop.h"
#include "os/thread.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <sys/socket.h>

enum {
    CONNECTIONS_MAX = 128, /* at once; more wait until one ends */
    HANDSHAKE_MS = 10 * 1000, /* for a client to say what it wants */
    CONNECT_MS = 10 * 1000, /* for each address */
    ADDRESSES_MAX = 16, /* of a name that are tried */
    LINGER_MS = 5 * 60 * 1000, /* without a byte, after one end has said that it is done */
    CHUNK = 16 * 1024,
    LOG_SIZE = 1024 * 1024,
    LOG_KEEP = 1,
    LOG_LINE_MAX = 1024,
};

struct network_gate {
    const struct network *network;
    const struct network_log *log;
    int freed; /* bell: a connection has ended */
    atomic_int active;
};

struct visit {
    struct network_gate *gate;
    int client;
};

/* One direction of a connection. */
struct flow {
    int from, to;
    size_t have, sent;
    bool ended; /* nothing more comes */
    bool closed; /* and `to` knows */
    char bytes[CHUNK];
};

void network_log(const struct network_log *log, const char *fmt, ...)
{
    char text[LOG_LINE_MAX];
    va_list args;

    if (log->dir == -1)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    log_text(log->dir, log->name, (struct log_limits){.size = LOG_SIZE, .keep = LOG_KEEP}, text);
}

/* Reads a message of the client into buf[SOCKS_MESSAGE_MAX], of which *len bytes are there, until
 * `parse` returns its length. */
static int read_message(int fd, unsigned char *buf, size_t *len, int64_t until,
                        int (*parse)(const unsigned char *buf, size_t len, void *arg), void *arg)
{
    int whole;

    while ((whole = parse(buf, *len, arg)) == 0) {
        int64_t left = until - time_monotonic_ms();
        if (*len == SOCKS_MESSAGE_MAX || left <= 0 || loop_wait_for(fd, POLLIN, (int)left) <= 0)
            return -1;
        ssize_t n = recv(fd, buf + *len, SOCKS_MESSAGE_MAX - *len, 0);
        if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR))
            return -1;
        *len += n > 0 ? (size_t)n : 0;
    }
    if (whole == -1)
        return -1;
    memmove(buf, buf + whole, *len - (size_t)whole);
    *len -= (size_t)whole;
    return 0;
}

static int parse_greeting(const unsigned char *buf, size_t len, void *arg)
{
    (void)arg;
    return socks_parse_greeting(buf, len);
}

static int parse_request(const unsigned char *buf, size_t len, void *arg)
{
    return socks_parse_request(buf, len, arg);
}

/* Reads what the client wants. Returns -1 if it does not speak SOCKS5. What it sends before it has
 * the answer is an error, too. */
static int read_request(int fd, struct socks_request *ret)
{
    unsigned char buf[SOCKS_MESSAGE_MAX];
    size_t len = 0;
    int64_t until = time_monotonic_ms() + HANDSHAKE_MS;

    if (read_message(fd, buf, &len, until, parse_greeting, NULL) == -1 ||
        send(fd, "\5", 2, MSG_NOSIGNAL) != 2) /* with its NUL: no login */
        return -1;
    return read_message(fd, buf, &len, until, parse_request, ret) == 0 && len == 0 ? 0 : -1;
}

static void reply(int fd, enum socks_reply reply)
{
    unsigned char buf[SOCKS_REPLY];

    socks_format_reply(reply, buf);
    (void)!send(fd, buf, sizeof buf, MSG_NOSIGNAL);
}

/* Returns true if the address is one of this machine's own interfaces, or leads to one: its servers
 * are not for the agent, also where the whole world reaches them. If that cannot be found out, it
 * is. */
static bool is_own(const struct in6_addr *address)
{
    const struct in6_addr end = network_leads_to(address);
    struct ifaddrs *all = NULL;
    struct in6_addr one;
    bool own = false;

    if (getifaddrs(&all) == -1)
        return true;
    for (const struct ifaddrs *i = all; i != NULL && !own; i = i->ifa_next)
        own = i->ifa_addr != NULL && network_address_of(i->ifa_addr, &one) &&
              (memcmp(&one, address, sizeof one) == 0 || memcmp(&one, &end, sizeof one) == 0);
    freeifaddrs(all);
    return own;
}

/* Returns true if a connection to this address, which the host has resolved to, is allowed. */
static bool may_reach(const struct network_gate *gate, const struct sockaddr *at, uint16_t port)
{
    struct in6_addr address;

    if (!network_address_of(at, &address) || !network_admits_address(gate->network, &address, port))
        return false;
    const struct network_host itself = {.is_address = true, .address = address};
    return network_admits(gate->network, &itself, port) || !is_own(&address);
}

/* Connects within CONNECT_MS. Returns a non-blocking descriptor, or -1 with errno. */
static int connect_to(const struct addrinfo *at)
{
    _cleanup_close_ int fd =
        socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
    socklen_t len = sizeof(int);
    int on = 1;
    int error = 0;

    if (fd == -1)
        return -1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (connect(fd, at->ai_addr, at->ai_addrlen) == -1) {
        if (errno != EINPROGRESS)
            return -1;
        if (loop_wait_for(fd, POLLOUT, CONNECT_MS) <= 0)
            error = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
            error = errno;
    }
    if (error != 0) {
        errno = error;
        return -1;
    }
    return TAKE_FD(fd);
}

/* Resolves the host and connects to the first address that is allowed and answers. Returns the
 * descriptor, or -1 with the answer for the client in *ret_reply. */
static int reach(const struct network_gate *gate, const struct socks_request *request,
                 const struct network_host *host, enum socks_reply *ret_reply)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *all = NULL;
    char port[8];
    int refused = 0;
    int tried = 0;
    int fd = -1;
    int error = 0;

    (void)snprintf(port, sizeof port, "%u", (unsigned)request->port);
    hints.ai_flags |= host->is_address ? AI_NUMERICHOST : 0;
    int found = getaddrinfo(host->is_address ? request->host : host->name, port, &hints, &all);
    if (found != 0) {
        network_log(gate->log, "failed %s:%s: %s", request->host, port, gai_strerror(found));
        *ret_reply = SOCKS_UNREACHABLE;
        return -1;
    }
    for (const struct addrinfo *at = all; at != NULL && fd == -1 && tried < ADDRESSES_MAX;
         at = at->ai_next, tried++) {
        char text[NI_MAXHOST] = "?";
        (void)getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST);
        if (!may_reach(gate, at->ai_addr, request->port)) {
            network_log(gate->log, "refused %s:%s: it is at %s, which the list does not name",
                        request->host, port, text);
            refused++;
        } else if ((fd = connect_to(at)) == -1) {
            error = errno;
        } else {
            network_log(gate->log, "allowed %s:%s at %s", request->host, port, text);
        }
    }
    freeaddrinfo(all);
    if (fd == -1 && error != 0)
        network_log(gate->log, "failed %s:%s: %s", request->host, port, strerror(error));
    *ret_reply = refused > 0 && error == 0 ? SOCKS_REFUSED : SOCKS_UNREACHABLE;
    return fd;
}

/* Moves what is there. Returns false if the connection is broken. */
static bool move(struct flow *flow)
{
    if (!flow->ended && flow->have == 0) {
        ssize_t n = recv(flow->from, flow->bytes, sizeof flow->bytes, 0);
        if (n == -1)
            return errno == EAGAIN || errno == EINTR;
        flow->have = (size_t)n;
        flow->sent = 0;
        flow->ended = n == 0;
    }
    if (flow->have > 0) {
        ssize_t n = send(flow->to, flow->bytes + flow->sent, flow->have - flow->sent, MSG_NOSIGNAL);
        if (n == -1)
            return errno == EAGAIN || errno == EINTR;
        flow->sent += (size_t)n;
        if (flow->sent == flow->have)
            flow->have = 0;
    }
    if (flow->ended && !flow->closed) {
        (void)shutdown(flow->to, SHUT_WR);
        flow->closed = true;
    }
    return true;
}

/* Carries bytes in both directions until both have ended or one is broken. */
static void carry(int client, int server)
{
    _cleanup_loop_ struct loop loop = LOOP_INIT;
    _cleanup_free_ struct flow *flows = mem_alloc(2 * sizeof *flows);
    bool works = true;

    flows[0].from = flows[1].to = client;
    flows[0].to = flows[1].from = server;
    while (works && !(flows[0].closed && flows[1].closed)) {
        short events[2] = {0, 0}; /* of the client, of the server */
        for (int i = 0; i < 2; i++) {
            events[i] |= !flows[i].ended && flows[i].have == 0 ? POLLIN : 0;
            events[1 - i] |= flows[i].have > 0 ? POLLOUT : 0;
        }
        loop_begin(&loop);
        /* one that is waited for in neither way would only report its end, again and again */
        loop_want(&loop, events[0] != 0 ? client : -1, events[0]);
        loop_want(&loop, events[1] != 0 ? server : -1, events[1]);
        bool half = flows[0].closed || flows[1].closed;
        if (loop_wait(&loop, half ? time_monotonic_ms() + LINGER_MS : -1) <= 0 && half)
            return;
        for (int i = 0; i < 2 && works; i++)
            works = move(&flows[i]);
    }
}

static void serve(const struct network_gate *gate, int client)
{
    struct socks_request request;
    struct network_host host;
    enum socks_reply answer = SOCKS_REFUSED;

    if (read_request(client, &request) == -1) {
        reply(client, SOCKS_FAILED);
        return;
    }
    if (!network_parse_host(request.host, request.host_len, &host)) {
        network_log(gate->log, "refused %.*s:%u: this is no host", (int)request.host_len,
                    request.host, (unsigned)request.port);
        reply(client, SOCKS_REFUSED);
        return;
    }
    if (!network_admits(gate->network, &host, request.port)) {
        network_log(gate->log, "refused %s:%u: it is not in the list", request.host,
                    (unsigned)request.port);
        reply(client, SOCKS_REFUSED);
        return;
    }
    _cleanup_close_ int server = reach(gate, &request, &host, &answer);
    if (server == -1) {
        reply(client, answer);
        return;
    }
    reply(client, SOCKS_DONE);
    carry(client, server);
}

static void *run_visit(void *arg)
{
    struct visit *visit = arg;
    struct network_gate *gate = visit->gate;

    serve(gate, visit->client);
    (void)close(visit->client);
    free(visit);
    (void)atomic_fetch_sub(&gate->active, 1);
    bell_ring(gate->freed);
    return NULL;
}

static void start_visit(struct network_gate *gate, int client)
{
    struct visit *visit = mem_alloc(sizeof *visit);
    pthread_t thread;
    int on = 1;

    *visit = (struct visit){.gate = gate, .client = client};
    (void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)atomic_fetch_add(&gate->active, 1);
    if (thread_start(&thread, run_visit, visit)) {
        (void)pthread_detach(thread);
        return;
    }
    (void)atomic_fetch_sub(&gate->active, 1);
    (void)close(client);
    free(visit);
}

void network_gate(int listener, const struct network *network, const struct network_log *log)
{
    struct network_gate gate = {.network = network, .log = log};
    struct loop loop = LOOP_INIT;

    atomic_init(&gate.active, 0);
    gate.freed = bell_open();
    (void)fcntl(listener, F_SETFL, O_NONBLOCK);
    for (;;) {
        bool full = atomic_load(&gate.active) >= CONNECTIONS_MAX;
        loop_begin(&loop);
        loop_want(&loop, gate.freed, POLLIN);
        loop_want(&loop, full ? -1 : listener, POLLIN);
        if (gate.freed == -1 || loop_wait(&loop, -1) == -1)
            _exit(1);
        if (loop_got(&loop, gate.freed) != 0)
            bell_silence(gate.freed);
        if (loop_got(&loop, listener) == 0)
            continue;
        int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client != -1)
            start_visit(&gate, client);
        else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            (void)loop_wait_for(-1, 0, NETWORK_PAUSE_MS); /* such as too many descriptors */
    }
}
