#include "base/err.h"
#include "base/str.h"
#include "cmd.h"
#include "cmd/brokered.h"
#include "cmd/suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* Parses the global options before the verb. Returns the index of the first other word, or -1
 * with *err set. */
static int parse_globals(int argc, char **argv, const char **root, const char **verb,
                         struct err *err)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--root") == 0) {
            if (i + 1 == argc)
                return err_set(err, MAS_USAGE, "cannot run 'mas': option '--root' needs a value");
            *root = argv[++i];
        } else if (str_starts(argv[i], "--root=")) {
            *root = argv[i] + strlen("--root=");
        } else if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            *verb = "help";
        } else if (strcmp(argv[i], "-V") == 0 || strcmp(argv[i], "--version") == 0) {
            *verb = "version";
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
    const char *root = NULL;
    const char *verb = NULL;
    int i = parse_globals(argc, argv, &root, &verb, err);

    if (i == -1)
        return -1;
    if (verb == NULL)
        verb = i < argc ? argv[i] : "list";
    const struct cmd *cmd = cmd_find(verb);
    if (cmd == NULL) {
        (void)err_set(err, MAS_USAGE, "cannot run '%s': there is no such command", verb);
        const char *meant = suggest_command(verb);
        return meant != NULL
                   ? err_hint(err, "did you mean: mas %s  (all commands: mas help)", meant)
                   : err_hint(err, "see: mas help");
    }
    if (brokered_wanted(cmd))
        return brokered_ask(cmd, argc - i, argv + i, root, ret_code, err);
    if (i >= argc || argv[i] != verb) /* no verb was typed */
        return cmd_run(cmd, 1, (char *[]){argv[0], NULL}, root, err);
    return cmd_run(cmd, argc - i, argv + i, root, err);
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    int code = MAS_OK;

    open_standard_files();
    (void)signal(SIGXFSZ, SIG_IGN); /* makes write() fail with EFBIG instead */
    int rc = run(argc, argv, &code, &err);
    return cmd_finish(rc, code, &err);
}
