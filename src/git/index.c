/*
 * An index is read into memory as a whole and changed in place: only times and inodes are written,
 * so no entry moves. Whatever mas does not understand, such as another version, is left to git,
 * which then reads the files: that takes time, and is never wrong.
 */

#include "git/index.h"

#include "base/sha.h"
#include "os/file.h"
#include "os/path.h"
#include "os/thread.h"
#include "os/tree_file.h"

/* The format is in gitformat-index(5); git writes versions 2 and 3 unless it is told otherwise. */
enum {
    HEADER = 12, /* "DIRC", version, number of entries */
    ENTRY = 62, /* ctime, mtime, ..., size; the object's name; flags */
    ENTRY_SHA256 = 74,
    MTIME = 8, /* where it begins in an entry; the inode's owners and size follow */
    DEVICE = 16,
    INODE = 20,
    MODE = 24,
    USER = 28,
    GROUP = 32,
    SIZE = 36,
};

int index_copy(int from, const char *name, int to, const char *as, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    struct stat st;
    size_t len = 0;

    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return err_errno(err, "cannot read '%s'", name);
    if (file_read(from, name, INDEX_BYTES_MAX, &text, &len, err) == -1 ||
        file_create(to, as, text, len, 0600, err) == -1)
        return -1;
    /* git reads a file again that is as new as its index */
    const struct timespec times[] = {st.st_mtim, st.st_mtim};
    return utimensat(to, as, times, 0) == -1 ? err_errno(err, "cannot write '%s'", as) : 0;
}

static uint32_t get32(const char *at)
{
    const unsigned char *b = (const unsigned char *)at;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void put32(char *at, uint64_t number)
{
    for (int i = 0; i < 4; i++)
        at[i] = (char)(number >> (24 - 8 * i));
}

/* Returns where the path begins in an entry. */
static size_t entry_head(const char *entry, size_t fixed)
{
    return fixed + ((entry[fixed - 2] & 0x40) != 0 ? 2 : 0); /* extended flags */
}

/* Returns the length of the entry, or 0 if it does not fit into the text. */
static size_t entry_len(const char *entry, size_t rest, size_t fixed)
{
    if (rest < fixed)
        return 0;
    size_t head = entry_head(entry, fixed);
    const char *end = rest > head ? memchr(entry + head, '\0', rest - head) : NULL;
    size_t len = end == NULL ? 0 : ((size_t)(end - entry) + 8) & ~(size_t)7;
    return len <= rest ? len : 0;
}

static int read_index(int fd, const char *path, char **ret, size_t *ret_len, struct err *err)
{
    return fd == -1 ? err_errno(err, "cannot open '%s'", path)
                    : file_read_stream(fd, path, INDEX_BYTES_MAX, ret, ret_len, err);
}

/* Calls `each` for all entries of an index, until it returns false. Returns false then, and if mas
 * cannot read the index. */
static bool each_entry(char *text, size_t len, bool sha256,
                       bool (*each)(char *entry, const char *path, void *arg), void *arg)
{
    size_t fixed = sha256 ? ENTRY_SHA256 : ENTRY;
    size_t sum = sha256 ? SHA256_HEX / 2 : SHA1_SIZE;
    size_t at = HEADER;

    if (len < HEADER + sum || memcmp(text, "DIRC", 4) != 0 || get32(text + 4) > 3)
        return false;
    for (uint32_t count = get32(text + 8); count > 0; count--) {
        size_t entry = entry_len(text + at, len - sum - at, fixed);
        if (entry == 0 || !each(text + at, text + at + entry_head(text + at, fixed), arg))
            return false;
        at += entry;
    }
    return true;
}

struct distrust {
    const char *text;
    int fd;
    time_t begun;
    bool plain;
};

/* Clears a change time that is too new. */
static bool clear_time(char *entry, const char *path, void *arg)
{
    struct distrust *distrust = arg;

    (void)path;
    distrust->plain = distrust->plain && (get32(entry + MODE) & S_IFMT) != (S_IFDIR | S_IFLNK);
    return (time_t)get32(entry) < distrust->begun ||
           pwrite(distrust->fd, "\0\0\0\0\0\0\0", 8, entry - distrust->text) == 8;
}

int index_distrust(const char *path, bool sha256, time_t begun, bool *ret_plain, struct err *err)
{
    _cleanup_close_ int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (read_index(fd, path, &text, &len, err) == -1)
        return -1;
    struct distrust distrust = {.text = text, .fd = fd, .begun = begun, .plain = true};
    bool known = each_entry(text, len, sha256, clear_time, &distrust);
    *ret_plain = known && distrust.plain;
    /* git reads all files if there is no index */
    return !known && unlink(path) == -1 ? err_errno(err, "cannot remove '%s'", path) : 0;
}

/* Returns true if the file is the one that git has entered. */
static bool is_entered(const char *entry, const struct stat *st)
{
    return get32(entry + SIZE) == (uint32_t)st->st_size &&
           get32(entry + MTIME) == (uint32_t)st->st_mtim.tv_sec &&
           get32(entry + MTIME + 4) == (uint32_t)st->st_mtim.tv_nsec;
}

/* Gives an entry the inode of the copied file. */
static void adopt(char *entry, const char *name, int tree)
{
    struct stat st;

    if (fstatat(tree, name, &st, AT_SYMLINK_NOFOLLOW) == -1 || S_ISDIR(st.st_mode) ||
        !is_entered(entry, &st))
        return;
    put32(entry, (uint64_t)st.st_ctim.tv_sec);
    put32(entry + 4, (uint64_t)st.st_ctim.tv_nsec);
    put32(entry + DEVICE, st.st_dev);
    put32(entry + INODE, st.st_ino);
    put32(entry + USER, st.st_uid);
    put32(entry + GROUP, st.st_gid);
}

/* Makes the sum of an index of SHA-1 anew. */
static void sum_up(char *text, size_t len)
{
    sha1(text, len - SHA1_SIZE, (unsigned char *)text + len - SHA1_SIZE);
}

static bool adopt_entry(char *entry, const char *path, void *arg)
{
    adopt(entry, path, *(const int *)arg);
    return true;
}

int index_adopt(int tree, bool sha256, struct err *err)
{
    _cleanup_close_ int fd = path_open_beneath(tree, ".git/index", O_RDWR | O_NOFOLLOW);
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (read_index(fd, ".git/index", &text, &len, err) == -1)
        return -1;
    if (sha256 || !each_entry(text, len, false, adopt_entry, &tree))
        return 1;
    sum_up(text, len);
    return lseek(fd, 0, SEEK_SET) == -1 || file_write_all(fd, text, len) == -1
               ? err_errno(err, "cannot write '.git/index'")
               : 0;
}

/* ---- the files of another work tree */

enum { PORTION_MIN = 256 }; /* entries that are worth a thread */

struct transfer {
    int from, to; /* the work trees */
    char *text;
    size_t len, count;
    struct tree_ways ways;
    atomic_bool leaves; /* something to git */
};

/* The entries that one thread takes. */
struct portion {
    struct transfer *of;
    size_t before, left; /* entries */
    char *part; /* the directory that is open in both; NULL: none yet */
    int from_part, to_part; /* -1: it cannot be copied from */
    struct tree_mover mover;
};

static bool go_on(size_t len, void *arg)
{
    (void)len;
    (void)arg;
    return false;
}

/* Opens the directory of a path in both trees. Entries are sorted, so that is seldom done. */
static void open_part(struct portion *portion, const char *path, size_t len)
{
    const struct transfer *of = portion->of;

    if (portion->part != NULL && strlen(portion->part) == len &&
        strncmp(portion->part, path, len) == 0)
        return;
    free(portion->part);
    portion->part = mem_dupn(path, len);
    fd_closep(&portion->from_part);
    fd_closep(&portion->to_part);
    const char *part = len > 0 ? portion->part : ".";
    portion->from_part = path_open_beneath(of->from, part, O_RDONLY | O_DIRECTORY);
    if (portion->from_part != -1)
        portion->to_part = len > 0 ? path_make_below(of->to, part, PATH_BY_UMASK)
                                   : path_open_beneath(of->to, part, O_RDONLY | O_DIRECTORY);
}

/* Returns true if the file or link is the one that the index knows, not changed since. */
static bool is_same(const char *entry, int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) && is_entered(entry, &st) &&
           get32(entry + INODE) == (uint32_t)st.st_ino &&
           get32(entry) == (uint32_t)st.st_ctim.tv_sec &&
           get32(entry + 4) == (uint32_t)st.st_ctim.tv_nsec;
}

static int copy(struct portion *portion, const char *entry, const char *name)
{
    const struct tree_source source = {.dir = portion->from_part, .name = name};
    const char *why = NULL;

    return S_ISLNK(get32(entry + MODE))
               ? tree_link_copy(portion->from_part, portion->to_part, name)
               : tree_file_copy(&portion->mover, &source, &portion->to_part, 1, &why);
}

static bool transfer_entry(char *entry, const char *path, void *arg)
{
    struct portion *portion = arg;
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;

    if (portion->before > 0) {
        portion->before--;
        return true;
    }
    open_part(portion, path, slash != NULL ? (size_t)(slash - path) : 0);
    bool is = portion->to_part != -1 && is_same(entry, portion->from_part, name);
    if (is && copy(portion, entry, name) == 0 &&
        is_same(entry, portion->from_part, name)) { /* nor while it was copied */
        adopt(entry, name, portion->to_part);
    } else {
        if (is)
            (void)unlinkat(portion->to_part, name, 0);
        portion->of->leaves = true;
    }
    return --portion->left > 0;
}

static void transfer_portion(size_t number, void *arg)
{
    struct transfer *transfer = arg;
    size_t each = transfer->count / THREADS_MAX + PORTION_MIN;
    struct portion portion = {.of = transfer,
                              .before = number * each,
                              .left = each,
                              .from_part = -1,
                              .to_part = -1,
                              .mover = {.ways = &transfer->ways, .step = go_on}};

    (void)each_entry(transfer->text, transfer->len, false, transfer_entry, &portion);
    free(portion.part);
    free(portion.mover.buffer);
    fd_closep(&portion.from_part);
    fd_closep(&portion.to_part);
}

static bool count_entry(char *entry, const char *path, void *arg)
{
    (void)entry;
    (void)path;
    *(size_t *)arg += 1;
    return true;
}

int index_transfer(const char *path, bool sha256, int from, int to, struct err *err)
{
    struct transfer transfer = {.from = from, .to = to};
    _cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (read_index(fd, path, &text, &len, err) == -1)
        return -1;
    if (sha256 || !each_entry(text, len, false, count_entry, &transfer.count))
        return 1;
    transfer.text = text;
    transfer.len = len;
    thread_each(transfer.count / (transfer.count / THREADS_MAX + PORTION_MIN) + 1, transfer_portion,
                &transfer);
    sum_up(text, len);
    _cleanup_close_ int git = path_open_dir(to, ".git");
    if (git == -1)
        return err_errno(err, "cannot open '.git'");
    return file_create(git, "index", text, len, 0644, err) == -1 ? -1 : transfer.leaves;
}
