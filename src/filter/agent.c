/*
 * What agents and their programs may not call; all else they may, because nobody knows what
 * programs need. Some calls are denied by name, others by bits of their arguments. A filter does
 * not see what is in memory: a call with its flags there is made to be missing, and callers take an
 * older one. Calls behind LAST_KNOWN are missing, too: compare the lists with a kernel before you
 * raise it.
 */

#include "filter/filter.h"

#include "filter/rules.h"

#include <linux/fs.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#ifndef F_SETDELEG
#define F_SETDELEG 1040 /* a lease of a file or a directory, Linux 6.19 */
#endif

/* They change the machine, or reach parts of the kernel that no program of a user needs. */
/* clang-format off */
static const char *const denied[] = {
    "acct", "add_key", "bpf", "clock_settime", "clock_settime64", "delete_module",
    "fanotify_init", "finit_module", "init_module", "ioperm", "iopl", "kexec_file_load",
    "kexec_load", "keyctl", "lookup_dcookie", "modify_ldt", "open_by_handle_at",
    "perf_event_open", "quotactl", "quotactl_fd", "reboot", "request_key", "settimeofday",
    "swapoff", "swapon", "syslog", "userfaultfd", "uselib", "vhangup",
};
/* Programs that miss these do without, or use older calls that have rules. */
static const char *const absent[] = {
    "io_uring_enter", "io_uring_register", "io_uring_setup",
    "file_setattr", /* of a quota, as FS_IOC_FSSETXATTR */
};
/* Mounts and namespaces. */
static const char *const mounting[] = {
    "mount", "pivot_root", "setns", "umount", "umount2",
};
static const char *const mounting_anew[] = {
    "fsconfig", "fsmount", "fsopen", "fspick", "mount_setattr", "move_mount", "open_tree",
    "open_tree_attr",
    "clone3", /* its flags are in memory, where no filter sees them; callers fall back to clone */
};
static const unsigned namespaces[] = {
    CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER,
    CLONE_NEWUTS,
};
/* clang-format on */

enum {
    LAST_KNOWN = 469, /* file_setattr (Linux 6.17): the lists were held against all up to it */
    FAMILY_END = 64, /* the kernel has fewer */
    PROTOCOL_END = 512, /* of IP; likewise */
    TYPE_MASK = 0xf, /* the rest of a socket's type is flags */
    TYPE_END = 16,
    ACCESS_MODE = 3, /* of open(); not O_ACCMODE, to which musl adds a bit */
    ACCESS_IOCTL = 3, /* the mode for ioctl() alone */
};

/* Denies all values of argument `which` of `call` from 0 to `end`, a power of 2, except those that
 * are listed. `other` is one more condition, or NULL. Takes as few rules as possible: one for each
 * aligned block in which no value is listed. */
static void deny_except(struct rules *rules, uint32_t action, const char *call, unsigned which,
                        const unsigned *allowed, size_t count, unsigned end,
                        const struct scmp_arg_cmp *other)
{
    for (unsigned at = 0, size; at < end; at += size) {
        size_t i = 0;
        while (i < count && allowed[i] != at)
            i++;
        size = 1;
        if (i < count)
            continue;
        for (bool fits = true; fits && at % (size * 2) == 0 && size * 2 < end;) {
            for (i = 0; i < count && fits; i++)
                fits = allowed[i] / (size * 2) != at / (size * 2);
            size *= fits ? 2 : 1;
        }
        struct scmp_arg_cmp both[2] = {RULE_BITS(which, 0xffffffffU & ~(size - 1), at)};
        if (other != NULL)
            both[1] = *other;
        rules_add(rules, action, call, both, other != NULL ? 2 : 1);
    }
}

static void deny_sockets(struct rules *rules, enum filter_network network)
{
    static const unsigned open[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    static const unsigned closed[] = {AF_UNIX, AF_NETLINK};
    static const unsigned stream[] = {SOCK_STREAM};
    static const unsigned tcp[] = {0, IPPROTO_TCP};
    static const unsigned route[] = {0}; /* NETLINK_ROUTE: the addresses of this machine */
    static const unsigned ip[] = {AF_INET, AF_INET6};
    const struct scmp_arg_cmp netlink = RULE_IS(0, AF_NETLINK);
    const uint32_t no_protocol = SCMP_ACT_ERRNO(EPROTONOSUPPORT);

    if (network == FILTER_NONE)
        deny_except(rules, SCMP_ACT_ERRNO(EAFNOSUPPORT), "socket", 0, closed, ARRAY_LEN(closed),
                    FAMILY_END, NULL);
    else
        deny_except(rules, SCMP_ACT_ERRNO(EAFNOSUPPORT), "socket", 0, open, ARRAY_LEN(open),
                    FAMILY_END, NULL);
    deny_except(rules, no_protocol, "socket", 2, route, ARRAY_LEN(route), FAMILY_END, &netlink);
    for (size_t i = 0; i < ARRAY_LEN(ip) && network != FILTER_NONE; i++) {
        const struct scmp_arg_cmp family = RULE_IS(0, ip[i]);
        const struct scmp_arg_cmp raw[] = {family, RULE_BITS(1, TYPE_MASK, SOCK_RAW)};
        const struct scmp_arg_cmp packet[] = {family, RULE_BITS(1, TYPE_MASK, SOCK_PACKET)};
        if (network == FILTER_TCP) {
            /* Landlock knows TCP alone, so that there must be nothing else. */
            deny_except(rules, no_protocol, "socket", 2, tcp, ARRAY_LEN(tcp), PROTOCOL_END,
                        &family);
            for (unsigned type = 0; type < TYPE_END; type++) {
                const struct scmp_arg_cmp both[] = {family, RULE_BITS(1, TYPE_MASK, type)};
                if (type != stream[0])
                    rules_add(rules, no_protocol, "socket", both, ARRAY_LEN(both));
            }
        } else {
            rules_add(rules, SCMP_ACT_ERRNO(EPERM), "socket", raw, ARRAY_LEN(raw));
            rules_add(rules, SCMP_ACT_ERRNO(EPERM), "socket", packet, ARRAY_LEN(packet));
        }
    }
    if (network != FILTER_TCP)
        return;
    /* It connects without asking Landlock. */
    const uint32_t not_here = SCMP_ACT_ERRNO(EOPNOTSUPP);
    rules_add_one(rules, not_here, "sendto", RULE_BITS(3, MSG_FASTOPEN, MSG_FASTOPEN));
    rules_add_one(rules, not_here, "sendmsg", RULE_BITS(2, MSG_FASTOPEN, MSG_FASTOPEN));
    rules_add_one(rules, not_here, "sendmmsg", RULE_BITS(3, MSG_FASTOPEN, MSG_FASTOPEN));
}

/* The first two type into a terminal that this process shares with others, or paste into a console.
 * The others take a file out of the quota of its session: what they set is in memory. */
static void deny_requests(struct rules *rules)
{
    static const unsigned requests[] = {TIOCSTI, TIOCLINUX, FS_IOC_FSSETXATTR, FS_IOC_SETFLAGS,
                                        FS_IOC32_SETFLAGS};

    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        rules_add_one(rules, SCMP_ACT_ERRNO(EPERM), "ioctl", RULE_IS(1, requests[i]));
}

/* A lease holds up whoever else opens the file, and a directory's notices are of the same kind: for
 * both it is enough to read the file, which may be one of the system or of the session. */
static void deny_leases(struct rules *rules)
{
    static const char *const calls[] = {"fcntl", "fcntl64"};
    static const unsigned commands[] = {F_SETLEASE, F_SETDELEG, F_NOTIFY};

    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        for (size_t j = 0; j < ARRAY_LEN(commands); j++)
            rules_add_one(rules, SCMP_ACT_ERRNO(EPERM), calls[i], RULE_IS(1, commands[j]));
}

static void deny_namespaces(struct rules *rules)
{
    rules_add_all(rules, SCMP_ACT_ERRNO(EPERM), mounting, ARRAY_LEN(mounting));
    rules_add_all(rules, SCMP_ACT_ERRNO(ENOSYS), mounting_anew, ARRAY_LEN(mounting_anew));
    for (size_t i = 0; i < ARRAY_LEN(namespaces); i++) {
        const struct scmp_arg_cmp flag = RULE_BITS(0, namespaces[i], namespaces[i]);
        rules_add_one(rules, SCMP_ACT_ERRNO(EPERM), "clone", flag);
        rules_add_one(rules, SCMP_ACT_ERRNO(EPERM), "unshare", flag);
    }
    /* For clone(), this bit is part of a signal's number. */
    rules_add_one(rules, SCMP_ACT_ERRNO(EPERM), "unshare",
                  RULE_BITS(0, CLONE_NEWTIME, CLONE_NEWTIME));
}

/* Leaves ftruncate() and opening to write, which Landlock held since its first version. To cut a
 * file off, open() does not need the mode that writes: Landlock then asks for reading, or for
 * nothing. */
static void deny_truncation(struct rules *rules)
{
    static const unsigned modes[] = {O_RDONLY, ACCESS_IOCTL};
    const uint32_t no = SCMP_ACT_ERRNO(EPERM);

    rules_add(rules, no, "truncate", NULL, 0);
    rules_add(rules, no, "truncate64", NULL, 0);
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        const unsigned flags = O_TRUNC | modes[i];
        rules_add_one(rules, no, "open", RULE_BITS(1, O_TRUNC | ACCESS_MODE, flags));
        rules_add_one(rules, no, "openat", RULE_BITS(2, O_TRUNC | ACCESS_MODE, flags));
    }
    /* its flags are in memory, where no filter sees them; callers fall back to openat */
    rules_add(rules, SCMP_ACT_ERRNO(ENOSYS), "openat2", NULL, 0);
}

int filter_agent_load(const struct filter_agent *what, struct err *err)
{
    struct rules rules;

    rules_begin(&rules, SCMP_ACT_ALLOW);
    rules_know(&rules, LAST_KNOWN);
    rules_add_all(&rules, SCMP_ACT_ERRNO(EPERM), denied, ARRAY_LEN(denied));
    rules_add_all(&rules, SCMP_ACT_ERRNO(ENOSYS), absent, ARRAY_LEN(absent));
    if (!what->truncates)
        deny_truncation(&rules);
    if (!what->nested)
        deny_namespaces(&rules);
    deny_requests(&rules);
    deny_leases(&rules);
    deny_sockets(&rules, what->network);
    return rules_load(&rules, err);
}
