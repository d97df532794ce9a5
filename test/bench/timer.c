/*
 * Times commands side by side.
 *
 *   timer [-c] [-n ROUNDS] [-w WARMUPS] [-b BEFORE] [-a AFTER] NAME=COMMAND...
 *
 * Runs the commands alternately, in the other order every second round, so that a drift of the
 * machine meets all sides alike, and prints one line a command: NAME MEDIAN MIN MAX, in
 * microseconds. BEFORE and AFTER are run around each run, outside the timing, with the command's
 * name in $SIDE and the number of the round in $ROUND. What the commands print goes to /dev/null.
 * With -c it takes the processor time of each command and the processes it waited for, which
 * depends less on what else the machine does.
 *
 * A command is split at its blanks and executed; one with a character that means something to a
 * shell is run by /bin/sh, whose start is then timed as well.
 */
#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS_MAX = 64, SIDES_MAX = 16, ROUNDS_MAX = 100000 };

struct side {
    const char *name;
    const char *command;
    char *words;
    char *argv[WORDS_MAX];
    double *times;
};

static void split(struct side *side)
{
    static char shell[] = "/bin/sh";
    static char option[] = "-c";
    size_t n = 0;
    char *save = NULL;

    side->words = strdup(side->command);
    if (side->words == NULL)
        err(1, "strdup");
    if (strpbrk(side->command, "\"'$;|&<>*?()`\\\n") != NULL) {
        side->argv[0] = shell;
        side->argv[1] = option;
        side->argv[2] = side->words;
        return;
    }
    for (char *w = strtok_r(side->words, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save)) {
        if (n == WORDS_MAX - 1)
            errx(2, "%s: too many words", side->name);
        side->argv[n++] = w;
    }
    if (n == 0)
        errx(2, "%s: no command", side->name);
}

static bool is_cpu; /* -c */

static double to_us(const struct timeval *t)
{
    return (double)t->tv_sec * 1e6 + (double)t->tv_usec;
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Runs a command to its end and returns how long that took. Its failure ends the program. */
static double run(const struct side *side)
{
    posix_spawn_file_actions_t actions;
    struct rusage usage;
    pid_t pid;
    int status;

    if (posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) != 0 ||
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) != 0)
        errx(1, "cannot prepare '%s'", side->name);
    double start = now();
    int rc = posix_spawnp(&pid, side->argv[0], &actions, NULL, side->argv, environ);
    if (rc != 0)
        errx(1, "cannot run '%s': %s", side->argv[0], strerror(rc));
    while (wait4(pid, &status, 0, &usage) == -1)
        ;
    double took = is_cpu ? to_us(&usage.ru_utime) + to_us(&usage.ru_stime) : now() - start;
    (void)posix_spawn_file_actions_destroy(&actions);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        errx(1, "'%s' failed (status %#x): %s", side->name, (unsigned)status, side->command);
    return took;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(struct side *side, size_t rounds)
{
    qsort(side->times, rounds, sizeof *side->times, compare);
    double median = (side->times[(rounds - 1) / 2] + side->times[rounds / 2]) / 2;
    printf("%s %.0f %.0f %.0f\n", side->name, median, side->times[0], side->times[rounds - 1]);
}

static void one_round(struct side *sides, size_t count, long number, const struct side *before,
                      const struct side *after)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%ld", number);
    (void)setenv("ROUND", text, 1);
    for (size_t i = 0; i < count; i++) {
        struct side *side = &sides[number % 2 == 0 ? i : count - 1 - i];
        (void)setenv("SIDE", side->name, 1);
        if (before->command != NULL)
            (void)run(before);
        double took = run(side);
        if (number >= 0)
            side->times[number] = took;
        if (after->command != NULL)
            (void)run(after);
    }
}

static long number(const char *text, long max)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || n < 0 || n > max)
        errx(2, "not a number from 0 to %ld: %s", max, text);
    return n;
}

int main(int argc, char **argv)
{
    static struct side sides[SIDES_MAX];
    struct side before = {.name = "before"};
    struct side after = {.name = "after"};
    long rounds = 15;
    long warmups = 1;
    size_t count = 0;
    int c;

    while ((c = getopt(argc, argv, "cn:w:b:a:")) != -1) {
        if (c == 'c')
            is_cpu = true;
        else if (c == 'n')
            rounds = number(optarg, ROUNDS_MAX);
        else if (c == 'w')
            warmups = number(optarg, ROUNDS_MAX);
        else if (c == 'b')
            before.command = optarg;
        else if (c == 'a')
            after.command = optarg;
        else
            return 2;
    }
    for (; optind < argc; optind++, count++) {
        char *command = strchr(argv[optind], '=');
        if (command == NULL || count == SIDES_MAX)
            errx(2, "want up to %d of NAME=COMMAND", SIDES_MAX);
        *command = '\0';
        sides[count] = (struct side){.name = argv[optind], .command = command + 1};
        split(&sides[count]);
        sides[count].times = calloc((size_t)rounds + 1, sizeof(double));
        if (sides[count].times == NULL)
            err(1, "calloc");
    }
    if (count == 0 || rounds == 0)
        errx(2,
             "usage: timer [-c] [-n ROUNDS] [-w WARMUPS] [-b BEFORE] [-a AFTER] NAME=COMMAND...");
    if (before.command != NULL)
        split(&before);
    if (after.command != NULL)
        split(&after);
    for (long i = -warmups; i < rounds; i++)
        one_round(sides, count, i, &before, &after);
    for (size_t i = 0; i < count; i++)
        report(&sides[i], (size_t)rounds);
    return 0;
}
