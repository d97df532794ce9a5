/*
 * Asks an HTTP server the same thing again and again, or listens to it, for serve.sh.
 *
 *     load get PORT PATH TOKEN CONNECTIONS REQUESTS [RATE]
 *         prints "REQUESTS SECONDS P50 P99 MAX BYTES", times in microseconds; each connection has
 *         one request under way. RATE: at most so many a second in all, sent evenly; a request that
 *         is late because the server is counts from when it was due.
 *     load listen PORT PATH TOKEN CONNECTIONS SECONDS
 *         prints how many bytes all of them got
 *     load post PORT PATH TOKEN FILE
 *         one POST of what is in FILE; its answer, a 201, goes to standard output
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 1000, BUFFER = 1 << 20 };

struct connection {
    int fd;
    bool waits; /* for an answer */
    int64_t since; /* ns, when the request was sent, or due */
    char head[4096];
    size_t head_len;
    long left; /* bytes of the body; -1: the head is not whole */
};

static char request[4096];
static char buffer[BUFFER];
static long long received;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int open_connection(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd == -1 || connect(fd, (struct sockaddr *)&at, sizeof at) == -1)
        die("connect");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static void ask(struct connection *connection, int64_t due)
{
    if (send(connection->fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
        die("send");
    connection->since = due;
    connection->waits = true;
    connection->head_len = 0;
    connection->left = -1;
}

/* Takes bytes; true when the answer is whole. */
static bool take(struct connection *connection, const char *bytes, size_t len)
{
    if (connection->left == -1) {
        size_t room = sizeof connection->head - 1 - connection->head_len;
        size_t n = len < room ? len : room;
        size_t was = connection->head_len;
        memcpy(connection->head + was, bytes, n);
        connection->head[connection->head_len += n] = '\0';
        char *end = strstr(connection->head, "\r\n\r\n");
        if (end == NULL)
            return false;
        char *length = strcasestr(connection->head, "\r\nContent-Length:");
        if (strncmp(connection->head, "HTTP/1.1 200", 12) != 0 || length == NULL) {
            fprintf(stderr, "load: %s\n", connection->head);
            exit(1);
        }
        connection->left = strtol(length + 17, NULL, 10);
        size_t head = (size_t)(end + 4 - connection->head) - was;
        len -= head;
    }
    connection->left -= (long)len;
    return connection->left == 0;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void get(int port, int count, long requests, double rate)
{
    struct connection *all = calloc((size_t)count, sizeof *all);
    struct pollfd *fds = calloc((size_t)count, sizeof *fds);
    int64_t *times = calloc((size_t)requests, sizeof *times);
    long sent = 0;
    long done = 0;

    for (int i = 0; i < count; i++) {
        all[i].fd = open_connection(port);
        fds[i] = (struct pollfd){.fd = all[i].fd, .events = POLLIN};
    }
    int64_t start = now_ns();
    while (done < requests) {
        int64_t now = now_ns();
        int wait = 1000;
        for (int i = 0; i < count && sent < requests; i++) {
            if (all[i].waits)
                continue;
            int64_t due = rate > 0 ? start + (int64_t)((double)sent / rate * 1e9) : now;
            if (due > now) {
                wait = (int)((due - now) / 1000000);
                break;
            }
            ask(&all[i], due);
            sent++;
        }
        if (poll(fds, (nfds_t)count, wait) == -1 && errno != EINTR)
            die("poll");
        for (int i = 0; i < count; i++) {
            if ((fds[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0)
                continue;
            ssize_t n = recv(fds[i].fd, buffer, sizeof buffer, MSG_DONTWAIT);
            if (n <= 0)
                die("recv");
            received += n;
            if (take(&all[i], buffer, (size_t)n)) {
                all[i].waits = false;
                times[done++] = now_ns() - all[i].since;
            }
        }
    }
    double seconds = (double)(now_ns() - start) / 1e9;
    qsort(times, (size_t)requests, sizeof *times, compare);
    printf("%ld %.3f %lld %lld %lld %lld\n", requests, seconds,
           (long long)times[requests / 2] / 1000, (long long)times[requests * 99 / 100] / 1000,
           (long long)times[requests - 1] / 1000, received / requests);
}

static void hear(int port, int count, double seconds)
{
    struct pollfd *fds = calloc((size_t)count, sizeof *fds);
    int64_t end;

    for (int i = 0; i < count; i++) {
        fds[i] = (struct pollfd){.fd = open_connection(port), .events = POLLIN};
        if (send(fds[i].fd, request, strlen(request), MSG_NOSIGNAL) == -1)
            die("send");
    }
    end = now_ns() + (int64_t)(seconds * 1e9);
    while (now_ns() < end) {
        if (poll(fds, (nfds_t)count, 100) == -1 && errno != EINTR)
            die("poll");
        for (int i = 0; i < count; i++)
            if (fds[i].revents != 0) {
                ssize_t n = recv(fds[i].fd, buffer, sizeof buffer, MSG_DONTWAIT);
                if (n <= 0)
                    die("a listener was hung up on");
                received += n;
            }
    }
    printf("%lld\n", received);
}

/* The whole life of a client: the server ends the connection behind its answer. */
static void post(int port, const char *path, const char *token, const char *file)
{
    char answer[65536];
    char body[1024];
    size_t len = 0;
    ssize_t n;
    FILE *in = fopen(file, "re");

    if (in == NULL)
        die(file);
    body[fread(body, 1, sizeof body - 1, in)] = '\0';
    (void)fclose(in);

    snprintf(request, sizeof request,
             "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
             "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
             path, token, strlen(body), body);
    int fd = open_connection(port);
    if (send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
        die("send");
    while ((n = recv(fd, answer + len, sizeof answer - 1 - len, 0)) > 0)
        len += (size_t)n;
    answer[len] = '\0';
    puts(answer);
    if (strncmp(answer, "HTTP/1.1 201", 12) != 0) {
        fprintf(stderr, "load: %s\n", answer);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "post") == 0) {
        post((int)strtol(argv[2], NULL, 10), argv[3], argv[4], argv[5]);
        return 0;
    }
    if (argc < 7) {
        fprintf(stderr, "usage: load get|listen PORT PATH TOKEN CONNECTIONS REQUESTS|SECONDS\n"
                        "       load post PORT PATH TOKEN FILE\n");
        return 2;
    }
    int port = (int)strtol(argv[2], NULL, 10);
    int count = (int)strtol(argv[5], NULL, 10);
    snprintf(request, sizeof request,
             "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n", argv[3],
             argv[4]);
    if (count < 1 || count > CONNECTIONS_MAX)
        return 2;
    if (strcmp(argv[1], "get") == 0)
        get(port, count, strtol(argv[6], NULL, 10), argc > 7 ? strtod(argv[7], NULL) : 0);
    else
        hear(port, count, strtod(argv[6], NULL));
    return 0;
}
