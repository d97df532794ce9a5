/*
 * How much memory the machine has left.
 */
#ifndef MAS_BASE_MEMORY_H
#define MAS_BASE_MEMORY_H

#include <stdint.h>

/* Bytes that new processes can have without swapping (MemAvailable); UINT64_MAX: not known. */
uint64_t memory_available(void);

#endif
