/*
 * Moves the files, one after the other: first those go back that were tried, then those go that an
 * agent has removed or that are in the way, then the new ones come. Undone is in the opposite
 * order. No path leads through a link: each is opened from the work tree downwards
 * (path_open_above()).
 */

#include "code/tried.h"

#include "base/sha.h"
#include "base/time.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"

#define KEPT "mas-kept" /* beside mas-try */

enum {
    PLACE_TEXT = 64, /* of old/N and out/N.K */
    HASH_MAX = 256 << 20, /* bytes of a file that is looked at */
};

/* Renames, and replaces nothing. Makes the directories for `to`. Returns 1 if there is nothing. */
static int move(struct tried *tried, enum tried_where from, const char *path, enum tried_where to,
                const char *new_path)
{
    const char *name = NULL;
    const char *new_name = NULL;
    int above = tried_above(tried, from, path, false, &name);

    if (above == -1)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 1 : -1;
    int below = tried_above(tried, to, new_path, true, &new_name);
    if (below == -1)
        return -1;
    if (path_rename_new(above, name, below, new_name) == -1)
        return errno == ENOENT ? 1 : -1;
    if (from == TRIED_TOP)
        tried_forget_above(tried, path);
    return 0;
}

static const char *old_of(const struct tried_file *file, char ret[PLACE_TEXT])
{
    (void)snprintf(ret, PLACE_TEXT, "old/%zu", file->slot);
    return ret;
}

static char *new_of(const struct tried_file *file)
{
    return mem_printf("new/%s", file->path);
}

/* Takes what is at a path of the work tree to out/. Returns 1 if there is nothing. */
static int take(struct tried *tried, const struct tried_file *file, const char *path)
{
    int rc = -1;

    errno = EEXIST;
    for (unsigned i = 0; rc == -1 && errno == EEXIST && i < UINT16_MAX; i++) {
        char to[PLACE_TEXT];
        (void)snprintf(to, sizeof to, "out/%zu.%u", file->slot, i);
        rc = move(tried, TRIED_TOP, path, TRIED_OUT, to);
    }
    return rc;
}

/* Takes away what a person has put where directories were to the file. */
static int clear_way(struct tried *tried, const struct tried_file *file)
{
    const char *name = NULL;

    if (tried_above(tried, TRIED_TOP, file->path, false, &name) != -1 || errno == ENOENT)
        return 0;
    for (const char *slash = strchr(file->path, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        _cleanup_free_ char *part = mem_dupn(file->path, (size_t)(slash - file->path));
        struct stat st;
        if (tried_stat(tried, TRIED_TOP, part, &st) && !S_ISDIR(st.st_mode))
            return take(tried, file, part) == -1 ? -1 : 0;
    }
    return 0;
}

/* Gives what comes back a new time: what was built meanwhile was not built from it. */
static void touch(struct tried *tried, const char *path)
{
    const char *name = NULL;
    struct stat st;
    int above = tried_above(tried, TRIED_TOP, path, false, &name);

    if (above != -1 && fstatat(above, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
        (void)utimensat(above, name, NULL, AT_SYMLINK_NOFOLLOW);
}

/* Puts back what stood there before all, unless that was done, or nothing was moved yet. */
static int go_back(struct tried *tried, const struct tried_file *file)
{
    _cleanup_free_ char *new = new_of(file);
    char old[PLACE_TEXT];
    struct stat st;
    bool kept = tried_stat(tried, TRIED_OLD, old_of(file, old), &st);

    if (file->had
            ? !kept
            : file->fresh && (file->step != TRIED_PUT || tried_stat(tried, TRIED_NEW, new, &st)))
        return 0;
    if (take(tried, file, file->path) == -1)
        return -1;
    if (!kept)
        return 0;
    if (clear_way(tried, file) == -1 || move(tried, TRIED_OLD, old, TRIED_TOP, file->path) == -1)
        return -1;
    touch(tried, file->path);
    return 0;
}

/* Does a step forward. */
static int go_on(struct tried *tried, const struct tried_file *file)
{
    char old[PLACE_TEXT];

    if (file->fresh && file->had) {
        int rc = move(tried, TRIED_TOP, file->path, TRIED_OLD, old_of(file, old));
        errno = rc == 1 ? ENOENT : errno; /* somebody has removed it since it was seen */
        if (rc != 0)
            return -1;
    } else if (!file->fresh && take(tried, file, file->path) == -1) {
        return -1;
    }
    if (file->step != TRIED_PUT)
        return 0;
    _cleanup_free_ char *new = new_of(file);
    int rc = move(tried, TRIED_NEW, new, TRIED_TOP, file->path);
    errno = rc == 1 ? ENOENT : errno;
    return rc == 0 ? 0 : -1;
}

/* ---- what was taken away */

static void to_hex(const unsigned char *bytes, size_t len, char *ret)
{
    for (size_t i = 0; i < len; i++)
        (void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

bool tried_hash(int dir, const char *path, bool sha256, char ret[GIT_OID_TEXT])
{
    const char *name = NULL;
    _cleanup_close_ int above = path_open_above(dir, path, &name);
    _cleanup_free_ char *text = NULL;
    _cleanup_str_ struct str whole = STR_INIT;
    char target[PATH_MAX];
    struct err ignored = ERR_INIT;
    unsigned char sum[SHA1_SIZE];
    size_t len = 0;

    if (above == -1)
        return false;
    ssize_t n = readlinkat(above, name, target, sizeof target);
    if (n == -1 && file_read(above, name, HASH_MAX, &text, &len, &ignored) == -1)
        return false;
    len = n == -1 ? len : (size_t)n;
    str_addf(&whole, "blob %zu%c", len, 0);
    str_addn(&whole, n == -1 ? text : target, len);
    if (sha256) {
        sha256_of(whole.data, whole.len, ret);
        return true;
    }
    sha1(whole.data, whole.len, sum);
    to_hex(sum, sizeof sum, ret);
    return true;
}

static bool has_stamp(const struct stat *st, const struct tried_stamp *stamp)
{
    return stamp->mtime != 0 && stamp->size == st->st_size && stamp->mode == st->st_mode &&
           stamp->mtime == (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/* Returns true if nobody needs what was taken to out/: it is as mas put it there, or what is back
 * has the same bytes. */
static bool is_spare(const struct tried *tried, const struct tried_file *file, const char *path)
{
    bool sha256 = strlen(tried->tree) == GIT_OID_MAX;
    char hash[GIT_OID_TEXT], back[GIT_OID_TEXT];
    struct stat st;

    if (fstatat(tried->dir, path, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return false;
    if (has_stamp(&st, &file->is) || has_stamp(&st, &file->was))
        return true;
    if (S_ISDIR(st.st_mode) || !tried_hash(tried->dir, path, sha256, hash))
        return false;
    return strcmp(hash, file->is.oid) == 0 || strcmp(hash, file->was.oid) == 0 ||
           (file->had && tried_hash(tried->top, file->path, sha256, back) &&
            strcmp(hash, back) == 0);
}

/* Moves what a person has changed to mas-kept/TIME/. */
static int keep(const struct tried *tried, const struct tried_file *file, int out,
                const char *place, const char *when, struct tried_notes *notes, struct err *err)
{
    _cleanup_free_ char *to = mem_printf(KEPT "/%s/%s", when, file->path);
    const char *name = NULL;
    _cleanup_close_ int below = path_make_above(tried->git, to, PATH_BY_UMASK, &name);
    _cleanup_free_ char *other = mem_printf("%s~%s", name, place); /* if it is not the first */

    int rc = below == -1 ? -1 : path_rename_new(out, place, below, name);
    if (rc == -1 && errno == EEXIST)
        rc = path_rename_new(out, place, below, name = other);
    if (rc == -1)
        return err_errno(err, "cannot keep '%s'", file->path);
    _cleanup_free_ char *full =
        mem_printf("%s/%.*s%s", tried->git_path, (int)(strrchr(to, '/') + 1 - to), to, name);
    strv_push(&notes->kept, full);
    return 0;
}

/* Empties out/. */
static int sweep(const struct tried *tried, struct tried_notes *notes, struct err *err)
{
    _cleanup_close_ int out = path_open_dir(tried->dir, "out");
    _cleanup_strv_ char **names = NULL;
    char when[TIME_TEXT];

    time_format(time(NULL), when);
    if (out == -1 || path_list(out, &names, err) == -1)
        return out == -1 && errno == ENOENT ? 0 : err_errno(err, "cannot read 'out'");
    for (char **name = names; *name != NULL; name++) {
        _cleanup_free_ char *path = mem_printf("out/%s", *name);
        size_t slot = strtoul(*name, NULL, 10);
        const struct tried_file *file = tried->files;
        while (file < tried->files + tried->count && file->slot != slot)
            file++;
        if (file == tried->files + tried->count)
            continue; /* mas puts none there */
        /* a directory is spare if it is empty */
        if (unlinkat(out, *name, AT_REMOVEDIR) == 0 ||
            (is_spare(tried, file, path) && unlinkat(out, *name, 0) == 0))
            continue;
        if (keep(tried, file, out, *name, when, notes, err) == -1)
            return -1;
    }
    return 0;
}

/* Removes the directories that mas has made and that are empty. */
static void remove_dirs(struct tried *tried)
{
    tried_forget_above(tried, NULL);
    for (size_t i = strv_len(tried->dirs); i > 0; i--) {
        const char *name = NULL;
        _cleanup_close_ int above = path_open_above(tried->top, tried->dirs[i - 1], &name);
        if (above != -1)
            (void)unlinkat(above, name, AT_REMOVEDIR);
    }
}

/* ---- */

static int fail(const struct tried *tried, const char *path, struct err *err)
{
    int number = errno;

    if (number == EXDEV)
        return err_set(err, MAS_CONFLICT,
                       "cannot move '%s' of '%s': it is on another file system than the repository",
                       path, tried->top_path);
    errno = number;
    if (number == ENOENT || number == EEXIST)
        return err_set(err, MAS_CONFLICT, "cannot move '%s' of '%s': it was changed meanwhile",
                       path, tried->top_path);
    return err_errno(err, "cannot move '%s' of '%s'", path, tried->top_path);
}

/* Does the files of one step. */
static int do_step(struct tried *tried, enum tried_step step, struct err *err)
{
    for (size_t i = 0; i < tried->count; i++)
        if (tried->files[i].step == step && go_on(tried, &tried->files[i]) == -1)
            return fail(tried, tried->files[i].path, err);
    return 0;
}

/* Puts files back, those of one step or (TRIED_REST) all: what came goes before what went comes. */
static int do_back(struct tried *tried, enum tried_step step, struct err *err)
{
    for (int came = 1; came >= 0; came--) {
        for (size_t i = tried->count; i > 0; i--) {
            const struct tried_file *file = &tried->files[i - 1];
            bool comes = file->is.oid[0] != '\0' || file->was.oid[0] != '\0';
            if (comes == came && (step == TRIED_REST || file->step == step) &&
                go_back(tried, file) == -1)
                return fail(tried, file->path, err);
        }
        remove_dirs(tried);
    }
    return 0;
}

int tried_move(struct tried *tried, struct tried_notes *notes, struct err *err)
{
    struct err why = ERR_INIT;

    if (tried_write(tried, TRIED_JOURNAL, err) == -1)
        return -1;
    tried->half = true;
    int rc = do_back(tried, TRIED_BACK, err);
    if (rc == 0)
        rc = do_step(tried, TRIED_CLEAR, err);
    if (rc == 0)
        rc = do_step(tried, TRIED_PUT, err);
    if (rc == 0)
        rc = sweep(tried, notes, err);
    if (rc == 0)
        rc = tried_settle(tried, err);
    if (rc == 0)
        tried->half = false;
    else if (tried_off(tried, notes, &why) == -1)
        (void)err_hint(err, "and not all could be put back (%s); then run: mas try --off",
                       why.text);
    return rc;
}

/* Tells whether HEAD is still at the commit where it was. */
static bool head_moved(const struct tried *tried)
{
    const struct git git = {.dir = tried->git_path, .common = tried->common};
    _cleanup_free_ char *now = NULL;
    struct err ignored = ERR_INIT;

    return git_text(&git, GIT_ARGS("rev-parse", "--verify", "--quiet", "HEAD"), &now, &ignored) ==
               -1 ||
           strcmp(now, tried->head) != 0;
}

int tried_off(struct tried *tried, struct tried_notes *notes, struct err *err)
{
    if (tried->workspace == NULL)
        return 0;
    if (!tried->half && renameat(tried->dir, TRIED_WHOLE, tried->dir, TRIED_JOURNAL) == -1)
        return err_errno(err, "cannot begin in '%s/" TRIED_DIR "'", tried->git_path);
    tried->half = true;
    if (do_back(tried, TRIED_REST, err) == -1)
        return -1;
    if (sweep(tried, notes, err) == -1)
        return -1;
    notes->head_moved = head_moved(tried);
    tried_restore_index(tried, &notes->index_stays);
    return tried_end(tried, err);
}
