/*
 * Most functions take an open directory and a name in it and answer with errno, like the calls that
 * they stand around; those with an `err` are for callers that would only print it. Renaming is in
 * path_rename.c, the check of owners in path_owned.c.
 */

#include "base/path.h"

#include <dirent.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <sys/syscall.h>

/* The fallback of path_open_beneath(): one openat() per component, each refusing links. */
static int open_parts(int dir, const char *rel, int flags)
{
    _cleanup_free_ char *copy = mem_dup(rel);
    _cleanup_close_ int at = -1;
    char *save = NULL;

    if (rel[0] == '/') {
        errno = EXDEV;
        return -1;
    }
    char *part = strtok_r(copy, "/", &save);
    if (part == NULL) {
        errno = ENOENT;
        return -1;
    }
    for (;;) {
        char *next = strtok_r(NULL, "/", &save);
        if (strcmp(part, "..") == 0) {
            errno = EXDEV;
            return -1;
        }
        int how = next != NULL ? O_PATH | O_DIRECTORY : flags;
        int fd = openat(at == -1 ? dir : at, part, how | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd == -1) {
            struct stat st;
            /* with O_DIRECTORY the error does not tell that it is a link */
            if (errno == ENOTDIR &&
                fstatat(at == -1 ? dir : at, part, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISLNK(st.st_mode))
                errno = ELOOP;
            return -1;
        }
        if (next == NULL)
            return fd;
        fd_closep(&at);
        at = fd;
        part = next;
    }
}

int path_open_beneath(int dir, const char *rel, int flags)
{
    struct open_how how = {
        .flags = (__u64)(unsigned)(flags | O_CLOEXEC),
        .mode = (flags & O_CREAT) != 0 ? 0600 : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };
    int fd = (int)syscall(SYS_openat2, dir, rel, &how, sizeof how);
    if (fd == -1 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN))
        return open_parts(dir, rel, flags);
    return fd;
}

int path_open_dir(int dir, const char *name)
{
    return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int path_make_dir(int dir, const char *name, mode_t mode)
{
    if (mkdirat(dir, name, 0700) == -1)
        return -1;
    int fd = path_open_dir(dir, name);
    if (fd != -1 && fchmod(fd, mode) == 0)
        return fd;
    int saved = errno;
    if (fd != -1)
        (void)close(fd);
    (void)unlinkat(dir, name, AT_REMOVEDIR);
    errno = saved;
    return -1;
}

/* Opens a part of a path, or makes it. */
static int make_part(int dir, const char *name, mode_t mode)
{
    int fd = strcmp(name, "..") == 0 ? (errno = EXDEV, -1) : path_open_dir(dir, name);

    if (fd != -1 || errno != ENOENT)
        return fd;
    fd = mode != PATH_BY_UMASK           ? path_make_dir(dir, name, mode)
         : mkdirat(dir, name, 0777) == 0 ? path_open_dir(dir, name)
                                         : -1;
    return fd == -1 && errno == EEXIST ? path_open_dir(dir, name) : fd;
}

int path_make_below(int dir, const char *rel, mode_t mode)
{
    _cleanup_free_ char *rest = mem_dup(rel);
    _cleanup_close_ int at = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (char *next = rest, *name; at != -1 && (name = strsep(&next, "/")) != NULL;) {
        if (*name == '\0')
            continue;
        int below = make_part(at, name, mode);
        int number = errno;
        fd_closep(&at);
        errno = number;
        at = below;
    }
    return TAKE_FD(at);
}

/* Returns what is above the last part of a path: "." if that is all of it. The caller frees it. */
static char *cut_name(const char *path, const char **ret_name)
{
    const char *slash = strrchr(path, '/');

    *ret_name = slash != NULL ? slash + 1 : path;
    return slash != NULL ? mem_dupn(path, (size_t)(slash - path)) : mem_dup(".");
}

int path_make_above(int dir, const char *rel, mode_t mode, const char **ret_name)
{
    _cleanup_free_ char *above = cut_name(rel, ret_name);

    return path_make_below(dir, above, mode);
}

int path_open_above(int dir, const char *rel, const char **ret_name)
{
    _cleanup_free_ char *above = cut_name(rel, ret_name);

    return path_open_beneath(dir, above, O_RDONLY | O_DIRECTORY);
}

const char *path_fd(int fd, char buf[PATH_FD_TEXT])
{
    (void)snprintf(buf, PATH_FD_TEXT, "/proc/self/fd/%d", fd);
    return buf;
}

char *path_of(int fd)
{
    char link[PATH_FD_TEXT];
    char path[PATH_MAX];
    ssize_t n = readlink(path_fd(fd, link), path, sizeof path);

    return n > 0 && n < (ssize_t)sizeof path ? mem_dupn(path, (size_t)n) : NULL;
}

/* Reads all names from `dir` and closes it. */
static int read_names(DIR *dir, char ***ret)
{
    char **names = mem_alloc(sizeof *names);
    size_t count = 0;
    const struct dirent *d;

    for (errno = 0; (d = readdir(dir)) != NULL; errno = 0) {
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        names = mem_room(names, count + 1, sizeof *names);
        names[count++] = mem_dup(d->d_name);
        names[count] = NULL;
    }
    int saved = errno;
    (void)closedir(dir);
    if (saved != 0)
        strv_free(names);
    else
        *ret = names;
    errno = saved;
    return saved != 0 ? -1 : 0;
}

int path_list(int dir, char ***ret, struct err *err)
{
    return path_list_in(dir, ".", ret, err);
}

int path_list_in(int dir, const char *name, char ***ret, struct err *err)
{
    int fd = path_open_dir(dir, name);
    DIR *stream = fd != -1 ? fdopendir(fd) : NULL;

    if (stream == NULL && fd != -1)
        (void)close(fd);
    if (stream == NULL || read_names(stream, ret) == -1)
        return err_errno(err, "cannot read a directory");
    return 0;
}

int path_make_dirs(const char *path, struct err *err)
{
    _cleanup_free_ char *copy = mem_dup(path);

    for (char *p = copy + 1;; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char was = *p;
        *p = '\0';
        if (mkdir(copy, 0755) == -1 && errno != EEXIST)
            return err_errno(err, "cannot create directory '%s'", copy);
        *p = was;
        if (was == '\0')
            return 0;
    }
}

char *path_canonical(const char *path)
{
    return realpath(path, NULL);
}

char *path_user_dir(const char *variable, const char *below)
{
    const char *set = getenv(variable);
    const char *home = getenv("HOME");

    if (set != NULL && set[0] == '/')
        return mem_dup(set);
    if (home == NULL || home[0] != '/') {
        const struct passwd *pw = getpwuid(geteuid());
        home = pw != NULL ? pw->pw_dir : NULL;
    }
    return home != NULL ? mem_printf("%s/%s", home, below) : NULL;
}

char *path_exe(void)
{
    static const char gone[] =
        " (deleted)"; /* as it is after an upgrade: the new one has its place */
    char buf[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", buf, sizeof buf - 1);
    if (n <= 0)
        return NULL;
    char *exe = mem_dupn(buf, (size_t)n);
    if (str_ends(exe, gone) && access(exe, F_OK) == -1)
        exe[strlen(exe) - strlen(gone)] = '\0';
    return exe;
}

char *path_exe_dir(void)
{
    char *exe = path_exe();
    char *slash = exe != NULL ? strrchr(exe, '/') : NULL;
    if (slash != NULL)
        *slash = '\0';
    return exe;
}

static bool is_program(int dir, const char *path)
{
    struct stat st;
    return fstatat(dir, path, &st, 0) == 0 && S_ISREG(st.st_mode) &&
           faccessat(dir, path, X_OK, AT_EACCESS) == 0;
}

char *path_find_program(const char *name, const char *search, int dir)
{
    if (name[0] == '\0')
        return NULL;
    if (strchr(name, '/') != NULL)
        return is_program(dir, name) ? mem_dup(name) : NULL;
    if (search == NULL || search[0] == '\0')
        search = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        const char *end = strchrnul(search, ':');
        char *path = end == search ? mem_printf("./%s", name)
                                   : mem_printf("%.*s/%s", (int)(end - search), search, name);
        if (is_program(dir, path))
            return path;
        free(path);
        if (*end == '\0')
            return NULL;
        search = end + 1;
    }
}

char **path_read_interpreter(int fd)
{
    enum { FIRST_LINE_MAX = 256 };
    char line[FIRST_LINE_MAX + 1];
    struct stat st;
    char **words = NULL;
    char *save = NULL;

    if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
        return NULL;
    ssize_t len = pread(fd, line, FIRST_LINE_MAX, 0);
    if (len < 3 || line[0] != '#' || line[1] != '!')
        return NULL;
    line[len] = '\0';
    line[strcspn(line, "\n")] = '\0';
    for (char *word = strtok_r(line + 2, " \t", &save); word != NULL;
         word = strtok_r(NULL, " \t", &save))
        strv_push(&words, word);
    return words;
}

const char *path_type_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "a file";
    case S_IFDIR:
        return "a directory";
    case S_IFLNK:
        return "a symbolic link";
    case S_IFIFO:
        return "a FIFO";
    case S_IFSOCK:
        return "a socket";
    case S_IFCHR:
    case S_IFBLK:
        return "a device";
    default:
        return "of unknown type";
    }
}
