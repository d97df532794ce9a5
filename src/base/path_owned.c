/* The part of base/path.h that checks who else can change where a path leads. */
#include "base/path.h"

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
