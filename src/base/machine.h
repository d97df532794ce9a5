/*
 * Which machine this is.
 */
#ifndef MAS_BASE_MACHINE_H
#define MAS_BASE_MACHINE_H

/* /etc/machine-id, which clones of a machine share, and the host name, which anybody may change: of
 * two machines one of the two differs. The caller's; never empty. */
char *machine_identity(void);

#endif
