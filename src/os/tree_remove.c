/*
 * Removes a tree: goes down, deletes the entries there, and goes up again.
 */
#include "os/thread.h"
#include "os/tree.h"
#include "os/tree_walk.h"

#include <dirent.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <sys/vfs.h>

enum {
    PASSES_MAX = 16, /* over a directory that another process keeps filling */
    ALONE_TREES = 8, /* from this number on, a second thread is worth starting */
};

struct removal {
    struct walk walk;
    int at; /* the directory that contains the tree */
    const char *last; /* in the top: removed after everything else; NULL: none */
    char
        aside[NAME_MAX + 1]; /* in `at`: what a file is called before it is removed; "": as it is */
    struct tree_meter *meter; /* measures what is removed; NULL: not needed */
    uint64_t dirs; /* bytes of the removed directories */
    const char *culprit; /* the entry that caused the failure, NULL for the lowest level */
    char culprit_name[NAME_MAX + 1];
};

/* Returns the directory that contains the lowest level. */
static int removal_parent(const struct removal *r)
{
    return r->walk.count > 1 ? r->walk.levels[r->walk.count - 2].fd : r->at;
}

/* unlinkat() that first makes a directory of the tree writable; a missing entry is success. */
static int unlink_in(int fd, const char *name, int flags, bool ours)
{
    int r = unlinkat(fd, name, flags);

    if (r == -1 && errno == EACCES && ours && fchmod(fd, S_IRWXU) == 0)
        r = unlinkat(fd, name, flags);
    return r == -1 && errno == ENOENT ? 0 : r;
}

static int open_for_removal(int at, const char *name, bool ours)
{
    int fd = walk_open(at, name);

    if (fd != -1 || errno != EACCES)
        return fd;
    if (ours)
        (void)fchmod(at, S_IRWXU);
    (void)fchmodat(at, name, S_IRWXU, AT_SYMLINK_NOFOLLOW);
    return walk_open(at, name);
}

/* NFS and FUSE keep a removed file that is open, such as the lock that covers the removal, under
 * another name beside it until it is closed, which holds the directory. NFS lets nobody move or
 * remove that. So there, files leave the tree before they are removed: this sets their name. */
static void set_aside(struct removal *r, int fd, const char *name)
{
    struct statfs fs;

    if (fstatfs(fd, &fs) == 0 && (fs.f_type == NFS_SUPER_MAGIC || fs.f_type == FUSE_SUPER_MAGIC) &&
        strlen(name) + sizeof(TREE_ASIDE) <= sizeof(r->aside))
        (void)snprintf(r->aside, sizeof(r->aside), "%s" TREE_ASIDE, name);
}

/* Removes a file of the lowest level. */
static int unlink_entry(const struct removal *r, int fd, const char *name)
{
    if (r->aside[0] != '\0') {
        int moved = renameat(fd, name, r->at, r->aside);
        if (moved == -1 && errno == EACCES && fchmod(fd, S_IRWXU) == 0)
            moved = renameat(fd, name, r->at, r->aside);
        if (moved == 0)
            return unlink_in(r->at, r->aside, 0, false);
    }
    return unlink_in(fd, name, 0, true);
}

/* Returns true for a directory. Without a type in the list, only a file that is to be moved first
 * has to be looked at: a directory is not unlinked, but would be moved. */
static bool is_dir(const struct removal *r, int fd, const struct dirent64 *entry)
{
    struct stat st;

    if (entry->d_type != DT_UNKNOWN || r->aside[0] == '\0')
        return entry->d_type == DT_DIR;
    return fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int remove_entry(int fd, const struct dirent64 *entry, void *arg)
{
    struct removal *r = arg;

    if (is_dir(r, fd, entry))
        return 1;
    if (r->last != NULL && r->walk.count == 1 && strcmp(entry->d_name, r->last) == 0)
        return 0;
    if (r->meter != NULL && walk_lowest(&r->walk)->passes == 1)
        tree_measure_file(r->meter, fd, entry->d_name);
    if (unlink_entry(r, fd, entry->d_name) == 0)
        return 0;
    if (errno == EISDIR)
        return 1;
    /* The list that contains the name does not live as long as the message. */
    size_t len = strlen(entry->d_name);
    len = len < sizeof(r->culprit_name) ? len : sizeof(r->culprit_name) - 1;
    memcpy(r->culprit_name, entry->d_name, len);
    r->culprit_name[len] = '\0';
    r->culprit = r->culprit_name;
    return -1;
}

/* Enters a subdirectory of the lowest level, or skips it if it is no longer a directory. */
static int remove_down(struct removal *r, const char *name)
{
    int above = walk_lowest(&r->walk)->fd;
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

/* Removes the emptied lowest level and goes up. */
static int remove_up(struct removal *r)
{
    struct walk *walk = &r->walk;
    struct level *level = walk_lowest(walk);

    if (walk_reopen(walk) == -1 &&
        (errno != EACCES || fchmod(level->fd, S_IRWXU) == -1 || walk_reopen(walk) == -1))
        return -1;
    if (walk->count == 1 && r->last != NULL) {
        if (r->meter != NULL)
            tree_measure_file(r->meter, level->fd, r->last);
        (void)unlink_entry(r, level->fd, r->last);
        r->last = NULL; /* if it still exists, treat it like any other entry */
    }
    if (unlink_in(removal_parent(r), level->name, AT_REMOVEDIR, walk->count > 1) == 0) {
        r->dirs += level->bytes;
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

        if (walk_lowest(walk)->passes == 0 && walk_read(walk, remove_entry, r) == -1)
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

static int remove_tree(struct removal *r, const char *name, struct err *err)
{
    if (name[0] == '\0' || walk_is_dot(name) || strchr(name, '/') != NULL) {
        errno = EINVAL;
        return remove_error(r, name, err);
    }
    int fd = open_for_removal(r->at, name, false);
    if (fd == -1 && (errno == ENOTDIR || errno == ELOOP || errno == ENOENT) &&
        unlink_in(r->at, name, 0, false) == 0)
        return 0;
    if (fd == -1)
        return remove_error(r, name, err);
    set_aside(r, fd, name);

    int result =
        walk_down(&r->walk, fd, name) == -1 || remove_all(r) == -1 ? remove_error(r, name, err) : 0;
    walk_release(&r->walk);
    return result;
}

int tree_remove(int at, const char *name, struct err *err)
{
    struct removal r = {.at = at};
    return remove_tree(&r, name, err);
}

int tree_remove_path(const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    _cleanup_free_ char *dir = mem_dupn(path, (size_t)(slash + 1 - path));
    _cleanup_close_ int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return at == -1 ? err_errno(err, "cannot open '%s'", dir) : tree_remove(at, slash + 1, err);
}

/* Shared by two threads that remove several trees. */
struct removals {
    int at;
    const char *last;
    struct tree_removal *items;
    size_t count;
    atomic_size_t next;
};

static void *remove_some(void *arg)
{
    struct removals *all = arg;
    size_t i;

    while ((i = atomic_fetch_add(&all->next, 1)) < all->count) {
        struct tree_removal *item = &all->items[i];
        _cleanup_meter_ struct tree_meter *meter = tree_meter_new();
        struct removal r = {.at = all->at, .last = all->last, .meter = meter};
        item->failed = remove_tree(&r, item->name, &item->err) == -1;
        item->freed = r.dirs + tree_meter_own(meter);
    }
    return NULL;
}

void tree_remove_many(int at, const char *last, struct tree_removal *items, size_t count)
{
    struct removals all = {.at = at, .last = last, .items = items, .count = count};
    pthread_t thread;
    bool helped = count >= ALONE_TREES && thread_start(&thread, remove_some, &all);

    (void)remove_some(&all);
    if (helped)
        (void)pthread_join(thread, NULL);
}
