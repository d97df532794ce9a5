/* The part of archive/pack.h that packs a session that runs. */
#include "archive/pack_internal.h"
#include "base/tree_file.h"
#include "store/workspace.h"

enum { SLACK_LEAST = 16 << 20 };

uint64_t pack_live_slack(const struct archive_listing *listing)
{
    uint64_t slack = SLACK_LEAST + listing->bytes / 8;
    uint64_t most = MANIFEST_BYTES_MAX - listing->bytes;

    return slack < most ? slack : most;
}

static void tell(const struct packer *p, const char *what)
{
    parent_warn(p->pack->parent, "'%s' %s", pack_path(p), what);
}

void pack_live_short(const struct packer *p)
{
    tell(p, "became shorter while it was saved; zeros fill the rest");
}

static int packed_anew(const struct packer *p, struct err *err)
{
    (void)err_set(err, MAS_CONFLICT, "'%s': git removed it while its repository was saved",
                  pack_path(p));
    return err_hint(err, "try again");
}

int pack_live_skips(struct packer *p, struct item *item, struct err *err)
{
    if (p->skip != 0 && item->level >= p->skip) {
        item->gone = !item->object;
        return item->object ? packed_anew(p, err) : 1;
    }
    p->skip = 0;
    return 0;
}

int pack_live_gone(struct packer *p, struct item *item, struct err *err)
{
    static const int gone[] = {ENOENT, ENOTDIR, ELOOP, ENXIO, EINVAL, EISDIR, EACCES, EBADF};
    bool is_gone = false;

    for (size_t i = 0; i < ARRAY_LEN(gone); i++)
        is_gone = is_gone || errno == gone[i];
    if (!is_gone || item->level == 0)
        return pack_errno(p, err);
    if (item->object)
        return packed_anew(p, err);
    tell(p, errno == EACCES ? "cannot be read and is left out"
                            : "vanished while the session was saved");
    item->gone = true;
    if (S_ISDIR(item->mode))
        p->skip = item->level + 1U;
    return 0;
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
            return pack_errno(p, err);
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
    return str_starts(pack_path(p), WORKSPACE_LOGS "/");
}

int pack_live_file(struct packer *p, int fd, struct item *item, struct err *err)
{
    struct stat before;
    struct stat after;

    if (fstat(fd, &before) == -1)
        return pack_errno(p, err);
    if (!S_ISREG(before.st_mode)) {
        errno = EINVAL;
        return pack_live_gone(p, item, err);
    }
    item->mode = before.st_mode & (S_IFMT | TREE_MODE_BITS);
    item->mtime = before.st_mtim;
    int rc = take_size(p, fd, &before, item, err);
    if (rc != 0)
        return rc == 1 ? 0 : -1;
    if (pack_file(p, fd, item, err) == -1)
        return -1;
    if (fstat(fd, &after) == 0 && !is_log(p) &&
        (after.st_size != before.st_size || after.st_mtim.tv_sec != before.st_mtim.tv_sec ||
         after.st_mtim.tv_nsec != before.st_mtim.tv_nsec))
        tell(p, "changed while it was saved");
    return 0;
}

int pack_live_spooled(struct packer *p, const struct item *item, struct err *err)
{
    if (lseek(p->pack->spool, (off_t)(item->spool - 1), SEEK_SET) == -1)
        return pack_errno(p, err);
    return pack_file(p, p->pack->spool, item, err);
}
