/*
 * The part of wall/plan.h that opens what settings and presets name. A path leads where the user
 * wants it to as long as only the user could have put links into it. From the first directory on
 * that an agent of this root can write, no link is followed: it may be the work of any of them, and
 * this wall, or the next of the same agent, would let it out. What is opened so is what is mounted.
 */
#include "os/path.h"
#include "store/workspace.h"
#include "wall/plan_internal.h"

enum { LINKS_MAX = 40 };

/* How far a path has been followed. */
struct trail {
    int dir;
    struct str real; /* its path without links; "" is the root directory */
    char *rest; /* what is left of the path */
    bool is_written; /* an agent can write to the directory, or to one above it */
    int links; /* that were followed */
};

static void trail_end(struct trail *trail)
{
    fd_closep(&trail->dir);
    str_free(&trail->real);
    free(trail->rest);
}

static void note_written(const struct wall_plan *plan, const struct stat *st, struct trail *trail)
{
    for (size_t i = 0; i < plan->written_count; i++)
        trail->is_written |=
            plan->written[i].device == st->st_dev && plan->written[i].inode == st->st_ino;
}

/* Follows the link open at `fd`. */
static int follow(struct trail *trail, int fd)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(fd, "", target, sizeof target - 1);

    if (len <= 0 || ++trail->links > LINKS_MAX) {
        errno = ELOOP;
        return -1;
    }
    target[len] = '\0';
    char *rest = mem_printf("%s/%s", target, trail->rest);
    free(trail->rest);
    trail->rest = rest;
    if (target[0] != '/')
        return 0;
    fd_closep(&trail->dir);
    str_clear(&trail->real);
    trail->dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return trail->dir == -1 ? -1 : 0;
}

/* Takes one part of the path, in a directory that no agent can write. */
static int step(const struct wall_plan *plan, struct trail *trail)
{
    const char *at = trail->rest + strspn(trail->rest, "/");
    _cleanup_free_ char *part = mem_dupn(at, strcspn(at, "/"));
    struct stat st;

    memmove(trail->rest, at + strlen(part), strlen(at + strlen(part)) + 1);
    if (part[0] == '\0' || strcmp(part, ".") == 0)
        return 0;
    _cleanup_close_ int fd = openat(trail->dir, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd == -1 || fstat(fd, &st) == -1)
        return -1;
    if (S_ISLNK(st.st_mode))
        return follow(trail, fd);
    if (strcmp(part, "..") == 0) {
        const char *slash = trail->real.len > 0 ? strrchr(trail->real.data, '/') : NULL;
        _cleanup_free_ char *above = mem_dupn(
            str_text(&trail->real), slash != NULL ? (size_t)(slash - trail->real.data) : 0);
        str_clear(&trail->real);
        str_add(&trail->real, above);
    } else {
        str_addf(&trail->real, "/%s", part);
    }
    note_written(plan, &st, trail);
    fd_closep(&trail->dir);
    trail->dir = TAKE_FD(fd);
    return 0;
}

/* Opens the end of the path. */
static int arrive(struct trail *trail, int flags)
{
    const char *rest = trail->rest + strspn(trail->rest, "/");

    if (rest[0] != '\0') {
        str_addf(&trail->real, "/%s", rest);
        return path_open_beneath(trail->dir, rest, flags);
    }
    if ((flags & O_PATH) != 0)
        return fcntl(trail->dir, F_DUPFD_CLOEXEC, 3);
    /* by its descriptor, as it may be no directory */
    _cleanup_free_ char *self = mem_printf("/proc/self/fd/%d", trail->dir);
    return open(self, flags | O_CLOEXEC);
}

/* Returns it open, or -1 with errno; *ret_real is its path without links, unless that is NULL. */
static int open_along(const struct wall_plan *plan, const char *path, int flags, char **ret_real,
                      bool *ret_written)
{
    struct trail trail = {.dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
                          .rest = mem_dup(path)};
    int rc = trail.dir != -1 && path[0] == '/' ? 0 : -1;
    int fd = -1;

    while (rc == 0 && !trail.is_written && trail.rest[0] != '\0')
        rc = step(plan, &trail);
    if (rc == 0)
        fd = arrive(&trail, flags);
    int saved = errno;
    *ret_written = trail.is_written;
    if (fd != -1 && ret_real != NULL)
        *ret_real = mem_dup(trail.real.len > 0 ? trail.real.data : "/");
    trail_end(&trail);
    errno = saved;
    return fd;
}

int plan_open(struct wall_plan *plan, const char *path, int flags)
{
    bool is_written = false;
    int fd = open_along(plan, path, flags, NULL, &is_written);

    if (fd == -1 && is_written && (errno == ELOOP || errno == EXDEV)) {
        if (!strv_has(plan->left_out, path))
            strv_push(&plan->left_out, path);
        errno = ELOOP;
    }
    return fd;
}

void plan_tell_left_out(struct wall_plan *plan)
{
    size_t count = strv_len(plan->left_out);
    size_t around = strlen(plan->report.missing) + sizeof "; , , and 1000000 more";
    _cleanup_str_ struct str text = STR_INIT;

    if (count == 0)
        return;
    str_add(&text, "left out, as a link leads there that an agent may have made:");
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && around + text.len + strlen(plan->left_out[i]) > WALL_WHY_MAX) {
            str_addf(&text, ", and %zu more", count - i);
            break;
        }
        str_addf(&text, "%s %s", i > 0 ? "," : "", plan->left_out[i]);
    }
    plan_lack_too(plan, text.data);
}

bool plan_is_written(const struct wall_plan *plan, const char *path)
{
    bool is_written = false;
    int fd = open_along(plan, path, O_PATH, NULL, &is_written);

    fd_closep(&fd);
    return is_written;
}

char *plan_canonical(const struct wall_plan *plan, const char *path)
{
    bool is_written = false;
    char *real = NULL;
    int fd = open_along(plan, path, O_PATH, &real, &is_written);

    fd_closep(&fd);
    return real;
}

void plan_push_path(const struct wall_plan *plan, const char *path, char ***ret)
{
    const char *home = plan->user_home != NULL ? plan->user_home : plan->home;
    _cleanup_free_ char *whole = path[0] == '/' ? mem_dup(path)
                                 : home != NULL ? mem_printf("%s%s", home, path + 1)
                                                : NULL;

    if (whole != NULL)
        strv_push(ret, whole);
}

/* ---- what agents can write */

static void add_written(struct wall_plan *plan, const struct stat *st)
{
    if (!S_ISDIR(st->st_mode))
        return;
    plan->written = mem_grow(plan->written, plan->written_count + 1, sizeof *plan->written);
    plan->written[plan->written_count++] =
        (struct wall_written){.device = st->st_dev, .inode = st->st_ino};
}

/* Lists the paths that an agent of this preset can write. */
static void list_written(const struct wall_plan *plan, const struct wall_options *options,
                         char ***ret)
{
    for (char *const *path = options->write; path != NULL && *path != NULL; path++)
        plan_push_path(plan, *path, ret);
    for (size_t i = 0; i < options->home_count; i++) {
        _cleanup_free_ char *path = mem_printf("~/%s", options->home[i].path);
        if (options->home[i].kind == WALL_HOME_WRITE)
            plan_push_path(plan, path, ret);
    }
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void plan_find_written(struct wall_plan *plan, const struct wall_subject *subject)
{
    const struct config *config = subject->config;
    _cleanup_strv_ char **set = str_split_list(config_text(config, SETTING_WALL_WRITE));
    _cleanup_strv_ char **paths = NULL;
    struct stat st;

    if (fstat(subject->root->sessions, &st) == 0)
        add_written(plan, &st);
    if (fstatat(subject->root->fd, WORKSPACE_UNIT, &st, AT_SYMLINK_NOFOLLOW) == 0)
        add_written(plan, &st); /* of a session that an old version made */
    for (char **path = set; path != NULL && *path != NULL; path++)
        plan_push_path(plan, *path, &paths);
    for (size_t i = 0; i < config->preset_count; i++)
        list_written(plan, &config->presets[i].wall, &paths);
    if (paths != NULL) /* what is above comes first, so that it counts for what is below */
        qsort(paths, strv_len(paths), sizeof *paths, compare);
    for (char **path = paths; path != NULL && *path != NULL; path++) {
        bool is_written = false;
        _cleanup_close_ int fd = open_along(plan, *path, O_PATH, NULL, &is_written);
        if (fd != -1 && fstat(fd, &st) == 0)
            add_written(plan, &st);
    }
}
