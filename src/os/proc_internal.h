/*
 * What /proc says of one process, and how programs are started; for proc*.c only.
 */
#pragma once

#include "os/proc.h"

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

/* Reads the beginning of /proc/<pid>/<name> into a text that ends with NUL. Returns its length, or
 * -1 with errno. */
ssize_t proc_read_text(pid_t pid, const char *name, char *buf, size_t size);
/* Returns 1; 0 if the process is gone; -1 if that cannot be determined. */
int proc_read_stat(pid_t pid, struct proc_stat *ret);

/* Starts a program with these standard files. Returns its pid, or -1 with errno. */
pid_t proc_fork_into(const struct proc_spec *spec, const int standard[3]);

/* Has a starter start it. Returns the descriptor on which the status comes, or -1 with errno
 * (ESRCH: the starter has ended). */
int proc_ask_starter(int socket, const struct proc_spec *spec, const int standard[3],
                     pid_t *ret_pid);
/* Waits for the status, which is as from waitpid(). Returns -1 if the starter has ended. */
int proc_ask_status(int answers, int *ret_status);
