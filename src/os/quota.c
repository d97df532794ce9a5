#include "os/quota.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/syscall.h>

#ifndef PRJQUOTA
#define PRJQUOTA 2
#endif

enum { UNIT = 1024 }; /* bytes; of a limit in struct dqblk */

int quota_number(int dir, uint32_t *ret)
{
    struct fsxattr attributes;

    if (ioctl(dir, FS_IOC_FSGETXATTR, &attributes) == -1)
        return -1;
    *ret = (attributes.fsx_xflags & FS_XFLAG_PROJINHERIT) != 0 ? attributes.fsx_projid : 0;
    return 0;
}

int quota_set_number(int dir, uint32_t number)
{
    struct fsxattr attributes;

    if (ioctl(dir, FS_IOC_FSGETXATTR, &attributes) == -1)
        return -1;
    attributes.fsx_projid = number;
    if (number != 0)
        attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
    else
        attributes.fsx_xflags &= ~(uint32_t)FS_XFLAG_PROJINHERIT;
    return ioctl(dir, FS_IOC_FSSETXATTR, &attributes);
}

static int call(int fd, unsigned command, uint32_t number, struct dqblk *block)
{
#ifdef SYS_quotactl_fd
    /* Unsigned, because QCMD() shifts a bit into the sign. */
    return (int)syscall(SYS_quotactl_fd, fd, QCMD(command, PRJQUOTA), number, block);
#else
    (void)fd, (void)command, (void)number, (void)block;
    errno = ENOSYS;
    return -1;
#endif
}

int quota_read(int fd, uint32_t number, struct quota_use *ret)
{
    struct dqblk block = {.dqb_valid = 0};

    /* XFS has no record of a number that was never used; without quotas it says something else */
    if (call(fd, Q_GETQUOTA, number, &block) == -1 && errno != ENOENT)
        return -1;
    *ret = (struct quota_use){.used = block.dqb_curspace,
                              .files = block.dqb_curinodes,
                              .limit = block.dqb_bhardlimit * UNIT};
    return 0;
}

int quota_limit(int fd, uint32_t number, uint64_t bytes)
{
    struct dqblk block = {.dqb_bhardlimit = bytes / UNIT + (bytes % UNIT != 0),
                          .dqb_valid = QIF_BLIMITS};

    return call(fd, Q_SETQUOTA, number, &block);
}
