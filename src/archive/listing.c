#include "archive/listing.h"

#include "archive/format.h"
#include "base/path.h"
#include "base/tree.h"
#include "base/tree_file.h"
#include "code/repo.h"
#include "store/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXTENTS_MAX = 1 << 20 };

/* Files with other names, by device and inode: an open hash table. */
struct met {
    struct met_file {
        dev_t dev;
        ino_t ino;
        uint32_t item; /* 1 + its index; 0: unused */
    } * slots;
    size_t room, count;
};

struct listing_walk {
    const struct listing_source *source;
    const struct part *part;
    struct archive_listing *listing;
    struct met met;
    struct str path;
    struct err *err;
};

const char *listing_name(const struct archive_listing *listing, size_t i)
{
    return listing->names.data + listing->items[i].name;
}

char *listing_path(const struct archive_listing *listing, size_t i)
{
    char *path = mem_dup(listing_name(listing, i));

    for (size_t level = listing->items[i].level; level > 0; i--) {
        if (listing->items[i].level >= level)
            continue;
        char *longer = mem_printf("%s/%s", listing_name(listing, i), path);
        free(path);
        path = longer;
        level = listing->items[i].level;
        if (level == 0)
            break;
    }
    return path;
}

void listing_free(struct archive_listing *listing)
{
    free(listing->items);
    str_free(&listing->names);
    *listing = (struct archive_listing){.items = NULL};
}

static struct met_file *met_slot(const struct met *met, dev_t dev, ino_t ino)
{
    size_t at = (size_t)((ino * UINT64_C(0x9E3779B97F4A7C15)) ^ dev) & (met->room - 1);
    while (met->slots[at].item != 0 && (met->slots[at].ino != ino || met->slots[at].dev != dev))
        at = (at + 1) & (met->room - 1);
    return &met->slots[at];
}

/* Returns 1 + the first item with this inode, or 0 if that is `item`. */
static uint32_t met_add(struct met *met, dev_t dev, ino_t ino, uint32_t item)
{
    if (met->count * 2 >= met->room) {
        struct met more = {.room = met->room == 0 ? 64 : met->room * 2, .count = met->count};
        more.slots = mem_alloc(more.room * sizeof *more.slots);
        for (size_t i = 0; i < met->room; i++)
            if (met->slots[i].item != 0)
                *met_slot(&more, met->slots[i].dev, met->slots[i].ino) = met->slots[i];
        free(met->slots);
        *met = more;
    }
    struct met_file *slot = met_slot(met, dev, ino);
    if (slot->item != 0)
        return slot->item;
    *slot = (struct met_file){.dev = dev, .ino = ino, .item = item + 1};
    met->count++;
    return 0;
}

int extents_find(int fd, uint64_t size, struct extent **ret, size_t *ret_count)
{
    struct extent *extents = NULL;
    size_t count = 0;
    off_t at = 0;

    while ((uint64_t)at < size) {
        off_t data = lseek(fd, at, SEEK_DATA);
        if (data == -1 && errno == ENXIO)
            break; /* a hole until the end */
        off_t hole = data == -1 ? -1 : lseek(fd, data, SEEK_HOLE);
        if (hole == -1 || count == EXTENTS_MAX) {
            errno = hole == -1 ? errno : EFBIG;
            free(extents);
            return -1;
        }
        if ((uint64_t)data >= size)
            break;
        extents = mem_room(extents, count, sizeof *extents);
        uint64_t end = (uint64_t)hole < size ? (uint64_t)hole : size;
        extents[count++] = (struct extent){.at = (uint64_t)data, .len = end - (uint64_t)data};
        at = hole;
    }
    *ret = extents;
    *ret_count = count;
    return lseek(fd, 0, SEEK_SET) == -1 ? -1 : 0;
}

static int fail(struct listing_walk *w, const char *why)
{
    return err_set(w->err, MAS_FAILED, "'%s': %s", str_text(&w->path), why);
}

static int fail_errno(struct listing_walk *w)
{
    return err_errno(w->err, "'%s'", str_text(&w->path));
}

static void warn(struct listing_walk *w, const char *what)
{
    if (w->source->parent != NULL)
        parent_warn(w->source->parent, "'%s' %s", str_text(&w->path), what);
}

/* Adds the size of a file's content. */
static int count_content(struct listing_walk *w, int dir, const char *name, struct item *item)
{
    struct extent *extents = NULL;
    size_t count = 0;
    uint64_t bytes = item->size;

    w->listing->apparent += item->size;
    if (w->listing->apparent > MANIFEST_BYTES_MAX)
        return fail(w, "with it, the session has more than 1 TiB");
    if (item->sparse) {
        _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd == -1 || extents_find(fd, item->size, &extents, &count) == -1)
            return fail_errno(w);
        for (size_t i = bytes = 0; i < count; i++)
            bytes += extents[i].len;
        free(extents);
    }
    w->listing->bytes += bytes;
    return 0;
}

static int look_at_link(struct listing_walk *w, int dir, const char *name, size_t level)
{
    char target[FORMAT_LINK_MAX + 2];
    ssize_t len = readlinkat(dir, name, target, sizeof target - 1);

    if (len == -1)
        return fail_errno(w);
    target[len] = '\0';
    if (len > FORMAT_LINK_MAX)
        return fail(w, "its target is too long");
    w->listing->links += link_leads_out(target, level);
    return 0;
}

static int walk_dir(struct listing_walk *w, int fd, size_t level);

/* Checks an entry. Returns 1 if it is omitted. */
static int judge(struct listing_walk *w, const char *name, const struct stat *st, size_t level)
{
    if (strlen(name) > FORMAT_NAME_MAX)
        return fail(w, "its name is too long");
    if (S_ISSOCK(st->st_mode) || S_ISFIFO(st->st_mode)) {
        warn(w,
             S_ISSOCK(st->st_mode) ? "is a socket and is left out" : "is a FIFO and is left out");
        return 1;
    }
    if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode)) {
        if (strcmp(w->part->name, CODE_DIR) != 0)
            return fail(w, "it is a device");
        /* in a work tree, where git does not see it, it must not keep `mas rm -f` from its work */
        warn(w, "is a device and is left out");
        return 1;
    }
    if (level == 0 && (w->part->dir ? !S_ISDIR(st->st_mode) : !S_ISREG(st->st_mode)))
        return err_set(w->err, MAS_DAMAGED, "'%s': it is %s", name, path_type_name(st->st_mode));
    if (level > 0 && !w->part->deep && !S_ISREG(st->st_mode)) {
        if (w->source->strict)
            return fail(w, "it is not a log and would be left out");
        warn(w, "is not a log and is left out");
        return 1;
    }
    if (S_ISREG(st->st_mode) && st->st_nlink > 1 &&
        !w->part->deep) { /* another name may be outside the workspace */
        if (level == 0)
            return err_set(w->err, MAS_DAMAGED, "'%s': it has several names (hard links)", name);
        if (w->source->strict)
            return fail(w, "it has several names (hard links) and would be left out");
        warn(w, "has several names (hard links) and is left out");
        return 1;
    }
    if (S_ISREG(st->st_mode) && (st->st_mode & (S_ISUID | S_ISGID)) != 0)
        warn(w, "is archived without its setuid or setgid bit");
    if (w->listing->count == MANIFEST_ENTRIES_MAX)
        return fail(w, "with it, the session has more than 4000000 entries");
    return 0;
}

/* Adds an entry of the directory open at `dir`; w->path is its path. */
static int walk_entry(struct listing_walk *w, int dir, const char *name, size_t level)
{
    struct archive_listing *listing = w->listing;
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return fail_errno(w);
    int rc = judge(w, name, &st, level);
    if (rc != 0)
        return rc == 1 ? 0 : -1;
    if (listing->count % 1024 == 0) /* grow in steps, because there may be millions */
        listing->items = mem_grow(listing->items, listing->count + listing->count / 2 + 1024,
                                  sizeof *listing->items);
    struct item item = {.name = listing->names.len,
                        .level = (uint16_t)level,
                        .sparse = S_ISREG(st.st_mode) && st.st_blocks * 512 < st.st_size,
                        .mode = st.st_mode & (S_IFMT | TREE_MODE_BITS),
                        .dev = st.st_dev,
                        .ino = st.st_ino,
                        .size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0,
                        .mtime = st.st_mtim};
    str_addn(&listing->names, name, strlen(name) + 1);
    if (S_ISREG(st.st_mode) && st.st_nlink > 1 && w->part->deep)
        item.twin = met_add(&w->met, st.st_dev, st.st_ino, (uint32_t)listing->count);
    listing->items[listing->count++] = item;
    if (S_ISREG(st.st_mode))
        return item.twin != 0 ? 0 : count_content(w, dir, name, &item);
    if (S_ISLNK(st.st_mode))
        return look_at_link(w, dir, name, level);
    if (level >= TREE_DEPTH_MAX)
        return fail(w, "it is nested too deeply");
    _cleanup_close_ int fd = path_open_dir(dir, name);
    return fd == -1 ? fail_errno(w) : walk_dir(w, fd, level + 1);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int walk_dir(struct listing_walk *w, int fd, size_t level)
{
    _cleanup_strv_ char **names = NULL;
    struct err why = ERR_INIT;
    size_t len = w->path.len;

    if (path_list(fd, &names, &why) == -1)
        return fail(w, why.text);
    qsort(names, strv_len(names), sizeof *names, by_name);
    for (char **name = names; *name != NULL; name++) {
        w->path.len = len;
        str_addf(&w->path, "/%s", *name);
        if (walk_entry(w, fd, *name, level) == -1)
            return -1;
    }
    return 0;
}

int listing_open_part(const struct listing_source *source, const char *name, int flags)
{
    const struct part *part = part_find(name, strlen(name));
    return openat(part->agents ? source->parts : source->dir, name,
                  flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static int walk_part(struct listing_walk *w, const struct part *part)
{
    int dir = part->agents ? w->source->parts : w->source->dir;
    struct stat st;

    w->part = part;
    str_clear(&w->path);
    str_add(&w->path, part->name);
    if (fstatat(dir, part->name, &st, AT_SYMLINK_NOFOLLOW) == -1 && errno == ENOENT)
        return part->required ? err_set(w->err, MAS_DAMAGED, "'%s' is missing", part->name) : 0;
    return walk_entry(w, dir, part->name, 0);
}

/* Handles files in the workspace that are no part of a session. */
static int look_for_others(struct listing_walk *w)
{
    static const char *const known[] = {WORKSPACE_LOCK,           WORKSPACE_RUN,
                                        WORKSPACE_SESSION ".new", WORKSPACE_CONFIG ".new",
                                        WORKSPACE_MEMORY "-shm",  WORKSPACE_MEMORY "-journal"};
    _cleanup_strv_ char **names = NULL;

    if (path_list(w->source->dir, &names, w->err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++) {
        bool is_known = part_find(*name, strlen(*name)) != NULL;
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            is_known = is_known || strcmp(*name, known[i]) == 0;
        if (is_known)
            continue;
        str_clear(&w->path);
        str_add(&w->path, *name);
        if (w->source->strict) {
            (void)fail(w, "it is not part of a session and would be left out");
            return err_hint(w->err, "move it into unit/ or out of the session");
        }
        warn(w, "is not part of a session and is left out");
    }
    return 0;
}

int listing_make(const struct listing_source *source, struct archive_listing *ret, struct err *err)
{
    _cleanup_listing_ struct archive_listing listing = {.items = NULL};
    struct listing_walk w = {.source = source, .listing = &listing, .err = err};
    int rc = look_for_others(&w);

    for (size_t i = 0; rc == 0 && i < PARTS_COUNT; i++)
        rc = walk_part(&w, &parts[i]);
    free(w.met.slots);
    str_free(&w.path);
    if (rc == -1)
        return -1;
    *ret = listing;
    listing = (struct archive_listing){.items = NULL};
    return 0;
}

static bool is_same(const struct item *a, const struct item *b)
{
    return a->level == b->level && a->mode == b->mode && a->dev == b->dev && a->ino == b->ino &&
           a->size == b->size && a->twin == b->twin && a->mtime.tv_sec == b->mtime.tv_sec &&
           a->mtime.tv_nsec == b->mtime.tv_nsec;
}

int listing_compare(const struct archive_listing *before, const struct archive_listing *after,
                    struct err *err)
{
    size_t i = 0;

    while (i < before->count && i < after->count && is_same(&before->items[i], &after->items[i]) &&
           strcmp(listing_name(before, i), listing_name(after, i)) == 0)
        i++;
    if (i == before->count && i == after->count)
        return 0;
    _cleanup_free_ char *path = i < after->count ? listing_path(after, i) : listing_path(before, i);
    (void)err_set(err, MAS_FAILED, "'%s': it changed while it was archived", path);
    return err_hint(err, "try again when nothing changes the session's files");
}
