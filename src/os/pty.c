#include "os/pty.h"

#include <sys/ioctl.h>

int pty_open(int like, const struct termios *settings, int *ret_master, int *ret_slave,
             struct err *err)
{
    _cleanup_close_ int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (master == -1 || grantpt(master) == -1 || unlockpt(master) == -1)
        return err_errno(err, "cannot open a pseudo-terminal");
    /* not by a path: /dev/pts may belong to another namespace */
    _cleanup_close_ int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave == -1 || tcsetattr(slave, TCSANOW, settings) == -1)
        return err_errno(err, "cannot open a pseudo-terminal");
    pty_copy_size(like, master);
    *ret_master = master;
    *ret_slave = slave;
    master = -1;
    slave = -1;
    return 0;
}

void pty_copy_size(int like, int master)
{
    struct winsize size;
    if (ioctl(like, TIOCGWINSZ, &size) == 0)
        (void)ioctl(master, TIOCSWINSZ, &size);
}

bool pty_is_canonical(int master)
{
    struct termios now;
    return tcgetattr(master, &now) == 0 && (now.c_lflag & ICANON) != 0;
}

bool pty_is_hidden(int master)
{
    struct termios now;
    return tcgetattr(master, &now) == 0 && (now.c_lflag & (ICANON | ECHO)) == ICANON;
}

size_t pty_unread(int slave)
{
    int count = 0;
    return ioctl(slave, FIONREAD, &count) == 0 && count > 0 ? (size_t)count : 0;
}

int pty_make_raw(int tty, struct termios *ret)
{
    struct termios was;
    if (tcgetattr(tty, &was) == -1)
        return -1;
    struct termios raw = was;
    cfmakeraw(&raw);
    if (tcsetattr(tty, TCSANOW, &raw) == -1)
        return -1;
    *ret = was;
    return 0;
}

static bool read_number(const char *path, long *ret)
{
    char buf[32] = "";
    FILE *file = fopen(path, "re");
    bool got = file != NULL && fgets(buf, sizeof buf, file) != NULL;

    if (file != NULL)
        (void)fclose(file);
    *ret = strtol(buf, NULL, 10);
    return got && *ret >= 0;
}

bool pty_count(long *ret_used, long *ret_max)
{
    return read_number("/proc/sys/kernel/pty/max", ret_max) &&
           read_number("/proc/sys/kernel/pty/nr", ret_used);
}
