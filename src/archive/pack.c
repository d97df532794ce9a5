/*
 * The list comes first, because the manifest, with its numbers of entries and bytes, is the first
 * file; then come the items in the order of the list, with the directories above the present one
 * open, and the checksums last. put_content() reads into a few buffers in turn, and waits until the
 * hasher is done with one before it fills it again. In a session that runs, an item may have gone
 * or be another since it was listed.
 */

#include "archive/pack.h"

#include "archive/hasher.h"
#include "archive/listing.h"
#include "archive/zstd_writer.h"
#include "os/path.h"
#include "os/tree.h"
#include "os/tree_file.h"
#include "store/workspace.h"

#include <archive.h>
#include <archive_entry.h>

enum { BUFFERS = 4, BUFFER_SIZE = 256 * 1024, SLACK_LEAST = 16 << 20 };

/* File contents. A buffer is reused when its contents are hashed. */
struct buffers {
    char *bytes[BUFFERS];
    uint64_t tickets[BUFFERS];
    size_t next;
};

struct packer {
    const struct pack *pack;
    const struct listing_source *source;
    struct archive_listing *listing;
    struct zstd_writer *zstd;
    struct hasher *hasher;
    struct archive *tar;
    struct archive_entry *entry;
    struct buffers buffers;
    int dirs[TREE_DEPTH_MAX + 2]; /* by level; the lowest open one is dirs[open - 1] */
    size_t open;
    size_t lens[TREE_DEPTH_MAX + 2]; /* lengths of the path, by level */
    struct str path; /* of the current item, with the top directory */
    uint64_t files, bytes; /* done so far */
    uint64_t slack; /* live: bytes that files may still have more than the list says */
    size_t skip; /* live: items below this level belong to a directory that has gone; 0: none */
    struct err err; /* an error of the compression, which libarchive calls */
};

/* Returns the path of the current item, for messages. */
static const char *item_path(const struct packer *p)
{
    return str_text(&p->path) + ID_TEXT;
}

static int fail(const struct packer *p, struct err *err, const char *why)
{
    return err_set(err, MAS_FAILED, "'%s': %s", item_path(p), why);
}

static int changed(const struct packer *p, struct err *err)
{
    (void)fail(p, err, "it changed while it was archived");
    return err_hint(err, "try again when nothing changes the session's files");
}

/* Sets the error for the last failure of a call on the current item. Returns -1. */
static int fail_errno(const struct packer *p, struct err *err)
{
    if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) /* it existed and was no link */
        return changed(p, err);
    return listing_fail(item_path(p), err);
}

/* ---- a session that runs */

/* The bytes that the files of a session may have more than its list says. */
static uint64_t find_slack(const struct archive_listing *listing)
{
    uint64_t slack = SLACK_LEAST + listing->bytes / 8;
    uint64_t most = MANIFEST_BYTES_MAX - listing->bytes;

    return slack < most ? slack : most;
}

static void tell(const struct packer *p, const char *what)
{
    parent_warn(p->pack->parent, "'%s' %s", item_path(p), what);
}

static int packed_anew(const struct packer *p, struct err *err)
{
    (void)err_set(err, MAS_CONFLICT, "'%s': git removed it while its repository was saved",
                  item_path(p));
    return err_hint(err, "try again");
}

/* Returns 1 if the item is to be left out because its directory has gone. */
static int is_skipped(struct packer *p, struct item *item, struct err *err)
{
    if (p->skip != 0 && item->level >= p->skip) {
        item->gone = !item->object;
        return item->object ? packed_anew(p, err) : 1;
    }
    p->skip = 0;
    return 0;
}

/* An item could not be opened or read: if that means that it has gone, leaves it out. */
static int leave_out(struct packer *p, struct item *item, struct err *err)
{
    static const int gone[] = {ENOENT, ENOTDIR, ELOOP, ENXIO, EINVAL, EISDIR, EACCES, EBADF};
    bool is_gone = false;

    for (size_t i = 0; i < ARRAY_LEN(gone); i++)
        is_gone = is_gone || errno == gone[i];
    if (!is_gone || item->level == 0 || (errno == EACCES && p->pack->strict))
        return fail_errno(p, err);
    if (item->object)
        return packed_anew(p, err);
    tell(p, errno == EACCES ? "cannot be read and is left out"
                            : "vanished while the session was saved");
    item->gone = true;
    if (S_ISDIR(item->mode))
        p->skip = item->level + 1U;
    return 0;
}

/* ---- writing */

static int tar_failed(const struct packer *p, struct err *err)
{
    if (p->err.code != MAS_OK) {
        *err = p->err;
        return -1;
    }
    const char *why = archive_error_string(p->tar);
    return fail(p, err, why != NULL ? why : "libarchive rejects it");
}

static la_ssize_t on_write(struct archive *tar, void *arg, const void *bytes, size_t len)
{
    struct packer *p = arg;
    (void)tar;
    return zstd_writer_write(p->zstd, bytes, len, &p->err) == -1 ? -1 : (la_ssize_t)len;
}

/* Writes a header with only what is given: no owner, no other times. A name that is not ASCII is
 * written as raw bytes, about which libarchive warns. */
static int put_header(struct packer *p, mode_t mode, const struct timespec *mtime, struct err *err)
{
    archive_entry_set_pathname(p->entry, str_text(&p->path));
    archive_entry_set_mode(p->entry, mode);
    archive_entry_set_mtime(p->entry, mtime->tv_sec, mtime->tv_nsec);
    int rc = archive_write_header(p->tar, p->entry);
    return rc == ARCHIVE_OK || rc == ARCHIVE_WARN ? 0 : tar_failed(p, err);
}

static int put_data(struct packer *p, const void *bytes, size_t len, struct err *err)
{
    while (len > 0) {
        la_ssize_t n = archive_write_data(p->tar, bytes, len);
        if (n <= 0)
            return tar_failed(p, err);
        bytes = (const char *)bytes + n;
        len -= (size_t)n;
    }
    return 0;
}

/* Writes a file with this text. */
static int put_text(struct packer *p, const char *name, const struct str *text, struct err *err)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    now.tv_nsec = 0;
    p->path.len = ID_TEXT;
    str_add(&p->path, name);
    archive_entry_clear(p->entry);
    archive_entry_set_size(p->entry, (la_int64_t)text->len);
    return put_header(p, S_IFREG | 0600, &now, err) == -1 ||
                   put_data(p, str_text(text), text->len, err) == -1
               ? -1
               : 0;
}

/* libarchive needs the zeros of a hole too, and omits them. */
static int put_hole(struct packer *p, uint64_t len, struct err *err)
{
    static const char zeros[1 << 16];

    hasher_feed_zeros(p->hasher, len);
    while (len > 0) {
        size_t step = len < sizeof zeros ? (size_t)len : sizeof zeros;
        if (put_data(p, zeros, step, err) == -1)
            return -1;
        len -= step;
        parent_progress(p->pack->parent, p->files, p->bytes);
    }
    return 0;
}

/* Writes the content of a file up to `end` and has it hashed. */
static int put_content(struct packer *p, int fd, uint64_t len, struct err *err)
{
    while (len > 0) {
        struct buffers *b = &p->buffers;
        size_t i = b->next;
        size_t want = len < BUFFER_SIZE ? (size_t)len : BUFFER_SIZE;
        hasher_wait(p->hasher, b->tickets[i]);
        ssize_t n = read(fd, b->bytes[i], want);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return fail_errno(p, err);
        if (n == 0 && p->pack->live) {
            tell(p, "became shorter while it was saved; zeros fill the rest");
            return put_hole(p, len, err);
        }
        if (n == 0)
            return changed(p, err);
        b->tickets[i] = hasher_feed(p->hasher, b->bytes[i], (size_t)n);
        b->next = (i + 1) % BUFFERS;
        if (put_data(p, b->bytes[i], (size_t)n, err) == -1)
            return -1;
        len -= (uint64_t)n;
        p->bytes += (uint64_t)n;
        parent_progress(p->pack->parent, p->files, p->bytes);
    }
    return 0;
}

static int put_sparse(struct packer *p, int fd, const struct item *item, struct err *err)
{
    struct extent *extents = NULL;
    size_t count = 0;
    uint64_t at = 0;

    if (extents_find(fd, item->size, &extents, &count) == -1)
        return fail_errno(p, err);
    for (size_t i = 0; i < count; i++)
        archive_entry_sparse_add_entry(p->entry, (la_int64_t)extents[i].at,
                                       (la_int64_t)extents[i].len);
    if (count == 0)
        archive_entry_sparse_add_entry(p->entry, (la_int64_t)item->size, 0);
    int rc = put_header(p, item->mode, &item->mtime, err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = put_hole(p, extents[i].at - at, err);
        at = extents[i].at + extents[i].len;
        if (rc == 0 && lseek(fd, (off_t)extents[i].at, SEEK_SET) == -1)
            rc = fail_errno(p, err);
        if (rc == 0)
            rc = put_content(p, fd, extents[i].len, err);
    }
    if (rc == 0)
        rc = put_hole(p, item->size - at, err);
    free(extents);
    return rc;
}

/* Writes a file: its header with this size, and its content from `fd`. */
static int put_file(struct packer *p, int fd, const struct item *item, struct err *err)
{
    archive_entry_set_size(p->entry, (la_int64_t)item->size);
    int rc = item->sparse ? put_sparse(p, fd, item, err)
             : put_header(p, item->mode, &item->mtime, err) == -1
                 ? -1
                 : put_content(p, fd, item->size, err);
    if (rc == 0)
        hasher_end_file(p->hasher, item_path(p));
    return rc;
}

/* Sets the size and content to those of now, as far as the manifest has room for them. Returns 1 if
 * the file has to be left out. */
static int take_size(struct packer *p, int fd, const struct stat *st, struct item *item,
                     struct err *err)
{
    uint64_t listed = item->content;
    uint64_t content = (uint64_t)st->st_size;
    struct extent *extents = NULL;
    size_t count = 0;

    item->sparse = st->st_blocks * 512 < st->st_size;
    if (item->sparse) {
        if (extents_find(fd, (uint64_t)st->st_size, &extents, &count) == -1)
            return fail_errno(p, err);
        content = 0;
        for (size_t i = 0; i < count; i++)
            content += extents[i].len;
        free(extents);
    }
    item->size = (uint64_t)st->st_size;
    item->content = content;
    if (content <= listed)
        return 0;
    if (content - listed <= p->slack) {
        p->slack -= content - listed;
        return 0;
    }
    if (item->sparse || item->object) {
        tell(p, "became too large while the session was saved and is left out");
        item->gone = true;
        return 1;
    }
    tell(p, "became too large while the session was saved; only its beginning is");
    item->size = item->content = listed;
    return 0;
}

static bool is_log(const struct packer *p)
{
    return str_starts(item_path(p), WORKSPACE_LOGS "/");
}

/* Like put_same() for a file that may have changed since it was listed. */
static int put_live(struct packer *p, int fd, struct item *item, struct err *err)
{
    struct stat before;
    struct stat after;

    if (fstat(fd, &before) == -1)
        return fail_errno(p, err);
    if (!S_ISREG(before.st_mode)) {
        errno = EINVAL;
        return leave_out(p, item, err);
    }
    item->mode = before.st_mode & (S_IFMT | TREE_MODE_BITS);
    item->mtime = before.st_mtim;
    int rc = take_size(p, fd, &before, item, err);
    if (rc != 0)
        return rc == 1 ? 0 : -1;
    if (put_file(p, fd, item, err) == -1)
        return -1;
    if (fstat(fd, &after) == 0 && !is_log(p) &&
        (after.st_size != before.st_size || after.st_mtim.tv_sec != before.st_mtim.tv_sec ||
         after.st_mtim.tv_nsec != before.st_mtim.tv_nsec))
        tell(p, "changed while it was saved");
    return 0;
}

/* Packs a file from the spool. */
static int put_spooled(struct packer *p, const struct item *item, struct err *err)
{
    if (lseek(p->pack->spool, (off_t)(item->spool - 1), SEEK_SET) == -1)
        return fail_errno(p, err);
    return put_file(p, p->pack->spool, item, err);
}

/* Packs a file that must be as it was when it was listed. */
static int put_same(struct packer *p, int fd, const struct item *item, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) == -1)
        return fail_errno(p, err);
    if (st.st_ino != item->ino || st.st_dev != item->dev || (uint64_t)st.st_size != item->size)
        return changed(p, err);
    return put_file(p, fd, item, err);
}

static int put_link(struct packer *p, int dir, const char *name, struct item *item, struct err *err)
{
    char target[FORMAT_LINK_MAX + 2];
    ssize_t len = readlinkat(dir, name, target, sizeof target - 1);

    if (len == -1)
        return p->pack->live ? leave_out(p, item, err) : fail_errno(p, err);
    if (len > FORMAT_LINK_MAX)
        return changed(p, err);
    target[len] = '\0';
    archive_entry_set_symlink(p->entry, target);
    return put_header(p, item->mode, &item->mtime, err);
}

static int open_item(const struct packer *p, size_t i, int flags)
{
    const struct item *item = &p->listing->items[i];
    const char *name = listing_name(p->listing, i);

    return item->level == 0 ? listing_open_part(p->source, name, flags)
                            : openat(p->dirs[item->level - 1], name,
                                     flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static void close_dirs(struct packer *p, size_t level)
{
    while (p->open > level)
        (void)close(p->dirs[--p->open]);
}

/* Writes a further name of a file. If a running session has lost the first one since it was
 * listed, this is the first one. Returns 1 if the item is to be written as a file. */
static int put_twin(struct packer *p, size_t i, struct err *err)
{
    struct item *item = &p->listing->items[i];
    struct item *first = &p->listing->items[item->twin - 1];

    if (first->gone && first->twin == 0) {
        first->twin = (uint32_t)i + 1;
        item->content = first->content;
        return 1;
    }
    size_t of = first->gone ? first->twin : item->twin;
    if (first->gone && p->listing->items[of - 1].gone) {
        item->gone = true;
        return 0;
    }
    _cleanup_free_ char *path = listing_path(p->listing, of - 1);
    _cleanup_free_ char *target = mem_printf("%s/%s", p->pack->manifest->id, path);
    archive_entry_set_hardlink(p->entry, target);
    return put_header(p, item->mode, &item->mtime, err);
}

/* Opens a file or directory and writes it. */
static int put_opened(struct packer *p, size_t i, struct err *err)
{
    struct item *item = &p->listing->items[i];
    bool dir = S_ISDIR(item->mode);
    _cleanup_close_ int fd = open_item(p, i, dir ? O_RDONLY | O_DIRECTORY : O_RDONLY);

    if (fd == -1 && !item->kept)
        return p->pack->live ? leave_out(p, item, err) : fail_errno(p, err);
    if (!dir)
        return p->pack->live ? put_live(p, fd, item, err) : put_same(p, fd, item, err);
    p->dirs[p->open++] = TAKE_FD(fd);
    return put_header(p, item->mode, &item->mtime, err);
}

static int put_item(struct packer *p, size_t i, struct err *err)
{
    struct item *item = &p->listing->items[i];
    size_t level = item->level;

    if (p->pack->live && is_skipped(p, item, err) != 0)
        return item->gone ? 0 : -1;
    close_dirs(p, level);
    p->path.len = level == 0 ? ID_TEXT - 1 : p->lens[level - 1];
    str_addf(&p->path, "/%s", listing_name(p->listing, i));
    p->lens[level] = p->path.len;
    archive_entry_clear(p->entry);
    if (S_ISLNK(item->mode))
        return put_link(p, p->dirs[level - 1], listing_name(p->listing, i), item, err);
    if (item->twin != 0) {
        int rc = put_twin(p, i, err);
        if (rc != 1)
            return rc;
    }
    return item->spool != 0 ? put_spooled(p, item, err) : put_opened(p, i, err);
}

static int put_all(struct packer *p, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    now.tv_nsec = 0;
    str_addf(&p->path, "%s/", p->pack->manifest->id);
    if (put_header(p, S_IFDIR | 0700, &now, err) == -1)
        return -1;
    manifest_format(p->pack->manifest, &text);
    str_addc(&text, '\n');
    if (put_text(p, FORMAT_MANIFEST, &text, err) == -1)
        return -1;
    (void)hasher_feed(p->hasher, text.data, text.len);
    hasher_end_file(p->hasher, FORMAT_MANIFEST);
    (void)hasher_list(p->hasher); /* wait until the text is hashed */
    for (size_t i = 0; i < p->listing->count; i++) {
        if (put_item(p, i, err) == -1)
            return -1;
        p->files = i + 1;
        parent_progress(p->pack->parent, p->files, p->bytes);
    }
    if (put_text(p, FORMAT_SUMS, hasher_list(p->hasher), err) == -1)
        return -1;
    return archive_write_close(p->tar) == ARCHIVE_OK ? 0 : tar_failed(p, err);
}

static int set_up(struct packer *p, struct err *err)
{
    for (size_t i = 0; i < BUFFERS; i++)
        p->buffers.bytes[i] = mem_grow(NULL, BUFFER_SIZE, 1);
    if (hasher_new(&p->hasher, err) == -1 ||
        zstd_writer_new(p->pack->file, p->pack->level, &p->zstd, err) == -1)
        return -1;
    p->tar = archive_write_new();
    p->entry = archive_entry_new();
    if (p->tar == NULL || p->entry == NULL || archive_write_set_format_pax(p->tar) != ARCHIVE_OK ||
        archive_write_set_bytes_per_block(p->tar, 0) != ARCHIVE_OK ||
        archive_write_open(p->tar, p, NULL, on_write, NULL) != ARCHIVE_OK)
        return err_set(err, MAS_FAILED, "libarchive cannot write tar");
    return 0;
}

static void clear(struct packer *p)
{
    close_dirs(p, 0);
    hasher_freep(&p->hasher); /* before freeing what it reads */
    for (size_t i = 0; i < BUFFERS; i++)
        free(p->buffers.bytes[i]);
    archive_entry_free(p->entry);
    if (p->tar != NULL) {
        (void)archive_write_fail(p->tar); /* write nothing more */
        (void)archive_write_free(p->tar);
    }
    zstd_writer_freep(&p->zstd);
    str_free(&p->path);
}

/* Checks that nothing has changed since the workspace was listed. */
static int check_same(struct listing_source *source, const struct archive_listing *before,
                      struct err *err)
{
    _cleanup_listing_ struct archive_listing after = {.items = NULL};

    source->parent = NULL; /* the warnings were already sent */
    return listing_make(source, &after, err) == -1 ? -1 : listing_compare(before, &after, err);
}

int pack_run(struct pack *pack, struct err *err)
{
    _cleanup_listing_ struct archive_listing listing = {.items = NULL};
    struct listing_source source = {.dir = pack->dir,
                                    .parts = pack->parts,
                                    .strict = pack->strict && !pack->live,
                                    .parent = pack->parent,
                                    .live = pack->live,
                                    .spool = pack->spool,
                                    .memory = pack->memory};
    struct packer p = {.pack = pack, .source = &source, .listing = &listing, .err = ERR_INIT};

    if (listing_make(&source, &listing, err) == -1)
        return -1;
    p.slack = pack->live ? find_slack(&listing) : 0;
    pack->manifest->entries = listing.count;
    pack->manifest->bytes = listing.bytes + p.slack;
    pack->manifest->links = listing.links;
    pack->manifest->live = pack->live;
    int rc = set_up(&p, err) == -1 || put_all(&p, err) == -1 || zstd_writer_end(p.zstd, err) == -1
                 ? -1
                 : 0;
    if (rc == 0) {
        const struct str *list = hasher_list(p.hasher);
        sha256_of(str_text(list), list->len, pack->digest);
        pack->written = zstd_writer_written(p.zstd);
    }
    clear(&p);
    return rc == 0 && !pack->live ? check_same(&source, &listing, err) : rc;
}
