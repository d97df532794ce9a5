#include "os/relay.h"

#include "os/loop.h"
#include "os/pty.h"
#include "os/signals.h"

#include <sys/wait.h>

enum { PIECE = 4096 };

struct relay {
    int master, signals;
    pid_t pid;
    int status;
    bool ended;
    bool deaf; /* nothing more comes from the person */
    char typed[PIECE]; /* that the program has not taken yet */
    size_t typed_len;
};

/* Returns false if there is nothing more to read. */
static bool show(const struct relay *relay)
{
    char text[PIECE];
    ssize_t len = read(relay->master, text, sizeof text);

    for (ssize_t at = 0; at < len;) {
        ssize_t n = write(STDOUT_FILENO, text + at, (size_t)(len - at));
        if (n == -1 && errno != EINTR && errno != EAGAIN)
            return false;
        at += n > 0 ? n : 0;
    }
    return len > 0 || (len == -1 && errno == EINTR);
}

static void type(struct relay *relay)
{
    ssize_t n = write(relay->master, relay->typed, relay->typed_len);

    if (n <= 0)
        return;
    relay->typed_len -= (size_t)n;
    memmove(relay->typed, relay->typed + n, relay->typed_len);
}

static void read_keys(struct relay *relay)
{
    ssize_t n = read(STDIN_FILENO, relay->typed, sizeof relay->typed);

    if (n > 0)
        relay->typed_len = (size_t)n;
    else
        relay->deaf = n == 0 || errno != EINTR;
}

static void take_signals(struct relay *relay)
{
    for (int sig; (sig = signals_next(relay->signals)) != 0;) {
        if (sig == SIGWINCH)
            pty_copy_size(STDIN_FILENO, relay->master);
        else if (sig != SIGCHLD)
            (void)kill(relay->pid, SIGKILL);
        relay->ended = relay->ended || waitpid(relay->pid, &relay->status, WNOHANG) > 0;
    }
}

static int pass_on(struct relay *relay, struct err *err)
{
    _cleanup_loop_ struct loop loop = LOOP_INIT;

    while (!relay->ended) {
        bool full = relay->typed_len > 0;
        loop_begin(&loop);
        loop_want(&loop, relay->signals, POLLIN);
        loop_want(&loop, relay->master, (short)(POLLIN | (full ? POLLOUT : 0)));
        loop_want(&loop, relay->deaf || full ? -1 : STDIN_FILENO, POLLIN);
        if (loop_wait(&loop, -1) == -1)
            return err_errno(err, "cannot wait");
        if (loop_got(&loop, relay->signals) != 0)
            take_signals(relay);
        if ((loop_got(&loop, relay->master) & POLLOUT) != 0)
            type(relay);
        if ((loop_got(&loop, relay->master) & (POLLIN | POLLHUP)) != 0 && !show(relay) &&
            !relay->ended) {
            /* nobody has the terminal any more */
            relay->ended = waitpid(relay->pid, &relay->status, 0) > 0;
        }
        if (!relay->deaf && !full && loop_got(&loop, STDIN_FILENO) != 0)
            read_keys(relay);
    }
    while (show(relay))
        ;
    return 0;
}

int relay_run(const struct proc_session *spec, int *ret_status, struct err *err)
{
    static const int list[] = {SIGWINCH, SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT, 0};
    struct proc_session own = *spec;
    int fds[3 + PROC_FDS_MAX];
    struct relay relay = {.master = -1, .signals = -1};
    struct termios was;
    int slave = -1;

    if (tcgetattr(STDIN_FILENO, &was) == -1)
        return err_errno(err, "cannot read the settings of the terminal");
    if (pty_open(STDIN_FILENO, &was, &relay.master, &slave, err) == -1)
        return -1;
    for (size_t i = 0; i < spec->fd_count; i++)
        fds[i] = i < 3 ? slave : spec->fds[i];
    own.fds = fds;
    relay.signals = signals_open(list);
    relay.pid = relay.signals != -1 ? proc_start_session(&own) : -1;
    int rc = relay.pid == -1 ? err_errno(err, "cannot start '%s'", spec->file) : 0;
    fd_closep(&slave);
    if (rc == 0 && pty_make_raw(STDIN_FILENO, &was) == -1)
        rc = err_errno(err, "cannot set up the terminal");
    if (rc == 0)
        rc = pass_on(&relay, err);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &was);
    if (relay.pid != -1 && !relay.ended) {
        (void)kill(relay.pid, SIGKILL);
        (void)waitpid(relay.pid, &relay.status, 0);
    }
    if (rc == 0)
        *ret_status = proc_exit_code(relay.status);
    fd_closep(&relay.master);
    fd_closep(&relay.signals);
    return rc;
}
