/*
 * Tells of the project quota of a directory, without mas's own code.
 *
 *   quota DIR
 *   quota DIR NUMBER
 *   quota DIR set NUMBER
 *
 * Prints the number that the directory has, what its files take on disk, and their limit, both in
 * bytes: "1828716544 4096 0". With a NUMBER, prints the same for this number on the directory's
 * file system; with `set`, gives the directory that number, or none if it is 0.
 */
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/syscall.h>

enum { DECIMAL = 10, PROJECT = 2, UNIT = 1024 };

static int fail(const char *what)
{
    perror(what);
    return 1;
}

int main(int argc, char **argv)
{
    struct fsxattr attributes;
    struct dqblk block;

    if (argc < 2)
        return 2;
    int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
    if (fd == -1 || ioctl(fd, FS_IOC_FSGETXATTR, &attributes) == -1)
        return fail(argv[1]);
    if (argc == 4) {
        attributes.fsx_projid = (uint32_t)strtoul(argv[3], NULL, DECIMAL);
        attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
        if (attributes.fsx_projid == 0)
            attributes.fsx_xflags &= ~(uint32_t)FS_XFLAG_PROJINHERIT;
        return ioctl(fd, FS_IOC_FSSETXATTR, &attributes) == -1 ? fail(argv[1]) : 0;
    }
    unsigned number = argc > 2 ? (unsigned)strtoul(argv[2], NULL, DECIMAL) : attributes.fsx_projid;
    if (syscall(SYS_quotactl_fd, fd, QCMD(Q_GETQUOTA, PROJECT), number, &block) == -1)
        return fail("quotactl_fd");
    (void)printf("%u %llu %llu\n", number, (unsigned long long)block.dqb_curspace,
                 (unsigned long long)block.dqb_bhardlimit * UNIT);
    return 0;
}
