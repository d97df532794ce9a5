/*
 * unpack_run() on any bytes: an archive as it is, or a tar that is compressed first and whose
 * headers get the sums that they must have. Nothing may come to be beside the directory that it is
 * given, no link in there lead out, and what is refused is refused with a reason.
 */
#include "archive/unpack.h"
#include "archive/zstd_writer.h"
#include "fuzz.h"
#include "os/path.h"
#include "os/tree.h"

#include <sys/mman.h>

#define BOX "box"

enum { BLOCK = 512, SUM_AT = 148, SUM_LEN = 8, MAGIC_AT = 257, BYTES_MAX = 16 << 20 };

/* Puts right the sum of each block that looks like a header: it would hide all that follows. */
static void mend_sums(unsigned char *tar, size_t size)
{
    for (; size >= BLOCK; tar += BLOCK, size -= BLOCK) {
        unsigned sum = 0;
        if (memcmp(tar + MAGIC_AT, "ustar", 5) != 0)
            continue;
        memset(tar + SUM_AT, ' ', SUM_LEN);
        for (size_t i = 0; i < BLOCK; i++)
            sum += tar[i];
        (void)snprintf((char *)tar + SUM_AT, SUM_LEN, "%06o", sum);
    }
}

static int make_input(const unsigned char *data, size_t size)
{
    static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    _cleanup_zstd_writer_ struct zstd_writer *writer = NULL;
    struct err err = ERR_INIT;
    int fd = memfd_create("archive", MFD_CLOEXEC);

    must(fd != -1);
    if (size >= sizeof zstd && memcmp(data, zstd, sizeof zstd) == 0) {
        must(write(fd, data, size) == (ssize_t)size);
    } else {
        unsigned char *tar = mem_alloc(size + 1);
        if (size > 0)
            memcpy(tar, data, size);
        mend_sums(tar, size);
        must(zstd_writer_new(fd, 1, &writer, &err) == 0 &&
             zstd_writer_write(writer, tar, size, &err) == 0 && zstd_writer_end(writer, &err) == 0);
        zstd_writer_freep(&writer);
        writer = NULL;
        free(tar);
    }
    must(lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static int on_manifest(const struct manifest *manifest, void *arg, struct err *err)
{
    (void)arg;
    must(id_is_valid(manifest->id) && manifest->entries <= MANIFEST_ENTRIES_MAX);
    return manifest->bytes > BYTES_MAX ? err_set(err, MAS_FAILED, "no room") : 0;
}

/* No link below leads out; how deep it may go is bounded. */
static void check_links(int dir, size_t level)
{
    _cleanup_strv_ char **names = NULL;
    struct err err = ERR_INIT;
    struct stat st;
    char target[PATH_MAX + 1];

    must(level <= TREE_DEPTH_MAX + 1 && path_list(dir, &names, &err) == 0);
    for (char **name = names; *name != NULL; name++) {
        must(fstatat(dir, *name, &st, AT_SYMLINK_NOFOLLOW) == 0);
        must(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode));
        must((st.st_mode & (S_ISUID | S_ISGID)) == 0 || S_ISDIR(st.st_mode));
        if (S_ISLNK(st.st_mode)) {
            ssize_t len = readlinkat(dir, *name, target, PATH_MAX);
            must(len > 0);
            target[len] = '\0';
            must(!path_link_leads_out(target, level));
        } else if (S_ISDIR(st.st_mode)) {
            (void)fchmodat(dir, *name, S_IRWXU, 0);
            _cleanup_close_ int sub = path_open_dir(dir, *name);
            must(sub != -1);
            check_links(sub, level + 1);
        }
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char place[] = "/dev/shm/mas-fuzz-XXXXXX";
    struct err err = ERR_INIT;
    struct parent parent = {.fd = -1};
    _cleanup_strv_ char **names = NULL;
    _cleanup_close_ int file = make_input(data, size);

    must(mkdtemp(place) != NULL);
    _cleanup_close_ int at = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(at != -1 && mkdirat(at, BOX, S_IRWXU) == 0);
    _cleanup_close_ int dir = path_open_dir(at, BOX);
    const struct unpack unpack = {
        .file = file, .dir = dir, .parent = &parent, .on_manifest = on_manifest};
    must(dir != -1);
    if (unpack_run(&unpack, (char[SHA256_TEXT]){""}, &err) == -1)
        must((err.code == MAS_DAMAGED || err.code == MAS_FAILED) && err.text[0] != '\0');
    check_links(dir, 0);
    must(path_list(at, &names, &err) == 0 && names[0] != NULL && names[1] == NULL);
    must(tree_remove(at, BOX, &err) == 0 && rmdir(place) == 0);
    return 0;
}
