/*
 * What the text of a source calls where sweep.py can make a mistake. The file SWEEP_STATE, mapped
 * by each process when it starts, has the number of the mistake that is made, 0 for none, and then
 * a byte for each mistake, which is set where it makes, or may make, a difference.
 */
#pragma once

#include <sys/mman.h>

static volatile int *sweep_state; /* NULL: not to be opened from here */

__attribute__((constructor(101), unused)) static void sweep_open(void)
{
    int fd = open(SWEEP_STATE, O_RDWR | O_CLOEXEC);
    void *map =
        fd == -1 ? MAP_FAILED : mmap(NULL, SWEEP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (map != MAP_FAILED)
        sweep_state = map;
    if (fd != -1)
        close(fd);
    errno = 0;
}

/* Tells whether mistake n is made. */
__attribute__((unused)) static bool sweep_is(int n)
{
    if (sweep_state == NULL)
        return false;
    ((volatile char *)(sweep_state + 1))[n] = 1;
    return *sweep_state == n;
}

__attribute__((unused)) static bool sweep_other(int n, bool right, bool wrong)
{
    return right != wrong && sweep_is(n) ? wrong : right;
}

__attribute__((unused)) static int sweep_value(int n, int right, int wrong)
{
    return right != wrong && sweep_is(n) ? wrong : right;
}

/* Mistake n takes a condition as true, the one after it as false. */
__attribute__((unused)) static bool sweep_term(int n, bool right)
{
    return sweep_is(n + (right ? 1 : 0)) ? !right : right;
}

/* Constants: one more, one less; with 1 only one less. */
__attribute__((unused)) static int sweep_step(int n)
{
    return sweep_is(n) - sweep_is(n + 1);
}

__attribute__((unused)) static int sweep_less(int n)
{
    return -sweep_is(n);
}

/* Returns 1 to pass over the first round of a loop, 2 to leave it before the second. */
__attribute__((unused)) static int sweep_round(int n, int *rounds)
{
    (*rounds)++;
    if (*rounds == 1)
        return sweep_is(n) ? 1 : 0;
    return *rounds == 2 && sweep_is(n + 1) ? 2 : 0;
}
