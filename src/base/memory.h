/*
 * How much memory the machine has left.
 */
#ifndef MAS_BASE_MEMORY_H
#define MAS_BASE_MEMORY_H

#include <stdint.h>

/* Returns how many bytes new processes can use without swapping (MemAvailable); UINT64_MAX if
 * unknown. */
uint64_t memory_available(void);

#endif
