/*
 * What the kernel offers for walls, for `mas-wall --probe`.
 */
#ifndef MAS_ENTER_PROBE_H
#define MAS_ENTER_PROBE_H

/* Prints lines of the form KEY=VALUE. Returns -1 if that fails. */
int probe_print(void);

#endif
