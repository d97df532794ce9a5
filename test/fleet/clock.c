/*
 * clock.c — a wall clock that is off, for all programs of one machine of a bed: /etc/ld.so.preload
 * names this library there. How many seconds it is off is in /run/clock, eight bytes, and may
 * change while programs run. LD_PRELOAD gives it to one program, and TEST_CLOCK then names the
 * file.
 *
 * It moves what clock_gettime(2), gettimeofday(2) and time(2) say of CLOCK_REALTIME. The times of
 * files are the kernel's and stay right; so are timers on CLOCK_REALTIME, which mas does not use.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t *off;

__attribute__((constructor)) static void map_off(void)
{
    const char *file = getenv("TEST_CLOCK");
    int fd = open(file != NULL ? file : "/run/clock", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    void *map = mmap(NULL, sizeof *off, PROT_READ, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED)
        off = map;
    (void)close(fd);
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the names of the C library are
 * reserved */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, now);
    if (rc == 0 && off != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += *off;
    return rc;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec ts;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &ts) != 0)
        return -1;
    now->tv_sec = ts.tv_sec;
    now->tv_usec = ts.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *to)
{
    struct timespec ts;
    if (clock_gettime(CLOCK_REALTIME, &ts) != 0)
        return -1;
    if (to != NULL)
        *to = ts.tv_sec;
    return ts.tv_sec;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
