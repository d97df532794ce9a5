#include "host/terminal/tty.h"

#include "os/pty.h"

int tty_connect(struct tty *tty, const struct termios *settings, int *ret_slave, struct err *err)
{
    int slave = -1;

    if (pty_open(STDIN_FILENO, settings, &tty->master, &slave, err) == -1)
        return -1;
    tty->slave = fcntl(slave, F_DUPFD_CLOEXEC, 0);
    tty->hung = false;
    *ret_slave = slave;
    return 0;
}

void tty_disconnect(struct tty *tty)
{
    fd_closep(&tty->master);
    fd_closep(&tty->slave);
}

void tty_resize(const struct tty *tty)
{
    if (tty->master != -1)
        pty_copy_size(STDIN_FILENO, tty->master);
}

bool tty_is_canonical(const struct tty *tty)
{
    return tty->master != -1 && pty_is_canonical(tty->master);
}

bool tty_hides(const struct tty *tty)
{
    return tty->master != -1 && pty_is_hidden(tty->master);
}

size_t tty_type(struct tty *tty, const char *bytes, size_t len)
{
    ssize_t n = write(tty->master, bytes, len);
    return n > 0 ? (size_t)n : 0;
}
