/*
 * How much memory the machine has left.
 */
#pragma once

/* Returns how many bytes new processes can use without swapping (MemAvailable); UINT64_MAX if
 * unknown. */
uint64_t memory_available(void);
