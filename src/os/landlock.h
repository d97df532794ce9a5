/*
 * Landlock: what files, ports and processes a process may reach, whatever its user may.
 *
 * The rules allow; whatever part of the machine has one rule, everything else of that part is
 * denied. Rules of a newer kernel than the present one do not hold: landlock_abi() says how much it
 * has. Not held by any: connecting to a Unix socket by its path, and stat(), chmod(), utime() and
 * locks of files.
 */
#pragma once

enum {
    LANDLOCK_FILES = 1, /* first ABI that has it: files and directories */
    LANDLOCK_TRUNCATE = 3,
    LANDLOCK_TCP = 4, /* TCP ports */
    LANDLOCK_DEVICES = 5, /* ioctl() of devices */
    LANDLOCK_SCOPES = 6, /* signals and abstract sockets of processes outside */
};

enum landlock_access {
    ACCESS_READ, /* and run programs */
    ACCESS_WRITE, /* also make and remove */
    ACCESS_DEVICE, /* also ioctl() of devices */
    ACCESS_REMOVE, /* only remove files */
};

struct landlock_path {
    enum landlock_access access;
    const char *path; /* NULL: `fd` */
    int fd;
};

struct landlock {
    struct landlock_path *paths;
    size_t path_count; /* 0: all files */
    bool tcp; /* only these ports, and no port to listen at */
    uint16_t *ports;
    size_t port_count;
};

/* Returns the ABI of the kernel; 0: it has no Landlock, or it is off. */
int landlock_abi(void);
/* Returns what an ABI does not hold and a newer one does, to follow "no"; "": nothing. `filtered`:
 * a filter of system calls holds what it can of that. */
const char *landlock_gaps(int abi, bool filtered);

/* Puts this process, and all that it starts, under the rules, as far as the kernel has them. It
 * must have no_new_privs. A path that is missing gets no rule. */
int landlock_enter(const struct landlock *what, struct err *err);
