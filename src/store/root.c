/*
 * Finding a root, opening it, locking it, making it. A directory is checked through the descriptor
 * by which it is used from then on. root_init() holds a lock on the root's own directory, not on a
 * file in it, so that of several processes one makes it; mas.ini comes last, so what was killed
 * before is no root yet, and the next call completes it.
 */

#include "store/root.h"

#include "model/setting.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"
#include "store/mark.h"
#include "store/shipped.h"
#include "store/template_make.h"

#include <sys/file.h>

bool root_exists(const char *path)
{
    _cleanup_free_ char *file = mem_printf("%s/%s", path, ROOT_SETTINGS);
    return access(file, F_OK) == 0;
}

/* Returns the nearest directory with a mas.ini, from the current one upwards, or NULL. */
static char *find_above(void)
{
    char *at = getcwd(NULL, 0);
    while (at != NULL && at[0] == '/') {
        if (root_exists(at))
            return at;
        char *slash = strrchr(at, '/');
        if (slash == at && at[1] == '\0')
            break;
        slash[slash == at] = '\0'; /* "/home" becomes "/" */
    }
    free(at);
    return NULL;
}

const char *root_origin_name(enum root_origin origin)
{
    static const char *const names[] = {"--root", "MAS_ROOT", "current directory", "default"};
    return names[origin];
}

char *root_default_path(void)
{
    _cleanup_free_ char *data = path_user_dir("XDG_DATA_HOME", ".local/share");
    return data != NULL ? mem_printf("%s/mas", data) : NULL;
}

int root_find(const char *option, char **ret, enum root_origin *ret_origin, struct err *err)
{
    const char *set = getenv("MAS_ROOT");

    if (option != NULL && option[0] == '\0')
        return err_set(err, MAS_USAGE, "cannot use root '': it is empty");
    *ret_origin = option != NULL ? ROOT_OPTION : ROOT_ENV;
    *ret = mem_dup(option != NULL ? option : set != NULL && set[0] != '\0' ? set : NULL);
    if (*ret != NULL)
        return 0;
    *ret_origin = ROOT_ABOVE;
    *ret = find_above();
    if (*ret != NULL)
        return 0;
    *ret_origin = ROOT_DEFAULT;
    *ret = root_default_path();
    return *ret != NULL
               ? 0
               : err_set(err, MAS_FAILED, "cannot find a root: neither MAS_ROOT nor HOME is set");
}

/* Checks the owner: a directory that another user can write to may contain anything. */
static int check_owner(int fd, const char *name, const char *path, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) == -1)
        return err_errno(err, "cannot use root '%s': cannot examine %s", path, name);
    if (st.st_uid != geteuid()) {
        (void)err_set(err, MAS_FAILED,
                      "cannot use root '%s': %s belongs to user %ld, and mas runs as user %ld",
                      path, name, (long)st.st_uid, (long)geteuid());
        return err_hint(err, "run mas as its owner, or choose another root with --root");
    }
    return 0;
}

static int refuse_sessions(const char *path, const char *why, struct err *err)
{
    (void)err_set(err, MAS_FAILED, "cannot use root '%s': its sessions/ is not the one it had: %s",
                  path, why);
    return err_hint(
        err, "mount what belongs there; to begin with another one: rm '%s/" MARK_ROOT "'", path);
}

/* Makes the directory of the sessions, which the umask may close to others, never to its owner. */
static int make_sessions(int root)
{
    if (mkdirat(root, ROOT_SESSIONS, 0700) == -1)
        return -1;
    return fchmodat(root, ROOT_SESSIONS, 0755 & ~file_umask(), 0);
}

static int open_sessions(const struct root *root, int *ret, struct err *err)
{
    int fd = path_open_dir(root->fd, ROOT_SESSIONS);
    if (fd == -1 && errno == ENOENT) {
        const char *why = mark_fault(root->fd, -1);
        if (why != NULL)
            return refuse_sessions(root->path, why, err);
        if (make_sessions(root->fd) == -1 && errno != EEXIST)
            return err_errno(err, "cannot create '%s/%s'", root->path, ROOT_SESSIONS);
        fd = path_open_dir(root->fd, ROOT_SESSIONS);
    }
    if (fd == -1) {
        if (errno == ELOOP || errno == ENOTDIR)
            return err_set(err, MAS_FAILED, "cannot use root '%s': sessions is not a directory",
                           root->path);
        return err_errno(err, "cannot open '%s/%s'", root->path, ROOT_SESSIONS);
    }
    *ret = fd;
    return 0;
}

int root_open(const char *path, struct root *ret, struct err *err)
{
    _cleanup_root_ struct root root = ROOT_INIT;

    root.path = path_canonical(path);
    if (root.path == NULL || !root_exists(root.path)) {
        if (root.path != NULL || errno == ENOENT)
            (void)err_set(err, MAS_FAILED, "cannot use root '%s': %s", path,
                          root.path != NULL ? "it has no mas.ini" : "there is no such directory");
        else
            (void)err_errno(err, "cannot use root '%s'", path);
        _cleanup_free_ char *name = mem_name(path);
        return err_hint(err, "create it with: mas init %s", name);
    }
    if (str_has_control(root.path))
        return err_set(err, MAS_FAILED,
                       "cannot use root '%s': its path contains control characters", root.path);
    root.fd = open(root.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root.fd == -1)
        return err_errno(err, "cannot open root '%s'", path);
    if (check_owner(root.fd, "it", root.path, err) == -1 ||
        open_sessions(&root, &root.sessions, err) == -1 ||
        check_owner(root.sessions, ROOT_SESSIONS, root.path, err) == -1)
        return -1;
    root.accepted = true;
    root.strange = mark_fault(root.fd, root.sessions);
    *ret = root;
    root = (struct root)ROOT_INIT;
    return 0;
}

int root_check(const struct root *root, struct err *err)
{
    return root->strange == NULL ? 0 : refuse_sessions(root->path, root->strange, err);
}

void root_close(struct root *root)
{
    free(root->path);
    fd_closep(&root->fd);
    fd_closep(&root->sessions);
    *root = (struct root)ROOT_INIT;
}

static int lock_sessions(const struct root *root, int wait_ms, int *ret_fd, struct err *err)
{
    if (root_check(root, err) == -1)
        return -1;
    if (file_lock(root->sessions, ROOT_LOCK, wait_ms, "metadata", ret_fd, err) == -1)
        return err_wrap(err, "cannot lock the list of sessions");
    return 0;
}

int root_lock(const struct root *root, int *ret_fd, struct err *err)
{
    return lock_sessions(root, ROOT_LOCK_MS, ret_fd, err);
}

int root_try_lock(const struct root *root, int *ret_fd, struct err *err)
{
    return lock_sessions(root, LOCK_TRY, ret_fd, err);
}

/* Locks a directory until fd is closed. */
static int lock_dir(int fd, const char *path, struct err *err)
{
    while (flock(fd, LOCK_EX) == -1)
        if (errno != EINTR)
            return err_errno(err, "cannot lock root '%s'", path);
    return 0;
}

int root_check_private(const struct root *root, const char *name, const char *then, struct err *err)
{
    struct stat st;

    if (fstatat(root->sessions, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return errno == ENOENT ? 0 : err_errno(err, "cannot read '%s'", name);
    if (S_ISREG(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0)
        return 0;
    (void)err_set(err, MAS_DAMAGED,
                  "cannot use '%s/" ROOT_SESSIONS
                  "/%s': it is not a file that only you can read and write",
                  root->path, name);
    return err_hint(err, "%s", then);
}

int root_lock_templates(const struct root *root, int *ret_fd, struct err *err)
{
    /* open it again, so that this is not the lock of root->fd */
    _cleanup_close_ int fd = openat(root->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd == -1)
        return err_errno(err, "cannot open root '%s'", root->path);
    if (lock_dir(fd, root->path, err) == -1)
        return -1;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

/* Makes the template ROOT_OWN of what is in the directory, unless it has templates of its own. */
static void make_own(int root, const char *path, struct root_made *made)
{
    _cleanup_close_ int workflows = path_open_beneath(root, TEMPLATE_WORKFLOWS, PATH_PLACE);
    _cleanup_close_ int templates = path_open_dir(root, ROOT_TEMPLATES);
    _cleanup_shipped_ struct shipped shipped = SHIPPED_INIT;
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;

    if (workflows == -1 || !template_can_be_made(root) ||
        shipped_open(root, &shipped, &ignored) == -1 ||
        path_list(templates, &names, &ignored) == -1)
        return;
    for (char **name = names; *name != NULL; name++) {
        made->own = made->own || strcmp(*name, ROOT_OWN) == 0;
        if ((*name)[0] != '.' && strcmp(*name, ROOT_OWN) != 0 &&
            faccessat(shipped.from, *name, F_OK, 0) == -1)
            return;
    }
    /* one that is there was made before a kill */
    made->own = made->own ||
                template_make(root, path, templates, ROOT_OWN, NULL, NULL, &made->refused) == 0;
}

int root_init(const char *path, struct root_made *ret, struct err *err)
{
    struct root_made made = ROOT_MADE_INIT;

    if (str_has_control(path))
        return err_set(err, MAS_FAILED,
                       "cannot create root '%s': its path contains control characters", path);
    if (path_make_dirs(path, err) == -1)
        return -1;
    _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd == -1)
        return err_errno(err, "cannot create root '%s'", path);
    if (check_owner(fd, "it", path, err) == -1)
        return -1;
    if (lock_dir(fd, path, err) == -1) /* of several processes that do this at once, one succeeds */
        return -1;
    _cleanup_close_ int had = path_open_dir(fd, ROOT_SESSIONS);
    const char *why = mark_fault(fd, had);
    if (why != NULL)
        return refuse_sessions(path, why, err);
    if (shipped_give(fd, &made.any, err) == -1)
        return -1;
    if (make_sessions(fd) == 0) {
        made.any = true;
    } else if (errno != EEXIST) {
        return err_errno(err, "cannot create '%s/%s'", path, ROOT_SESSIONS);
    }
    if (faccessat(fd, ROOT_SETTINGS, F_OK, AT_SYMLINK_NOFOLLOW) == -1) {
        _cleanup_str_ struct str text = STR_INIT;
        make_own(fd, path, &made);
        setting_write_defaults(&text, made.own ? ROOT_OWN : NULL);
        if (file_replace(fd, ROOT_SETTINGS, text.data, text.len, 0644 & ~file_umask(), err) == -1)
            return err_wrap(err, "cannot create root '%s'", path);
        made.any = true;
    }
    *ret = made;
    return 0;
}
