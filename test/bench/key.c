/*
 * How long a key takes to come back from a program on a terminal.
 *
 *   key [-n KEYS] COMMAND [WORD...]   runs the command on a pseudo-terminal; prints the median of
 *                                     KEYS keys (2000), in microseconds
 *   key -e                            the program: sends each byte back
 *
 * The command is ready when it prints "ready", as `key -e` does. A key is typed when all has been
 * quiet for a moment, as people type.
 */
#include <err.h>
#include <poll.h>
#include <pty.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { KEYS_MAX = 100000, PAUSE_MS = 2, QUIET_MS = 500, LOST_MS = 5000 };

static const char ready[] = "ready";

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

__attribute__((noreturn)) static void send_back(void)
{
    struct termios t;
    char c;

    if (tcgetattr(STDIN_FILENO, &t) == -1)
        err(1, "standard input");
    cfmakeraw(&t);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &t);
    if (write(STDOUT_FILENO, ready, strlen(ready)) == -1)
        err(1, "write");
    while (read(STDIN_FILENO, &c, 1) == 1)
        if (write(STDOUT_FILENO, &c, 1) != 1)
            break;
    exit(0);
}

/* Waits for output and appends it, as far as there is room. false: none came. */
static bool more(int fd, char *buf, size_t size, size_t *len, int wait_ms)
{
    struct pollfd in = {.fd = fd, .events = POLLIN};
    char rest[4096];

    if (poll(&in, 1, wait_ms) != 1)
        return false;
    ssize_t n = read(fd, rest, sizeof rest);
    if (n <= 0)
        errx(1, "the command has ended");
    for (ssize_t i = 0; i < n && *len + 1 < size; i++)
        buf[(*len)++] = rest[i];
    buf[*len] = '\0';
    return true;
}

static void await_ready(int fd)
{
    char said[65536] = "";
    size_t len = 0;

    while (strstr(said, ready) == NULL)
        if (!more(fd, said, sizeof said, &len, LOST_MS))
            errx(1, "the command does not get ready; it said: %s", said);
    while (more(fd, said, sizeof said, &len, QUIET_MS))
        ;
}

static double one_key(int fd)
{
    char back[16] = "";
    size_t len = 0;

    double start = now();
    if (write(fd, "x", 1) != 1)
        err(1, "write");
    while (strchr(back, 'x') == NULL)
        if (!more(fd, back, sizeof back, &len, LOST_MS))
            errx(1, "a key was lost");
    return now() - start;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static double times[KEYS_MAX];
    struct winsize size = {.ws_row = 50, .ws_col = 200};
    int keys = 2000;
    int fd;
    int c;

    while ((c = getopt(argc, argv, "+en:")) != -1) {
        if (c == 'e')
            send_back();
        if (c != 'n')
            return 2;
        keys = (int)strtol(optarg, NULL, 10);
    }
    if (optind == argc || keys < 1 || keys > KEYS_MAX)
        errx(2, "usage: key [-n KEYS] COMMAND [WORD...] | key -e");
    pid_t pid = forkpty(&fd, NULL, NULL, &size);
    if (pid == -1)
        err(1, "forkpty");
    if (pid == 0) {
        (void)execvp(argv[optind], &argv[optind]);
        err(1, "%s", argv[optind]);
    }
    await_ready(fd);
    for (int i = 0; i < keys; i++) {
        times[i] = one_key(fd);
        (void)poll(NULL, 0, PAUSE_MS);
    }
    qsort(times, (size_t)keys, sizeof times[0], compare);
    printf("%.1f\n", times[keys / 2]);
    return 0;
}
