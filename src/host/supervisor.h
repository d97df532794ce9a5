/* clang-format off */
/*
 * The supervisor: a small process between a host and its agent that ends the agent's whole tree.
 *
 *     supervisor_start(&spec, slave, &supervisor, err);
 *     loop_want(&loop, supervisor.fd, POLLIN);
 *     supervisor_read(&supervisor, &report);       RUNS or FAILED, ENDED, CLEAR, GONE
 *     supervisor_end(&supervisor, times, 0);       unless the agent ends by itself
 *
 * It is the parent of the agent. As a subreaper it also becomes the parent of every descendant
 * whose own parent ends. When the agent ends, when the host says so, or when the host is gone for
 * any reason, the supervisor ends what is left with SIGHUP, SIGTERM and SIGKILL, each with its
 * time. It spares tmux servers that were started from inside, and what runs in them. Then it exits.
 * A tree in a cgroup is stopped before it is killed, so that nothing escapes by forking.
 *
 * It looks at the clock of the session's lease itself and ends the tree when the lease is lost,
 * since the host may be stopped, or hang on a disk. The host itself has another process for that:
 * host/lease.c.
 *
 * Host and supervisor share a socket pair, whose end tells each of them that the other one is gone.
 * If the supervisor is killed, the host, which is a subreaper too, gets its children and kills them
 * with supervisor_sweep(), which spares what the host has started for itself: host_sweep().
 *
 *     what ends                    what follows
 *     the agent                    the supervisor reports its status, ends the rest of its tree,
 *                                  and exits; the host stays in the pane
 *     the host, by a hang-up or    it lets the supervisor end the tree, removes its files from run/,
 *     SIGTERM                      and exits
 *     the host, by SIGKILL         the supervisor sees the socket pair close and ends the tree
 *     the lease (host/lease.c)     host and supervisor each see it on the clock in memory, and end
 *                                  the agent within 3 s; the host exits. Seen too late, after a stop
 *                                  of the process, they kill and exit, and touch no file
 *     the supervisor, by SIGKILL   the tree becomes the host's, which kills it
 *     both, by SIGKILL             stop, start, rm and `doctor --fix` find the processes by
 *                                  MAS_SESSION_ID and end them
 *
 * The times are [stop] hangup and [stop] terminate. SIGKILL is repeated in rounds, for processes
 * forked meanwhile. The tree is found in /proc by parents, so a cleared environment or a new
 * session does not hide a process. A tmux server in the tree is spared because its user wants it to
 * outlive the terminal. A PID namespace would end that too, and take sudo from agents, so mas uses
 * one only for a wall. An agent that stops its own team is in the tree that it ends: the host sees
 * this by the peer's pid, and the order names it as one to spare.
 */
/* clang-format on */
#pragma once

#include "os/proc.h"
#include "store/lease_clock.h"

/* The names of supervisors. A process below one of them acts for an agent, but below an operator's
 * supervisor it may act for a person: see peer.c. A process that takes such a name gains nothing.
 */
#define SUPERVISOR_NAME "mas-supervisor"
#define SUPERVISOR_NAME_OPERATOR "mas-superv-op"

/* How long each step of an end may take. */
struct supervisor_times {
    int hangup_ms; /* after SIGHUP; 0: not sent */
    int terminate_ms; /* after SIGTERM */
};

/* For an end because the lease is lost: short enough to be over before anybody takes the session.
 */
extern const struct supervisor_times supervisor_lease_times;

struct supervisor {
    pid_t pid; /* 0: none */
    int fd;
};

struct supervisor_spec;

/* Work for a client, which its supervisor waits for: see host/broker.c. All of these functions run
 * in the supervisor's process. */
struct supervisor_job {
    int client; /* when it hangs up, the tree is ended */
    void *arg;
    /* Fills in what to start, with pipes for its standard files. Returns -1 to start nothing. */
    int (*prepare)(struct supervisor_job *job, struct supervisor_spec *spec);
    /* Tells the client how the program has ended; `error`: why it could not be started, or 0. */
    void (*answer)(int client, int status, int error);
};

struct supervisor_spec {
    const char *program; /* path */
    const int *cwd; /* descriptor of the directory to start in; NULL: the present one */
    /* Instead of the program, for a job: runs in the supervisor's own process, which ends with the
     * client, and returns the exit code. What this program has open is closed, but not forgotten:
     * it must not use it. NULL: none. */
    int (*run)(char *const *argv);
    char *const *argv;
    char *const *env;
    struct supervisor_times times; /* for an end that nobody asked for */
    const struct proc_bounds *bounds; /* what holds its resources; NULL: nothing */
    const struct lease_clock *lease; /* whose loss ends the tree; NULL: none */
    bool is_operator; /* what it starts is a person's terminal */
    bool paused; /* stopped as soon as it runs; see supervisor_pause() */
    bool piped; /* no terminal: the agent's standard files are `pipes` */
    int pipes[3];
    struct supervisor_job *job; /* NULL: none */
    /* A wall around the program: argv begins with programs that put it up and end with it. */
    bool is_walled;
    const int *fds; /* of the wall, descriptors 3, 4, ...; the caller closes them */
    size_t fd_count;
    bool wall_tells; /* it takes one more, a socket for what it tells: wall/told.h */
};

enum supervisor_news {
    SUPERVISOR_NOTHING,
    SUPERVISOR_RUNS, /* pid: the agent; status: errno if it could not enter its cgroup, else 0 */
    SUPERVISOR_PROGRAM, /* pid: the agent, of which SUPERVISOR_RUNS has told the wall around it */
    SUPERVISOR_NETWORK_LOST, /* nothing lets its connections through any more */
    SUPERVISOR_FAILED, /* status: errno of its start */
    SUPERVISOR_ENDED, /* status: of the agent, as from waitpid() */
    SUPERVISOR_CLEAR, /* the tree has ended: terminated, killed, names */
    SUPERVISOR_GONE, /* the supervisor has ended; normally after SUPERVISOR_CLEAR or
                        SUPERVISOR_FAILED */
};

enum { SUPERVISOR_NAMES_MAX = 256 };

struct supervisor_report {
    enum supervisor_news news;
    pid_t pid;
    int status;
    int terminated; /* processes that needed SIGTERM */
    int killed; /* processes that needed SIGKILL */
    char names[SUPERVISOR_NAMES_MAX]; /* of those: "sleep(123) cat(124)" */
};

/* Starts a supervisor, which starts the agent on the terminal `slave` (-1: on pipes). Closes
 * `slave` and the pipes, also on failure. An agent on pipes gets no SIGHUP: the host closes its
 * input, and hangup_ms is the time that it has to end by itself. */
int supervisor_start(const struct supervisor_spec *spec, int slave, struct supervisor *ret,
                     struct err *err);

/* Starts a program that reads nothing and whose output and errors come from one pipe, *ret_out,
 * which does not block and which the caller closes. Fills spec->pipes. */
int supervisor_start_printing(struct supervisor_spec *spec, struct supervisor *ret, int *ret_out,
                              struct err *err);

/* Asks the supervisor to end the tree. It spares the process `spare`, which asked for the end from
 * inside the tree; 0: none. */
void supervisor_end(const struct supervisor *supervisor, struct supervisor_times times,
                    pid_t spare);

/* Stops the tree, or lets it go on. A tree that ends goes on before that. */
void supervisor_pause(const struct supervisor *supervisor, bool on);

/* Reads the next report, without waiting. Closes the descriptor at SUPERVISOR_GONE. */
void supervisor_read(struct supervisor *supervisor, struct supervisor_report *ret);

/* Kills all descendants of this process, as a killed supervisor left them to it, except these
 * `count` (0: nobody) and what is below them. The caller reaps. */
void supervisor_sweep(const pid_t *spared, size_t count);
