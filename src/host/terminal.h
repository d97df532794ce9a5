/*
 * The two terminals of a host, and the bytes between them: the pane that people look at, and the
 * pseudo-terminal that the agent is on. No byte is changed on its way.
 */
#ifndef MAS_HOST_TERMINAL_H
#define MAS_HOST_TERMINAL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <termios.h>

enum { TERMINAL_BUFFER = 32 * 1024 }; /* bytes on their way, each direction */

struct terminal_buffer {
    char data[TERMINAL_BUFFER];
    size_t start, end;
};

struct terminal {
    struct termios was; /* of the pane, before it was made raw */
    bool raw;
    bool gone; /* the pane hung up */
    int master, slave; /* of the agent; -1: none. The slave is held so that one that is closed and
                          opened again inside stays the same terminal */
    bool hung; /* the agent's side has hung up: nothing more comes */
    struct terminal_buffer to_pane, to_agent;
};

/* Makes the pane (descriptors 0 and 1) raw. Fails where they are no terminal. */
int terminal_open(struct terminal *terminal, struct err *err);
/* Gives the pane its settings back. */
void terminal_close(struct terminal *terminal);

/* Opens a pseudo-terminal for an agent. *ret_slave is the caller's. */
int terminal_connect(struct terminal *terminal, int *ret_slave, struct err *err);
/* Closes it; what is buffered for the pane stays. */
void terminal_disconnect(struct terminal *terminal);

/* Gives the agent's terminal the size of the pane. */
void terminal_resize(const struct terminal *terminal);

/* Puts the pane's modes (alternate screen, mouse, paste, cursor, character set, ...) back to what a
 * new terminal has. `origin`: the agent turned origin mode on. */
void terminal_reset(struct terminal *terminal, bool origin);
/* Writes behind what is buffered for the pane; what there is no room for is dropped. */
void terminal_add(struct terminal *terminal, const char *bytes, size_t len);
/* Prints words of mas in the pane, on lines of their own. */
void terminal_print(struct terminal *terminal, const char *text);
/* Sets the pane's title (OSC 2). */
void terminal_title(struct terminal *terminal, const char *text);

/* Reads what the agent prints, once, behind what is in the buffer for the pane. 0: nothing. */
size_t terminal_read_agent(struct terminal *terminal);
/* The same for the keys of the pane. */
size_t terminal_read_pane(struct terminal *terminal);
/* Forgets keys that are not to reach an agent. */
void terminal_drop_keys(struct terminal *terminal);
/* Write as much as is taken. */
void terminal_write_pane(struct terminal *terminal);
void terminal_write_agent(struct terminal *terminal);

/* Writes to the agent past the buffer; 0 where it takes nothing now. */
size_t terminal_type(struct terminal *terminal, const char *bytes, size_t len);

/* true while the buffer has room / holds something. */
bool terminal_has_room(const struct terminal_buffer *buffer);
bool terminal_has_room_for(const struct terminal_buffer *buffer, size_t len);
bool terminal_is_empty(const struct terminal_buffer *buffer);

#endif
