/*
 * The identity of this machine, and how much memory it has left.
 */
#pragma once

/* Reads the contents of /etc/machine-id and the host name. Clones of a machine share the first, and
 * anyone may change the second; two machines differ in at least one. Never empty. Fails if the file
 * is there and cannot be read. The caller frees *ret. */
int machine_identity(char **ret, struct err *err);

/* Returns the host name in an identity; it belongs to the identity. */
const char *machine_host(const char *identity);

/* Reads what only processes see that share a boot of the kernel and a PID namespace: the boot id
 * and the number of that namespace. A machine whose name was changed keeps it until it boots
 * again; two containers of one machine never share it. "" if /proc does not tell. Fails if it
 * cannot be read. The caller frees *ret. */
int machine_boot(char **ret, struct err *err);

/* Returns how many bytes new processes can use without swapping (MemAvailable); UINT64_MAX if
 * unknown. */
uint64_t memory_available(void);
