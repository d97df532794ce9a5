/* The part of base/tree.h that finds entries that a copy would refuse. */
#include "base/tree.h"

#include "base/path.h"
#include "base/tree_file.h"

struct tree_check {
    tree_refused *each;
    void *arg;
    struct str path; /* relative to the top */
};

/* Returns NULL, or why a copy would stop at this entry. *ret_dir tells whether it is a
 * directory. */
static const char *examine(int dir, const char *name, bool *ret_dir)
{
    struct stat st;

    *ret_dir = false;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return strerror(errno);
    *ret_dir = S_ISDIR(st.st_mode);
    const char *why = tree_refusal(st.st_mode);
    if (why == NULL && S_ISREG(st.st_mode) && faccessat(dir, name, R_OK, AT_EACCESS) == -1)
        why = strerror(errno);
    return why;
}

static void check_dir(struct tree_check *check, int dir, unsigned level);

static void check_entry(struct tree_check *check, int dir, const char *name, unsigned level)
{
    bool is_dir;
    const char *why = examine(dir, name, &is_dir);
    size_t len = check->path.len;

    str_addf(&check->path, "%s%s", len > 0 ? "/" : "", name);
    if (why == NULL && is_dir && level >= TREE_DEPTH_MAX)
        why = "it is nested too deeply";
    if (why == NULL && is_dir) {
        _cleanup_close_ int sub = path_open_dir(dir, name);
        if (sub != -1)
            check_dir(check, sub, level + 1);
        else
            why = strerror(errno);
    }
    if (why != NULL)
        check->each(check->path.data, why, check->arg);
    check->path.len = len;
    check->path.data[len] = '\0';
}

static void check_dir(struct tree_check *check, int dir, unsigned level)
{
    _cleanup_strv_ char **names = NULL;
    struct err err = ERR_INIT;

    if (path_list(dir, &names, &err) == -1)
        check->each(str_text(&check->path), err.text, check->arg);
    for (char **name = names; name != NULL && *name != NULL; name++)
        check_entry(check, dir, *name, level);
}

void tree_check(int dir, tree_refused *each, void *arg)
{
    struct tree_check check = {.each = each, .arg = arg, .path = STR_INIT};

    check_dir(&check, dir, 0);
    str_free(&check.path);
}
