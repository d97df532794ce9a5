#include "os/thread.h"

#include <sched.h>
#include <stdatomic.h>
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

struct sharing {
    atomic_size_t next;
    size_t count;
    void (*one)(size_t number, void *arg);
    void *arg;
};

static void *take_share(void *arg)
{
    struct sharing *sharing = arg;

    for (size_t i; (i = atomic_fetch_add(&sharing->next, 1)) < sharing->count;)
        sharing->one(i, sharing->arg);
    return NULL;
}

void thread_each(size_t count, void (*one)(size_t number, void *arg), void *arg)
{
    struct sharing sharing = {.count = count, .one = one, .arg = arg};
    pthread_t threads[THREADS_MAX];
    cpu_set_t cpus;
    size_t most = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? (size_t)CPU_COUNT(&cpus) : 1;
    size_t started = 0;

    most = most < count ? most : count;
    most = most < THREADS_MAX ? most : THREADS_MAX;
    while (started + 1 < most && thread_start(&threads[started], take_share, &sharing))
        started++;
    (void)take_share(&sharing);
    while (started > 0)
        (void)pthread_join(threads[--started], NULL);
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
