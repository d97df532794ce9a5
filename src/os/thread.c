#include "os/thread.h"

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
