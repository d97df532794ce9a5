#include "os/landlock.h"

#include <sys/syscall.h>

/* The header of the build may be older than the kernel of the machine. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

enum { ASK_VERSION = 1, RULE_PATH = 1, RULE_PORT = 2 };

struct ruleset {
    uint64_t files, ports, scopes;
};
struct path_rule {
    uint64_t access;
    int32_t parent;
} __attribute__((packed));
struct port_rule {
    uint64_t access, port;
};

/* clang-format off */
enum {
    EXECUTE     = 1 << 0,
    WRITE_FILE  = 1 << 1,
    READ_FILE   = 1 << 2,
    READ_DIR    = 1 << 3,
    REMOVE_DIR  = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_CHAR   = 1 << 6,
    MAKE_DIR    = 1 << 7,
    MAKE_REG    = 1 << 8,
    MAKE_SOCK   = 1 << 9,
    MAKE_FIFO   = 1 << 10,
    MAKE_BLOCK  = 1 << 11,
    MAKE_SYM    = 1 << 12,
    REFER       = 1 << 13,
    TRUNCATE    = 1 << 14,
    IOCTL_DEV   = 1 << 15,

    BIND_TCP    = 1 << 0,
    CONNECT_TCP = 1 << 1,

    SCOPE_ABSTRACT_SOCKET = 1 << 0,
    SCOPE_SIGNAL          = 1 << 1,
};
/* clang-format on */

enum {
    READS = EXECUTE | READ_FILE | READ_DIR,
    WRITES = READS | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK |
             MAKE_FIFO | MAKE_SYM | REFER | TRUNCATE,
    OF_FILES =
        EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV, /* others are of directories */
};

static const uint64_t access_of[] = {
    [ACCESS_READ] = READS,
    [ACCESS_WRITE] = WRITES,
    [ACCESS_DEVICE] = WRITES | IOCTL_DEV,
    [ACCESS_REMOVE] = REMOVE_FILE,
};

/* Returns the rights on files that an ABI knows. */
static uint64_t files_of(int abi)
{
    static const uint64_t last[] = {0, MAKE_SYM, REFER, TRUNCATE, TRUNCATE, IOCTL_DEV};
    size_t i = abi < 0 ? 0 : (size_t)abi;

    i = i < ARRAY_LEN(last) ? i : ARRAY_LEN(last) - 1;
    return last[i] == 0 ? 0 : last[i] * 2 - 1;
}

int landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);

    return abi < 0 ? 0 : (int)abi;
}

const char *landlock_gaps(int abi, bool filtered)
{
    if (abi >= LANDLOCK_SCOPES)
        return "";
    if (abi >= LANDLOCK_DEVICES)
        return "signals";
    if (abi >= LANDLOCK_TCP)
        return "signals and devices";
    if (abi >= LANDLOCK_TRUNCATE || filtered)
        return "signals, devices and TCP ports";
    return "signals, devices, TCP ports and truncation of files";
}

static int allow(int ruleset, int fd, enum landlock_access access, uint64_t known)
{
    struct path_rule rule = {.access = access_of[access] & known, .parent = fd};
    struct stat st;

    if (fstat(fd, &st) == -1)
        return -1;
    if (!S_ISDIR(st.st_mode))
        rule.access &= OF_FILES;
    return (int)syscall(SYS_landlock_add_rule, ruleset, RULE_PATH, &rule, 0);
}

static int allow_path(int ruleset, const struct landlock_path *path, uint64_t known,
                      struct err *err)
{
    if (path->path == NULL)
        return allow(ruleset, path->fd, path->access, known) == 0
                   ? 0
                   : err_errno(err, "cannot allow a directory by Landlock");
    _cleanup_close_ int fd = open(path->path, O_PATH | O_CLOEXEC);
    if (fd == -1 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    return fd != -1 && allow(ruleset, fd, path->access, known) == 0
               ? 0
               : err_errno(err, "cannot allow '%s' by Landlock", path->path);
}

int landlock_enter(const struct landlock *what, struct err *err)
{
    int abi = landlock_abi();
    const struct ruleset ruleset = {
        .files = what->path_count > 0 ? files_of(abi) : 0,
        .ports = what->tcp && abi >= LANDLOCK_TCP ? BIND_TCP | CONNECT_TCP : 0,
        .scopes = abi >= LANDLOCK_SCOPES ? SCOPE_ABSTRACT_SOCKET | SCOPE_SIGNAL : 0,
    };

    if (ruleset.files == 0 && ruleset.ports == 0 && ruleset.scopes == 0)
        return 0;
    _cleanup_close_ int fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof ruleset, 0);
    if (fd == -1)
        return err_errno(err, "cannot make rules of Landlock");
    for (size_t i = 0; i < what->path_count; i++)
        if (allow_path(fd, &what->paths[i], ruleset.files, err) == -1)
            return -1;
    for (size_t i = 0; i < what->port_count && ruleset.ports != 0; i++) {
        const struct port_rule rule = {.access = CONNECT_TCP, .port = what->ports[i]};
        if (syscall(SYS_landlock_add_rule, fd, RULE_PORT, &rule, 0) == -1)
            return err_errno(err, "cannot allow port %d by Landlock", what->ports[i]);
    }
    return syscall(SYS_landlock_restrict_self, fd, 0) == 0
               ? 0
               : err_errno(err, "cannot enter the rules of Landlock");
}
