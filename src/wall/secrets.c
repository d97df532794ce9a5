#include "wall/secrets.h"

#include <dirent.h>

#define ETC "/etc"

enum { ETC_DEPTH = 4, SECRET_OPEN = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* `dir` is taken over. */
static void find(int dir, const char *path, int depth, char ***ret)
{
    DIR *list = dir != -1 ? fdopendir(dir) : NULL;
    const struct dirent *entry;
    struct stat st;

    if (list == NULL && dir != -1)
        (void)close(dir);
    while (list != NULL && (entry = readdir(list)) != NULL) {
        bool is_link = entry->d_type == DT_LNK; /* most are, and need no look */
        if (is_link || strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1)
            continue;
        bool is_dir = S_ISDIR(st.st_mode);
        bool is_secret = (is_dir || S_ISREG(st.st_mode)) && (st.st_mode & S_IROTH) == 0;
        if (!is_secret && (!is_dir || depth == 0))
            continue;
        _cleanup_free_ char *whole = mem_printf("%s/%s", path, entry->d_name);
        if (is_secret)
            strv_push(ret, whole);
        else
            find(openat(dir, entry->d_name, SECRET_OPEN), whole, depth - 1, ret);
    }
    if (list != NULL)
        (void)closedir(list);
}

void wall_secrets_find(char ***ret)
{
    find(open(ETC, SECRET_OPEN), ETC, ETC_DEPTH, ret);
}

void wall_secrets_format(struct str *to)
{
    _cleanup_strv_ char **paths = NULL;
    _cleanup_str_ struct str text = STR_INIT;

    wall_secrets_find(&paths);
    for (char **path = paths; path != NULL && *path != NULL; path++) {
        if (str_has_control(*path))
            return;
        str_addc(&text, '\t');
        str_add(&text, *path);
    }
    str_add(to, str_text(&text));
}

bool wall_secrets_parse(const char *text, char ***ret)
{
    _cleanup_strv_ char **paths = NULL;

    while (*text == '\t') {
        size_t len = strcspn(++text, "\t");
        _cleanup_free_ char *path = mem_dupn(text, len);
        if (!str_starts(path, ETC "/") || str_has_control(path))
            return false;
        strv_push(&paths, path);
        text += len;
    }
    if (*text != '\0')
        return false;
    *ret = TAKE_PTR(paths);
    return true;
}
