/*
 * One walk, depth first and with the names of each directory sorted, so that two listings of a
 * workspace that has not changed are equal. Every entry is judged as it comes: packed, left out
 * with a warning, or an error. Of a live session code.git comes last of the parts, as the agents'
 * repositories borrow from it; `place` in struct listing_walk says which of the rules for
 * repositories hold.
 */

#include "archive/listing.h"

#include "archive/format.h"
#include "code/repo.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"
#include "os/tree_file.h"
#include "store/every.h"
#include "store/snapshot.h"
#include "store/workspace.h"

enum {
    EXTENTS_MAX = 1 << 20,
    SPOOLED_MAX = 64 << 20, /* bytes of a file that is copied while a repository is listed */
};

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
    /* live: whether this is in a git repository, and there below objects/ or lfs/ */
    enum place { IN_TREE, IN_REPOSITORY, IN_OBJECTS, IN_LFS } place;
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

int listing_fail(const char *path, struct err *err)
{
    bool denied = errno == EACCES;

    (void)err_errno(err, "'%s'", path);
    return denied ? err_hint(err, "let yourself read it with chmod, or move it out of the session")
                  : -1;
}

static int fail_errno(struct listing_walk *w)
{
    return listing_fail(str_text(&w->path), w->err);
}

/* Returns true if the error means that a file of a running session is not there any more. */
static bool has_gone(const struct listing_walk *w)
{
    return w->source->live && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
}

static void warn(struct listing_walk *w, const char *what)
{
    if (w->source->parent != NULL)
        parent_warn(w->source->parent, "'%s' %s", str_text(&w->path), what);
}

/* Copies a small file into the spool; takes it as it is then. */
static int spool_file(struct listing_walk *w, int fd, struct item *item)
{
    off_t at = lseek(w->source->spool, 0, SEEK_END);
    char *buf = mem_alloc(1 << 16);
    ssize_t n = -1;

    item->size = 0;
    while (at != -1 && (n = read(fd, buf, 1 << 16)) > 0 && item->size < SPOOLED_MAX) {
        if (file_write_all(w->source->spool, buf, (size_t)n) == -1)
            break;
        item->size += (uint64_t)n;
    }
    free(buf);
    if (n != 0)
        return fail_errno(w);
    item->spool = (uint64_t)at + 1;
    item->sparse = false;
    return 0;
}

/* Adds the size of a file's content, and copies the file if it has to be copied now. */
static int count_content(struct listing_walk *w, int dir, const char *name, struct item *item)
{
    struct extent *extents = NULL;
    bool spool = w->place == IN_REPOSITORY && item->size < SPOOLED_MAX;
    size_t count = 0;

    if (item->sparse || spool) {
        _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd == -1 && has_gone(w)) {
            item->gone = true;
            return 0;
        }
        if (fd == -1 || (spool ? spool_file(w, fd, item) == -1
                               : extents_find(fd, item->size, &extents, &count) == -1))
            return fail_errno(w);
    }
    uint64_t bytes = item->size;
    w->listing->apparent += item->size;
    if (w->listing->apparent > MANIFEST_BYTES_MAX)
        return fail(w, "with it, the session has more than 1 TiB");
    if (item->sparse) {
        for (size_t i = bytes = 0; i < count; i++)
            bytes += extents[i].len;
        free(extents);
    }
    item->content = bytes;
    w->listing->bytes += bytes;
    return 0;
}

static int look_at_link(struct listing_walk *w, int dir, const char *name, size_t level)
{
    char target[FORMAT_LINK_MAX + 2];
    ssize_t len = readlinkat(dir, name, target, sizeof target - 1);

    if (len == -1 && w->source->live && (errno == EINVAL || has_gone(w)))
        return 0;
    if (len == -1)
        return fail_errno(w);
    target[len] = '\0';
    if (len > FORMAT_LINK_MAX)
        return fail(w, "its target is too long");
    w->listing->links += path_link_leads_out(target, level);
    return 0;
}

static int walk_dir(struct listing_walk *w, int fd, size_t level);
static int walk_repository_dir(struct listing_walk *w, int fd, const char *name, size_t level);

/* Returns true for a lock of git or mas, or a file that is still being written. */
static bool is_passing(const struct listing_walk *w, const char *name)
{
    return str_ends(name, ".lock") || (w->place == IN_OBJECTS && str_starts(name, "tmp_"));
}

/* Returns true for what an agent has only as long as it runs: its home and its /tmp. */
static bool is_fleeting(const struct listing_walk *w, const char *name, size_t level)
{
    enum { OF_AGENT = 2 };

    return level == OF_AGENT && strcmp(w->part->name, WORKSPACE_HOME) == 0 &&
           (strcmp(name, WORKSPACE_HOME_TMP) == 0 || strcmp(name, WORKSPACE_HOME_TOP) == 0);
}

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
        if (strcmp(w->part->name, CODE_DIR) != 0 && !w->source->live)
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

static void add_item(struct archive_listing *listing, const struct item *item)
{
    if (listing->count % 1024 == 0) /* grow in steps, because there may be millions */
        listing->items = mem_grow(listing->items, listing->count + listing->count / 2 + 1024,
                                  sizeof *listing->items);
    listing->items[listing->count++] = *item;
}

/* Adds an entry of the directory open at `dir`; w->path is its path. */
static int walk_entry(struct listing_walk *w, int dir, const char *name, size_t level)
{
    struct archive_listing *listing = w->listing;
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return has_gone(w) ? 0 : fail_errno(w);
    if ((w->place != IN_TREE && S_ISREG(st.st_mode) && is_passing(w, name)) ||
        is_fleeting(w, name, level))
        return 0;
    int rc = judge(w, name, &st, level);
    if (rc != 0)
        return rc == 1 ? 0 : -1;
    struct item item = {.name = listing->names.len,
                        .level = (uint16_t)level,
                        .sparse = S_ISREG(st.st_mode) && st.st_blocks * 512 < st.st_size,
                        .mode = st.st_mode & (S_IFMT | TREE_MODE_BITS),
                        .dev = st.st_dev,
                        .ino = st.st_ino,
                        .size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0,
                        .object = w->place == IN_OBJECTS && S_ISREG(st.st_mode),
                        .kept = w->place == IN_REPOSITORY && S_ISDIR(st.st_mode),
                        .mtime = st.st_mtim};
    str_addn(&listing->names, name, strlen(name) + 1);
    if (S_ISREG(st.st_mode) && st.st_nlink > 1 && w->part->deep)
        item.twin = met_add(&w->met, st.st_dev, st.st_ino, (uint32_t)listing->count);
    if (S_ISREG(st.st_mode) && item.twin == 0 && count_content(w, dir, name, &item) == -1)
        return -1;
    add_item(listing, &item);
    if (S_ISREG(st.st_mode))
        return 0;
    if (S_ISLNK(st.st_mode))
        return look_at_link(w, dir, name, level);
    if (level >= TREE_DEPTH_MAX)
        return fail(w, "it is nested too deeply");
    _cleanup_close_ int fd = path_open_dir(dir, name);
    if (fd == -1)
        return has_gone(w) ? 0 : fail_errno(w);
    return w->place == IN_REPOSITORY ? walk_repository_dir(w, fd, name, level + 1)
                                     : walk_dir(w, fd, level + 1);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In a repository the objects come last, and the packed refs after the loose ones, which git
 * removes once it has packed them. */
static int repository_order(const char *name)
{
    return strcmp(name, "objects") == 0 ? 2 : strcmp(name, "packed-refs") == 0;
}

static int by_repository_order(const void *a, const void *b)
{
    int before = repository_order(*(char *const *)a) - repository_order(*(char *const *)b);
    return before != 0 ? before : by_name(a, b);
}

/* Lists a directory of packs. A name that came with the second look only may belong to a pack that
 * is still being written; its index, by which git finds it, came last. */
static int list_packs(int fd, char ***names, struct err *err)
{
    _cleanup_strv_ char **more = NULL;

    if (path_list(fd, &more, err) == -1)
        return -1;
    for (char **name = more; *name != NULL; name++)
        if (!str_ends(*name, ".idx") && !strv_has(*names, *name))
            strv_push(names, *name);
    return 0;
}

/* Lists a directory in a repository: below objects/ nothing is copied. */
static int walk_repository_dir(struct listing_walk *w, int fd, const char *name, size_t level)
{
    w->place = strcmp(name, "objects") == 0 ? IN_OBJECTS
               : strcmp(name, "lfs") == 0   ? IN_LFS
                                            : w->place;
    int rc = walk_dir(w, fd, level);
    w->place = IN_REPOSITORY;
    return rc;
}

static int walk_names(struct listing_walk *w, int fd, char **names, size_t level)
{
    size_t len = w->path.len;

    for (char **name = names; *name != NULL; name++) {
        w->path.len = len;
        str_addf(&w->path, "/%s", *name);
        if (walk_entry(w, fd, *name, level) == -1)
            return -1;
    }
    return 0;
}

static int walk_dir(struct listing_walk *w, int fd, size_t level)
{
    _cleanup_strv_ char **names = NULL;
    struct err why = ERR_INIT;

    if (path_list(fd, &names, &why) == -1 ||
        (w->place == IN_OBJECTS && str_ends(str_text(&w->path), "/pack") &&
         list_packs(fd, &names, &why) == -1))
        return fail(w, why.text);
    if (w->source->live && (w->place == IN_TREE || w->place == IN_REPOSITORY) &&
        strv_has(names, "HEAD") && strv_has(names, "objects") && strv_has(names, "refs")) {
        enum place before = w->place;
        w->place = IN_REPOSITORY;
        qsort(names, strv_len(names), sizeof *names, by_repository_order);
        int rc = walk_names(w, fd, names, level);
        w->place = before;
        return rc;
    }
    qsort(names, strv_len(names), sizeof *names, by_name);
    return walk_names(w, fd, names, level);
}

int listing_open_part(const struct listing_source *source, const char *name, int flags)
{
    const struct part *part = part_find(name, strlen(name));
    return openat(part->agents ? source->parts : source->dir, name,
                  flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Adds the copy of memory.db that begins the spool. */
static void add_memory(struct listing_walk *w)
{
    struct archive_listing *listing = w->listing;
    struct item item = {.name = listing->names.len,
                        .mode = S_IFREG | 0600,
                        .size = (uint64_t)w->source->memory,
                        .content = (uint64_t)w->source->memory,
                        .spool = 1};

    (void)clock_gettime(CLOCK_REALTIME, &item.mtime);
    str_addn(&listing->names, WORKSPACE_MEMORY, sizeof WORKSPACE_MEMORY);
    add_item(listing, &item);
    listing->bytes += item.content;
    listing->apparent += item.size;
}

static bool is_memory(const struct part *part)
{
    return str_starts(part->name, WORKSPACE_MEMORY);
}

static int walk_part(struct listing_walk *w, const struct part *part)
{
    int dir = part->agents ? w->source->parts : w->source->dir;
    struct stat st;

    if (w->source->live && w->source->memory >= 0 && is_memory(part)) {
        if (w->source->memory > 0 && strcmp(part->name, WORKSPACE_MEMORY) == 0)
            add_memory(w);
        return 0;
    }
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
    static const char *const known[] = {WORKSPACE_LOCK,
                                        WORKSPACE_RUN,
                                        WORKSPACE_CODE_LOCKS,
                                        WORKSPACE_SESSION ".new",
                                        WORKSPACE_CONFIG ".new",
                                        WORKSPACE_MEMORY "-shm",
                                        WORKSPACE_MEMORY "-journal",
                                        EVERY_ENV,
                                        EVERY_ENV ".new",
                                        EVERY_FILE ".new"};
    _cleanup_strv_ char **names = NULL;

    if (path_list(w->source->dir, &names, w->err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++) {
        bool is_known = part_find(*name, strlen(*name)) != NULL;
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            is_known = is_known || strcmp(*name, known[i]) == 0;
        if (w->source->live) /* of agents that have not started */
            is_known = is_known || strcmp(*name, WORKSPACE_SNAPSHOT) == 0 ||
                       str_starts(*name, STAGING_PREFIX);
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

    /* the repositories of agents borrow objects from code.git, which comes after them */
    for (size_t i = 0; rc == 0 && i < PARTS_COUNT; i++)
        if (!source->live || strcmp(parts[i].name, CODE_GIT) != 0)
            rc = walk_part(&w, &parts[i]);
    if (rc == 0 && source->live)
        rc = walk_part(&w, part_find(CODE_GIT, strlen(CODE_GIT)));
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
