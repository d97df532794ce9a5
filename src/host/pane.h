/*
 * The pane that people look at: the host's own terminal, descriptors 0 and 1. What is printed waits
 * in a buffer until the pane takes it; keys wait in another one until they are handled. No byte is
 * changed on its way.
 *
 * A host of a terminal program opens the pane (raw, non-blocking). The pane of an ACP agent belongs
 * to mas-chat and is opened only if there is no mas-chat.
 */
#pragma once

#include <termios.h>

enum { PANE_BUFFER = 32 * 1024 }; /* bytes on their way, in each direction */

struct pane_buffer {
    char data[PANE_BUFFER];
    size_t start, end;
};

struct pane {
    struct termios was; /* its settings before pane_open() */
    bool raw; /* it is open */
    int64_t written_ms; /* epoch, of what this process printed there last; 0: nothing */
    bool gone; /* it has hung up, or the host leaves: nobody sees what is printed */
    struct pane_buffer out, keys;
};

/* Fails if the descriptors 0 and 1 are no terminal. */
int pane_check(struct err *err);
/* Makes the pane raw. */
int pane_open(struct pane *pane, struct err *err);
/* Restores the pane's settings. */
void pane_close(struct pane *pane);

/* Appends to what is printed. Drops all of it if the buffer has no room. */
void pane_add(struct pane *pane, const char *bytes, size_t len);
/* Appends a message of mas, on lines of its own, as it is printed. */
void pane_add_words(struct str *to, const char *text);
/* Prints a message of mas. */
void pane_print(struct pane *pane, const char *text);
/* Sets the pane's title (OSC 2). */
void pane_title(struct pane *pane, const char *text);
/* Resets the pane's modes (alternate screen, mouse, paste, cursor, character set, ...) to those of
 * a new terminal. `origin`: the agent has turned origin mode on. */
void pane_reset(struct pane *pane, bool origin);

/* Writes as much as the pane takes. */
void pane_write(struct pane *pane);
/* Reads keys once, behind those in the buffer. Returns how many bytes. */
size_t pane_read(struct pane *pane);
/* Drops keys that must not reach an agent. */
void pane_drop_keys(struct pane *pane);

/* Returns true if the buffer has room for `len` bytes. */
bool pane_has_room(const struct pane_buffer *buffer, size_t len);
bool pane_is_empty(const struct pane_buffer *buffer);
/* Reads once from a descriptor, as much as the buffer has room for. Returns how many bytes; sets
 * *ret_gone if the other end has hung up. */
size_t pane_buffer_read(struct pane_buffer *buffer, int fd, bool *ret_gone);
/* Writes as much as the descriptor takes. Sets *ret_gone, and empties the buffer, if the other end
 * has hung up. */
void pane_buffer_write(struct pane_buffer *buffer, int fd, bool *ret_gone);
