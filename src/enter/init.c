#include "enter/init.h"

#include "enter/privileges.h"
#include "os/proc.h"
#include "wall/told.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { EXIT_LOST = 125 };

/* This process has less to hold it than the programs behind the wall, so that it keeps nothing that
 * would be of use to them. */
static void give_up(int fd)
{
    struct err ignored = ERR_INIT;

    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)privileges_drop(false, &ignored);
    if (fd > 0)
        (void)syscall(SYS_close_range, 0U, (unsigned)fd - 1, 0U);
    (void)syscall(SYS_close_range, (unsigned)fd + 1, ~0U, 0U);
}

__attribute__((noreturn)) static void serve(int fd, pid_t program)
{
    pid_t pid;
    int status;

    give_up(fd);
    while ((pid = waitpid(-1, &status, 0)) != program)
        if (pid == -1 && errno != EINTR)
            _exit(EXIT_LOST);
    told_send(fd, WALL_ENDED, status);
    _exit(proc_exit_code(status));
}

int init_begin(int fd, struct err *err)
{
    (void)signal(SIGCHLD, SIG_DFL);
    /* The programs may look at this process as at one of theirs, but not into it, from the very
     * first. An exec takes this back, for them. */
    (void)prctl(PR_SET_DUMPABLE, 0);
    pid_t pid = proc_fork();
    if (pid == -1)
        return err_errno(err, "cannot fork");
    if (pid != 0)
        serve(fd, pid);
    told_send(fd, WALL_STARTS, 0);
    (void)close(fd);
    return 0;
}
