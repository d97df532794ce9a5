/*
 * The part of os/proc.h that measures processes: what /proc says of one, and the sum of a tree,
 * which is walked from its top by the kernel's lists of children. A program chooses the shape of
 * its tree, so depth and number have limits. What a process has used that ended meanwhile is in the
 * figures of its parent.
 */

#include "os/file.h"
#include "os/proc_internal.h"

#include <dirent.h>

enum {
    CHILDREN_MAX = 64 * 1024, /* bytes of their list */
    DEPTH_MAX = 64, /* of a tree; what is deeper is not counted */
    COUNT_MAX = 4096, /* processes; likewise */
};

ssize_t proc_read_text(pid_t pid, const char *name, char *buf, size_t size)
{
    char path[40];

    (void)snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd == -1 ? -1 : read(fd, buf, size - 1);
    buf[n > 0 ? n : 0] = '\0';
    return n;
}

int proc_read_stat(pid_t pid, struct proc_stat *ret)
{
    char text[1024];
    ssize_t n = proc_read_text(pid, "stat", text, sizeof text);

    if (n <= 0)
        return n == 0 || errno == ENOENT || errno == ESRCH ? 0 : -1;
    char *open_paren = strchr(text, '(');
    char *close_paren = strrchr(text, ')');
    if (open_paren == NULL || close_paren == NULL || close_paren < open_paren)
        return 0;
    (void)snprintf(ret->comm, sizeof ret->comm, "%.*s", (int)(close_paren - open_paren - 1),
                   open_paren + 1);
    char *p = close_paren + 2;
    ret->state = *p;
    ret->cpu = ret->cpu_ended = ret->threads = 0;
    for (int field = 3; field < 22 && p != NULL; field++) {
        p = strchr(p, ' ');
        if (p == NULL)
            return 0;
        p++;
        if (field == 13 || field == 14)
            ret->cpu += strtoull(p, NULL, 10);
        if (field == 15 || field == 16)
            ret->cpu_ended += strtoull(p, NULL, 10);
        if (field == 3)
            ret->parent = (pid_t)strtol(p, NULL, 10);
        if (field == 19)
            ret->threads = strtoull(p, NULL, 10);
        if (field == 19 && ret->state == 'Z' && ret->threads > 1)
            ret->state = 'R';
    }
    ret->start = strtoull(p, &p, 10);
    (void)strtoull(p, &p, 10); /* the size of its address space */
    ret->pages = strtoull(p, NULL, 10);
    return 1;
}

uint64_t proc_cpu(pid_t pid)
{
    struct proc_stat line;
    return pid > 0 && proc_read_stat(pid, &line) == 1 ? line.cpu : 0;
}

/* A tree that is being measured. */
struct tree_usage {
    struct proc_usage usage;
    uint64_t ticks;
    long page;
    bool listed; /* the kernel tells children */
};

static void add_below(struct tree_usage *to, pid_t pid, int depth);

static void add_process(struct tree_usage *to, pid_t pid, int depth)
{
    struct proc_stat line;

    if (to->usage.processes == COUNT_MAX || proc_read_stat(pid, &line) != 1)
        return;
    to->ticks += line.cpu_ended;
    if (depth > 0) { /* those next to the top are supervisors and such */
        to->ticks += line.cpu;
        to->usage.memory += line.pages * (uint64_t)to->page;
        to->usage.processes++;
    }
    add_below(to, pid, depth + 1);
}

/* Returns the children that one thread has started, as a list of numbers; NULL: unknown. The caller
 * frees it. */
static char *read_children(pid_t pid, const char *thread)
{
    char path[64];
    char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    (void)snprintf(path, sizeof path, "/proc/%ld/task/%s/children", (long)pid, thread);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1 || file_read_stream(fd, path, CHILDREN_MAX, &text, &len, &ignored) == -1)
        return NULL;
    return text;
}

/* Adds the children that one thread has started. */
static void add_children(struct tree_usage *to, pid_t pid, const char *thread, int depth)
{
    _cleanup_free_ char *text = read_children(pid, thread);

    if (text == NULL)
        return;
    to->listed = true;
    for (char *at = text; *at >= '0' && *at <= '9'; at += *at == ' ')
        add_process(to, (pid_t)strtol(at, &at, 10), depth);
}

static void add_below(struct tree_usage *to, pid_t pid, int depth)
{
    char path[40];
    const struct dirent *d;

    if (depth > DEPTH_MAX)
        return;
    (void)snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    DIR *dir = opendir(path);
    while (dir != NULL && (d = readdir(dir)) != NULL)
        if (isdigit((unsigned char)d->d_name[0]))
            add_children(to, pid, d->d_name, depth);
    if (dir != NULL)
        (void)closedir(dir);
}

bool proc_measure(pid_t pid, struct proc_usage *ret)
{
    struct tree_usage sum = {.page = sysconf(_SC_PAGESIZE)};
    long rate = sysconf(_SC_CLK_TCK);

    add_below(&sum, pid, 0);
    if (!sum.listed || rate <= 0)
        return false;
    sum.usage.cpu_ms = sum.ticks * 1000 / (uint64_t)rate;
    *ret = sum.usage;
    return true;
}

int proc_count_children(pid_t pid)
{
    char thread[24];
    int count = 0;

    (void)snprintf(thread, sizeof thread, "%ld", (long)pid);
    _cleanup_free_ char *text = pid > 0 ? read_children(pid, thread) : NULL;
    if (text == NULL)
        return -1;
    for (const char *at = text; *at != '\0'; at++)
        count += *at == ' ';
    return count;
}

uint64_t proc_count_tasks(void)
{
    DIR *dir = opendir("/proc");
    const struct dirent *d;
    struct stat st;
    struct proc_stat line;
    uint64_t count = 0;

    while (dir != NULL && (d = readdir(dir)) != NULL)
        if (isdigit((unsigned char)d->d_name[0]) && fstatat(dirfd(dir), d->d_name, &st, 0) == 0 &&
            st.st_uid == geteuid() &&
            proc_read_stat((pid_t)strtol(d->d_name, NULL, 10), &line) == 1)
            count += line.threads;
    if (dir != NULL)
        (void)closedir(dir);
    return count;
}

size_t proc_count_files(pid_t pid)
{
    char path[40];
    size_t count = 0;
    const struct dirent *d;

    (void)snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    DIR *dir = opendir(path);
    while (dir != NULL && (d = readdir(dir)) != NULL)
        count += isdigit((unsigned char)d->d_name[0]) != 0;
    if (dir != NULL)
        (void)closedir(dir);
    return count;
}

char *proc_program(pid_t pid)
{
    char link[40];
    char path[PATH_MAX];

    (void)snprintf(link, sizeof link, "/proc/%ld/exe", (long)pid);
    ssize_t len = readlink(link, path, sizeof path - 1);
    return len > 0 ? mem_dupn(path, (size_t)len) : NULL;
}
