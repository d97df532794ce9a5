/* How a child has ended, in the words of proc.h. */
#include "os/proc.h"

#include <sys/wait.h>

enum { BY_SIGNAL = 128 }; /* as shells tell of it */

int proc_await(pid_t pid, int *ret_status)
{
    while (waitpid(pid, ret_status, 0) == -1)
        if (errno != EINTR)
            return -1;
    return 0;
}

int proc_exit_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : BY_SIGNAL + WTERMSIG(status);
}

int proc_end_signal(int status)
{
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int proc_signal_of(int code)
{
    return code > BY_SIGNAL && code < BY_SIGNAL + NSIG ? code - BY_SIGNAL : 0;
}
