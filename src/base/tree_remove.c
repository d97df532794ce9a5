/*
 * Walking a tree down and up again to remove or to measure it. The way back is "..", checked
 * against what was there on the way down, so that any depth is walked with a few descriptors.
 */
#include "base/str.h"
#include "base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LIST_SIZE = 32 * 1024, /* bytes of directory entries read at once */
    OPEN_LEVELS = 16, /* the upper levels stay open, the others only while they are the lowest */
    PASSES_MAX = 16, /* over a directory that somebody else goes on filling */
};

/* A directory on the way down. */
struct level {
    int fd; /* -1 while closed */
    dev_t dev;
    ino_t ino;
    const char *name; /* in the level above */
    struct str subdirs; /* names, NUL after each */
    size_t next; /* offset of the next one */
    unsigned passes; /* how often it was read */
};

struct walk {
    struct level *levels;
    size_t count;
    size_t room;
    char *list; /* LIST_SIZE bytes for all levels in turn */
};

static struct level *lowest(const struct walk *walk)
{
    return &walk->levels[walk->count - 1];
}

static int open_dir(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Goes down to the directory open at `fd`, which the walk takes over. */
static int walk_down(struct walk *walk, int fd, const char *name)
{
    struct stat st;

    if (fstat(fd, &st) == -1) {
        fd_closep(&fd);
        return -1;
    }
    if (walk->count > OPEN_LEVELS) {
        fd_closep(&lowest(walk)->fd);
        lowest(walk)->fd = -1;
    }
    if (walk->count == walk->room) {
        walk->room = walk->room == 0 ? OPEN_LEVELS : walk->room * 2;
        walk->levels = mem_grow(walk->levels, walk->room, sizeof(*walk->levels));
    }
    walk->levels[walk->count++] =
        (struct level){.fd = fd, .dev = st.st_dev, .ino = st.st_ino, .name = name};
    return 0;
}

/* Opens the level above the lowest again, if it is not open. The lowest must be searchable. */
static int walk_reopen(struct walk *walk)
{
    struct stat st;

    if (walk->count < 2 || walk->levels[walk->count - 2].fd != -1)
        return 0;
    struct level *above = &walk->levels[walk->count - 2];
    _cleanup_close_ int fd = open_dir(lowest(walk)->fd, "..");
    if (fd == -1 || fstat(fd, &st) == -1)
        return -1;
    if (st.st_dev != above->dev || st.st_ino != above->ino) { /* it was moved */
        errno = ESTALE;
        return -1;
    }
    above->fd = fd;
    fd = -1;
    return 0;
}

static void walk_up(struct walk *walk)
{
    struct level *level = lowest(walk);

    fd_closep(&level->fd);
    str_free(&level->subdirs);
    walk->count--;
}

/* The next subdirectory noted in the lowest level, or NULL. */
static const char *walk_next(struct walk *walk)
{
    struct level *level = lowest(walk);

    if (level->next >= level->subdirs.len)
        return NULL;
    const char *name = level->subdirs.data + level->next;
    level->next += strlen(name) + 1;
    return name;
}

static void walk_release(struct walk *walk)
{
    while (walk->count > 0)
        walk_up(walk);
    free(walk->levels);
    free(walk->list);
}

static bool is_dot(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* Calls `each` for the entries of the lowest level, notes subdirectories where it says so (1) and
 * ends where it fails (-1). */
static int walk_read(struct walk *walk,
                     int (*each)(int fd, const struct dirent64 *entry, void *arg), void *arg)
{
    struct level *level = lowest(walk);
    ssize_t len;

    str_clear(&level->subdirs);
    level->next = 0;
    level->passes++;
    while ((len = getdents64(level->fd, walk->list, LIST_SIZE)) > 0) {
        const struct dirent64 *entry;
        for (ssize_t at = 0; at < len; at += entry->d_reclen) {
            entry = (const void *)(walk->list + at);
            int r = is_dot(entry->d_name) ? 0 : each(level->fd, entry, arg);
            if (r == -1)
                return -1;
            if (r == 1)
                str_addn(&level->subdirs, entry->d_name, strlen(entry->d_name) + 1);
        }
    }
    return len == 0 ? 0 : -1;
}

/* ---- removing */

struct removal {
    struct walk walk;
    int at; /* what the tree is in */
    const char *culprit; /* the entry that made it fail, NULL for the lowest level itself */
    char culprit_name[NAME_MAX + 1];
};

/* The directory that holds the lowest level. */
static int removal_parent(const struct removal *r)
{
    return r->walk.count > 1 ? r->walk.levels[r->walk.count - 2].fd : r->at;
}

/* unlinkat() that opens up the directory if it is one of the tree; missing is success. */
static int unlink_in(int fd, const char *name, int flags, bool ours)
{
    int r = unlinkat(fd, name, flags);

    if (r == -1 && errno == EACCES && ours && fchmod(fd, S_IRWXU) == 0)
        r = unlinkat(fd, name, flags);
    return r == -1 && errno == ENOENT ? 0 : r;
}

/* Opens a directory, but nothing that is mounted there: its content is not of the tree. */
static int open_same_mount(int at, const char *name)
{
    struct open_how how = {
        .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS,
    };
    long fd = syscall(SYS_openat2, at, name, &how, sizeof(how));

    if (fd == -1 && (errno == ENOSYS || errno == EPERM)) /* an old sandbox */
        return open_dir(at, name);
    return (int)fd;
}

static int open_for_removal(int at, const char *name, bool ours)
{
    int fd = open_same_mount(at, name);

    if (fd != -1 || errno != EACCES)
        return fd;
    if (ours)
        (void)fchmod(at, S_IRWXU);
    (void)fchmodat(at, name, S_IRWXU, AT_SYMLINK_NOFOLLOW);
    return open_same_mount(at, name);
}

static int remove_entry(int fd, const struct dirent64 *entry, void *arg)
{
    struct removal *r = arg;

    if (entry->d_type == DT_DIR)
        return 1;
    if (unlink_in(fd, entry->d_name, 0, true) == 0)
        return 0;
    if (errno == EISDIR)
        return 1;
    /* The list that the name is in does not live as long as the message. */
    size_t len = strlen(entry->d_name);
    len = len < sizeof(r->culprit_name) ? len : sizeof(r->culprit_name) - 1;
    memcpy(r->culprit_name, entry->d_name, len);
    r->culprit_name[len] = '\0';
    r->culprit = r->culprit_name;
    return -1;
}

/* Goes down into a subdirectory of the lowest level, or past it where it is none any more. */
static int remove_down(struct removal *r, const char *name)
{
    int above = lowest(&r->walk)->fd;
    int fd = open_for_removal(above, name, true);
    int result;

    if (fd == -1 && (errno == ENOTDIR || errno == ELOOP || errno == ENOENT))
        result = unlink_in(above, name, 0, true);
    else
        result = fd == -1 ? -1 : walk_down(&r->walk, fd, name);
    if (result == -1)
        r->culprit = name;
    return result;
}

/* Removes the lowest level, which was emptied, and goes up. */
static int remove_up(struct removal *r)
{
    struct walk *walk = &r->walk;
    struct level *level = lowest(walk);

    if (walk_reopen(walk) == -1 &&
        (errno != EACCES || fchmod(level->fd, S_IRWXU) == -1 || walk_reopen(walk) == -1))
        return -1;
    if (unlink_in(removal_parent(r), level->name, AT_REMOVEDIR, walk->count > 1) == 0) {
        walk_up(walk);
        return 0;
    }
    if ((errno != ENOTEMPTY && errno != EEXIST) || level->passes == PASSES_MAX)
        return -1;
    if (lseek(level->fd, 0, SEEK_SET) == -1)
        return -1;
    return walk_read(walk, remove_entry, r);
}

static int remove_all(struct removal *r)
{
    struct walk *walk = &r->walk;

    while (walk->count > 0) {
        const char *sub;

        if (lowest(walk)->passes == 0 && walk_read(walk, remove_entry, r) == -1)
            return -1;
        sub = walk_next(walk);
        if (sub != NULL ? remove_down(r, sub) == -1 : remove_up(r) == -1)
            return -1;
    }
    return 0;
}

static int remove_error(const struct removal *r, const char *name, struct err *err)
{
    int number = errno;
    _cleanup_str_ struct str path = STR_INIT;

    str_add(&path, name);
    for (size_t i = 1; i < r->walk.count && path.len < ERR_TEXT_MAX; i++)
        str_addf(&path, "/%s", r->walk.levels[i].name);
    if (r->culprit != NULL)
        str_addf(&path, "/%s", r->culprit);
    if (number == EXDEV)
        return err_set(err, MAS_FAILED, "cannot remove '%s': something is mounted there",
                       path.data);
    errno = number;
    return err_errno(err, "cannot remove '%s'", path.data);
}

int tree_remove(int at, const char *name, struct err *err)
{
    struct removal r = {.at = at};

    if (name[0] == '\0' || is_dot(name) || strchr(name, '/') != NULL) {
        errno = EINVAL;
        return remove_error(&r, name, err);
    }
    if (unlink_in(at, name, 0, false) == 0)
        return 0;
    int fd = errno == EISDIR ? open_for_removal(at, name, false) : -1;
    if (fd == -1)
        return remove_error(&r, name, err);

    r.walk.list = mem_grow(NULL, LIST_SIZE, 1);
    int result = walk_down(&r.walk, fd, name) == -1 || remove_all(&r) == -1
                     ? remove_error(&r, name, err)
                     : 0;
    walk_release(&r.walk);
    return result;
}

/* ---- measuring */

struct file_id {
    dev_t dev;
    ino_t ino; /* 0 where there is none */
};

/* The files with several links that were met: a hash table, at most half full. */
struct file_ids {
    struct file_id *slots;
    size_t room; /* a power of 2, or 0 */
    size_t count;
};

struct measure {
    struct tree_size size;
    struct file_ids met;
};

/* Where it is or belongs. */
static struct file_id *file_ids_slot(const struct file_ids *ids, dev_t dev, ino_t ino)
{
    uint64_t hash = ((uint64_t)ino ^ ((uint64_t)dev << 32)) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 32) & (ids->room - 1);

    while (ids->slots[at].ino != 0 && (ids->slots[at].ino != ino || ids->slots[at].dev != dev))
        at = (at + 1) & (ids->room - 1);
    return &ids->slots[at];
}

/* Returns false if it was there before. */
static bool file_ids_add(struct file_ids *ids, dev_t dev, ino_t ino)
{
    if (ids->count * 2 >= ids->room) {
        struct file_ids more = {.room = ids->room == 0 ? 64 : ids->room * 2, .count = ids->count};
        more.slots = mem_alloc(more.room * sizeof(*more.slots));
        for (size_t i = 0; i < ids->room; i++) {
            if (ids->slots[i].ino != 0)
                *file_ids_slot(&more, ids->slots[i].dev, ids->slots[i].ino) = ids->slots[i];
        }
        free(ids->slots);
        *ids = more;
    }
    struct file_id *slot = file_ids_slot(ids, dev, ino);
    if (slot->ino != 0)
        return false;
    *slot = (struct file_id){.dev = dev, .ino = ino};
    ids->count++;
    return true;
}

static int measure_entry(int fd, const struct dirent64 *entry, void *arg)
{
    struct measure *m = arg;
    struct stat st;

    if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return 0;
    if (!S_ISDIR(st.st_mode)) {
        m->size.files++;
        m->size.apparent += (uint64_t)st.st_size;
    }
    if (S_ISDIR(st.st_mode) || st.st_nlink < 2 || file_ids_add(&m->met, st.st_dev, st.st_ino))
        m->size.real += (uint64_t)st.st_blocks * 512;
    return S_ISDIR(st.st_mode) ? 1 : 0;
}

/* A way up that is barred costs the rest of the levels that are closed; the upper ones go on. */
static void measure_up(struct walk *walk)
{
    (void)walk_reopen(walk);
    do
        walk_up(walk);
    while (walk->count > 0 && lowest(walk)->fd == -1);
}

void tree_measure(int dir, struct tree_size *ret)
{
    struct walk walk = {.list = mem_grow(NULL, LIST_SIZE, 1)};
    struct measure m = {.met = {.slots = NULL}};
    int fd = open_dir(dir, "."); /* the offset of `dir` is the caller's */

    if (fd != -1)
        (void)walk_down(&walk, fd, NULL);
    while (walk.count > 0) {
        if (lowest(&walk)->passes == 0)
            (void)walk_read(&walk, measure_entry, &m);
        const char *sub = walk_next(&walk);
        if (sub == NULL) {
            measure_up(&walk);
        } else {
            fd = open_dir(lowest(&walk)->fd, sub);
            if (fd != -1)
                (void)walk_down(&walk, fd, sub);
        }
    }
    walk_release(&walk);
    free(m.met.slots);
    *ret = m.size;
}
