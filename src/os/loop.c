/*
 * Each wait adds the output that the process ends with, behind the caller's descriptors: so every
 * array has room for one more. loop_got() looks first behind what it has found last, because
 * callers ask in the order in which they named them. The clock of the limits stands still while the
 * machine sleeps; that of loop_wait_awake() does not.
 */

#include "os/loop.h"

#include "base/time.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

/* The output with which the process ends; fd -1: none. */
static struct {
    int fd;
    int signal;
} output = {.fd = -1};

/* Returns the time until `until` in the form of poll(2). */
static int timeout_to(int64_t until)
{
    if (until == -1)
        return -1;
    int64_t left = until - time_monotonic_ms();
    return left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

void loop_begin(struct loop *loop)
{
    loop->count = 0;
    loop->next = 0;
}

static void make_room(struct loop *loop)
{
    if (loop->count < loop->room)
        return;
    loop->room = loop->room > 0 ? loop->room * 2 : 16;
    loop->fds = mem_grow(loop->fds, loop->room, sizeof *loop->fds);
}

void loop_want(struct loop *loop, int fd, short events)
{
    if (fd == -1)
        return;
    make_room(loop);
    loop->fds[loop->count++] = (struct pollfd){.fd = fd, .events = events};
}

/* Polls these descriptors and the output, for which `fds` has room at the end. Returns the number
 * of those with events, without the output. */
static int poll_all(struct pollfd *fds, size_t count, int64_t until)
{
    bool ends = output.fd != -1;

    fds[count] = (struct pollfd){.fd = output.fd};
    int n = poll(fds, (nfds_t)(count + ends), timeout_to(until));
    if (n <= 0 || !ends || (fds[count].revents & (POLLERR | POLLHUP)) == 0)
        return n;
    output.fd = -1;
    (void)raise(output.signal);
    return n - 1;
}

int loop_wait(struct loop *loop, int64_t until)
{
    make_room(loop);
    int n = poll_all(loop->fds, loop->count, until);
    if (n <= 0) { /* poll() has set no events */
        for (size_t i = 0; i < loop->count; i++)
            loop->fds[i].revents = 0;
    }
    return n == -1 && errno == EINTR ? 0 : n;
}

short loop_got(struct loop *loop, int fd)
{
    for (size_t i = 0; fd != -1 && i < loop->count; i++) {
        size_t at = (loop->next + i) % loop->count;
        if (loop->fds[at].fd == fd) {
            loop->next = at + 1;
            return loop->fds[at].revents;
        }
    }
    return 0;
}

void loop_free(struct loop *loop)
{
    free(loop->fds);
    *loop = (struct loop)LOOP_INIT;
}

int loop_wait_for(int fd, short events, int timeout_ms)
{
    struct pollfd one[2] = {{.fd = fd, .events = events}};
    int64_t until = timeout_ms < 0 ? -1 : time_monotonic_ms() + timeout_ms;
    int n;

    do /* 0 before the time: the output has ended, and a handler wants to go on */
        n = poll_all(one, 1, until);
    while ((n == -1 && errno == EINTR) || (n == 0 && timeout_to(until) != 0));
    return n <= 0 ? n : one[0].revents;
}

int loop_wait_awake(int fd, short events, int ms)
{
    const struct itimerspec when = {
        .it_value = {.tv_sec = ms / 1000, .tv_nsec = ms > 0 ? ms % 1000 * 1000000L : 1}};
    _cleanup_close_ int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    struct pollfd both[3] = {{.fd = fd, .events = events}, {.fd = timer, .events = POLLIN}};
    int n;

    if (timerfd_settime(timer, 0, &when, NULL) == -1)
        return loop_wait_for(fd, events, ms);
    do
        n = poll_all(both, 2, -1);
    while (n == -1 && errno == EINTR);
    return n == -1 ? -1 : both[0].revents;
}

int loop_many_open(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

bool loop_many_add(int many, int fd, void *arg)
{
    return epoll_ctl(many, EPOLL_CTL_ADD, fd,
                     &(struct epoll_event){.events = EPOLLIN, .data.ptr = arg}) == 0;
}

void loop_many_remove(int many, int fd)
{
    (void)epoll_ctl(many, EPOLL_CTL_DEL, fd, NULL);
}

size_t loop_many_got(int many, struct loop_event *ret, size_t room)
{
    enum { AT_ONCE = 1024 };
    struct epoll_event events[AT_ONCE];
    int n = epoll_wait(many, events, room < AT_ONCE ? (int)room : AT_ONCE, 0);

    for (int i = 0; i < n; i++)
        ret[i] = (struct loop_event){.arg = events[i].data.ptr, .events = (short)events[i].events};
    return n > 0 ? (size_t)n : 0;
}

void loop_end_with(int fd)
{
    struct sigaction act;
    struct stat st;
    sigset_t pipe;
    int flags = fcntl(fd, F_GETFL);

    if (flags == -1 || (flags & O_ACCMODE) == O_RDONLY || fstat(fd, &st) == -1)
        return;
    if (S_ISCHR(st.st_mode)) {
        if (isatty(fd) == 0 && errno != EIO) /* which a terminal answers after its end */
            return;
        if (sigaction(SIGHUP, NULL, &act) == 0 && act.sa_handler != SIG_IGN) {
            output.signal = SIGHUP;
            output.fd = fd;
        }
        return;
    }
    if (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode))
        return;
    (void)sigemptyset(&pipe);
    (void)sigaddset(&pipe, SIGPIPE);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)sigprocmask(SIG_UNBLOCK, &pipe, NULL);
    output.signal = SIGPIPE;
    output.fd = fd;
}
