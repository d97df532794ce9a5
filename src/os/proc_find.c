/*
 * The part of os/proc.h that examines processes that are not our children; those below a process
 * are in proc_tree.c. They end and begin while /proc is read: a process is known by its number and
 * its start, a signal goes to a descriptor that was compared after it was opened, and a parent
 * counts only if it still is one after it was read. A list that could not be read whole is an
 * error.
 */

#include "base/time.h"
#include "os/file.h"
#include "os/loop.h"
#include "os/proc_internal.h"

#include <dirent.h>
#include <sys/syscall.h>

enum {
    ENVIRON_MAX = 4 << 20,
    LINEAGE_MAX = 1024, /* processes; anything deeper is an attack */
    KERNEL_NAME_LEN = 15, /* bytes of the longest name that the kernel keeps */
    LINEAGE_TRIES = 50, /* attempts while parents exit and change */
};

bool proc_identify(pid_t pid, struct proc_id *ret)
{
    struct proc_stat line;
    if (pid <= 0 || proc_read_stat(pid, &line) != 1)
        return false;
    *ret = (struct proc_id){.pid = pid, .start = line.start};
    return true;
}

bool proc_is_alive(const struct proc_id *id)
{
    struct proc_stat line;
    int seen = proc_read_stat(id->pid, &line);
    if (seen != 1)
        return seen == -1; /* unless it is known to be gone, it exists */
    return line.start == id->start && line.state != 'Z' && line.state != 'X';
}

/* Opens a descriptor for exactly this process; -1 if it is gone. */
static int open_process(const struct proc_id *id)
{
    int fd = proc_open(id->pid);
    if (fd != -1 && !proc_is_alive(id)) {
        close(fd);
        return -1;
    }
    return fd;
}

void proc_signal(const struct proc_id *id, int sig)
{
    _cleanup_close_ int fd = open_process(id);
    if (fd != -1)
        (void)syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
}

size_t proc_wait_gone(const struct proc_id *ids, size_t count, int timeout_ms)
{
    int64_t deadline = time_monotonic_ms() + timeout_ms;
    size_t left = 0;

    for (size_t i = 0; i < count; i++) {
        _cleanup_close_ int fd = open_process(&ids[i]);
        int64_t ms = deadline - time_monotonic_ms();
        if (fd != -1)
            (void)loop_wait_for(fd, POLLIN, timeout_ms < 0 ? -1 : ms > 0 ? (int)ms : 0);
        left += proc_is_alive(&ids[i]);
    }
    return left;
}

/* Reads all of /proc/<pid>/environ, whose size is only known after reading. Returns 1; 0 if there
 * is nothing to see (the process is gone, a kernel thread, or another user's); -1 with errno on
 * failure. */
static int read_environ(int proc_dir, pid_t pid, struct str *to)
{
    char path[40];

    (void)snprintf(path, sizeof path, "%ld/environ", (long)pid);
    _cleanup_close_ int fd = openat(proc_dir, path, O_RDONLY | O_CLOEXEC);
    str_clear(to);
    while (fd != -1 && to->len < ENVIRON_MAX) {
        str_reserve(to, 16384);
        errno = 0;
        ssize_t n = read(fd, to->data + to->len, 16383);
        if (n == -1 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        to->len += (size_t)n;
        to->data[to->len] = '\0';
    }
    if (errno != 0 && errno != ENOENT && errno != ESRCH && errno != EACCES && errno != EPERM)
        return -1;
    return to->len > 0;
}

/* Returns the first entry that begins with `prefix`, or NULL. */
static const char *find_entry(const struct str *environment, const char *prefix)
{
    for (size_t i = 0; i < environment->len; i += strlen(environment->data + i) + 1)
        if (str_starts(environment->data + i, prefix))
            return environment->data + i;
    return NULL;
}

/* Returns true if the process was started with exactly this entry. */
static bool environ_holds(int proc_dir, pid_t pid, const char *entry)
{
    _cleanup_str_ struct str text = STR_INIT;
    errno = 0;
    const char *at = read_environ(proc_dir, pid, &text) == 1 ? find_entry(&text, entry) : NULL;
    return at != NULL && strcmp(at, entry) == 0;
}

/* Returns the next process of this user in /proc; 0 at the end, -1 with errno on failure. */
static pid_t next_own(DIR *dir)
{
    const struct dirent *d;
    struct stat st;

    if (dir == NULL)
        return -1;
    for (errno = 0; (d = readdir(dir)) != NULL; errno = 0)
        if (isdigit((unsigned char)d->d_name[0]) && fstatat(dirfd(dir), d->d_name, &st, 0) == 0 &&
            st.st_uid == geteuid())
            return (pid_t)strtol(d->d_name, NULL, 10);
    return errno != 0 ? -1 : 0;
}

bool proc_is_ancestor(pid_t pid)
{
    struct proc_stat line;
    for (pid_t at = getpid(); at > 1; at = line.parent) {
        if (at == pid)
            return true;
        if (proc_read_stat(at, &line) != 1)
            return false;
    }
    return false;
}

/* Returns true if a process exists but may not be examined. */
static bool is_hidden(pid_t pid)
{
    return kill(pid, 0) == -1 && errno == EPERM;
}

/* One attempt of proc_lineage(); false if a process exited or got another parent meanwhile. */
static bool list_lineage(const struct proc_id *id, struct proc_above **list, size_t *count)
{
    struct proc_stat line;
    struct proc_stat again;
    pid_t pid = id->pid;

    if (proc_read_stat(pid, &line) != 1 || line.start != id->start)
        return false;
    for (*count = 0; *count < LINEAGE_MAX;) {
        *list = mem_room(*list, *count, sizeof **list);
        struct proc_above *above = &(*list)[(*count)++];
        above->pid = pid;
        memcpy(above->name, line.comm, sizeof above->name);
        struct proc_stat parent = {.parent = 0};
        if (line.parent <= 1)
            return true;
        int seen = proc_read_stat(line.parent, &parent);
        /* still its parent, so the pid belonged to the parent when it was examined */
        if (proc_read_stat(pid, &again) != 1 || again.start != line.start ||
            again.parent != line.parent)
            return false;
        if (seen != 1)
            return is_hidden(line.parent);
        pid = line.parent;
        line = parent;
    }
    return false;
}

int proc_lineage(const struct proc_id *id, struct proc_above **ret, size_t *ret_count)
{
    struct proc_above *list = NULL;
    size_t count = 0;

    for (int i = 0; i < LINEAGE_TRIES && proc_is_alive(id); i++) {
        if (!list_lineage(id, &list, &count))
            continue;
        *ret = list;
        *ret_count = count;
        return 0;
    }
    free(list);
    return -1;
}

bool proc_has_entry(pid_t pid, const char *entry)
{
    _cleanup_close_ int dir = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return dir != -1 && environ_holds(dir, pid, entry);
}

char *proc_argument(pid_t pid, size_t index)
{
    char text[4096];
    ssize_t n = proc_read_text(pid, "cmdline", text, sizeof text);
    const char *at = text;

    if (n <= 0)
        return NULL;
    while (index-- > 0 && at < text + n)
        at += strlen(at) + 1;
    return at < text + n ? mem_dup(at) : NULL;
}

/* Returns true for a tmux server that has the entry itself, and for processes that run in one: a
 * user started that server from inside so that it outlives the session. */
static bool is_in_server(int proc_dir, pid_t pid, const char *entry)
{
    struct proc_stat line;

    for (; pid > 1 && proc_read_stat(pid, &line) == 1; pid = line.parent)
        if (str_starts(line.comm, "tmux: server") && environ_holds(proc_dir, pid, entry))
            return true;
    return false;
}

/* Returns 1 if the query selects the process's environment, 0 if not, -1 with errno. */
static int is_meant(int proc_dir, pid_t pid, const struct proc_query *query)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_free_ char *prefix = mem_printf("%s=", query->key);

    errno = 0;
    int read = read_environ(proc_dir, pid, &text);
    const char *at = read == 1 ? find_entry(&text, query->entry) : NULL;
    if (at == NULL || strcmp(at, query->entry) != 0)
        return read == -1 ? -1 : 0;
    const char *value = find_entry(&text, prefix);
    return query->accepts(value != NULL ? value + strlen(prefix) : "", query->arg);
}

/* Returns true for processes that are left out whatever their environment. */
static bool is_exempt(int proc_dir, pid_t pid, const struct proc_query *query,
                      const struct proc_stat *line)
{
    return pid == getpid() || line->state == 'Z' ||
           (!query->with_ancestors && proc_is_ancestor(pid)) ||
           is_in_server(proc_dir, pid, query->entry);
}

int proc_find_by_env(const struct proc_query *query, struct proc_id **ret, size_t *ret_count,
                     struct err *err)
{
    struct proc_id *found = NULL;
    size_t count = 0;
    int meant = 0;
    pid_t pid;
    DIR *dir = opendir("/proc");

    while (meant != -1 && (pid = next_own(dir)) > 0) {
        struct proc_stat line;
        meant = is_meant(dirfd(dir), pid, query);
        if (meant == 1)
            meant = proc_read_stat(pid, &line);
        if (meant != 1 || is_exempt(dirfd(dir), pid, query, &line))
            continue;
        found = mem_grow(found, count + 1, sizeof *found);
        found[count++] = (struct proc_id){.pid = pid, .start = line.start};
    }
    int rc = meant == -1 || pid == -1 ? err_errno(err, "cannot list the remaining processes") : 0;
    if (dir != NULL)
        (void)closedir(dir);
    if (rc == -1) {
        free(found);
        return -1;
    }
    *ret = found;
    *ret_count = count;
    return 0;
}

bool proc_is_stopped(const struct proc_id *id)
{
    struct proc_stat line;
    int seen = proc_read_stat(id->pid, &line);

    if (seen == -1)
        return false;
    return seen == 0 || line.start != id->start || strchr("TtZX", line.state) != NULL;
}

bool proc_runs_same_program(pid_t pid)
{
    char path[40];
    struct stat own;
    struct stat other;

    (void)snprintf(path, sizeof path, "/proc/%ld/exe", (long)pid);
    return stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

bool proc_is_reading(pid_t pid)
{
    char text[64];
    unsigned long fd = 0;
    char *end = NULL;

    /* its text is "<number of the call> <arguments in hex> ..." or "running" */
    if (proc_read_text(pid, "syscall", text, sizeof text) <= 0)
        return false;
    long call = strtol(text, &end, 10);
    fd = end != text ? strtoul(end, NULL, 16) : 1;
    return end != text && call == SYS_read && fd == STDIN_FILENO;
}

/* Completes a name that the kernel has cut. A script is the first argument of its interpreter that
 * is no option, so the second or third word. */
static void complete_name(pid_t pid, char buf[PROC_NAME_TEXT])
{
    for (size_t i = 0; i < 3; i++) {
        _cleanup_free_ char *word = proc_argument(pid, i);
        const char *slash = word != NULL ? strrchr(word, '/') : NULL;
        const char *name = slash != NULL ? slash + 1 : word;
        if (name != NULL && str_starts(name, buf)) {
            (void)snprintf(buf, PROC_NAME_TEXT, "%s", name);
            return;
        }
    }
}

const char *proc_name(pid_t pid, char buf[PROC_NAME_TEXT])
{
    struct proc_stat line;

    (void)snprintf(buf, PROC_NAME_TEXT, "%s", proc_read_stat(pid, &line) == 1 ? line.comm : "?");
    if (strlen(buf) == KERNEL_NAME_LEN)
        complete_name(pid, buf);
    return buf;
}

static bool accept_all(const char *value, void *arg)
{
    (void)value;
    (void)arg;
    return true;
}

void proc_kill_marked(const char *key, const char *value, int timeout_ms)
{
    _cleanup_free_ char *entry = mem_printf("%s=%s", key, value);
    const struct proc_query query = {.entry = entry, .key = key, .accepts = accept_all};
    struct proc_id *found = NULL;
    size_t count = 0;
    struct err ignored = ERR_INIT;

    do {
        free(found);
        found = NULL;
        if (proc_find_by_env(&query, &found, &count, &ignored) == -1)
            break;
        for (size_t i = 0; i < count; i++)
            proc_signal(&found[i], SIGKILL);
    } while (count > 0 && proc_wait_gone(found, count, timeout_ms) == 0);
    free(found);
}

int proc_env_values(const char *key, char ***ret, struct err *err)
{
    _cleanup_free_ char *prefix = mem_printf("%s=", key);
    _cleanup_str_ struct str text = STR_INIT;
    char **values = NULL;
    int seen = 0;
    pid_t pid = 0;
    DIR *dir = opendir("/proc");

    while (seen != -1 && (pid = next_own(dir)) > 0) {
        errno = 0;
        seen = read_environ(dirfd(dir), pid, &text);
        const char *at = seen == 1 ? find_entry(&text, prefix) : NULL;
        if (at != NULL && !strv_has(values, at + strlen(prefix)) && !proc_is_ancestor(pid) &&
            !is_in_server(dirfd(dir), pid, at))
            strv_push(&values, at + strlen(prefix));
    }
    int rc = seen == -1 || pid == -1 ? err_errno(err, "cannot list the remaining processes") : 0;
    if (dir != NULL)
        (void)closedir(dir);
    if (rc == -1)
        strv_free(values);
    else
        *ret = values;
    return rc;
}

pid_t proc_working_below(const char *path, const char *name)
{
    DIR *proc = opendir("/proc");
    size_t len = strlen(path);
    pid_t found = 0;

    for (struct dirent *entry; proc != NULL && found == 0 && (entry = readdir(proc)) != NULL;) {
        char link[64];
        char cwd[PATH_MAX];
        if (isdigit((unsigned char)entry->d_name[0]) == 0)
            continue;
        (void)snprintf(link, sizeof link, "/proc/%.20s/cwd", entry->d_name);
        ssize_t n = readlink(link, cwd, sizeof cwd - 1);
        if (n <= 0)
            continue;
        cwd[n] = '\0';
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        char comm[PROC_NAME_TEXT];
        if (strncmp(cwd, path, len) == 0 && (cwd[len] == '\0' || cwd[len] == '/') &&
            (name == NULL || strcmp(proc_name(pid, comm), name) == 0) && !proc_is_ancestor(pid))
            found = pid;
    }
    if (proc != NULL)
        (void)closedir(proc);
    return found;
}

/* Opens the list of its descriptors, below /proc; NULL. */
static DIR *open_files(int proc_dir, pid_t pid)
{
    char path[40];

    (void)snprintf(path, sizeof path, "%ld/fd", (long)pid);
    int fd = openat(proc_dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *fds = fd != -1 ? fdopendir(fd) : NULL;
    if (fds == NULL && fd != -1)
        (void)close(fd);
    return fds;
}

/* Returns true if the process has this file open; dev 0: it is a socket. */
static bool has_file(int proc_dir, pid_t pid, dev_t dev, ino_t ino)
{
    struct stat st;
    const struct dirent *entry;
    bool found = false;
    DIR *fds = open_files(proc_dir, pid);

    while (fds != NULL && !found && (entry = readdir(fds)) != NULL)
        found = fstatat(dirfd(fds), entry->d_name, &st, 0) == 0 && st.st_ino == ino &&
                (st.st_dev == dev || (dev == 0 && S_ISSOCK(st.st_mode)));
    if (fds != NULL)
        (void)closedir(fds);
    return found;
}

pid_t proc_with_file(dev_t dev, ino_t ino)
{
    DIR *proc = opendir("/proc");
    pid_t pid = 0;

    while ((pid = next_own(proc)) > 0 && !has_file(dirfd(proc), pid, dev, ino)) {
    }
    if (proc != NULL)
        (void)closedir(proc);
    return pid > 0 ? pid : 0;
}

char **proc_open_files(pid_t pid)
{
    _cleanup_close_ int proc_dir = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *fds = proc_dir != -1 ? open_files(proc_dir, pid) : NULL;
    char **found = NULL;

    for (const struct dirent *entry; fds != NULL && (entry = readdir(fds)) != NULL;) {
        char target[PATH_MAX];
        ssize_t n = readlinkat(dirfd(fds), entry->d_name, target, sizeof target - 1);
        if (n <= 0 || target[0] != '/')
            continue;
        target[n] = '\0';
        strv_push(&found, target);
    }
    if (fds != NULL)
        (void)closedir(fds);
    return found;
}

bool proc_has_socket(pid_t pid, ino_t inode)
{
    _cleanup_close_ int proc_dir = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return proc_dir != -1 && has_file(proc_dir, pid, 0, inode);
}
