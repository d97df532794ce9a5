#include "os/signals.h"

#include <sys/signalfd.h>

static sigset_t set_of(const int *list)
{
    sigset_t set;

    (void)sigemptyset(&set);
    for (; *list != 0; list++)
        (void)sigaddset(&set, *list);
    return set;
}

void signals_block(const int *list)
{
    const sigset_t set = set_of(list);

    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

int signals_open(const int *list)
{
    const sigset_t set = set_of(list);

    signals_block(list);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int signals_next(int fd)
{
    struct signalfd_siginfo info;

    return read(fd, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}
