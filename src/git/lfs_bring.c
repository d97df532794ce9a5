/*
 * The part of git/lfs.h that brings objects from store to store. The small files of the commits are
 * listed, then read in batches; those that are pointers name the objects. Each comes from the first
 * source that has it whole, last from the work tree, by way of lfs/tmp, and is renamed only if size
 * and sum are right. What nobody has whole is a gap, which is told, and no error.
 */

#include "git/lfs.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"

#define TMP_DIR "lfs/tmp" /* git-lfs removes old files there whose names begin with an object's */

enum {
    BATCH = 10000, /* files that git is asked for at once */
    BUFFER = 1 << 17, /* bytes */
};

/* Objects on their way to a store. */
struct bringing {
    const struct lfs_sources *from;
    const char *to;
    int dir; /* of `to` */
    size_t brought;
    struct lfs_gaps *gaps;
};

/* Opens a directory in the repository, and makes what is missing of it. */
static int make_dirs(const struct bringing *bringing, const char *path, struct err *err)
{
    int dir = path_make_below(bringing->dir, path, 0755);

    return dir != -1 ? dir : err_errno(err, "cannot make '%s/%s'", bringing->to, path);
}

/* Copies at most the bytes of the object, and hashes them. *ret tells whether it is the object. */
static int copy_bytes(int from, int to, const struct lfs_pointer *pointer, bool *ret,
                      struct err *err)
{
    struct sha256 sum = sha256_begin();
    _cleanup_free_ char *buffer = mem_alloc(BUFFER);
    char oid[SHA256_TEXT];
    int64_t size = 0;
    ssize_t n = 0;

    *ret = false;
    while (size <= pointer->size && (n = read(from, buffer, BUFFER)) > 0) {
        size += n;
        sha256_add(&sum, buffer, (size_t)n);
        if (file_write_all(to, buffer, (size_t)n) == -1)
            return err_errno(err, "cannot write '%s'", pointer->oid);
    }
    sha256_hex(&sum, oid);
    *ret = n == 0 && size == pointer->size && strcmp(oid, pointer->oid) == 0;
    return 0;
}

/* Makes the object from an open file. *ret tells whether that has its bytes. */
static int take(struct bringing *bringing, const struct lfs_pointer *pointer, int file, bool *ret,
                struct err *err)
{
    _cleanup_free_ char *path = mem_printf(LFS_STORE "/%.2s/%.2s", pointer->oid, pointer->oid + 2);
    _cleanup_free_ char *name = mem_printf("%s-mas.%ld", pointer->oid, (long)getpid());
    _cleanup_close_ int dir = make_dirs(bringing, path, err);
    _cleanup_close_ int tmp = dir != -1 ? make_dirs(bringing, TMP_DIR, err) : -1;

    if (tmp == -1)
        return -1;
    (void)unlinkat(tmp, name, 0);
    _cleanup_close_ int to = openat(tmp, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    if (to == -1)
        return err_errno(err, "cannot make '%s/" TMP_DIR "/%s'", bringing->to, name);
    int rc = copy_bytes(file, to, pointer, ret, err);
    if (rc == 0 && *ret && fsync(to) == -1)
        rc = err_errno(err, "cannot write '%s/" TMP_DIR "/%s'", bringing->to, name);
    if (rc == 0 && *ret && renameat(tmp, name, dir, pointer->oid) == -1)
        rc = err_errno(err, "cannot make '%s/%s/%s'", bringing->to, path, pointer->oid);
    if (rc == -1 || !*ret)
        (void)unlinkat(tmp, name, 0);
    bringing->brought += rc == 0 && *ret;
    return rc;
}

static void add_gap(char ***list, const char *path, const struct lfs_pointer *pointer)
{
    _cleanup_str_ struct str line = STR_INIT;

    str_add_visible(&line, path, strlen(path));
    str_addf(&line, " (%.12s)", pointer->oid);
    strv_push(list, line.data);
}

/* Brings one object; `path` is a file that has it. */
static int bring_one(struct bringing *bringing, const struct lfs_pointer *pointer, const char *path,
                     struct err *err)
{
    bool damaged = false;
    bool taken = false;
    bool ignored = false;
    _cleanup_close_ int here = lfs_open(bringing->to, pointer, &ignored);

    if (here != -1 || pointer->size == 0)
        return 0;
    for (size_t i = 0; i < LFS_SOURCES_MAX && bringing->from->dirs[i] != NULL; i++) {
        bool wrong = false;
        _cleanup_close_ int fd = lfs_open(bringing->from->dirs[i], pointer, &wrong);
        if (fd != -1 && take(bringing, pointer, fd, &taken, err) == -1)
            return -1;
        if (taken)
            return 0;
        damaged = damaged || wrong || fd != -1;
    }
    _cleanup_close_ int file =
        bringing->from->tree != -1
            ? path_open_beneath(bringing->from->tree, path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
            : -1;
    struct stat st;
    if (file != -1 && fstat(file, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == pointer->size &&
        take(bringing, pointer, file, &taken, err) == -1)
        return -1;
    if (!taken)
        add_gap(damaged ? &bringing->gaps->damaged : &bringing->gaps->missing, path, pointer);
    return 0;
}

/* Reads what `git cat-file --batch` printed for a list of files: for each "<id> <type> <size>", a
 * newline, the contents and a newline; "<id> missing" for a submodule's. */
static int bring_batch(struct bringing *bringing, const struct git *git, const struct str *ids,
                       char *const *paths, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    int rc = git_must(git, GIT_ARGS("cat-file", "--batch"),
                      &(struct git_input){ids->data, ids->len}, &result, err);
    const char *at = str_text(&result.out);
    const char *end = at + result.out.len;

    for (; rc == 0 && at < end && *paths != NULL; paths++) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        struct lfs_pointer pointer;
        char type[16] = "";
        size_t size = 0;
        bool there = line != NULL && sscanf(at, "%*s %15s %zu", type, &size) == 2;
        at = line != NULL ? line + 1 : end;
        if (!there)
            continue;
        if (size > (size_t)(end - at))
            rc = err_set(err, MAS_FAILED, "cannot read the output of git cat-file");
        else if (strcmp(type, "blob") == 0 && lfs_parse(at, size, &pointer))
            rc = bring_one(bringing, &pointer, *paths, err);
        at += size < (size_t)(end - at) ? size + 1 : (size_t)(end - at);
    }
    return rc;
}

/* Lists the small files of the commits, "<id> <path>", and brings what they point to. */
static int bring_all(struct bringing *bringing, const struct git *git, const char *revs,
                     enum lfs_range range, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    _cleanup_str_ struct str ids = STR_INIT;
    char **paths = NULL;
    size_t count = 0;
    int rc = git_must(git,
                      GIT_ARGS("rev-list", "--objects", "--stdin",
                               range == LFS_TREES ? "--no-walk" : "--topo-order",
                               "--filter=combine:object:type=blob+blob:limit=1024"),
                      &(struct git_input){revs, strlen(revs)}, &result, err);
    char *rest = result.out.data;

    for (char *line; rc == 0 && (line = strsep(&rest, "\n")) != NULL;) {
        char *path = strchr(line, ' ');
        if (path != NULL && path[1] != '\0') {
            str_addf(&ids, "%.*s\n", (int)(path - line), line);
            strv_push(&paths, path + 1);
            count++;
        }
        if (count == 0 || (count < BATCH && rest != NULL))
            continue;
        rc = bring_batch(bringing, git, &ids, paths, err);
        str_clear(&ids);
        strv_free(paths);
        paths = NULL;
        count = 0;
    }
    strv_free(paths);
    return rc;
}

int lfs_bring(const struct git *git, const char *revs, enum lfs_range range,
              const struct lfs_sources *from, const char *to, struct lfs_gaps *ret, struct err *err)
{
    _cleanup_close_ int dir = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct bringing bringing = {.from = from, .to = to, .dir = dir, .gaps = ret};

    if (dir == -1)
        return err_errno(err, "cannot open '%s'", to);
    if (bring_all(&bringing, git, revs, range, err) == -1)
        return err_wrap(err, "cannot bring the files of git-lfs");
    return bringing.brought > 0 && file_sync_all(dir) == -1
               ? err_errno(err, "cannot write '%s/" LFS_STORE "'", to)
               : 0;
}
