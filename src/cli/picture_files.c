#include "cli/picture_files.h"

#include "os/file.h"

static int keep_one(const char *path, int dir, struct picture *ret, struct err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    _cleanup_free_ char *bytes = NULL;
    size_t len = 0;
    int rc = is_stdin
                 ? file_read_stream(STDIN_FILENO, "standard input", PICTURE_MAX, &bytes, &len, err)
                 : pictures_read_file(path, &bytes, &len, err);

    if (rc == -1)
        return -1;
    return pictures_keep(dir, is_stdin ? "" : path, bytes, len, ret, err) == 0
               ? 0
               : err_wrap(err, "cannot send '%s'", path);
}

int picture_files_keep(const struct call *call, int dir, bool input, struct pictures *ret,
                       struct err *err)
{
    _cleanup_strv_ char **paths = call_opts(call, "image");

    ret->count = 0;
    if (strv_len(paths) > PICTURES_MAX)
        return err_set(err, MAS_USAGE, "cannot send more than %d pictures at once", PICTURES_MAX);
    for (char **path = paths; path != NULL && *path != NULL; path++) {
        bool is_stdin = strcmp(*path, "-") == 0;
        if (is_stdin && input)
            return err_set(err, MAS_USAGE, "cannot read standard input twice");
        input = input || is_stdin;
        if (keep_one(*path, dir, &ret->list[ret->count], err) == -1)
            return -1;
        ret->count++;
    }
    return 0;
}
