#include "store/pictures.h"

#include "base/id.h"
#include "os/file.h"
#include "os/path.h"
#include "store/workspace.h"

static int check(const char *bytes, size_t len, const char **ret_kind, struct err *err)
{
    *ret_kind = picture_kind(bytes, len);
    if (len > PICTURE_MAX)
        return err_set(err, MAS_USAGE, "it is larger than %d MiB", PICTURE_MAX >> 20);
    if (*ret_kind == NULL)
        return err_set(err, MAS_USAGE, "it is no picture in PNG, JPEG, GIF or WebP");
    return 0;
}

/* Writes a file that has its name once all of it is on disk. */
static int write_file(int dir, const char *name, const char *bytes, size_t len, struct err *err)
{
    char id[ID_TEXT];

    if (id_make(id, err) == -1)
        return -1;
    _cleanup_free_ char *fresh = mem_printf(".new-%s", id);
    if (file_create(dir, fresh, bytes, len, 0600, err) == -1)
        return -1;
    _cleanup_close_ int fd = openat(dir, fresh, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd == -1 || fsync(fd) == -1 || renameat(dir, fresh, dir, name) == -1) {
        (void)err_errno(err, "cannot write '%s'", name);
        (void)unlinkat(dir, fresh, 0);
        return -1;
    }
    return file_sync_dir(dir, err);
}

int pictures_keep(int dir, const char *name, const char *bytes, size_t len, struct picture *ret,
                  struct err *err)
{
    struct picture picture = {.bytes = (int64_t)len};
    const char *kind = NULL;
    char sum[SHA256_TEXT];

    if (check(bytes, len, &kind, err) == -1)
        return -1;
    sha256_of(bytes, len, sum);
    (void)snprintf(picture.file, sizeof picture.file, "%s.%s", sum, kind);
    picture_set_name(&picture, name);
    _cleanup_close_ int to = path_make_below(dir, WORKSPACE_PICTURES, 0700);
    if (to == -1)
        return err_errno(err, "cannot create '" WORKSPACE_PICTURES "'");
    if (write_file(to, picture.file, bytes, len, err) == -1 || file_sync_dir(dir, err) == -1)
        return -1;
    *ret = picture;
    return 0;
}

int pictures_read_file(const char *path, char **ret, size_t *ret_len, struct err *err)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    _cleanup_free_ char *bytes = NULL;
    const char *kind = NULL;
    struct stat st;
    size_t len = 0;

    if (fd == -1 || fstat(fd, &st) == -1)
        return err_errno(err, "cannot send '%s'", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, MAS_USAGE, "cannot send '%s': it is no regular file", path);
    if (file_read_stream(fd, path, PICTURE_MAX, &bytes, &len, err) == -1)
        return -1;
    if (check(bytes, len, &kind, err) == -1)
        return err_wrap(err, "cannot send '%s'", path);
    *ret = TAKE_PTR(bytes);
    *ret_len = len;
    return 0;
}

/* Opens the directory with the pictures; without one, there is none of them. */
static int open_all(int dir, const struct picture *picture, struct err *err)
{
    int fd = path_open_dir(dir, WORKSPACE_PICTURES);

    if (fd == -1 && errno == ENOENT)
        return err_set(err, MAS_NOT_FOUND, "its picture '%s' is missing", picture->name);
    return fd != -1 ? fd : err_errno(err, "cannot open '" WORKSPACE_PICTURES "'");
}

int pictures_load(int dir, const struct picture *picture, char **ret, size_t *ret_len,
                  struct err *err)
{
    _cleanup_close_ int all = open_all(dir, picture, err);
    _cleanup_free_ char *bytes = NULL;
    const char *kind = NULL;
    size_t len = 0;

    if (all == -1)
        return -1;
    int rc = file_read_if_there(all, picture->file, PICTURE_MAX, &bytes, &len, err);
    if (rc == 0)
        return err_set(err, MAS_NOT_FOUND, "its picture '%s' is missing", picture->name);
    if (rc == -1 || check(bytes, len, &kind, err) == -1)
        return err_wrap(err, "cannot use the picture '%s'", picture->name);
    *ret = TAKE_PTR(bytes);
    *ret_len = len;
    return 0;
}

int pictures_find(int dir, struct pictures *pictures, struct err *err)
{
    int64_t all = 0;

    for (size_t i = 0; i < pictures->count; i++) {
        struct picture *picture = &pictures->list[i];
        _cleanup_free_ char *bytes = NULL;
        size_t len = 0;
        if (pictures_load(dir, picture, &bytes, &len, err) == -1)
            return -1;
        picture->bytes = (int64_t)len;
        all += picture->bytes;
    }
    return all <= PICTURES_SIZE_MAX ? 0
                                    : err_set(err, MAS_USAGE, "its pictures have more than %d MiB",
                                              PICTURES_SIZE_MAX >> 20);
}
