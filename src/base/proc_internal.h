/*
 * What /proc says of one process; for proc*.c only.
 */
#ifndef MAS_BASE_PROC_INTERNAL_H
#define MAS_BASE_PROC_INTERNAL_H

#include "base/proc.h"

/* Values from /proc/<pid>/stat. comm may contain anything, so fields count from the last ')'. */
struct proc_stat {
    char comm[20];
    char state; /* Z: dead, but R if other threads of the program still run */
    pid_t parent;
    uint64_t start;
    uint64_t cpu; /* user and system time, in clock ticks */
    uint64_t cpu_ended; /* the same of its children that have ended */
    uint64_t threads;
    uint64_t pages; /* of memory that are resident */
};

/* Returns 1; 0 if the process is gone; -1 if that cannot be determined. */
int proc_read_stat(pid_t pid, struct proc_stat *ret);

#endif
