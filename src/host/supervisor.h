/*
 * The supervisor: a small process between a host and its agent that answers for the agent's whole
 * tree.
 *
 * It is the parent of the agent and, as a subreaper, of all that is ever started from it and loses
 * its own parent. When the agent ends, when the host says so, or when the host is gone however that
 * came, the supervisor ends what is left: hang-up, SIGTERM, SIGKILL, each with its time. tmux
 * servers started from inside, and what runs in them, are left alone. Then it goes itself.
 *
 * Host and supervisor share a socket pair; its end tells each that the other is gone. A host whose
 * supervisor was killed is the next subreaper and calls supervisor_sweep().
 */
#ifndef MAS_HOST_SUPERVISOR_H
#define MAS_HOST_SUPERVISOR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The names that supervisors go by. What runs below one is no person; below an operator's it may
 * be: see peer.c. A process that takes such a name itself only gives itself away. */
#define SUPERVISOR_NAME "mas-supervisor"
#define SUPERVISOR_NAME_OPERATOR "mas-superv-op"
#define SUPERVISOR_NAME_BEFORE "mas-keeper" /* of a host that an earlier mas left running */

/* How a tree is asked to end. */
struct supervisor_times {
    int hangup_ms; /* after SIGHUP; 0: not sent */
    int terminate_ms; /* after SIGTERM */
};

struct supervisor {
    pid_t pid; /* 0: none */
    int fd;
};

struct supervisor_spec {
    const char *program; /* path */
    const int *cwd; /* directory to start in, by descriptor; NULL: the present one */
    char *const *argv;
    char *const *env;
    struct supervisor_times times; /* for an end that nobody asked for */
    bool is_operator; /* what it starts is a person's terminal */
    bool piped; /* no terminal: the agent's standard files are `pipes` */
    int pipes[3];
};

enum supervisor_news {
    SUPERVISOR_NOTHING,
    SUPERVISOR_RUNS, /* pid: the agent */
    SUPERVISOR_FAILED, /* status: errno of its start */
    SUPERVISOR_ENDED, /* status: of the agent, as from waitpid() */
    SUPERVISOR_CLEAR, /* the tree has ended: terminated, killed, names */
    SUPERVISOR_GONE, /* the supervisor itself; after SUPERVISOR_CLEAR or SUPERVISOR_FAILED as it
                        should be */
};

enum { SUPERVISOR_NAMES_MAX = 256 };

struct supervisor_report {
    enum supervisor_news news;
    pid_t pid;
    int status;
    int terminated; /* processes that needed SIGTERM */
    int killed; /* and SIGKILL */
    char names[SUPERVISOR_NAMES_MAX]; /* of those: "sleep(123) cat(124)" */
};

/* Starts a supervisor and by it the agent, on the terminal `slave`, which is closed in any case;
 * with pipes it is -1, and they are closed likewise. An agent on pipes gets no SIGHUP while it
 * lives: the host closes its input, and the time is the one that it has to go by itself. */
int supervisor_start(const struct supervisor_spec *spec, int slave, struct supervisor *ret,
                     struct err *err);

/* Asks it to end the tree. `spare` is left alone: a process in the tree that asked for this. */
void supervisor_end(const struct supervisor *supervisor, struct supervisor_times times,
                    pid_t spare);

/* What it says next, without waiting. Closes the descriptor at SUPERVISOR_GONE. */
void supervisor_read(struct supervisor *supervisor, struct supervisor_report *ret);

/* Ends what a killed supervisor left to this process. */
void supervisor_sweep(void);

#endif
