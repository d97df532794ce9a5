/*
 * mas-told EVENT: passes what an agent's program says of itself, on standard input, on to the host
 * of the agent. The program runs it as a hook and waits for it, so it prints nothing, always exits
 * with 0, and gives up in a second, whatever happens: an agent without its host works on.
 *
 * The host answers once it has seen the event, by which it also sees whose process this is. What is
 * too long is left out; the event alone says what it can.
 */
#include "os/loop.h"
#include "os/sock.h"
#include "protocol/broker.h"
#include "protocol/hook.h"
#include "store/workspace.h"

#include <sys/socket.h>
#include <sys/time.h>

enum { MOST_MS = 900, EVENT_MAX = 64 };

static void give_up(int sig)
{
    (void)sig;
    _exit(0);
}

/* However this process hangs, it ends. */
static void end_in_time(void)
{
    const struct itimerval timer = {.it_value = {.tv_usec = MOST_MS * 1000L}};
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* the program may have blocked SIGALRM */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGALRM, give_up);
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

/* Reads it all, so that the program never writes to a closed pipe. */
static size_t read_object(char *to, size_t size)
{
    size_t len = 0;
    ssize_t n;

    do {
        size_t at = len < size ? len : 0; /* what is too long is read for nothing */
        n = read(STDIN_FILENO, to + at, size - at);
        len += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    return n == 0 && len < size ? len : 0;
}

static void send_all(int fd, const char *bytes, size_t len)
{
    for (size_t sent = 0; sent < len;) {
        ssize_t n = send(fd, bytes + sent, len - sent, MSG_NOSIGNAL);
        if (n > 0)
            sent += (size_t)n;
        else if (errno != EAGAIN || loop_wait_for(fd, POLLOUT, MOST_MS) == -1)
            return;
    }
}

int main(int argc, char **argv)
{
    static char object[HOOK_SIZE_MAX + 1];
    const char *path = getenv(MAS_SOCKET_VARIABLE);
    char head[EVENT_MAX + 64];

    end_in_time();
    size_t len = read_object(object, sizeof object);
    if (argc != 2 || path == NULL || !str_is_word(argv[1], EVENT_MAX))
        return 0;
    int fd = sock_connect(AT_FDCWD, path);
    if (fd == -1)
        return 0;
    int head_len =
        snprintf(head, sizeof head, BROKER_TELLS "\"%s\",\"bytes\":%zu}\n", argv[1], len);
    send_all(fd, head, (size_t)head_len);
    send_all(fd, object, len);
    (void)loop_wait_for(fd, POLLIN, MOST_MS);
    return 0;
}
