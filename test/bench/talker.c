/*
 * An ACP agent that costs nothing, and one who asks it.
 *
 *   talker                      the agent: "flood N" in a prompt makes it send N pieces of text,
 *                               one every PACE_US, each of them the time at which it is sent
 *   talker ask RUN_DIR AGENT N  asks its host for that on run/<agent>.sock; prints the median, in
 *                               nanoseconds, of how long the pieces were on their way
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { PACE_US = 300, LINE = 1 << 20 };

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void piece(const char *text)
{
    printf("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\","
           "\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\","
           "\"text\":\"%s\"}}}}\n",
           text);
    (void)fflush(stdout);
}

static void flood(long count)
{
    char text[64];

    for (long i = 0; i < count; i++) {
        int64_t until = now_ns() + PACE_US * 1000;
        (void)snprintf(text, sizeof text, " t=%" PRId64 ";", now_ns());
        piece(text);
        struct timespec rest = {.tv_nsec = until - now_ns()};
        if (rest.tv_nsec > 0)
            (void)nanosleep(&rest, NULL);
    }
}

static void be_agent(void)
{
    static char line[LINE];

    while (fgets(line, sizeof line, stdin) != NULL) {
        const char *id = strstr(line, "\"id\":");
        long number = id != NULL ? strtol(id + 5, NULL, 10) : -1;
        const char *result = "{}";
        if (id == NULL)
            continue;
        if (strstr(line, "\"initialize\"") != NULL)
            result = "{\"protocolVersion\":1,\"agentCapabilities\":{}}";
        else if (strstr(line, "\"session/new\"") != NULL)
            result = "{\"sessionId\":\"s\"}";
        else if (strstr(line, "\"session/prompt\"") != NULL) {
            const char *many = strstr(line, "flood ");
            if (many != NULL)
                flood(strtol(many + 6, NULL, 10));
            else
                piece("hello");
            result = "{\"stopReason\":\"end_turn\"}";
        }
        printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":%s}\n", number, result);
        (void)fflush(stdout);
    }
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Takes the times out of what has come; what is not whole yet is kept. */
static size_t take_times(char *buf, size_t len, int64_t *times, size_t *count, size_t most)
{
    char *at = buf;
    char *mark;
    int64_t now = now_ns();

    buf[len] = '\0';
    while ((mark = strstr(at, " t=")) != NULL && strchr(mark, ';') != NULL) {
        if (*count < most)
            times[(*count)++] = now - strtoll(mark + 3, NULL, 10);
        at = strchr(mark, ';');
    }
    size_t left = len - (size_t)(at - buf);
    memmove(buf, at, left);
    return left;
}

static void ask(const char *run, const char *agent, long count)
{
    static char buf[LINE + 1];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int64_t *times = calloc((size_t)count, sizeof *times);
    size_t seen = 0;
    size_t held = 0;
    char text[256];
    char body[64];

    if (chdir(run) == -1)
        err(1, "%s", run);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s.sock", agent);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (times == NULL || connect(fd, (struct sockaddr *)&address, sizeof address) == -1)
        err(1, "%s", address.sun_path);
    int length = snprintf(body, sizeof body, "flood %ld", count);
    int n = snprintf(text, sizeof text, "{\"do\":\"ask\",\"wait\":true,\"bytes\":%d}\n%s", length,
                     body);
    if (write(fd, text, (size_t)n) != n)
        err(1, "write");
    ssize_t got;
    while ((got = read(fd, buf + held, LINE - held)) > 0)
        held = take_times(buf, held + (size_t)got, times, &seen, (size_t)count);
    if (seen != (size_t)count)
        errx(1, "%zu of %ld pieces came", seen, count);
    qsort(times, seen, sizeof *times, compare);
    printf("%" PRId64 "\n", times[seen / 2]);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "ask") == 0)
        ask(argv[2], argv[3], strtol(argv[4], NULL, 10));
    else
        be_agent();
    return 0;
}
