#include "git/index.h"

#include "base/sha.h"
#include "os/file.h"
#include "os/path.h"

/* The format is in gitformat-index(5); git writes versions 2 and 3 unless it is told otherwise. */
enum {
    INDEX_MAX = 512 << 20, /* bytes */
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
    if (file_read(from, name, INDEX_MAX, &text, &len, err) == -1 ||
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

/* Returns the length of the entry, or 0 if it does not fit into the text. */
static size_t entry_len(const char *entry, size_t rest, size_t fixed)
{
    if (rest < fixed)
        return 0;
    size_t head = fixed + ((entry[fixed - 2] & 0x40) != 0 ? 2 : 0); /* extended flags */
    const char *end = rest > head ? memchr(entry + head, '\0', rest - head) : NULL;
    size_t len = end == NULL ? 0 : ((size_t)(end - entry) + 8) & ~(size_t)7;
    return len <= rest ? len : 0;
}

/* Clears the change times that are too new. Returns false if the text is no index. */
static bool clear_times(char *text, size_t len, time_t begun, size_t fixed, int fd, bool *ret_plain)
{
    size_t at = HEADER;

    *ret_plain = true;
    for (uint32_t count = get32(text + 8); count > 0; count--) {
        size_t entry = entry_len(text + at, len - at, fixed);
        if (entry == 0)
            return false;
        if ((time_t)get32(text + at) >= begun && pwrite(fd, "\0\0\0\0\0\0\0", 8, (off_t)at) != 8)
            return false;
        *ret_plain = *ret_plain && (get32(text + at + MODE) & S_IFMT) != (S_IFDIR | S_IFLNK);
        at += entry;
    }
    return true;
}

int index_distrust(const char *path, bool sha256, time_t begun, bool *ret_plain, struct err *err)
{
    _cleanup_close_ int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (fd == -1)
        return err_errno(err, "cannot open '%s'", path);
    if (file_read_stream(fd, path, INDEX_MAX, &text, &len, err) == -1)
        return -1;
    bool known = len > HEADER && memcmp(text, "DIRC", 4) == 0 && get32(text + 4) <= 3;
    if (known && clear_times(text, len, begun, sha256 ? ENTRY_SHA256 : ENTRY, fd, ret_plain))
        return 0;
    *ret_plain = false;
    /* git reads all files if there is no index */
    return unlink(path) == -1 ? err_errno(err, "cannot remove '%s'", path) : 0;
}

/* Gives an entry the inode of the copied file. */
static void adopt(char *entry, const char *name, int tree)
{
    struct stat st;

    if (fstatat(tree, name, &st, AT_SYMLINK_NOFOLLOW) == -1 || S_ISDIR(st.st_mode) ||
        get32(entry + SIZE) != (uint32_t)st.st_size ||
        get32(entry + MTIME) != (uint32_t)st.st_mtim.tv_sec ||
        get32(entry + MTIME + 4) != (uint32_t)st.st_mtim.tv_nsec)
        return;
    put32(entry, (uint64_t)st.st_ctim.tv_sec);
    put32(entry + 4, (uint64_t)st.st_ctim.tv_nsec);
    put32(entry + DEVICE, st.st_dev);
    put32(entry + INODE, st.st_ino);
    put32(entry + USER, st.st_uid);
    put32(entry + GROUP, st.st_gid);
}

int index_adopt(int tree, bool sha256, struct err *err)
{
    _cleanup_close_ int fd = path_open_beneath(tree, ".git/index", O_RDWR | O_NOFOLLOW);
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    size_t at = HEADER;

    if (fd == -1)
        return err_errno(err, "cannot open '.git/index'");
    if (file_read_stream(fd, ".git/index", INDEX_MAX, &text, &len, err) == -1)
        return -1;
    if (sha256 || len < HEADER + SHA1_SIZE || memcmp(text, "DIRC", 4) != 0 || get32(text + 4) > 3)
        return 1;
    size_t end = len - SHA1_SIZE;
    for (uint32_t count = get32(text + 8); count > 0; count--) {
        size_t entry = entry_len(text + at, end - at, ENTRY);
        if (entry == 0)
            return 1;
        size_t head = ENTRY + ((text[at + ENTRY - 2] & 0x40) != 0 ? 2 : 0);
        adopt(text + at, text + at + head, tree);
        at += entry;
    }
    sha1(text, end, (unsigned char *)text + end);
    return lseek(fd, 0, SEEK_SET) == -1 || file_write_all(fd, text, len) == -1
               ? err_errno(err, "cannot write '.git/index'")
               : 0;
}
