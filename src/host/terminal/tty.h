/*
 * The pseudo-terminal that an agent runs on. The host holds its master, which is non-blocking.
 */
#pragma once

#include <termios.h>

struct tty {
    int master; /* -1: none */
    int slave; /* held open, so that an agent that closes and reopens it gets the same terminal */
    bool hung; /* the agent's side has hung up: nothing more comes */
};

#define TTY_INIT                                                                                   \
    {                                                                                              \
        .master = -1, .slave = -1                                                                  \
    }

/* Opens a pseudo-terminal with these settings and the size of the pane. The caller owns *ret_slave.
 */
int tty_connect(struct tty *tty, const struct termios *settings, int *ret_slave, struct err *err);
void tty_disconnect(struct tty *tty);
/* Gives the terminal the size of the pane. */
void tty_resize(const struct tty *tty);
/* Returns true if the agent reads whole lines (canonical mode). */
bool tty_is_canonical(const struct tty *tty);
/* Returns true if it also does not show what is typed, as for a password. */
bool tty_hides(const struct tty *tty);
/* Writes to the agent. Returns how many bytes the terminal took. */
size_t tty_type(struct tty *tty, const char *bytes, size_t len);
