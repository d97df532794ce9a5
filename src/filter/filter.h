/*
 * Filters of system calls (seccomp), built with libseccomp. For helper programs only: mas itself
 * does not link that library.
 *
 *     filter_agent_load(&(struct filter_agent){.network = FILTER_TCP}, err);     what agents may
 * call
 *
 * A filter holds for this process and all that it starts, and nothing takes it away again. It also
 * sets no_new_privs, so that setuid programs give nobody more rights.
 */
#pragma once

/* Which sockets a program may make. Unix sockets and the netlink of routes are always allowed. */
enum filter_network {
    FILTER_OPEN, /* IPv4 and IPv6 of every type but raw */
    FILTER_TCP, /* TCP only, for which there may be rules of Landlock */
    FILTER_NONE, /* neither IPv4 nor IPv6 */
};

struct filter_agent {
    enum filter_network network;
    bool truncates; /* it may cut off files without opening them to write */
    bool nested; /* it may make namespaces, for a sandbox of its own */
};

/* Loads the filter for an agent and its programs: a list of what they may not call. Calls that
 * programs replace with older ones, and all that are newer than the list, fail with ENOSYS; sockets
 * with EAFNOSUPPORT or EPROTONOSUPPORT, all others with EPERM. A program for another architecture
 * of this machine dies of SIGSYS. */
int filter_agent_load(const struct filter_agent *what, struct err *err);

/* Programs of mas with a filter of their own: a list of what they may call. */
enum filter_program {
    FILTER_ARCHIVE, /* works on files that it may open, and starts nothing */
    FILTER_CHAT, /* also connects to Unix sockets, and uses a terminal */
    FILTER_NETWORK, /* also connects to any host, and forks without starting a program */
    FILTER_SERVE, /* works on files, answers at sockets that it has, connects to Unix sockets */
};

/* Loads the filter for this program. Any other call ends it, with a line on stderr that says which
 * call that was. Does nothing where the kernel has no seccomp, and in a build with sanitizers,
 * which call much more. */
int filter_program_load(enum filter_program program, struct err *err);

/* Returns false where the kernel has no seccomp, and in a build with sanitizers, which call much
 * more. */
bool filter_is_on(void);
