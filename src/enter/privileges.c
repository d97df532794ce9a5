#include "enter/privileges.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

int privileges_drop(bool nested, struct err *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};
    const uint32_t kept = nested ? 1U << CAP_SETFCAP : 0;

    for (unsigned long i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) != -1; i++)
        if (!nested || i != CAP_SETFCAP)
            (void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0); /* who may not do that gains none, either */
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capget, &header, sets) == -1)
        return err_errno(err, "cannot read capabilities");
    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        sets[i].permitted &= i == 0 ? kept : 0;
        sets[i].effective = sets[i].permitted;
        sets[i].inheritable = 0;
    }
    return syscall(SYS_capset, &header, sets) == 0 ? 0 : err_errno(err, "cannot drop capabilities");
}
