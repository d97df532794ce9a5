/* Packs that come in parts. Two processes that append write the same bytes to the same places. */
#include "code/land/carried.h"
#include "git/git.h"
#include "os/file.h"
#include "os/path.h"

#define INCOMING "incoming-"

enum { PIECE = 1 << 16 /* bytes */ };

int carried_refs(const char *path, char **ret, struct err *err)
{
    const struct git git = {.dir = path};
    _cleanup_free_ char *count = mem_printf("--count=%d", CARRIED_REFS_MAX);

    return git_text(
        &git,
        GIT_ARGS("for-each-ref", "--sort=-creatordate", count, "--format=%(objectname) %(refname)"),
        ret, err);
}

static int open_repository(const char *path, struct err *err)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return dir == -1 ? err_errno(err, "cannot open '%s'", path) : dir;
}

int carried_pack_begun(const char *path, const char *sum, off_t *ret, struct err *err)
{
    _cleanup_free_ char *own = mem_printf(INCOMING "%s", sum);
    _cleanup_close_ int dir = open_repository(path, err);
    _cleanup_strv_ char **names = NULL;
    struct stat st;

    if (dir == -1 || path_list(dir, &names, err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++)
        if (str_starts(*name, INCOMING) && strcmp(*name, own) != 0)
            (void)unlinkat(dir, *name, 0);
    *ret = fstatat(dir, own, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_size : 0;
    return 0;
}

/* Copies what comes, at most up to `len`. */
static int take_bytes(int fd, off_t at, off_t len)
{
    char piece[PIECE];

    while (at < len) {
        size_t room = len - at < PIECE ? (size_t)(len - at) : PIECE;
        ssize_t n = read(STDIN_FILENO, piece, room);
        if (n == -1 && errno == EINTR)
            continue;
        if (n <= 0)
            return (int)n;
        if (lseek(fd, at, SEEK_SET) == -1 || file_write_all(fd, piece, (size_t)n) == -1)
            return -1;
        at += n;
    }
    return 0;
}

int carried_pack_take(const char *path, const char *sum, off_t from, off_t len, bool *ret,
                      struct err *err)
{
    _cleanup_free_ char *name = mem_printf(INCOMING "%s", sum);
    _cleanup_close_ int dir = open_repository(path, err);
    struct stat st;

    if (dir == -1)
        return -1;
    _cleanup_close_ int fd =
        openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd == -1 || fstat(fd, &st) == -1)
        return err_errno(err, "cannot open '%s/%s'", path, name);
    if (!S_ISREG(st.st_mode) || from > st.st_size || len < st.st_size)
        return err_set(err, MAS_CONFLICT, "what has come to '%s/%s' is not what is sent", path,
                       name);
    if (take_bytes(fd, from, len) == -1 || fstat(fd, &st) == -1)
        return err_errno(err, "cannot write '%s/%s'", path, name);
    *ret = st.st_size == len;
    return *ret && (lseek(fd, 0, SEEK_SET) == -1 || dup2(fd, STDIN_FILENO) == -1)
               ? err_errno(err, "cannot read '%s/%s'", path, name)
               : 0;
}

int carried_pack_end(const char *path, const char *sum, const char *commit, struct err *err)
{
    const struct git git = {.dir = path};
    _cleanup_free_ char *file = mem_printf("%s/" INCOMING "%s", path, sum);

    (void)unlink(file);
    /* a ref must name nothing of which a part is missing */
    return git_must(&git, GIT_ARGS("rev-list", "--quiet", "--objects", commit, "--not", "--all"),
                    NULL, NULL, err) == -1
               ? -1
               : git_must(&git, GIT_ARGS("update-ref", CARRIED_HEAD, commit), NULL, NULL, err);
}
