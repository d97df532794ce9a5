#include "enter/probe.h"

#include "base/landlock.h"

#include <sys/prctl.h>

enum { MODE_FILTER = 2 }; /* SECCOMP_MODE_FILTER */

/* A kernel that takes filters looks for this one. */
static bool has_seccomp(void)
{
    return prctl(PR_SET_SECCOMP, MODE_FILTER, NULL) == -1 && errno == EFAULT;
}

int probe_print(void)
{
    return printf("landlock=%d\nseccomp=%s\n", landlock_abi(), has_seccomp() ? "yes" : "no") > 0 &&
                   fflush(stdout) == 0
               ? 0
               : -1;
}
