/*
 * Processes. Only proc.c forks and execs. No shell runs between mas and a program.
 *
 *     struct proc proc;
 *     if (proc_start(&spec, &proc, err) == -1) ...
 *     ... other work while it runs ...
 *     if (proc_finish(&proc, &result, err) == -1) ...
 */
#pragma once

#include "os/landlock.h"

struct proc_spec {
    const char *file; /* path of the program; PATH is not searched */
    /* Instead of executing it, the child goes on in this program: it calls this function and exits
     * with its value. NULL: none. `file` is then only a name for messages. */
    int (*go_on)(void *arg);
    void *arg;
    char *const *argv; /* NULL-terminated */
    char *const *envp; /* NULL: the environment of this process */
    int cwd; /* working directory, open; -1: the current one */
    const char *input; /* standard input; NULL: /dev/null */
    size_t input_len;
    size_t output_max; /* more bytes than this on stdout are an error */
    bool tail; /* they are none: only the last `output_max` are kept */
    int timeout_ms; /* from the start; then the process is killed: MAS_TIMEOUT */
    bool bound; /* the kernel kills it when the thread that started it ends */
    bool whole; /* if proc_capture() fails, all that it has started ends, too */
    const struct landlock *confine; /* all that it may reach of the files, see os/landlock.h;
                                     * NULL: what this process may */
    bool raise_nofile; /* raise the soft descriptor limit, for a server that it may start */
    const int *fds; /* passed on as descriptors 3, 4, ... */
    size_t fd_count; /* at most PROC_FDS_MAX */
};

enum { PROC_FDS_MAX = 128 };

struct proc {
    pid_t pid;
    int end_fd; /* becomes readable when it has ended */
    int out, err;
    bool by_starter; /* end_fd is its PROC_STARTER_ANSWERS, see os/proc_starter.h */
    size_t output_max;
    bool tail;
    int64_t deadline; /* monotonic ms */
    int timeout_ms;
    const char *file; /* borrowed from the spec */
    /* Set by proc_be_patient(). Then time counts only while the process is idle: it prints nothing,
     * and neither it nor its partner uses CPU. */
    int64_t latest; /* monotonic ms; end of patience; 0: not patient */
    pid_t (*partner)(const char *arg); /* returns the pid of the partner; 0: there is none */
    const char *partner_arg; /* borrowed */
    uint64_t used; /* CPU time of both at the last check */
    bool ended; /* set by proc_take_end(), with the status */
    int status;
};

struct proc_result {
    int status; /* exit code, or 128 + signal */
    struct str out;
    struct str err; /* at most 64 KiB; the rest is dropped */
};

#define PROC_RESULT_INIT                                                                           \
    {                                                                                              \
        .status = -1                                                                               \
    }

/* How a process has ended, by its status as from waitpid(): its exit code, or 128 + the signal that
 * ended it; that signal, or 0. */
int proc_exit_code(int status);
int proc_end_signal(int status);
/* Returns the signal that such an exit code tells of, 0 if it is none. */
int proc_signal_of(int code);
/* Waits for the end of a child, whatever signals come meanwhile. Returns -1 with errno if it is
 * none. */
int proc_await(pid_t pid, int *ret_status);

/* Starts a program with pipes for its standard output and error. The caller passes *ret to
 * proc_finish() or proc_abandon(). `spec->file` must stay valid until then. */
int proc_start(const struct proc_spec *spec, struct proc *ret, struct err *err);
/* From now on, proc_start() has programs started by the process at the other end of this socket,
 * see os/proc_starter.h. They get none of `cwd`, `envp`, `bound`, `raise_nofile`, `fds` and
 * `go_on` of their spec. This holds for the whole process; call it once, before there are threads.
 */
void proc_start_by(int socket);
/* Waits for the end of the process, but not for children that it leaves behind. Releases *proc.
 * *ret must be PROC_RESULT_INIT; the caller releases it with proc_result_free(). Fails with
 * MAS_TIMEOUT after the timeout and with MAS_FAILED if the output exceeds output_max; in both cases
 * the process is killed. */
int proc_finish(struct proc *proc, struct proc_result *ret, struct err *err);
void proc_result_free(struct proc_result *result);
#define _cleanup_result_ __attribute__((cleanup(proc_result_free)))
/* Runs a program to its end: proc_start() and proc_finish(). One that is `whole` has the variable
 * PROC_MARK, by which what it has started is found. */
#define PROC_MARK "MAS_PROCESS_MARK"
int proc_capture(const struct proc_spec *spec, struct proc_result *ret, struct err *err);
/* Like proc_finish() for several processes at the same time, each within its own time. errs[i] says
 * how number i has failed, MAS_OK if it has not. */
void proc_finish_all(struct proc *procs, size_t count, struct proc_result *results,
                     struct err *errs);
/* For a caller that reaps all of its children: returns true if `pid` was this process, whose status
 * proc_finish() then has from here. `status` is as from waitpid(). */
bool proc_take_end(struct proc *proc, pid_t pid, int status);
/* Extends the time limit up to `most_ms` from now, as long as the process or its partner is busy.
 * `present` is the partner's pid now; `partner` returns its pid later. */
void proc_be_patient(struct proc *proc, int most_ms, pid_t present,
                     pid_t (*partner)(const char *arg), const char *arg);
/* Returns a descriptor for proc_interrupt(), also after the process is released; the caller closes
 * it. -1: there is none. */
int proc_handle(const struct proc *proc);
/* Sends SIGINT, as Ctrl-C does, to this process and never to another one. */
void proc_interrupt(int handle);
/* Kills the process instead of waiting for its end. Releases *proc. */
void proc_abandon(struct proc *proc);

/* The same, but does not wait until it has ended, because it may hang on a disk that is gone. This
 * process reaps it later, or ends. */
void proc_leave(struct proc *proc);

/* Runs a program with the standard files of this process, as a shell runs one in the foreground,
 * and waits for its end. *ret_status is the exit code, or 128 + signal. */
int proc_run(const char *file, char *const *argv, int *ret_status, struct err *err);

/* A program that acts for this one. */
struct proc_tied {
    const char *file;
    char *const *argv;
    char *const *envp; /* NULL: the environment of this process */
    /* Gets what it prints, in pieces, while that descriptor of this process, `to`, has room for
     * them: STDOUT_FILENO or STDERR_FILENO. Of what is there of both, it gets the former first.
     * NULL: it prints by itself. Returns -1 with *err set if nothing more is wanted there. */
    int (*take)(int to, const char *bytes, size_t len, void *arg, struct err *err);
    /* Returns how long it may print nothing on standard output, in ms, as things are; -1: any time.
     * NULL: any time. */
    int (*patience)(void *arg);
    void *arg;
};

/* Likewise, for such a program: signals that ask this process to end go to the program, which also
 * gets SIGINT if this process is killed. *ret_signal is the first of these signals, 0 if none came.
 * Fails if it cannot be started, or if `take` has failed; with MAS_TIMEOUT if it has printed
 * nothing for too long, after it was ended. */
int proc_run_tied(const struct proc_tied *tied, int *ret_status, int *ret_signal, struct err *err);

/* Replaces this process with a program; returns only on failure. */
int proc_exec(const char *file, char *const *argv, char *const *envp, struct err *err);

/* fork(), for a child that continues in this program. */
pid_t proc_fork(void);

/* A descriptor that becomes readable when a process ends, so that it cannot be mistaken for another
 * one; -1 with errno. */
int proc_open(pid_t pid);
/* Kills the process that is open there. */
void proc_kill(int end_fd);

/* What this process says of itself. */
void proc_set_name(const char *name); /* at most 15 bytes */
void proc_end_with_parent(int sig); /* gets this signal when its parent ends */
void proc_adopt_orphans(void); /* becomes the parent of descendants that lose theirs */
void proc_gain_nothing(void); /* no exec gives it more rights than it has */
/* Closes the descriptors from `first` to `last`, and from `first` on. */
void proc_close_range(unsigned first, unsigned last);
void proc_close_from(unsigned first);

/* What holds the resources of a program and of everything that it starts. */
struct proc_bounds {
    int group; /* the directory of the cgroup that it enters; -1: none */
    bool must_enter; /* it does not start if it cannot */
    bool group_holds_memory, group_holds_tasks; /* so that these are not needed in it: */
    uint64_t data; /* bytes of memory of each process (RLIMIT_DATA); 0: as this process */
    uint64_t tasks; /* processes and threads of the user (RLIMIT_NPROC); likewise */
    int oom_score; /* how much sooner than this process the kernel kills it for memory: 0 to 1000 */
    int refused; /* set: why it did not enter the group (errno); 0: it did */
};

#define PROC_BOUNDS_INIT                                                                           \
    {                                                                                              \
        .group = -1                                                                                \
    }

/* A program that leads a new session. */
struct proc_session {
    const int *fds; /* its descriptors 0, 1, 2, ...; it inherits no other */
    size_t fd_count; /* 3 to 3 + PROC_FDS_MAX */
    bool takes_tty; /* descriptor 0 becomes its controlling terminal */
    bool is_deaf; /* it ignores what terminals and `kill` send; see src/enter/main.c */
    const char *file;
    char *const *argv, *const *envp;
    struct proc_bounds *bounds; /* NULL: none */
};
/* Starts it. Returns its pid once it runs, or -1 with errno, also that of a failed exec. */
pid_t proc_start_session(const struct proc_session *spec);
/* Starts it and waits for its end. *ret_status is the exit code, or 128 + signal. */
int proc_run_session(const struct proc_session *spec, int *ret_status, struct err *err);
/* In a child that goes on in this program: its descriptors 0, 1, 2, ... become `fds` and all others
 * are closed; signals are as for a new program. SIGIO ends this process when number `watched` of
 * them hangs up. Returns -1 with errno. */
int proc_go_on(const int *fds, size_t count, int watched);
/* Starts a program with the standard files of this process, in the directory `dir` (NULL: where
 * this process is). It gets SIGHUP when this process ends, however that happens. Returns the pid of
 * the child, or -1 with errno. */
pid_t proc_start_here(const char *file, char *const *argv, char *const *envp, const char *dir);

/* Identifies a process in /proc: a reused pid has another start time. */
struct proc_id {
    pid_t pid;
    uint64_t start; /* clock ticks after boot */
};

/* Selects processes of this user by their environment, as it was at their exec. */
struct proc_query {
    const char *entry; /* the environment has exactly this entry, e.g. "MAS_SESSION_ID=..." */
    const char *key; /* and the value of this variable ("" if missing) ... */
    bool (*accepts)(const char *value, void *arg); /* ... is accepted by this function */
    void *arg;
    bool with_ancestors; /* include the ancestors of this process */
};

/*
 * Lists the selected processes; threads are not counted. Leaves out this process, tmux servers, and
 * everything that runs in those servers. The caller frees *ret. Fails if /proc cannot be read,
 * because an empty list would not mean that there are no such processes.
 */
int proc_find_by_env(const struct proc_query *query, struct proc_id **ret, size_t *ret_count,
                     struct err *err);
/* Kills all processes whose environment has the variable `key` with this value, also those that
 * they start meanwhile, and waits for their end, at most timeout_ms. They may have left their group
 * and their session. */
void proc_kill_marked(const char *key, const char *value, int timeout_ms);
/* Lists the distinct values of `key` in the environments of this user's processes, except those
 * that proc_find_by_env() leaves out. The caller releases *ret with strv_free(). Fails if /proc
 * cannot be read. */
int proc_env_values(const char *key, char ***ret, struct err *err);
/* Lists the living descendants of this process, without tmux servers, the `count` processes in
 * `spared` (0: nobody), and everything that runs below one of these. With PR_SET_CHILD_SUBREAPER
 * the descendants are all processes that this process has ever started, directly or indirectly.
 * Returns their number; the caller frees *ret. */
size_t proc_descendants(const pid_t *spared, size_t count, struct proc_id **ret);
/* The same for the descendants of another process, none of which are spared. */
size_t proc_descendants_of(pid_t pid, struct proc_id **ret);
/* A process in a tree. */
struct proc_in_tree {
    struct proc_id id;
    int depth; /* 0: a child of this process */
    bool stopped; /* by a signal, or by a debugger */
};
/* Lists all living descendants of this process, also tmux servers and what runs in them; each
 * process comes before its children. The caller frees *ret. */
size_t proc_tree(struct proc_in_tree **ret);
/* Returns true if the process is stopped, as above, or gone. */
bool proc_is_stopped(const struct proc_id *id);
/* Returns the CPU time that a process has used, in clock ticks; 0 if it is gone. */
uint64_t proc_cpu(pid_t pid);
/* What a process and its descendants have used and use. */
struct proc_usage {
    uint64_t cpu_ms; /* also of children that have ended */
    uint64_t memory; /* resident bytes; what several share counts for each */
    uint64_t processes;
};
/* Measures the descendants of a process, without its children themselves: of a host, these are
 * supervisors and helpers. Returns false if the kernel does not list children. */
bool proc_measure(pid_t pid, struct proc_usage *ret);
/* Returns how many children the main thread of a process has; -1: unknown. */
int proc_count_children(pid_t pid);
/* Returns how many descriptors a process has open; 0: unknown. */
size_t proc_count_files(pid_t pid);
/* Returns the path of its program, or NULL. The caller frees it. */
char *proc_program(pid_t pid);
/* Returns how many processes and threads this user has; 0: unknown. */
uint64_t proc_count_tasks(void);
/* Returns true if the process runs the same program file as this process. */
bool proc_runs_same_program(pid_t pid);
/* Returns true if the process visibly waits in read(2) on its standard input. */
bool proc_is_reading(pid_t pid);
enum { PROC_NAME_TEXT = 64 };
/* Returns the name of a process, written to `buf`; "?" if it is gone. The kernel keeps 15 bytes of
 * it; the rest comes from the command line, where that has it. Any process may choose its name. */
const char *proc_name(pid_t pid, char buf[PROC_NAME_TEXT]);
/* Returns true for this process, its parent, and so on. */
bool proc_is_ancestor(pid_t pid);
/* A process in a chain of parents. */
struct proc_above {
    pid_t pid;
    char name[20]; /* the kernel's name of it */
};
/* Lists the process, its parent, and so on, nearest first. Each entry was the parent of the one
 * before it while both lived. The list ends early at a parent that mas may not inspect because it
 * belongs to another user. Returns -1 if the process has ended or its parents change too fast. The
 * caller frees *ret. */
int proc_lineage(const struct proc_id *id, struct proc_above **ret, size_t *ret_count);
/* Returns true if the environment that the process was started with contains exactly this entry. */
bool proc_has_entry(pid_t pid, const char *entry);
/* Returns the pid of a process of this user whose working directory is `path` or below it, other
 * than this process and its ancestors; 0: there is none. `name` may be NULL: any program. */
pid_t proc_working_below(const char *path, const char *name);
/* Returns the pid of a process of this user that has this file open; 0: there is none. */
pid_t proc_with_file(dev_t dev, ino_t ino);
/* Returns the paths of the files that the process has open, as it sees them; NULL: none is known.
 * The caller releases the vector. */
char **proc_open_files(pid_t pid);
/* Lets the kernel end this process for memory sooner than the one that started it: 0 to 1000. */
void proc_raise_oom_score(int more);
/* Returns true if the process, of this user, has the socket with this inode open. */
bool proc_has_socket(pid_t pid, ino_t inode);
/* Returns argument number `index` of the process, or NULL if it has none or is gone. The caller
 * frees it. */
char *proc_argument(pid_t pid, size_t index);
/* Returns true while the process exists and is not a zombie. */
bool proc_is_alive(const struct proc_id *id);
/* Sets *ret to the identity of a running pid; returns false if there is no such process. */
bool proc_identify(pid_t pid, struct proc_id *ret);
/* Sends a signal to exactly this process, never to another one that has reused its pid. */
void proc_signal(const struct proc_id *id, int sig);
/* Waits until all of them are gone or timeout_ms (-1: no limit) have passed. Returns how many still
 * live. */
size_t proc_wait_gone(const struct proc_id *ids, size_t count, int timeout_ms);

/* Raises the soft limit of open descriptors to the hard limit unless it is at least `enough`. */
void proc_raise_files(size_t enough);
