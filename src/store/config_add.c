#include "store/config_add.h"

#include "model/ini.h"
#include "os/file.h"

int config_add(const struct root *root, const char *lines, config_add_check *check, void *arg,
               struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_close_ int lock = -1;
    _cleanup_free_ char *old = NULL;
    struct stat st;
    size_t len = 0;

    if (root_lock(root, &lock, err) == -1)
        return -1;
    int found = check != NULL ? check(arg, err) : 0;
    if (found != 0)
        return found == 1 ? 0 : -1;
    if (fstatat(root->fd, ROOT_SETTINGS, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return err_errno(err, "cannot read '%s'", ROOT_SETTINGS);
    if (file_read(root->fd, ROOT_SETTINGS, INI_FILE_MAX, &old, &len, err) == -1)
        return -1;
    str_addn(&text, old, len);
    str_addf(&text, "%s\n%s", len > 0 && old[len - 1] != '\n' ? "\n" : "", lines);
    if (text.len > INI_FILE_MAX)
        return err_set(err, MAS_FAILED, "cannot add to '%s': it would be too long", ROOT_SETTINGS);
    return file_replace(root->fd, ROOT_SETTINGS, text.data, text.len, st.st_mode & 0777, err);
}
