#include "enter/limits.h"

#include "base/number.h"
#include "base/str.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    __rlimit_resource_t resource;
} limits[] = {
    /* RLIMIT_AS would also count what a program only reserves, which is gigabytes for node. */
    {"memory", RLIMIT_DATA}, {"processes", RLIMIT_NPROC}, {"files", RLIMIT_NOFILE},
    {"core", RLIMIT_CORE},   {"file-size", RLIMIT_FSIZE}, {"cpu", RLIMIT_CPU},
};

int limit_set(const char *text, struct err *err)
{
    const char *equals = strchr(text, '=');
    size_t len = equals == NULL ? 0 : (size_t)(equals - text);
    size_t i = 0;
    uint64_t value;
    struct rlimit limit;

    while (i < ARRAY_LEN(limits) &&
           (strlen(limits[i].name) != len || strncmp(limits[i].name, text, len) != 0))
        i++;
    if (i == ARRAY_LEN(limits) || !number_parse_size(equals + 1, RLIM_INFINITY - 1, &value))
        return err_set(err, MAS_USAGE, "cannot set the limit '%s'", text);
    if (getrlimit(limits[i].resource, &limit) == -1)
        return err_errno(err, "cannot read the limit '%s'", limits[i].name);
    if (limit.rlim_max == RLIM_INFINITY || value < limit.rlim_max)
        limit.rlim_max = value;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(limits[i].resource, &limit) == 0
               ? 0
               : err_errno(err, "cannot set the limit '%s'", text);
}

int limit_capabilities(bool nested, struct err *err)
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
