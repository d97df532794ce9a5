#include "code/carried.h"

#include "git/git.h"
#include "git/layout.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"

#define SUFFIX ".git"
#define KEY_HOME "mas.home"

enum { LOCK_MS = 30000 };

bool carried_is_name(const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_.-";
    size_t len = strlen(name);

    return len > 0 && len <= CARRIED_NAME_MAX && strspn(name, plain) == len && name[0] != '.' &&
           name[0] != '-';
}

char *carried_path(const struct root *root, const char *name)
{
    return mem_printf("%s/" CARRIED_DIR "/%s" SUFFIX, root->path, name);
}

char *carried_name(const struct root *root, const char *path)
{
    _cleanup_free_ char *dir = mem_printf("%s/" CARRIED_DIR "/", root->path);

    if (!str_starts(path, dir) || !str_ends(path, SUFFIX))
        return NULL;
    const char *name = path + strlen(dir);
    _cleanup_free_ char *ret = mem_dupn(name, strlen(name) - strlen(SUFFIX));
    return carried_is_name(ret) ? TAKE_PTR(ret) : NULL;
}

char *carried_place(const char *path)
{
    const struct git git = {.dir = path};
    struct err ignored = ERR_INIT;
    char *place = NULL;

    return git_text(&git, GIT_ARGS("config", "--get", KEY_HOME), &place, &ignored) == 0
               ? place
               : mem_dup("another machine");
}

/* Whatever the person has configured, nothing of it runs when something is pushed. */
static void make_config(const struct carried *carried, struct str *to)
{
    layout_begin(to, carried->format, true);
    layout_set(to, "hooksPath", "/dev/null");
    layout_set_user(to, carried->user_name, carried->user_email);
    layout_set(to, "gc", NULL);
    layout_set(to, "auto", "0");
    layout_set(to, "transfer", NULL);
    layout_set(to, "fsckObjects", "true");
    layout_set(to, "receive", NULL);
    layout_set(to, "fsckObjects", "true");
    layout_set(to, "autogc", "false");
    layout_set(to, "mas", NULL);
    layout_set(to, "home", carried->place);
}

static int make_new(int dir, const char *name, const struct str *config, struct err *err)
{
    static const char head[] = "ref: " CARRIED_HEAD "\n";
    _cleanup_free_ char *stage = mem_printf(".new-%s", name);

    if (tree_remove(dir, stage, err) == -1)
        return -1;
    _cleanup_close_ int to = path_make_dir(dir, stage, 0700);
    if (to == -1)
        return err_errno(err, "cannot make '%s'", stage);
    if (layout_make(to, head, config, err) == -1)
        return -1;
    return file_sync_all(to) == -1 || renameat(dir, stage, dir, name) == -1 || fsync(dir) == -1
               ? err_errno(err, "cannot make '%s'", name)
               : 0;
}

int carried_make(const struct root *root, const struct carried *carried, char **ret,
                 struct err *err)
{
    _cleanup_free_ char *name = mem_printf("%s" SUFFIX, carried->name);
    _cleanup_str_ struct str config = STR_INIT;
    _cleanup_close_ int lock = -1;
    struct stat st;

    if (mkdirat(root->fd, CARRIED_DIR, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot make '%s/" CARRIED_DIR "'", root->path);
    _cleanup_close_ int dir = path_open_dir(root->fd, CARRIED_DIR);
    if (dir == -1)
        return err_errno(err, "cannot open '%s/" CARRIED_DIR "'", root->path);
    if (file_lock(dir, ".lock", LOCK_MS, "new", &lock, err) == -1)
        return err_wrap(err, "cannot make '%s/" CARRIED_DIR "/%s'", root->path, name);
    make_config(carried, &config);
    int rc = 0;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1) {
        rc = make_new(dir, name, &config, err);
    } else {
        _cleanup_close_ int at = path_open_dir(dir, name);
        rc = at == -1 ? err_errno(err, "cannot open '%s'", name)
                      : file_replace(at, "config", config.data, config.len, 0644, err);
    }
    if (rc == 0)
        *ret = carried_path(root, carried->name);
    return rc;
}

static bool is_below(const char *branch, const char *other)
{
    return str_starts(branch, other) && branch[strlen(other)] == '/';
}

int carried_make_room(const char *path, const char *branch, struct err *err)
{
    const struct git git = {.dir = path};
    _cleanup_free_ char *ref = mem_printf("refs/heads/%s", branch);
    _cleanup_free_ char *list = NULL;

    if (git_text(&git, GIT_ARGS("for-each-ref", "--format=%(refname)", "refs/heads/"), &list,
                 err) == -1)
        return -1;
    for (char *next = list, *other; (other = strsep(&next, "\n")) != NULL;)
        if ((is_below(ref, other) || is_below(other, ref)) &&
            git_must(&git, GIT_ARGS("update-ref", "-d", other), NULL, NULL, err) == -1)
            return -1;
    return 0;
}
