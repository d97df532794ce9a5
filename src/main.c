#include "base/suggest.h"
#include "cli/brokered.h"
#include "cli/remote/remote.h"
#include "cli/suggest.h"
#include "cmd.h"
#include "fleet/seal.h"
#include "git/git.h"
#include "model/remote.h"
#include "os/job.h"

#include <malloc.h>

enum { KEPT_MEMORY = 1 << 20 }; /* bytes that are free and not returned to the kernel */

/* Opens descriptors 0 to 2 if they are closed; otherwise the first file that mas opens would get
 * such a number. The substitute is read-only, so output to a closed descriptor is an error. */
static void open_standard_files(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd != -1 && fd <= STDERR_FILENO);
    if (fd != -1)
        (void)close(fd);
}

/* What is no name of a host does not get into a hint, which people may copy to their shell. */
static void check_reached_as(void)
{
    const char *name = getenv(ERR_REACHED_AS);

    if (name != NULL && !remote_is_name(name))
        (void)unsetenv(ERR_REACHED_AS);
}

struct globals {
    struct cmd_globals shared;
    const char *host; /* --host; NULL: not given */
    const char *verb; /* what stands for a verb */
};

/* Returns 1 and moves *at to the last word of the option `name` if it stands there; 0 if it does
 * not; -1 with *err set. */
static int parse_value(int argc, char **argv, int *at, const char *name, const char **ret,
                       struct err *err)
{
    size_t len = strlen(name);

    if (str_starts(argv[*at], name) && argv[*at][len] == '=') {
        *ret = argv[*at] + len + 1;
        return 1;
    }
    if (strcmp(argv[*at], name) != 0)
        return 0;
    if (*at + 1 == argc)
        return err_set(err, MAS_USAGE, "cannot run 'mas': option '%s' needs a value", name);
    *ret = argv[++*at];
    return 1;
}

/* Parses the global options before the verb. Returns the index of the first other word, or -1
 * with *err set. */
static int parse_globals(int argc, char **argv, struct globals *globals, struct err *err)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        int rc = parse_value(argc, argv, &i, "--root", &globals->shared.root, err);
        if (rc == 0)
            rc = parse_value(argc, argv, &i, "--host", &globals->host, err);
        if (rc == -1)
            return -1;
        if (rc == 1)
            continue;
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            globals->verb = "help";
        } else if (strcmp(argv[i], "--greet") == 0) {
            globals->shared.greet = true;
        } else if (strcmp(argv[i], "-V") == 0 || strcmp(argv[i], "--version") == 0) {
            globals->verb = "version";
        } else {
            (void)err_set(err, MAS_USAGE, "cannot run 'mas': there is no option '%s'", argv[i]);
            return err_hint(err, "see: mas help");
        }
    }
    return i;
}

/* *ret_code is the exit code of a command that ran elsewhere and has printed its own errors. */
static int run(int argc, char **argv, int *ret_code, struct err *err)
{
    struct globals globals = {.host = NULL};

    if (argc > 1 && str_starts(argv[1], SEAL_OPTION)) {
        char *text = argv[1] + strlen(SEAL_OPTION);
        argv[1] = argv[0];
        return seal_run(text, argv + 1, ret_code, err);
    }
    int i = parse_globals(argc, argv, &globals, err);

    if (i == -1)
        return -1;
    const char *verb = globals.verb != NULL ? globals.verb : i < argc ? argv[i] : "list";
    const struct cmd *cmd = cmd_find(verb);
    if (cmd == NULL) {
        (void)err_set(err, MAS_USAGE, "cannot run '%s': there is no such command", verb);
        const char *meant = suggest_command(verb);
        return meant != NULL
                   ? err_hint(err, SUGGEST_MEANT "mas %s  (all commands: mas help)", meant)
                   : err_hint(err, "see: mas help");
    }
    bool typed = i < argc && argv[i] == verb;
    char *alone[] = {(char *)(uintptr_t)verb, NULL};
    if (globals.host != NULL)
        return remote_run(globals.host, cmd, typed ? argv + i : alone, globals.shared.root,
                          ret_code, err);
    if (brokered_wanted(cmd))
        return brokered_ask(cmd, argc - i, argv + i, globals.shared.root, ret_code, err);
    return cmd_run(cmd, typed ? argc - i : 1, typed ? argv + i : alone, &globals.shared, ret_code,
                   err);
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    int code = MAS_OK;

    open_standard_files();
    check_reached_as();
    git_forget_caller();
    (void)signal(SIGXFSZ, SIG_IGN); /* makes write() fail with EFBIG instead */
    /* Otherwise a verb returns memory to the kernel and takes it back several times; host.c sets
     * what a process needs that stays. */
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_MEMORY);
    int rc = run(argc, argv, &code, &err);
    code = cmd_finish(rc, code, &err);
    job_drain_output();
    return code;
}
