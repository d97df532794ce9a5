/*
 * How long a terminal takes what a command prints.
 *
 *   pour RESULT COMMAND [WORD...]
 *
 * Runs the command and then asks the terminal for its status (ECMA-48 DSR), which it answers when
 * it has read all before that. Writes to RESULT how long that took, in microseconds, and comes back
 * when the terminal hangs up.
 */
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void make_raw(void)
{
    struct termios t;

    if (tcgetattr(STDIN_FILENO, &t) == -1)
        err(1, "standard input");
    t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    if (tcsetattr(STDIN_FILENO, TCSANOW, &t) == -1)
        err(1, "tcsetattr");
}

static void await_answer(void)
{
    static const char request[] = "\033[5n";
    char c = 0;

    if (write(STDOUT_FILENO, request, strlen(request)) != (ssize_t)strlen(request))
        err(1, "write");
    while (c != 'n')
        if (read(STDIN_FILENO, &c, 1) != 1)
            err(1, "read");
}

static void report(const char *path, double took)
{
    char part[4096];

    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
        errx(2, "the path is too long");
    FILE *file = fopen(part, "w");
    if (file == NULL || fprintf(file, "%.0f\n", took) < 0 || fclose(file) != 0 ||
        rename(part, path) == -1)
        err(1, "%s", path);
}

int main(int argc, char **argv)
{
    pid_t pid;
    int status;

    if (argc < 3)
        errx(2, "usage: pour RESULT COMMAND [WORD...]");
    make_raw();
    await_answer(); /* the terminal is there */
    double start = now();
    if (posix_spawnp(&pid, argv[2], NULL, NULL, &argv[2], environ) != 0)
        errx(1, "cannot run '%s'", argv[2]);
    if (waitpid(pid, &status, 0) == -1 || status != 0)
        errx(1, "'%s' failed", argv[2]);
    await_answer();
    report(argv[1], now() - start);
    for (;;)
        (void)poll(NULL, 0, -1);
}
