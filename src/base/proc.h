/*
 * Processes: the only file that forks and execs. No shell is ever between mas and a program.
 *
 *     struct proc proc;
 *     if (proc_start(&spec, &proc, err) == -1) ...
 *     ... other work while it runs ...
 *     if (proc_finish(&proc, &result, err) == -1) ...
 */
#ifndef MAS_BASE_PROC_H
#define MAS_BASE_PROC_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_spec {
    const char *file; /* path of the program, not looked up */
    char *const *argv; /* NULL-terminated */
    char *const *envp; /* NULL: this process's own */
    int cwd; /* directory to start in, by descriptor; -1: the present one */
    const char *input; /* what it reads from its standard input; NULL: /dev/null */
    size_t input_len;
    size_t output_max; /* more bytes than this on stdout are an error */
    int timeout_ms; /* from the start; then it is killed and MAS_TIMEOUT returned */
    bool raise_nofile; /* soft descriptor limit up to the hard one, for a server it may start */
    const int *fds; /* handed over as 3, 4, ... */
    size_t fd_count; /* at most PROC_FDS_MAX */
};

enum { PROC_FDS_MAX = 8 };

struct proc {
    pid_t pid;
    int pidfd, out, err;
    size_t output_max;
    int64_t deadline; /* monotonic ms */
    int timeout_ms;
    const char *file; /* borrowed from the spec */
    /* Where these are set, the time counts only while nothing goes on: no output comes and neither
     * this process nor the one that it works with uses CPU. */
    int64_t latest; /* monotonic ms, whatever goes on; 0: as above */
    pid_t (*partner)(const char *arg); /* 0: there is none */
    const char *partner_arg; /* borrowed */
    uint64_t used; /* by both, when that was looked at last */
};

struct proc_result {
    int status; /* exit code, or 128 + signal */
    struct str out;
    struct str err; /* at most 64 KiB, the rest is dropped */
};

#define PROC_RESULT_INIT                                                                           \
    {                                                                                              \
        .status = -1                                                                               \
    }

int proc_start(const struct proc_spec *spec, struct proc *ret, struct err *err);
/* Waits for the end of the process, not for that of children it left behind. Releases *proc. */
int proc_finish(struct proc *proc, struct proc_result *ret, struct err *err);
void proc_result_free(struct proc_result *result);
/* Gives it until `most_ms` from now as long as something goes on. `present` is its partner now. */
void proc_be_patient(struct proc *proc, int most_ms, pid_t present,
                     pid_t (*partner)(const char *arg), const char *arg);
/* Kills it instead of waiting for its end. Releases *proc. */
void proc_abandon(struct proc *proc);

/* Runs a program with this process's own standard files, as a shell runs one in the foreground, and
 * waits for its end. *ret_status is its exit code, or 128 + signal. */
int proc_run(const char *file, char *const *argv, int *ret_status, struct err *err);

/* Replaces this process; returns only on failure. */
int proc_exec(const char *file, char *const *argv, char *const *envp, struct err *err);

/* fork(), for a child that goes on in this program. */
pid_t proc_fork(void);

/* Starts a program as the leader of a session of its own whose terminal is `tty`, with no other
 * descriptor of this process. Returns its pid once it runs; -1 with errno, that of exec included.
 */
pid_t proc_start_on_tty(int tty, const char *file, char *const *argv, char *const *envp);
/* The same with descriptors for 0, 1 and 2, and no terminal. */
pid_t proc_start_on_pipes(const int fds[3], const char *file, char *const *argv, char *const *envp);
/* Starts a program with this process's own standard files, as a part of it: it gets SIGHUP when
 * this process has ended, however that came. Returns its pid, a child; -1 with errno. */
pid_t proc_start_here(const char *file, char *const *argv, char *const *envp);

/* A process in /proc that another may not be: a pid that is reused has another start time. */
struct proc_id {
    pid_t pid;
    uint64_t start; /* clock ticks after boot */
};

/* Which processes of this user are meant. An environment is what it was at their exec. */
struct proc_query {
    const char *entry; /* they have exactly this, e.g. "MAS_SESSION_ID=..." */
    const char *key; /* and of this variable ("" where it is missing) a value */
    bool (*accepts)(const char *value, void *arg); /* that this accepts */
    void *arg;
    bool with_ancestors; /* also those above this process */
};

/*
 * Lists them (threads are not counted). tmux servers among them are left out with all that runs in
 * them, and so is this process. The caller frees *ret. Fails where /proc cannot be read: that none
 * was seen would not mean that none is there.
 */
int proc_find_by_env(const struct proc_query *query, struct proc_id **ret, size_t *ret_count,
                     struct err *err);
/* The distinct values that `key` has in environments of this user's processes, but those that
 * proc_find_by_env() would leave out. The caller frees *ret with strv_free(). Fails likewise. */
int proc_env_values(const char *key, char ***ret, struct err *err);
/* Lists what descends from this process and lives, without tmux servers, what runs in them, and
 * `spare` (0: nobody). With PR_SET_CHILD_SUBREAPER that is all that was ever started from it. The
 * caller frees *ret. */
size_t proc_descendants(pid_t spare, struct proc_id **ret);
/* CPU time that a process has used, in clock ticks; 0 where it is gone. */
uint64_t proc_cpu(pid_t pid);
/* true if it runs the very program that this process runs. */
bool proc_runs_same_program(pid_t pid);
/* true if the process is seen to wait in read(2) on its standard input. */
bool proc_is_reading(pid_t pid);
/* Name of a process as the kernel has it, "?" where it is gone. */
const char *proc_name(pid_t pid, char buf[20]);
/* true for this process, its parent, and so on. */
bool proc_is_ancestor(pid_t pid);
/* A process in a line of parents. */
struct proc_above {
    pid_t pid;
    char name[20]; /* as the kernel has it */
};
/* Lists the process, its parent, and so on, the nearest first. Each was the parent of the one
 * before it while both lived. Ends early at a parent that may not be seen: it belongs to another
 * user. Returns -1 if the process has ended, or its parents change too fast. The caller frees *ret.
 */
int proc_lineage(const struct proc_id *id, struct proc_above **ret, size_t *ret_count);
/* true if the environment that the process was started with holds exactly this entry. */
bool proc_has_entry(pid_t pid, const char *entry);
/* The process's argument number `index`, the caller's; NULL if it has none or is gone. */
char *proc_argument(pid_t pid, size_t index);
/* true while it exists and is no zombie. */
bool proc_is_alive(const struct proc_id *id);
/* Identity of a running pid; false where there is none. */
bool proc_identify(pid_t pid, struct proc_id *ret);
/* Sends a signal to exactly this process, never to one that has its number now. */
void proc_signal(const struct proc_id *id, int sig);
/* Waits until none of them lives or timeout_ms (-1: no end) have passed; returns how many do. */
size_t proc_wait_gone(const struct proc_id *ids, size_t count, int timeout_ms);

#endif
