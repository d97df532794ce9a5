/* What reach*.c share. */
#pragma once

#include "fleet/reach.h"

/* Appends the options of ssh that all of its command lines have. `control`: how it treats the
 * control socket at `path`; NULL: it has none, and may forward ports. */
void reach_ssh_options(char ***argv, const char *control, const char *path);

/* Returns the last line of what ssh or srun has printed, without "ssh: "; NULL: they have said
 * nothing. The caller frees it. */
char *reach_last_words(const char *text, size_t len);

/* Sets the error of a machine that was not reached. Returns -1. */
int reach_fail(const struct remote *remote, const char *why, struct err *err);

/* Takes a slot of a master, which is made if it is missing. *ret_path is the path of its control
 * socket, *ret_slot the lock of the slot. `goes_on`: see struct reach_command. */
int reach_take_slot(const char *ssh, char *const *env, const struct remote *remote, bool goes_on,
                    char **ret_path, int *ret_slot, struct err *err);

/* While a process connects to that machine, returns words that say so, and why the login before it
 * failed, if one did; otherwise NULL. The caller frees them. */
char *reach_connecting(const struct remote *remote);

/* Connects over ssh, if no connection is there, and makes the command line that runs this text by
 * the shell there. The caller starts it as after reach_open(). */
int reach_open_text(const struct remote *remote, const char *text, struct reach_line *ret,
                    struct err *err);
