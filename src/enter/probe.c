#include "enter/probe.h"

#include "base/proc.h"
#include "base/str.h"
#include "filter/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MODE_FILTER = 2 }; /* SECCOMP_MODE_FILTER */

/* A kernel that takes filters looks for this one. */
static bool has_seccomp(void)
{
    return prctl(PR_SET_SECCOMP, MODE_FILTER, NULL) == -1 && errno == EFAULT;
}

/* Returns the first character of a file of the kernel, '\0' if it has no such file. */
static char setting(const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    char c = '\0';

    return fd != -1 && read(fd, &c, 1) == 1 ? c : '\0';
}

/* Returns true if this process can make a user namespace and mount in it, in a child. AppArmor lets
 * it make one in which it may do nothing. */
static bool has_namespaces(void)
{
    int status;
    pid_t pid = proc_fork();

    if (pid == 0)
        _exit(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
                      mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0
                  ? 0
                  : 1);
    while (pid != -1 && waitpid(pid, &status, 0) == -1)
        if (errno != EINTR)
            return false;
    return pid != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static const char *namespaces(void)
{
    if (has_namespaces())
        return "yes";
    if (setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == '1')
        return "apparmor";
    if (setting("/proc/sys/kernel/unprivileged_userns_clone") == '0')
        return "unprivileged_userns_clone";
    if (setting("/proc/sys/user/max_user_namespaces") == '0')
        return "max_user_namespaces";
    return "no";
}

int probe_print(void)
{
    return printf("landlock=%d\nseccomp=%s\nuser-namespaces=%s\n", landlock_abi(),
                  has_seccomp() ? "yes" : "no", namespaces()) > 0 &&
                   fflush(stdout) == 0
               ? 0
               : -1;
}
