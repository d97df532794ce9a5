/*
 * Everything here is a file of the kernel: a limit that it does not take is not among what the
 * group holds, and a group in which something runs cannot be removed. So nothing is recorded
 * anywhere else. A host has a shared lock on the group of its agent as long as it lives; a group on
 * which an exclusive one can be had, and in which nothing runs, was left.
 */

#include "wall/cgroup.h"

#include "base/id.h"
#include "base/time.h"
#include "os/file.h"
#include "os/loop.h"
#include "os/path.h"

#include <linux/magic.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

enum {
    TEXT_MAX = 64 * 1024, /* of a file of a group */
    PIDS_MAX = 1 << 20, /* bytes of cgroup.procs */
    PARTS_MAX = 1000,
    CPU_PERIOD_US = 100000,
    FREEZE_LOOK_MS = 5,
    HOLD_TRIES = 3,
};

#define OWN_GROUP "/proc/self/cgroup"
#define OWN_PART "mas" /* in a scope, for the host itself */

/* ---- the files of a group */

/* Reads a file of a group; NULL if that is not possible. The caller frees it. */
static char *read_text(int dir, const char *name, size_t max)
{
    _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct err ignored = ERR_INIT;
    char *text = NULL;
    size_t len = 0;

    return fd != -1 && file_read_stream(fd, name, max, &text, &len, &ignored) == 0 ? text : NULL;
}

static bool write_text(int dir, const char *name, const char *text)
{
    _cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = -1;

    while (fd != -1 && (n = write(fd, text, strlen(text))) == -1 && errno == EINTR)
        ;
    return n != -1;
}

static bool parse_number(const char *text, int64_t *ret)
{
    char *end = NULL;

    if (text == NULL || *text < '0' || *text > '9')
        return false;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (errno != 0 || (*end != '\0' && *end != '\n'))
        return false;
    *ret = n;
    return true;
}

/* Returns the number in a line "key number" of a file; -1: there is none. */
static int64_t read_key(int dir, const char *name, const char *key)
{
    _cleanup_free_ char *text = read_text(dir, name, TEXT_MAX);
    size_t len = strlen(key);
    int64_t n = -1;

    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, key, len) == 0 && line[len] == ' ' && parse_number(line + len + 1, &n))
            return n;
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return -1;
}

static int64_t read_number(int dir, const char *name)
{
    _cleanup_free_ char *text = read_text(dir, name, TEXT_MAX);
    int64_t n = -1;

    return parse_number(text, &n) ? n : -1;
}

/* Opens a group below another one, and makes it if it is missing. */
static int make_group(int parent, const char *name)
{
    if (mkdirat(parent, name, 0755) == -1 && errno != EEXIST)
        return -1;
    return path_open_dir(parent, name);
}

/* Makes and opens the group of an agent, and holds it so that nobody takes it for one that is left.
 */
static int hold_group(int parent, const char *name)
{
    int fd = make_group(parent, name);

    for (int i = 0; fd != -1 && i < HOLD_TRIES; i++) {
        (void)flock(fd, LOCK_SH | LOCK_NB);
        if (faccessat(fd, "cgroup.procs", F_OK, 0) == 0)
            break;
        (void)close(fd); /* it was removed before it was held */
        fd = make_group(parent, name);
    }
    return fd;
}

/* ---- where groups may be */

static bool is_cgroup(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

/* Opens a path if it is a cgroup of version 2; else -1 with errno, 0: it is something else. */
static int open_group(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd == -1 || is_cgroup(fd))
        return fd;
    (void)close(fd);
    errno = 0;
    return -1;
}

char *cgroup_own_path(void)
{
    _cleanup_free_ char *text = read_text(AT_FDCWD, OWN_GROUP, TEXT_MAX);
    const char *line = text;

    while (line != NULL && !str_starts(line, "0::/")) {
        line = strchr(line, '\n');
        line += line != NULL;
    }
    if (line == NULL)
        return NULL;
    line += 3;
    char *path = mem_dupn(line, strcspn(line, "\n"));
    if (strstr(path, "/..") == NULL)
        return path;
    free(path); /* the group is outside of what this process sees */
    return NULL;
}

/* Returns true if systemd has handed the group over to the user, with all below it. */
static bool is_delegated(int fd)
{
    static const char *const names[] = {"user.delegate", "trusted.delegate"};
    char value[8];

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (fgetxattr(fd, names[i], value, sizeof value) == 1 && value[0] == '1')
            return true;
    return false;
}

/* Returns true for the group of a user's systemd manager, which is that manager's alone. */
static bool is_of_manager(const char *path)
{
    const char *name = strrchr(path, '/');
    size_t len = strlen(path);
    static const char end[] = ".service";

    return name != NULL && str_starts(name, "/user@") && len > strlen(end) &&
           strcmp(path + len - strlen(end), end) == 0;
}

/* Opens the group at a path in the hierarchy; -1: that is not possible. */
static int open_in_hierarchy(const char *path)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    int fd = -1;

    for (size_t i = 0; i < ARRAY_LEN(mounts) && fd == -1; i++) {
        _cleanup_free_ char *full = mem_printf("%s%s", mounts[i], path);
        fd = open_group(full);
    }
    return fd;
}

/* Opens the nearest group around this process that is delegated; -1: there is none. */
static int open_delegated(void)
{
    _cleanup_free_ char *path = cgroup_own_path();
    char *slash;

    while (path != NULL && (slash = strrchr(path, '/')) != NULL && !is_of_manager(path)) {
        int fd = open_in_hierarchy(path);
        if (fd != -1 && is_delegated(fd))
            return fd;
        if (fd != -1)
            (void)close(fd);
        *slash = '\0';
    }
    return -1;
}

int cgroup_find(const char *setting, int *ret_parent, struct err *err)
{
    if (strcmp(setting, "no") == 0)
        return err_set(err, MAS_FAILED, "limits.cgroup is 'no'");
    if (strcmp(setting, "auto") == 0) {
        int fd = open_delegated();
        if (fd == -1)
            return err_set(err, MAS_FAILED, "no cgroup of version 2 is delegated to this user");
        *ret_parent = fd;
        return 0;
    }
    int fd = open_group(setting);
    if (fd == -1)
        return errno != 0 ? err_errno(err, "cannot open the cgroup '%s'", setting)
                          : err_set(err, MAS_FAILED, "'%s' is not a cgroup of version 2", setting);
    *ret_parent = fd;
    return 0;
}

unsigned cgroup_offers(int parent)
{
    static const struct {
        const char *word;
        unsigned limit;
    } controllers[] = {{"memory", CGROUP_MEMORY}, {"cpu", CGROUP_CPUS}, {"pids", CGROUP_PROCESSES}};
    _cleanup_free_ char *text = read_text(parent, "cgroup.controllers", TEXT_MAX);
    unsigned offers = 0;
    char *rest = NULL;

    for (char *word = text != NULL ? strtok_r(text, " \n", &rest) : NULL; word != NULL;
         word = strtok_r(NULL, " \n", &rest))
        for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
            offers |= strcmp(word, controllers[i].word) == 0 ? controllers[i].limit : 0U;
    return offers;
}

const char *cgroup_limit_name(unsigned limits)
{
    return (limits & CGROUP_MEMORY) != 0 ? "memory"
           : (limits & CGROUP_CPUS) != 0 ? "cpus"
                                         : "processes";
}

int cgroup_step_down(int *ret_parent, struct err *err)
{
    _cleanup_free_ char *path = cgroup_own_path();
    int fd = path != NULL ? open_in_hierarchy(path) : -1;

    if (fd == -1)
        return err_set(err, MAS_FAILED, "the cgroup of mas cannot be opened");
    _cleanup_close_ int own = make_group(fd, OWN_PART);
    if (own == -1 || !write_text(own, "cgroup.procs", "0")) {
        (void)err_errno(err, "cannot make a cgroup for mas");
        (void)close(fd);
        return -1;
    }
    *ret_parent = fd;
    return 0;
}

/* ---- the group of an agent */

struct cgroup_limits cgroup_limits_of(const struct limits_held *held)
{
    const struct limit_held *of = held->of;

    return (struct cgroup_limits){.memory = (uint64_t)of[LIMIT_MEMORY].amount,
                                  .cpus = (unsigned)of[LIMIT_CPUS].amount,
                                  .processes = (unsigned)of[LIMIT_PROCESSES].amount};
}

unsigned cgroup_asked(const struct cgroup_limits *limits)
{
    return (limits->memory != 0 ? CGROUP_MEMORY : 0U) | (limits->cpus != 0 ? CGROUP_CPUS : 0U) |
           (limits->processes != 0 ? CGROUP_PROCESSES : 0U);
}

/* Lets the groups below this one limit what the kernel can. A group in which processes run cannot,
 * and neither can one that was not given the controller. */
static void enable(int dir)
{
    static const char *const controllers[] = {"+memory", "+cpu", "+pids"};

    for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
        (void)write_text(dir, "cgroup.subtree_control", controllers[i]);
}

static bool set_limit(int dir, const char *name, uint64_t limit)
{
    char text[32] = "max";

    if (limit != 0)
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)limit);
    return write_text(dir, name, text);
}

static unsigned set_limits(int dir, const struct cgroup_limits *limits)
{
    char cpus[48];
    unsigned holds = 0;

    if (set_limit(dir, "memory.max", limits->memory))
        holds |= CGROUP_MEMORY;
    /* swap would let it take the time of all others instead */
    (void)write_text(dir, "memory.swap.max", limits->memory != 0 ? "0" : "max");
    (void)write_text(dir, "memory.oom.group", "1");
    if (limits->cpus != 0)
        (void)snprintf(cpus, sizeof cpus, "%llu %d",
                       (unsigned long long)limits->cpus * CPU_PERIOD_US / 100, CPU_PERIOD_US);
    else
        (void)snprintf(cpus, sizeof cpus, "max %d", CPU_PERIOD_US);
    if (write_text(dir, "cpu.max", cpus))
        holds |= CGROUP_CPUS;
    if (set_limit(dir, "pids.max", limits->processes))
        holds |= CGROUP_PROCESSES;
    return holds & cgroup_asked(limits);
}

void cgroup_limit(struct cgroup *group, const struct cgroup_limits *limits)
{
    group->holds = set_limits(group->dir, limits);
}

/* Removes the parts in which nothing runs. */
static void prune(int dir)
{
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;

    if (path_list(dir, &names, &ignored) == -1)
        return;
    for (char **name = names; name != NULL && *name != NULL; name++)
        if (strchr(*name, '.') == NULL) /* the kernel's own files have one */
            (void)unlinkat(dir, *name, AT_REMOVEDIR);
}

int cgroup_make(int parent, const char *session, const char *agent,
                const struct cgroup_limits *limits, struct cgroup *ret, struct err *err)
{
    _cleanup_free_ char *name = mem_printf(CGROUP_PREFIX "%s", session);

    enable(parent);
    _cleanup_close_ int team = make_group(parent, name);
    if (team == -1)
        return err_errno(err, "cannot make the cgroup '%s'", name);
    enable(team);
    int dir = hold_group(team, agent);
    if (dir == -1)
        return err_errno(err, "cannot make the cgroup '%s/%s'", name, agent);
    prune(dir);
    *ret = (struct cgroup){.dir = dir, .holds = set_limits(dir, limits)};
    return 0;
}

void cgroup_drop(struct cgroup *group, int parent, const char *session, const char *agent)
{
    _cleanup_free_ char *name = mem_printf(CGROUP_PREFIX "%s", session);
    _cleanup_free_ char *both = mem_printf("%s/%s", name, agent);

    if (group->dir == -1)
        return;
    prune(group->dir);
    fd_closep(&group->dir);
    (void)unlinkat(parent, both, AT_REMOVEDIR);
    (void)unlinkat(parent, name, AT_REMOVEDIR);
}

/* Returns true if a host holds the group of one of its agents, or a process runs in one. */
static bool is_held(int parent, const char *name)
{
    _cleanup_close_ int team = path_open_dir(parent, name);
    _cleanup_strv_ char **agents = NULL;
    struct err ignored = ERR_INIT;
    bool held = false;

    if (team == -1 || path_list(team, &agents, &ignored) == -1 || cgroup_is_used(team))
        return true;
    for (char **agent = agents; !held && agent != NULL && *agent != NULL; agent++) {
        _cleanup_close_ int dir = path_open_dir(team, *agent);
        held = dir != -1 && flock(dir, LOCK_EX | LOCK_NB) == -1;
    }
    return held;
}

char **cgroup_left(const char *setting)
{
    _cleanup_strv_ char **names = NULL;
    _cleanup_close_ int parent = -1;
    struct err ignored = ERR_INIT;
    char **sessions = NULL;

    if (cgroup_find(setting, &parent, &ignored) == -1 || path_list(parent, &names, &ignored) == -1)
        return NULL;
    for (char **name = names; name != NULL && *name != NULL; name++) {
        const char *session = *name + strlen(CGROUP_PREFIX);
        if (str_starts(*name, CGROUP_PREFIX) && id_is_valid(session) && !is_held(parent, *name))
            strv_push(&sessions, session);
    }
    return sessions;
}

void cgroup_forget(const char *setting, const char *session)
{
    _cleanup_free_ char *name = mem_printf(CGROUP_PREFIX "%s", session);
    _cleanup_strv_ char **agents = NULL;
    struct err ignored = ERR_INIT;
    _cleanup_close_ int parent = -1;

    if (cgroup_find(setting, &parent, &ignored) == -1)
        return;
    _cleanup_close_ int team = path_open_dir(parent, name);
    if (team == -1 || path_list(team, &agents, &ignored) == -1)
        return;
    for (char **agent = agents; agent != NULL && *agent != NULL; agent++) {
        _cleanup_close_ int dir = path_open_dir(team, *agent); /* -1: a file of the kernel */
        if (dir != -1)
            prune(dir);
    }
    prune(team);
    (void)unlinkat(parent, name, AT_REMOVEDIR);
}

bool cgroup_part_make(int group, struct cgroup_part *ret)
{
    for (int i = 1; i <= PARTS_MAX; i++) {
        (void)snprintf(ret->name, sizeof ret->name, "%d", i);
        if (mkdirat(group, ret->name, 0755) == 0)
            return (ret->dir = path_open_dir(group, ret->name)) != -1;
        if (errno != EEXIST)
            break;
    }
    ret->dir = -1;
    return false;
}

void cgroup_part_drop(struct cgroup_part *part)
{
    _cleanup_close_ int above = part->dir != -1 ? openat(part->dir, "..", O_PATH | O_CLOEXEC) : -1;

    fd_closep(&part->dir);
    if (above != -1)
        (void)unlinkat(above, part->name, AT_REMOVEDIR);
}

/* ---- what runs in it */

bool cgroup_is_used(int dir)
{
    return read_key(dir, "cgroup.events", "populated") == 1;
}

bool cgroup_kill(int dir)
{
    return write_text(dir, "cgroup.kill", "1");
}

bool cgroup_freeze(int dir, bool stop, int wait_ms)
{
    int64_t end = time_monotonic_ms() + wait_ms;

    if (!write_text(dir, "cgroup.freeze", stop ? "1" : "0"))
        return false;
    while (read_key(dir, "cgroup.events", "frozen") != stop) {
        if (time_monotonic_ms() >= end)
            return false;
        (void)loop_wait_for(-1, 0, FREEZE_LOOK_MS);
    }
    return true;
}

size_t cgroup_pids(int part, pid_t **ret)
{
    _cleanup_free_ char *text = read_text(part, "cgroup.procs", PIDS_MAX);
    pid_t *pids = NULL;
    size_t count = 0;

    for (char *at = text; at != NULL && *at >= '0' && *at <= '9';) {
        pids = mem_room(pids, count, sizeof *pids);
        pids[count++] = (pid_t)strtol(at, &at, 10);
        at += *at == '\n';
    }
    *ret = pids;
    return count;
}

int64_t cgroup_oom_kills(const struct cgroup *group)
{
    return group->dir == -1 ? -1 : read_key(group->dir, "memory.events", "oom_kill");
}

void cgroup_measure(int dir, struct cgroup_usage *ret)
{
    int64_t cpu_us = read_key(dir, "cpu.stat", "usage_usec");

    *ret = (struct cgroup_usage){.cpu_ms = cpu_us == -1 ? -1 : cpu_us / 1000,
                                 .memory = read_number(dir, "memory.current"),
                                 .processes = read_number(dir, "pids.current")};
}
