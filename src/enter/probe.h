/*
 * What the kernel offers for walls, for `mas-wall --probe`.
 */
#pragma once

/* Prints lines of the form KEY=VALUE. Returns -1 if that fails. */
int probe_print(void);
