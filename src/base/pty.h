/*
 * Pseudo-terminals, and terminals in raw mode.
 */
#ifndef MAS_BASE_PTY_H
#define MAS_BASE_PTY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

/* Opens a pair with the line settings and the size of the terminal `like`, whose settings were
 * `settings`. The master does not block. Both descriptors are the caller's. */
int pty_open(int like, const struct termios *settings, int *ret_master, int *ret_slave,
             struct err *err);

/* Gives `master` the size of the terminal `like`; the programs on it get SIGWINCH. */
void pty_copy_size(int like, int master);

/* true if the programs on it read whole lines (canonical mode), as shells without line editing do.
 */
bool pty_is_canonical(int master);

/* Bytes written to the master that no program has read from `slave` yet, as far as can be seen. */
size_t pty_unread(int slave);

/* Makes a terminal pass on every byte as it is; *ret is what it was, for tcsetattr(). */
int pty_make_raw(int tty, struct termios *ret);

#endif
