#include "git/lfs.h"

#include "os/path.h"

static const char first_line[] = "version https://git-lfs.github.com/spec/v1\n";
static const char oid_begins[] = "oid sha256:";
static const char size_begins[] = "size ";

enum { SIZE_DIGITS = 18 }; /* fits into an int64_t */

bool lfs_parse(const char *text, size_t len, struct lfs_pointer *ret)
{
    struct lfs_pointer pointer = {.size = 0};
    char line[LFS_POINTER_MAX];

    if (len >= sizeof line || memchr(text, '\0', len) != NULL)
        return false;
    memcpy(line, text, len);
    line[len] = '\0';
    const char *at = line;
    if (!str_starts(at, first_line))
        return false;
    at += strlen(first_line);
    if (!str_starts(at, oid_begins))
        return false;
    at += strlen(oid_begins);
    if (strspn(at, "0123456789abcdef") != SHA256_HEX || at[SHA256_HEX] != '\n')
        return false;
    memcpy(pointer.oid, at, SHA256_HEX);
    at += SHA256_HEX + 1;
    if (!str_starts(at, size_begins))
        return false;
    at += strlen(size_begins);
    size_t digits = strspn(at, "0123456789");
    if (digits == 0 || digits > SIZE_DIGITS || at[digits + strspn(at + digits, " \t\r\n")] != '\0')
        return false;
    pointer.size = strtoll(at, NULL, 10);
    *ret = pointer;
    return true;
}

void lfs_format(const struct lfs_pointer *pointer, struct str *to)
{
    str_addf(to, "%s%s%s\n%s%" PRId64 "\n", first_line, oid_begins, pointer->oid, size_begins,
             pointer->size);
}

int lfs_open(const char *dir, const struct lfs_pointer *pointer, bool *ret_damaged)
{
    _cleanup_close_ int top = open(dir, PATH_PLACE | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_free_ char *name =
        mem_printf(LFS_STORE "/%.2s/%.2s/%s", pointer->oid, pointer->oid + 2, pointer->oid);
    struct stat st;

    *ret_damaged = false;
    if (top == -1)
        return -1;
    _cleanup_close_ int fd = path_open_beneath(top, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd == -1)
        return -1;
    *ret_damaged = fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) || st.st_size != pointer->size;
    return *ret_damaged ? -1 : TAKE_FD(fd);
}

bool lfs_is_used(const char *dir)
{
    _cleanup_free_ char *path = mem_printf("%s/" LFS_STORE, dir);

    return access(path, F_OK) == 0;
}

void lfs_gaps_free(struct lfs_gaps *gaps)
{
    strv_free(gaps->missing);
    strv_free(gaps->damaged);
    *gaps = (struct lfs_gaps)LFS_GAPS_INIT;
}
