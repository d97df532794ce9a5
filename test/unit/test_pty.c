#include "unit.h"

#include "os/loop.h"
#include "os/pty.h"

#include <sys/ioctl.h>

static struct winsize size_of(int tty)
{
    struct winsize size = {.ws_row = 0};

    CHECK(ioctl(tty, TIOCGWINSZ, &size) == 0);
    return size;
}

static void set(int tty, tcflag_t on, tcflag_t off)
{
    struct termios now;

    CHECK(tcgetattr(tty, &now) == 0);
    now.c_lflag = (now.c_lflag | on) & ~off;
    CHECK(tcsetattr(tty, TCSANOW, &now) == 0);
}

TEST(a_terminal_is_like_another)
{
    _cleanup_close_ int first = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    const struct winsize sizes[] = {{.ws_row = 17, .ws_col = 93}, {.ws_row = 5, .ws_col = 211}};
    struct termios settings, now;
    int master = -1, slave = -1;
    struct err err = ERR_INIT;

    REQUIRE(first != -1 && tcgetattr(first, &settings) == 0);
    REQUIRE(ioctl(first, TIOCSWINSZ, &sizes[0]) == 0);
    settings.c_lflag &= ~(tcflag_t)ISIG;
    settings.c_cc[VINTR] = 7;
    REQUIRE(pty_open(first, &settings, &master, &slave, &err) == 0);
    CHECK(isatty(slave) == 1);
    CHECK((fcntl(master, F_GETFL) & O_NONBLOCK) != 0 && (fcntl(slave, F_GETFL) & O_NONBLOCK) == 0);
    CHECK(fcntl(master, F_GETFD) == FD_CLOEXEC && fcntl(slave, F_GETFD) == FD_CLOEXEC);
    CHECK(tcgetattr(slave, &now) == 0);
    CHECK((now.c_lflag & ISIG) == 0 && now.c_cc[VINTR] == 7);
    CHECK(size_of(slave).ws_row == 17 && size_of(slave).ws_col == 93);
    REQUIRE(ioctl(first, TIOCSWINSZ, &sizes[1]) == 0);
    pty_copy_size(first, master);
    CHECK(size_of(slave).ws_row == 5 && size_of(slave).ws_col == 211);
    _cleanup_close_ int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pty_copy_size(none, master); /* what has no size changes none */
    CHECK(size_of(slave).ws_row == 5 && size_of(slave).ws_col == 211);
    fd_closep(&master);
    fd_closep(&slave);
}

TEST(what_programs_do_with_a_terminal_is_seen)
{
    _cleanup_close_ int first = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct termios settings, was, now;
    int master = -1, slave = -1;
    struct err err = ERR_INIT;

    REQUIRE(first != -1 && tcgetattr(first, &settings) == 0);
    REQUIRE(pty_open(first, &settings, &master, &slave, &err) == 0);
    set(slave, ICANON | ECHO, 0);
    CHECK(pty_is_canonical(master) && !pty_is_hidden(master));
    set(slave, 0, ECHO);
    CHECK(pty_is_canonical(master) && pty_is_hidden(master));
    set(slave, 0, ICANON);
    CHECK(!pty_is_canonical(master) && !pty_is_hidden(master));
    set(slave, ECHO, 0);
    CHECK(!pty_is_canonical(master) && !pty_is_hidden(master));

    CHECK_INT(pty_unread(slave), 0);
    CHECK(write(master, "abc", 3) == 3);
    CHECK_INT(loop_wait_for(slave, POLLIN, -1), POLLIN);
    CHECK_INT(pty_unread(slave), 3);

    set(slave, ICANON | ECHO | ISIG, 0);
    CHECK(pty_make_raw(slave, &was) == 0);
    CHECK((was.c_lflag & (ICANON | ECHO | ISIG)) == (ICANON | ECHO | ISIG));
    CHECK(tcgetattr(slave, &now) == 0);
    CHECK((now.c_lflag & (ICANON | ECHO | ISIG)) == 0 && (now.c_oflag & OPOST) == 0);
    fd_closep(&master);
    fd_closep(&slave);
    _cleanup_close_ int none = open("/dev/null", O_RDWR | O_CLOEXEC);
    CHECK(!pty_is_canonical(none) && !pty_is_hidden(none) && pty_unread(none) == 0);
    CHECK(pty_make_raw(none, &was) == -1 && errno == ENOTTY);
}

TEST(terminals_are_counted)
{
    long used = -1, before = -1, max = -1;

    if (!pty_count(&before, &max))
        UNIT_SKIP("/proc does not tell");
    CHECK(max > before && before >= 0);
    CHECK(pty_count(&used, &max) && used >= 0 && used <= max);
}
