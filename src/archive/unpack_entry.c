/*
 * Creates one entry, after its name, type and place are checked, and that the manifest has room for
 * it. The stack `dirs` holds the open directories above it: an entry of another directory closes
 * those that it is not in. Only then do they get their mode, which may forbid to write into them,
 * and their time, which each new entry would change.
 */

#include "archive/unpack_internal.h"
#include "os/path.h"
#include "os/tree_file.h"

int unpack_refuse(const char *name, struct err *err, const char *why)
{
    return err_set(err, MAS_DAMAGED, "its entry '%s': %s", name, why);
}

int unpack_tar_failed(const struct unpacker *u, struct err *err)
{
    const char *why = archive_error_string(u->tar);

    if (u->err.code != MAS_OK) {
        *err = u->err;
        return -1;
    }
    return err_set(err, MAS_DAMAGED, "it is damaged: %s",
                   why != NULL ? why : "it is not a tar archive");
}

const char *unpack_below_top(const struct unpacker *u, const char *path)
{
    size_t len = ID_TEXT - 1;
    return strncmp(path, u->manifest.id, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

/* Hashes content from archive_read_data_block(). */
static void unpack_feed(struct unpacker *u, const char *bytes, size_t len)
{
    u->ticket = hasher_feed(u->hasher, bytes, len);
    if (bytes < u->piece || bytes >= u->piece + u->piece_len) /* it is in a buffer of libarchive */
        hasher_wait(u->hasher, u->ticket);
}

static int fail_errno(const char *name, struct err *err)
{
    return err_errno(err, "cannot create '%s'", name);
}

/* Reports that a file cannot be created. If the name is the reason, the archive is damaged. */
static int cannot_make(const char *name, struct err *err)
{
    if (errno == EEXIST)
        return unpack_refuse(name, err, "it appears twice");
    return errno == ENAMETOOLONG ? unpack_refuse(name, err, "its name is too long")
                                 : fail_errno(name, err);
}

/* Fails unless all names in a path are valid. `rel` has no slash at its end. */
static int check_path(const char *rel, size_t *ret_level, struct err *err)
{
    size_t level = 0;

    for (const char *name = rel;; level++) {
        size_t len = strcspn(name, "/");
        if (len == 0 || (len == 1 && name[0] == '.') || (len == 2 && memcmp(name, "..", 2) == 0))
            return unpack_refuse(rel, err, "its path leads out of the session or is invalid");
        if (len > FORMAT_NAME_MAX)
            return unpack_refuse(rel, err, "its name is too long");
        if (level > TREE_DEPTH_MAX)
            return unpack_refuse(rel, err, "it is nested too deeply");
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
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, dir->mtime};
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

/* Finishes the directories that do not contain this entry. The lowest open one must then be its
 * own. */
static int enter(struct unpacker *u, const char *rel, size_t level, int *ret, struct err *err)
{
    const char *slash = strrchr(rel, '/');
    size_t len = slash != NULL ? (size_t)(slash - rel) : 0;

    while (u->open > 0 && (u->path.len > len || memcmp(rel, u->path.data, u->path.len) != 0 ||
                           rel[u->path.len] != '/'))
        if (dir_finish(u, err) == -1)
            return -1;
    if (u->open != level || u->path.len != len)
        return unpack_refuse(rel, err, "its directory does not come before it");
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
    if (fd == -1 && errno == EACCES && /* a umask that removes the owner's bits */
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

/* Writes the content of a file; ranges without content become holes. */
static int fill(struct unpacker *u, int fd, const char *rel, uint64_t size, struct err *err)
{
    const void *bytes;
    size_t len;
    la_int64_t offset;
    uint64_t at = 0; /* written so far */
    int rc;

    while ((rc = archive_read_data_block(u->tar, &bytes, &len, &offset)) == ARCHIVE_OK) {
        if (len == 0)
            continue;
        if ((uint64_t)offset < at || (uint64_t)offset > size || len > size - (uint64_t)offset)
            return unpack_refuse(rel, err, "its contents do not match its size");
        u->bytes += len;
        if (u->bytes > u->manifest.bytes)
            return unpack_refuse(rel, err, "with it, the archive has more than its manifest says");
        hasher_feed_zeros(u->hasher, (uint64_t)offset - at);
        unpack_feed(u, bytes, len);
        if (write_all_at(fd, bytes, len, (uint64_t)offset) == -1)
            return fail_errno(rel, err);
        at = (uint64_t)offset + len;
        parent_progress(u->unpack->parent, u->entries, u->bytes);
    }
    if (rc != ARCHIVE_EOF)
        return unpack_tar_failed(u, err);
    hasher_feed_zeros(u->hasher, size - at);
    return at < size && ftruncate(fd, (off_t)size) == -1 ? fail_errno(rel, err) : 0;
}

static int make_file(struct unpacker *u, int at, const char *rel, mode_t mode,
                     struct archive_entry *entry, const struct part *part, struct err *err)
{
    la_int64_t size = archive_entry_size(entry);
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, mtime_of(entry)};

    if (archive_entry_size_is_set(entry) == 0 || size < 0 ||
        (!part->dir && (uint64_t)size > part->max) ||
        (uint64_t)size > MANIFEST_BYTES_MAX - u->apparent)
        return unpack_refuse(rel, err, "it is too large");
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
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, mtime_of(entry)};

    if (target == NULL || target[0] == '\0' || strlen(target) > FORMAT_LINK_MAX)
        return unpack_refuse(rel, err, "it is a link with an empty or too long target");
    if (path_link_leads_out(target, level)) {
        u->links++;
        if (!u->unpack->links) {
            (void)err_set(err, MAS_FAILED,
                          "its entry '%s': it is a link that leads out of the session, to '%s'",
                          rel, target);
            return err_hint(err, "if you trust the archive, accept such links with --links");
        }
    }
    if (symlinkat(target, at, base_name(rel)) == -1)
        return cannot_make(rel, err);
    return utimensat(at, base_name(rel), times, AT_SYMLINK_NOFOLLOW) == -1 ? fail_errno(rel, err)
                                                                           : 0;
}

/* Opens the directory of an entry that was created earlier, name by name, without following
 * links. */
static int open_parent(const struct unpacker *u, const char *rel)
{
    int at = openat(u->unpack->dir, ".", PATH_PLACE | O_CLOEXEC);

    for (const char *slash; at != -1 && (slash = strchr(rel, '/')) != NULL; rel = slash + 1) {
        _cleanup_free_ char *name = mem_dupn(rel, (size_t)(slash - rel));
        int next = openat(at, name, PATH_PLACE | O_NOFOLLOW | O_CLOEXEC);
        (void)close(at);
        at = next;
    }
    return at;
}

static int make_hardlink(struct unpacker *u, int at, const char *rel, struct archive_entry *entry,
                         struct err *err)
{
    const char *target = unpack_below_top(u, archive_entry_hardlink(entry));
    struct stat st;
    size_t level = 0;

    if (archive_entry_size_is_set(entry) != 0 && archive_entry_size(entry) > 0)
        return unpack_refuse(rel, err, "it is a link with content");
    if (target == NULL || check_path(target, &level, err) == -1 || level == 0)
        return unpack_refuse(rel, err, "it is a hard link that leads out of the session");
    const struct part *part = part_find(target, strcspn(target, "/"));
    if (part == NULL || !part->deep)
        return unpack_refuse(rel, err, "it is a hard link that leads out of the session");
    _cleanup_close_ int from = open_parent(u, target);
    if (from == -1 || fstatat(from, base_name(target), &st, AT_SYMLINK_NOFOLLOW) == -1 ||
        !S_ISREG(st.st_mode))
        return unpack_refuse(rel, err, "it is a hard link to a file that is not in the archive");
    return linkat(from, base_name(target), at, base_name(rel), 0) == -1 ? cannot_make(rel, err) : 0;
}

/* Checks whether this type of file is allowed at this place. */
static int check_kind(const char *rel, size_t level, const struct part *part, mode_t kind,
                      bool hardlink, struct err *err)
{
    if (part == NULL)
        return unpack_refuse(rel, err, "it is not part of a session");
    if (kind != S_IFREG && kind != S_IFDIR && kind != S_IFLNK)
        return err_set(err, MAS_DAMAGED, "its entry '%s': it is %s", rel, path_type_name(kind));
    bool good = level == 0   ? kind == (part->dir ? S_IFDIR : S_IFREG) && !hardlink
                : part->deep ? true
                : part->dir  ? level == 1 && kind == S_IFREG && !hardlink
                             : false;
    if (!good)
        return err_set(err, MAS_DAMAGED, "its entry '%s': it must not be %s", rel,
                       hardlink ? "a hard link" : path_type_name(kind));
    return 0;
}

int unpack_entry(struct unpacker *u, const char *rel, struct archive_entry *entry, struct err *err)
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
        return unpack_refuse(rel, err, "it has a setuid or setgid bit");
    if (++u->entries > u->manifest.entries)
        return unpack_refuse(rel, err, "with it, the archive has more than its manifest says");
    u->seen[part - parts] = true;
    if (level == 0 && part->mode != 0)
        mode = part->mode;
    else if (!part->deep)
        mode = 0600; /* a log file */
    if (enter(u, rel, level, &at, err) == -1)
        return -1;
    parent_progress(u->unpack->parent, u->entries, u->bytes);
    if (hardlink)
        return make_hardlink(u, at, rel, entry, err);
    if (kind == S_IFDIR)
        return make_dir(u, at, rel, mode, entry, err);
    if (kind == S_IFLNK)
        return make_symlink(u, at, rel, level, entry, err);
    return make_file(u, at, rel, mode, entry, part, err);
}

int unpack_leave(struct unpacker *u, struct err *err)
{
    while (u->open > 0)
        if (dir_finish(u, err) == -1)
            return -1;
    return 0;
}
