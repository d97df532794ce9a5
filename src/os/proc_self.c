/* What proc.h says a process tells the kernel of itself, and processes that are held open. */
#include "os/proc.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

int proc_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

void proc_kill(int end_fd)
{
    (void)syscall(SYS_pidfd_send_signal, end_fd, SIGKILL, NULL, 0);
}

void proc_set_name(const char *name)
{
    (void)prctl(PR_SET_NAME, name);
}

void proc_end_with_parent(int sig)
{
    (void)prctl(PR_SET_PDEATHSIG, sig);
}

void proc_adopt_orphans(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void proc_gain_nothing(void)
{
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

void proc_close_range(unsigned first, unsigned last)
{
    (void)syscall(SYS_close_range, first, last, 0U);
}

void proc_close_from(unsigned first)
{
    proc_close_range(first, ~0U);
}
