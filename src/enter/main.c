/*
 * mas-wall [OPTION]... -- PROGRAM [ARGUMENT]...: puts a program behind the parts of a wall that a
 * process puts up for itself, and becomes that program. It stands between bubblewrap and an agent,
 * or alone where there are no user namespaces. `mas-wall --probe` prints what the kernel offers.
 *
 *     --read PATH, --write PATH, --device PATH   all that the program may reach of the files
 *     --network none|open|PORT                   no IP at all, or TCP to these ports of any host
 *     --tty                                      it takes its standard input as its terminal
 *     --keep FD                                  it gets this descriptor, too
 *     --init FD                                  mas-wall is PID 1, and tells this socket: init.h
 *     --environment FD                           it gets the variables that are read from there
 *     --nested                                   it may make namespaces; then no paths
 *     --require PART,...                         fail without: files, network, signals, sockets,
 * calls
 *
 * A part that the kernel does not have is left out unless it is required. The program gets the
 * standard descriptors alone, the default action of each signal, and no capabilities. If mas-wall
 * fails it prints one line and exits with 125; 126: PROGRAM cannot be run, 127: it is missing.
 */
#include "enter/init.h"
#include "enter/options.h"
#include "enter/privileges.h"
#include "os/file.h"
#include "os/landlock.h"
#include "os/path.h"
#include "os/proc.h"

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum {
    EXIT_OWN = 125,
    EXIT_CANNOT_RUN = 126,
    EXIT_MISSING = 127,
    ENVIRONMENT_MAX = 64 << 20, /* bytes; the kernel takes less */
};

enum { MODE_FILTER = 2 }; /* SECCOMP_MODE_FILTER */

/* A kernel that takes filters looks for this one. */
static bool has_seccomp(void)
{
    return prctl(PR_SET_SECCOMP, MODE_FILTER, NULL) == -1 && errno == EFAULT;
}

/* Prints what the kernel offers, as lines KEY=VALUE. Returns -1 if that fails. */
static int print_probe(void)
{
    return printf("landlock=%d\nseccomp=%s\n", landlock_abi(), has_seccomp() ? "yes" : "no") > 0 &&
                   fflush(stdout) == 0
               ? 0
               : -1;
}

static int fail(const struct err *err, int code)
{
    _cleanup_str_ struct str text = STR_INIT;

    str_add_visible(&text, err->text, strlen(err->text));
    (void)fprintf(stderr, "mas-wall: %s\n", str_text(&text));
    return code;
}

/* Runs the program. Of a script it may be the interpreter that is not there. */
static void run(const char *path, char *const *argv, struct err *err)
{
    (void)proc_exec(path, argv, NULL, err);
    int error = err->number;
    _cleanup_close_ int fd =
        error == ENOENT ? open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    _cleanup_strv_ char **words = fd != -1 ? path_read_interpreter(fd) : NULL;
    if (words == NULL)
        return;
    errno = error;
    (void)err_errno(err, "cannot run '%s': cannot find its interpreter '%s'", path, words[0]);
}

/* The programs of the wall around this one ignore the signals that would end them. */
static void reset_signals(void)
{
    sigset_t none;

    for (int i = 1; i < _NSIG; i++)
        (void)signal(i, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Leads a session, so that no signal to its group reaches the programs of the wall around it. They
 * have no terminal, either, so that no key does. */
static int lead_session(bool tty, struct err *err)
{
    (void)setsid(); /* it fails if this process leads one already */
    return !tty || ioctl(STDIN_FILENO, TIOCSCTTY, 0) == 0
               ? 0
               : err_errno(err, "cannot take the terminal");
}

/* Fails if the kernel lacks a part that is required; seccomp shows when its filter is loaded. */
static int check_parts(const struct entry_options *options, struct err *err)
{
    int abi = landlock_abi();
    const struct {
        unsigned part;
        int abi;
        const char *what;
    } parts[] = {
        {PART_FILES, LANDLOCK_FILES, "files"},
        {PART_NETWORK, options->filter.network == FILTER_TCP ? LANDLOCK_TCP : 0, "TCP ports"},
        {PART_SIGNALS, LANDLOCK_SCOPES, "signals"},
        {PART_SOCKETS, LANDLOCK_SCOPES, "abstract sockets"},
    };

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if ((options->required & parts[i].part) != 0 && abi < parts[i].abi)
            return err_set(err, MAS_FAILED,
                           "cannot restrict %s: that needs Landlock ABI %d, and this kernel has %d",
                           parts[i].what, parts[i].abi, abi);
    return 0;
}

static int enter(const struct entry_options *options, struct err *err)
{
    struct err ignored = ERR_INIT;

    if (check_parts(options, err) == -1 || lead_session(options->tty, err) == -1 ||
        privileges_drop(options->filter.nested, err) == -1)
        return -1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
        return err_errno(err, "cannot give up new privileges");
    if (landlock_enter(&options->landlock, err) == -1)
        return -1;
    /* A core goes to a program that runs outside, or to a directory that the machine chose. */
    if (setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) == -1)
        return err_errno(err, "cannot switch off cores");
    /* A filter that holds the network or is required has no substitute. */
    struct filter_agent filter = options->filter;
    filter.truncates = options->landlock.path_count == 0 || landlock_abi() >= LANDLOCK_TRUNCATE;
    bool must = (options->required & PART_CALLS) != 0 || options->filter.network != FILTER_OPEN;
    return filter_agent_load(&filter, must ? err : &ignored) == 0 || !must ? 0 : -1;
}

/* Makes the variables at a descriptor, each with its NUL, the environment of the program. They come
 * so late because they may be of an agent's choice, and mas-wall was started before it is held. */
static int take_environment(int fd, struct err *err)
{
    static char *none[] = {NULL};
    _cleanup_free_ char *text = NULL;
    char **env = NULL;
    size_t len = 0;

    if (file_read_stream(fd, "the environment", ENVIRONMENT_MAX, &text, &len, err) == -1)
        return -1;
    for (size_t at = 0; at < len; at += strlen(text + at) + 1)
        strv_push(&env, text + at);
    environ = env != NULL ? env : none; /* to the end of this process */
    return 0;
}

/* Closes all but the standard descriptors and `keep`, unless that is 0. */
static void close_others(int keep)
{
    unsigned next = STDERR_FILENO + 1;

    if (keep > STDERR_FILENO + 1)
        (void)syscall(SYS_close_range, next, (unsigned)keep - 1, 0U);
    (void)syscall(SYS_close_range, keep > 0 ? (unsigned)keep + 1 : next, ~0U, 0U);
}

int main(int argc, char **argv)
{
    struct entry_options options = {.probe = false};
    struct err err = ERR_INIT;

    int rc = options_parse(argc, argv, &options, &err);
    if (rc == 0 && options.probe) {
        rc = print_probe();
        options_free(&options);
        return rc == 0 ? 0 : EXIT_OWN;
    }
    if (rc == 0 && options.init > 0)
        rc = init_begin(options.init, &err);
    if (rc == 0 && options.environment > 0)
        rc = take_environment(options.environment, &err);
    reset_signals();
    _cleanup_free_ char *path =
        rc == 0 ? path_find_program(options.program[0], getenv("PATH"), AT_FDCWD) : NULL;
    if (rc == 0)
        rc = enter(&options, &err);
    close_others(options.keep); /* rules may have been for some of them */
    if (rc == 0 && path == NULL) {
        (void)err_set(&err, MAS_FAILED, "cannot find the program '%s'", options.program[0]);
        options_free(&options);
        return fail(&err, EXIT_MISSING);
    }
    if (rc == 0) {
        run(path, options.program, &err);
        options_free(&options);
        return fail(&err, err.number == ENOENT ? EXIT_MISSING : EXIT_CANNOT_RUN);
    }
    options_free(&options);
    return fail(&err, EXIT_OWN);
}
