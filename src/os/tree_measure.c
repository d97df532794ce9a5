/*
 * Measures trees. Everything that can appear again is remembered: files with several names by
 * inode, and shared disk extents by position, which the file system reports per file (FIEMAP). Only
 * file systems that can share extents are asked.
 */

#include "os/tree.h"

#include "base/intervals.h"
#include "os/path.h"
#include "os/tree_file.h"
#include "os/tree_walk.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

enum {
    EXTENTS_MAX = 128, /* requested at once */
    SLOTS_MIN = 64,
};

#define EXTENT_KEY                                                                                 \
    (UINT64_C(1) << 63) /* set in the device: a position on it instead of an inode                 \
                         */
#define BLOCK_BYTES 512U /* the unit of st_blocks, whatever the block size */

/* An object that is counted once. */
struct once {
    uint64_t device;
    uint64_t number; /* inode number, or position */
    uint64_t apparent;
    uint64_t real;
    uint64_t links; /* references anywhere; 0: the slot is free */
    uint64_t seen; /* how often it was seen */
};

/* A file system. */
struct space {
    dev_t device;
    bool shares; /* it can share extents and reports that */
    struct intervals shared; /* shared bytes that were seen */
};

struct tree_meter {
    struct tree_size single; /* everything that cannot appear again */
    struct once *slots; /* a hash table, at most half full */
    size_t room; /* a power of 2, or 0 */
    size_t count;
    uint64_t apparent, real; /* sums over the table */
    struct space *spaces;
    size_t space_count;
    struct walk walk;
    struct fiemap *map;
};

/* One tree being measured. */
struct measured_tree {
    struct tree_meter *meter;
    size_t space;
    bool common;
};

/* ---- objects that are counted once */

/* Returns its slot, or the slot where it belongs. */
static struct once *find_slot(struct once *slots, size_t room, uint64_t device, uint64_t number)
{
    uint64_t hash = (number ^ (device << 32) ^ (device >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 32) & (room - 1);

    while (slots[at].links != 0 && (slots[at].number != number || slots[at].device != device))
        at = (at + 1) & (room - 1);
    return &slots[at];
}

static void make_room(struct tree_meter *meter)
{
    if (meter->count * 2 < meter->room)
        return;
    size_t room = meter->room == 0 ? SLOTS_MIN : meter->room * 2;
    struct once *slots = mem_alloc(room * sizeof *slots);
    for (size_t i = 0; i < meter->room; i++) {
        const struct once *old = &meter->slots[i];
        if (old->links != 0)
            *find_slot(slots, room, old->device, old->number) = *old;
    }
    free(meter->slots);
    meter->slots = slots;
    meter->room = room;
}

/* Returns NULL if it was not seen yet. */
static struct once *find(const struct tree_meter *meter, uint64_t device, uint64_t number)
{
    if (meter->room == 0)
        return NULL;
    struct once *slot = find_slot(meter->slots, meter->room, device, number);
    return slot->links != 0 ? slot : NULL;
}

/* Adds an object; if it was seen before, keeps the larger size. */
static void put(struct tree_meter *meter, const struct once *one)
{
    make_room(meter);
    struct once *slot = find_slot(meter->slots, meter->room, one->device, one->number);
    if (slot->links == 0) {
        *slot = *one;
        meter->count++;
        meter->apparent += one->apparent;
        meter->real += one->real;
        return;
    }
    slot->seen += one->seen;
    if (one->links > slot->links)
        slot->links = one->links;
    if (one->real > slot->real) {
        meter->real += one->real - slot->real;
        slot->real = one->real;
    }
}

/* ---- extents that files share */

/* Returns true for the known file systems that report shared extents through FIEMAP. */
static bool can_share(int fd)
{
    static const uint32_t kinds[] = {
        0x58465342, /* XFS */
        0x9123683e, /* btrfs */
        0xca451a4e, /* bcachefs */
        0x7461636f, /* OCFS2 */
    };
    struct statfs fs;

    if (fstatfs(fd, &fs) == -1)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if ((uint32_t)fs.f_type == kinds[i])
            return true;
    return false;
}

/* Returns the index of the file system that `fd` is on. */
static size_t find_space(struct tree_meter *meter, int fd, dev_t device)
{
    size_t i = 0;
    while (i < meter->space_count && meter->spaces[i].device != device)
        i++;
    if (i == meter->space_count) {
        meter->spaces = mem_room(meter->spaces, meter->space_count, sizeof *meter->spaces);
        meter->spaces[meter->space_count++] =
            (struct space){.device = device, .shares = fd != -1 && can_share(fd)};
    }
    return i;
}

/* Records one extent of a file if it is shared; returns how many of its bytes are shared. A
 * compressed extent takes less than its length, so another one may begin inside its apparent
 * range. */
static uint64_t put_extent(const struct measured_tree *tree, const struct fiemap_extent *extent)
{
    const uint32_t nowhere = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DATA_INLINE;
    struct space *space = &tree->meter->spaces[tree->space];

    if ((extent->fe_flags & FIEMAP_EXTENT_SHARED) == 0 || (extent->fe_flags & nowhere) != 0)
        return 0;
    if ((extent->fe_flags & FIEMAP_EXTENT_ENCODED) != 0)
        put(tree->meter, &(struct once){.device = (uint64_t)space->device | EXTENT_KEY,
                                        .number = extent->fe_physical,
                                        .real = extent->fe_length,
                                        .links = UINT64_MAX,
                                        .seen = 1});
    else
        intervals_add(&space->shared, extent->fe_physical, extent->fe_length);
    return extent->fe_length;
}

/* Records what a file shares with others; returns how many bytes that is. */
static uint64_t put_shared(const struct measured_tree *tree, int at, const char *name,
                           uint64_t size)
{
    struct tree_meter *meter = tree->meter;
    uint64_t shared = 0;
    uint64_t next = 0;

    /* Non-blocking: the entry may have become a FIFO since it was examined. */
    _cleanup_close_ int fd =
        openat(at, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    if (fd == -1)
        return 0;
    if (meter->map == NULL)
        meter->map = mem_alloc(sizeof *meter->map + EXTENTS_MAX * sizeof *meter->map->fm_extents);
    while (next < size) {
        *meter->map = (struct fiemap){
            .fm_start = next, .fm_length = size - next, .fm_extent_count = EXTENTS_MAX};
        if (ioctl(fd, FS_IOC_FIEMAP, meter->map) == -1) {
            if (errno == EOPNOTSUPP || errno == ENOTTY)
                meter->spaces[tree->space].shares = false;
            break;
        }
        for (uint32_t i = 0; i < meter->map->fm_mapped_extents; i++) {
            const struct fiemap_extent *extent = &meter->map->fm_extents[i];
            shared += put_extent(tree, extent);
            next = extent->fe_logical + extent->fe_length;
        }
        if (meter->map->fm_mapped_extents < EXTENTS_MAX || next <= meter->map->fm_start)
            break;
    }
    return shared;
}

/* ---- walking */

static void add_file(const struct measured_tree *tree, int at, const char *name,
                     const struct stat *st)
{
    struct tree_meter *meter = tree->meter;
    bool again = tree->common || st->st_nlink > 1;
    struct once one = {.device = st->st_dev,
                       .number = st->st_ino,
                       .apparent = (uint64_t)st->st_size,
                       .real = (uint64_t)st->st_blocks * BLOCK_BYTES,
                       .links = tree->common ? UINT64_MAX : st->st_nlink,
                       .seen = 1};
    struct once *met = again ? find(meter, one.device, one.number) : NULL;

    meter->single.files++;
    if (met != NULL) {
        met->seen++;
        met->links = one.links > met->links ? one.links : met->links;
        return;
    }
    if (meter->spaces[tree->space].shares && S_ISREG(st->st_mode) && one.real > 0) {
        uint64_t shared = put_shared(tree, at, name, one.apparent);
        one.real -= shared < one.real ? shared : one.real;
    }
    if (again) {
        put(meter, &one);
    } else {
        meter->single.apparent += one.apparent;
        meter->single.real += one.real;
    }
}

/* Adds a directory itself. */
static void add_dir(const struct measured_tree *tree, dev_t device, ino_t ino, uint64_t bytes)
{
    if (tree->common)
        put(tree->meter,
            &(struct once){
                .device = device, .number = ino, .real = bytes, .links = UINT64_MAX, .seen = 1});
    else
        tree->meter->single.real += bytes;
}

static int measure_entry(int fd, const struct dirent64 *entry, void *arg)
{
    const struct measured_tree *tree = arg;
    struct stat st;

    if (entry->d_type == DT_DIR)
        return 1;
    if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1) {
        tree->meter->single.skipped += errno != ENOENT;
        return 0;
    }
    if (S_ISDIR(st.st_mode))
        return 1;
    add_file(tree, fd, entry->d_name, &st);
    return 0;
}

/* Enters a directory; false if it does not exist or cannot be opened. */
static bool measure_down(struct measured_tree *tree, int at, const char *name)
{
    struct walk *walk = &tree->meter->walk;
    struct stat st;
    int fd = walk_open(at, name);
    int number = errno;

    if (fd != -1 && walk_down(walk, fd, name) == 0) {
        const struct level *level = walk_lowest(walk);
        if (walk->count == 1)
            tree->space = find_space(tree->meter, level->fd, level->dev);
        add_dir(tree, level->dev, level->ino, level->bytes);
        return true;
    }
    if (number == ENOENT || number == ENOTDIR || number == ELOOP || number == EXDEV)
        return false; /* it is gone or was replaced */
    tree->meter->single.skipped++;
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        add_dir(tree, st.st_dev, st.st_ino, (uint64_t)st.st_blocks * BLOCK_BYTES);
    return false;
}

/* If the way up fails, the closed levels are skipped; the open ones above continue. */
static void measure_up(const struct measured_tree *tree)
{
    struct walk *walk = &tree->meter->walk;

    (void)walk_reopen(walk);
    walk_up(walk);
    while (walk->count > 0 && walk_lowest(walk)->fd == -1) {
        tree->meter->single.skipped += walk_next(walk) != NULL;
        walk_up(walk);
    }
}

mode_t tree_measure(struct tree_meter *meter, int at, const char *name, bool common)
{
    struct measured_tree tree = {.meter = meter, .common = common};
    struct walk *walk = &meter->walk;
    struct stat st;

    if (!measure_down(&tree, at, name)) {
        if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
            return 0;
        if (!S_ISDIR(st.st_mode)) {
            tree.space = find_space(meter, at, st.st_dev);
            add_file(&tree, at, name, &st);
        }
        return st.st_mode & S_IFMT;
    }
    while (walk->count > 0) {
        if (walk_lowest(walk)->passes == 0 && walk_read(walk, measure_entry, &tree) == -1)
            meter->single.skipped++;
        const char *sub = walk_next(walk);
        if (sub == NULL)
            measure_up(&tree);
        else
            (void)measure_down(&tree, walk_lowest(walk)->fd, sub);
    }
    return S_IFDIR;
}

void tree_measure_file(struct tree_meter *meter, int at, const char *name)
{
    struct measured_tree tree = {.meter = meter};
    struct stat st;

    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == -1 || S_ISDIR(st.st_mode))
        return;
    tree.space = find_space(meter, at, st.st_dev);
    add_file(&tree, at, name, &st);
}

void tree_measure_alone(struct tree_meter *meter, int dir, bool common)
{
    struct measured_tree tree = {.meter = meter, .common = common};
    struct stat st;

    if (fstat(dir, &st) == 0)
        add_dir(&tree, st.st_dev, st.st_ino, (uint64_t)st.st_blocks * BLOCK_BYTES);
}

/* ---- meters */

struct tree_meter *tree_meter_new(void)
{
    return mem_alloc(sizeof(struct tree_meter));
}

void tree_meter_free(struct tree_meter *meter)
{
    if (meter == NULL)
        return;
    for (size_t i = 0; i < meter->space_count; i++)
        intervals_free(&meter->spaces[i].shared);
    free(meter->spaces);
    free(meter->slots);
    free(meter->map);
    walk_release(&meter->walk);
    free(meter);
}

void tree_meter_freep(struct tree_meter **meter)
{
    tree_meter_free(*meter);
}

static uint64_t shared_bytes(struct tree_meter *meter)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < meter->space_count; i++)
        sum += intervals_sum(&meter->spaces[i].shared);
    return sum;
}

void tree_meter_read(struct tree_meter *meter, struct tree_size *ret)
{
    *ret = meter->single;
    ret->apparent += meter->apparent;
    ret->real += meter->real + shared_bytes(meter);
}

uint64_t tree_meter_own(struct tree_meter *meter)
{
    uint64_t own = meter->single.real;
    for (size_t i = 0; i < meter->room; i++)
        if (meter->slots[i].links != 0 && meter->slots[i].seen >= meter->slots[i].links)
            own += meter->slots[i].real;
    return own;
}

void tree_meter_add(struct tree_meter *to, const struct tree_meter *from)
{
    to->single.files += from->single.files;
    to->single.apparent += from->single.apparent;
    to->single.real += from->single.real;
    to->single.skipped += from->single.skipped;
    for (size_t i = 0; i < from->room; i++)
        if (from->slots[i].links != 0)
            put(to, &from->slots[i]);
    for (size_t i = 0; i < from->space_count; i++) {
        size_t space = find_space(to, -1, from->spaces[i].device);
        intervals_add_all(&to->spaces[space].shared, &from->spaces[i].shared);
    }
}

/* ---- entries that a copy would refuse */

struct tree_check {
    tree_refused *each;
    void *arg;
    struct str path; /* relative to the top */
};

/* Returns NULL, or why a copy would stop at this entry. *ret_dir tells whether it is a
 * directory. */
static const char *examine(int dir, const char *name, bool *ret_dir)
{
    struct stat st;

    *ret_dir = false;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return strerror(errno);
    *ret_dir = S_ISDIR(st.st_mode);
    const char *why = tree_refusal(st.st_mode);
    if (why == NULL && S_ISREG(st.st_mode) && faccessat(dir, name, R_OK, AT_EACCESS) == -1)
        why = strerror(errno);
    return why;
}

static void check_dir(struct tree_check *check, int dir, unsigned level);

static void check_entry(struct tree_check *check, int dir, const char *name, unsigned level)
{
    bool is_dir;
    const char *why = examine(dir, name, &is_dir);
    size_t len = check->path.len;

    str_addf(&check->path, "%s%s", len > 0 ? "/" : "", name);
    if (why == NULL && is_dir && level >= TREE_DEPTH_MAX)
        why = "it is nested too deeply";
    if (why == NULL && is_dir) {
        _cleanup_close_ int sub = path_open_dir(dir, name);
        if (sub != -1)
            check_dir(check, sub, level + 1);
        else
            why = strerror(errno);
    }
    if (why != NULL)
        check->each(check->path.data, why, check->arg);
    check->path.len = len;
    check->path.data[len] = '\0';
}

static void check_dir(struct tree_check *check, int dir, unsigned level)
{
    _cleanup_strv_ char **names = NULL;
    struct err err = ERR_INIT;

    if (path_list(dir, &names, &err) == -1)
        check->each(str_text(&check->path), err.text, check->arg);
    for (char **name = names; name != NULL && *name != NULL; name++)
        check_entry(check, dir, *name, level);
}

void tree_check(int dir, tree_refused *each, void *arg)
{
    struct tree_check check = {.each = each, .arg = arg, .path = STR_INIT};

    check_dir(&check, dir, 0);
    str_free(&check.path);
}
