/*
 * What record.py puts into each program: every function notes that it was called, by a byte at its
 * place in a file of the test whose process this is, REACH_DIR/TEST.PROGRAM. The file is mapped, so
 * that a kill loses nothing.
 *
 * A process finds the number of its test in its environment, its command line or its working
 * directory: in the names that scripts/run-tests.sh and test/helper.bash give to directories. What
 * finds none counts for test 0.
 */
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

#ifndef REACH_DIR /* record.py says where, lint reads this by itself */
#define REACH_DIR ""
#endif

extern const char __executable_start[], etext[];

/* Functions begin at multiples of this: -falign-functions. */
enum { ALIGN = 16 };

static unsigned char *reached;

static size_t length_of(const char *text, int (*is)(int))
{
    size_t n = 0;
    while (is((unsigned char)text[n]))
        n++;
    return n;
}

/* Returns the number in "/mas.XXXXXX/N" or "XXXXXX.N" of a text; -1: there is none. */
static long number_in(const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        const char *name = strncmp(p, "mas.", 4) == 0 ? p + 4 : p;
        if ((p > text && isalnum((unsigned char)p[-1])) || length_of(name, isalnum) != 6)
            continue;
        char between = name[6];
        size_t digits = between == (name == p ? '.' : '/') ? length_of(name + 7, isdigit) : 0;
        if (digits > 0 && digits < 5 && strchr(name == p ? "." : "/", name[7 + digits]) != NULL)
            return strtol(name + 7, NULL, 10);
    }
    return -1;
}

static long number_of_test(void)
{
    static char text[65536];
    const char *job = getenv("TEST_JOB");
    long number = job != NULL ? number_in(job) : -1;
    for (char **p = environ; number == -1 && *p != NULL; p++)
        number = number_in(*p);
    if (number == -1 && getcwd(text, sizeof text) != NULL)
        number = number_in(text);
    int fd = number == -1 ? open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = fd != -1 ? read(fd, text, sizeof text - 1) : 0;
    for (ssize_t i = 0; i < n; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    if (n > 0) {
        text[n] = '\0';
        number = number_in(text);
    }
    if (fd != -1)
        close(fd);
    return number == -1 ? 0 : number;
}

__attribute__((constructor(101))) static void begin(void)
{
    char program[4096], path[sizeof REACH_DIR + 64 + 4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0)
        return;
    program[n] = '\0';
    snprintf(path, sizeof path, "%s/%ld.%s", REACH_DIR, number_of_test(),
             strrchr(program, '/') + 1);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    size_t size = (size_t)(etext - __executable_start) / ALIGN + 1;
    if (fd == -1)
        return;
    (void)fchmod(fd, 0666);
    void (*old)(int) = signal(SIGXFSZ, SIG_IGN);
    void *map = ftruncate(fd, (off_t)size) == 0
                    ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                    : MAP_FAILED;
    signal(SIGXFSZ, old);
    close(fd);
    if (map != MAP_FAILED)
        reached = map;
}

void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    if (reached != NULL)
        reached[((uintptr_t)function - (uintptr_t)__executable_start) / ALIGN] = 1;
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void)function;
    (void)site;
}
