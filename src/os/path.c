/*
 * Most functions take an open directory and a name in it and answer with errno, like the calls that
 * they stand around; those with an `err` are for callers that would only print it. The parts:
 * opening and making, who else can change where a path leads, and renaming without replacing
 * anything.
 */

#include "os/path.h"

#include <dirent.h>
#include <linux/fs.h>
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

bool path_is_mount(int dir, const char *name)
{
    struct statx st;

    return syscall(SYS_statx, dir, name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) == 0 &&
           (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
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

enum { LINKS_MAX = 40 };

/* A path while it is being resolved. */
struct path_walk {
    char *at; /* the last checked directory, "" for the root */
    char *rest; /* the components still to follow from there */
    uid_t top; /* owner of the root directory: not 0 in a user namespace */
    size_t links;
};

static bool is_trusted(const struct path_walk *walk, uid_t uid)
{
    return uid == 0 || uid == walk->top || uid == geteuid();
}

/* Checks that others cannot replace a directory, link or file in `path`. In a sticky directory they
 * can replace only their own entries, but they can be the first to use a name. */
static int check_directory(const struct path_walk *walk, const char *path, const struct stat *st,
                           bool last, struct err *err)
{
    const char *shown = path[0] != '\0' ? path : "/";

    if (!is_trusted(walk, st->st_uid))
        return err_set(err, MAS_FAILED, "'%s' belongs to user %ld", shown, (long)st->st_uid);
    if ((st->st_mode & (S_IWGRP | S_IWOTH)) == 0 || ((st->st_mode & S_ISVTX) != 0 && !last))
        return 0;
    (void)err_set(err, MAS_FAILED, "others may write to '%s'", shown);
    if (last && (st->st_mode & S_ISVTX) != 0)
        return -1;
    _cleanup_free_ char *name = mem_name(shown);
    return err_hint(err, "chmod go-w %s", name);
}

/* Cuts off the next component; false at the end. */
static bool next_name(struct path_walk *walk, char name[NAME_MAX + 1])
{
    const char *from = walk->rest + strspn(walk->rest, "/");
    size_t len = strcspn(from, "/");
    if (len == 0 || len > NAME_MAX)
        return false;
    memcpy(name, from, len);
    name[len] = '\0';
    char *rest = mem_dup(from + len);
    free(walk->rest);
    walk->rest = rest;
    return true;
}

static int follow(struct path_walk *walk, const char *link, const struct stat *st, struct err *err)
{
    char target[PATH_MAX];
    ssize_t n = readlink(link, target, sizeof target - 1);

    if (!is_trusted(walk, st->st_uid))
        return err_set(err, MAS_FAILED, "'%s' belongs to user %ld", link, (long)st->st_uid);
    if (n == -1)
        return err_errno(err, "'%s'", link);
    if (walk->links++ == LINKS_MAX)
        return err_set(err, MAS_FAILED, "'%s' leads through too many symbolic links", link);
    target[n] = '\0';
    if (target[0] == '/')
        walk->at[0] = '\0';
    char *rest = mem_printf("%s/%s", target, walk->rest);
    free(walk->rest);
    walk->rest = rest;
    return 0;
}

/* Follows one component. Returns 1 if the path continues there, 0 if it is missing or not a
 * directory, or -1. */
static int step(struct path_walk *walk, const char *name, struct stat *st, struct err *err)
{
    char *slash = strrchr(walk->at, '/');

    if (strcmp(name, ".") == 0)
        return 1;
    if (strcmp(name, "..") == 0) {
        if (slash != NULL)
            *slash = '\0';
        return 1;
    }
    _cleanup_free_ char *path = mem_printf("%s/%s", walk->at, name);
    if (lstat(path, st) == -1)
        return errno == ENOENT || errno == ENOTDIR ? 0 : err_errno(err, "'%s'", path);
    if (S_ISLNK(st->st_mode))
        return follow(walk, path, st, err) == -1 ? -1 : 1;
    if (!S_ISDIR(st->st_mode))
        return 0;
    if (check_directory(walk, path, st, false, err) == -1)
        return -1;
    free(walk->at);
    walk->at = TAKE_PTR(path);
    return 1;
}

static int walk_all(struct path_walk *walk, struct err *err)
{
    char name[NAME_MAX + 1];
    struct stat st;

    if (lstat("/", &st) == -1)
        return err_errno(err, "'/'");
    walk->top = st.st_uid;
    if (check_directory(walk, "", &st, false, err) == -1)
        return -1;
    while (next_name(walk, name)) {
        int on = step(walk, name, &st, err);
        if (on == -1)
            return -1;
        if (on == 0 && walk->rest[strspn(walk->rest, "/")] != '\0')
            return 0; /* it leads nowhere */
    }
    const char *in = walk->at[0] != '\0' ? walk->at : "/";
    if (lstat(in, &st) == -1)
        return err_errno(err, "'%s'", in);
    return check_directory(walk, walk->at, &st, true, err);
}

int path_check_owned(const char *path, struct err *err)
{
    struct path_walk walk = {.at = mem_dup(""), .rest = mem_dup(path)};
    int rc = walk_all(&walk, err);

    free(walk.at);
    free(walk.rest);
    return rc;
}

int path_check_mine(int dir, const char *path, struct err *err)
{
    struct stat st;

    if (fstat(dir, &st) == -1)
        return err_errno(err, "cannot use '%s'", path);
    if (st.st_uid != geteuid())
        return err_set(err, MAS_FAILED, "cannot use '%s': it belongs to user %ld", path,
                       (long)st.st_uid);
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return err_set(err, MAS_FAILED, "cannot use '%s': others may write to it", path);
    return 0;
}

/* Returns true if the last call failed because the file system knows no flags of renameat2(), or
 * the kernel has no such call. */
static bool has_no_flags(void)
{
    return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
}

/* Returns true if a file cannot have a second name there. */
static bool has_no_links(void)
{
    return errno == EPERM || errno == EMLINK || errno == ENOSYS || errno == EOPNOTSUPP;
}

/* A rename replaces an empty directory at most: all else that came after the look makes it fail. */
static int rename_after_look(int from, const char *name, int to, const char *new_name)
{
    struct stat st;

    if (fstatat(to, new_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    if (errno != ENOENT)
        return -1;
    if (renameat(from, name, to, new_name) == 0)
        return 0;
    if (errno == ENOTEMPTY)
        errno = EEXIST;
    return -1;
}

int path_rename_new(int from, const char *name, int to, const char *new_name)
{
    struct stat st;

    if (syscall(SYS_renameat2, from, name, to, new_name, RENAME_NOREPLACE) == 0)
        return 0;
    if (!has_no_flags() || fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return -1;
    if (S_ISDIR(st.st_mode))
        return rename_after_look(from, name, to, new_name);
    if (linkat(from, name, to, new_name, 0) == 0)
        return unlinkat(from, name, 0);
    return has_no_links() ? rename_after_look(from, name, to, new_name) : -1;
}

int path_exchange(int dir, const char *name, const char *other, const char *spare)
{
    if (syscall(SYS_renameat2, dir, name, dir, other, RENAME_EXCHANGE) == 0)
        return 0;
    if (!has_no_flags() || renameat(dir, other, dir, spare) == -1)
        return -1;
    if (renameat(dir, name, dir, other) == 0)
        return renameat(dir, spare, dir, name);
    int saved = errno;
    (void)renameat(dir, spare, dir, other);
    errno = saved;
    return -1;
}

bool path_link_leads_out(const char *target, size_t level)
{
    bool down = false; /* a name was found */

    if (target[0] == '/')
        return true;
    while (*target != '\0') {
        size_t len = strcspn(target, "/");
        if (len == 2 && memcmp(target, "..", 2) == 0) {
            if (down || level == 0)
                return true;
            level--;
        } else if (len > 1 || (len == 1 && target[0] != '.')) {
            down = true;
        }
        target += len + (target[len] == '/');
    }
    return false;
}
