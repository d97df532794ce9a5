#include "store/workspace.h"

#include "base/id.h"
#include "os/file.h"
#include "os/path.h"

#include <sys/file.h>

enum { ENV_WAITS_S = 60 };

char *workspace_path(const struct root *root, const char *id, const char *part)
{
    return mem_printf("%s/%s/%s%s%s", root->path, ROOT_SESSIONS, id, part != NULL ? "/" : "",
                      part != NULL ? part : "");
}

bool workspace_is_ours(const struct root *root, const char *id, const char *claimed)
{
    struct stat st;

    if (strcmp(claimed, root->path) == 0)
        return true;
    /* a root that was moved no longer exists there, and its sessions moved with it */
    return claimed[0] == '/' && !root_exists(claimed) &&
           fstatat(root->sessions, id, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int workspace_open(const struct root *root, const char *id)
{
    return path_open_dir(root->sessions, id);
}

int workspace_lock(int dir, int wait_ms, const char *who, int *ret_fd, struct err *err)
{
    if (file_lock(dir, WORKSPACE_LOCK, wait_ms, who, ret_fd, err) == 0)
        return 0;
    return err->code == MAS_DAMAGED ? err_hint(err, "repair it with: mas doctor --fix") : -1;
}

const char *workspace_lock_fault(int dir)
{
    struct stat st;

    if (fstatat(dir, WORKSPACE_LOCK, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return NULL;
    if (!S_ISREG(st.st_mode))
        return path_type_name(st.st_mode);
    return st.st_nlink > 1 ? "a file with several names" : NULL;
}

int workspace_clear_lock(const struct root *root, int dir, struct err *err)
{
    _cleanup_close_ int lock = -1;

    if (root_lock(root, &lock, err) == -1)
        return -1;
    if (workspace_lock_fault(dir) == NULL) /* another process removed it first */
        return 0;
    int fd = openat(dir, WORKSPACE_LOCK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    /* a process holds it: it got its other names later */
    bool is_held = fd != -1 && flock(fd, LOCK_EX | LOCK_NB) == -1;
    fd_closep(&fd);
    if (is_held)
        return err_set(err, MAS_CONFLICT, "cannot remove '%s': another command holds its lock",
                       WORKSPACE_LOCK);
    if (unlinkat(dir, WORKSPACE_LOCK, 0) == -1 &&
        (errno != EISDIR || unlinkat(dir, WORKSPACE_LOCK, AT_REMOVEDIR) == -1))
        return err_errno(err, "cannot remove '%s'", WORKSPACE_LOCK);
    return 0;
}

bool workspace_is_locked(int dir)
{
    return file_is_locked(dir, WORKSPACE_LOCK);
}

void workspace_log(int dir, struct log_limits limits, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    _cleanup_close_ int logs = path_open_dir(dir, WORKSPACE_LOGS);
    if (logs != -1)
        log_text(logs, WORKSPACE_LOG, limits, text);
}

/* Uses the time of a file if it is newer. */
static void look_at(int dir, const char *name, time_t *newest)
{
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtim.tv_sec > *newest)
        *newest = st.st_mtim.tv_sec;
}

time_t workspace_activity(int dir)
{
    _cleanup_close_ int logs = path_open_dir(dir, WORKSPACE_LOGS);
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;
    time_t newest = 0;

    look_at(dir, WORKSPACE_MEMORY, &newest);
    look_at(dir, WORKSPACE_MEMORY "-wal", &newest);
    if (logs != -1)
        (void)path_list(logs, &names, &ignored);
    for (char **name = names; name != NULL && *name != NULL; name++)
        if (strcmp(*name, WORKSPACE_LOG) != 0) /* whatever is done to the session is there */
            look_at(logs, *name, &newest);
    return newest;
}

bool workspace_env_is_recent(time_t when)
{
    time_t age = time(NULL) - when;
    return age < ENV_WAITS_S && age > -ENV_WAITS_S; /* a clock may be set back */
}

bool workspace_env_waits(int dir)
{
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    struct stat st;
    return run != -1 && fstatat(run, WORKSPACE_ENV, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           workspace_env_is_recent(st.st_mtime);
}

int trash_put_away(const struct root *root, const char *path, char fresh[ENTRY_NAME],
                   struct err *err)
{
    char id[ID_TEXT];

    if (id_make(id, err) == -1)
        return -1;
    (void)snprintf(fresh, ENTRY_NAME, TRASH_PREFIX "%s", id);
    if (renameat(root->sessions, path, root->sessions, fresh) == -1)
        return err_errno(err, "cannot move '%s' aside", path);
    return 0;
}
