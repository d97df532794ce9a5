/*
 * The first part runs in the process that asks, the rest in the starter. That is one loop over the
 * requests, its children's ends and the channels of their askers; a program's number is not used
 * again before it is reaped here, so a signal never meets another process. It has no thread and no
 * state beyond the programs that run, and its end (its parent's, or of the socket) leaves them
 * alone.
 */

#include "os/proc_starter.h"

#include "os/loop.h"
#include "os/proc_internal.h"
#include "os/signals.h"
#include "os/sock.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ---- in the process that asks */

int proc_ask_starter(int socket, const struct proc_spec *spec, const int standard[3],
                     pid_t *ret_pid)
{
    _cleanup_str_ struct str request = STR_INIT;
    struct proc_starter_answer answer;
    int pair[2];
    ssize_t n;

    if (spec->go_on != NULL || spec->fd_count > 0) {
        errno = ENOTSUP;
        return -1;
    }
    str_addn(&request, spec->file, strlen(spec->file) + 1);
    for (char *const *word = spec->argv; *word != NULL; word++)
        str_addn(&request, *word, strlen(*word) + 1);
    if (request.len > PROC_STARTER_REQUEST_MAX) {
        errno = E2BIG;
        return -1;
    }
    if (sock_pair(pair) == -1)
        return -1;
    int rc =
        sock_send_files(socket, request.data, request.len,
                        (int[]){standard[0], standard[1], standard[2], pair[1]}, PROC_STARTER_FDS);
    int saved = errno;
    (void)close(pair[1]);
    do
        n = rc == -1 ? -1 : sock_receive_message(pair[0], &answer, sizeof answer, 0);
    while (rc == 0 && n == -1 && errno == EINTR);
    if (n == (ssize_t)sizeof answer && answer.error == 0) {
        *ret_pid = answer.value;
        return pair[0];
    }
    (void)close(pair[0]);
    errno = n == (ssize_t)sizeof answer ? answer.error : rc == -1 ? saved : ESRCH;
    return -1;
}

int proc_ask_status(int answers, int *ret_status)
{
    struct proc_starter_answer answer;
    ssize_t n;

    do
        n = sock_receive_message(answers, &answer, sizeof answer, 0);
    while (n == -1 && errno == EINTR);
    if (n != (ssize_t)sizeof answer)
        return -1;
    *ret_status = answer.value;
    return 0;
}

/* ---- the starter */

/* A program that runs. */
struct started {
    pid_t pid;
    int answers; /* -1: nobody waits for it any more */
};

struct starter_state {
    const struct proc_starter *starter;
    int requests, signals;
    struct started programs[PROC_STARTER_PROGRAMS_MAX];
    size_t count;
    char request[PROC_STARTER_REQUEST_MAX + 1]; /* a longer one is cut off there */
};

static void answer(int fd, int error, int value)
{
    const struct proc_starter_answer is = {.error = error, .value = value};

    (void)send(fd, &is, sizeof is, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Splits a request into its words. Returns false if it is none. */
static bool parse(char *text, size_t len, char *words[PROC_STARTER_WORDS_MAX + 1])
{
    size_t count = 0;

    if (len == 0 || len > PROC_STARTER_REQUEST_MAX || text[len - 1] != '\0')
        return false;
    for (size_t at = 0; at < len; at += strlen(text + at) + 1) {
        if (count == PROC_STARTER_WORDS_MAX)
            return false;
        words[count++] = text + at;
    }
    words[count] = NULL;
    return count >= 2; /* a path, and the name of the program */
}

/* Starts what was asked for. Returns its pid, or -1 with errno. */
static pid_t start(struct starter_state *state, size_t len, const int *fds)
{
    char *words[PROC_STARTER_WORDS_MAX + 1];
    struct proc_spec spec = {.cwd = -1};

    errno = EPERM;
    if (!parse(state->request, len, words))
        return -1;
    spec.file = words[0];
    spec.argv = words + 1;
    if (!state->starter->accepts(&spec, state->starter->arg)) {
        errno = EPERM;
        return -1;
    }
    return proc_fork_into(&spec, fds);
}

static void take_request(struct starter_state *state)
{
    int fds[SOCK_FILES_MAX];
    size_t count;
    ssize_t n = sock_receive_files(state->requests, state->request, sizeof state->request, fds,
                                   ARRAY_LEN(fds), &count);

    if (n == 0)
        _exit(0); /* the process that asks has ended */
    if (n > 0 && count == PROC_STARTER_FDS) {
        pid_t pid = start(state, (size_t)n, fds);
        answer(fds[PROC_STARTER_ANSWERS], pid == -1 ? errno : 0, pid);
        if (pid != -1) {
            state->programs[state->count++] = (struct started){pid, fds[PROC_STARTER_ANSWERS]};
            count--; /* this one is kept */
        }
    }
    while (count > 0)
        (void)close(fds[--count]);
}

static void take_signal(struct started *program)
{
    int sig;
    ssize_t n = recv(program->answers, &sig, sizeof sig, MSG_DONTWAIT);

    if (n == (ssize_t)sizeof sig && (sig == SIGINT || sig == SIGKILL))
        (void)kill(program->pid, sig); /* it is not reaped yet, so the number is its own */
    else if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR))
        fd_closep(&program->answers);
}

static void reap(struct starter_state *state)
{
    int status;
    pid_t pid;

    while (signals_next(state->signals) != 0)
        ;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        size_t i = 0;
        while (i < state->count && state->programs[i].pid != pid)
            i++;
        if (i == state->count)
            continue;
        if (state->programs[i].answers != -1)
            answer(state->programs[i].answers, 0, status);
        fd_closep(&state->programs[i].answers);
        state->programs[i] = state->programs[--state->count];
    }
}

__attribute__((noreturn)) static void run(struct starter_state *state)
{
    struct loop loop = LOOP_INIT;

    for (;;) {
        loop_begin(&loop);
        loop_want(&loop, state->signals, POLLIN);
        if (state->count < PROC_STARTER_PROGRAMS_MAX)
            loop_want(&loop, state->requests, POLLIN);
        for (size_t i = 0; i < state->count; i++)
            loop_want(&loop, state->programs[i].answers, POLLIN);
        if (loop_wait(&loop, -1) == -1)
            _exit(1);
        for (size_t i = 0; i < state->count; i++)
            if (loop_got(&loop, state->programs[i].answers) != 0)
                take_signal(&state->programs[i]);
        if (loop_got(&loop, state->signals) != 0)
            reap(state);
        if (loop_got(&loop, state->requests) != 0)
            take_request(state);
    }
}

/* Closes all descriptors but standard error and those that are named; the other standard files
 * become /dev/null. */
static int keep_only(const struct proc_starter *starter, int socket)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int kept[PROC_STARTER_KEEP_MAX + 1];
    size_t count = 0;

    if (null == -1 || dup2(null, STDIN_FILENO) == -1 || dup2(null, STDOUT_FILENO) == -1)
        return -1;
    kept[count++] = socket;
    for (size_t i = 0; i < starter->keep_count; i++)
        kept[count++] = starter->keep[i];
    for (int next = STDERR_FILENO + 1;;) {
        int least = -1; /* of those that are kept, from `next` on */
        for (size_t i = 0; i < count; i++)
            if (kept[i] >= next && (least == -1 || kept[i] < least))
                least = kept[i];
        unsigned last = least == -1 ? ~0U : (unsigned)least - 1;
        if (least != next && syscall(SYS_close_range, (unsigned)next, last, 0U) == -1)
            return -1;
        if (least == -1)
            return 0;
        next = least + 1;
    }
}

/* In the child. */
__attribute__((noreturn)) static void become_starter(const struct proc_starter *starter, int socket,
                                                     pid_t parent)
{
    struct starter_state *state = mem_alloc(sizeof *state);
    sigset_t set;

    proc_end_with_parent(SIGKILL);
    proc_set_name(starter->name);
    /* So that no process of this user can write into its memory; an exec ends that. */
    (void)prctl(PR_SET_DUMPABLE, 0);
    /* What asks the other process to end is not for this one, which ends with it. */
    (void)sigfillset(&set);
    (void)sigprocmask(SIG_SETMASK, &set, NULL);
    (void)signal(SIGCHLD, SIG_DFL);
    if (getppid() != parent || keep_only(starter, socket) == -1 ||
        fcntl(socket, F_SETFL, O_NONBLOCK) == -1)
        _exit(1);
    *state = (struct starter_state){
        .starter = starter, .requests = socket, .signals = signals_open((const int[]){SIGCHLD, 0})};
    if (state->signals == -1)
        _exit(1);
    run(state);
}

int proc_starter_fork(struct proc_starter *starter, struct err *err)
{
    pid_t parent = getpid();
    int pair[2];

    starter->pid = 0;
    starter->socket = -1;
    if (sock_pair(pair) == -1)
        return err_errno(err, "cannot make a process that starts programs");
    pid_t pid = proc_fork();
    if (pid == 0)
        become_starter(starter, pair[1], parent);
    int saved = errno;
    (void)close(pair[1]);
    if (pid == -1) {
        (void)close(pair[0]);
        errno = saved;
        return err_errno(err, "cannot make a process that starts programs");
    }
    starter->pid = pid;
    starter->socket = pair[0];
    return 0;
}

void proc_starter_end(struct proc_starter *starter)
{
    if (starter->pid <= 0)
        return;
    fd_closep(&starter->socket);
    (void)proc_await(starter->pid, NULL);
    starter->pid = 0;
}
