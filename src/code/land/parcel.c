#include "code/land/parcel.h"

#include "base/number.h"

enum { MODE_MAX = 0777, HEAD_MAX = 16 /* digits */ };

void parcel_put(struct str *to, const struct parcel_file *file)
{
    str_addf(to, "%o %zu %s", (unsigned)file->mode, file->len, file->name);
    str_addc(to, '\0');
    str_addn(to, file->bytes, file->len);
}

/* Returns true for a path below a work tree that belongs to no repository. */
static bool is_name(const char *name)
{
    size_t len = strlen(name);

    if (len == 0 || len >= PATH_MAX || strchr(name, '\n') != NULL)
        return false;
    for (const char *part = name;; part++) {
        len = strcspn(part, "/");
        if (len == 0 || (len <= 2 && strncmp(part, "..", len) == 0) ||
            (len == 4 && strncasecmp(part, ".git", len) == 0))
            return false;
        part += len;
        if (*part == '\0')
            return true;
    }
}

/* Reads the digits in front of a blank. */
static bool take_number(const char **at, const char *end, int base, size_t max, size_t *ret)
{
    char digits[HEAD_MAX + 1] = "";
    char *stop = NULL;
    size_t len = 0;

    while (len < HEAD_MAX && *at + len < end && (*at)[len] >= '0' && (*at)[len] <= '9')
        len++;
    if (len == 0 || *at + len == end || (*at)[len] != ' ')
        return false;
    memcpy(digits, *at, len);
    unsigned long long number = strtoull(digits, &stop, base);
    *at += len + 1;
    *ret = (size_t)number;
    return *stop == '\0' && number <= max;
}

static bool take_file(const char **at, const char *end, struct parcel_file *ret)
{
    size_t mode;

    if (!take_number(at, end, 8, MODE_MAX, &mode) ||
        !take_number(at, end, 10, PLACED_FILE_MAX, &ret->len))
        return false;
    const char *stop = memchr(*at, '\0', (size_t)(end - *at));
    if (stop == NULL || !is_name(*at) || ret->len > (size_t)(end - stop) - 1)
        return false;
    ret->name = *at;
    ret->mode = (mode_t)mode;
    ret->bytes = stop + 1;
    *at = ret->bytes + ret->len;
    return true;
}

int parcel_parse(const char *text, size_t len, struct parcel *ret, struct err *err)
{
    _cleanup_parcel_ struct parcel parcel = {.files = NULL};
    const char *end = text + len;

    for (const char *at = text; at < end;) {
        struct parcel_file file = {.name = NULL};
        const char *before = parcel.count > 0 ? parcel.files[parcel.count - 1].name : "";
        if (parcel.count == PLACED_FILES_MAX || !take_file(&at, end, &file) ||
            strcmp(before, file.name) >= 0 || file.len > PLACED_ALL_MAX - parcel.bytes)
            return err_set(err, MAS_DAMAGED,
                           "the files that git ignores have not come as they are");
        parcel.files = mem_room(parcel.files, parcel.count, sizeof *parcel.files);
        parcel.files[parcel.count++] = file;
        parcel.bytes += file.len;
    }
    *ret = parcel;
    parcel = (struct parcel){.files = NULL};
    return 0;
}

void parcel_names(const struct parcel *parcel, struct str *to)
{
    for (size_t i = 0; i < parcel->count; i++)
        str_addn(to, parcel->files[i].name, strlen(parcel->files[i].name) + 1);
}

void parcel_free(struct parcel *parcel)
{
    free(parcel->files);
    *parcel = (struct parcel){.files = NULL};
}
