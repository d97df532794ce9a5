/*
 * Three at work: zstd_reader decompresses ahead, this thread parses and writes, the hasher hashes.
 * A piece of the tar is used in place by all of them, so on_read() gives one back only when its
 * bytes are hashed. Order: the manifest, which the caller may refuse before anything is created;
 * the entries (unpack_entry.c); the list of checksums against what was computed; nothing but zeros
 * behind the end; then whether all came that the manifest says.
 */

#include "archive/unpack_internal.h"

enum { PADDING_MAX = 1 << 20 }; /* bytes of zeros allowed after the end of a tar */

/* Gives libarchive the next piece. libarchive is done with the previous one, but the hasher may not
 * be. */
static la_ssize_t on_read(struct archive *tar, void *arg, const void **ret)
{
    struct unpacker *u = arg;

    (void)tar;
    if (u->held > 0)
        u->tickets[u->held - 1] = u->ticket;
    if (u->held == ZSTD_READER_HELD) {
        hasher_wait(u->hasher, u->tickets[0]);
        zstd_reader_release(u->in);
        u->held--;
        memmove(u->tickets, u->tickets + 1, u->held * sizeof *u->tickets);
    }
    ssize_t len = zstd_reader_next(u->in, ret, &u->err);
    if (len > 0) {
        u->held++;
        u->piece = *ret;
        u->piece_len = (size_t)len;
        u->taken += (uint64_t)len;
    }
    return len;
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
        return unpack_refuse(name, err, "it is not a file of the required size");
    while ((rc = archive_read_data_block(u->tar, &bytes, &len, &at)) == ARCHIVE_OK) {
        if ((size_t)at != to->len || to->len + len > max)
            return unpack_refuse(name, err, "it is not a regular file");
        if (len > 0) /* the last block may have no address */
            str_addn(to, bytes, len);
    }
    return rc == ARCHIVE_EOF ? 0 : unpack_tar_failed(u, err);
}

/* Returns 1 if there is another entry, 0 at the end. */
static int next_entry(struct unpacker *u, struct archive_entry **ret, struct err *err)
{
    int rc = archive_read_next_header(u->tar, ret);

    if (rc == ARCHIVE_EOF && u->err.code == MAS_OK)
        return 0;
    if (rc != ARCHIVE_OK)
        return unpack_tar_failed(u, err);
    if (archive_entry_pathname(*ret) == NULL)
        return err_set(err, MAS_DAMAGED, "it is damaged: an entry has no name");
    return 1;
}

/* Reads the top directory and the manifest, which name the session. */
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
        return err_set(err, MAS_DAMAGED, "it is not an archive of mas: it does not begin with '%s'",
                       FORMAT_MANIFEST);
    _cleanup_free_ char *top = mem_dupn(path, ID_TEXT);
    if (read_text(u, FORMAT_MANIFEST, entry, FORMAT_MANIFEST_MAX, &text, err) == -1)
        return -1;
    if (json_parse(str_text(&text), text.len, FORMAT_MANIFEST_MAX, &json, err) == -1 ||
        manifest_read(json, &u->manifest, err) == -1)
        return err_wrap(err, "its manifest");
    if (strncmp(top, u->manifest.id, ID_TEXT - 1) != 0 || top[ID_TEXT - 1] != '/')
        return err_set(err, MAS_DAMAGED,
                       "its manifest and its entries belong to different sessions");
    u->ticket = hasher_feed(u->hasher, str_text(&text), text.len);
    hasher_end_file(u->hasher, FORMAT_MANIFEST);
    (void)hasher_list(u->hasher); /* wait until the text is hashed */
    return u->unpack->on_manifest != NULL
               ? u->unpack->on_manifest(&u->manifest, u->unpack->arg, err)
               : 0;
}

/* Compares the list of checksums with the computed one. */
static int check_sums(struct unpacker *u, struct archive_entry *entry, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    const struct str *list = hasher_list(u->hasher);

    if (read_text(u, FORMAT_SUMS, entry, list->len, &text, err) == -1)
        return -1;
    if (text.len == list->len && memcmp(str_text(&text), list->data, text.len) == 0)
        return 0;
    size_t at = 0; /* the first line that differs */
    for (size_t i = 0; i < text.len && text.data[i] == list->data[i]; i++)
        if (list->data[i] == '\n')
            at = i + 1;
    const char *name = strchr(list->data + at, ' ');
    if (name == NULL)
        return unpack_refuse(FORMAT_SUMS, err, "it does not list the files of the archive");
    return err_set(err, MAS_DAMAGED, "its entry '%.*s': its checksum does not match",
                   (int)strcspn(name + 2, "\n"), name + 2);
}

static bool is_zero(const char *bytes, size_t len)
{
    return len == 0 || (bytes[0] == '\0' && memcmp(bytes, bytes + 1, len - 1) == 0);
}

/* After the end of the tar, only a few zeros may follow, then the end of the input. */
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
        return unpack_tar_failed(u, err);
    return good ? 0 : err_set(err, MAS_DAMAGED, "unexpected data after its end");
}

static int check_whole(const struct unpacker *u, struct err *err)
{
    for (size_t i = 0; i < PARTS_COUNT; i++)
        if (parts[i].required && !u->seen[i])
            return err_set(err, MAS_DAMAGED, "its '%s' is missing", parts[i].name);
    /* more of either was refused on the way */
    if (!u->manifest.live && (u->entries != u->manifest.entries || u->bytes != u->manifest.bytes ||
                              u->links != u->manifest.links))
        return err_set(err, MAS_DAMAGED, "its contents do not match its manifest");
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
        const char *rel = unpack_below_top(u, path);
        if (rel == NULL)
            return unpack_refuse(path, err, "its path leads out of the session");
        if (strcmp(rel, FORMAT_SUMS) == 0)
            break;
        if (archive_entry_filetype(entry) == AE_IFDIR && len > 0 && path[len - 1] == '/')
            path[len - 1] = '\0';
        if (unpack_entry(u, rel, entry, err) == -1)
            return -1;
    }
    if (rc == -1)
        return -1;
    if (rc == 0)
        return err_set(err, MAS_DAMAGED, "it has no list of checksums at its end");
    if (unpack_leave(u, err) == -1 || check_sums(u, entry, err) == -1)
        return -1;
    rc = next_entry(u, &entry, err);
    if (rc == 1)
        return unpack_refuse(archive_entry_pathname(entry), err, "it comes after the checksums");
    return rc == -1 || check_end(u, err) == -1 || check_whole(u, err) == -1 ? -1 : 0;
}

int unpack_run(const struct unpack *unpack, char ret_digest[SHA256_TEXT], struct err *err)
{
    struct unpacker u = {.unpack = unpack, .err = ERR_INIT};
    int rc = hasher_new(&u.hasher, err);

    if (rc == 0)
        rc = zstd_reader_new(unpack->file, &u.in, err);
    if (rc == 0) {
        u.tar = archive_read_new();
        if (u.tar == NULL || archive_read_support_format_tar(u.tar) != ARCHIVE_OK)
            rc = err_set(err, MAS_FAILED, "libarchive cannot read tar");
        else if (archive_read_open(u.tar, &u, NULL, on_read, NULL) != ARCHIVE_OK)
            rc = unpack_tar_failed(&u, err);
    }
    if (rc == 0)
        rc = read_all(&u, err);
    if (rc == 0)
        sha256_of(str_text(hasher_list(u.hasher)), hasher_list(u.hasher)->len, ret_digest);
    while (u.open > 0)
        (void)close(u.dirs[--u.open].fd);
    hasher_freep(&u.hasher); /* before freeing what it reads */
    if (u.tar != NULL)
        (void)archive_read_free(u.tar);
    zstd_reader_freep(&u.in);
    manifest_free(&u.manifest);
    str_free(&u.path);
    return rc;
}
