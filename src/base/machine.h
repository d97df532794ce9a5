/*
 * The identity of this machine.
 */
#ifndef MAS_BASE_MACHINE_H
#define MAS_BASE_MACHINE_H

/* Returns the contents of /etc/machine-id and the host name. Clones of a machine share the first,
 * and anyone may change the second; two machines differ in at least one. Never empty; the caller
 * frees it. */
char *machine_identity(void);

#endif
