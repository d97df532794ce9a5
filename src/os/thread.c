#include "os/thread.h"

#include <sched.h>
#include <sys/eventfd.h>

bool thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg)
{
    sigset_t all;
    sigset_t old;

    (void)sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0)
        return false;
    bool started = pthread_create(ret, NULL, run, arg) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return started;
}

void thread_own_descriptors(void)
{
    (void)unshare(CLONE_FILES);
}

int bell_open(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void bell_ring(int bell)
{
    (void)eventfd_write(bell, 1);
}

void bell_silence(int bell)
{
    eventfd_t ignored;

    (void)eventfd_read(bell, &ignored);
}
