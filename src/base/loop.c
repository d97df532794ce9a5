#include "base/loop.h"

#include "base/str.h"
#include "base/time.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

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

void loop_want(struct loop *loop, int fd, short events)
{
    if (fd == -1)
        return;
    if (loop->count == loop->room) {
        loop->room = loop->room > 0 ? loop->room * 2 : 16;
        loop->fds = mem_grow(loop->fds, loop->room, sizeof *loop->fds);
    }
    loop->fds[loop->count++] = (struct pollfd){.fd = fd, .events = events};
}

int loop_wait(struct loop *loop, int64_t until)
{
    int n = poll(loop->fds, (nfds_t)loop->count, timeout_to(until));

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
    struct pollfd one = {.fd = fd, .events = events};
    int64_t until = timeout_ms < 0 ? -1 : time_monotonic_ms() + timeout_ms;
    int n;

    do
        n = poll(&one, 1, timeout_to(until));
    while (n == -1 && errno == EINTR);
    return n <= 0 ? n : one.revents;
}
