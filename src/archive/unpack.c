#include "archive/unpack.h"

#include "archive/hasher.h"
#include "archive/squeeze.h"
#include "base/path.h"
#include "base/tree.h"
#include "base/tree_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PADDING_MAX = 1 << 20 }; /* zeros that may stand behind the end of a tar */

/* A directory that was made and is being filled. */
struct made {
    int fd;
    mode_t mode;
    struct timespec mtime;
    size_t len; /* of its path */
};

struct unpacker {
    const struct unpack *unpack;
    struct manifest manifest;
    struct unsqueeze *in;
    struct hasher *hasher;
    struct archive *tar;
    struct made dirs[TREE_DEPTH_MAX + 2]; /* from the part down to where the next entry goes */
    size_t open;
    struct str path; /* of the lowest of them */
    uint64_t entries, bytes, apparent, links; /* so far */
    bool seen[PARTS_COUNT];
    struct err err; /* of the decompression, which libarchive calls */

    const char *piece; /* what libarchive reads */
    size_t piece_len;
    uint64_t taken; /* bytes, with that piece */
    uint64_t tickets[UNSQUEEZE_HELD]; /* of the pieces that are held, oldest first */
    size_t held;
    uint64_t ticket; /* of what was hashed last */
};

/* An entry that is wrong: `name` is below the top directory. */
static int refuse(const char *name, struct err *err, const char *why)
{
    return err_set(err, MAS_DAMAGED, "its entry '%s': %s", name, why);
}

static int fail_errno(const char *name, struct err *err)
{
    return err_errno(err, "cannot make '%s'", name);
}

/* Something could not be made. Where its name is the reason the archive is wrong. */
static int cannot_make(const char *name, struct err *err)
{
    if (errno == EEXIST)
        return refuse(name, err, "it is there twice");
    return errno == ENAMETOOLONG ? refuse(name, err, "its name is too long")
                                 : fail_errno(name, err);
}

static int tar_failed(const struct unpacker *u, struct err *err)
{
    const char *why = archive_error_string(u->tar);

    if (u->err.code != MAS_OK) {
        *err = u->err;
        return -1;
    }
    return err_set(err, MAS_DAMAGED, "it is damaged: %s", why != NULL ? why : "it is no tar");
}

/* The next piece for libarchive, which wants the one before no more; the hasher may. */
static la_ssize_t on_read(struct archive *tar, void *arg, const void **ret)
{
    struct unpacker *u = arg;

    (void)tar;
    if (u->held > 0)
        u->tickets[u->held - 1] = u->ticket;
    if (u->held == UNSQUEEZE_HELD) {
        hasher_wait(u->hasher, u->tickets[0]);
        unsqueeze_give_back(u->in);
        u->held--;
        memmove(u->tickets, u->tickets + 1, u->held * sizeof *u->tickets);
    }
    ssize_t len = unsqueeze_take(u->in, ret, &u->err);
    if (len > 0) {
        u->held++;
        u->piece = *ret;
        u->piece_len = (size_t)len;
        u->taken += (uint64_t)len;
    }
    return len;
}

static void feed(struct unpacker *u, const char *bytes, size_t len)
{
    u->ticket = hasher_feed(u->hasher, bytes, len);
    if (bytes < u->piece || bytes >= u->piece + u->piece_len) /* in a buffer of libarchive */
        hasher_wait(u->hasher, u->ticket);
}

static int read_text(struct unpacker *u, const char *name, struct archive_entry *entry, size_t max,
                     struct str *to, struct err *err)
{
    const void *bytes;
    size_t len;
    la_int64_t at;
    int rc;

    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != NULL ||
        archive_entry_size(entry) < 0 || (uint64_t)archive_entry_size(entry) > max)
        return refuse(name, err, "it is no file of the size that it must have");
    while ((rc = archive_read_data_block(u->tar, &bytes, &len, &at)) == ARCHIVE_OK) {
        if ((size_t)at != to->len || to->len + len > max)
            return refuse(name, err, "it is no plain file");
        if (len > 0) /* the last block may be no place at all */
            str_addn(to, bytes, len);
    }
    return rc == ARCHIVE_EOF ? 0 : tar_failed(u, err);
}

/* What stands behind the top directory's name; NULL: it is not in there. */
static const char *below_top(const struct unpacker *u, const char *path)
{
    size_t len = ID_TEXT - 1;
    return strncmp(path, u->manifest.id, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

/* Fails unless all names of a path are good ones. `rel` is without a slash at its end. */
static int check_path(const char *rel, size_t *ret_level, struct err *err)
{
    size_t level = 0;

    for (const char *name = rel;; level++) {
        size_t len = strcspn(name, "/");
        if (len == 0 || (len == 1 && name[0] == '.') || (len == 2 && memcmp(name, "..", 2) == 0))
            return refuse(rel, err, "its path leads out, or nowhere");
        if (len > FORMAT_NAME_MAX)
            return refuse(rel, err, "its name is too long");
        if (level > TREE_DEPTH_MAX)
            return refuse(rel, err, "it is too many levels deep");
        if (name[len] == '\0')
            break;
        name += len + 1;
    }
    *ret_level = level;
    return 0;
}

static int dir_finish(struct unpacker *u, struct err *err)
{
    struct made *dir = &u->dirs[u->open - 1];
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, dir->mtime};
    int rc = fchmod(dir->fd, dir->mode) == -1 || futimens(dir->fd, times) == -1 ? -1 : 0;

    if (rc == -1)
        (void)fail_errno(str_text(&u->path), err);
    (void)close(dir->fd);
    u->open--;
    u->path.len = u->open > 0 ? u->dirs[u->open - 1].len : 0;
    if (u->path.data != NULL)
        u->path.data[u->path.len] = '\0';
    return rc;
}

/* Finishes the directories that this entry is not in; then the lowest is its own, or it is lost. */
static int enter(struct unpacker *u, const char *rel, size_t level, int *ret, struct err *err)
{
    const char *slash = strrchr(rel, '/');
    size_t len = slash != NULL ? (size_t)(slash - rel) : 0;

    while (u->open > 0 && (u->path.len > len || memcmp(rel, u->path.data, u->path.len) != 0 ||
                           rel[u->path.len] != '/'))
        if (dir_finish(u, err) == -1)
            return -1;
    if (u->open != level || u->path.len != len)
        return refuse(rel, err, "its directory does not stand in front of it");
    *ret = u->open > 0 ? u->dirs[u->open - 1].fd : u->unpack->dir;
    return 0;
}

static const char *base_name(const char *rel)
{
    const char *slash = strrchr(rel, '/');
    return slash != NULL ? slash + 1 : rel;
}

static struct timespec mtime_of(struct archive_entry *entry)
{
    return (struct timespec){.tv_sec = archive_entry_mtime(entry),
                             .tv_nsec = archive_entry_mtime_nsec(entry)};
}

static int make_dir(struct unpacker *u, int at, const char *rel, mode_t mode,
                    struct archive_entry *entry, struct err *err)
{
    const char *name = base_name(rel);

    if (mkdirat(at, name, S_IRWXU) == -1)
        return cannot_make(rel, err);
    int fd = path_open_dir(at, name);
    if (fd == -1 && errno == EACCES && /* an umask that takes the owner's bits */
        fchmodat(at, name, S_IRWXU, 0) == 0)
        fd = path_open_dir(at, name);
    if (fd == -1)
        return fail_errno(rel, err);
    str_clear(&u->path);
    str_add(&u->path, rel);
    u->dirs[u->open++] =
        (struct made){.fd = fd, .mode = mode, .mtime = mtime_of(entry), .len = u->path.len};
    return 0;
}

static int write_all_at(int fd, const char *bytes, size_t len, uint64_t at)
{
    while (len > 0) {
        ssize_t n = pwrite(fd, bytes, len, (off_t)at);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return -1;
        bytes += n;
        len -= (size_t)n;
        at += (uint64_t)n;
    }
    return 0;
}

/* The content of a file; where nothing stands there are holes. */
static int fill(struct unpacker *u, int fd, const char *rel, uint64_t size, struct err *err)
{
    const void *bytes;
    size_t len;
    la_int64_t offset;
    uint64_t at = 0; /* so far */
    int rc;

    while ((rc = archive_read_data_block(u->tar, &bytes, &len, &offset)) == ARCHIVE_OK) {
        if (len == 0)
            continue;
        if ((uint64_t)offset < at || (uint64_t)offset > size || len > size - (uint64_t)offset)
            return refuse(rel, err, "its content does not fit its size");
        u->bytes += len;
        if (u->bytes > u->manifest.bytes)
            return refuse(rel, err, "with it there is more than the manifest says");
        hasher_feed_zeros(u->hasher, (uint64_t)offset - at);
        feed(u, bytes, len);
        if (write_all_at(fd, bytes, len, (uint64_t)offset) == -1)
            return fail_errno(rel, err);
        at = (uint64_t)offset + len;
        talk_progress(u->unpack->talk, u->entries, u->bytes);
    }
    if (rc != ARCHIVE_EOF)
        return tar_failed(u, err);
    hasher_feed_zeros(u->hasher, size - at);
    return at < size && ftruncate(fd, (off_t)size) == -1 ? fail_errno(rel, err) : 0;
}

static int make_file(struct unpacker *u, int at, const char *rel, mode_t mode,
                     struct archive_entry *entry, const struct part *part, struct err *err)
{
    la_int64_t size = archive_entry_size(entry);
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, mtime_of(entry)};

    if (archive_entry_size_is_set(entry) == 0 || size < 0 ||
        (!part->dir && (uint64_t)size > part->max) ||
        (uint64_t)size > MANIFEST_BYTES_MAX - u->apparent)
        return refuse(rel, err, "it is too large");
    u->apparent += (uint64_t)size;
    _cleanup_close_ int fd =
        openat(at, base_name(rel), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd == -1)
        return cannot_make(rel, err);
    if (fill(u, fd, rel, (uint64_t)size, err) == -1)
        return -1;
    hasher_end_file(u->hasher, rel);
    return fchmod(fd, mode) == -1 || futimens(fd, times) == -1 ? fail_errno(rel, err) : 0;
}

static int make_symlink(struct unpacker *u, int at, const char *rel, size_t level,
                        struct archive_entry *entry, struct err *err)
{
    const char *target = archive_entry_symlink(entry);
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, mtime_of(entry)};

    if (target == NULL || target[0] == '\0' || strlen(target) > FORMAT_LINK_MAX)
        return refuse(rel, err, "it is a link to nothing, or too long");
    if (link_leads_out(target, level)) {
        u->links++;
        if (!u->unpack->links) {
            (void)err_set(err, MAS_FAILED,
                          "its entry '%s': it is a link that leads out of the session, to '%s'",
                          rel, target);
            return err_hint(err, "if you trust the archive, take such links with --links");
        }
    }
    if (symlinkat(target, at, base_name(rel)) == -1)
        return cannot_make(rel, err);
    return utimensat(at, base_name(rel), times, AT_SYMLINK_NOFOLLOW) == -1 ? fail_errno(rel, err)
                                                                           : 0;
}

/* Opens the directory of something that was made before, name by name: no link is followed. */
static int open_parent(const struct unpacker *u, const char *rel)
{
    int at = openat(u->unpack->dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

    for (const char *slash; at != -1 && (slash = strchr(rel, '/')) != NULL; rel = slash + 1) {
        _cleanup_free_ char *name = mem_dupn(rel, (size_t)(slash - rel));
        int next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        (void)close(at);
        at = next;
    }
    return at;
}

static int make_hardlink(struct unpacker *u, int at, const char *rel, struct archive_entry *entry,
                         struct err *err)
{
    const char *target = below_top(u, archive_entry_hardlink(entry));
    struct stat st;
    size_t level;

    if (archive_entry_size_is_set(entry) != 0 && archive_entry_size(entry) > 0)
        return refuse(rel, err, "it is a link with content");
    if (target == NULL || check_path(target, &level, err) == -1 || level == 0)
        return refuse(rel, err, "it is a hard link that leads out of the session");
    const struct part *part = part_find(target, strcspn(target, "/"));
    if (part == NULL || !part->deep)
        return refuse(rel, err, "it is a hard link that leads out of the session");
    _cleanup_close_ int from = open_parent(u, target);
    if (from == -1 || fstatat(from, base_name(target), &st, AT_SYMLINK_NOFOLLOW) == -1 ||
        !S_ISREG(st.st_mode))
        return refuse(rel, err, "it is a hard link to no file of the archive");
    return linkat(from, base_name(target), at, base_name(rel), 0) == -1 ? cannot_make(rel, err) : 0;
}

/* What kind of thing may stand where. */
static int check_kind(const char *rel, size_t level, const struct part *part, mode_t kind,
                      bool hardlink, struct err *err)
{
    if (part == NULL)
        return refuse(rel, err, "it is no part of a session");
    if (kind != S_IFREG && kind != S_IFDIR && kind != S_IFLNK)
        return err_set(err, MAS_DAMAGED, "its entry '%s': it is %s", rel, path_type_name(kind));
    bool good = level == 0   ? kind == (part->dir ? S_IFDIR : S_IFREG) && !hardlink
                : part->deep ? true
                : part->dir  ? level == 1 && kind == S_IFREG && !hardlink
                             : false;
    if (!good)
        return err_set(err, MAS_DAMAGED, "its entry '%s': there must not be %s", rel,
                       hardlink ? "a hard link" : path_type_name(kind));
    return 0;
}

/* Makes one entry. `rel` is its path below the top directory. */
static int make_entry(struct unpacker *u, const char *rel, struct archive_entry *entry,
                      struct err *err)
{
    bool hardlink = archive_entry_hardlink(entry) != NULL;
    mode_t kind = hardlink ? S_IFREG : archive_entry_filetype(entry);
    mode_t mode = archive_entry_perm(entry);
    size_t level = 0;
    int at = -1;

    if (check_path(rel, &level, err) == -1)
        return -1;
    const struct part *part = part_find(rel, strcspn(rel, "/"));
    if (check_kind(rel, level, part, kind, hardlink, err) == -1)
        return -1;
    if ((mode & ~(mode_t)TREE_MODE_BITS) != 0)
        return refuse(rel, err, "it has a setuid or setgid bit");
    if (++u->entries > u->manifest.entries)
        return refuse(rel, err, "with it there is more than the manifest says");
    u->seen[part - parts] = true;
    if (level == 0 && part->mode != 0)
        mode = part->mode;
    if (enter(u, rel, level, &at, err) == -1)
        return -1;
    talk_progress(u->unpack->talk, u->entries, u->bytes);
    if (hardlink)
        return make_hardlink(u, at, rel, entry, err);
    if (kind == S_IFDIR)
        return make_dir(u, at, rel, mode, entry, err);
    if (kind == S_IFLNK)
        return make_symlink(u, at, rel, level, entry, err);
    return make_file(u, at, rel, mode, entry, part, err);
}

/* 1: there is one; 0: the end. */
static int next_entry(struct unpacker *u, struct archive_entry **ret, struct err *err)
{
    int rc = archive_read_next_header(u->tar, ret);

    if (rc == ARCHIVE_EOF && u->err.code == MAS_OK)
        return 0;
    if (rc != ARCHIVE_OK)
        return tar_failed(u, err);
    if (archive_entry_pathname(*ret) == NULL)
        return err_set(err, MAS_DAMAGED, "it is damaged: an entry has no name");
    return 1;
}

/* The top directory and the manifest, which say whose the rest is. */
static int read_manifest(struct unpacker *u, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_json_ struct json *json = NULL;
    struct archive_entry *entry = NULL;
    int rc = next_entry(u, &entry, err);

    if (rc == 1 && archive_entry_filetype(entry) == AE_IFDIR)
        rc = next_entry(u, &entry, err);
    if (rc == -1)
        return -1;
    const char *path = rc == 1 ? archive_entry_pathname(entry) : "";
    if (strlen(path) != ID_TEXT + strlen(FORMAT_MANIFEST) ||
        strcmp(path + ID_TEXT, FORMAT_MANIFEST) != 0)
        return err_set(err, MAS_DAMAGED, "it is no archive of mas: it does not begin with '%s'",
                       FORMAT_MANIFEST);
    _cleanup_free_ char *top = mem_dupn(path, ID_TEXT);
    if (read_text(u, FORMAT_MANIFEST, entry, FORMAT_MANIFEST_MAX, &text, err) == -1)
        return -1;
    if (json_parse(str_text(&text), text.len, FORMAT_MANIFEST_MAX, &json, err) == -1 ||
        manifest_read(json, &u->manifest, err) == -1)
        return err_wrap(err, "its manifest");
    if (strncmp(top, u->manifest.id, ID_TEXT - 1) != 0 || top[ID_TEXT - 1] != '/')
        return err_set(err, MAS_DAMAGED,
                       "its manifest: it is that of another session than the entries");
    u->ticket = hasher_feed(u->hasher, str_text(&text), text.len);
    hasher_end_file(u->hasher, FORMAT_MANIFEST);
    (void)hasher_list(u->hasher); /* the text is read by now */
    return u->unpack->on_manifest != NULL
               ? u->unpack->on_manifest(&u->manifest, u->unpack->arg, err)
               : 0;
}

/* The list of checksums must be the one that was computed from what was read. */
static int check_sums(struct unpacker *u, struct archive_entry *entry, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    const struct str *list = hasher_list(u->hasher);

    if (read_text(u, FORMAT_SUMS, entry, list->len, &text, err) == -1)
        return -1;
    if (text.len == list->len && memcmp(str_text(&text), list->data, text.len) == 0)
        return 0;
    size_t at = 0; /* the line that differs */
    for (size_t i = 0; i < text.len && text.data[i] == list->data[i]; i++)
        if (list->data[i] == '\n')
            at = i + 1;
    const char *name = strchr(list->data + at, ' ');
    if (name == NULL)
        return refuse(FORMAT_SUMS, err, "it does not list the files of the archive");
    return err_set(err, MAS_DAMAGED, "its entry '%.*s': its checksum is another",
                   (int)strcspn(name + 2, "\n"), name + 2);
}

static bool is_zero(const char *bytes, size_t len)
{
    return len == 0 || (bytes[0] == '\0' && memcmp(bytes, bytes + 1, len - 1) == 0);
}

/* Behind the end of the tar there is nothing but a few zeros, and then the input ends. */
static int check_end(struct unpacker *u, struct err *err)
{
    la_int64_t used = archive_filter_bytes(u->tar, 0);
    uint64_t start = u->taken - u->piece_len;
    size_t skip = used >= 0 && (uint64_t)used >= start && (uint64_t)used <= u->taken
                      ? (size_t)((uint64_t)used - start)
                      : 0;
    bool good = is_zero(u->piece + skip, u->piece_len - skip);
    uint64_t end = u->taken;
    const void *piece;
    la_ssize_t len = 0;

    while (good && (len = on_read(u->tar, u, &piece)) > 0)
        good = is_zero(piece, (size_t)len) && u->taken - end <= PADDING_MAX;
    if (len == -1)
        return tar_failed(u, err);
    return good ? 0 : err_set(err, MAS_DAMAGED, "something stands behind its end");
}

static int check_whole(const struct unpacker *u, struct err *err)
{
    for (size_t i = 0; i < PARTS_COUNT; i++)
        if (parts[i].required && !u->seen[i])
            return err_set(err, MAS_DAMAGED, "its '%s' is missing", parts[i].name);
    if (u->entries != u->manifest.entries || u->bytes != u->manifest.bytes ||
        u->links != u->manifest.links)
        return err_set(err, MAS_DAMAGED, "it does not hold what its manifest says");
    return 0;
}

static int read_all(struct unpacker *u, struct err *err)
{
    struct archive_entry *entry = NULL;
    int rc;

    if (read_manifest(u, err) == -1)
        return -1;
    while ((rc = next_entry(u, &entry, err)) == 1) {
        _cleanup_free_ char *path = mem_dup(archive_entry_pathname(entry));
        size_t len = strlen(path);
        const char *rel = below_top(u, path);
        if (rel == NULL)
            return refuse(path, err, "its path leads out of the session");
        if (strcmp(rel, FORMAT_SUMS) == 0)
            break;
        if (archive_entry_filetype(entry) == AE_IFDIR && len > 0 && path[len - 1] == '/')
            path[len - 1] = '\0';
        if (make_entry(u, rel, entry, err) == -1)
            return -1;
    }
    if (rc == -1)
        return -1;
    if (rc == 0)
        return err_set(err, MAS_DAMAGED, "it has no list of checksums at its end");
    while (u->open > 0)
        if (dir_finish(u, err) == -1)
            return -1;
    if (check_sums(u, entry, err) == -1)
        return -1;
    rc = next_entry(u, &entry, err);
    if (rc == 1)
        return refuse(archive_entry_pathname(entry), err, "it stands behind the checksums");
    return rc == -1 || check_end(u, err) == -1 || check_whole(u, err) == -1 ? -1 : 0;
}

int unpack_run(const struct unpack *unpack, struct err *err)
{
    struct unpacker u = {.unpack = unpack, .err = ERR_INIT};
    int rc = hasher_new(&u.hasher, err);

    if (rc == 0)
        rc = unsqueeze_new(unpack->file, &u.in, err);
    if (rc == 0) {
        u.tar = archive_read_new();
        if (u.tar == NULL || archive_read_support_format_tar(u.tar) != ARCHIVE_OK)
            rc = err_set(err, MAS_FAILED, "libarchive cannot read tar");
        else if (archive_read_open(u.tar, &u, NULL, on_read, NULL) != ARCHIVE_OK)
            rc = tar_failed(&u, err);
    }
    if (rc == 0)
        rc = read_all(&u, err);
    while (u.open > 0)
        (void)close(u.dirs[--u.open].fd);
    hasher_freep(&u.hasher); /* before what it reads goes */
    if (u.tar != NULL)
        (void)archive_read_free(u.tar);
    unsqueeze_freep(&u.in);
    manifest_free(&u.manifest);
    str_free(&u.path);
    return rc;
}
