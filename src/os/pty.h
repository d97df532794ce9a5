/*
 * Pseudo-terminals, and terminals in raw mode.
 */
#pragma once

#include <termios.h>

/* Opens a pseudo-terminal with the size of the terminal `like` and the line settings `settings`.
 * The master is non-blocking. The caller closes both descriptors. */
int pty_open(int like, const struct termios *settings, int *ret_master, int *ret_slave,
             struct err *err);

/* Gives `master` the size of the terminal `like`; its programs get SIGWINCH. */
void pty_copy_size(int like, int master);

/* Returns true if the programs on the terminal read whole lines (canonical mode), as shells without
 * line editing do. */
bool pty_is_canonical(int master);

/* Returns true if they do, and the terminal does not show what is typed: they read a password. */
bool pty_is_hidden(int master);

/* Returns how many bytes written to the master no program has read from `slave` yet, as far as that
 * can be seen. */
size_t pty_unread(int slave);

/* Tells how many pseudo-terminals there are in the system, and how many there may be. Returns false
 * if that is unknown. */
bool pty_count(long *ret_used, long *ret_max);

/* Makes a terminal pass on every byte unchanged. *ret receives the previous settings, for
 * tcsetattr(). Returns -1 with errno on failure. */
int pty_make_raw(int tty, struct termios *ret);
