/*
 * Only the upper levels stay open, and the lowest one; the others are opened again on the way up by
 * "..", whose inode has to be the one that was entered. Each directory is read whole before any of
 * its subdirectories is entered, so that one buffer does for all levels. walk_tree() is built on
 * the rest.
 */

#include "os/tree_walk.h"

#include "os/tree.h"

#include <dirent.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

enum {
    LIST_SIZE = 32 * 1024, /* bytes of directory entries per read */
    OPEN_LEVELS = 16, /* the upper levels stay open; others only while they are lowest */
};

struct level *walk_lowest(const struct walk *walk)
{
    return &walk->levels[walk->count - 1];
}

static int open_dir(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int walk_open(int at, const char *name)
{
    struct open_how how = {
        .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS,
    };
    long fd = syscall(SYS_openat2, at, name, &how, sizeof(how));

    if (fd == -1 && (errno == ENOSYS || errno == EPERM)) /* an old kernel or a sandbox */
        return open_dir(at, name);
    return (int)fd;
}

int walk_down(struct walk *walk, int fd, const char *name)
{
    struct stat st;

    if (fstat(fd, &st) == -1) {
        fd_closep(&fd);
        return -1;
    }
    if (walk->count > OPEN_LEVELS) {
        fd_closep(&walk_lowest(walk)->fd);
        walk_lowest(walk)->fd = -1;
    }
    if (walk->count == walk->room) {
        walk->room = walk->room == 0 ? OPEN_LEVELS : walk->room * 2;
        walk->levels = mem_grow(walk->levels, walk->room, sizeof(*walk->levels));
    }
    walk->levels[walk->count++] = (struct level){.fd = fd,
                                                 .dev = st.st_dev,
                                                 .ino = st.st_ino,
                                                 .bytes = (uint64_t)st.st_blocks * 512,
                                                 .name = name};
    return 0;
}

int walk_reopen(struct walk *walk)
{
    struct stat st;

    if (walk->count < 2 || walk->levels[walk->count - 2].fd != -1)
        return 0;
    struct level *above = &walk->levels[walk->count - 2];
    _cleanup_close_ int fd = open_dir(walk_lowest(walk)->fd, "..");
    if (fd == -1 || fstat(fd, &st) == -1)
        return -1;
    if (st.st_dev != above->dev || st.st_ino != above->ino) { /* it was moved */
        errno = ESTALE;
        return -1;
    }
    above->fd = TAKE_FD(fd);
    return 0;
}

void walk_up(struct walk *walk)
{
    struct level *level = walk_lowest(walk);

    fd_closep(&level->fd);
    str_free(&level->subdirs);
    walk->count--;
}

const char *walk_next(struct walk *walk)
{
    struct level *level = walk_lowest(walk);

    if (level->next >= level->subdirs.len)
        return NULL;
    const char *name = level->subdirs.data + level->next;
    level->next += strlen(name) + 1;
    return name;
}

void walk_release(struct walk *walk)
{
    while (walk->count > 0)
        walk_up(walk);
    free(walk->levels);
    free(walk->list);
}

bool walk_is_dot(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

int walk_read(struct walk *walk, walk_entry *each, void *arg)
{
    struct level *level = walk_lowest(walk);
    ssize_t len;

    if (walk->list == NULL)
        walk->list = mem_grow(NULL, LIST_SIZE, 1);
    str_clear(&level->subdirs);
    level->next = 0;
    level->passes++;
    while ((len = getdents64(level->fd, (void *)walk->list, LIST_SIZE)) > 0) {
        const struct dirent64 *entry;
        for (ssize_t at = 0; at < len; at += entry->d_reclen) {
            entry = (const void *)(walk->list + at);
            int r = walk_is_dot(entry->d_name) ? 0 : each(level->fd, entry, arg);
            if (r == -1)
                return -1;
            if (r == 1)
                str_addn(&level->subdirs, entry->d_name, strlen(entry->d_name) + 1);
        }
    }
    return len == 0 || errno == ENOENT ? 0 : -1; /* ENOENT: it was removed */
}

struct tree_walk {
    struct walk walk;
    struct str path; /* of the lowest level, below the top */
    walk_visit *visit;
    void *arg;
    bool ended;
};

/* Calls `visit` for an entry of the lowest level. */
static int visit(struct tree_walk *on, int dir, const char *name, mode_t type)
{
    size_t len = on->path.len;
    int number = errno;

    str_addf(&on->path, "%s%s", len > 0 ? "/" : "", name);
    errno = number;
    int rc = on->visit(dir, on->path.data, type, on->arg);
    on->path.len = len;
    on->path.data[len] = '\0';
    on->ended = on->ended || rc == -1;
    return rc;
}

static int visit_entry(int fd, const struct dirent64 *entry, void *arg)
{
    mode_t type = (mode_t)DTTOIF(entry->d_type);
    struct stat st;

    if (entry->d_type == DT_UNKNOWN)
        type = fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode & S_IFMT : 0;
    int rc = type != 0 ? visit(arg, fd, entry->d_name, type) : 0;
    return rc == 1 && !S_ISDIR(type) ? 0 : rc;
}

/* Enters a directory of the lowest level, whose path is that level's and its name. */
static void visit_dir(struct tree_walk *on, const char *name)
{
    int above = walk_lowest(&on->walk)->fd;
    int fd = walk_open(above, name);

    if (fd == -1 && (errno == ENOENT || errno == EXDEV))
        return;
    if (fd == -1 || walk_down(&on->walk, fd, name) == -1) {
        (void)visit(on, above, name, 0);
        return;
    }
    str_addf(&on->path, "%s%s", on->path.len > 0 ? "/" : "", name);
    if (walk_read(&on->walk, visit_entry, on) == -1 && !on->ended)
        (void)visit(on, walk_lowest(&on->walk)->fd, ".", 0);
}

void walk_tree(int top, walk_visit *visit_it, void *arg)
{
    struct tree_walk on = {.path = STR_INIT, .visit = visit_it, .arg = arg};
    int fd = open_dir(top, ".");

    if (fd == -1 || walk_down(&on.walk, fd, "") == -1 ||
        (walk_read(&on.walk, visit_entry, &on) == -1 && !on.ended))
        (void)visit(&on, top, ".", 0);
    while (!on.ended && on.walk.count > 0) {
        const char *name = walk_next(&on.walk);
        if (name != NULL) {
            visit_dir(&on, name);
            continue;
        }
        if (walk_reopen(&on.walk) == -1) {
            (void)visit(&on, walk_lowest(&on.walk)->fd, "..", 0);
            break;
        }
        walk_up(&on.walk);
        const char *slash = on.path.len > 0 ? strrchr(on.path.data, '/') : NULL;
        on.path.len = slash != NULL ? (size_t)(slash - on.path.data) : 0;
        if (on.path.data != NULL)
            on.path.data[on.path.len] = '\0';
    }
    walk_release(&on.walk);
    str_free(&on.path);
}

/* ---- the state of a tree: a sum over its entries, so their order does not matter */

enum {
    FINE_NS = 100 * 1000000, /* largest step of a clock finer than a second */
    COARSE_S = 3, /* largest step of any other clock */
};

struct state_walk {
    struct tree_state *state;
    bool shared;
    struct timespec now;
};

/* Makes sums of similar numbers differ. */
static uint64_t mix(uint64_t n)
{
    n = (n ^ (n >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    n = (n ^ (n >> 27)) * UINT64_C(0x94d049bb133111eb);
    return n ^ (n >> 31);
}

/* FNV-1a over the words, and over the same words mixed: two nearly independent sums. */
static void add_word(uint64_t hash[2], uint64_t word)
{
    const uint64_t prime = UINT64_C(0x100000001b3);

    hash[0] = (hash[0] ^ word) * prime;
    hash[1] = (hash[1] ^ mix(word)) * prime;
}

/* Returns true if a change made now gets a later time than this one. */
static bool is_settled(const struct state_walk *walk, const struct timespec *time)
{
    int64_t age_s = walk->now.tv_sec - time->tv_sec;

    if (time->tv_nsec == 0)
        return age_s > COARSE_S;
    return age_s > 1 ||
           (age_s >= 0 && age_s * 1000000000 + walk->now.tv_nsec - time->tv_nsec > FINE_NS);
}

static void add_entry(struct state_walk *walk, const struct stat *parent, const char *name,
                      const struct stat *st)
{
    bool linked =
        walk->shared && S_ISREG(st->st_mode) && (st->st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0;
    const struct timespec *changed = linked ? &st->st_mtim : &st->st_ctim;
    const uint64_t facts[] = {
        parent->st_dev,
        parent->st_ino,
        st->st_dev,
        st->st_ino,
        st->st_mode,
        S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size,
        (uint64_t)st->st_mtim.tv_sec,
        (uint64_t)st->st_mtim.tv_nsec,
        (uint64_t)changed->tv_sec,
        (uint64_t)changed->tv_nsec,
    };
    uint64_t hash[2] = {UINT64_C(0xcbf29ce484222325), UINT64_C(0x84222325cbf29ce4)};

    if (!is_settled(walk, changed))
        walk->state->unsettled = true;
    for (size_t i = 0; i < ARRAY_LEN(facts); i++)
        add_word(hash, facts[i]);
    for (const char *c = name; *c != '\0'; c++)
        add_word(hash, (unsigned char)*c);
    walk->state->sum[0] += mix(hash[0]);
    walk->state->sum[1] += mix(hash[1]);
}

/* Adds all entries of the directory open as `stream`, and lists its subdirectories, each with a
 * NUL. */
static int add_entries(struct state_walk *walk, DIR *stream, const struct stat *dir,
                       struct str *subdirs)
{
    const struct dirent *entry;
    struct stat st;

    for (errno = 0; (entry = readdir(stream)) != NULL; errno = 0) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (fstatat(dirfd(stream), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1)
            return -1;
        add_entry(walk, dir, entry->d_name, &st);
        if (S_ISDIR(st.st_mode))
            str_addn(subdirs, entry->d_name, strlen(entry->d_name) + 1);
    }
    return errno == 0 ? 0 : -1;
}

static int add_dir(struct state_walk *walk, int at, const char *name, unsigned level)
{
    _cleanup_str_ struct str subdirs = STR_INIT;
    struct stat st;

    if (level > TREE_DEPTH_MAX)
        return -1;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stream = fd != -1 ? fdopendir(fd) : NULL;
    if (stream == NULL) {
        fd_closep(&fd);
        return -1;
    }
    int rc = fstat(fd, &st) == -1 ? -1 : add_entries(walk, stream, &st, &subdirs);
    for (size_t i = 0; rc == 0 && i < subdirs.len; i += strlen(subdirs.data + i) + 1)
        rc = add_dir(walk, fd, subdirs.data + i, level + 1);
    (void)closedir(stream);
    return rc;
}

void tree_state_add(int at, const char *name, bool shared, struct tree_state *state)
{
    struct state_walk walk = {.state = state, .shared = shared};
    struct stat parent;
    struct stat st;

    (void)clock_gettime(CLOCK_REALTIME, &walk.now);
    if (fstat(at, &parent) == -1 || fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == -1) {
        state->unsettled = true;
        return;
    }
    add_entry(&walk, &parent, name, &st);
    if (S_ISDIR(st.st_mode) && add_dir(&walk, at, name, 0) == -1)
        state->unsettled = true;
}

bool tree_state_equal(const struct tree_state *a, const struct tree_state *b)
{
    return !a->unsettled && !b->unsettled && a->sum[0] == b->sum[0] && a->sum[1] == b->sum[1];
}
