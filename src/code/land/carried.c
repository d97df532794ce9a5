/*
 * The configuration of such a repository is made by mas, so that nothing runs when something is
 * pushed and git checks each object, whatever the person has configured; it is written again if it
 * differs. The lock of a parcel is taken under that of projects/ and held as long as the parcel is
 * needed, so a sweep knows those of killed processes by their free locks.
 */

#include "code/land/carried.h"

#include "base/sha.h"
#include "code/land/parcel.h"
#include "git/git.h"
#include "git/layout.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"

#define KEY_HOME "mas.home"
#define FILES ".files-"

enum { LOCK_MS = 30000, PIECE = 1 << 16 /* bytes */ };

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
    return mem_printf("%s/" CARRIED_DIR "/%s" CARRIED_SUFFIX, root->path, name);
}

char *carried_name(const struct root *root, const char *path)
{
    _cleanup_free_ char *dir = mem_printf("%s/" CARRIED_DIR "/", root->path);

    if (!str_starts(path, dir) || !str_ends(path, CARRIED_SUFFIX))
        return NULL;
    const char *name = path + strlen(dir);
    _cleanup_free_ char *ret = mem_dupn(name, strlen(name) - strlen(CARRIED_SUFFIX));
    return carried_is_name(ret) ? TAKE_PTR(ret) : NULL;
}

bool carried_is(const char *path)
{
    static const char head[] = "ref: " CARRIED_HEAD "\n";
    _cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return dir != -1 && file_is(dir, "HEAD", head, strlen(head));
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

    if (git_check(err) == -1 || tree_remove(dir, stage, err) == -1)
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

/* Writes the configuration again, if it is to be another one. */
static int configure(int dir, const char *name, const struct str *config, struct err *err)
{
    _cleanup_close_ int at = path_open_dir(dir, name);

    if (at == -1)
        return err_errno(err, "cannot open '%s'", name);
    return file_is(at, "config", config->data, config->len)
               ? 0
               : file_replace(at, "config", config->data, config->len, 0644, err);
}

/* Opens the directory, which is made if it is missing, and locks it. */
static int open_dir(const struct root *root, int *ret_lock, struct err *err)
{
    if (mkdirat(root->fd, CARRIED_DIR, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot make '%s/" CARRIED_DIR "'", root->path);
    _cleanup_close_ int dir = path_open_dir(root->fd, CARRIED_DIR);
    if (dir == -1)
        return err_errno(err, "cannot open '%s/" CARRIED_DIR "'", root->path);
    return file_lock(dir, ".lock", LOCK_MS, "new", ret_lock, err) == -1
               ? err_wrap(err, "cannot lock '%s/" CARRIED_DIR "'", root->path)
               : TAKE_FD(dir);
}

/* Removes parcels whose process was killed. */
static void sweep(int dir)
{
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;

    if (path_list(dir, &names, &ignored) == -1)
        return;
    for (char **name = names; *name != NULL; name++)
        if (str_starts(*name, FILES) && !file_is_locked(dir, *name))
            (void)unlinkat(dir, *name, 0);
}

int carried_make(const struct root *root, const struct carried *carried, char **ret,
                 struct err *err)
{
    _cleanup_free_ char *name = mem_printf("%s" CARRIED_SUFFIX, carried->name);
    _cleanup_str_ struct str config = STR_INIT;
    _cleanup_close_ int lock = -1;
    _cleanup_close_ int dir = open_dir(root, &lock, err);
    struct stat st;

    if (dir == -1)
        return -1;
    sweep(dir);
    make_config(carried, &config);
    int rc = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1
                 ? make_new(dir, name, &config, err)
                 : configure(dir, name, &config, err);
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

/* ---- parcels */

/* Copies exactly `len` bytes. Fails with EPIPE if there are fewer. */
static int copy_bytes(int from, int to, size_t len, char sum[SHA256_TEXT])
{
    struct sha256 state = sha256_begin();
    char piece[PIECE];

    while (len > 0) {
        ssize_t n = read(from, piece, len < sizeof piece ? len : sizeof piece);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EPIPE;
        if (n <= 0 || file_write_all(to, piece, (size_t)n) == -1)
            return -1;
        sha256_add(&state, piece, (size_t)n);
        len -= (size_t)n;
    }
    sha256_hex(&state, sum);
    return 0;
}

int carried_hold(const struct root *root, const char *id, size_t len, const char *sum, int from,
                 int *ret_lock, struct err *err)
{
    _cleanup_free_ char *name = mem_printf(FILES "%s", id);
    _cleanup_close_ int lock = -1;
    _cleanup_close_ int held = -1;
    char got[SHA256_TEXT] = "";
    _cleanup_close_ int dir = open_dir(root, &lock, err);

    /* a sweep sees it locked */
    if (dir == -1 || file_lock(dir, name, LOCK_TRY, "", &held, err) == -1)
        return dir == -1 ? -1 : err_wrap(err, "cannot take the files that git ignores");
    fd_closep(&lock);
    int rc = fchmod(held, 0600) == -1 || ftruncate(held, 0) == -1 ||
                     copy_bytes(from, held, len, got) == -1
                 ? err_errno(err, "cannot take the files that git ignores")
                 : 0;
    if (rc == 0 && strcmp(got, sum) != 0)
        rc = err_set(err, MAS_DAMAGED, "the files that git ignores have not come as they are");
    if (rc == -1)
        (void)unlinkat(dir, name, 0);
    else
        *ret_lock = TAKE_FD(held);
    return rc;
}

int carried_read(const struct root *root, const char *id, char **ret, size_t *ret_len,
                 struct err *err)
{
    _cleanup_free_ char *name = mem_printf(CARRIED_DIR "/" FILES "%s", id);
    int rc = file_read_if_there(root->fd, name, PARCEL_MAX, ret, ret_len, err);

    if (rc == 0)
        (void)err_set(err, MAS_CONFLICT, "the files that git ignores have not come");
    return rc == 1 ? 0 : -1;
}

void carried_drop(const struct root *root, const char *id)
{
    _cleanup_free_ char *name = mem_printf(CARRIED_DIR "/" FILES "%s", id);

    (void)unlinkat(root->fd, name, 0);
}
