/* The screen of `top --all-hosts`. */
#include "base/loop.h"
#include "cmd/all_hosts.h"
#include "cmd/table.h"

#include <poll.h>
#include <termios.h>

#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"
#define ROWS_PLAIN 24

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
static struct termios was;

static void leave(void)
{
    (void)!write(STDOUT_FILENO, LEAVE, strlen(LEAVE));
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &was);
}

/* All that it calls may be called in a handler. */
static void on_signal(int sig)
{
    leave();
    (void)signal(sig, SIG_DFL);
    (void)raise(sig);
}

static int enter(struct err *err)
{
    const struct sigaction act = {.sa_handler = on_signal};
    struct termios keys;

    if (tcgetattr(STDIN_FILENO, &was) == -1)
        return err_errno(err, "cannot read keys");
    keys = was;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    keys.c_cc[VSUSP] = _POSIX_VDISABLE; /* this screen is no place for a prompt */
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        (void)sigaction(signals[i], &act, NULL);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
    (void)fputs(ENTER, stdout);
    return 0;
}

/* Waits for the next look. Returns true if the person or the terminal has ended it. */
static bool wait_for_end(void)
{
    char keys[64];
    short events = (short)loop_wait_for(STDIN_FILENO, POLLIN, ALL_HOSTS_TOP_MS);

    if (events <= 0)
        return events < 0;
    ssize_t n = (events & POLLIN) != 0 ? read(STDIN_FILENO, keys, sizeof keys) : 0;
    return n <= 0 || memchr(keys, 'q', (size_t)n) != NULL;
}

int all_hosts_screen(void (*draw)(size_t rows, void *arg), void *arg, struct err *err)
{
    if (enter(err) == -1)
        return -1;
    do {
        struct screen screen = screen_size();
        size_t rows = screen.rows > 2 ? screen.rows : ROWS_PLAIN;
        draw(rows - 1, arg);
        (void)fputs("q quits; a look every 2 s\033[K\r", stdout);
    } while (fflush(stdout) != EOF && !wait_for_end());
    leave();
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        (void)signal(signals[i], SIG_DFL);
    return 0;
}
