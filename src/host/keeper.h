/*
 * The keeper: a small process between a host and its agent that answers for the agent's whole tree.
 *
 * It is the parent of the agent and, as a subreaper, of all that is ever started from it and loses
 * its own parent. When the agent ends, when the host says so, or when the host is gone however that
 * came, the keeper ends what is left: hang-up, SIGTERM, SIGKILL, each with its time. tmux servers
 * started from inside, and what runs in them, are left alone. Then it goes itself.
 *
 * Host and keeper share a socket pair; its end tells each that the other is gone. A host whose
 * keeper was killed is the next subreaper and calls keeper_sweep().
 */
#ifndef MAS_HOST_KEEPER_H
#define MAS_HOST_KEEPER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The names that keepers go by. What runs below one is no person; below an operator's it may be:
 * see peer.c. A process that takes such a name itself only gives itself away. */
#define KEEPER_NAME "mas-keeper"
#define KEEPER_NAME_OPERATOR "mas-keeper-op"

/* How a tree is asked to end. */
struct keeper_times {
    int hangup_ms; /* after SIGHUP; 0: not sent */
    int terminate_ms; /* after SIGTERM */
};

struct keeper {
    pid_t pid; /* 0: none */
    int fd;
};

struct keeper_spec {
    const char *program; /* path */
    const int *cwd; /* directory to start in, by descriptor; NULL: the present one */
    char *const *argv;
    char *const *env;
    struct keeper_times times; /* for an end that nobody asked for */
    bool is_operator; /* what it starts is a person's terminal */
    bool piped; /* no terminal: the agent's standard files are `pipes` */
    int pipes[3];
};

enum keeper_news {
    KEEPER_NOTHING,
    KEEPER_RUNS, /* pid: the agent */
    KEEPER_FAILED, /* status: errno of its start */
    KEEPER_ENDED, /* status: of the agent, as from waitpid() */
    KEEPER_CLEAR, /* the tree has ended: terminated, killed, names */
    KEEPER_GONE, /* the keeper itself; after KEEPER_CLEAR or KEEPER_FAILED as it should be */
};

enum { KEEPER_NAMES_MAX = 256 };

struct keeper_report {
    enum keeper_news news;
    pid_t pid;
    int status;
    int terminated; /* processes that needed SIGTERM */
    int killed; /* and SIGKILL */
    char names[KEEPER_NAMES_MAX]; /* of those: "sleep(123) cat(124)" */
};

/* Starts a keeper and by it the agent, on the terminal `slave`, which is closed in any case; with
 * pipes it is -1, and they are closed likewise. An agent on pipes gets no SIGHUP while it lives:
 * the host closes its input, and the time is the one that it has to go by itself. */
int keeper_start(const struct keeper_spec *spec, int slave, struct keeper *ret, struct err *err);

/* Asks it to end the tree. `spare` is left alone: a process in the tree that asked for this. */
void keeper_end(const struct keeper *keeper, struct keeper_times times, pid_t spare);

/* What it says next, without waiting. Closes the descriptor at KEEPER_GONE. */
void keeper_read(struct keeper *keeper, struct keeper_report *ret);

/* Ends what a killed keeper left to this process. */
void keeper_sweep(void);

#endif
