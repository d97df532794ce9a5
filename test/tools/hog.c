/*
 * Takes all that it can get of something, as a program that has gone wrong would.
 *
 *   hog processes
 *   hog memory
 *   hog disk FILE
 *   hog descriptors
 *
 * Ignores all signals that it can, and goes on after each refusal, until somebody kills it. What it
 * takes is bounded by the limits that it is to be tested against, and by nothing else: never run it
 * where there are none.
 */
#include <sys/mman.h>

enum { PIECE = 1 << 20, FILE_HOGS = 16 };

static void take_processes(void)
{
    for (;;)
        (void)fork(); /* the children go on here, too */
}

static void take_memory(void)
{
    for (;;) {
        void *piece = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (piece != MAP_FAILED)
            memset(piece, 1, PIECE);
    }
}

static void fill_disk(const char *name)
{
    static char piece[PIECE];
    int fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    for (;;)
        if (write(fd, piece, sizeof piece) == -1)
            usleep(1000);
}

static void take_descriptors(void)
{
    for (int i = 0; i < FILE_HOGS; i++)
        if (fork() == 0)
            break;
    for (;;)
        if (open("/dev/null", O_RDONLY | O_CLOEXEC) == -1)
            usleep(1000);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_IGN);
    if (strcmp(what, "processes") == 0)
        take_processes();
    else if (strcmp(what, "memory") == 0)
        take_memory();
    else if (strcmp(what, "disk") == 0 && argc == 3)
        fill_disk(argv[2]);
    else if (strcmp(what, "descriptors") == 0)
        take_descriptors();
    (void)fprintf(stderr, "usage: hog processes | memory | disk FILE | descriptors\n");
    return 2;
}
