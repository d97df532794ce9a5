/* The state of a tree: a sum over its entries, so their order does not matter. */
#include "base/tree.h"

#include <dirent.h>

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
